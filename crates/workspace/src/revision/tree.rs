//! The Merkle tree of a workspace: names, what they stand for, and a digest over each folder (W1).
//!
//! Nodes are shared between versions and copied when they change, so a snapshot costs a pointer and two versions
//! are compared along their differences only. It never touches the file system. Its shape depends on the content
//! alone, never on the order in which it came.

use std::sync::Arc;

use blake3::{Hash, Hasher};

use crate::path::RepoPath;

/// The most entries of one shelf. A folder with more is split by the hash of the names, so that one change costs
/// one shelf and not the folder.
const SHELF_ENTRIES: usize = 512;

/// How many shelves stand for one that was split: one for each value of four bits of the hash.
const SPLIT: usize = 16;

/// How deep shelves are split. Names whose hashes agree in so many bits do not occur.
const MAX_SPLITS: u32 = 8;

/// What a name stands for when it is no folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Leaf {
    pub(crate) kind: LeafKind,
    /// Of the content; of the target for a link; of the stamp where the content is not looked at.
    pub(crate) digest: Hash,
    /// What the file system said when the content was read; `None` when that proves nothing about the content now.
    pub(crate) stamp: Option<Stamp>,
    /// Whether the file has further names, through which it can change without an event here.
    pub(crate) is_shared: bool,
}

/// The kinds of leaves. The numbers are part of the digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum LeafKind {
    File = 1,
    Executable = 2,
    Symlink = 3,
    /// A pipe, a socket or a device.
    Special = 4,
    /// A file that may not be read: its stamp stands for it.
    Unreadable = 5,
    /// A file too large to be hashed: its stamp stands for it.
    Large = 6,
}

/// The number of a folder in the digest, beside those of [`LeafKind`].
const FOLDER: u8 = 0;

impl LeafKind {
    /// Undoes `as u8`.
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        let all = [
            Self::File,
            Self::Executable,
            Self::Symlink,
            Self::Special,
            Self::Unreadable,
            Self::Large,
        ];
        all.into_iter().find(|kind| *kind as u8 == number)
    }
}

/// What tells that a file may have changed: everything that a write moves and `touch` cannot set back together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Stamp {
    pub(crate) inode: u64,
    pub(crate) size_bytes: u64,
    /// Nanoseconds since 1970.
    pub(crate) modified_ns: i64,
    /// Nanoseconds since 1970.
    pub(crate) changed_ns: i64,
}

/// What lies at a name.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Leaf(Leaf),
    Folder(Arc<Folder>),
}

impl Node {
    pub(crate) fn as_leaf(&self) -> Option<&Leaf> {
        match self {
            Self::Leaf(leaf) => Some(leaf),
            Self::Folder(_) => None,
        }
    }

    pub(crate) fn as_folder(&self) -> Option<&Folder> {
        match self {
            Self::Folder(folder) => Some(folder),
            Self::Leaf(_) => None,
        }
    }
}

/// What a folder is made of: names and what they stand for, in any order, each name once.
pub(crate) type Nodes = Vec<(Box<[u8]>, Node)>;

/// A name in a folder.
#[derive(Clone, Debug)]
struct Entry {
    name: Box<[u8]>,
    node: Node,
}

/// A folder with everything beneath it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Folder {
    top: Shelf,
}

/// A part of a folder's entries.
#[derive(Clone, Debug)]
struct Shelf {
    /// Unknown since the last change.
    digest: Option<Hash>,
    entries: usize,
    slots: Slots,
}

#[derive(Clone, Debug)]
enum Slots {
    /// In the order of the names.
    Few(Vec<Entry>),
    Split(Vec<Arc<Shelf>>),
}

impl Default for Shelf {
    fn default() -> Self {
        Self { digest: None, entries: 0, slots: Slots::Few(Vec::new()) }
    }
}

impl Folder {
    /// A folder from what is in it.
    pub(crate) fn of(nodes: Nodes) -> Self {
        let mut entries: Vec<Entry> =
            nodes.into_iter().map(|(name, node)| Entry { name, node }).collect();
        entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Self { top: Shelf::of(entries, 0) }
    }

    /// What lies at a path beneath this folder; `None` for nothing and for the folder itself.
    pub(crate) fn get(&self, path: &RepoPath) -> Option<&Node> {
        let mut components = path.components();
        let mut node = self.top.get(components.next()?, 0)?;
        for name in components {
            let Node::Folder(folder) = node else { return None };
            node = folder.top.get(name, 0)?;
        }
        Some(node)
    }

    /// What a name in this folder stands for.
    pub(crate) fn get_here(&self, name: &[u8]) -> Option<&Node> {
        self.top.get(name, 0)
    }

