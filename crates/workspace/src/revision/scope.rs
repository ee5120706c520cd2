//! Which paths belong to the workspace: what git tracks, and what no rule ignores (W1).
//!
//! A tracked file wins over every rule. The store of a version control system is never part of it.

use crate::class::is_version_control;
use crate::path::RepoPath;
use crate::revision::tracked::Tracked;
use crate::root::Workspace;
use crate::root::directory::Name;
use crate::rules::{Rules, Ruling};

/// Whether a path belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coverage {
    /// It does.
    Covered,
    /// It is an ignored folder in which something is tracked: only that belongs.
    TrackedOnly,
    /// It does not.
    Outside,
}

/// The rules at one folder, on the way through the tree.
#[derive(Default)]
pub(super) struct Scope {
    rules: Rules,
    /// Beneath an ignored folder.
    is_ignored: bool,
}

impl Scope {
    /// The scope of what lies in `folder`; `None` when nothing in it belongs.
    pub(super) fn of(workspace: &Workspace, folder: &RepoPath, tracked: &Tracked) -> Option<Self> {
        let mut scope = Self::default();
        let mut at = RepoPath::root();
        scope.rules.enter_unread(workspace, &at);
        for name in folder.components() {
            at = at.child(name);
            match scope.coverage(&at, true, tracked) {
                Coverage::Outside => return None,
                coverage => scope.narrow(coverage),
            };
            scope.rules.enter_unread(workspace, &at);
        }
        Some(scope)
    }

    /// The outermost ignored folder on the way to `folder`, itself included.
    pub(super) fn ignored_folder(workspace: &Workspace, folder: &RepoPath) -> Option<RepoPath> {
        let mut scope = Self::default();
        let mut at = RepoPath::root();
        for name in folder.components() {
            scope.rules.enter_unread(workspace, &at);
            at = at.child(name);
            if scope.rules.ruling(&at, true) == Ruling::Ignored {
                return Some(at);
            }
        }
        None
    }

    /// Goes into a folder with these names.
    pub(super) fn enter(&mut self, workspace: &Workspace, folder: &RepoPath, names: &[Name]) {
        self.rules.enter(workspace, folder, names);
    }

    /// Goes out again.
    pub(super) fn leave(&mut self) {
        self.rules.leave();
    }

    /// Whether a path in the folder entered last belongs.
    pub(super) fn coverage(&self, path: &RepoPath, is_folder: bool, tracked: &Tracked) -> Coverage {
        if path.name().is_some_and(is_version_control) {
            return Coverage::Outside;
        }
        let is_ignored = self.is_ignored || self.rules.ruling(path, is_folder) == Ruling::Ignored;
        match (is_ignored, is_folder) {
            (false, _) => Coverage::Covered,
            (true, false) if tracked.has(path) => Coverage::Covered,
            (true, true) if tracked.has_within(path) => Coverage::TrackedOnly,
            (true, _) => Coverage::Outside,
        }
    }

    /// Takes on what holds in a folder of this coverage; returns what held before.
    pub(super) fn narrow(&mut self, coverage: Coverage) -> bool {
        let before = self.is_ignored;
        self.is_ignored |= coverage == Coverage::TrackedOnly;
        before
    }

    /// Goes back to what [`Scope::narrow`] returned.
    pub(super) fn widen(&mut self, before: bool) {
        self.is_ignored = before;
    }
}
