//! What a planner is told of a command that ran: how it ended, what it printed, what is left out and where it is (X6).

use engine::Outcome;
use engine::tool::Ended;
use sandbox::{Ending, Exit};
use schemars::JsonSchema;
use serde::Serialize;
use wire::receipt::{Artifact, Bound, Count, Truncation};
use wire::{Code, Error};

use super::aside::Aside;
use super::output::{Output, Spill, shares};
use crate::fault;
use crate::limits::json_bytes;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Ran {
    ending: How,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<&'static str>,
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    stdout: Output,
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    stderr: Output,
    /// Processes that outlived the command and were ended.
    ended_leftovers: u64,
    wall_ms: u64,
    /// What the command made that would make other programs run code, by the names that it has now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    held: Vec<String>,
}

/// How the command ended.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum How {
    Exited,
    Signaled,
    TimedOut,
    Cancelled,
    OutputLimit,
}

/// The sandbox's report as an outcome that takes about `room` bytes of JSON.
pub(super) fn ran(
    exit: &Exit,
    (stdout, stderr): (Spill<'_>, Spill<'_>),
    aside: Aside,
    room: u64,
) -> Outcome<Ran> {
    let (ending, ended, error) = end(&exit.ending);
    let (repair, held_back) = match aside.error() {
        Some(error) if error.code == Code::NeedsRepair => (Some(error), None),
        other => (None, other),
    };
    let told =
        [json_bytes(&aside.held), json_bytes(&error), json_bytes(&repair), json_bytes(&held_back)];
    let room = told.into_iter().fold(room, u64::saturating_sub);
    let (stdout_room, stderr_room) = shares(room, stdout.cost(), stderr.cost());
    let mut kept = Kept::default();
    let result = Ran {
        ending,
        exit_code: match exit.ending {
            Ending::Exited { code } => Some(code),
            _ => None,
        },
        signal: match exit.ending {
            Ending::Signaled { name, .. } => Some(name),
            _ => None,
        },
        stdout: kept.close(stdout, stdout_room),
        stderr: kept.close(stderr, stderr_room),
        ended_leftovers: u64::from(exit.leftover),
        wall_ms: exit.usage.wall_ms,
        held: aside.held,
    };
    // The command did what was asked, but part of what it made or said is not where it belongs.
    let incomplete = held_back.or(kept.lost);
    let ended = match (ended, &repair, &incomplete) {
        (Ended::Succeeded, Some(_), _) => Ended::Failed,
        (Ended::Succeeded, None, Some(_)) => Ended::Partial,
        (ended, _, _) => ended,
    };
    Outcome {
        ended,
        error: repair.or(error).or(incomplete),
        truncation: kept.truncation,
        artifacts: kept.artifacts,
        cpu_ms: Some(exit.usage.user_ms.saturating_add(exit.usage.system_ms)),
        peak_memory_bytes: Some(exit.usage.max_rss_bytes),
        isolation: fault::isolation(&exit.enforced),
        ..Outcome::succeeded(result)
    }
}

fn end(ending: &Ending) -> (How, Ended, Option<Error>) {
    let failed = |how, code, message: String| (how, Ended::Failed, Some(Error::new(code, message)));
    match ending {
        Ending::Exited { code: 0 } => (How::Exited, Ended::Succeeded, None),
        Ending::Exited { code } => {
            let message = format!("the command ended with exit code {code}");
            failed(How::Exited, Code::CommandFailed, message)
        }
        Ending::Signaled { name, .. } => {
            let message =
                format!("the command was ended by {name}, which the runtime did not send");
            failed(How::Signaled, Code::CommandSignaled, message)
        }
        Ending::TimedOut { wall_ms, .. } => {
            let message = format!(
                "the limit of {wall_ms} ms was reached and every process was ended; what it had printed is kept"
            );
            failed(How::TimedOut, Code::TimedOut, message)
        }
        Ending::Cancelled { .. } => {
            let error = Error::new(Code::Cancelled, "cancelled; every process was ended");
            (How::Cancelled, Ended::Cancelled, Some(error))
        }
        Ending::OutputLimit { .. } => {
            let message = "the output passed the hard bound and every process was ended";
            failed(How::OutputLimit, Code::OutputLimit, message.to_owned())
        }
    }
}

/// What becomes of the streams beside their previews.
#[derive(Default)]
struct Kept {
    truncation: Vec<Truncation>,
    artifacts: Vec<Artifact>,
    lost: Option<Error>,
}

impl Kept {
    fn close(&mut self, spill: Spill<'_>, room: u64) -> Output {
        let field = spill.name();
        let (output, whole) = spill.finish(room);
        let artifact = whole.unwrap_or_else(|reason| {
            self.lost = Some(fault::machine("keep the whole output", &reason));
            None
        });
        if output.left_out_bytes > 0 {
            self.truncation.push(Truncation {
                field: format!("/result/{field}"),
                bound: Bound::Bytes,
                left_out: Count::Exact(output.left_out_bytes),
                artifact: artifact.as_ref().map(|artifact| artifact.digest.clone()),
                continuation: None,
            });
        }
        self.artifacts.extend(artifact);
        output
    }
}
