//! The files that git tracks, from the index of the repository at the root.
//!
//! A tracked file belongs to the workspace whatever the ignore rules say. No git process runs and nothing of the
//! repository's configuration counts. An index that cannot be read means that nothing is known to be tracked.

use std::fs::File;
use std::io::Read;

use filetime::FileTime;
use gix_index::State;
use gix_index::decode::Options;
use gix_index::hash::Kind;
use rustix::fs::OFlags;

use crate::path::RepoPath;
use crate::root::Workspace;
use crate::root::beneath::{self, FileKind, Links, Status};

/// The largest index that is read, bytes.
const INDEX_BYTES: u64 = 512 << 20;

/// The paths of the index, sorted by their bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tracked {
    paths: Vec<Box<[u8]>>,
}

impl Tracked {
    /// Reads the index at the root of the workspace.
    pub(super) fn read(workspace: &Workspace) -> Self {
        bytes(workspace).and_then(|bytes| Self::of(&bytes)).unwrap_or_default()
    }

    fn of(bytes: &[u8]) -> Option<Self> {
        let state = |kind| {
            let options = Options { thread_limit: Some(1), ..Options::default() };
            let time = FileTime::zero();
            State::from_bytes(bytes, time, kind, options).ok().map(|(state, _)| state)
        };
        let state = state(Kind::Sha1).or_else(|| state(Kind::Sha256))?;
        let path = |entry: &gix_index::Entry| Box::from(entry.path(&state).as_ref() as &[u8]);
        let mut paths: Vec<Box<[u8]>> = state.entries().iter().map(path).collect();
        paths.sort_unstable();
        // A path in conflict is there once for each side.
        paths.dedup();
        Some(Self { paths })
    }

    pub(super) fn has(&self, path: &RepoPath) -> bool {
        self.paths.binary_search_by(|other| (**other).cmp(path.as_bytes())).is_ok()
    }

    /// Whether anything in a folder is tracked.
    pub(super) fn has_within(&self, folder: &RepoPath) -> bool {
        let mut prefix = folder.as_bytes().to_vec();
        prefix.push(b'/');
        let at = self.paths.partition_point(|path| **path < *prefix);
        self.paths.get(at).is_some_and(|path| path.starts_with(&prefix))
    }

    /// The paths that are in one of two indexes only.
    pub(super) fn differing(&self, other: &Self) -> Vec<RepoPath> {
        let only = |one: &Self, other: &Self| -> Vec<RepoPath> {
            let missing = one.paths.iter().filter(|path| other.paths.binary_search(path).is_err());
            missing.filter_map(|path| RepoPath::from_bytes(path).ok()).collect()
        };
        let mut all = only(self, other);
        all.extend(only(other, self));
        all
    }
}

fn bytes(workspace: &Workspace) -> Option<Vec<u8>> {
    let fd =
        beneath::open_raw(workspace.fd(), b".git/index", OFlags::RDONLY, Links::Refuse).ok()?;
    let status = Status::of(&fd).ok()?;
    if status.kind != FileKind::File || status.size_bytes > INDEX_BYTES {
        return None;
    }
    let mut bytes = Vec::new();
    File::from(fd).take(INDEX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
