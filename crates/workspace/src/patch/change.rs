//! What a caller may ask for: changes as data, before anything about the files is known.
//!
//! Nothing here looks at a file.

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
    /// Replaces lines at stated places, as one file of a unified diff says it.
    Diff {
        /// The file.
        path: RepoPath,
        /// The hunks, in file order.
        hunks: Vec<DiffHunk>,
        /// The executable bit before and after.
        mode: ModeChange,
        /// What becomes of the file then.
        then: Then,
        /// What it was written for.
        base: Option<String>,
    },
    /// Replaces lines by their numbers, which count in the file as it was before the patch.
    Lines {
        /// The file.
        path: RepoPath,
        /// The first line to replace, from 1.
        first: u64,
        /// The last one; one less than `first` replaces nothing and inserts before `first`.
        last: u64,
        /// Whole new lines; none when empty. The last one needs no line ending.
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
            Self::Diff { then: Then::Moves(to), .. } => Some(to),
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

impl HunkLine {
    /// The line as it must be in the file, unless the hunk brings it.
    pub(crate) fn before(&self) -> Option<&str> {
        match self {
            Self::Context(line) | Self::Remove(line) => Some(line),
            Self::Add(_) => None,
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::Context(line) | Self::Remove(line) | Self::Add(line) => line,
        }
    }
}

/// The lines that a hunk needs to find, in order.
pub(crate) fn before(lines: &[HunkLine]) -> Vec<&str> {
    lines.iter().filter_map(HunkLine::before).collect()
}

/// The lines that a hunk leaves, in order.
pub(crate) fn after(lines: &[HunkLine]) -> Vec<&str> {
    let stays = |line: &&HunkLine| !matches!(line, HunkLine::Remove(_));
    lines.iter().filter(stays).map(HunkLine::text).collect()
}

/// One hunk of a unified diff.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiffHunk {
    /// The line that it starts at, from 1, in the file before the diff; 0 for an empty file.
    pub first: u64,
    /// Its lines, without the line feed; a carriage return before that is part of them.
    pub lines: Vec<HunkLine>,
    /// Whether the last line before the change is the last of the file and has no line ending.
    pub unended_before: bool,
    /// Whether the last line after the change is the last of the file and has no line ending.
    pub unended_after: bool,
}

/// The executable bit, as the modes of a unified diff state it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModeChange {
    /// Whether the file must be executable; `None` when nothing is said.
    pub before: Option<bool>,
    /// Whether the file gets executable; `None` to leave it.
    pub after: Option<bool>,
}

/// What becomes of the file of a unified diff.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Then {
    /// It keeps its path.
    #[default]
    Stays,
    /// It gets this path, which must be free.
    Moves(RepoPath),
    /// It goes; the hunks must leave nothing of it.
    Goes,
}
