//! Undoing a patch that did not land, at once or after a crash, and saying from digests whether one did.
//!
//! What to do is read off the names and digests on disk, so it can itself be broken off and done again (P6). A
//! content that nobody planned is never removed; where that leaves a change half done, the path is reported.

use std::path::Path;
use std::rc::Rc;

use crate::error::AccessError;
use crate::patch::apply::folder::{Folder, Folders, Now};
use crate::patch::error::ApplyError;

use crate::patch::apply::journal::{Journal, Left, Record, Step};
use crate::path::RepoPath;
use crate::root::Workspace;

/// How often a displaced content is put back against somebody who keeps writing.
const PUT_BACK_ROUNDS: usize = 8;

/// What was found and done at start-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Patches that had begun and were undone.
    pub undone: usize,
    /// Patches that had landed and were cleaned up after.
    pub finished: usize,
}

/// Whether a patch happened, from the files alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Every file is as before.
    Old,
    /// Every file is as intended.
    New,
    /// Neither: some are, or some have been changed since.
    Mixed,
}

/// Whether another patch's writer could have been at work meanwhile, or the whole system was away.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Within the call that began the patch: what overwrote its content within moments stands.
    Live,
    /// After a crash: what overwrote its content may have been built on it.
    Crash,
}

/// Paths that could not be made as before.
#[derive(Debug, Default)]
pub(crate) struct Unrepaired {
    paths: Vec<RepoPath>,
    kept: Vec<RepoPath>,
}

impl Unrepaired {
    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    pub(crate) fn into_error(self, journal: String) -> ApplyError {
        ApplyError::NeedsRepair { paths: self.paths, kept: self.kept, journal }
    }
}

/// Puts right what earlier processes left half done (P6). `journals` is the directory given to
/// [`PatchPlan::apply`](crate::patch::PatchPlan::apply).
///
/// # Errors
/// [`ApplyError::NeedsRepair`] when a file is neither as before nor as intended.
pub fn recover(workspace: &Workspace, journals: &Path) -> Result<Recovered, ApplyError> {
    let journal = Journal::open(workspace, journals, &|| false)?;
    settle_left(workspace, &journal)
}

/// What a change meant to do to one path: digests of its content, `None` where there is no file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intended {
    /// The real path.
    pub path: RepoPath,
    /// What it was.
    pub before: Option<String>,
    /// What it was to be.
    pub after: Option<String>,
    /// What its executable bit was to become, when nothing else of it was to change.
    pub executable: Option<bool>,
}

/// Says from the files alone whether a change happened.
#[must_use]
pub fn settle(workspace: &Workspace, files: &[Intended]) -> Settled {
    let mut open = Folders::new(workspace);
    let mut is = |path: &RepoPath, wanted: &Option<String>, bit: Option<bool>| match (
        look(&mut open, path),
        wanted,
    ) {
        (Ok(now), Some(digest)) => now.has(digest) && bit.is_none_or(|bit| now.is(bit)),
        (Ok(Now::Missing) | Err(AccessError::NotFound { .. }), None) => true,
        _ => false,
    };
    if files.iter().all(|file| is(&file.path, &file.after, file.executable)) {
        Settled::New
    } else if files.iter().all(|file| is(&file.path, &file.before, file.executable.map(|bit| !bit)))
    {
        Settled::Old
    } else {
        Settled::Mixed
    }
}

fn look(open: &mut Folders<'_>, path: &RepoPath) -> Result<Now, AccessError> {
    let (folder, name) = open.of(path)?;
    folder.look(name).map_err(|error| AccessError::from_io(path, error))
}

