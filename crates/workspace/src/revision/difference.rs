//! What differs between two versions of a tree (X8): names only, found along the digests that differ.

use serde::{Deserialize, Serialize};

use crate::path::RepoPath;
use crate::revision::tree::{Folder, Node};

/// A file that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ChangedFile {
    /// Where it is or was.
    pub path: RepoPath,
    /// What happened to it.
    pub change: FileChange,
}

/// What happened to a file between two revisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileChange {
    /// It was not there before.
    Added,
    /// Its content, kind or executable bit is another.
    Modified,
    /// It is not there any more.
    Removed,
}

/// The files that differ, in path order, and how many more there are than `limit`.
pub(crate) fn between(old: &Folder, new: &Folder, limit: usize) -> (Vec<ChangedFile>, u64) {
    let mut all = Vec::new();
    compare(&RepoPath::root(), old, new, &mut all);
    all.sort_unstable();
    let more = all.len().saturating_sub(limit);
    all.truncate(limit);
    (all, u64::try_from(more).unwrap_or(u64::MAX))
}

fn compare(at: &RepoPath, old: &Folder, new: &Folder, all: &mut Vec<ChangedFile>) {
    if old.digest().is_some() && old.digest() == new.digest() {
        return;
    }
    let mut before = Vec::new();
    let mut after = Vec::new();
    old.each(|name, node| before.push((name, node)));
    new.each(|name, node| after.push((name, node)));
    let mut before = before.into_iter().peekable();
    let mut after = after.into_iter().peekable();
    loop {
        let order = match (before.peek(), after.peek()) {
            (None, None) => return,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some((one, _)), Some((other, _))) => one.cmp(other),
        };
        let old = if order.is_le() { before.next() } else { None };
        let new = if order.is_ge() { after.next() } else { None };
        let name = old.or(new).map(|(name, _)| name).unwrap_or_default();
        entry(&at.child(name), old.map(|(_, node)| node), new.map(|(_, node)| node), all);
    }
}

fn entry(path: &RepoPath, old: Option<&Node>, new: Option<&Node>, all: &mut Vec<ChangedFile>) {
    match (old, new) {
        (Some(Node::Folder(old)), Some(Node::Folder(new))) => compare(path, old, new, all),
        (Some(Node::Leaf(old)), Some(Node::Leaf(new))) => {
            if (old.kind, old.digest) != (new.kind, new.digest) {
                all.push(ChangedFile { path: path.clone(), change: FileChange::Modified });
            }
        }
        (old, new) => {
            whole(path, old, FileChange::Removed, all);
            whole(path, new, FileChange::Added, all);
        }
    }
}

fn whole(path: &RepoPath, node: Option<&Node>, change: FileChange, all: &mut Vec<ChangedFile>) {
    match node {
        None => {}
        Some(Node::Leaf(_)) => all.push(ChangedFile { path: path.clone(), change }),
        Some(Node::Folder(folder)) => {
            folder.leaves(path, &mut |path, _| all.push(ChangedFile { path, change }));
        }
    }
}
