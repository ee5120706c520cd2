//! A tree that is kept as the workspace is: by events where the file system has them, else by looking (W1).
//!
//! A digest is handed out only when nothing was left to look at after the last drain of the queue. What cannot be
//! followed falls back to looking at everything, never to an old digest.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::OFlags;

use crate::path::RepoPath;
use crate::revision::ObserveError;
use crate::revision::events::{Dirty, Watches};
use crate::revision::filesystem;
use crate::revision::leaf::{self, REMOTE_TICK_NS, ReadLeaf, Sight, TICK_NS};
use crate::revision::scan::{self, MAX_NAMES, Scan};
use crate::revision::scope::{Coverage, Scope};
use crate::revision::tracked::Tracked;
use crate::revision::tree::{Folder, Leaf, Node};
use crate::root::Workspace;
use crate::root::beneath::{self, FileKind, Links, Status};
use crate::root::directory;

/// How often the queue is drained and its paths are looked at before a workspace counts as in motion.
const ROUNDS: usize = 8;

type Stopping<'a> = &'a (dyn Fn() -> bool + Sync);

/// The tree of a workspace, and how it is kept.
pub(super) struct Live {
    workspace: Workspace,
    tree: Arc<Folder>,
    tracked: Tracked,
    dirty: Dirty,
    /// `None` when events cannot be had or were found to be missing.
    watches: Option<Watches>,
    /// Files with further names, looked at every time.
    shared: BTreeSet<RepoPath>,
    tick_ns: i64,
    /// Goes up whenever something was looked at again, so at each observation where there are no events.
    sequence: u64,
}

impl Live {
    /// Nothing is known yet but what `known` remembers of an earlier time.
    pub(super) fn new(workspace: &Workspace, known: Folder) -> Self {
        let has_events = filesystem::has_events(workspace);
        Self {
            workspace: workspace.clone(),
            tree: Arc::new(known),
            tracked: Tracked::default(),
            dirty: Dirty { everything: true, ..Dirty::default() },
            watches: has_events.then(Watches::new).and_then(Result::ok),
            shared: BTreeSet::new(),
            tick_ns: if has_events { TICK_NS } else { REMOTE_TICK_NS },
            sequence: 0,
        }
    }

    /// The tree as it is; it stays so for whoever has it.
    pub(super) fn tree(&self) -> Arc<Folder> {
        Arc::clone(&self.tree)
    }

    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Whether events keep the tree.
    pub(super) fn has_events(&self) -> bool {
        self.watches.is_some()
    }