/// Settles every record that is left, under the journal's lock.
pub(crate) fn settle_left(
    workspace: &Workspace,
    journal: &Journal,
) -> Result<Recovered, ApplyError> {
    let mut recovered = Recovered::default();
    for (id, left) in journal.left()? {
        let mut open = Folders::new(workspace);
        match left {
            Left::Begun(record) => {
                let unrepaired = undo(&mut open, &record, Mode::Crash);
                if !unrepaired.is_empty() {
                    return Err(unrepaired.into_error(journal.leave_for_repair(&id)?));
                }
                recovered.undone += 1;
            }
            Left::Published(record) => {
                clean(&mut open, &record)
                    .map_err(|(path, source)| ApplyError::Refused { path, source })?;
                recovered.finished += 1;
            }
            Left::Repair(record) => {
                let paths = record.steps.iter().map(|step| step.path().clone()).collect();
                let unrepaired = Unrepaired { paths, kept: Vec::new() };
                return Err(unrepaired.into_error(journal.shown(&id)));
            }
        }
        journal.close(&id)?;
    }
    Ok(recovered)
}

/// Removes the spare names of a patch that has happened.
pub(crate) fn clean(
    open: &mut Folders<'_>,
    record: &Record,
) -> Result<(), (RepoPath, AccessError)> {
    for step in &record.steps {
        let (Step::Modify { path, spare, .. } | Step::Remove { path, spare, .. }) = step else {
            continue;
        };
        let removed = open.of(path).and_then(|(folder, _)| {
            folder.remove(spare.as_bytes()).map_err(|errno| AccessError::from_errno(path, errno))
        });
        match removed {
            // Somebody removed the whole folder since: nothing of ours is left in it.
            Ok(()) | Err(AccessError::NotFound { .. } | AccessError::NotADirectory { .. }) => {}
            Err(error) => return Err((path.clone(), error)),
        }
    }
    Ok(())
}

/// Undoes the steps of a record, the last one first, and removes the folders that it made.
pub(crate) fn undo(open: &mut Folders<'_>, record: &Record, mode: Mode) -> Unrepaired {
    let mut unrepaired = Unrepaired::default();
    for step in record.steps.iter().rev() {
        if mode == Mode::Live && !open.has_opened(step.path()) {
            continue;
        }
        match undo_step(open, step, mode) {
            Ok(Undone::AsBefore) => {}
            Ok(Undone::Overwritten { kept }) => {
                unrepaired.paths.push(step.path().clone());
                unrepaired.kept.extend(kept);
            }
            // A folder that was never made, or that somebody took away with all in it.
            Err(AccessError::NotFound { .. }) => {}
            Err(_) => unrepaired.paths.push(step.path().clone()),
        }
    }
    for path in record.folders.iter().rev() {
        if let Ok((parent, name)) = open.of(path) {
            // One that is in use by now stays.
            parent.remove_empty(name).ok();
        }
    }
    unrepaired
}

enum Undone {
    AsBefore,
    /// Somebody else's content stands at the path; the content before is kept under the spare name.
    Overwritten {
        kept: Option<RepoPath>,
    },
}

fn undo_step(open: &mut Folders<'_>, step: &Step, mode: Mode) -> Result<Undone, AccessError> {
    let path = step.path();
    let (folder, name) = open.of(path)?;
    let at = Undoing { folder, name, path, mode };
    match step {
        Step::Modify { spare, before, after, .. } => at.modify(spare, before, after),
        Step::Add { spare, after, .. } => at.add(spare, after),
        Step::Remove { spare, before, .. } => at.remove(spare, before),
        Step::Move { to, digest, .. } => at.move_back(open, to, digest),
        Step::Mode { digest, before, after, .. } => {
            // Another content or other bits are somebody else's by now, and stay.
            let set = at.folder.set_mode(name, digest, (*after, *before));
            set.map(|_| Undone::AsBefore).map_err(|error| AccessError::from_io(path, error))
        }
    }
}

/// One step's path while it is undone.
struct Undoing<'a> {
    folder: Rc<Folder>,
    name: &'a [u8],
    path: &'a RepoPath,
    mode: Mode,
}

