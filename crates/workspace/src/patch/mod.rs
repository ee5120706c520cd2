//! Changing files: all of it planned in memory first, then published so that it lands whole or not at all.
//!
//! [`Workspace::targets`](crate::Workspace::targets) says what a patch would touch before any content is looked
//! at, [`Targets::plan`] works the changes out, [`PatchPlan::apply`] publishes them. It must never guess a place
//! (P3), overwrite what the task has not seen (P2), or write through a link (P8); what a crash leaves at any
//! step, [`recover`] turns into all of the change or none of it (P6).

mod change;
mod text;
mod error;
mod targets;
mod plan;
mod edit;
mod diff;
mod apply;

pub use apply::{Intended, Recovered, Settled, recover, settle};
pub use change::{Change, DiffHunk, Hunk, HunkLine, ModeChange, Occurrences, Then};
pub use error::{
    ApplyError, Candidate, ChangeError, Difference, JournalError, LineRange, PatchError, Refusal,
};
pub use plan::{PatchPlan, Touch, TouchKind};
pub use targets::{Operation, Target, Targets};
pub use text::{DiffCause, DiffError, TextError, V4aError, parse_diff, parse_patch, parse_v4a};

/// The largest file that an edit loads, in bytes.
pub const MAX_FILE_BYTES: u64 = 16 << 20;

/// The most content that one patch holds in memory, before and after together, in bytes.
pub const MAX_PATCH_BYTES: u64 = 128 << 20;

/// The most changes in one patch.
pub const MAX_CHANGES: usize = 256;
