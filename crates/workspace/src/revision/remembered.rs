//! What was known of a tree when it was last looked at, kept outside of the workspace for the next start.
//!
//! Only a stamp that is still the same makes an old digest count, so a cache that is old costs time and nothing
//! else. One that is damaged, or of another root, is none.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::revision::tree::{Folder, Leaf, LeafKind, Node, Stamp};
use crate::root::beneath::Identity;

/// What the file starts with; another form has another number.
const HEAD: &[u8] = b"chancery revision cache 1\n";

/// The largest cache that is read, bytes.
const CACHE_BYTES: u64 = 512 << 20;

/// Bytes of the digest at the end.
const DIGEST_BYTES: usize = 32;

#[derive(Serialize, Deserialize)]
struct Cache {
    root: Identity,
    names: Vec<Name>,
}

#[derive(Serialize, Deserialize)]
struct Name {
    name: Vec<u8>,
    node: What,
}

#[derive(Serialize, Deserialize)]
enum What {
    Leaf { kind: u8, digest: [u8; 32], stamp: (u64, u64, i64, i64), is_shared: bool },
    Folder(Vec<Name>),
}

/// What was kept about this root; empty when there is nothing of use.
pub(super) fn load(file: &Path, root: Identity) -> Folder {
    let names = bytes(file).and_then(|bytes| parse(&bytes, root)).unwrap_or_default();
    folder(names)
}

fn bytes(file: &Path) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let fd = rustix::fs::open(file, flags, Mode::empty()).ok()?;
    let mut bytes = Vec::new();
    File::from(fd).take(CACHE_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn parse(bytes: &[u8], root: Identity) -> Option<Vec<Name>> {
    let (content, digest) = bytes.split_at_checked(bytes.len().checked_sub(DIGEST_BYTES)?)?;
    if blake3::hash(content).as_bytes() != digest {
        return None;
    }
    let cache: Cache = postcard::from_bytes(content.strip_prefix(HEAD)?).ok()?;
    (cache.root == root).then_some(cache.names)
}

/// Keeps what is known. It replaces the file as a whole.
pub(super) fn save(file: &Path, root: Identity, tree: &Folder) -> Result<(), Errno> {
    let cache = Cache { root, names: names(tree) };
    let mut bytes = postcard::to_extend(&cache, HEAD.to_vec()).map_err(|_| Errno::OVERFLOW)?;
    let digest = blake3::hash(&bytes);
    bytes.extend_from_slice(digest.as_bytes());
    let folder = file.parent().ok_or(Errno::INVAL)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(folder, flags, Mode::empty())?;
    // One for each process; who comes last has the newer knowledge.
    let staged = format!(".{}.new", std::process::id());
    let flags =
        OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let fd = rustix::fs::openat(&folder, &staged, flags, Mode::RUSR | Mode::WUSR)?;
    let written = File::from(fd).write_all(&bytes);
    let moved = written
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
        .and_then(|()| rename(&folder, &staged, file));
    if moved.is_err() {
        rustix::fs::unlinkat(&folder, &staged, rustix::fs::AtFlags::empty()).ok();
    }
    moved
}

fn rename(folder: impl AsFd, staged: &str, file: &Path) -> Result<(), Errno> {
    rustix::fs::renameat_with(folder, staged, CWD, file, RenameFlags::empty())
}

fn names(tree: &Folder) -> Vec<Name> {
    let mut names = Vec::new();
    tree.each(|name, node| {
        let node = match node {
            Node::Folder(folder) => Some(What::Folder(self::names(folder))),
            Node::Leaf(leaf) => leaf.stamp.map(|stamp| What::Leaf {
                kind: leaf.kind as u8,
                digest: *leaf.digest.as_bytes(),
                stamp: (stamp.inode, stamp.size_bytes, stamp.modified_ns, stamp.changed_ns),
                is_shared: leaf.is_shared,
            }),
        };
        names.extend(node.map(|node| Name { name: name.to_vec(), node }));
    });
    names
}

fn folder(names: Vec<Name>) -> Folder {
    let node = |what| match what {
        What::Folder(names) => Some(Node::Folder(Arc::new(folder(names)))),
        What::Leaf { kind, digest, stamp, is_shared } => {
            let (inode, size_bytes, modified_ns, changed_ns) = stamp;
            let stamp = Some(Stamp { inode, size_bytes, modified_ns, changed_ns });
            let kind = LeafKind::from_number(kind)?;
            Some(Node::Leaf(Leaf { kind, digest: digest.into(), stamp, is_shared }))
        }
    };
    let nodes = names.into_iter().filter_map(|Name { name, node: what }| {
        node(what).map(|node| (name.into_boxed_slice(), node))
    });
    Folder::of(nodes.collect())
}
