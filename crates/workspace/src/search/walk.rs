//! The files of a scope, one after the other in path-byte order, and what is left out on the way.
//!
//! Every folder is opened anew beneath the root without following a link. It must never open a file, enter a
//! version control store, or read ahead of what it is asked for.

use crate::class::{PathClass, classify, is_version_control};
use crate::error::AccessError;
use crate::guard::Guard;
use crate::path::RepoPath;
use crate::root::Workspace;
use crate::root::beneath::FileKind;
use crate::root::directory::{Directory, Name, Place, is_behind};
use crate::rules::{Rules, Ruling};
use crate::search::selection::Selection;
use crate::search::skip::Reason;
use crate::search::{SearchError, SearchMode, SearchRequest, generated};

use rustix::io::Errno;

/// One step of a walk.
#[derive(Debug)]
pub(super) enum Step {
    /// A file to look into, by its real path.
    File(RepoPath),
    /// Something was left out.
    Skip(Reason),
    /// [`Guard::stop`] said so. Nothing comes after it.
    Stopped,
}

/// A walk through a scope.
pub(super) struct Walk<'a> {
    workspace: &'a Workspace,
    request: &'a SearchRequest,
    guard: &'a Guard<'a>,
    selection: Selection,
    rules: Rules,
    levels: Vec<Level>,
    /// A scope that is one file.
    single: Option<Single>,
    stopped: bool,
}

struct Single {
    path: RepoPath,
    class: PathClass,
    kind: FileKind,
}

struct Level {
    path: RepoPath,
    places: std::vec::IntoIter<Place>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        workspace: &'a Workspace,
        request: &'a SearchRequest,
        guard: &'a Guard<'a>,
    ) -> Result<Self, SearchError> {
        let selection = Selection::new(request)?;
        let scope = workspace.resolve(&request.scope)?;
        let mut walk = Self {
            workspace,
            request,
            guard,
            selection,
            rules: Rules::default(),
            levels: Vec::new(),
            single: None,
            stopped: false,
        };
        if scope.kind != FileKind::Directory || scope.real.components().any(is_version_control) {
            walk.single = Some(Single { path: scope.real, class: scope.class, kind: scope.kind });
            return Ok(walk);
        }
        if !request.include_ignored {
            walk.rules = Rules::above(workspace, &scope.real);
        }
        walk.enter(scope.real).map_err(|errno| AccessError::from_errno(&request.scope, errno))?;
        Ok(walk)
    }

    /// The next step; `None` at the end.
    pub(super) fn step(&mut self) -> Option<Step> {
        if let Some(single) = self.single.take() {
            return self.only(single);
        }
        while let Some(level) = self.levels.last_mut() {
            if self.stopped {
                self.levels.clear();
                return Some(Step::Stopped);
            }
            let Some(place) = level.places.next() else {
                self.levels.pop();
                if !self.request.include_ignored {
                    self.rules.leave();
                }
                continue;
            };
            let (name, is_folder) = place.name();
            let path = level.path.child(name);
            let step = if is_folder { self.folder(path) } else { self.file(path, place.kind) };
            if step.is_some() {
                return step;
            }
        }
        None
    }

    /// The scope itself, when it is one file: named in so many words, so no rule leaves it out.
    fn only(&mut self, single: Single) -> Option<Step> {
        if self.is_behind_file(&single.path) {
            return None;
        }
        if single.path.components().any(is_version_control) {
            return Some(Step::Skip(Reason::VersionControl));
        }
        if single.kind != FileKind::File {
            return Some(Step::Skip(Reason::Special));
        }
        if !self.selection.has_file(&single.path) {
            return None;
        }
        if !(self.guard.admit)(&single.path, single.class) {
            return Some(Step::Skip(Reason::Denied));
        }
        Some(Step::File(single.path))
    }

    fn folder(&mut self, path: RepoPath) -> Option<Step> {
        let after = self.request.after.as_ref();
        if after.is_some_and(|after| is_behind(&path, &after.path))
            || !self.selection.has_folder(&path)
        {
            return None;
        }
        let reason = self.left_out(&path, true).or_else(|| {
            let too_deep = self.levels.len() as u64 >= self.request.max_depth;
            too_deep.then_some(Reason::TooDeep)
        });
        if let Some(reason) = reason {
            return Some(Step::Skip(reason));
        }
        let errno = self.enter(path).err()?;
        opening(errno).map(Step::Skip)
    }

    fn file(&mut self, path: RepoPath, kind: FileKind) -> Option<Step> {
        if self.is_behind_file(&path) || !self.selection.has_file(&path) {
            return None;
        }
        let reason = self.left_out(&path, false).or(match kind {
            FileKind::File => None,
            FileKind::Symlink => Some(Reason::Link),
            _ => Some(Reason::Special),
        });
        if let Some(reason) = reason {
            return Some(Step::Skip(reason));
        }
        let looks_inside = self.request.mode != SearchMode::Filename;
        if looks_inside && !self.request.include_generated && generated::by_name(&path) {
            return Some(Step::Skip(Reason::Generated));
        }
        if !(self.guard.admit)(&path, classify(&path)) {
            return Some(Step::Skip(Reason::Denied));
        }
        Some(Step::File(path))
    }

    /// Whether the position to continue from is behind this file. One that was left in the middle is not.
    fn is_behind_file(&self, path: &RepoPath) -> bool {
        self.request.after.as_ref().is_some_and(|after| match path.cmp(&after.path) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => after.line_start.is_none(),
            std::cmp::Ordering::Greater => false,
        })
    }

    /// Why policy leaves a path out, whatever it is.
    fn left_out(&self, path: &RepoPath, is_folder: bool) -> Option<Reason> {
        let name = path.name().unwrap_or_default();
        if is_version_control(name) {
            return Some(Reason::VersionControl);
        }
        let ruling = if self.request.include_ignored {
            Ruling::Nothing
        } else {
            self.rules.ruling(path, is_folder)
        };
        let hidden = name.first() == Some(&b'.') && !self.request.include_hidden;
        match ruling {
            Ruling::Ignored => Some(Reason::Ignored),
            Ruling::Nothing if hidden => Some(Reason::Hidden),
            Ruling::Nothing | Ruling::Wanted => None,
        }
    }

    fn enter(&mut self, path: RepoPath) -> Result<(), Errno> {
        self.stopped |= (self.guard.stop)();
        if self.stopped {
            // The step after this one says so.
            self.levels.push(Level { path, places: Vec::new().into_iter() });
            return Ok(());
        }
        let folder = Directory::open(self.workspace, &path, self.guard)?;
        self.stopped = folder.stopped;
        if !self.request.include_ignored {
            self.rules.enter(self.workspace, &path, &folder.names);
        }
        let place = |name: &Name| match name.kind {
            FileKind::Directory => Place::beneath(name),
            _ => Place::of(name),
        };
        let mut places: Vec<Place> = folder.names.iter().map(place).collect();
        places.sort_unstable();
        self.levels.push(Level { path, places: places.into_iter() });
        Ok(())
    }
}

/// Why something could not be opened; `None` when it went away, so that there is nothing to leave out.
pub(super) fn opening(errno: Errno) -> Option<Reason> {
    match errno {
        Errno::NOENT => None,
        // Where a file or folder was, there is a link now.
        Errno::LOOP | Errno::XDEV => Some(Reason::Link),
        Errno::NXIO | Errno::NODEV => Some(Reason::Special),
        _ => Some(Reason::Unreadable),
    }
}
