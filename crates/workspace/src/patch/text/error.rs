//! Why a patch text could not be read, with the line of it.

use crate::path::PathError;

/// Why a patch text could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// It is in no form that is known.
    #[error(
        "the patch starts neither with `*** Begin Patch` nor, as a unified diff, with `diff --git ` or `--- `"
    )]
    Form,
    /// It started as a V4A patch.
    #[error(transparent)]
    V4a(#[from] V4aError),
    /// It started as a unified diff.
    #[error(transparent)]
    Diff(#[from] DiffError),
}

impl TextError {
    /// The line of the patch, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        match self {
            Self::Form => 1,
            Self::V4a(error) => error.line,
            Self::Diff(error) => error.line,
        }
    }
}

/// Why a V4A patch could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the patch: {reason}")]
pub struct V4aError {
    /// The line of the patch, from 1.
    pub line: usize,
    /// What is wrong, and what was expected.
    pub reason: String,
}

impl V4aError {
    pub(super) fn new(line: usize, reason: impl Into<String>) -> Self {
        Self { line, reason: reason.into() }
    }

    pub(super) fn path(line: usize, error: &PathError) -> Self {
        Self::new(line, error.to_string())
    }
}

/// Why a unified diff could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the patch: {cause}")]
pub struct DiffError {
    /// The line of the patch, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub cause: DiffCause,
}

impl DiffError {
    pub(super) fn new(line: usize, cause: DiffCause) -> Self {
        Self { line, cause }
    }
}

/// What is wrong with a line of a unified diff.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiffCause {
    /// It starts nothing that can stand there.
    #[error("expected {expected}")]
    Expected {
        /// What can.
        expected: &'static str,
    },
    /// The counts of a hunk's header are not those of its lines.
    #[error("the hunk says -{} +{} lines but has -{} +{}", stated.0, stated.1, counted.0, counted.1)]
    Counts {
        /// Lines before and after, as the header says.
        stated: (u64, u64),
        /// Lines before and after, as there are.
        counted: (u64, u64),
    },
    /// A hunk whose lines are the same before and after.
    #[error("a hunk that changes nothing")]
    NoChange,
    /// A file without a hunk, a new mode or a new name.
    #[error("a file to which nothing is done")]
    NothingDone,
    /// `\ No newline at end of file` behind a line that is not the last of its side.
    #[error(
        "`\\ No newline at end of file` belongs behind the last line before or after the change"
    )]
    Marker,
    /// The two sides name different files, and there is no `rename`.
    #[error(
        "`{old}` and `{new}` are not one file: write `a/` and `b/` before one path, or `rename from` and `rename to`"
    )]
    Sides {
        /// The old side as it stands there.
        old: String,
        /// The new side as it stands there.
        new: String,
    },
    /// Headers of one file that do not go together.
    #[error("{what}")]
    Contradiction {
        /// Which.
        what: &'static str,
    },
    /// A quoted path with an escape that is none.
    #[error("`{text}` is no path quoted as `git` does it")]
    Quoting {
        /// The path as it stands there.
        text: String,
    },
    /// A path that names nothing beneath the root.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The change of a binary file.
    #[error("a binary change: only text is patched")]
    Binary,
    /// A file made as a copy of another.
    #[error("a copy: create the file with its whole content")]
    Copy,
    /// A symbolic link.
    #[error("mode 120000 is a symbolic link: links are not made or changed")]
    SymbolicLink,
    /// A commit of a submodule.
    #[error("mode 160000 is a submodule: its commit is not changed here")]
    Submodule,
    /// A mode that no regular file has in `git`.
    #[error("mode `{mode}`: a file has 100644 or 100755")]
    Mode {
        /// The mode as it stands there.
        mode: String,
    },
}
