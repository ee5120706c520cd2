//! Working a patch out in memory: each change on the results of those before it, all of it before any write.
//!
//! It never touches the disk but to read the files that the changes name, and a single refused change refuses
//! the whole (P5).

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::os::fd::AsFd;

use crate::class::PathClass;
use crate::error::AccessError;
use crate::patch::apply::folder::{Rights, digest};
use crate::patch::change::Change;
use crate::patch::diff::{self, Difference};
use crate::patch::error::{ChangeError, LineRange, PatchError, Refusal};
use crate::patch::targets::{Located, Place};
use crate::patch::{MAX_FILE_BYTES, MAX_PATCH_BYTES, edit};
use crate::path::RepoPath;
use crate::root::Reached;
use crate::root::beneath::{self, FileKind, Identity, Status};
use crate::text::{self, cut};

/// How often a file is read again that changed while it was read.
const READ_TRIES: usize = 3;

/// How much of a stale file an error shows, in bytes.
const EXCERPT_BYTES: usize = 1 << 10;

/// What becomes of one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TouchKind {
    /// It did not exist.
    Created,
    /// Its content changes.
    Modified,
    /// It goes.
    Deleted,
    /// It gets another path.
    Renamed {
        /// The real path before.
        from: RepoPath,
    },
}

/// What a plan does to one path, for policy, for the person who approves, and for the receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The real path, after a rename the new one.
    pub path: RepoPath,
    /// What happens.
    pub kind: TouchKind,
    /// The strictest class of all paths named here.
    pub class: PathClass,
    /// SHA-256 of the content before, in lower-case hexadecimal; `None` for a create.
    pub before: Option<String>,
    /// SHA-256 of the content after; `None` for a delete.
    pub after: Option<String>,
    /// Lines added.
    pub added_lines: u64,
    /// Lines removed.
    pub removed_lines: u64,
    /// The lines that are new or changed, in the file after it.
    pub changed: Vec<LineRange>,
}

/// A patch that is worked out and can be published.
#[must_use = "a plan changes nothing until it is applied"]
#[derive(Debug)]
pub struct PatchPlan {
    pub(crate) files: Vec<Planned>,
}

/// One path of a plan.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) touch: Touch,
    /// The content and rights that it gets; `None` for a delete, and for a rename that keeps the content.
    pub(crate) content: Option<(Vec<u8>, Rights)>,
    hunks: String,
}

impl PatchPlan {
    /// One entry per path, in path-byte order.
    pub fn touches(&self) -> impl Iterator<Item = &Touch> {
        self.files.iter().map(|file| &file.touch)
    }

    /// A unified diff of all of it, cut at a line before `max_bytes`, and how many bytes were left out.
    #[must_use]
    pub fn diff(&self, max_bytes: u64) -> (String, u64) {
        let whole: String = self.files.iter().map(Planned::diff).collect();
        let max = usize::try_from(max_bytes).unwrap_or(usize::MAX);
        if whole.len() <= max {
            return (whole, 0);
        }
        let kept = cut(&whole, max);
        let kept = kept.get(..kept.rfind('\n').map_or(0, |at| at + 1)).unwrap_or(kept);
        let left_out = u64::try_from(whole.len() - kept.len()).unwrap_or(u64::MAX);
        (kept.to_owned(), left_out)
    }
}

impl Planned {
    fn diff(&self) -> String {
        let path = &self.touch.path;
        let (from, to) = match &self.touch.kind {
            TouchKind::Created => ("/dev/null".to_owned(), format!("b/{path}")),
            TouchKind::Deleted => (format!("a/{path}"), "/dev/null".to_owned()),
            TouchKind::Modified => (format!("a/{path}"), format!("b/{path}")),
            TouchKind::Renamed { from } => (format!("a/{from}"), format!("b/{path}")),
        };
        format!("--- {from}\n+++ {to}\n{}", self.hunks)
    }
}

