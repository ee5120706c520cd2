//! What a caller may ask for: changes as data, before anything about the files is known.
//!
//! Nothing here looks at a file.

use crate::patch::error::LineRange;
use crate::path::RepoPath;

/// One change to one path (P1). Changes of one patch see the results of those before them.
///
/// `base` is the digest of the content that the change was written for, 64 lower-case hexadecimal digits; without
/// it, what the task has seen last counts (P2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Replaces exact text. Line endings of `old` and `new` follow the file where it has one kind.
    Replace {
        /// The file.
        path: RepoPath,
        /// The text that is there, long enough to be found where it is meant only.
        old: String,
        /// The text that shall be there, taken literally.
        new: String,
        /// How often `old` must be there; all of them are replaced.
        occurrences: Occurrences,
        /// What it was written for.
        base: Option<String>,
    },
    /// Replaces lines found by their context, as a V4A patch says it.
    Hunks {
        /// The file.
        path: RepoPath,
        /// The hunks, in file order.
        hunks: Vec<Hunk>,
        /// The path that the file gets afterwards, which must be free.
        move_to: Option<RepoPath>,
        /// What it was written for.
        base: Option<String>,
    },
    /// Replaces lines at their stated place, as a unified diff says it, with what it says of name and mode.
    Diff {
        /// The file.
        path: RepoPath,
        /// The hunks, in file order; none when only name or mode change.
        hunks: Vec<DiffHunk>,
        /// What becomes of the file.
        fate: Fate,
        /// The executable bit that it gets, when the diff says one.
        executable: Option<bool>,
        /// What it was written for.
        base: Option<String>,
    },
    /// Replaces whole lines by their numbers in the file as the patch found it; its digest pins what they are.
    Lines {
        /// The file.
        path: RepoPath,
        /// Which lines go; none, and the new ones come before line `first`, when `last` is `first - 1`.
        lines: LineRange,
        /// The lines that come, with or without the ending of the last one; empty for none.
        new: String,
        /// What it was written for.
        base: Option<String>,
    },
    /// Makes a file where nothing is. Missing folders are made.
    Create {
        /// The file.
        path: RepoPath,
        /// Its content; written as UTF-8.
        content: String,
        /// Whether it shall be executable.
        executable: bool,
    },
    /// Gives an existing file another content, in its own encoding and line endings.
    Write {
        /// The file.
        path: RepoPath,
        /// Its whole new content.
        content: String,
        /// What it was written for.
        base: Option<String>,
    },
    /// Removes a file.
    Delete {
        /// The file.
        path: RepoPath,
        /// What it was written for.
        base: Option<String>,
    },
    /// Gives a file another path, which must be free. Missing folders are made.
    Rename {
        /// The file.
        from: RepoPath,
        /// Its new path.
        to: RepoPath,
        /// What it was written for.
        base: Option<String>,
    },
}

impl Change {
    /// The path that the change starts from.
    #[must_use]
    pub fn path(&self) -> &RepoPath {
        match self {
            Self::Replace { path, .. }
            | Self::Hunks { path, .. }
            | Self::Diff { path, .. }
            | Self::Lines { path, .. }
            | Self::Create { path, .. }
            | Self::Write { path, .. }
            | Self::Delete { path, .. } => path,
            Self::Rename { from, .. } => from,
        }
    }

    /// The path that the file gets, when it gets another one.
    pub(crate) fn destination(&self) -> Option<&RepoPath> {
        match self {
            Self::Rename { to, .. } => Some(to),
            Self::Hunks { move_to, .. } => move_to.as_ref(),
            Self::Diff { fate: Fate::Moves { to }, .. } => Some(to),
            _ => None,
        }
    }

    pub(crate) fn base(&self) -> Option<&str> {
        match self {
            Self::Replace { base, .. }
            | Self::Hunks { base, .. }
            | Self::Diff { base, .. }
            | Self::Lines { base, .. }
            | Self::Write { base, .. }
            | Self::Delete { base, .. }
            | Self::Rename { base, .. } => base.as_deref(),
            Self::Create { .. } => None,
        }
    }
}

/// How often a text must be found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Occurrences {
    /// Once.
    #[default]
    Once,
    /// Exactly so often.
    Exactly(u64),
}

impl Occurrences {
    pub(crate) fn count(self) -> u64 {
        match self {
            Self::Once => 1,
            Self::Exactly(count) => count,
        }
    }
}

/// One hunk of a V4A update.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// Lines that stand before the hunk, outermost first.
    pub anchors: Vec<String>,
    /// Its lines, without line endings.
    pub lines: Vec<HunkLine>,
    /// Whether the hunk ends at the end of the file.
    pub end_of_file: bool,
}

/// One line of a hunk, without its ending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HunkLine {
    /// Stays; its bytes are never rewritten.
    Context(String),
    /// Goes.
    Remove(String),
    /// Comes.
    Add(String),
}

/// What a unified diff makes of a file beside its lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// It stays where it is.
    #[default]
    Stays,
    /// It gets another path, which must be free.
    Moves {
        /// That path.
        to: RepoPath,
    },
    /// It goes; the hunks must say all that it holds.
    Goes,
}

/// One hunk of a unified diff.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiffHunk {
    /// The line that its old side starts at, from 1; of an empty old side the line before it.
    pub old_first: u64,
    /// Its lines.
    pub lines: Vec<DiffLine>,
}

/// One line of a unified diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    /// The line without its line feed; a carriage return before that is part of the text.
    pub line: HunkLine,
    /// Whether a line feed follows; `false` behind `\ No newline at end of file`.
    pub ended: bool,
}

impl HunkLine {
    /// What it says, on whichever side.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Context(line) | Self::Remove(line) | Self::Add(line) => line,
        }
    }

    /// The line as it is after the hunk, unless the hunk takes it.
    pub(crate) fn after(&self) -> Option<&str> {
        match self {
            Self::Context(line) | Self::Add(line) => Some(line),
            Self::Remove(_) => None,
        }
    }

    /// The line as it must be in the file, unless the hunk brings it.
    pub(crate) fn before(&self) -> Option<&str> {
        match self {
            Self::Context(line) | Self::Remove(line) => Some(line),
            Self::Add(_) => None,
        }
    }
}

impl DiffHunk {
    /// How many lines its old side has.
    pub(crate) fn old_count(&self) -> u64 {
        let old = self.lines.iter().filter(|line| line.line.before().is_some()).count();
        u64::try_from(old).unwrap_or(u64::MAX)
    }

    /// Where its old side starts, counted from 0.
    pub(crate) fn first_index(&self) -> u64 {
        if self.old_count() == 0 { self.old_first } else { self.old_first.saturating_sub(1) }
    }
}
