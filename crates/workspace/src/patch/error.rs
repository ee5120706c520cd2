//! Why a patch was refused or did not land, with what a caller needs to write it right.

use serde::{Deserialize, Serialize};

use crate::error::AccessError;
use crate::path::RepoPath;
use crate::text::Encoding;

/// A plan that cannot be made. Nothing was written (P5): every failing change is listed, 0 were applied.
#[derive(Debug, thiserror::Error)]
#[error("0 changes applied, {} refused: {}", refusals.len(), first(refusals))]
pub struct PatchError {
    /// Every change that was refused, in the order of the request.
    pub refusals: Vec<Refusal>,
}

/// One refused change.
#[derive(Debug)]
pub struct Refusal {
    /// Its index in the request, from 0.
    pub change: usize,
    /// The path that it is about.
    pub path: RepoPath,
    /// Why.
    pub error: ChangeError,
}

fn first(refusals: &[Refusal]) -> String {
    refusals.first().map_or_else(String::new, |refusal| refusal.error.to_string())
}

/// Why one change was refused.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The path could not be reached.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The task has not read the file (P2).
    #[error("`{path}` was not read in this task: read it, or name the digest it is based on")]
    NotSeen {
        /// The path as it was asked for.
        path: RepoPath,
        /// SHA-256 of what is there now.
        current: String,
    },
    /// The file is not what it was when it was read (P2).
    #[error("`{path}` changed since it was read: read it again")]
    Stale {
        /// The path as it was asked for.
        path: RepoPath,
        /// The digest that the change was based on.
        expected: String,
        /// SHA-256 of what is there now; `None` when nothing is there.
        current: Option<String>,
        /// The start of what is there now, bounded.
        excerpt: String,
    },
    /// The text is nowhere in the file (P3).
    #[error("the text to replace is not in `{path}`: {} near candidates", candidates.len())]
    NoMatch {
        /// The path as it was asked for.
        path: RepoPath,
        /// Which hunk of the change, from 0.
        hunk: usize,
        /// The nearest places.
        candidates: Vec<Candidate>,
        /// Whether the new text is there already.
        already_applied: bool,
    },
    /// The text is in the file more often, or less often, than it must be (P3).
    #[error(
        "the text to replace is {found} times in `{path}`, expected {expected}: add surrounding text"
    )]
    Ambiguous {
        /// The path as it was asked for.
        path: RepoPath,
        /// Which hunk of the change, from 0.
        hunk: usize,
        /// How often it must be there.
        expected: u64,
        /// How often it is.
        found: u64,
        /// The lines of each place, at most 20.
        places: Vec<LineRange>,
    },
    /// A hunk says neither what it replaces nor where it goes.
    #[error(
        "hunk {hunk} of `{path}` has nothing to find its place by: add context lines or an anchor"
    )]
    NoContext {
        /// The path as it was asked for.
        path: RepoPath,
        /// Which hunk of the change, from 0.
        hunk: usize,
    },
    /// A hunk of a unified diff is where an earlier hunk of the same file is, or above it.
    #[error(
        "hunk {hunk} of `{path}` is at {lines}, not below the hunk before it: hunks go down the file"
    )]
    HunkOrder {
        /// The path as it was asked for.
        path: RepoPath,
        /// Which hunk of the change, from 0.
        hunk: usize,
        /// Where its lines are.
        lines: LineRange,
    },
    /// A unified diff says something else of the file's final newline than the file.
    #[error("hunk {hunk} of `{path}` says that the file has {}; {}", if *file_has_one { "no final newline, but it has one" } else { "a final newline, but it has none" }, marker_advice(*file_has_one))]
    FinalNewline {
        /// The path as it was asked for.
        path: RepoPath,
        /// Which hunk of the change, from 0.
        hunk: usize,
        /// Whether the file ends with a line ending.
        file_has_one: bool,
    },
    /// A unified diff says something else of the executable bit than the file.
    #[error("`{path}` is {}executable, which the patch says otherwise", if *executable { "" } else { "not " })]
    ModeDiffers {
        /// The path as it was asked for.
        path: RepoPath,
        /// Whether the file is executable.
        executable: bool,
    },
    /// A unified diff deletes a file, but its hunks leave some of it.
    #[error("the patch deletes `{path}` but leaves {left_bytes} bytes of it: remove every line")]
    NotEmptied {
        /// The path as it was asked for.
        path: RepoPath,
        /// How many bytes are left.
        left_bytes: u64,
    },
    /// Line numbers are no range.
    #[error(
        "lines {first} to {last} of `{path}` are no range: count from 1; to insert before line N, `first` is N and `last` N-1"
    )]
    LinesBackwards {
        /// The path as it was asked for.
        path: RepoPath,
        /// The first line asked for.
        first: u64,
        /// The last line asked for.
        last: u64,
    },
    /// Line numbers go past the end of the file.
    #[error("line {line} is past the end of `{path}`, which has {total_lines} lines")]
    LinesPastEnd {
        /// The path as it was asked for.
        path: RepoPath,
        /// The line asked for.
        line: u64,
        /// How many lines the file had before the patch.
        total_lines: u64,
    },
    /// Two line edits of one patch are about the same lines.
    #[error("{lines} and {other} of `{path}` overlap: make one change of them")]
    LinesOverlap {
        /// The path as it was asked for.
        path: RepoPath,
        /// The lines of the change that is refused.
        lines: LineRange,
        /// The lines of the change before it.
        other: LineRange,
    },
    /// A change before this one, which was no line edit, has moved the lines that are numbered.
    #[error(
        "the lines of `{path}` are no longer numbered as in the file that was read: put `lines` before its other changes"
    )]
    LinesMoved {
        /// The path as it was asked for.
        path: RepoPath,
    },
    /// The file has more extended attributes than an edit carries over.
    #[error(
        "`{path}` has more than {max_bytes} bytes of extended attributes, which an edit would lose"
    )]
    TooManyAttributes {
        /// The path as it was asked for.
        path: RepoPath,
        /// The bound.
        max_bytes: usize,
    },
    /// The text to replace is empty.
    #[error("the text to replace in `{path}` is empty")]
    EmptyOld {
        /// The path as it was asked for.
        path: RepoPath,
    },
    /// The change would change nothing.
    #[error("`{path}` would not change")]
    NoChange {
        /// The path as it was asked for.
        path: RepoPath,
    },
    /// The path to create or to rename to is taken (P-023).
    #[error("`{path}` exists already: choose another path, or overwrite it by its digest")]
    Exists {
        /// The path as it was asked for.
        path: RepoPath,
        /// SHA-256 of what is there, when it is a file.
        current: Option<String>,
        /// Whether the content to create is there already.
        already_applied: bool,
    },
    /// Both ends of a rename are the same object (P-024).
    #[error("`{path}` and `{other}` are the same file: nothing to rename")]
    SameFile {
        /// The path as it was asked for.
        path: RepoPath,
        /// The other end.
        other: RepoPath,
    },
    /// The file shares its content with another name, perhaps outside (P8).
    #[error("`{path}` has {links} hard links: replacing it would part them")]
    HardLinked {
        /// The path as it was asked for.
        path: RepoPath,
        /// How many names it has.
        links: u64,
    },
    /// A link would be deleted, renamed or created through.
    #[error("`{path}` is a symbolic link: name the file that it leads to, or another path")]
    Link {
        /// The path as it was asked for.
        path: RepoPath,
    },
    /// The file may not be written by anybody.
    #[error("`{path}` is read-only: make it writable first")]
    ReadOnly {
        /// The path as it was asked for.
        path: RepoPath,
    },
    /// The bytes are no text, so text cannot be replaced in them.
    #[error("`{path}` is no text that an edit could keep intact")]
    NotText {
        /// The path as it was asked for.
        path: RepoPath,
    },
    /// The new text has a character that the file's encoding has no bytes for.
    #[error("`{character}` cannot be written in {encoding}, the encoding of `{path}`")]
    Unencodable {
        /// The path as it was asked for.
        path: RepoPath,
        /// The file's encoding.
        encoding: Encoding,
        /// The character.
        character: char,
    },
    /// The file is larger than an edit loads.
    #[error("`{path}` has {size_bytes} bytes: files up to {max_bytes} are edited")]
    TooLarge {
        /// The path as it was asked for.
        path: RepoPath,
        /// Its size.
        size_bytes: u64,
        /// The bound.
        max_bytes: u64,
    },
    /// The path is deleted or moved away by an earlier change of the same patch.
    #[error("`{path}` is gone after an earlier change of this patch")]
    Gone {
        /// The path as it was asked for.
        path: RepoPath,
    },
    /// A part of the path is a file that an earlier change of the same patch makes.
    #[error("`{path}` would lie beneath a file of this patch")]
    BeneathFile {
        /// The path as it was asked for.
        path: RepoPath,
    },
    /// The patch as a whole is too large.
    #[error("a patch of more than {bound}: split it")]
    PatchTooLarge {
        /// The bound, with its unit.
        bound: String,
    },
    /// The file changed during each attempt to read it.
    #[error("`{path}` kept changing while it was read: ask again")]
    ChangedWhileReading {
        /// The path as it was asked for.
        path: RepoPath,
    },
}

