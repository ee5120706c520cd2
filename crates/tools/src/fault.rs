//! What goes wrong beneath the tools, as published codes: one place where each error of the layers below gets its
//! code and its advice.

use sandbox::{Level, ProgramCause, RunError, State};
use serde_json::{Map, Value, json};
use wire::receipt::Bound;
use wire::{Code, Digest, Error};
use workspace::patch::{ApplyError, ChangeError, PatchError, Refusal};
use workspace::{AccessError, PathError, ReadError, SearchError, SearchTruncation};

/// The digest that stands for a tool's implementation: this build's version of it.
pub(crate) fn implementation(tool: &str) -> Digest {
    Digest::of_bytes(format!("{tool} {}", env!("CARGO_PKG_VERSION")).as_bytes())
}

/// What the machine refused.
pub(crate) fn machine(doing: &str, error: &std::io::Error) -> Error {
    Error::new(Code::Machine, format!("this machine could not {doing}: {error}"))
}

/// The layers of isolation as a receipt states them.
pub(crate) fn isolation(level: &Level) -> Map<String, Value> {
    let row = |(layer, state): (sandbox::Layer, &State)| {
        let state = match state {
            State::Enforced => json!("enforced"),
            State::Missing { reason, .. } => json!({ "missing": reason }),
        };
        (layer.to_string(), state)
    };
    level.layers().map(row).collect()
}

/// A digest of the workspace, 64 hexadecimal digits, in the form of the wire.
pub(crate) fn digest(hex: &str) -> String {
    format!("sha256:{hex}")
}

/// The bound that ended a read, as the receipt names it.
pub(crate) fn read_bound(bound: workspace::Bound) -> Bound {
    match bound {
        workspace::Bound::Bytes => Bound::Bytes,
        workspace::Bound::Lines => Bound::Lines,
        workspace::Bound::LineBytes => Bound::LineBytes,
        workspace::Bound::Entries => Bound::Files,
    }
}

/// The bound that ended a search, as the receipt names it.
pub(crate) fn search_bound(bound: SearchTruncation) -> Bound {
    match bound {
        SearchTruncation::Matches => Bound::Matches,
        SearchTruncation::Bytes => Bound::Bytes,
        SearchTruncation::Files => Bound::Files,
        SearchTruncation::Deadline => Bound::Deadline,
    }
}

pub(crate) fn path(error: &PathError) -> Error {
    let code = match error {
        PathError::Absolute { .. } | PathError::Parent { .. } => Code::OutsideWorkspace,
        _ => Code::InvalidPath,
    };
    Error::new(code, error.to_string())
}

pub(crate) fn access(error: &AccessError) -> Error {
    let code = match error {
        AccessError::Path(inner) => return path(inner),
        AccessError::NotFound { .. } => Code::NotFound,
        AccessError::OutsideWorkspace { .. } => Code::OutsideWorkspace,
        AccessError::NotADirectory { .. } | AccessError::NotRegular { .. } => Code::WrongKind,
        AccessError::LinkRefused { .. } => Code::InvalidPath,
        AccessError::Moving { .. } => Code::Conflict,
        _ => Code::Machine,
    };
    Error::new(code, error.to_string())
}

pub(crate) fn read(error: &ReadError) -> Error {
    let code = match error {
        ReadError::Access(inner) => return access(inner),
        ReadError::NotAdmitted { .. } => Code::Denied,
        ReadError::ZeroStart
        | ReadError::ZeroCount { .. }
        | ReadError::PastEnd { .. }
        | ReadError::WrongRange { .. } => Code::InvalidRange,
        ReadError::TooLarge { .. } => Code::FileTooLarge,
        ReadError::ChangedWhileReading { .. } => Code::Conflict,
        ReadError::Stopped { .. } => Code::TimedOut,
    };
    Error::new(code, error.to_string())
}

pub(crate) fn search(error: &SearchError) -> Error {
    let code = match error {
        SearchError::Access(inner) => return access(inner),
        SearchError::InvalidPattern { .. } => Code::InvalidPattern,
        SearchError::InvalidGlob { .. }
        | SearchError::EmptyQuery
        | SearchError::ZeroBound { .. } => Code::InvalidArguments,
    };
    let told = Error::new(code, error.to_string());
    match error {
        SearchError::InvalidPattern { position, .. } => {
            told.at("/arguments/query").with("position", json!(position))
        }
        _ => told,
    }
}

/// A patch that was refused whole: the first refusal's code, and every refusal in the details (P3, P5). `at` says
/// where a change stands in the arguments.
pub(crate) fn patch(error: &PatchError, at: &dyn Fn(usize) -> String) -> Error {
    let Some(first) = error.refusals.first() else {
        return Error::new(Code::Internal, "a patch was refused without a reason");
    };
    let message = match error.refusals.len() {
        1 => format!("{}; nothing was changed", first.error),
        more => format!("{}; {more} changes cannot be made; nothing was changed", first.error),
    };
    let refusals: Vec<Value> = error.refusals.iter().map(refusal).collect();
    Error::new(code_of(&first.error), message)
        .at(&at(first.change))
        .with("refused", refusals)
        .with("applied", 0)
}

