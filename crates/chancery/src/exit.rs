//! The published exit codes of the command line. A code never changes its meaning.

use std::process::ExitCode;

use wire::Status;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It did what was asked (0).
    Done,
    /// The call failed, was cancelled or ended partly, or the demo met an outcome that it did not expect (1).
    Failed,
    /// The command line or the call is not valid (2).
    Usage,
    /// Policy or capability denied the call (3).
    Denied,
    /// The deadline passed before the effect (4).
    Expired,
    /// Whether an effect happened is not known (5).
    Ambiguous,
    /// There is no such receipt or tool (6).
    NotFound,
    /// The machine does not offer what is needed (7).
    Machine,
}

impl Exit {
    /// Every exit with its code and meaning, as it is published.
    pub const ALL: [(Exit, u8, &str); 8] = [
        (Exit::Done, 0, "done as asked"),
        (
            Exit::Failed,
            1,
            "the call failed, was cancelled or ended partly; or an unexpected outcome",
        ),
        (Exit::Usage, 2, "the command line or the call is not valid"),
        (Exit::Denied, 3, "policy or capability denied the call"),
        (Exit::Expired, 4, "the deadline passed before the effect"),
        (Exit::Ambiguous, 5, "whether an effect happened is not known"),
        (Exit::NotFound, 6, "no such receipt or tool"),
        (Exit::Machine, 7, "the machine does not offer what is needed"),
    ];

    /// The exit for a call's status.
    #[must_use]
    pub fn of(status: Status) -> Exit {
        match status {
            Status::Succeeded | Status::Accepted => Exit::Done,
            Status::Failed | Status::Cancelled | Status::Partial => Exit::Failed,
            Status::Rejected => Exit::Usage,
            Status::Denied => Exit::Denied,
            Status::Expired => Exit::Expired,
            Status::Ambiguous => Exit::Ambiguous,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        let code =
            Exit::ALL.iter().find(|(known, ..)| *known == exit).map_or(1, |(_, code, _)| *code);
        ExitCode::from(code)
    }
}