/// How many places an error lists.
pub(crate) const MAX_RANGES: usize = 20;

/// Lines of a file, from 1, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineRange {
    /// The first line.
    pub first: u64,
    /// The last line.
    pub last: u64,
}

impl std::fmt::Display for LineRange {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { first, last } = self;
        match last.checked_sub(*first) {
            None => write!(formatter, "the place before line {first}"),
            Some(0) => write!(formatter, "line {first}"),
            Some(_) => write!(formatter, "lines {first}-{last}"),
        }
    }
}

fn marker_advice(file_has_one: bool) -> &'static str {
    if file_has_one {
        "leave `\\ No newline at end of file` out"
    } else {
        "put `\\ No newline at end of file` behind its last line"
    }
}

/// A place that nearly matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// Where.
    pub lines: LineRange,
    /// What is there, bounded.
    pub excerpt: String,
    /// How it differs.
    pub difference: Difference,
}

/// How a near place differs from the text that was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// In line endings only.
    LineEnding,
    /// In space at the end of lines.
    TrailingSpace,
    /// In space at the start of lines.
    Indentation,
    /// In space elsewhere.
    Whitespace,
    /// In dashes, quotes or spaces beyond ASCII.
    UnicodePunctuation,
    /// In letter case.
    Case,
    /// In some of its text.
    Text,
}

