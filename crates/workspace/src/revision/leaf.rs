//! Looking at one name: what it stands for, and the digest of its content.
//!
//! Everything is opened beneath the root, no link is followed and nothing is opened that could block. A digest
//! counts only when the file did not move while it was read.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;

use blake3::{Hash, Hasher};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use crate::path::RepoPath;
use crate::revision::tree::{Leaf, LeafKind, Stamp};
use crate::root::Workspace;
use crate::root::beneath::{self, FileKind, Links, Status};

/// A larger file stands with its stamp and not with its content, bytes.
const HASHED_BYTES: u64 = 256 << 20;

/// How often a file is read again that changes while it is read.
const ATTEMPTS: usize = 3;

/// A file that was changed less than this before it was read may change again without another stamp: the clock
/// of a local file system ticks every few milliseconds.
pub(super) const TICK_NS: i64 = 20_000_000;

/// The same for file systems of other machines, whose clocks are theirs.
pub(super) const REMOTE_TICK_NS: i64 = 3_000_000_000;

impl Stamp {
    fn of(status: &Status) -> Self {
        let [modified_ns, changed_ns] = status.stamps_ns();
        let inode = status.identity.inode;
        Self { inode, size_bytes: status.size_bytes, modified_ns, changed_ns }
    }

    /// What stands for content that is not looked at.
    fn digest(&self) -> Hash {
        let mut hasher = Hasher::new();
        hasher.update(b"chancery w1 stamp\n");
        for number in [self.inode, self.size_bytes] {
            hasher.update(&number.to_le_bytes());
        }
        for number in [self.modified_ns, self.changed_ns] {
            hasher.update(&number.to_le_bytes());
        }
        hasher.finalize()
    }
}

/// What a look at a name without opening it tells.
pub(super) enum Sight {
    Leaf(Leaf),
    /// A file whose content must be read.
    Unread,
}

/// Looks at a name in an open directory; `previous` is what was known about it.
pub(super) fn glance(
    folder: impl AsFd,
    name: &[u8],
    status: &Status,
    previous: Option<&Leaf>,
) -> Result<Sight, Errno> {
    let is_shared = status.links > 1;
    let leaf = |kind, digest| {
        Ok(Sight::Leaf(Leaf { kind, digest, stamp: Some(Stamp::of(status)), is_shared }))
    };
    match status.kind {
        FileKind::File => {
            let stamp = Stamp::of(status);
            let is_same = |leaf: &&Leaf| {
                let bit = leaf.kind == LeafKind::Executable;
                let reads = matches!(leaf.kind, LeafKind::File | LeafKind::Executable);
                leaf.stamp == Some(stamp) && (!reads || bit == status.is_executable())
            };
            match previous.filter(is_same) {
                Some(known) => Ok(Sight::Leaf(Leaf { is_shared, ..*known })),
                None if status.size_bytes > HASHED_BYTES => leaf(LeafKind::Large, stamp.digest()),
                None => Ok(Sight::Unread),
            }
        }
        FileKind::Symlink => {
            let target = rustix::fs::readlinkat(folder, name, Vec::new())?;
            leaf(LeafKind::Symlink, blake3::hash(target.as_bytes()))
        }
        kind => leaf(LeafKind::Special, blake3::hash(kind.to_string().as_bytes())),
    }
}

/// What reading a file gave.
pub(super) enum ReadLeaf {
    Leaf(Leaf),
    /// There is no file at the path any more.
    Gone,
    /// It kept changing.
    Changing,
}

/// Reads a file beneath the root and digests it.
pub(super) fn read(
    workspace: &Workspace,
    path: &RepoPath,
    tick_ns: i64,
) -> Result<ReadLeaf, Errno> {
    for _ in 0..ATTEMPTS {
        let opened =
            beneath::open_raw(workspace.fd(), path.for_kernel(), OFlags::RDONLY, Links::Refuse);
        let fd = match opened {
            Ok(fd) => fd,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(ReadLeaf::Gone),
            // Something else is there now; the event that says so is on its way.
            Err(Errno::LOOP | Errno::XDEV | Errno::NXIO | Errno::NODEV) => {
                return Ok(ReadLeaf::Changing);
            }
            Err(Errno::ACCESS | Errno::PERM) => return unreadable(workspace, path),
            Err(errno) => return Err(errno),
        };
        let before = Status::of(&fd)?;
        if before.kind != FileKind::File {
            return Ok(ReadLeaf::Changing);
        }
        let stamp = Stamp::of(&before);
        let is_shared = before.links > 1;
        if before.size_bytes > HASHED_BYTES {
            let leaf = Leaf {
                kind: LeafKind::Large,
                digest: stamp.digest(),
                stamp: Some(stamp),
                is_shared,
            };
            return Ok(ReadLeaf::Leaf(leaf));
        }
        let now_ns = now_ns();
        let mut hasher = Hasher::new();
        let file = File::from(fd);
        let copied = hasher.update_reader((&file).take(HASHED_BYTES.saturating_add(1)));
        copied.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        if Status::of(&file)? == before && hasher.count() == before.size_bytes {
            let kind = if before.is_executable() { LeafKind::Executable } else { LeafKind::File };
            let last_ns = stamp.modified_ns.max(stamp.changed_ns);
            let stamp = (now_ns.saturating_sub(last_ns) > tick_ns).then_some(stamp);
            let leaf = Leaf { kind, digest: hasher.finalize(), stamp, is_shared };
            return Ok(ReadLeaf::Leaf(leaf));
        }
    }
    Ok(ReadLeaf::Changing)
}

fn unreadable(workspace: &Workspace, path: &RepoPath) -> Result<ReadLeaf, Errno> {
    let opened = beneath::open_raw(
        workspace.fd(),
        path.for_kernel(),
        OFlags::PATH | OFlags::NOFOLLOW,
        Links::Refuse,
    );
    let status = match opened.and_then(Status::of) {
        Ok(status) => status,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(ReadLeaf::Gone),
        Err(_) => return Ok(ReadLeaf::Changing),
    };
    let stamp = Stamp::of(&status);
    let is_shared = status.links > 1;
    let kind = LeafKind::Unreadable;
    Ok(ReadLeaf::Leaf(Leaf { kind, digest: stamp.digest(), stamp: Some(stamp), is_shared }))
}

/// A folder that may not be read: it stands for itself, whatever is in it.
pub(super) fn closed_folder() -> Leaf {
    let digest = blake3::hash(b"chancery w1 closed folder\n");
    Leaf { kind: LeafKind::Unreadable, digest, stamp: None, is_shared: false }
}

/// The clock that file systems stamp with.
fn now_ns() -> i64 {
    let now = clock_gettime(ClockId::RealtimeCoarse);
    now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec)
}