/// Works out `located`, see [`super::Targets::plan`].
pub(crate) fn plan(
    located: Vec<Located>,
    seen: &dyn Fn(&RepoPath) -> Option<String>,
) -> Result<PatchPlan, PatchError> {
    let mut draft = Draft { files: BTreeMap::new(), held_bytes: 0, seen };
    let mut refusals: Vec<Refusal> = Vec::new();
    // What follows on a refused change would only be refused for its lack.
    let mut spoilt = BTreeSet::new();
    for (index, Located { change, at, to }) in located.into_iter().enumerate() {
        let paths = [Some(at.real.clone()), to.as_ref().map(|to| to.real.clone())];
        if paths.iter().flatten().any(|path| spoilt.contains(path)) {
            continue;
        }
        let path = at.requested.clone();
        if let Err(error) = draft.make(change, at, to) {
            refusals.push(Refusal { change: index, path, error });
            spoilt.extend(paths.into_iter().flatten());
        }
    }
    if let Some(path) = draft.beneath_a_file() {
        let error = ChangeError::BeneathFile { path: path.clone() };
        refusals.push(Refusal { change: 0, path, error });
    }
    if refusals.is_empty() { Ok(draft.finish()) } else { Err(PatchError { refusals }) }
}

/// The files as the changes made them so far.
struct Draft<'a> {
    files: BTreeMap<RepoPath, Slot>,
    held_bytes: u64,
    seen: &'a dyn Fn(&RepoPath) -> Option<String>,
}

/// One real path before and after the changes so far.
struct Slot {
    class: PathClass,
    before: Option<Preimage>,
    after: Option<After>,
    /// Where the content comes from, when that is another path.
    from: Option<RepoPath>,
}

struct Preimage {
    bytes: Vec<u8>,
    digest: String,
    identity: Identity,
}

#[derive(Clone)]
struct After {
    bytes: Vec<u8>,
    rights: Rights,
}

