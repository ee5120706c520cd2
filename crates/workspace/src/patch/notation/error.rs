//! Why a patch text could not be read: the line, and what is wrong with it.

use crate::path::PathError;

/// A patch text that could not be read. Nothing was looked at but the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the patch: {fault}")]
pub struct NotationError {
    /// The line of the patch, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub fault: NotationFault,
}

/// What is wrong with a line of a patch text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotationFault {
    /// The text is in neither notation.
    #[error(
        "neither notation: a V4A patch begins with `*** Begin Patch`, a unified diff with `diff --git ` or `--- `"
    )]
    Neither,
    /// Something else was to stand here.
    #[error("{0}")]
    Expected(&'static str),
    /// The path is none that the workspace can hold.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A quoted path is not closed, or has an escape that is none.
    #[error("`{quoted}` is no quoted path: close it, and write a byte as `\\` and three octal digits")]
    Quoting {
        /// The path as it stands there.
        quoted: String,
    },
    /// Two lines of one file name different files.
    #[error(
        "`{one}` and `{other}` are not one file: write `a/` and `b/` before the same path, or `rename from` and \
         `rename to`"
    )]
    Names {
        /// One name.
        one: String,
        /// The other.
        other: String,
    },
    /// A hunk has more or fewer lines than its header says.
    #[error("the hunk has {old} old and {new} new lines, its header says {stated_old} and {stated_new}")]
    Count {
        /// Context and removed lines.
        old: u64,
        /// Context and added lines.
        new: u64,
        /// What the header says of the old side.
        stated_old: u64,
        /// What the header says of the new side.
        stated_new: u64,
    },
    /// A hunk begins before the end of the one before it.
    #[error("the hunk begins at line {first}, before the end of the one above it: order them by line")]
    Order {
        /// Where it begins.
        first: u64,
    },
    /// The content is no text.
    #[error("a binary patch: text can be patched, write other content whole")]
    Binary,
    /// A file would be copied.
    #[error("a copy: create the new file with its content")]
    Copy,
    /// A file would be, or has been, a symbolic link.
    #[error("a symbolic link: only regular files are changed")]
    SymbolicLink,
    /// A submodule would be changed.
    #[error("a submodule: only regular files are changed")]
    Submodule,
    /// A mode that no file gets here.
    #[error("the mode `{mode}`: a file has the mode 100644 or 100755")]
    Mode {
        /// The mode as it stands there.
        mode: String,
    },
}

impl NotationFault {
    /// A stable name for programs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Neither => "neither_notation",
            Self::Expected(_) => "structure",
            Self::Path(_) => "path",
            Self::Quoting { .. } => "quoting",
            Self::Names { .. } => "names_disagree",
            Self::Count { .. } => "hunk_count",
            Self::Order { .. } => "hunk_order",
            Self::Binary => "binary",
            Self::Copy => "copy",
            Self::SymbolicLink => "symbolic_link",
            Self::Submodule => "submodule",
            Self::Mode { .. } => "mode",
        }
    }
}

impl NotationError {
    pub(crate) fn new(line: usize, fault: NotationFault) -> Self {
        Self { line, fault }
    }

    pub(crate) fn expected(line: usize, expected: &'static str) -> Self {
        Self::new(line, NotationFault::Expected(expected))
    }
}