fn code_of(error: &ChangeError) -> Code {
    match error {
        ChangeError::Access(inner) => access(inner).code,
        ChangeError::NotSeen { .. } => Code::NotRead,
        ChangeError::Stale { .. } => Code::Stale,
        ChangeError::NoMatch { .. }
        | ChangeError::FinalNewline { .. }
        | ChangeError::ModeDiffers { .. } => Code::NoMatch,
        ChangeError::HunkOrder { .. } | ChangeError::NotEmptied { .. } => Code::InvalidPatch,
        ChangeError::LinesBackwards { .. }
        | ChangeError::LinesPastEnd { .. }
        | ChangeError::LinesOverlap { .. }
        | ChangeError::LinesMoved { .. } => Code::InvalidRange,
        ChangeError::Ambiguous { .. } => Code::AmbiguousMatch,
        ChangeError::NoChange { .. } | ChangeError::SameFile { .. } => Code::NoChange,
        ChangeError::Exists { .. } => Code::AlreadyExists,
        ChangeError::HardLinked { .. } => Code::HardLinked,
        ChangeError::Link { .. } | ChangeError::NotText { .. } => Code::WrongKind,
        ChangeError::TooLarge { .. } => Code::FileTooLarge,
        ChangeError::Gone { .. } => Code::NotFound,
        ChangeError::ChangedWhileReading { .. } => Code::Conflict,
        ChangeError::ReadOnly { .. } | ChangeError::TooManyAttributes { .. } => Code::Machine,
        ChangeError::NoContext { .. }
        | ChangeError::EmptyOld { .. }
        | ChangeError::Unencodable { .. }
        | ChangeError::BeneathFile { .. }
        | ChangeError::PatchTooLarge { .. } => Code::InvalidArguments,
    }
}

fn refusal(refusal: &Refusal) -> Value {
    let mut told = json!({
        "change": refusal.change,
        "path": refusal.path.to_string(),
        "code": code_of(&refusal.error),
        "message": refusal.error.to_string(),
    });
    let digest = |hex: &Option<String>| hex.as_deref().map(digest);
    let facts = match &refusal.error {
        ChangeError::NotSeen { current, .. } => {
            json!({ "current": digest(&Some(current.clone())) })
        }
        ChangeError::Stale { expected, current, excerpt, .. } => json!({
            "expected": digest(&Some(expected.clone())),
            "current": digest(current),
            "excerpt": excerpt,
        }),
        ChangeError::NoMatch { hunk, candidates, already_applied, .. } => {
            json!({ "hunk": hunk, "candidates": candidates, "already_applied": already_applied })
        }
        ChangeError::Ambiguous { hunk, places, found, .. } => {
            json!({ "hunk": hunk, "lines": places, "found": found })
        }
        ChangeError::Exists { current, already_applied, .. } => {
            json!({ "current": digest(current), "already_applied": already_applied })
        }
        ChangeError::FinalNewline { hunk, file_has_one, .. } => {
            json!({ "hunk": hunk, "final_newline": file_has_one })
        }
        ChangeError::HunkOrder { hunk, lines, .. } => json!({ "hunk": hunk, "lines": [lines] }),
        ChangeError::LinesPastEnd { total_lines, .. } => json!({ "total_lines": total_lines }),
        ChangeError::LinesOverlap { lines, other, .. } => json!({ "lines": [lines, other] }),
        _ => json!({}),
    };
    if let (Some(told), Value::Object(facts)) = (told.as_object_mut(), facts) {
        told.extend(facts);
    }
    told
}

pub(crate) fn apply(error: &ApplyError, cancelled: bool) -> Error {
    let code = match error {
        ApplyError::Conflict { .. } | ApplyError::Busy => Code::Conflict,
        ApplyError::NeedsRepair { .. } => Code::NeedsRepair,
        ApplyError::Stopped if cancelled => Code::Cancelled,
        ApplyError::Stopped => Code::TimedOut,
        ApplyError::Refused { .. } | ApplyError::Attribute { .. } | ApplyError::Journal(_) => {
            Code::Machine
        }
    };
    let told = Error::new(code, error.to_string());
    match error {
        ApplyError::NeedsRepair { paths, kept, journal } => told
            .with("paths", paths.iter().map(ToString::to_string).collect::<Vec<_>>())
            .with("kept", kept.iter().map(ToString::to_string).collect::<Vec<_>>())
            .with("journal", journal.as_str()),
        _ => told,
    }
}

/// A command that has no exit: nothing ran, or nobody knows.
pub(crate) fn run(error: &RunError) -> Error {
    let code = match error {
        RunError::Request { .. } => Code::InvalidArguments,
        RunError::Workspace { .. } => Code::Machine,
        RunError::Identity { .. } | RunError::Wall { .. } => Code::IsolationMissing,
        RunError::Cwd { .. } => Code::NotFound,
        RunError::Program { cause: ProgramCause::NotFound, .. } => Code::CannotStart,
        RunError::Program { .. } => Code::CannotStart,
        _ if error.ran() == sandbox::Ran::Unknown => Code::Ambiguous,
        _ => Code::Machine,
    };
    Error::new(code, error.to_string())
}
