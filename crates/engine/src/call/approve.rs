//! `Authorized` → `Approved`: a person's yes, where policy wants one.
//!
//! Policy answers allow or deny today, so there is nothing to ask; an approval will be spent here.

use std::sync::Arc;

use wire::Timestamp;

use super::Context;
use super::authorize::Authorized;
use super::draft::{Draft, Exit};
use crate::registry::{Entry, Prepared};

/// A call that nobody needs to be asked about any more.
#[derive(Debug)]
#[must_use = "a stage is consumed by the next"]
pub struct Approved {
    draft: Draft,
    entry: Arc<Entry>,
    prepared: Prepared,
    deadline: Timestamp,
}

impl Approved {
    pub(super) fn into_parts(self) -> (Draft, Arc<Entry>, Prepared, Timestamp) {
        (self.draft, self.entry, self.prepared, self.deadline)
    }
}

impl Authorized {
    /// Passes what needs no approval.
    ///
    /// # Errors
    /// None today.
    pub fn approve(self, _: &Context<'_>) -> Result<Approved, Exit> {
        let (draft, entry, prepared, deadline) = self.into_parts();
        Ok(Approved { draft, entry, prepared, deadline })
    }
}
