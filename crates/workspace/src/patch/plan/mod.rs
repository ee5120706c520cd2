//! What a patch comes to: worked out in memory, all of it before any write.
//!
//! It never touches the disk but to read the files that the changes name, and a single refused change refuses
//! the whole (P5).

mod preimage;
mod draft;
mod settled;

use std::collections::BTreeSet;

use crate::class::PathClass;
use crate::patch::apply::folder::Rights;
use crate::patch::error::{ChangeError, LineRange, PatchError, Refusal};
use crate::patch::targets::Located;
use crate::path::RepoPath;

use draft::Draft;

/// What becomes of one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TouchKind {
    /// It did not exist.
    Created,
    /// Its content changes.
    Modified,
    /// It goes.
    Deleted,
    /// It gets another path.
    Renamed {
        /// The real path before.
        from: RepoPath,
    },
}

/// What a plan does to one path, for policy, for the person who approves, and for the receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The real path, after a rename the new one.
    pub path: RepoPath,
    /// What happens.
    pub kind: TouchKind,
    /// The strictest class of all paths named here.
    pub class: PathClass,
    /// SHA-256 of the content before, in lower-case hexadecimal; `None` for a create.
    pub before: Option<String>,
    /// SHA-256 of the content after; `None` for a delete.
    pub after: Option<String>,
    /// Lines added.
    pub added_lines: u64,
    /// Lines removed.
    pub removed_lines: u64,
    /// The lines that are new or changed, in the file after it.
    pub changed: Vec<LineRange>,
    /// What the executable bit becomes, when it changes.
    pub executable: Option<bool>,
    /// How many lines below its stated line each hunk of a unified diff was placed; empty when all are at theirs.
    pub offset_lines: Vec<i64>,
}

/// A patch that is worked out and can be published.
#[must_use = "a plan changes nothing until it is applied"]
#[derive(Debug)]
pub struct PatchPlan {
    pub(crate) files: Vec<Planned>,
}

/// One path of a plan.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) touch: Touch,
    pub(crate) body: Body,
    hunks: String,
    was_executable: bool,
}

/// What a path gets.
#[derive(Debug)]
pub(crate) enum Body {
    /// Nothing new: it goes, or only its name changes.
    None,
    /// Other permission bits on the same file.
    Mode { before: u32, after: u32 },
    /// A new content.
    New(Vec<u8>, Rights),
}

impl PatchPlan {
    /// One entry per path, in path-byte order.
    pub fn touches(&self) -> impl Iterator<Item = &Touch> {
        self.files.iter().map(|file| &file.touch)
    }

    /// A unified diff of all of it.
    #[must_use]
    pub fn diff(&self) -> String {
        // As soon as one file needs a header that only `git` has, every file starts with one.
        let as_git = self.files.iter().any(Planned::needs_headers);
        self.files.iter().map(|file| file.diff(as_git)).collect()
    }
}

impl Planned {
    fn diff(&self, as_git: bool) -> String {
        let path = &self.touch.path;
        let (from, to) = match &self.touch.kind {
            TouchKind::Created => ("/dev/null".to_owned(), format!("b/{path}")),
            TouchKind::Deleted => (format!("a/{path}"), "/dev/null".to_owned()),
            TouchKind::Modified => (format!("a/{path}"), format!("b/{path}")),
            TouchKind::Renamed { from } => (format!("a/{from}"), format!("b/{path}")),
        };
        let headers = if as_git { self.headers() } else { String::new() };
        match self.hunks.as_str() {
            "" => headers,
            hunks => format!("{headers}--- {from}\n+++ {to}\n{hunks}"),
        }
    }

    /// Whether hunks alone would not say what becomes of the file.
    fn needs_headers(&self) -> bool {
        let renamed = matches!(self.touch.kind, TouchKind::Renamed { .. });
        renamed || self.touch.executable.is_some() || self.hunks.is_empty()
    }

    /// What `git` says in front of the hunks of a file.
    fn headers(&self) -> String {
        let Touch { path, kind, executable, .. } = &self.touch;
        let mode = |executable: bool| if executable { "100755" } else { "100644" };
        let from = if let TouchKind::Renamed { from } = kind { from } else { path };
        let modes = match (kind, executable) {
            (TouchKind::Created, executable) => {
                format!("new file mode {}\n", mode(executable.unwrap_or(false)))
            }
            (TouchKind::Deleted, _) => {
                format!("deleted file mode {}\n", mode(self.was_executable))
            }
            (_, Some(new)) => format!("old mode {}\nnew mode {}\n", mode(!new), mode(*new)),
            (_, None) => String::new(),
        };
        let names = match kind {
            TouchKind::Renamed { .. } => format!("rename from {from}\nrename to {path}\n"),
            _ => String::new(),
        };
        format!("diff --git a/{from} b/{path}\n{modes}{names}")
    }
}

/// Works out `located`, see [`super::Targets::plan`].
pub(crate) fn plan(
    located: Vec<Located>,
    seen: &dyn Fn(&RepoPath) -> Option<String>,
) -> Result<PatchPlan, PatchError> {
    let mut draft = Draft::new(seen);
    let first = located.first().map(|located| located.at.requested.clone());
    let mut refusals: Vec<Refusal> = Vec::new();
    // What follows on a refused change would only be refused for its lack.
    let mut spoilt = BTreeSet::new();
    for (index, Located { change, at, to }) in located.into_iter().enumerate() {
        let paths = [Some(at.real.clone()), to.as_ref().map(|to| to.real.clone())];
        if paths.iter().flatten().any(|path| spoilt.contains(path)) {
            continue;
        }
        let path = at.requested.clone();
        if let Err(error) = draft.make(change, at, to) {
            refusals.push(Refusal { change: index, path, error });
            spoilt.extend(paths.into_iter().flatten());
        }
    }
    if let Some(path) = draft.beneath_a_file() {
        let error = ChangeError::BeneathFile { path: path.clone() };
        refusals.push(Refusal { change: 0, path, error });
    }
    if !refusals.is_empty() {
        return Err(PatchError { refusals });
    }
    let plan = draft.finish();
    match first {
        Some(path) if plan.files.is_empty() => {
            let error = ChangeError::NoChange { path: path.clone() };
            Err(PatchError { refusals: vec![Refusal { change: 0, path, error }] })
        }
        _ => Ok(plan),
    }
}
