//! Publishing a plan: record, stage beside the targets, change names, check what was displaced, clean up.
//!
//! Nothing is overwritten: a target changes places with its new content, and a displaced content that is not the
//! planned one is put back (P5, P8). Once the record is published there is no way back, before it there is no
//! other end than all of it undone.

pub(crate) mod attributes;
pub(crate) mod folder;
mod journal;
mod recover;

use std::path::Path;

use rustix::io::Errno;

use crate::error::AccessError;
use crate::patch::apply::folder::{Folder, Folders, NotStaged, Now, Rights};
use crate::patch::apply::journal::{Journal, Record, Step};
use crate::patch::apply::recover::Mode;
use crate::patch::error::ApplyError;
use crate::patch::plan::{Body, PatchPlan, Touch, TouchKind};
use crate::path::RepoPath;
use crate::root::Workspace;

pub use recover::{Intended, Recovered, Settled, recover, settle};

/// Mode of folders that are made for new files, before the process's mask.
const FOLDER_MODE: u32 = 0o777;

/// The content that is staged for a step.
type Staged = Option<(Vec<u8>, Rights)>;

impl PatchPlan {
    /// Publishes the plan: all of it or nothing. `journals` is an existing directory outside the workspace.
    /// `stop` is asked before every step on disk; its `true` counts until the patch is published.
    ///
    /// # Errors
    /// [`ApplyError`]; but for [`ApplyError::NeedsRepair`] nothing of the plan is left.
    pub fn apply(
        self,
        workspace: &Workspace,
        journals: &Path,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<Touch>, ApplyError> {
        let journal = Journal::open(workspace, journals, stop)?;
        recover::settle_left(workspace, &journal)?;
        let id = Journal::new_id()?;
        let mut touches = Vec::new();
        let mut steps = Vec::new();
        let mut staged = Vec::new();
        for file in self.files {
            for (step, content) in steps_of(&file.touch, file.body, &id, steps.len()) {
                steps.push(step);
                staged.push(content);
            }
            touches.push(file.touch);
        }
        let folders = missing_folders(workspace, &steps)?;
        let record = Record::new(folders, steps);
        if stop() {
            return Err(ApplyError::Stopped);
        }
        journal.begin(&id, &record)?;
        let mut open = Folders::new(workspace);
        let published = publish(&mut open, &record, staged, stop)
            .and_then(|()| journal.publish(&id).map_err(ApplyError::from));
        match published {
            Ok(()) => {
                stop();
                // The patch has happened; what cannot be cleaned now is cleaned with the next one.
                if recover::clean(&mut open, &record).is_ok() {
                    journal.close(&id).ok();
                }
                Ok(touches)
            }
            Err(error) => Err(withdraw(&mut open, &journal, &id, &record, error)),
        }
    }
}

/// Undoes what was done; the error that tells the caller.
fn withdraw(
    open: &mut Folders<'_>,
    journal: &Journal,
    id: &str,
    record: &Record,
    error: ApplyError,
) -> ApplyError {
    let left = recover::undo(open, record, Mode::Live);
    let kept = if left.is_empty() {
        journal.close(id).map(|()| None)
    } else {
        journal.leave_for_repair(id).map(Some)
    };
    match kept {
        Ok(None) => error,
        Ok(Some(journal)) => left.into_error(journal),
        Err(failed) => ApplyError::Journal(failed),
    }
}

/// The steps that one touch takes, with what each of them stages.
fn steps_of(touch: &Touch, body: Body, id: &str, first: usize) -> Vec<(Step, Staged)> {
    let spare = |nth: usize| format!(".chancery-{id}-{}", first + nth);
    let path = touch.path.clone();
    let before = touch.before.clone().unwrap_or_default();
    let after = touch.after.clone().unwrap_or_default();
    let (content, modes) = match body {
        Body::None => (None, None),
        Body::Mode { before, after } => (None, Some((before, after))),
        Body::New(bytes, rights) => (Some((bytes, rights)), None),
    };
    let set_mode = modes.map(|(from, to)| {
        let (path, digest) = (path.clone(), before.clone());
        (Step::Mode { path, digest, before: from, after: to }, None)
    });
    let mut steps = match &touch.kind {
        TouchKind::Created => vec![(Step::Add { path, spare: spare(0), after }, content)],
        TouchKind::Modified if content.is_none() => Vec::new(),
        TouchKind::Modified => {
            vec![(Step::Modify { path, spare: spare(0), before, after }, content)]
        }
        TouchKind::Deleted => vec![(Step::Remove { path, spare: spare(0), before }, None)],
        TouchKind::Renamed { from } if content.is_none() => {
            vec![(Step::Move { from: from.clone(), to: path, digest: before }, None)]
        }
        TouchKind::Renamed { from } => vec![
            (Step::Add { path, spare: spare(0), after }, content),
            (Step::Remove { path: from.clone(), spare: spare(1), before }, None),
        ],
    };
    steps.extend(set_mode);
    steps
}

/// The folders of new paths that do not exist, outermost first.
fn missing_folders(workspace: &Workspace, steps: &[Step]) -> Result<Vec<RepoPath>, ApplyError> {
    let mut missing = std::collections::BTreeSet::new();
    for step in steps {
        let (Step::Add { path, .. } | Step::Move { to: path, .. }) = step else { continue };
        let mut folder = path.parent();
        while let Some(path) = folder.filter(|path| !path.is_root() && !missing.contains(path)) {
            match Folder::open(workspace, &path) {
                Ok(_) => break,
                Err(AccessError::NotFound { .. }) => folder = path.parent(),
                Err(source) => return Err(ApplyError::Refused { path, source }),
            }
            missing.insert(path);
        }
    }
    Ok(missing.into_iter().collect())
}

fn publish(
    open: &mut Folders<'_>,
    record: &Record,
    staged: Vec<Staged>,
    stop: &dyn Fn() -> bool,
) -> Result<(), ApplyError> {
    let go_on = || if stop() { Err(ApplyError::Stopped) } else { Ok(()) };
    for folder in &record.folders {
        go_on()?;
        make_folder(open, folder).map_err(|source| refused(folder, source))?;
    }
    for (step, content) in record.steps.iter().zip(staged) {
        if let Some((bytes, rights)) = content {
            go_on()?;
            stage(open, step, &bytes, &rights)?;
        }
    }
    for step in &record.steps {
        go_on()?;
        let as_planned = change_names(open, step).map_err(|source| refused(step.path(), source))?;
        if !as_planned {
            return Err(ApplyError::Conflict { path: step.path().clone() });
        }
    }
    go_on()?;
    sync_folders(open, record)
}

fn refused(path: &RepoPath, source: AccessError) -> ApplyError {
    ApplyError::Refused { path: path.clone(), source }
}

fn make_folder(open: &mut Folders<'_>, path: &RepoPath) -> Result<(), AccessError> {
    let (parent, name) = open.still_of(path)?;
    parent
        .make_folder(name, FOLDER_MODE)
        .map(|_| ())
        .map_err(|errno| AccessError::from_errno(path, errno))
}

fn stage(
    open: &mut Folders<'_>,
    step: &Step,
    bytes: &[u8],
    rights: &Rights,
) -> Result<(), ApplyError> {
    let (Step::Modify { path, spare, .. } | Step::Add { path, spare, .. }) = step else {
        return Ok(());
    };
    let (folder, _) = open.still_of(path).map_err(|source| refused(path, source))?;
    folder.stage(spare.as_bytes(), bytes, rights).map_err(|error| match error {
        NotStaged::Io(error) => refused(path, AccessError::from_io(path, error)),
        NotStaged::Attribute(unset) => ApplyError::Attribute {
            path: path.clone(),
            attribute: unset.name,
            source: unset.errno.into(),
        },
    })
}

/// Carries out one step; `false` when what was there is not what was planned for.
fn change_names(open: &mut Folders<'_>, step: &Step) -> Result<bool, AccessError> {
    let path = step.path();
    let failed = |errno: Errno| AccessError::from_errno(path, errno);
    let looked = |now: std::io::Result<Now>| now.map_err(|error| AccessError::from_io(path, error));
    // A name that went or came since the plan is a conflict like another content.
    let moved = |done: Result<(), Errno>| match done {
        Ok(()) => Ok(true),
        Err(Errno::NOENT | Errno::EXIST) => Ok(false),
        Err(errno) => Err(failed(errno)),
    };
    let (folder, name) = open.still_of(path)?;
    match step {
        Step::Modify { spare, before, .. } => {
            let spare = spare.as_bytes();
            Ok(moved(folder.exchange(spare, name))? && looked(folder.look(spare))?.has(before))
        }
        Step::Add { spare, .. } => moved(folder.rename(spare.as_bytes(), &folder, name)),
        Step::Remove { spare, before, .. } => {
            let spare = spare.as_bytes();
            let gone = moved(folder.rename(name, &folder, spare))?;
            Ok(gone && looked(folder.look(spare))?.has(before))
        }
        Step::Move { to, digest, .. } => {
            let (into, new_name) = open.still_of(to)?;
            let gone = moved(folder.rename(name, &into, new_name))?;
            Ok(gone && looked(into.look(new_name))?.has(digest))
        }
        Step::Mode { digest, before, after, .. } => folder
            .set_mode(name, digest, (*before, *after))
            .map_err(|error| AccessError::from_io(path, error)),
    }
}

/// Makes every changed name durable before the record says that the patch has happened.
fn sync_folders(open: &mut Folders<'_>, record: &Record) -> Result<(), ApplyError> {
    let mut folders = std::collections::BTreeSet::new();
    for step in &record.steps {
        folders.extend(step.path().parent());
        if let Step::Move { to, .. } = step {
            folders.extend(to.parent());
        }
    }
    folders.extend(record.folders.iter().filter_map(RepoPath::parent));
    for path in folders {
        let synced = open.at(&path).and_then(|folder| {
            folder.sync().map_err(|errno| AccessError::from_errno(&path, errno))
        });
        synced.map_err(|source| refused(&path, source))?;
    }
    Ok(())
}
