//! The names in one directory, in the order in which paths beneath it sort by their bytes.
//!
//! It must never look at what the names stand for beyond their kind, nor follow a link.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, OFlags};
use rustix::io::Errno;

use crate::guard::Guard;
use crate::path::RepoPath;
use crate::root::Workspace;
use crate::root::beneath::{self, FileKind, Links, Status};

/// How many names are read between two questions whether to stop.
const STEP_NAMES: usize = 1024;

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) bytes: Vec<u8>,
    pub(crate) kind: FileKind,
}

/// A directory that was opened, and its names in no order.
pub(crate) struct Directory {
    pub(crate) fd: OwnedFd,
    pub(crate) names: Vec<Name>,
    /// Whether [`Guard::stop`] ended it early.
    pub(crate) stopped: bool,
}

impl Directory {
    /// Reads the directory at a real path: no link is followed on the way.
    pub(crate) fn open(
        workspace: &Workspace,
        path: &RepoPath,
        guard: &Guard<'_>,
    ) -> Result<Self, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let fd = beneath::open_raw(workspace.fd(), path.for_kernel(), flags, Links::Refuse)?;
        Self::read(fd, guard)
    }

    /// Reads the names of a directory that was opened for reading.
    pub(crate) fn read(fd: OwnedFd, guard: &Guard<'_>) -> Result<Self, Errno> {
        let mut names = Vec::new();
        let mut stopped = false;
        for entry in Dir::read_from(&fd)? {
            let entry = entry?;
            let bytes = entry.file_name().to_bytes();
            if matches!(bytes, b"." | b"..") {
                continue;
            }
            let kind = match FileKind::from_type(entry.file_type()) {
                // Some file systems do not say.
                FileKind::Other => kind_of(&fd, bytes),
                kind => kind,
            };
            names.push(Name { bytes: bytes.to_vec(), kind });
            if names.len() % STEP_NAMES == 0 && (guard.stop)() {
                stopped = true;
                break;
            }
        }
        Ok(Self { fd, names, stopped })
    }

    /// What the kernel says about one name now, links not followed.
    pub(crate) fn status(&self, name: &[u8]) -> Result<Status, Errno> {
        status(&self.fd, name)
    }
}

fn kind_of(fd: impl AsFd, name: &[u8]) -> FileKind {
    status(fd, name).map_or(FileKind::Other, |status| status.kind)
}

/// What the kernel says about a name in an open folder now, links not followed.
pub(crate) fn status(fd: impl AsFd, name: &[u8]) -> Result<Status, Errno> {
    rustix::fs::statat(fd, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| Status::from_stat(&stat))
}

/// A place in the order of paths: a name itself, or all that lies beneath it.
///
/// `a-b` sorts before `a/b` and `a` before both, so what lies in a directory does not come right behind it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// The path, with a last `/` for all that lies beneath it.
    key: Vec<u8>,
    pub(crate) kind: FileKind,
}

impl Place {
    pub(crate) fn of(name: &Name) -> Self {
        Self { key: name.bytes.clone(), kind: name.kind }
    }

    pub(crate) fn beneath(name: &Name) -> Self {
        let mut key = name.bytes.clone();
        key.push(b'/');
        Self { key, kind: name.kind }
    }

    /// The name, and whether all beneath it is meant.
    pub(crate) fn name(&self) -> (&[u8], bool) {
        match self.key.strip_suffix(b"/") {
            Some(name) => (name, true),
            None => (&self.key, false),
        }
    }
}

/// Whether every path beneath `folder` sorts at or before `position`.
pub(crate) fn is_behind(folder: &RepoPath, position: &RepoPath) -> bool {
    if folder.is_root() {
        return false;
    }
    let mut prefix = folder.as_bytes().to_vec();
    prefix.push(b'/');
    prefix.as_slice() <= position.as_bytes() && !position.as_bytes().starts_with(&prefix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn path(text: &str) -> RepoPath {
        text.parse().unwrap()
    }

    #[test]
    fn w6_what_lies_in_a_folder_sorts_by_its_whole_path() {
        let folder = Name { bytes: b"a".to_vec(), kind: FileKind::Directory };
        let beside = Name { bytes: b"a-b".to_vec(), kind: FileKind::File };
        let behind = Name { bytes: b"a0".to_vec(), kind: FileKind::File };
        let mut places =
            [Place::of(&behind), Place::beneath(&folder), Place::of(&beside), Place::of(&folder)];
        places.sort();
        let keys: Vec<&[u8]> = places.iter().map(|place| place.key.as_slice()).collect();
        assert_eq!(keys, [&b"a"[..], b"a-b", b"a/", b"a0"]);
    }

    proptest! {
        #[test]
        fn w6_a_folder_is_behind_only_with_all_that_lies_in_it(
            folder in "[a-c-]{1,2}(/[a-c-]{1,2})?",
            position in "[a-c-]{1,2}(/[a-c-]{1,2}){0,2}",
        ) {
            let (folder, position) = (path(&folder), path(&position));
            let last = folder.child(&[0xFF; 3]);
            prop_assert_eq!(is_behind(&folder, &position), last <= position);
        }
    }
}
