//! What can go wrong, and whether the command can have run: a caller decides about effects by [`RunError::ran`],
//! never by the text. It must never carry content of the command's output.

use std::io;
use std::path::PathBuf;

/// Why no jail can be made on this machine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JailError {
    /// The helper could not be placed in a sealed memory file or started from it.
    #[error("the sandbox helper cannot be started: {0}")]
    Helper(#[source] io::Error),
    /// A wall that nothing works without cannot be built here.
    #[error("the sandbox cannot be built here: {step} failed: {source}; {remedy}")]
    Wall {
        /// What was tried.
        step: &'static str,
        /// What the kernel said.
        #[source]
        source: io::Error,
        /// What a person can do about it.
        remedy: &'static str,
    },
    /// The helper ended without an answer.
    #[error(
        "the sandbox helper gave no answer to the probe; look for a security module or a system-call filter that kills it"
    )]
    Silent,
}

/// Whether an effect of the command is possible after an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// The program was never executed.
    No,
    /// It cannot be known; treat it as ambiguous.
    Unknown,
}

/// Why a run has no [`crate::Exit`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The request cannot be carried out as it is written.
    #[error("`{field}` is not acceptable: {reason}")]
    Request {
        /// Which field of the command.
        field: &'static str,
        /// What is wrong and what to do.
        reason: String,
    },
    /// The workspace cannot be opened, or is not what it was.
    #[error("workspace `{path}` cannot be used: {source}")]
    Workspace {
        /// As given.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// Files of this workspace cannot be given to an unprivileged user.
    #[error(
        "workspace `{path}` belongs to root on a file system that cannot translate owners; give it to an ordinary user, or \
         run as that user"
    )]
    Identity {
        /// As given.
        path: PathBuf,
    },
    /// The working directory does not exist, or leaves the workspace.
    #[error(
        "working directory `{path}` cannot be entered: {source}; name one that exists beneath the workspace"
    )]
    Cwd {
        /// As given, relative to the workspace.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// The program could not be executed.
    #[error("program `{program}` cannot be executed: {cause}")]
    Program {
        /// The first argument, as text.
        program: String,
        /// Why.
        cause: ProgramCause,
    },
    /// A wall could not be built for this run, so nothing ran.
    #[error("the sandbox cannot be built for this command: {step}{at} failed: {source}")]
    Wall {
        /// What was tried.
        step: &'static str,
        /// The path, if one was concerned.
        at: String,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// The daemon's side failed before anything ran.
    #[error("the command cannot be started: {0}")]
    Start(#[source] io::Error),
    /// Stopped before it began.
    #[error("the command was cancelled before it started")]
    NeverStarted,
    /// The helper ended, or did not answer in time, without saying how the command ended. The process tree was killed.
    #[error("the sandbox was lost while the command ran; its effects are unknown")]
    Lost,
}

impl RunError {
    /// Whether the command can have had an effect.
    #[must_use]
    pub fn ran(&self) -> Ran {
        match self {
            Self::Lost => Ran::Unknown,
            _ => Ran::No,
        }
    }
}

/// Why a program could not be executed (execve(2)).
#[derive(Debug, thiserror::Error, PartialEq, Eq, Clone, Copy)]
#[non_exhaustive]
pub enum ProgramCause {
    /// No such file in the sandbox's view.
    #[error("no such program in the sandbox")]
    NotFound,
    /// It may not be executed.
    #[error("it is not executable")]
    PermissionDenied,
    /// Its format is not known.
    #[error("it is neither a program for this machine nor a script with an interpreter line")]
    NotExecutable,
    /// Arguments and environment are too large.
    #[error("arguments and environment are too large")]
    TooLarge,
    /// Another error number.
    #[error("error {0}")]
    Other(i32),
}

impl ProgramCause {
    pub(crate) fn of(errno: u32) -> Self {
        match errno {
            2 | 20 => Self::NotFound,
            1 | 13 => Self::PermissionDenied,
            8 => Self::NotExecutable,
            7 => Self::TooLarge,
            other => Self::Other(other.cast_signed()),
        }
    }
}
