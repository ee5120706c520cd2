//! One open directory and the kernel calls that change names in it.
//!
//! Every name is a single component beneath the open directory, and no call here follows a link.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

use rustix::fs::{AtFlags, Gid, Mode, OFlags, RenameFlags, Uid};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::error::AccessError;
use crate::patch::apply::attributes::{Attributes, Unset};
use crate::path::RepoPath;
use crate::root::Workspace;
use crate::root::beneath::{self, FileKind, Identity, Links, Status};

/// How much of a file is hashed at a time, in bytes.
const HASH_CHUNK_BYTES: usize = 64 << 10;

/// An open directory.
#[derive(Debug)]
pub(crate) struct Folder {
    fd: OwnedFd,
}

/// The directories that one patch works in, each opened once: what is begun in a directory is undone in the same
/// one, wherever it has been moved meanwhile.
pub(crate) struct Folders<'a> {
    workspace: &'a Workspace,
    open: BTreeMap<RepoPath, Rc<Folder>>,
}

impl<'a> Folders<'a> {
    pub(crate) fn new(workspace: &'a Workspace) -> Self {
        Self { workspace, open: BTreeMap::new() }
    }

    /// The directory at a real path.
    pub(crate) fn at(&mut self, path: &RepoPath) -> Result<Rc<Folder>, AccessError> {
        if let Some(folder) = self.open.get(path) {
            return Ok(Rc::clone(folder));
        }
        let folder = Rc::new(Folder::open(self.workspace, path)?);
        self.open.insert(path.clone(), Rc::clone(&folder));
        Ok(folder)
    }

    /// The directory that a real path lies in, and its name there.
    pub(crate) fn of<'p>(
        &mut self,
        path: &'p RepoPath,
    ) -> Result<(Rc<Folder>, &'p [u8]), AccessError> {
        let folder = self.at(&path.parent().unwrap_or_default())?;
        Ok((folder, path.name().unwrap_or(b".")))
    }

    /// Whether the directory that a path lies in has been opened, and so may have been changed.
    pub(crate) fn has_opened(&self, path: &RepoPath) -> bool {
        self.open.contains_key(&path.parent().unwrap_or_default())
    }

    /// [`Self::of`], refused when the directory is no longer where it was.
    pub(crate) fn still_of<'p>(
        &mut self,
        path: &'p RepoPath,
    ) -> Result<(Rc<Folder>, &'p [u8]), AccessError> {
        let (folder, name) = self.of(path)?;
        let parent = path.parent().unwrap_or_default();
        if self.workspace.place_of(folder.fd.as_fd(), path)? != parent {
            return Err(AccessError::Moving { path: path.clone() });
        }
        Ok((folder, name))
    }
}

/// Mode, owner and attributes of a file that is staged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rights {
    /// As the process makes new files.
    New { executable: bool },
    /// As the file that it replaces has them (P7), without set-id bits.
    Kept { mode: u32, uid: u32, gid: u32, attributes: Attributes },
}

impl Rights {
    pub(crate) fn is_executable(&self) -> bool {
        match self {
            Self::New { executable } => *executable,
            Self::Kept { mode, .. } => mode & 0o111 != 0,
        }
    }

    /// Sets the executable bit for whoever may read, or takes it from everybody.
    pub(crate) fn set_executable(&mut self, wanted: bool) {
        if self.is_executable() == wanted {
            return;
        }
        match self {
            Self::New { executable } => *executable = wanted,
            Self::Kept { mode, .. } if wanted => *mode |= (*mode & 0o444) >> 2,
            Self::Kept { mode, .. } => *mode &= !0o111,
        }
    }

    /// The permission bits that it gets, without set-id bits; of a new file before the process's mask.
    pub(crate) fn mode(&self) -> u32 {
        match self {
            Self::New { executable: false } => 0o666,
            Self::New { executable: true } => 0o777,
            Self::Kept { mode, .. } => mode & 0o777,
        }
    }
}

