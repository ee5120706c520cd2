//! What a file was and what it has become, and what that comes to.

use std::collections::BTreeMap;

use super::preimage::Preimage;
use super::{Body, PatchPlan, Planned, Touch, TouchKind};
use crate::class::PathClass;
use crate::patch::apply::folder::{Rights, digest};
use crate::patch::diff::{self, Difference};
use crate::patch::edit::LineEdit;
use crate::path::RepoPath;

/// One real path before and after the changes so far.
pub(super) struct Slot {
    pub(super) class: PathClass,
    pub(super) before: Option<Preimage>,
    pub(super) after: Option<After>,
    /// Where the content comes from, when that is another path.
    pub(super) from: Option<RepoPath>,
}

#[derive(Clone)]
pub(super) struct After {
    pub(super) bytes: Vec<u8>,
    pub(super) rights: Rights,
    pub(super) numbering: Numbering,
    /// How many lines off its stated line each hunk of a unified diff was placed.
    pub(super) offsets: Vec<i64>,
}

/// Whether the lines can still be named by their numbers before the patch.
#[derive(Clone)]
pub(super) enum Numbering {
    /// Only these line edits were made.
    Original(Vec<LineEdit>),
    /// Another edit moved them.
    Lost,
}

impl After {
    pub(super) fn of(bytes: Vec<u8>, rights: Rights) -> Self {
        Self { bytes, rights, numbering: Numbering::Original(Vec::new()), offsets: Vec::new() }
    }
}

/// What the slots come to, a rename as one path.
pub(super) fn plan(mut files: BTreeMap<RepoPath, Slot>) -> PatchPlan {
    let moved: BTreeMap<RepoPath, RepoPath> = files
        .iter()
        .filter(|(_, slot)| slot.before.is_none() && slot.after.is_some())
        .filter_map(|(to, slot)| Some((slot.from.clone()?, to.clone())))
        .filter(|(from, _)| files.get(from).is_some_and(|slot| slot.after.is_none()))
        .collect();
    let mut sources = BTreeMap::new();
    for (from, to) in moved {
        if let Some(slot) = files.remove(&from) {
            sources.insert(to, (from, slot));
        }
    }
    let planned = files.into_iter().filter_map(|(path, slot)| match sources.remove(&path) {
        Some((from, source)) => renamed(path, from, slot, source),
        None => settled(path, slot),
    });
    PatchPlan { files: planned.collect() }
}

fn renamed(path: RepoPath, from: RepoPath, slot: Slot, source: Slot) -> Option<Planned> {
    let (before, after) = (source.before?, slot.after?);
    let class = slot.class.stricter(source.class);
    let difference = diff::compare(&before.bytes, &after.bytes);
    let kind = TouchKind::Renamed { from };
    Some(planned(path, kind, class, (Some(before), Some(after)), difference))
}

fn settled(path: RepoPath, slot: Slot) -> Option<Planned> {
    let (kind, difference) = match (&slot.before, &slot.after) {
        (None, None) => return None,
        (Some(before), Some(after)) if before.bytes == after.bytes => {
            if before.is_executable() == after.rights.is_executable() {
                return None;
            }
            (TouchKind::Modified, Difference::default())
        }
        (Some(before), Some(after)) => {
            (TouchKind::Modified, diff::compare(&before.bytes, &after.bytes))
        }
        (None, Some(after)) => (TouchKind::Created, diff::compare(b"", &after.bytes)),
        (Some(before), None) => (TouchKind::Deleted, diff::compare(&before.bytes, b"")),
    };
    Some(planned(path, kind, slot.class, (slot.before, slot.after), difference))
}

fn planned(
    path: RepoPath,
    kind: TouchKind,
    class: PathClass,
    (before, after): (Option<Preimage>, Option<After>),
    difference: Difference,
) -> Planned {
    let was = before.as_ref().is_some_and(Preimage::is_executable);
    let is = after.as_ref().map(|after| after.rights.is_executable());
    let same =
        before.as_ref().map(|before| &before.bytes) == after.as_ref().map(|after| &after.bytes);
    let Difference { added_lines, removed_lines, changed, hunks } = difference;
    let touch = Touch {
        path,
        kind,
        class,
        before: before.as_ref().map(|before| before.digest.clone()),
        after: after.as_ref().map(|after| digest(&after.bytes)),
        added_lines,
        removed_lines,
        changed,
        executable: is.filter(|is| *is != was),
        offset_lines: after.as_ref().map(|after| after.offsets.clone()).unwrap_or_default(),
    };
    let body = match (before, after) {
        (_, None) => Body::None,
        (Some(_), Some(_)) if same && touch.executable.is_none() => Body::None,
        (Some(before), Some(after)) if same => {
            Body::Mode { before: before.mode & 0o777, after: after.rights.mode() }
        }
        (_, Some(after)) => Body::New(after.bytes, after.rights),
    };
    Planned { touch, body, hunks, was_executable: was }
}