    /// The folder at a path; itself for the root.
    pub(crate) fn folder(&self, path: &RepoPath) -> Option<&Self> {
        if path.is_root() {
            return Some(self);
        }
        self.get(path)?.as_folder()
    }

    /// Puts something at a path that is not the root. Folders on the way are made, also where a leaf was.
    pub(crate) fn set(&mut self, path: &RepoPath, node: Node) {
        let Some((name, folders)) = split(path) else { return };
        let mut node = Some(node);
        self.change(&folders, &mut |shelf| {
            if let Some(node) = node.take() {
                shelf.put(Entry { name: name.into(), node }, 0);
            }
        });
    }

    /// Takes away what lies at a path. A folder that becomes empty stays.
    pub(crate) fn remove(&mut self, path: &RepoPath) {
        let Some((name, folders)) = split(path) else { return };
        if self.get(path).is_some() {
            self.change(&folders, &mut |shelf| shelf.take(name, 0));
        }
    }

    /// Changes the entries of the folder that these names lead to.
    fn change(&mut self, folders: &[&[u8]], act: &mut dyn FnMut(&mut Shelf)) {
        match folders.split_first() {
            None => act(&mut self.top),
            Some((name, rest)) => {
                self.top.visit(name, 0, &mut |folder| folder.change(rest, act));
            }
        }
    }

    /// The digest over everything beneath. Only what changed since the last time is looked at.
    pub(crate) fn seal(&mut self) -> Hash {
        self.top.seal()
    }

    /// The digest of the last [`Folder::seal`]; `None` after a change.
    pub(crate) fn digest(&self) -> Option<Hash> {
        self.top.digest
    }

    /// Calls `see` for each entry of this folder, in the order of the names.
    pub(crate) fn each<'a>(&'a self, mut see: impl FnMut(&'a [u8], &'a Node)) {
        let mut entries = Vec::with_capacity(self.top.entries);
        self.top.collect(&mut entries);
        entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        for entry in entries {
            see(&entry.name, &entry.node);
        }
    }

    /// Calls `see` for each leaf beneath, folder by folder.
    pub(crate) fn leaves<'a>(&'a self, at: &RepoPath, see: &mut impl FnMut(RepoPath, &'a Leaf)) {
        self.each(|name, node| match node {
            Node::Leaf(leaf) => see(at.child(name), leaf),
            Node::Folder(folder) => folder.leaves(&at.child(name), see),
        });
    }
}

impl Shelf {
    fn of(entries: Vec<Entry>, depth: u32) -> Self {
        let count = entries.len();
        if count <= SHELF_ENTRIES || depth >= MAX_SPLITS {
            return Self { digest: None, entries: count, slots: Slots::Few(entries) };
        }
        let mut parts: Vec<Vec<Entry>> = (0..SPLIT).map(|_| Vec::new()).collect();
        for entry in entries {
            if let Some(part) = parts.get_mut(slot(&entry.name, depth)) {
                part.push(entry);
            }
        }
        let part = |part| Arc::new(Self::of(part, depth + 1));
        Self {
            digest: None,
            entries: count,
            slots: Slots::Split(parts.into_iter().map(part).collect()),
        }
    }

    fn get(&self, name: &[u8], depth: u32) -> Option<&Node> {
        match &self.slots {
            Slots::Few(entries) => {
                let at = entries.binary_search_by(|entry| (*entry.name).cmp(name)).ok()?;
                entries.get(at).map(|entry| &entry.node)
            }
            Slots::Split(shelves) => shelves.get(slot(name, depth))?.get(name, depth + 1),
        }
    }

    /// Lets a folder in it be changed. It is made where there is none.
    fn visit(&mut self, name: &[u8], depth: u32, act: &mut dyn FnMut(&mut Folder)) {
        self.digest = None;
        match &mut self.slots {
            Slots::Split(shelves) => {
                if let Some(shelf) = shelves.get_mut(slot(name, depth)) {
                    Arc::make_mut(shelf).visit(name, depth + 1, act);
                }
            }
            Slots::Few(entries) => {
                let found = entries.binary_search_by(|entry| (*entry.name).cmp(name));
                let at = found.unwrap_or_else(|at| at);
                if found.is_err() {
                    let node = Node::Folder(Arc::default());
                    entries.insert(at, Entry { name: name.into(), node });
                }
                if let Some(entry) = entries.get_mut(at) {
                    entry.visit(act);
                }
            }
        }
        self.reshape(depth);
    }

