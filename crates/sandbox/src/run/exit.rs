//! The end of a run as the caller sees it. It must never call a kill by the runtime an ending of the command's own.

use super::request::program;
use super::supervise::Reason;
use super::{Ended, Ready};
use crate::error::{ProgramCause, RunError};
use crate::jail;
use crate::level::Level;
use crate::output::StreamCount;
use crate::protocol::{Record, kind, step};
use std::io;
use std::path::PathBuf;
use std::time::Instant;

/// How a command ended, what it used, what it wrote, and how much was enforced.
#[derive(Debug)]
pub struct Exit {
    /// How and why.
    pub ending: Ending,
    /// What it used.
    pub usage: Usage,
    /// Standard output.
    pub stdout: StreamCount,
    /// Standard error.
    pub stderr: StreamCount,
    /// Processes that were still alive when the command's leader had ended, and were killed (X5).
    pub leftover: u32,
    /// Read-only paths that were not there to be pinned.
    pub unpinned: Vec<Unpinned>,
    /// What was enforced for this run.
    pub enforced: Level,
}

/// How and why a command ended (X6). Exhaustive, so that no caller can pass over an ending that is added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this code.
    Exited {
        /// 0 to 255.
        code: u8,
    },
    /// By a signal that did not come from the runtime: its own, a child's, the kernel's (CPU limit, fault).
    Signaled {
        /// Its number (signal(7)).
        signal: u8,
        /// Its name, such as `SIGKILL`.
        name: &'static str,
    },
    /// The wall-clock limit was reached.
    TimedOut {
        /// The limit, milliseconds.
        wall_ms: u64,
        /// Whether the polite stop was not enough.
        forced: bool,
    },
    /// Somebody called [`crate::Stop::cancel`].
    Cancelled {
        /// Whether the polite stop was not enough.
        forced: bool,
    },
    /// It wrote more than its limit.
    OutputLimit {
        /// The limit of both streams together, bytes.
        output_bytes: u64,
    },
}

/// What the whole tree used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// From the request to the answer, milliseconds.
    pub wall_ms: u64,
    /// CPU time in programs, milliseconds.
    pub user_ms: u64,
    /// CPU time in the kernel, milliseconds.
    pub system_ms: u64,
    /// Largest resident set of one process, bytes.
    pub max_rss_bytes: u64,
}

/// A read-only path that could not be pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unpinned {
    /// Relative to the workspace.
    pub path: PathBuf,
    /// Whether it is there after the run; if so, the command may have made it.
    pub exists_now: bool,
}

/// The exit of a run whose helper has said its last word.
pub(super) fn exit(ready: Ready<'_>, ended: Ended, begun: Instant) -> Result<Exit, RunError> {
    let Ended { record, reason, stdout, stderr } = ended;
    let ending = ending(&ready, &record, reason)?;
    let usage = Usage {
        wall_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        user_ms: record.user_us / 1000,
        system_ms: record.system_us / 1000,
        max_rss_bytes: record.max_rss_bytes,
    };
    let workspace = &ready.command.workspace;
    let unpinned = ready.unpinned.into_iter().map(|path| {
        let exists_now = std::fs::symlink_metadata(workspace.join(&path)).is_ok();
        Unpinned { path, exists_now }
    });
    let unpinned = unpinned.collect();
    let enforced = jail::after_run(ready.standing.level, record.missed);
    Ok(Exit { ending, usage, stdout, stderr, leftover: record.leftover, unpinned, enforced })
}

/// What the helper's last word means.
fn ending(ready: &Ready<'_>, record: &Record, reason: Option<Reason>) -> Result<Ending, RunError> {
    let (command, limits) = (ready.command, &ready.command.limits);
    let error = || io::Error::from_raw_os_error(record.errno.cast_signed());
    match (record.kind, record.step) {
        (kind::ENDED, _) => {}
        (kind::NOT_EXECUTED, _) => {
            let cause = ProgramCause::of(record.errno);
            return Err(RunError::Program { program: program(command), cause });
        }
        (kind::FAILED, step::CWD) => {
            return Err(RunError::Cwd { path: command.cwd.clone(), source: error() });
        }
        (kind::FAILED, step::WORKSPACE_MOVED) => {
            return Err(RunError::Workspace { path: command.workspace.clone(), source: error() });
        }
        (kind::FAILED, failed) => {
            let path = ready.plan.path(record.index).filter(|_| failed == step::VIEW);
            let at = path.map(|path| format!(" `{}`", path.display())).unwrap_or_default();
            return Err(RunError::Wall { step: jail::step_name(failed), at, source: error() });
        }
        _ => return Err(RunError::Lost),
    }
    // A command that had ended before the order reached it ended by itself.
    match reason.filter(|_| record.stopped == 1) {
        Some(Reason::Deadline { forced }) => {
            Ok(Ending::TimedOut { wall_ms: limits.wall_ms, forced })
        }
        Some(Reason::Cancel { forced }) => Ok(Ending::Cancelled { forced }),
        Some(Reason::Overflow) => Ok(Ending::OutputLimit { output_bytes: limits.output_bytes }),
        None => Ok(by_itself(record.status)),
    }
}

/// Names of the signals from 0 to 31 (signal(7)).
const SIGNALS: [&str; 32] = [
    "",
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGKILL",
    "SIGUSR1",
    "SIGSEGV",
    "SIGUSR2",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGSTKFLT",
    "SIGCHLD",
    "SIGCONT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGVTALRM",
    "SIGPROF",
    "SIGWINCH",
    "SIGIO",
    "SIGPWR",
    "SIGSYS",
];

/// A wait status (wait(2)).
fn by_itself(status: u32) -> Ending {
    let signal = (status & 0x7F) as u8;
    if signal == 0 {
        return Ending::Exited { code: (status >> 8 & 0xFF) as u8 };
    }
    let name = SIGNALS.get(usize::from(signal)).copied().unwrap_or("real-time signal");
    Ending::Signaled { signal, name }
}
