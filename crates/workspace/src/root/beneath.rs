//! The kernel calls that open something beneath the root, and nothing else.
//!
//! Every open goes through `openat2` with `RESOLVE_BENEATH`, never blocks, and is judged by `fstat` on the
//! descriptor that is then used. It must never fall back to a weaker open: without `openat2` it refuses.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::error::AccessError;
use crate::path::RepoPath;

/// How often a lookup is repeated that the kernel gave up because something moved under it.
const MOVED_RETRIES: usize = 8;

/// What kind of object a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A block or character device.
    Device,
    /// Something the kernel has no name for here.
    Other,
}

/// Which object it is, whatever its name: device and inode number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// The device that the object lies on.
    pub device: u64,
    /// Its inode number there.
    pub inode: u64,
}

/// Whether links may be followed, all of them staying beneath the root.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    Follow,
    Refuse,
}

/// Opens `path` beneath `root` without following it out and without blocking.
pub(crate) fn open(
    root: BorrowedFd<'_>,
    path: &RepoPath,
    flags: OFlags,
    links: Links,
) -> Result<OwnedFd, AccessError> {
    open_raw(root, path.for_kernel(), flags, links)
        .map_err(|errno| AccessError::from_errno(path, errno))
}

/// [`open`] with the kernel's own answer.
pub(crate) fn open_raw(
    root: BorrowedFd<'_>,
    path: &[u8],
    flags: OFlags,
    links: Links,
) -> Result<OwnedFd, Errno> {
    let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    if links == Links::Refuse {
        resolve |= ResolveFlags::NO_SYMLINKS;
    }
    // O_PATH takes no other flags than these; with it nothing is opened that could block.
    let never_waits = if flags.contains(OFlags::PATH) {
        OFlags::CLOEXEC
    } else {
        OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY
    };
    let mut last = Errno::AGAIN;
    for _ in 0..MOVED_RETRIES {
        match rustix::fs::openat2(root, path, flags | never_waits, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => last = Errno::AGAIN,
            Err(errno) => return Err(errno),
            Ok(fd) => return Ok(fd),
        }
    }
    Err(last)
}

/// Opens the object behind an `O_PATH` descriptor for reading. It is the same object: nothing is looked up.
pub(crate) fn reopen(fd: BorrowedFd<'_>) -> Result<File, Errno> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    rustix::fs::open(descriptor_path(fd), flags, Mode::empty()).map(File::from)
}

/// Where the kernel says that a descriptor lies now, as an absolute path.
pub(crate) fn where_is(fd: BorrowedFd<'_>) -> Result<Vec<u8>, Errno> {
    rustix::fs::readlink(descriptor_path(fd), Vec::new()).map(std::ffi::CString::into_bytes)
}

fn descriptor_path(fd: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

/// What `fstat` says, with the widths of every architecture made one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) kind: FileKind,
    pub(crate) identity: Identity,
    pub(crate) size_bytes: u64,
    pub(crate) links: u64,
    /// Permission bits, set-id and sticky bits included.
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// Modification and change time, which together with size say whether content may have moved.
    stamps: [i128; 2],
}

impl Status {
    pub(crate) fn of(fd: impl AsFd) -> Result<Self, Errno> {
        rustix::fs::fstat(fd).map(|stat| Self::from_stat(&stat))
    }

    #[expect(
        clippy::unnecessary_cast,
        clippy::cast_lossless,
        clippy::cast_sign_loss,
        reason = "the widths and signs of these fields differ between architectures"
    )]
    pub(crate) fn from_stat(stat: &Stat) -> Self {
        Self {
            kind: FileKind::from_type(rustix::fs::FileType::from_raw_mode(stat.st_mode)),
            identity: Identity { device: stat.st_dev as u64, inode: stat.st_ino as u64 },
            size_bytes: stat.st_size as u64,
            links: stat.st_nlink as u64,
            mode: stat.st_mode as u32 & 0o7777,
            uid: stat.st_uid,
            gid: stat.st_gid,
            stamps: [
                stat.st_mtime as i128 * 1_000_000_000 + stat.st_mtime_nsec as i128,
                stat.st_ctime as i128 * 1_000_000_000 + stat.st_ctime_nsec as i128,
            ],
        }
    }

    /// Modification and change time, nanoseconds since 1970.
    pub(crate) fn stamps_ns(&self) -> [i64; 2] {
        self.stamps.map(|stamp| i64::try_from(stamp).unwrap_or(i64::MAX))
    }

    pub(crate) fn is_executable(&self) -> bool {
        self.mode & 0o111 != 0
    }
}

impl FileKind {
    pub(crate) fn from_type(kind: rustix::fs::FileType) -> Self {
        use rustix::fs::FileType;
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Symlink,
            FileType::Fifo => Self::Fifo,
            FileType::Socket => Self::Socket,
            FileType::CharacterDevice | FileType::BlockDevice => Self::Device,
            FileType::Unknown => Self::Other,
        }
    }
}

impl std::fmt::Display for FileKind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::File => "a file",
            Self::Directory => "a directory",
            Self::Symlink => "a symbolic link",
            Self::Fifo => "a named pipe",
            Self::Socket => "a socket",
            Self::Device => "a device",
            Self::Other => "no regular file",
        })
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test makes its own tree")]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn p8_the_kernel_itself_refuses_what_leaves_the_root() {
        let tree = tempfile::tempdir().unwrap();
        let root = tree.path().join("root");
        fs::create_dir_all(root.join("in")).unwrap();
        fs::write(tree.path().join("canary"), "x").unwrap();
        fs::write(root.join("in/file"), "x").unwrap();
        symlink("../canary", root.join("out")).unwrap();
        symlink("/", root.join("top")).unwrap();
        symlink("/proc/self/root", root.join("magic")).unwrap();
        symlink("in", root.join("folder")).unwrap();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(&root, flags, Mode::empty()).unwrap();
        let open = |path: &str, links| {
            open_raw(root.as_fd(), path.as_bytes(), OFlags::PATH, links).map(drop)
        };
        for path in ["../canary", "/etc", "in/../../canary", "out", "top", "magic", "top/etc"] {
            assert_eq!(open(path, Links::Follow), Err(Errno::XDEV), "{path}");
            assert!(open(path, Links::Refuse).is_err(), "{path}");
        }
        assert_eq!(open("folder/file", Links::Follow), Ok(()));
        assert_eq!(open("folder/file", Links::Refuse), Err(Errno::LOOP));
        assert_eq!(open("in/file", Links::Refuse), Ok(()));
    }
}