    /// Puts an entry in the place of what has its name.
    fn put(&mut self, entry: Entry, depth: u32) {
        self.digest = None;
        match &mut self.slots {
            Slots::Split(shelves) => {
                if let Some(shelf) = shelves.get_mut(slot(&entry.name, depth)) {
                    Arc::make_mut(shelf).put(entry, depth + 1);
                }
            }
            Slots::Few(entries) => {
                match entries.binary_search_by(|other| other.name.cmp(&entry.name)) {
                    Err(at) => entries.insert(at, entry),
                    Ok(at) => {
                        if let Some(other) = entries.get_mut(at) {
                            *other = entry;
                        }
                    }
                }
            }
        }
        self.reshape(depth);
    }

    fn take(&mut self, name: &[u8], depth: u32) {
        self.digest = None;
        match &mut self.slots {
            Slots::Split(shelves) => {
                if let Some(shelf) = shelves.get_mut(slot(name, depth)) {
                    Arc::make_mut(shelf).take(name, depth + 1);
                }
            }
            Slots::Few(entries) => {
                if let Ok(at) = entries.binary_search_by(|entry| (*entry.name).cmp(name)) {
                    entries.remove(at);
                }
            }
        }
        self.reshape(depth);
    }

    /// Counts again, and splits or joins so that the shape is the one that the content has.
    fn reshape(&mut self, depth: u32) {
        let may_split = depth < MAX_SPLITS;
        self.entries = match &self.slots {
            Slots::Few(entries) => entries.len(),
            Slots::Split(shelves) => shelves.iter().map(|shelf| shelf.entries).sum(),
        };
        match &mut self.slots {
            Slots::Few(entries) if entries.len() > SHELF_ENTRIES && may_split => {
                *self = Self::of(std::mem::take(entries), depth);
            }
            Slots::Split(_) if self.entries <= SHELF_ENTRIES => {
                let mut entries = Vec::with_capacity(self.entries);
                self.collect(&mut entries);
                let mut entries: Vec<Entry> = entries.into_iter().cloned().collect();
                entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
                *self = Self::of(entries, depth);
            }
            _ => {}
        }
    }

    fn collect<'a>(&'a self, into: &mut Vec<&'a Entry>) {
        match &self.slots {
            Slots::Few(entries) => into.extend(entries),
            Slots::Split(shelves) => shelves.iter().for_each(|shelf| shelf.collect(into)),
        }
    }

    fn seal(&mut self) -> Hash {
        if let Some(digest) = self.digest {
            return digest;
        }
        let mut hasher = Hasher::new();
        match &mut self.slots {
            Slots::Few(entries) => {
                hasher.update(b"chancery w1 entries\n");
                for entry in entries {
                    entry.seal_into(&mut hasher);
                }
            }
            Slots::Split(shelves) => {
                hasher.update(b"chancery w1 shelves\n");
                for shelf in shelves {
                    let digest = match shelf.digest {
                        Some(digest) => digest,
                        None => Arc::make_mut(shelf).seal(),
                    };
                    hasher.update(digest.as_bytes());
                }
            }
        }
        let digest = hasher.finalize();
        self.digest = Some(digest);
        digest
    }
}

impl Entry {
    fn visit(&mut self, act: &mut dyn FnMut(&mut Folder)) {
        if let Node::Leaf(_) = self.node {
            self.node = Node::Folder(Arc::default());
        }
        if let Node::Folder(folder) = &mut self.node {
            act(Arc::make_mut(folder));
        }
    }

    /// Kind, length of the name, name, digest.
    fn seal_into(&mut self, hasher: &mut Hasher) {
        let (kind, digest) = match &mut self.node {
            Node::Leaf(leaf) => (leaf.kind as u8, leaf.digest),
            Node::Folder(folder) => {
                (FOLDER, folder.digest().unwrap_or_else(|| Arc::make_mut(folder).seal()))
            }
        };
        let length = u32::try_from(self.name.len()).unwrap_or(u32::MAX);
        hasher.update(&[kind]);
        hasher.update(&length.to_le_bytes());
        hasher.update(&self.name);
        hasher.update(digest.as_bytes());
    }
}

/// The last component of a path and those before it; `None` for the root.
fn split(path: &RepoPath) -> Option<(&[u8], Vec<&[u8]>)> {
    let mut folders: Vec<&[u8]> = path.components().collect();
    Some((folders.pop()?, folders))
}

/// Which of the parts of a shelf split at `depth` holds a name.
fn slot(name: &[u8], depth: u32) -> usize {
    let hash = blake3::hash(name);
    let [a, b, c, d, ..] = *hash.as_bytes();
    let bits = u32::from_be_bytes([a, b, c, d]);
    let four = bits >> 28_u32.saturating_sub(4 * depth) & 0xF;
    usize::try_from(four).unwrap_or(0)
}

#[cfg(test)]
mod tests;
