//! Runs one command as a jailed process tree and answers when the whole tree is gone.
//!
//! A [`Jail`] is made once: it probes what this machine can enforce and says so ([`Level`]). [`Jail::run`] takes a
//! [`Command`], streams both outputs to [`Sink`]s and returns an [`Exit`] when every descendant has ended, been reaped
//! and accounted for (X3 to X6 of the contract). The daemon itself never forks: a static helper of a few kilobytes
//! (`helper/`) is spawned for each call, builds the walls and is process 1 inside them.
//!
//! This crate stands on nothing of ours, is synchronous, and must never run a command with fewer walls than it
//! reports, inherit anything from the daemon, or look a program up outside the sandbox's own view.

#![expect(
    clippy::disallowed_methods,
    reason = "this crate is the one spawn path: it owns process creation, the clock of its own deadlines, \
              and the paths that make up a view"
)]

mod command;
mod error;
mod jail;
mod level;
mod line;
mod output;
#[allow(dead_code, reason = "shared with the helper, and each side uses its half")]
mod protocol;
mod run;
mod stop;
mod view;

#[cfg(clippy)]
mod helper;

pub use command::{Access, Command, Limits, Stdin};
pub use error::{JailError, ProgramCause, Ran, RunError};
pub use jail::Jail;
pub use level::{Layer, Level, State};
pub use output::{HeadTail, Preview, Sink, SinkFailure, StreamCount, Streams};
pub use run::{Ending, Exit, Unpinned, Usage};
pub use stop::Stop;
pub use view::{HOME, SCRATCH};