/// Makes a new file that of an owner and a group, which only some users may.
fn give(file: &File, uid: u32, gid: u32) -> Result<(), NotStaged> {
    let status = Status::of(file)?;
    if (status.uid, status.gid) == (uid, gid) {
        return Ok(());
    }
    let (owner, group) = (Uid::from_raw(uid), Gid::from_raw(gid));
    match rustix::fs::fchown(file, Some(owner), Some(group)) {
        Ok(()) => Ok(()),
        // An ordinary user cannot give files away, and an edit is no way to take one over.
        Err(errno @ (Errno::PERM | Errno::INVAL)) => {
            Err(NotStaged::Attribute(Unset { name: format!("owner {uid}:{gid}"), errno }))
        }
        Err(errno) => Err(errno.into()),
    }
}

/// Why a file could not be staged.
#[derive(Debug)]
pub(crate) enum NotStaged {
    /// The system refused the file or its content.
    Io(std::io::Error),
    /// It refused an owner or an attribute that the file before has (P7).
    Attribute(Unset),
}

impl From<std::io::Error> for NotStaged {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Errno> for NotStaged {
    fn from(errno: Errno) -> Self {
        Self::Io(errno.into())
    }
}

/// What a name in a directory is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Now {
    Missing,
    File {
        digest: String,
        identity: Identity,
        executable: bool,
    },
    /// Something that is no regular file.
    Other,
}

impl Now {
    pub(crate) fn has(&self, wanted: &str) -> bool {
        matches!(self, Self::File { digest, .. } if digest == wanted)
    }

    /// Whether its executable bit is `wanted`.
    pub(crate) fn is(&self, wanted: bool) -> bool {
        matches!(self, Self::File { executable, .. } if *executable == wanted)
    }
}

impl Folder {
    /// Opens the directory at a real path; a link on the way means that it is no longer that path.
    pub(crate) fn open(workspace: &Workspace, path: &RepoPath) -> Result<Self, AccessError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let fd = beneath::open(workspace.fd(), path, flags, Links::Refuse)?;
        // A directory that was moved while it was opened would pin the changes to its new place.
        if workspace.place_of(fd.as_fd(), path)? != *path {
            return Err(AccessError::Moving { path: path.clone() });
        }
        Ok(Self { fd })
    }

    /// A directory that is open already.
    pub(crate) fn of(fd: OwnedFd) -> Self {
        Self { fd }
    }

    /// Writes a new file whole, and makes its content durable.
    pub(crate) fn stage(
        &self,
        name: &[u8],
        bytes: &[u8],
        rights: &Rights,
    ) -> Result<(), NotStaged> {
        let mode = match rights {
            Rights::New { .. } => rights.mode(),
            Rights::Kept { .. } => 0o600,
        };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, name, flags, Mode::from_raw_mode(mode))?;
        let mut file = File::from(fd);
        file.write_all(bytes)?;
        if let Rights::Kept { uid, gid, attributes, .. } = rights {
            give(&file, *uid, *gid)?;
            attributes.set_on(&file).map_err(NotStaged::Attribute)?;
            // Behind the access list, whose mask is the group's part of the mode.
            rustix::fs::fchmod(&file, Mode::from_raw_mode(rights.mode()))?;
        }
        rustix::fs::fdatasync(&file)?;
        Ok(())
    }

    /// Changes the permission bits of a file whose content is `digest` and whose bits are `from`; `false` when it
    /// is another file by now.
    pub(crate) fn set_mode(
        &self,
        name: &[u8],
        digest: &str,
        (from, to): (u32, u32),
    ) -> std::io::Result<bool> {
        let mut file = match self.read(name) {
            Ok(file) => file,
            Err(Errno::NOENT | Errno::LOOP) => return Ok(false),
            Err(errno) => return Err(errno.into()),
        };
        let status = Status::of(&file)?;
        let is_it =
            status.kind == FileKind::File && status.links == 1 && status.mode & 0o777 == from;
        if !is_it || digest_of(&mut file)? != digest {
            return Ok(false);
        }
        rustix::fs::fchmod(&file, Mode::from_raw_mode(to))?;
        rustix::fs::fsync(&file)?;
        Ok(true)
    }

    /// Swaps what two names stand for, in one step.
    pub(crate) fn exchange(&self, one: &[u8], other: &[u8]) -> Result<(), Errno> {
        rustix::fs::renameat_with(&self.fd, one, &self.fd, other, RenameFlags::EXCHANGE)
    }

    /// Gives an object another name, which must be free.
    pub(crate) fn rename(&self, from: &[u8], into: &Self, to: &[u8]) -> Result<(), Errno> {
        rustix::fs::renameat_with(&self.fd, from, &into.fd, to, RenameFlags::NOREPLACE)
    }

    /// Removes a name; it may be gone already.
    pub(crate) fn remove(&self, name: &[u8]) -> Result<(), Errno> {
        gone(rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()))
    }

    /// Removes a directory unless something lies in it.
    pub(crate) fn remove_empty(&self, name: &[u8]) -> Result<(), Errno> {
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
            done => gone(done),
        }
    }

    /// Makes a directory; `false` when it was there.
    pub(crate) fn make_folder(&self, name: &[u8], mode: u32) -> Result<bool, Errno> {
        match rustix::fs::mkdirat(&self.fd, name, Mode::from_raw_mode(mode)) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(errno) => Err(errno),
        }
    }

    /// Opens a file in it for reading.
    pub(crate) fn read(&self, name: &[u8]) -> Result<File, Errno> {
        let fd = beneath::open_raw(self.fd.as_fd(), name, OFlags::RDONLY, Links::Refuse)?;
        Ok(File::from(fd))
    }

    /// Says what a name is now, by the digest of its content.
    pub(crate) fn look(&self, name: &[u8]) -> std::io::Result<Now> {
        let mut file = match self.read(name) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(Now::Missing),
            Err(Errno::LOOP | Errno::NXIO | Errno::NODEV) => return Ok(Now::Other),
            Err(errno) => return Err(errno.into()),
        };
        let status = Status::of(&file)?;
        if status.kind != FileKind::File {
            return Ok(Now::Other);
        }
        let digest = digest_of(&mut file)?;
        let executable = status.is_executable();
        Ok(Now::File { digest, identity: status.identity, executable })
    }

    /// Which object a name is, without its content.
    pub(crate) fn identity(&self, name: &[u8]) -> Result<Option<Identity>, Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => Status::of(&fd).map(|status| Some(status.identity)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Makes the names in it durable.
    pub(crate) fn sync(&self) -> Result<(), Errno> {
        rustix::fs::fsync(self.readable()?)
    }

    /// The same directory with the right to read it.
    fn readable(&self) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::openat(&self.fd, c".", flags, Mode::empty())
    }

    /// The names in it.
    pub(crate) fn names(&self) -> Result<Vec<Vec<u8>>, Errno> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::new(self.readable()?)? {
            names.push(entry?.file_name().to_bytes().to_vec());
        }
        names.sort();
        Ok(names)
    }
}

