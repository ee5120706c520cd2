//! Walking a folder and comparing it with what was known: the slow way to a tree, and the start of the fast one.
//!
//! A folder is watched before its names are read, so nothing can change unseen in between. Files whose stamp is the
//! known one are not opened. It stays on the file system of the root.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::guard::Guard;
use crate::path::RepoPath;
use crate::revision::ObserveError;
use crate::revision::events::Watches;
use crate::revision::leaf::{self, ReadLeaf, Sight};
use crate::revision::scope::{Coverage, Scope};
use crate::revision::tracked::Tracked;
use crate::revision::tree::{Folder, Leaf, Node, Nodes};
use crate::root::Workspace;
use crate::root::beneath::{self, FileKind, Links, Status};
use crate::root::directory::{Directory, Name};

/// The most names that one tree holds.
pub(super) const MAX_NAMES: usize = 1_000_000;

/// The most threads that read files.
const THREADS: usize = 8;

/// From how many files on threads are worth their start.
const FILES_FOR_THREADS: usize = 32;

/// One walk.
pub(super) struct Scan<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) tracked: &'a Tracked,
    /// Where folders are watched; `None` when changes are found by looking, also from the moment on when one of them
    /// cannot be watched.
    pub(super) watches: &'a mut Option<Watches>,
    pub(super) stop: &'a (dyn Fn() -> bool + Sync),
    /// Names seen so far.
    pub(super) names: usize,
    /// Files whose content is not known.
    pub(super) unread: Vec<RepoPath>,
}

impl Scan<'_> {
    /// The folder at `path` as it is now, without the files in [`Scan::unread`]; `None` when it is not there or
    /// no part of the workspace's file system.
    pub(super) fn folder(
        &mut self,
        path: &RepoPath,
        scope: &mut Scope,
        old: Option<&Folder>,
    ) -> Result<Option<Node>, ObserveError> {
        if (self.stop)() {
            return Err(ObserveError::Stopped);
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let opened =
            beneath::open_raw(self.workspace.fd(), path.for_kernel(), flags, Links::Refuse);
        let fd = match opened {
            Ok(fd) => fd,
            Err(Errno::ACCESS | Errno::PERM) => return Ok(Some(Node::Leaf(leaf::closed_folder()))),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        if Status::of(&fd)?.identity.device != self.workspace.identity().device {
            return Ok(None);
        }
        self.watch(path, &fd);
        let guard = Guard { admit: &|_, _| true, stop: self.stop };
        let directory = Directory::read(fd, &guard)?;
        self.names = self.names.saturating_add(directory.names.len());
        if directory.stopped {
            return Err(ObserveError::Stopped);
        }
        if self.names > MAX_NAMES {
            return Err(ObserveError::TooLarge);
        }
        if directory.names.iter().any(|name| name.bytes == b".git") {
            self.watch_store(&path.child(b".git"));
        }
        scope.enter(self.workspace, path, &directory.names);
        let nodes = self.nodes(path, scope, old, &directory);
        scope.leave();
        Ok(Some(Node::Folder(Arc::new(Folder::of(nodes?)))))
    }

    fn nodes(
        &mut self,
        path: &RepoPath,
        scope: &mut Scope,
        old: Option<&Folder>,
        directory: &Directory,
    ) -> Result<Nodes, ObserveError> {
        let mut nodes = Vec::with_capacity(directory.names.len());
        for name in &directory.names {
            let at = path.child(&name.bytes);
            let is_folder = name.kind == FileKind::Directory;
            let coverage = scope.coverage(&at, is_folder, self.tracked);
            if coverage == Coverage::Outside {
                continue;
            }
            let known = old.and_then(|old| old.get_here(&name.bytes));
            let node = if is_folder {
                let known = known.and_then(Node::as_folder);
                let outer = scope.narrow(coverage);
                let folder = self.folder(&at, scope, known);
                scope.widen(outer);
                folder?
            } else {
                self.leaf(&at, directory, name, known.and_then(Node::as_leaf))?
            };
            nodes.extend(node.map(|node| (name.bytes.as_slice().into(), node)));
        }
        Ok(nodes)
    }

    fn leaf(
        &mut self,
        path: &RepoPath,
        directory: &Directory,
        name: &Name,
        known: Option<&Leaf>,
    ) -> Result<Option<Node>, ObserveError> {
        let status = match directory.status(&name.bytes) {
            Ok(status) => status,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        match leaf::glance(&directory.fd, &name.bytes, &status, known) {
            Ok(Sight::Leaf(leaf)) => Ok(Some(Node::Leaf(leaf))),
            Ok(Sight::Unread) => {
                self.unread.push(path.clone());
                Ok(None)
            }
            Err(Errno::NOENT | Errno::INVAL) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Watches where a repository says what belongs: its index and its excluded names. This comes before they are
    /// read.
    fn watch_store(&mut self, store: &RepoPath) {
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        for path in [store.clone(), store.child(b"info")] {
            // What is no folder, or led out, is read by nobody either.
            let root = self.workspace.fd();
            if let Ok(fd) = beneath::open_raw(root, path.as_bytes(), flags, Links::Refuse) {
                self.watch(&path, &fd);
            }
        }
    }

    fn watch(&mut self, path: &RepoPath, folder: impl AsFd) {
        let Some(watches) = self.watches.as_mut() else { return };
        match watches.add(path, folder) {
            // It went away since it was opened; its folder tells of that.
            Ok(()) | Err(Errno::NOENT) => {}
            Err(_) => *self.watches = None,
        }
    }
}

/// Reads files, several at once when there are many. What each gave comes in the given order.
pub(super) fn read_all(
    workspace: &Workspace,
    paths: &[RepoPath],
    tick_ns: i64,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<ReadLeaf>, ObserveError> {
    let read = |path: &RepoPath| {
        if stop() {
            return Err(ObserveError::Stopped);
        }
        leaf::read(workspace, path, tick_ns).map_err(ObserveError::from)
    };
    if paths.len() < FILES_FOR_THREADS {
        return paths.iter().map(read).collect();
    }
    let threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push((path, read(path)));
        }
        done
    };
    let mut all: Vec<(&RepoPath, Result<ReadLeaf, ObserveError>)> = thread::scope(|scope| {
        let start = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        // This thread works too: with none beside it, it does everything.
        let others: Vec<_> = (1..threads).filter_map(start).collect();
        let mut all = work();
        all.extend(others.into_iter().filter_map(|other| other.join().ok()).flatten());
        all
    });
    all.sort_unstable_by_key(|(path, _)| std::ptr::from_ref(*path));
    let read: Result<Vec<ReadLeaf>, ObserveError> = all.into_iter().map(|(_, read)| read).collect();
    // A thread that broke takes its files with it; then nothing is known.
    read.and_then(|read| if read.len() == paths.len() { Ok(read) } else { Err(Errno::IO.into()) })
}
