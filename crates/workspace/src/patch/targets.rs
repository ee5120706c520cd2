//! What a patch would touch, known from names and file kinds alone, for policy to decide on (P4, P8).
//!
//! The objects found here stay open and are the ones that [`Targets::plan`] reads. No content is looked at.

use rustix::fs::OFlags;

use crate::class::{PathClass, classify};
use crate::error::AccessError;
use crate::patch::change::{Change, Then};
use crate::patch::error::{ChangeError, PatchError, Refusal};
use crate::patch::{MAX_CHANGES, plan};
use crate::path::RepoPath;
use crate::root::beneath::{self, FileKind, Links, Status};
use crate::root::{Reached, Workspace};

/// What a change does to one real path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A file comes to be.
    Create,
    /// A file gets another content.
    Modify,
    /// A file goes.
    Delete,
    /// A file leaves this path for another, or comes to it from another.
    Rename,
}

/// One real path that a patch would touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The path with links followed.
    pub path: RepoPath,
    /// The stricter class of the path as asked for and the real one.
    pub class: PathClass,
    /// What would happen to it.
    pub operation: Operation,
}

/// The located changes of one patch.
#[must_use]
#[derive(Debug)]
pub struct Targets {
    located: Vec<Located>,
}

/// A change and the places that it names.
#[derive(Debug)]
pub(crate) struct Located {
    pub(crate) change: Change,
    pub(crate) at: Place,
    pub(crate) to: Option<Place>,
}

/// Where a path leads.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) requested: RepoPath,
    pub(crate) real: RepoPath,
    pub(crate) class: PathClass,
    /// What is there; `None` when the path is free.
    pub(crate) found: Option<Reached>,
    /// Whether the last component itself is a link.
    pub(crate) is_link: bool,
}

impl Workspace {
    /// Finds out what `changes` would touch.
    ///
    /// # Errors
    /// [`PatchError`] when a path leads out, or through something that is no directory.
    pub fn targets(&self, changes: Vec<Change>) -> Result<Targets, PatchError> {
        if changes.len() > MAX_CHANGES {
            let path = RepoPath::root();
            let error = ChangeError::PatchTooLarge { bound: format!("{MAX_CHANGES} changes") };
            let refusals = vec![Refusal { change: MAX_CHANGES, path, error }];
            return Err(PatchError { refusals });
        }
        let mut located = Vec::with_capacity(changes.len());
        let mut refusals = Vec::new();
        for (index, change) in changes.into_iter().enumerate() {
            match locate(self, change.path()).and_then(|at| {
                let to = change.destination().map(|to| locate(self, to)).transpose()?;
                Ok((at, to))
            }) {
                Ok((at, to)) => located.push(Located { change, at, to }),
                Err(error) => {
                    refusals.push(Refusal { change: index, path: change.path().clone(), error });
                }
            }
        }
        if refusals.is_empty() { Ok(Targets { located }) } else { Err(PatchError { refusals }) }
    }
}

impl Targets {
    /// Every real path with what would happen to it, in the order of the request.
    pub fn iter(&self) -> impl Iterator<Item = Target> + '_ {
        self.located.iter().flat_map(|located| {
            let operation = match (&located.change, &located.to) {
                (Change::Create { .. }, _) => Operation::Create,
                (Change::Delete { .. } | Change::Diff { then: Then::Goes, .. }, _) => {
                    Operation::Delete
                }
                (Change::Rename { .. }, _) | (_, Some(_)) => Operation::Rename,
                _ => Operation::Modify,
            };
            let target = move |place: &Place| Target {
                path: place.real.clone(),
                class: place.class,
                operation,
            };
            std::iter::once(target(&located.at)).chain(located.to.as_ref().map(target))
        })
    }

    /// Works the changes out in memory, each on the results of those before it. `seen` says which digest the
    /// task was last shown for a real path (P2).
    ///
    /// # Errors
    /// [`PatchError`] with every change that cannot be made; nothing was written.
    pub fn plan(
        self,
        seen: &dyn Fn(&RepoPath) -> Option<String>,
    ) -> Result<plan::PatchPlan, PatchError> {
        plan::plan(self.located, seen)
    }
}

fn locate(workspace: &Workspace, path: &RepoPath) -> Result<Place, ChangeError> {
    let is_link = leads_on(workspace, path)?;
    match workspace.reach(path) {
        Ok(found) => Ok(Place {
            requested: path.clone(),
            real: found.resolved.real.clone(),
            class: found.resolved.class,
            found: Some(found),
            is_link,
        }),
        // A link to nothing: what is written there would be wherever the link says (P-003).
        Err(AccessError::NotFound { .. }) if is_link => {
            Err(ChangeError::Link { path: path.clone() })
        }
        Err(AccessError::NotFound { .. }) => {
            let real = real_of_free(workspace, path)?;
            let class = classify(path).stricter(classify(&real));
            Ok(Place { requested: path.clone(), real, class, found: None, is_link })
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether the last component of a path is a link.
fn leads_on(workspace: &Workspace, path: &RepoPath) -> Result<bool, ChangeError> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW;
    match beneath::open(workspace.fd(), path, flags, Links::Follow) {
        Ok(fd) => {
            let status = Status::of(&fd).map_err(|errno| AccessError::from_errno(path, errno))?;
            Ok(status.kind == FileKind::Symlink)
        }
        Err(AccessError::NotFound { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The real path that a free path would get: that of its deepest existing folder, and the rest as it is.
fn real_of_free(workspace: &Workspace, path: &RepoPath) -> Result<RepoPath, ChangeError> {
    let mut folder = path.clone();
    while let Some(parent) = folder.parent() {
        match workspace.reach(&parent) {
            Ok(found) if found.resolved.kind == FileKind::Directory => {
                let rest = path.below(&parent).unwrap_or_else(|| path.clone());
                return Ok(found.resolved.real.join(&rest));
            }
            Ok(_) => return Err(AccessError::NotADirectory { path: path.clone() }.into()),
            Err(AccessError::NotFound { .. }) if leads_on(workspace, &parent)? => {
                return Err(ChangeError::Link { path: parent });
            }
            Err(AccessError::NotFound { .. }) => folder = parent,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(path.clone())
}
