//! Why a path could not be reached. Every operation of the crate shares these refusals.
//!
//! A message names the path that was asked for and never where a link leads.

use rustix::io::Errno;

use crate::path::{PathError, RepoPath};
use crate::root::beneath::FileKind;

/// The directory could not become a workspace.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// There is nothing at the path.
    #[error("`{root}` does not exist: name an existing directory as the workspace")]
    NotFound {
        /// The path as it was asked for.
        root: String,
    },
    /// The path names something else.
    #[error("`{root}` is no directory: name a directory as the workspace")]
    NotADirectory {
        /// The path as it was asked for.
        root: String,
    },
    /// The kernel, or a filter before it, refuses `openat2`: nothing can be confined, so nothing is opened.
    #[error(
        "the system call `openat2` is not available here: run on Linux 5.6 or later, or allow it"
    )]
    ConfinementMissing,
    /// The system refused.
    #[error("`{root}` cannot be opened: {source}")]
    Io {
        /// The path as it was asked for.
        root: String,
        /// What the system said.
        source: std::io::Error,
    },
}

/// A path beneath the root could not be reached (P8).
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// The text names nothing beneath the root.
    #[error(transparent)]
    Path(#[from] PathError),
    /// There is nothing at the path.
    #[error("`{path}` does not exist")]
    NotFound {
        /// The path as it was asked for.
        path: RepoPath,
    },
    /// A component before the last one is no directory, or a directory was needed.
    #[error("`{path}` is no directory, or passes through something that is none")]
    NotADirectory {
        /// The path as it was asked for.
        path: RepoPath,
    },
    /// A link on the way leads out of the workspace, or is absolute.
    #[error("`{path}` leads outside the workspace")]
    OutsideWorkspace {
        /// The path as it was asked for.
        path: RepoPath,
    },
    /// Links form a circle, or a link stands where none may be followed.
    #[error("`{path}` passes through a link that cannot be followed here")]
    LinkRefused {
        /// The path as it was asked for.
        path: RepoPath,
    },
    /// The object is a pipe, a socket, a device or a directory where a file is needed.
    #[error("`{path}` is {kind}, not a regular file")]
    NotRegular {
        /// The path as it was asked for.
        path: RepoPath,
        /// What it is.
        kind: FileKind,
    },
    /// The file permissions do not allow it.
    #[error("`{path}` may not be opened: its file permissions refuse it")]
    PermissionDenied {
        /// The path as it was asked for.
        path: RepoPath,
    },
    /// The path kept moving while it was looked up.
    #[error("`{path}` was being moved while it was looked up: ask again")]
    Moving {
        /// The path as it was asked for.
        path: RepoPath,
    },
    /// `openat2` stopped being available.
    #[error("the system call `openat2` is not available: nothing can be opened safely")]
    ConfinementMissing,
    /// The system refused for another reason.
    #[error("`{path}` cannot be reached: {source}")]
    Io {
        /// The path as it was asked for.
        path: RepoPath,
        /// What the system said.
        source: std::io::Error,
    },
}

impl AccessError {
    pub(crate) fn from_errno(path: &RepoPath, errno: Errno) -> Self {
        let path = path.clone();
        match errno {
            Errno::NOENT => Self::NotFound { path },
            Errno::NOTDIR => Self::NotADirectory { path },
            Errno::XDEV => Self::OutsideWorkspace { path },
            Errno::LOOP => Self::LinkRefused { path },
            // A socket, or a device without a driver: there is nothing behind it to open.
            Errno::NXIO | Errno::NODEV => Self::NotRegular { path, kind: FileKind::Other },
            Errno::ACCESS => Self::PermissionDenied { path },
            Errno::AGAIN => Self::Moving { path },
            Errno::NOSYS => Self::ConfinementMissing,
            errno => Self::Io { path, source: errno.into() },
        }
    }

    pub(crate) fn from_io(path: &RepoPath, error: std::io::Error) -> Self {
        match Errno::from_io_error(&error) {
            Some(errno) => Self::from_errno(path, errno),
            None => Self::Io { path: path.clone(), source: error },
        }
    }

    /// Whether there is nothing at the path, as against something that may not be touched.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }
}
