//! A directory as a bounded list of what lies in it.
//!
//! Names, kinds and sizes only. It must never follow a link, enter a version control store that was not asked
//! for, or tell where a link leads outside of the workspace.

use crate::class::{classify, is_version_control};
use crate::error::AccessError;
use crate::guard::Guard;
use crate::path::RepoPath;
use crate::read::{Bound, Entry, LinkTarget, Listing, Range, ReadError, ReadRequest, Truncation};
use crate::root::beneath::FileKind;
use crate::root::directory::{self, Directory, Place};
use crate::root::{Reached, Workspace};
use crate::text;

/// Lists the directory that was reached.
pub(super) fn list(
    workspace: &Workspace,
    request: &ReadRequest,
    reached: Reached,
    guard: &Guard<'_>,
) -> Result<Listing, ReadError> {
    let resolved = reached.resolved;
    let after = match &request.range {
        Range::All => None,
        Range::After { entry } => Some(entry),
        Range::Lines { .. } | Range::Bytes { .. } => {
            let unit = "lines or bytes";
            return Err(ReadError::WrongRange { path: request.path.clone(), unit });
        }
    };
    if !(guard.admit)(&resolved.real, resolved.class) {
        return Err(ReadError::NotAdmitted { path: request.path.clone(), class: resolved.class });
    }
    let mut walk = Walk {
        workspace,
        request,
        guard,
        after,
        top: &resolved.real,
        levels: Vec::new(),
        entries: Vec::new(),
        entries_bytes: 0,
        unentered: 0,
    };
    walk.enter(RepoPath::root())?;
    let bound = walk.run()?;
    let (entries, unentered) = (walk.entries, walk.unentered);
    let continuation = entries
        .last()
        .filter(|_| bound.is_some())
        .map(|entry| Range::After { entry: entry.path.clone() });
    let truncation = bound.map(|bound| Truncation {
        bound,
        remaining_lines: 1,
        remaining_bytes: 0,
        skip_line: None,
    });
    Ok(Listing {
        path: resolved.requested,
        real: resolved.real,
        entries,
        unentered,
        truncation,
        continuation,
    })
}

/// What an entry takes as JSON beside its path: names of members, kind, size.
const ENTRY_BYTES: usize = 64;

struct Walk<'a> {
    workspace: &'a Workspace,
    request: &'a ReadRequest,
    guard: &'a Guard<'a>,
    after: Option<&'a RepoPath>,
    /// The real path of the listed directory.
    top: &'a RepoPath,
    levels: Vec<Level>,
    entries: Vec<Entry>,
    /// What the entries take as JSON.
    entries_bytes: usize,
    unentered: u64,
}

/// A directory on the way down, and what of it is still to come.
struct Level {
    /// Relative to the listed directory.
    path: RepoPath,
    directory: Directory,
    places: std::vec::IntoIter<Place>,
}

impl Walk<'_> {
    /// Goes on until a bound, and says which; there is at least one more entry then.
    fn run(&mut self) -> Result<Option<Bound>, ReadError> {
        while let Some(level) = self.levels.last_mut() {
            let Some(place) = level.places.next() else {
                self.levels.pop();
                continue;
            };
            let (name, beneath) = place.name();
            let path = level.path.child(name);
            if beneath {
                self.descend(path, name)?;
            } else if self.after.is_none_or(|after| path > *after) {
                if self.entries.len() as u64 >= self.request.max_entries {
                    return Ok(Some(Bound::Entries));
                }
                let bytes = ENTRY_BYTES.saturating_add(text::json_bytes(&path.to_string()));
                let most = usize::try_from(self.request.max_bytes).unwrap_or(usize::MAX);
                if !self.entries.is_empty() && self.entries_bytes.saturating_add(bytes) > most {
                    return Ok(Some(Bound::Bytes));
                }
                self.entries_bytes = self.entries_bytes.saturating_add(bytes);
                let entry = entry(self.workspace, self.top, level, path, name);
                self.entries.extend(entry);
            }
        }
        Ok(None)
    }

    fn descend(&mut self, path: RepoPath, name: &[u8]) -> Result<(), ReadError> {
        if self.after.is_some_and(|after| directory::is_behind(&path, after)) {
            return Ok(());
        }
        let too_deep = self.levels.len() as u64 >= self.request.max_depth;
        if too_deep || is_version_control(name) {
            self.unentered += 1;
            return Ok(());
        }
        let real = self.top.join(&path);
        if !(self.guard.admit)(&real, classify(&real)) {
            self.unentered += 1;
            return Ok(());
        }
        self.enter(path)
    }

    fn enter(&mut self, path: RepoPath) -> Result<(), ReadError> {
        let asked = &self.request.path;
        let stopped = || ReadError::Stopped { path: asked.clone() };
        if (self.guard.stop)() {
            return Err(stopped());
        }
        let real = self.top.join(&path);
        let mut directory = match Directory::open(self.workspace, &real, self.guard) {
            Ok(directory) => directory,
            Err(errno) if self.levels.is_empty() => {
                return Err(AccessError::from_errno(asked, errno).into());
            }
            Err(_) => {
                self.unentered += 1;
                return Ok(());
            }
        };
        if directory.stopped {
            return Err(stopped());
        }
        let mut places = Vec::with_capacity(directory.names.len());
        for name in std::mem::take(&mut directory.names) {
            if name.kind == FileKind::Directory {
                places.push(Place::beneath(&name));
            }
            places.push(Place::of(&name));
        }
        places.sort_unstable();
        self.levels.push(Level { path, directory, places: places.into_iter() });
        Ok(())
    }
}

/// One entry; `None` when it went away since its directory was read.
fn entry(
    workspace: &Workspace,
    top: &RepoPath,
    level: &Level,
    path: RepoPath,
    name: &[u8],
) -> Option<Entry> {
    let status = level.directory.status(name).ok()?;
    let real = top.join(&path);
    let target = (status.kind == FileKind::Symlink).then(|| target(workspace, &real));
    let mut class = classify(&real);
    if let Some(LinkTarget::Inside(inside)) = &target {
        class = class.stricter(classify(inside));
    }
    Some(Entry {
        path,
        kind: status.kind,
        size_bytes: status.size_bytes,
        executable: status.kind == FileKind::File && status.is_executable(),
        class,
        target,
    })
}

fn target(workspace: &Workspace, link: &RepoPath) -> LinkTarget {
    match workspace.resolve(link) {
        Ok(resolved) => LinkTarget::Inside(resolved.real),
        Err(
            AccessError::NotFound { .. }
            | AccessError::LinkRefused { .. }
            | AccessError::NotADirectory { .. },
        ) => LinkTarget::Dangling,
        Err(_) => LinkTarget::Outside,
    }
}