/// Why a planned patch did not land.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// A file changed between plan and publication. Everything was undone (P5).
    #[error("`{path}` changed while the patch was being applied: 0 changes applied, read it again")]
    Conflict {
        /// The real path.
        path: RepoPath,
    },
    /// The system refused a step. Everything was undone.
    #[error("`{path}` could not be written: {source}; 0 changes applied")]
    Refused {
        /// The real path.
        path: RepoPath,
        /// What was refused.
        source: AccessError,
    },
    /// The system does not give the new content an owner or an attribute that the file has (P7). Everything was undone.
    #[error("`{path}` would lose its {attribute}: {source}; 0 changes applied")]
    Attribute {
        /// The real path.
        path: RepoPath,
        /// The attribute's name, or the owner as `owner UID:GID`.
        attribute: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The caller's deadline passed or the call was cancelled. Everything was undone.
    #[error("stopped before the patch was published: 0 changes applied")]
    Stopped,
    /// Another process holds the workspace's write lock.
    #[error("another patch is being applied to this workspace: 0 changes applied, try again")]
    Busy,
    /// Something could not be undone, now or by an earlier process: the workspace needs repair (P5).
    #[error("the workspace needs repair: {}", list(paths))]
    NeedsRepair {
        /// The real paths that are neither as before nor as intended.
        paths: Vec<RepoPath>,
        /// Where the content before the change is kept, for each that has one.
        kept: Vec<RepoPath>,
        /// The journal to remove once the files are right.
        journal: String,
    },
    /// The journal could not be written, so nothing was begun.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

fn list(paths: &[RepoPath]) -> String {
    let shown: Vec<String> = paths.iter().take(8).map(|path| format!("`{path}`")).collect();
    let more = paths.len().saturating_sub(shown.len());
    match more {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The journal of file changes could not be used.
#[derive(Debug, thiserror::Error)]
#[error("the journal of file changes could not be {doing}: {source}")]
pub struct JournalError {
    /// What was tried.
    pub doing: &'static str,
    /// What the system said.
    pub source: std::io::Error,
}
