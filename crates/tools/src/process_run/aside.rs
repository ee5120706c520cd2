//! What a command made that would make other programs run code: it loses its name and is kept (P11).
//!
//! What was there before is pinned in the sandbox; this is for what was not.

use wire::{Code, Error};
use workspace::{Protected, Workspace};

/// How many of them a result names; the others are counted.
const MAX_NAMED: usize = 16;

/// What was put aside, and what could not be.
#[derive(Default)]
pub(super) struct Aside {
    /// The names that they have now.
    pub(super) held: Vec<String>,
    first: String,
    count: usize,
    failed: Option<String>,
}

impl Aside {
    /// Puts aside what is there now and was not `before`.
    pub(super) fn put(workspace: &Workspace, before: &Protected) -> Self {
        let after = workspace.protected();
        let mut aside = Self::default();
        if before.is_complete() && !after.is_complete() {
            aside.failed = Some("there are more names than can be looked at".to_owned());
        }
        for path in after.made_since(before) {
            match workspace.put_aside(&path) {
                Ok(held_as) => {
                    if aside.count == 0 {
                        aside.first = path.to_string();
                    }
                    aside.count += 1;
                    if aside.held.len() < MAX_NAMED {
                        aside.held.push(held_as.to_string());
                    }
                }
                Err(error) => aside.failed = Some(error.to_string()),
            }
        }
        aside
    }

    /// What a person has to know of it.
    pub(super) fn error(&self) -> Option<Error> {
        if let Some(reason) = &self.failed {
            let message = format!(
                "the command may have made files that make other programs run code, and they could not be put \
                 aside: {reason}; look at what is new in the workspace before any other program works in it"
            );
            return Some(Error::new(Code::NeedsRepair, message));
        }
        let held_as = self.held.first()?;
        let more = match self.count {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        let message = format!(
            "`{}`{more} would make other programs run code, which commands may not arrange: it is kept as `{}`; a person \
             who wants it gives it its name back",
            self.first, held_as
        );
        Some(Error::new(Code::HeldBack, message).with("held", self.count))
    }
}
