//! The workspace: one open directory, and what a path beneath it really names.
//!
//! The root is opened once and never looked up by its path again. It must never hand out a path that was
//! checked apart from the object that is used: [`Workspace::reach`] returns both from one descriptor.

pub(crate) mod beneath;
pub(crate) mod directory;

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::class::{PathClass, classify};
use crate::error::{AccessError, WorkspaceError};
use crate::path::{self, PathError, RepoPath};
use beneath::{FileKind, Identity, Links, Status};

/// An opened workspace. Clones share the one root descriptor.
#[derive(Clone)]
pub struct Workspace {
    root: Arc<Root>,
}

struct Root {
    fd: OwnedFd,
    identity: Identity,
    /// Where the root was when it was opened, only to understand absolute paths and to name it.
    canonical: Vec<u8>,
}

/// What a path names at this moment (P8).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolved {
    /// The path as it was asked for.
    pub requested: RepoPath,
    /// The path with every link inside the workspace followed.
    pub real: RepoPath,
    /// What is there.
    pub kind: FileKind,
    /// Which object it is.
    pub identity: Identity,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// How many names it has; more than one means that a name elsewhere, perhaps outside, shares it.
    pub links: u64,
    /// Whether any executable bit is set.
    pub executable: bool,
    /// The stricter class of the requested and the real path, so that a link to a secret is a secret.
    pub class: PathClass,
}

/// An object that was resolved, held open.
#[derive(Debug)]
pub(crate) struct Reached {
    pub(crate) fd: OwnedFd,
    pub(crate) status: Status,
    pub(crate) resolved: Resolved,
}

impl Workspace {
    /// Opens a directory as the workspace.
    ///
    /// # Errors
    /// [`WorkspaceError`] when it is no directory, or when this system cannot confine opens to it.
    pub fn open(root: &Path) -> Result<Self, WorkspaceError> {
        let shown = || path::escape(root.as_os_str().as_bytes());
        let refused = |errno: Errno| match errno {
            Errno::NOENT => WorkspaceError::NotFound { root: shown() },
            Errno::NOTDIR => WorkspaceError::NotADirectory { root: shown() },
            Errno::NOSYS => WorkspaceError::ConfinementMissing,
            errno => WorkspaceError::Io { root: shown(), source: errno.into() },
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(root, flags, Mode::empty()).map_err(refused)?;
        let probe = beneath::open_raw(fd.as_fd(), b".", flags, Links::Refuse);
        match probe {
            // A system call filter may answer either of these.
            Err(Errno::NOSYS | Errno::PERM) => return Err(WorkspaceError::ConfinementMissing),
            Err(errno) => return Err(refused(errno)),
            Ok(_) => {}
        }
        let identity = Status::of(&fd).map_err(refused)?.identity;
        let canonical = beneath::where_is(fd.as_fd()).map_err(refused)?;
        let root = Root { fd, identity, canonical };
        Ok(Self { root: Arc::new(root) })
    }

    /// Reads a path as a planner writes it: relative, or absolute when it lies beneath the root by its
    /// components (P-002). The file system is not asked.
    ///
    /// # Errors
    /// [`PathError`] when the text names nothing beneath the root.
    pub fn path(&self, text: &str) -> Result<RepoPath, PathError> {
        if !text.starts_with('/') {
            return text.parse();
        }
        let bytes =
            path::unescape(text).ok_or_else(|| PathError::BadEscape { path: text.to_owned() })?;
        let outside = || PathError::Absolute { path: text.to_owned() };
        let relative = bytes.get(1..).filter(|rest| !rest.is_empty());
        let asked = RepoPath::from_bytes(relative.unwrap_or(b"."))?;
        let here = self.root.canonical.get(1..).filter(|rest| !rest.is_empty());
        let root = RepoPath::from_bytes(here.unwrap_or(b"."))?;
        asked.below(&root).ok_or_else(outside)
    }

    /// Which directory this is, whatever its path is now.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.root.identity
    }

    /// Where the root was when it was opened, escaped; for people, never for opening.
    #[must_use]
    pub fn shown(&self) -> String {
        path::escape(&self.root.canonical)
    }

    /// Says what a path names now, following links inside the workspace.
    ///
    /// # Errors
    /// [`AccessError`] when nothing is there or the path leads out.
    pub fn resolve(&self, path: &RepoPath) -> Result<Resolved, AccessError> {
        self.reach(path).map(|reached| reached.resolved)
    }

    /// Resolves and keeps the object open (without rights to read it yet).
    pub(crate) fn reach(&self, path: &RepoPath) -> Result<Reached, AccessError> {
        let fd = beneath::open(self.fd(), path, OFlags::PATH, Links::Follow)?;
        self.identify(path, fd)
    }

    /// Says which object an open descriptor is and where it lies beneath the root.
    pub(crate) fn identify(&self, path: &RepoPath, fd: OwnedFd) -> Result<Reached, AccessError> {
        let refused = |errno| AccessError::from_errno(path, errno);
        let real = self.place_of(fd.as_fd(), path)?;
        let status = Status::of(&fd).map_err(refused)?;
        if status.links == 0 || self.is_former_name(&real, status.identity) {
            // Unlinked since it was opened; its former name says nothing any more.
            return Err(AccessError::Moving { path: path.clone() });
        }
        let resolved = Resolved {
            requested: path.clone(),
            kind: status.kind,
            identity: status.identity,
            size_bytes: status.size_bytes,
            links: status.links,
            executable: status.is_executable(),
            class: classify(path).stricter(classify(&real)),
            real,
        };
        Ok(Reached { fd, status, resolved })
    }

    /// Whether the kernel's answer is the name of something unlinked, told by its mark, and not a name that
    /// really ends so. An object with further names keeps a link count.
    fn is_former_name(&self, real: &RepoPath, identity: Identity) -> bool {
        real.as_bytes().ends_with(b" (deleted)")
            && !beneath::open_raw(self.fd(), real.for_kernel(), OFlags::PATH, Links::Refuse)
                .and_then(Status::of)
                .is_ok_and(|status| status.identity == identity)
    }

    /// The real path of a descriptor, as the kernel knows it now; `path` is only for the refusal.
    pub(crate) fn place_of(
        &self,
        fd: BorrowedFd<'_>,
        path: &RepoPath,
    ) -> Result<RepoPath, AccessError> {
        let refused = |errno| AccessError::from_errno(path, errno);
        let root = beneath::where_is(self.fd()).map_err(refused)?;
        let place = beneath::where_is(fd).map_err(refused)?;
        let outside = || AccessError::OutsideWorkspace { path: path.clone() };
        if root == place {
            return Ok(RepoPath::root());
        }
        let prefix = if root == b"/" { &[] } else { root.as_slice() };
        let below = place
            .strip_prefix(prefix)
            .and_then(|rest| rest.strip_prefix(b"/"))
            .ok_or_else(outside)?;
        Ok(RepoPath::from_bytes(below)?)
    }

    /// Where the root is now, or was when it was opened if the kernel does not say.
    pub(crate) fn real_root(&self) -> Vec<u8> {
        beneath::where_is(self.fd()).unwrap_or_else(|_| self.root.canonical.clone())
    }

    /// The descriptor that every lookup starts from.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.root.fd.as_fd()
    }
}

impl fmt::Debug for Workspace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Workspace(`{}`)", self.shown())
    }
}