impl Undoing<'_> {
    fn look(&self, name: &[u8]) -> Result<Now, AccessError> {
        self.folder.look(name).map_err(|error| AccessError::from_io(self.path, error))
    }

    fn done<T>(&self, done: Result<T, rustix::io::Errno>) -> Result<T, AccessError> {
        done.map_err(|errno| AccessError::from_errno(self.path, errno))
    }

    fn drop_spare(&self, spare: &str) -> Result<Undone, AccessError> {
        self.done(self.folder.remove(spare.as_bytes())).map(|()| Undone::AsBefore)
    }

    fn overwritten(&self, spare: &str) -> Undone {
        let kept = self.path.parent().unwrap_or_default().child(spare.as_bytes());
        Undone::Overwritten { kept: Some(kept) }
    }

    fn modify(&self, spare: &str, before: &str, after: &str) -> Result<Undone, AccessError> {
        let displaced = self.look(spare.as_bytes())?;
        if displaced == Now::Missing || displaced.has(after) {
            return self.drop_spare(spare);
        }
        match self.look(self.name)? {
            now if now.has(after) => self.put_back(spare, now, displaced),
            now if now.has(before) => self.drop_spare(spare),
            // Written over our content: had we never been, that writer would have displaced the same.
            _ if self.mode == Mode::Live || !displaced.has(before) => self.drop_spare(spare),
            _ => Ok(self.overwritten(spare)),
        }
    }

    /// Exchanges until what comes out is what went in last, so that the newest foreign content stays. Content
    /// counts beside the object, because a freed inode number soon belongs to another file.
    fn put_back(&self, spare: &str, ours: Now, displaced: Now) -> Result<Undone, AccessError> {
        let spare_name = spare.as_bytes();
        let (mut placed, mut next) = (ours, displaced);
        for _ in 0..PUT_BACK_ROUNDS {
            match self.folder.exchange(spare_name, self.name) {
                // Removed by somebody since: so it stays.
                Err(rustix::io::Errno::NOENT) => return self.drop_spare(spare),
                done => self.done(done)?,
            }
            let out = self.look(spare_name)?;
            if out == placed {
                return self.drop_spare(spare);
            }
            placed = std::mem::replace(&mut next, out);
        }
        Ok(self.overwritten(spare))
    }

    fn add(&self, spare: &str, after: &str) -> Result<Undone, AccessError> {
        let spare_name = spare.as_bytes();
        if self.look(spare_name)? != Now::Missing {
            return self.drop_spare(spare);
        }
        if !self.look(self.name)?.has(after) {
            return Ok(Undone::AsBefore);
        }
        self.done(self.folder.rename(self.name, &self.folder, spare_name))?;
        if self.look(spare_name)?.has(after) {
            return self.drop_spare(spare);
        }
        // Somebody replaced it at the last moment: it is theirs.
        self.done(self.folder.rename(spare_name, &self.folder, self.name))?;
        Ok(Undone::AsBefore)
    }

    fn remove(&self, spare: &str, before: &str) -> Result<Undone, AccessError> {
        let spare_name = spare.as_bytes();
        let displaced = self.look(spare_name)?;
        if displaced == Now::Missing {
            return Ok(Undone::AsBefore);
        }
        match self.folder.rename(spare_name, &self.folder, self.name) {
            Ok(()) => Ok(Undone::AsBefore),
            Err(rustix::io::Errno::EXIST) if self.mode == Mode::Live || !displaced.has(before) => {
                self.drop_spare(spare)
            }
            Err(rustix::io::Errno::EXIST) => Ok(self.overwritten(spare)),
            Err(errno) => Err(AccessError::from_errno(self.path, errno)),
        }
    }

    fn move_back(
        &self,
        open: &mut Folders<'_>,
        to: &RepoPath,
        digest: &str,
    ) -> Result<Undone, AccessError> {
        if self.done(self.folder.identity(self.name))?.is_some() {
            return Ok(Undone::AsBefore);
        }
        let (into, new_name) = open.of(to)?;
        let moved = into.look(new_name).map_err(|error| AccessError::from_io(to, error))?;
        if moved.has(digest) || (self.mode == Mode::Live && moved != Now::Missing) {
            self.done(into.rename(new_name, &self.folder, self.name))?;
            return Ok(Undone::AsBefore);
        }
        Ok(Undone::Overwritten { kept: None })
    }
}
