//! What the kernel says has changed: one inotify instance with a watch on each folder of the tree.
//!
//! A write is in the queue before the writer is told of its end, so that draining the queue is a barrier. It
//! never looks at a file; it names the paths that somebody must look at.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use crate::class::is_version_control;
use crate::path::RepoPath;
use crate::rules;

/// More changed paths than these are found faster by looking at everything.
const DIRTY_PATHS: usize = 20_000;

/// Room for events that are read at once, bytes.
const BUFFER_BYTES: usize = 64 << 10;

/// What moves content, names or permissions. Nothing that a reader causes.
const CHANGES: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// Paths that somebody must look at again.
#[derive(Debug, Default)]
pub(super) struct Dirty {
    pub(super) paths: BTreeSet<RepoPath>,
    /// Folders with all that lies in them.
    pub(super) folders: BTreeSet<RepoPath>,
    /// The whole tree: events were lost, or there were too many.
    pub(super) everything: bool,
    /// The index of the repository.
    pub(super) index: bool,
}

impl Dirty {
    pub(super) fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.folders.is_empty() && !self.everything && !self.index
    }

    /// A path that may have changed. With a file of rules, what belongs in its folder may have.
    pub(super) fn add(&mut self, path: RepoPath) {
        let decides = |name| is_version_control(name) || rules::is_rule_file(name);
        if path.name().is_some_and(decides) {
            self.add_folder(path.parent().unwrap_or_default());
        }
        self.paths.insert(path);
        self.bound();
    }

    pub(super) fn add_folder(&mut self, path: RepoPath) {
        self.folders.insert(path);
        self.bound();
    }

    fn bound(&mut self) {
        self.everything |= self.paths.len().max(self.folders.len()) > DIRTY_PATHS;
        if self.everything {
            self.paths.clear();
            self.folders.clear();
        }
    }

    /// Whether somebody is going to look at this path.
    pub(super) fn has(&self, path: &RepoPath) -> bool {
        let mut upwards = std::iter::successors(Some(path.clone()), RepoPath::parent);
        self.everything
            || self.index
            || upwards.any(|at| self.paths.contains(&at) || self.folders.contains(&at))
    }
}

/// The watches of one tree.
pub(super) struct Watches {
    fd: OwnedFd,
    folders: HashMap<i32, RepoPath>,
    numbers: BTreeMap<RepoPath, i32>,
}

impl Watches {
    pub(super) fn new() -> Result<Self, Errno> {
        let fd = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        Ok(Self { fd, folders: HashMap::new(), numbers: BTreeMap::new() })
    }

    /// Watches an open folder that lies at `path`. Its names must be read after this.
    pub(super) fn add(&mut self, path: &RepoPath, folder: impl AsFd) -> Result<(), Errno> {
        // The descriptor's own name: what is watched is the folder that was opened.
        let name = format!("/proc/self/fd/{}", folder.as_fd().as_raw_fd());
        let number = inotify::add_watch(&self.fd, name, CHANGES)?;
        if let Some(former) = self.folders.insert(number, path.clone())
            && former != *path
        {
            self.numbers.remove(&former);
        }
        self.numbers.insert(path.clone(), number);
        Ok(())
    }

    /// Gives up the watches of a folder that is no part of the tree any more, and of all in it.
    pub(super) fn forget(&mut self, path: &RepoPath) {
        // In the order of bytes, `a-b` stands between `a` and `a/b`, so the folder itself comes apart.
        let below = path.child(b"");
        let is_below = |folder: &RepoPath| folder.as_bytes().starts_with(below.as_bytes());
        let range = self.numbers.range(below.clone()..);
        let mut gone: Vec<RepoPath> =
            range.map(|(folder, _)| folder.clone()).take_while(is_below).collect();
        gone.push(path.clone());
        for folder in gone {
            if let Some(number) = self.numbers.remove(&folder) {
                self.folders.remove(&number);
                // It fails when the folder is gone, and then there is no watch either.
                inotify::remove_watch(&self.fd, number).ok();
            }
        }
    }

    /// Gives up the watches of folders that are not kept; the version control store's are.
    pub(super) fn keep(&mut self, is_kept: impl Fn(&RepoPath) -> bool) {
        let is_store = |path: &RepoPath| path.components().any(is_version_control);
        let all: Vec<RepoPath> = self.numbers.keys().cloned().collect();
        for path in all.iter().filter(|path| !is_store(path) && !is_kept(path)) {
            self.forget(path);
        }
    }

    pub(super) fn has(&self, path: &RepoPath) -> bool {
        self.numbers.contains_key(path)
    }

    /// Takes what is in the queue now, and not what is added meanwhile.
    pub(super) fn drain(&mut self, dirty: &mut Dirty) -> Result<(), Errno> {
        let mut left = rustix::io::ioctl_fionread(&self.fd)?;
        if left == 0 {
            return Ok(());
        }
        let fd = self.fd.try_clone().map_err(|_| Errno::MFILE)?;
        let mut buffer = vec![MaybeUninit::<u8>::uninit(); BUFFER_BYTES];
        let mut reader = Reader::new(fd, &mut buffer);
        loop {
            let event = match reader.next() {
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(errno),
                Ok(event) => event,
            };
            let name = event.file_name().map(|name| name.to_bytes());
            let padded = name.map_or(0, |name| name.len() + 1).next_multiple_of(16);
            left = left.saturating_sub(u64::try_from(16 + padded).unwrap_or(u64::MAX));
            let (number, what) = (event.wd(), event.events());
            let name = name.map(<[u8]>::to_vec);
            self.take(number, what, name.as_deref(), dirty);
            if left == 0 && reader.is_buffer_empty() {
                return Ok(());
            }
        }
    }

    fn take(&mut self, number: i32, what: ReadFlags, name: Option<&[u8]>, dirty: &mut Dirty) {
        if what.contains(ReadFlags::QUEUE_OVERFLOW) || what.contains(ReadFlags::UNMOUNT) {
            dirty.everything = true;
            return;
        }
        let Some(folder) = self.folders.get(&number).cloned() else { return };
        if what.contains(ReadFlags::IGNORED) {
            self.folders.remove(&number);
            // The path may have a folder and a watch of another number by now.
            if self.numbers.get(&folder) == Some(&number) {
                self.numbers.remove(&folder);
            }
            return;
        }
        let Some(name) = name else {
            if folder.is_root() && what.intersects(ReadFlags::DELETE_SELF) {
                dirty.everything = true;
            }
            return;
        };
        if folder.components().any(is_version_control) {
            store(&folder, name, dirty);
            return;
        }
        let path = folder.child(name);
        if what.contains(ReadFlags::ISDIR) {
            if what.intersects(ReadFlags::DELETE.union(ReadFlags::MOVED_FROM)) {
                self.forget(&path);
            } else {
                dirty.add_folder(path.clone());
            }
        }
        dirty.add(path);
    }
}

/// An event in a folder of a version control store. Only what decides what belongs to the tree counts: the index
/// of the repository at the root, and the excluded names of each.
fn store(folder: &RepoPath, name: &[u8], dirty: &mut Dirty) {
    if (folder.as_bytes(), name) == (b".git", b"index") {
        dirty.index = true;
    }
    let mut upwards = folder.components().rev();
    let store = match (upwards.next(), upwards.next(), name) {
        (Some(b".git"), _, b"info") => Some(folder.clone()),
        (Some(b"info"), Some(b".git"), b"exclude") => folder.parent(),
        _ => None,
    };
    if let Some(store) = store {
        dirty.add_folder(store.parent().unwrap_or_default());
    }
}
