//! Watches a running tree and ends it: the polite order, the grace, the certain order, and when the init does not
//! answer, its death by pidfd. Deadlines, cancellation and overflow all take this path (X4).
//! It must never wait without a bound.

use crate::command::Limits;
use crate::error::RunError;
use crate::line::{Heard, Line, timespec};
use crate::protocol::{Record, kind, order};
use crate::stop::{Bell, Stop};
use rustix::event::{PollFd, PollFlags, poll};
use std::time::{Duration, Instant};

/// How long an init may take to kill and reap everyone.
const HARD_BOUND: Duration = Duration::from_secs(5);
/// How long the kernel may take to empty a namespace whose init was killed.
const DESTROY_BOUND: Duration = Duration::from_secs(5);

/// Why the runtime ended a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The wall-clock limit; `forced` when the grace was not enough.
    Deadline { forced: bool },
    /// A cancellation; `forced` when the grace was not enough.
    Cancel { forced: bool },
    /// Too much output.
    Overflow,
}

/// How far the ending of a tree has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    /// The polite order is out.
    Asked(Reason),
    /// The certain order is out.
    Ordered(Reason),
}

/// Waits for the helper's last record, ending the tree when its time has come.
pub(crate) fn supervise(
    line: &mut Line,
    limits: &Limits,
    stop: &Stop,
    overflow: &Bell,
    begun: Instant,
) -> Result<(Record, Option<Reason>), RunError> {
    let mut phase = Phase::Running;
    let mut deadline = later(begun, Duration::from_millis(limits.wall_ms));
    loop {
        loop {
            match line.hear() {
                Heard::Record(record) if record.kind == kind::STARTED => {}
                Heard::Record(record) => return Ok((record, phase.reason())),
                Heard::Nothing => break,
                Heard::End => return Err(lose(line)),
            }
        }
        let now = Instant::now();
        let expired = now >= deadline;
        let (cancelled, flooded) =
            wait(line, phase, stop, overflow, deadline.saturating_duration_since(now));
        let next = match phase {
            Phase::Running | Phase::Asked(_) if flooded => Phase::Ordered(Reason::Overflow),
            Phase::Running if cancelled => Phase::Asked(Reason::Cancel { forced: false }),
            Phase::Running if expired => Phase::Asked(Reason::Deadline { forced: false }),
            Phase::Asked(reason) if expired => Phase::Ordered(reason.forced()),
            Phase::Ordered(_) if expired => return Err(lose(line)),
            unchanged => unchanged,
        };
        if next != phase {
            phase = next;
            let bound = match phase {
                Phase::Asked(_) => {
                    line.order(order::SOFT);
                    Duration::from_millis(limits.grace_ms)
                }
                _ => {
                    line.order(order::HARD);
                    HARD_BOUND
                }
            };
            deadline = later(Instant::now(), bound);
        }
    }
}

impl Phase {
    fn reason(self) -> Option<Reason> {
        match self {
            Self::Running => None,
            Self::Asked(reason) | Self::Ordered(reason) => Some(reason),
        }
    }
}

impl Reason {
    fn forced(self) -> Self {
        match self {
            Self::Deadline { .. } => Self::Deadline { forced: true },
            Self::Cancel { .. } => Self::Cancel { forced: true },
            Self::Overflow => Self::Overflow,
        }
    }
}

/// Waits for news, at most `left`; says whether the run was cancelled and whether it wrote too much.
fn wait(line: &Line, phase: Phase, stop: &Stop, overflow: &Bell, left: Duration) -> (bool, bool) {
    let stop = stop.bell();
    let mut watched = vec![PollFd::new(line.socket(), PollFlags::IN)];
    // A bell stays rung, so it is listened to only while it can change something.
    if !matches!(phase, Phase::Ordered(_)) {
        watched.push(PollFd::new(overflow, PollFlags::IN));
    }
    if phase == Phase::Running {
        watched.push(PollFd::from_borrowed_fd(stop, PollFlags::IN));
    }
    // An interrupted wait has seen nothing and is repeated by the caller's loop.
    let woken = poll(&mut watched, Some(&timespec(left)));
    let rung = |at: usize| {
        woken.is_ok() && watched.get(at).is_some_and(|place| !place.revents().is_empty())
    };
    (rung(2), rung(1))
}

/// The init does not answer: kill it from outside, and see its namespace empty.
fn lose(line: &mut Line) -> RunError {
    line.destroy();
    line.is_empty_within(DESTROY_BOUND);
    RunError::Lost
}

/// A deadline that never overflows: a limit beyond the clock's range is no limit.
fn later(from: Instant, by: Duration) -> Instant {
    from.checked_add(by).unwrap_or_else(|| from + Duration::from_secs(1 << 32))
}
