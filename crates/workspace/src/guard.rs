//! What the caller may still forbid while an operation runs.
//!
//! Policy and time live above this crate. It asks through these two questions and must never decide
//! either of them itself.

use crate::class::PathClass;
use crate::path::RepoPath;

/// The two questions that an operation asks its caller.
#[derive(Clone, Copy)]
pub struct Guard<'a> {
    /// Whether the content of this real path, of this class, may be used. A `false` skips the file in a
    /// search (counted as denied) and refuses a read.
    pub admit: &'a (dyn Fn(&RepoPath, PathClass) -> bool + Sync),
    /// Whether to stop now: the deadline has passed or the call was cancelled.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

impl Guard<'static> {
    /// Admits every path, secrets included, and never stops. For callers that have decided before.
    #[must_use]
    pub fn open() -> Self {
        Self { admit: &|_, _| true, stop: &|| false }
    }

    /// Admits everything but [`PathClass::Secret`] and never stops.
    #[must_use]
    pub fn no_secrets() -> Self {
        Self { admit: &|_, class| class != PathClass::Secret, stop: &|| false }
    }
}

impl std::fmt::Debug for Guard<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Guard")
    }
}