impl Draft<'_> {
    fn make(&mut self, change: Change, at: Place, to: Option<Place>) -> Result<(), ChangeError> {
        let base = change.base().map(str::to_owned);
        match change {
            Change::Create { content, executable, .. } => {
                self.must_be_free(&at)?;
                let rights = Rights::New { executable };
                self.put(at.real, at.class, After { bytes: content.into_bytes(), rights }, None)
            }
            Change::Replace { old, new, occurrences, .. } => self.rewrite(&at, base, |bytes| {
                edit::replace(&at.requested, bytes, &old, &new, occurrences)
            }),
            Change::Write { content, .. } => {
                self.rewrite(&at, base, |bytes| edit::write_whole(&at.requested, bytes, &content))
            }
            Change::Hunks { hunks, .. } => {
                self.rewrite(&at, base, |bytes| edit::place_hunks(&at.requested, bytes, &hunks))?;
                match to {
                    Some(to) if !self.is_same_file(&at, &to) => self.rename(&at, to, None),
                    _ => Ok(()),
                }
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

    fn must_be_free(&self, place: &Place) -> Result<(), ChangeError> {
        self.must_be_no_link(place)?;
        let current = match (self.files.get(&place.real), &place.found) {
            (Some(Slot { after: None, .. }), _) | (None, None) => return Ok(()),
            (Some(Slot { after: Some(after), .. }), _) => Some(digest(&after.bytes)),
            (None, Some(found)) => load(found, &place.requested).ok().map(|before| before.digest),
        };
        Err(ChangeError::Exists { path: place.requested.clone(), current })
    }

    fn rename(&mut self, at: &Place, to: Place, base: Option<String>) -> Result<(), ChangeError> {
        self.must_be_no_link(at)?;
        self.must_be_free(&to)?;
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

    fn rewrite(
        &mut self,
        place: &Place,
        base: Option<String>,
        make: impl FnOnce(&[u8]) -> Result<Vec<u8>, ChangeError>,
    ) -> Result<(), ChangeError> {
        let slot = self.slot(place, base)?;
        let Some(after) = slot.after.as_mut() else {
            return Err(ChangeError::Gone { path: place.requested.clone() });
        };
        let bytes = make(&after.bytes)?;
        if bytes == after.bytes {
            return Err(ChangeError::NoChange { path: place.requested.clone() });
        }
        let grown = bytes.len().saturating_sub(after.bytes.len());
        after.bytes = bytes;
        self.hold(grown)
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
        let before = load(found, path)?;
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
        self.hold(before.bytes.len().saturating_mul(2))?;
        let rights = Rights::Kept { mode: status.mode, uid: status.uid, gid: status.gid };
        let after = Some(After { bytes: before.bytes.clone(), rights });
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
    fn beneath_a_file(&self) -> Option<RepoPath> {
        let is_file =
            |path: &RepoPath| self.files.get(path).is_some_and(|slot| slot.after.is_some());
        let mut made = self.files.iter().filter(|(_, slot)| slot.after.is_some());
        made.find(|(path, _)| {
            std::iter::successors(path.parent(), RepoPath::parent).any(|folder| is_file(&folder))
        })
        .map(|(path, _)| path.clone())
    }

    fn finish(self) -> PatchPlan {
        let mut files = self.files;
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
}

fn renamed(path: RepoPath, from: RepoPath, slot: Slot, source: Slot) -> Option<Planned> {
    let (before, after) = (source.before?, slot.after?);
    let same = before.bytes == after.bytes;
    let difference = diff::compare(&before.bytes, &after.bytes);
    let kind = TouchKind::Renamed { from };
    let class = slot.class.stricter(source.class);
    let digest = digest(&after.bytes);
    let content = (!same).then_some((after.bytes, after.rights));
    Some(planned(path, kind, class, (Some(before.digest), Some(digest)), difference, content))
}

fn settled(path: RepoPath, slot: Slot) -> Option<Planned> {
    let (kind, difference) = match (&slot.before, &slot.after) {
        (None, None) => return None,
        (Some(before), Some(after)) if before.bytes == after.bytes => return None,
        (Some(before), Some(after)) => {
            (TouchKind::Modified, diff::compare(&before.bytes, &after.bytes))
        }
        (None, Some(after)) => (TouchKind::Created, diff::compare(b"", &after.bytes)),
        (Some(before), None) => (TouchKind::Deleted, diff::compare(&before.bytes, b"")),
    };
    let before = slot.before.map(|before| before.digest);
    let after = slot.after.as_ref().map(|after| digest(&after.bytes));
    let content = slot.after.map(|after| (after.bytes, after.rights));
    Some(planned(path, kind, slot.class, (before, after), difference, content))
}

fn planned(
    path: RepoPath,
    kind: TouchKind,
    class: PathClass,
    (before, after): (Option<String>, Option<String>),
    difference: Difference,
    content: Option<(Vec<u8>, Rights)>,
) -> Planned {
    let Difference { added_lines, removed_lines, changed, hunks } = difference;
    let touch = Touch { path, kind, class, before, after, added_lines, removed_lines, changed };
    Planned { touch, content, hunks }
}

/// Reads a located file whole, from the object that was located.
fn load(found: &Reached, path: &RepoPath) -> Result<Preimage, ChangeError> {
    let refused = |error| ChangeError::Access(AccessError::from_io(path, error));
    for _ in 0..READ_TRIES {
        let file = beneath::reopen(found.fd.as_fd()).map_err(|errno| refused(errno.into()))?;
        let before = Status::of(&file).map_err(|errno| refused(errno.into()))?;
        if before.kind != FileKind::File {
            let kind = before.kind;
            return Err(AccessError::NotRegular { path: path.clone(), kind }.into());
        }
        let mut bytes = Vec::new();
        (&file).take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(refused)?;
        let read = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if read > MAX_FILE_BYTES {
            return Err(ChangeError::TooLarge {
                path: path.clone(),
                size_bytes: before.size_bytes.max(read),
                max_bytes: MAX_FILE_BYTES,
            });
        }
        let after = Status::of(&file).map_err(|errno| refused(errno.into()))?;
        if before == after && read == after.size_bytes {
            return Ok(Preimage { digest: digest(&bytes), identity: after.identity, bytes });
        }
    }
    Err(ChangeError::ChangedWhileReading { path: path.clone() })
}
