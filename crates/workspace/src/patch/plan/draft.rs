//! The files of a patch while they are worked out: each change on the results of those before it.
//!
//! A file is read once, when a change first names it, and held against what the task knows of it then (P2).

use std::collections::BTreeMap;

use super::PatchPlan;
use super::preimage::Preimage;
use super::settled::{self, After, Numbering, Slot};
use crate::class::PathClass;
use crate::error::AccessError;
use crate::patch::MAX_PATCH_BYTES;
use crate::patch::apply::folder::{Rights, digest};
use crate::patch::change::{Change, DiffHunk, ModeChange, Then};
use crate::patch::edit;
use crate::patch::error::ChangeError;
use crate::patch::targets::Place;
use crate::path::RepoPath;
use crate::root::beneath::FileKind;
use crate::text::{self, cut};

/// How much of a stale file an error shows, in bytes.
const EXCERPT_BYTES: usize = 1 << 10;

/// The files as the changes made them so far.
pub(super) struct Draft<'a> {
    files: BTreeMap<RepoPath, Slot>,
    held_bytes: u64,
    seen: &'a dyn Fn(&RepoPath) -> Option<String>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(seen: &'a dyn Fn(&RepoPath) -> Option<String>) -> Self {
        Self { files: BTreeMap::new(), held_bytes: 0, seen }
    }

    pub(super) fn make(
        &mut self,
        change: Change,
        at: Place,
        to: Option<Place>,
    ) -> Result<(), ChangeError> {
        let base = change.base().map(str::to_owned);
        let path = &at.requested;
        match change {
            Change::Create { content, executable, .. } => {
                self.must_be_free(&at, Some(content.as_bytes()))?;
                let rights = Rights::New { executable };
                self.put(at.real, at.class, After::of(content.into_bytes(), rights), None)
            }
            Change::Replace { old, new, occurrences, .. } => self.rewrite(&at, base, |after| {
                edit::replace(path, &after.bytes, &old, &new, occurrences)
            }),
            Change::Write { content, .. } => {
                self.rewrite(&at, base, |after| edit::write_whole(path, &after.bytes, &content))
            }
            Change::Lines { first, last, new, .. } => {
                self.replace_lines(&at, base, (first, last, &new))
            }
            Change::Hunks { hunks, .. } => {
                self.rewrite(&at, base, |after| edit::place_hunks(path, &after.bytes, &hunks))?;
                self.move_on(&at, to)
            }
            Change::Diff { hunks, mode, then, .. } => {
                if then == Then::Goes {
                    self.must_be_no_link(&at)?;
                }
                self.diff(&at, base, &hunks, mode, &then)?;
                self.move_on(&at, to)
            }
            Change::Delete { .. } => {
                self.must_be_no_link(&at)?;
                self.take(&at, base).map(|_| ())
            }
            Change::Rename { .. } => match to {
                Some(to) if self.is_same_file(&at, &to) => {
                    let (path, other) = (at.requested, to.requested);
                    Err(ChangeError::SameFile { path, other })
                }
                Some(to) => self.rename(&at, to, base),
                None => Err(ChangeError::NoChange { path: at.requested }),
            },
        }
    }

    /// The rename that an update may end with; one to another spelling of the same path is none (P-024).
    fn move_on(&mut self, at: &Place, to: Option<Place>) -> Result<(), ChangeError> {
        match to {
            Some(to) if !self.is_same_file(at, &to) => self.rename(at, to, None),
            _ => Ok(()),
        }
    }

    fn replace_lines(
        &mut self,
        at: &Place,
        base: Option<String>,
        wanted: (u64, u64, &str),
    ) -> Result<(), ChangeError> {
        let mut edits = Vec::new();
        self.rewrite(at, base, |after| {
            let Numbering::Original(made) = &after.numbering else {
                return Err(ChangeError::LinesMoved { path: at.requested.clone() });
            };
            let (bytes, edit) = edit::replace_lines(&at.requested, &after.bytes, wanted, made)?;
            edits.extend(made.iter().copied().chain([edit]));
            Ok(bytes)
        })?;
        self.after(at)?.numbering = Numbering::Original(edits);
        Ok(())
    }

    /// One file of a unified diff, but for the name that it may get.
    fn diff(
        &mut self,
        at: &Place,
        base: Option<String>,
        hunks: &[DiffHunk],
        mode: ModeChange,
        then: &Then,
    ) -> Result<(), ChangeError> {
        let path = &at.requested;
        self.slot(at, base)?;
        let after = self.after(at)?;
        let was = after.rights.is_executable();
        if mode.before.is_some_and(|stated| stated != was) {
            return Err(ChangeError::ModeDiffers { path: path.clone(), executable: was });
        }
        let becomes = mode.after.unwrap_or(was);
        after.rights.set_executable(becomes);
        if hunks.is_empty() && becomes == was && *then == Then::Stays {
            return Err(ChangeError::NoChange { path: path.clone() });
        }
        if !hunks.is_empty() {
            let mut offsets = Vec::new();
            self.rewrite(at, None, |after| {
                let (bytes, by) = edit::place_diff(path, &after.bytes, hunks)?;
                offsets = by;
                Ok(bytes)
            })?;
            if offsets.iter().any(|lines| *lines != 0) {
                self.after(at)?.offsets.extend(offsets);
            }
        }
        if *then != Then::Goes {
            return Ok(());
        }
        let (left, _) = self.take(at, None)?;
        let mark = text::decode(&left.bytes).map_or(0, |left| left.encoding.mark().len());
        match left.bytes.len().saturating_sub(mark) {
            0 => Ok(()),
            left => {
                let left_bytes = u64::try_from(left).unwrap_or(u64::MAX);
                Err(ChangeError::NotEmptied { path: path.clone(), left_bytes })
            }
        }
    }

    fn is_same_file(&self, at: &Place, to: &Place) -> bool {
        let identity = |place: &Place| {
            let drafted = self.files.get(&place.real).and_then(|slot| slot.before.as_ref());
            let found = place.found.as_ref().map(|found| found.status.identity);
            drafted.map(|before| before.identity).or(found)
        };
        at.real == to.real || (identity(at).is_some() && identity(at) == identity(to))
    }

    fn must_be_no_link(&self, place: &Place) -> Result<(), ChangeError> {
        if place.is_link {
            return Err(ChangeError::Link { path: place.requested.clone() });
        }
        Ok(())
    }

    /// Refuses a path where something is; `wanted` is what shall be there, when that is known.
    fn must_be_free(&self, place: &Place, wanted: Option<&[u8]>) -> Result<(), ChangeError> {
        self.must_be_no_link(place)?;
        let current = match (self.files.get(&place.real), &place.found) {
            (Some(Slot { after: None, .. }), _) | (None, None) => return Ok(()),
            (Some(Slot { after: Some(after), .. }), _) => Some(digest(&after.bytes)),
            (None, Some(found)) => {
                Preimage::load(found, &place.requested).ok().map(|before| before.digest)
            }
        };
        let already_applied = current.is_some() && current == wanted.map(digest);
        Err(ChangeError::Exists { path: place.requested.clone(), current, already_applied })
    }

    fn rename(&mut self, at: &Place, to: Place, base: Option<String>) -> Result<(), ChangeError> {
        self.must_be_no_link(at)?;
        self.must_be_free(&to, None)?;
        let (content, origin) = self.take(at, base)?;
        self.put(to.real, to.class.stricter(at.class), content, Some(origin))
    }

    /// Takes the content away from a path: what it is and where it came from.
    fn take(
        &mut self,
        place: &Place,
        base: Option<String>,
    ) -> Result<(After, RepoPath), ChangeError> {
        let slot = self.slot(place, base)?;
        let origin = slot.from.take().unwrap_or_else(|| place.real.clone());
        let gone = || ChangeError::Gone { path: place.requested.clone() };
        slot.after.take().map(|content| (content, origin)).ok_or_else(gone)
    }

    fn put(
        &mut self,
        real: RepoPath,
        class: PathClass,
        content: After,
        from: Option<RepoPath>,
    ) -> Result<(), ChangeError> {
        self.hold(content.bytes.len())?;
        let slot =
            self.files.entry(real).or_insert(Slot { class, before: None, after: None, from: None });
        slot.class = slot.class.stricter(class);
        slot.after = Some(content);
        slot.from = from;
        Ok(())
    }

    /// Gives a file the content that `make` makes of what it is by now.
    fn rewrite(
        &mut self,
        place: &Place,
        base: Option<String>,
        make: impl FnOnce(&After) -> Result<Vec<u8>, ChangeError>,
    ) -> Result<(), ChangeError> {
        self.slot(place, base)?;
        let after = self.after(place)?;
        let bytes = make(after)?;
        if bytes == after.bytes {
            return Err(ChangeError::NoChange { path: place.requested.clone() });
        }
        let grown = bytes.len().saturating_sub(after.bytes.len());
        after.bytes = bytes;
        after.numbering = Numbering::Lost;
        self.hold(grown)
    }

    /// What a path that was read is by now.
    fn after(&mut self, place: &Place) -> Result<&mut After, ChangeError> {
        let slot = self.files.get_mut(&place.real);
        let gone = || ChangeError::Gone { path: place.requested.clone() };
        slot.and_then(|slot| slot.after.as_mut()).ok_or_else(gone)
    }

    /// The slot of an existing file, read and checked against what the task knows when it is new.
    fn slot(&mut self, place: &Place, base: Option<String>) -> Result<&mut Slot, ChangeError> {
        if !self.files.contains_key(&place.real) {
            let slot = self.read(place, base)?;
            self.files.insert(place.real.clone(), slot);
        }
        let gone = || ChangeError::Gone { path: place.requested.clone() };
        self.files.get_mut(&place.real).filter(|slot| slot.after.is_some()).ok_or_else(gone)
    }

    fn read(&mut self, place: &Place, base: Option<String>) -> Result<Slot, ChangeError> {
        let path = &place.requested;
        let Some(found) = &place.found else {
            return Err(AccessError::NotFound { path: path.clone() }.into());
        };
        let status = &found.status;
        if status.kind != FileKind::File {
            let kind = status.kind;
            return Err(AccessError::NotRegular { path: path.clone(), kind }.into());
        }
        if status.links > 1 {
            return Err(ChangeError::HardLinked { path: path.clone(), links: status.links });
        }
        if status.mode & 0o222 == 0 {
            return Err(ChangeError::ReadOnly { path: path.clone() });
        }
        let before = Preimage::load(found, path)?;
        let expected = base.or_else(|| (self.seen)(&place.real));
        match expected {
            None => {
                return Err(ChangeError::NotSeen { path: path.clone(), current: before.digest });
            }
            Some(expected) if expected != before.digest => {
                return Err(ChangeError::Stale {
                    path: path.clone(),
                    expected,
                    current: Some(before.digest),
                    excerpt: cut(&text::shown(&before.bytes), EXCERPT_BYTES).to_owned(),
                });
            }
            Some(_) => {}
        }
        self.hold(before.bytes.len().saturating_mul(2).saturating_add(before.attributes.bytes()))?;
        let rights = Rights::Kept {
            mode: status.mode,
            uid: status.uid,
            gid: status.gid,
            attributes: before.attributes.clone(),
        };
        let after = Some(After::of(before.bytes.clone(), rights));
        Ok(Slot { class: place.class, before: Some(before), after, from: None })
    }

    fn hold(&mut self, bytes: usize) -> Result<(), ChangeError> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.held_bytes = self.held_bytes.saturating_add(bytes);
        if self.held_bytes > MAX_PATCH_BYTES {
            let bound = format!("{MAX_PATCH_BYTES} bytes of content");
            return Err(ChangeError::PatchTooLarge { bound });
        }
        Ok(())
    }

    /// A path that would lie beneath a file of the same patch.
    pub(super) fn beneath_a_file(&self) -> Option<RepoPath> {
        let is_file =
            |path: &RepoPath| self.files.get(path).is_some_and(|slot| slot.after.is_some());
        let mut made = self.files.iter().filter(|(_, slot)| slot.after.is_some());
        made.find(|(path, _)| {
            std::iter::successors(path.parent(), RepoPath::parent).any(|folder| is_file(&folder))
        })
        .map(|(path, _)| path.clone())
    }

    pub(super) fn finish(self) -> PatchPlan {
        settled::plan(self.files)
    }
}