    /// Brings the tree to what the workspace is now. Says whether it came to rest; when not, its digest is of no
    /// moment.
    pub(super) fn observe(&mut self, stop: Stopping<'_>) -> Result<bool, ObserveError> {
        let mut may_look_at_shared = true;
        for _ in 0..ROUNDS {
            self.drain();
            if self.watches.is_none() {
                self.dirty.everything = true;
            } else if may_look_at_shared {
                for path in self.shared_and_changed() {
                    self.dirty.add(path);
                }
                may_look_at_shared = false;
            }
            if self.dirty.is_empty() {
                self.seal();
                return Ok(true);
            }
            self.sequence = self.sequence.saturating_add(1);
            self.settle(stop)?;
            if self.watches.is_none() && self.dirty.is_empty() {
                // Without events there is nothing to wait for: this was the look.
                self.seal();
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn seal(&mut self) {
        if self.tree.digest().is_none() {
            Arc::make_mut(&mut self.tree).seal();
        }
    }

    /// Looks at everything although no event asks for it, and says what had changed unseen. Then events are not
    /// trusted any more.
    pub(super) fn audit(&mut self, stop: Stopping<'_>) -> Result<Vec<RepoPath>, ObserveError> {
        if !self.observe(stop)? || self.watches.is_none() {
            return Ok(Vec::new());
        }
        let known = self.tree();
        self.dirty.everything = true;
        self.settle(stop)?;
        self.seal();
        // What changed while it was looked at is in the queue by now.
        self.drain();
        let (changed, _) = super::difference::between(&known, &self.tree, MAX_NAMES);
        let is_announced = |path: &RepoPath| self.dirty.has(path) || self.shared.contains(path);
        let missed: Vec<RepoPath> =
            changed.into_iter().map(|file| file.path).filter(|path| !is_announced(path)).collect();
        if !missed.is_empty() {
            self.sequence = self.sequence.saturating_add(1);
            self.watches = None;
        }
        Ok(missed)
    }

    fn drain(&mut self) {
        if let Some(watches) = &mut self.watches
            && watches.drain(&mut self.dirty).is_err()
        {
            self.watches = None;
        }
    }

    /// The files with further names whose stamp is not the known one.
    fn shared_and_changed(&self) -> Vec<RepoPath> {
        let mut parents = Parents::new(&self.workspace);
        let mut changed = Vec::new();
        for path in &self.shared {
            let known = self.tree.get(path).and_then(Node::as_leaf);
            let now = parents.status(path).and_then(|(folder, status)| {
                leaf::glance(folder, path.name().unwrap_or_default(), &status, known).ok()
            });
            if !matches!((known, now), (Some(known), Some(Sight::Leaf(now))) if now == *known) {
                changed.push(path.clone());
            }
        }
        changed
    }

    /// Forgets that anything is known for certain: somebody was interrupted who had the tree.
    pub(super) fn distrust(&mut self) {
        self.dirty = Dirty { everything: true, ..Dirty::default() };
    }

    /// Looks at what is dirty. What could not be looked at stays dirty.
    fn settle(&mut self, stop: Stopping<'_>) -> Result<(), ObserveError> {
        let dirty = std::mem::take(&mut self.dirty);
        let was_whole = dirty.everything;
        let settled = self.settle_all(dirty, stop);
        if settled.is_err() {
            // What was done and what was not is not told apart.
            self.distrust();
        }
        settled.map(|()| {
            if was_whole {
                self.count_shared();
            }
        })
    }

    fn settle_all(&mut self, mut dirty: Dirty, stop: Stopping<'_>) -> Result<(), ObserveError> {
        if dirty.index && !dirty.everything {
            self.read_index(&mut dirty);
        }
        if dirty.everything {
            return self.scan_root(stop);
        }
        let mut unread = Vec::new();
        let mut last: Option<RepoPath> = None;
        for folder in dirty.folders {
            // In the order of bytes a folder comes before what lies in it.
            if last.as_ref().is_some_and(|last| folder.is_within(last)) {
                continue;
            }
            if folder.is_root() {
                return self.scan_root(stop);
            }
            self.scan_folder(&folder, &mut unread, stop)?;
            last = Some(folder);
        }
        self.look_at(dirty.paths, dirty.index, &mut unread, stop)?;
        self.read(&unread, stop)
    }

    /// Reads the index, and names what belongs or does not belong because of it.
    fn read_index(&mut self, dirty: &mut Dirty) {
        let tracked = Tracked::read(&self.workspace);
        let mut last = None;
        for path in tracked.differing(&self.tracked) {
            let parent = path.parent();
            if parent != last {
                // Whether anything in an ignored folder belongs decides whether the folder does.
                let ignored = parent.as_ref();
                let ignored = ignored.and_then(|at| Scope::ignored_folder(&self.workspace, at));
                if let Some(folder) = ignored {
                    dirty.add_folder(folder);
                }
                last = parent;
            }
            dirty.add(path);
        }
        self.tracked = tracked;
    }

    fn scan_root(&mut self, stop: Stopping<'_>) -> Result<(), ObserveError> {
        self.tracked = Tracked::read(&self.workspace);
        let mut unread = Vec::new();
        let found = self.scan(&RepoPath::root(), Scope::default(), &mut unread, stop)?;
        self.tree = match found {
            Some(Node::Folder(folder)) => folder,
            Some(Node::Leaf(_)) | None => return Err(ObserveError::Gone),
        };
        self.forget_watches();
        self.read(&unread, stop)
    }

    fn scan_folder(
        &mut self,
        folder: &RepoPath,
        unread: &mut Vec<RepoPath>,
        stop: Stopping<'_>,
    ) -> Result<(), ObserveError> {
        let parent = folder.parent().unwrap_or_default();
        let scope = Scope::of(&self.workspace, &parent, &self.tracked);
        let covered = scope.map(|scope| (scope.coverage(folder, true, &self.tracked), scope));
        let found = match covered {
            None | Some((Coverage::Outside, _)) => None,
            Some((coverage, mut scope)) => {
                scope.narrow(coverage);
                self.scan(folder, scope, unread, stop)?
            }
        };
        match found {
            Some(node) => Arc::make_mut(&mut self.tree).set(folder, node),
            None => self.leave(folder),
        }
        Ok(())
    }

    fn scan(
        &mut self,
        folder: &RepoPath,
        mut scope: Scope,
        unread: &mut Vec<RepoPath>,
        stop: Stopping<'_>,
    ) -> Result<Option<Node>, ObserveError> {
        let mut scan = Scan {
            workspace: &self.workspace,
            tracked: &self.tracked,
            watches: &mut self.watches,
            stop,
            names: 0,
            unread: Vec::new(),
        };
        let found = scan.folder(folder, &mut scope, self.tree.folder(folder))?;
        unread.append(&mut scan.unread);
        Ok(found)
    }

    /// Looks at single paths. Whether a known one belongs is asked again only when the index has changed: rules
    /// that change have their folder looked at as a whole.
    fn look_at(
        &mut self,
        paths: BTreeSet<RepoPath>,
        index_changed: bool,
        unread: &mut Vec<RepoPath>,
        stop: Stopping<'_>,
    ) -> Result<(), ObserveError> {
        let workspace = self.workspace.clone();
        let mut parents = Parents::new(&workspace);
        let mut scope: Option<(RepoPath, Option<Scope>)> = None;
        for path in paths {
            if stop() {
                return Err(ObserveError::Stopped);
            }
            let Some((folder, status)) = parents.status(&path) else {
                self.leave(&path);
                continue;
            };
            if status.kind == FileKind::Directory {
                let is_followed = self.watches.as_ref().is_some_and(|watches| watches.has(&path))
                    && self.tree.folder(&path).is_some();
                if !is_followed {
                    self.scan_folder(&path, unread, stop)?;
                }
                continue;
            }
            let is_known = self.tree.get(&path).and_then(Node::as_leaf).is_some();
            if (index_changed || !is_known) && !self.belongs(&path, &mut scope) {
                self.leave(&path);
                continue;
            }
            match leaf::glance(folder, path.name().unwrap_or_default(), &status, None) {
                Ok(Sight::Leaf(leaf)) => self.put(&path, leaf),
                Ok(Sight::Unread) => unread.push(path),
                // What it is changes just now; the event that says so is on its way.
                Err(_) => self.dirty.add(path),
            }
        }
        Ok(())
    }

    /// Whether a path that is no folder belongs; `scope` is that of the last folder asked about.
    fn belongs(&self, path: &RepoPath, scope: &mut Option<(RepoPath, Option<Scope>)>) -> bool {
        let parent = path.parent().unwrap_or_default();
        if scope.as_ref().is_none_or(|(at, _)| *at != parent) {
            let of_parent = Scope::of(&self.workspace, &parent, &self.tracked);
            *scope = Some((parent, of_parent));
        }
        let scope = scope.as_ref().and_then(|(_, scope)| scope.as_ref());
        scope.is_some_and(|scope| scope.coverage(path, false, &self.tracked) == Coverage::Covered)
    }

    /// Reads files and puts what they are into the tree.
    fn read(&mut self, paths: &[RepoPath], stop: Stopping<'_>) -> Result<(), ObserveError> {
        let all = scan::read_all(&self.workspace, paths, self.tick_ns, stop)?;
        for (path, read) in paths.iter().zip(all) {
            match read {
                ReadLeaf::Leaf(leaf) => self.put(path, leaf),
                ReadLeaf::Gone => self.leave(path),
                ReadLeaf::Changing => self.dirty.add(path.clone()),
            }
        }
        Ok(())
    }

    fn put(&mut self, path: &RepoPath, leaf: Leaf) {
        if leaf.is_shared {
            self.shared.insert(path.clone());
        } else {
            self.shared.remove(path);
        }
        Arc::make_mut(&mut self.tree).set(path, Node::Leaf(leaf));
    }

    /// Takes a path out of the tree, with what lay beneath it.
    fn leave(&mut self, path: &RepoPath) {
        if self.tree.get(path).is_some() {
            Arc::make_mut(&mut self.tree).remove(path);
        }
        self.shared.remove(path);
        if let Some(watches) = &mut self.watches {
            watches.forget(path);
        }
    }

    fn count_shared(&mut self) {
        self.shared.clear();
        let shared = &mut self.shared;
        self.tree.leaves(&RepoPath::root(), &mut |path, leaf| {
            if leaf.is_shared {
                shared.insert(path);
            }
        });
    }

    /// Gives up the watches of folders that are no part of the tree any more.
    fn forget_watches(&mut self) {
        let tree = &self.tree;
        if let Some(watches) = &mut self.watches {
            watches.keep(|path| tree.folder(path).is_some());
        }
    }
}

/// The folders of paths that come in order, each opened once.
struct Parents<'a> {
    workspace: &'a Workspace,
    open: Option<(RepoPath, Option<OwnedFd>)>,
}

impl<'a> Parents<'a> {
    fn new(workspace: &'a Workspace) -> Self {
        Self { workspace, open: None }
    }

    /// What lies at a path now, with its folder; `None` when nothing does.
    fn status(&mut self, path: &RepoPath) -> Option<(BorrowedFd<'_>, Status)> {
        let parent = path.parent()?;
        if self.open.as_ref().is_none_or(|(at, _)| *at != parent) {
            let flags = OFlags::PATH | OFlags::DIRECTORY;
            let root = self.workspace.fd();
            let fd = beneath::open_raw(root, parent.for_kernel(), flags, Links::Refuse).ok();
            self.open = Some((parent, fd));
        }
        let folder = self.open.as_ref()?.1.as_ref()?.as_fd();
        let status = directory::status(folder, path.name()?).ok()?;
        Some((folder, status))
    }
}