fn gone(done: Result<(), Errno>) -> Result<(), Errno> {
    match done {
        Err(Errno::NOENT) => Ok(()),
        done => done,
    }
}

/// SHA-256 over bytes, as 64 lower-case hexadecimal digits.
pub(crate) fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn digest_of(file: &mut File) -> std::io::Result<String> {
    let mut hash = Sha256::new();
    let mut chunk = vec![0; HASH_CHUNK_BYTES];
    loop {
        let read = file.read(&mut chunk)?;
        match chunk.get(..read) {
            None | Some([]) => return Ok(hex(&hash.finalize())),
            Some(bytes) => hash.update(bytes),
        }
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let written = write!(text, "{byte:02x}");
        debug_assert!(written.is_ok(), "a string takes every write");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p7_an_attribute_that_the_file_system_refuses_is_named_before_the_file_has_its_place() {
        let tree = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(tree.path()).unwrap();
        let folder = Folder::open(&workspace, &RepoPath::root()).unwrap();
        // Longer than any file system takes.
        let name = format!("user.{}", "x".repeat(300));
        let attributes = Attributes::one(name.as_bytes(), b"value");
        let (uid, gid) = (rustix::process::getuid(), rustix::process::getgid());
        let rights = Rights::Kept { mode: 0o644, uid: uid.as_raw(), gid: gid.as_raw(), attributes };
        let refused = folder.stage(b"spare", b"content", &rights);
        let Err(NotStaged::Attribute(unset)) = refused else { panic!("{refused:?}") };
        assert_eq!(unset.name, name);
        // The spare name never became readable for anybody else.
        let mode = Status::of(folder.read(b"spare").unwrap()).unwrap().mode;
        assert_eq!(mode & 0o077, 0);
    }
}
