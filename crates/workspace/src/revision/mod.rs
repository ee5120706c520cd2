//! Which state of the workspace a result speaks of: a digest over its files, kept current from events (W1).
//!
//! A [`Tracker`] is asked with [`Tracker::observe`]; what it returns stays true of that moment for good. It never
//! hands out a digest that it cannot vouch for: then there is none, and [`Standing`] says why.

mod tree;
mod difference;
mod tracked;
mod scope;
mod leaf;
mod scan;
mod events;
mod filesystem;
mod live;
mod remembered;
mod tracker;

use std::fmt;
use std::sync::Arc;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

pub use difference::{ChangedFile, FileChange};
pub use tracker::Tracker;

use crate::path::RepoPath;
use tree::{Folder, LeafKind, Node};

/// A state of the files: `w1:` and 64 hexadecimal digits, a BLAKE3 Merkle root over names, kinds, executable bits
/// and contents of what belongs to the workspace.
///
/// What git tracks belongs, and what no ignore rule leaves out; the version control store and other file systems
/// mounted inside do not. Two workspaces with equal files have one revision. A file that cannot be read, or is
/// larger than 256 MiB, counts by its size and times.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Revision(String);

impl Revision {
    fn of(digest: blake3::Hash) -> Self {
        Self(format!("w1:{}", digest.to_hex()))
    }

    /// The revision as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// How a revision is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// From the events of the file system.
    Live,
    /// By looking at every file anew: the file system has no events, or there are too many folders to watch.
    Polled,
    /// It is not: the files are still being looked at, or do not come to rest.
    Rescanning,
    /// It is not: there are more than a million names.
    TooLarge,
}

/// The workspace at one moment.
#[derive(Clone, Debug)]
pub struct Observed {
    tree: Arc<Folder>,
    digest: blake3::Hash,
    standing: Standing,
    sequence: u64,
}

impl Observed {
    /// The revision of the whole workspace.
    #[must_use]
    pub fn revision(&self) -> Revision {
        Revision::of(self.digest)
    }

    /// The revision of one folder, which changes only with what lies in it; `None` when it does not belong.
    #[must_use]
    pub fn revision_of(&self, folder: &RepoPath) -> Option<Revision> {
        self.tree.folder(folder)?.digest().map(Revision::of)
    }

    /// How it is known.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.standing
    }

    /// Goes up with every observation that found something to look at again, so that a change that was undone
    /// shows. With [`Standing::Polled`] that is every one.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Whether a path is a file of this revision.
    #[must_use]
    pub fn covers(&self, path: &RepoPath) -> bool {
        self.tree.get(path).is_some_and(|node| node.as_leaf().is_some())
    }

    /// Whether `content` is what the file has in this revision; `None` when it is no file of it, or one that
    /// counts by its times.
    #[must_use]
    pub fn has_content(&self, path: &RepoPath, content: &[u8]) -> Option<bool> {
        let leaf = self.tree.get(path).and_then(Node::as_leaf)?;
        match leaf.kind {
            LeafKind::File | LeafKind::Executable => Some(blake3::hash(content) == leaf.digest),
            _ => None,
        }
    }

    /// The files that are not as they were in `earlier`, in path order: at most `limit` of them, and how many
    /// more there are.
    #[must_use]
    pub fn changed_since(&self, earlier: &Self, limit: usize) -> (Vec<ChangedFile>, u64) {
        difference::between(&earlier.tree, &self.tree, limit)
    }
}

/// Why there is no revision.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// The caller wanted to wait no longer, or the files did not come to rest.
    #[error("the files are still being looked at")]
    Stopped,
    /// There are too many names.
    #[error("the workspace has more than {} names: open a smaller one", scan::MAX_NAMES)]
    TooLarge,
    /// The root is gone.
    #[error("the root of the workspace is gone")]
    Gone,
    /// The system refused.
    #[error("the workspace cannot be looked at: {0}")]
    Io(std::io::Error),
}

impl From<Errno> for ObserveError {
    fn from(errno: Errno) -> Self {
        Self::Io(errno.into())
    }
}

impl ObserveError {
    /// What a result says in the place of a revision.
    #[must_use]
    pub fn standing(&self) -> Standing {
        match self {
            Self::TooLarge => Standing::TooLarge,
            Self::Stopped | Self::Gone | Self::Io(_) => Standing::Rescanning,
        }
    }
}
