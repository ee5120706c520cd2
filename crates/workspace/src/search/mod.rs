//! Searching the files beneath a folder, in an order that never depends on chance.
//!
//! Files come in path-byte order, lines in file order, whatever the number of threads (W6). What was left
//! out is counted, never silent (W5). Links are not followed and the version control store is not entered,
//! whatever was asked.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::error::AccessError;
use crate::guard::Guard;
use crate::path::RepoPath;
use crate::root::Workspace;

mod pattern;
mod selection;
mod generated;
mod skip;
mod walk;
mod look;
mod excerpt;
mod scan;
mod collect;

/// What to search, where, and how much of it at most. It can be hashed as a whole: two equal requests on
/// one revision have one answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchRequest {
    /// The text, expression, or glob to look for. It is never taken as an option (P-013).
    pub query: String,
    /// How the query is understood.
    pub mode: SearchMode,
    /// Whether letter case counts.
    pub case: Case,
    /// The folder or file to search.
    pub scope: RepoPath,
    /// Only files that one of these globs matches; all when empty. A glob without `/` matches names, one with
    /// it paths from the workspace root; a last `/` means all in that folder.
    pub include: Vec<String>,
    /// No file or folder that one of these globs matches, and nothing in such a folder.
    pub exclude: Vec<String>,
    /// What is returned.
    pub output: Output,
    /// Lines shown before and after each matched line, at most [`MAX_CONTEXT_LINES`].
    pub context_lines: usize,
    /// The most matched lines, or paths.
    pub max_matches: u64,
    /// The most that is returned, in bytes of its results as JSON.
    pub max_output_bytes: u64,
    /// The most files that are opened (listed, in filename mode).
    pub max_files: u64,
    /// How many levels are searched; 1 searches the files of the scope itself.
    pub max_depth: u64,
    /// The longest excerpt of one line, in bytes of its JSON string.
    pub excerpt_bytes: usize,
    /// Larger files are skipped and counted.
    pub max_file_bytes: u64,
    /// Whether ignored files are searched too.
    pub include_ignored: bool,
    /// Whether names that start with a dot are searched. An ignore rule that wants one wins.
    pub include_hidden: bool,
    /// Whether generated files are searched too.
    pub include_generated: bool,
    /// Continue behind this position.
    pub after: Option<SearchPosition>,
}

impl SearchRequest {
    /// A literal, smart-case search of the whole workspace under the usual bounds: 200 lines, 64 KiB, files
    /// of 8 MiB, excerpts of 240 bytes; hidden files are in, ignored and generated ones are out.
    #[must_use]
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            mode: SearchMode::Literal,
            case: Case::Smart,
            scope: RepoPath::root(),
            include: Vec::new(),
            exclude: Vec::new(),
            output: Output::Matches,
            context_lines: 0,
            max_matches: 200,
            max_output_bytes: 64 << 10,
            max_files: 1_000_000,
            max_depth: 256,
            excerpt_bytes: 240,
            max_file_bytes: 8 << 20,
            include_ignored: false,
            include_hidden: true,
            include_generated: false,
            after: None,
        }
    }
}

/// How a query is understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchMode {
    /// As the text itself.
    Literal,
    /// As a regular expression of the `regex` crate, matched line by line in linear time.
    Regex,
    /// Against paths: a glob when it has `*`, `?`, `[` or `{`, else a part of the path.
    Filename,
}

/// Whether letter case counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Case {
    /// It counts.
    Sensitive,
    /// It does not.
    Insensitive,
    /// It counts when the query has an upper-case letter.
    Smart,
}

/// What a search returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// Matched lines.
    Matches,
    /// Paths with at least one match.
    Paths,
    /// Matched lines per path, without their text.
    Count,
}

/// A place in the order of results: a path, and in it the start of a line. It orders as results do; the end
/// of a file comes behind all of its lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchPosition {
    /// The path of the last result.
    pub path: RepoPath,
    /// Where its line starts, in bytes of the decoded text; `None` when the whole file is done.
    pub line_start: Option<u64>,
}

impl Ord for SearchPosition {
    fn cmp(&self, other: &Self) -> Ordering {
        let behind = |position: &Self| position.line_start.unwrap_or(u64::MAX);
        self.path.cmp(&other.path).then_with(|| behind(self).cmp(&behind(other)))
    }
}

impl PartialOrd for SearchPosition {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchOutcome {
    /// Found, none, or none so far.
    pub verdict: Verdict,
    /// Matched lines, for [`Output::Matches`] (and never in filename mode).
    pub matches: Vec<Match>,
    /// Paths, for [`Output::Paths`], [`Output::Count`] and filename mode.
    pub paths: Vec<PathHit>,
    /// How many matched lines (paths, for [`Output::Paths`] and filename mode) there are behind the start.
    pub count: Count,
    /// How many files were searched; in filename mode how many paths were compared. One that an earlier page
    /// left in its middle is not counted again.
    pub files_searched: u64,
    /// What was left out, by reason.
    pub skipped: Skipped,
    /// Which bound ended the search; `None` when it ran to the end.
    pub truncation: Option<SearchTruncation>,
    /// Where to continue, when there is something left. A search that was stopped before it had looked at
    /// anything continues where it began, which is `None` for the very start.
    pub continuation: Option<SearchPosition>,
}

/// Whether there was anything. A search that failed is an error, not a verdict (P-014).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// There is at least one result.
    Found,
    /// Everything in the selection was searched and nothing was found.
    None,
    /// Nothing was found before a bound ended the search.
    NoneSoFar,
}

/// One matched line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Match {
    /// The file.
    pub path: RepoPath,
    /// The line, from 1.
    pub line: u64,
    /// Where the line starts, in bytes of the decoded text.
    pub line_start: u64,
    /// The first hits of the line, at most [`MAX_HITS_PER_LINE`].
    pub hits: Vec<Hit>,
    /// How many hits the line has; [`MAX_HITS_COUNTED`] stands for that many or more.
    pub hits_on_line: u64,
    /// The line, or the part of it around the first hit.
    pub excerpt: String,
    /// Where the excerpt starts in the line, in bytes.
    pub excerpt_column: u64,
    /// Whether the excerpt is not the whole line (P-015).
    pub clipped: bool,
    /// Lines before it.
    pub before: Vec<ContextLine>,
    /// Lines after it.
    pub after: Vec<ContextLine>,
}

/// How many hits of one line are located.
pub const MAX_HITS_PER_LINE: usize = 16;

/// How many hits of one line are counted.
pub const MAX_HITS_COUNTED: u64 = 1000;

/// The most lines of context on each side of a match.
pub const MAX_CONTEXT_LINES: usize = 100;

/// Where a hit lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// First byte, in bytes of the decoded text.
    pub start: u64,
    /// Behind its last byte.
    pub end: u64,
    /// Column in bytes, from 1.
    pub column: u64,
    /// Column in UTF-16 units, from 1, as editors count.
    pub column_utf16: u64,
}

/// A line beside a match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextLine {
    /// The line, from 1.
    pub line: u64,
    /// Its text, clipped at [`SearchRequest::excerpt_bytes`].
    pub text: String,
    /// Whether it was clipped.
    pub clipped: bool,
}

/// A path with matches, or a matched path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathHit {
    /// The path.
    pub path: RepoPath,
    /// Matched lines in it, for [`Output::Count`].
    pub lines: Option<u64>,
}

/// How many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "n")]
pub enum Count {
    /// Exactly so many.
    Exact(u64),
    /// The search ended early: so many and perhaps more.
    AtLeast(u64),
}

/// Which bound ended a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchTruncation {
    /// [`SearchRequest::max_matches`], and there is at least one more.
    Matches,
    /// [`SearchRequest::max_output_bytes`], and there is at least one more.
    Bytes,
    /// [`SearchRequest::max_files`].
    Files,
    /// [`Guard::stop`] (W7).
    Deadline,
}

/// Files, and folders that were not entered, by the first reason that applied (W5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Matched by an ignore rule of the workspace.
    pub ignored: u64,
    /// Named with a leading dot, when those are left out.
    pub hidden: u64,
    /// A version control store.
    pub version_control: u64,
    /// No text.
    pub binary: u64,
    /// Made by a program.
    pub generated: u64,
    /// Larger than [`SearchRequest::max_file_bytes`].
    pub oversized: u64,
    /// Refused by [`Guard::admit`].
    pub denied: u64,
    /// Symbolic links.
    pub links: u64,
    /// Pipes, sockets, devices.
    pub special: u64,
    /// The file system refused.
    pub unreadable: u64,
    /// Marked as an encoding that is not known here (UTF-32).
    pub undecodable: u64,
    /// Folders below [`SearchRequest::max_depth`].
    pub too_deep: u64,
}

/// Why a search failed.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The scope could not be reached.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The query is no pattern of its mode.
    #[error("invalid pattern at byte {position}: {reason}")]
    InvalidPattern {
        /// Where in the query, in bytes.
        position: usize,
        /// What is wrong there.
        reason: String,
    },
    /// A glob cannot be read.
    #[error("invalid glob `{glob}`: {reason}")]
    InvalidGlob {
        /// The glob as it was given.
        glob: String,
        /// What is wrong.
        reason: String,
    },
    /// The query is empty.
    #[error("empty query: say what to look for")]
    EmptyQuery,
    /// A bound of nothing.
    #[error("a bound of zero {unit} was asked for: ask for at least one")]
    ZeroBound {
        /// What was bounded.
        unit: &'static str,
    },
}

impl Workspace {
    /// Searches the scope.
    ///
    /// # Errors
    /// [`SearchError`] when the query or the scope is wrong. Single files that cannot be read are counted.
    pub fn search(
        &self,
        request: &SearchRequest,
        guard: &Guard<'_>,
    ) -> Result<SearchOutcome, SearchError> {
        let zero = [
            (request.max_matches, "matches"),
            (request.max_output_bytes, "bytes"),
            (request.max_files, "files"),
            (request.max_depth, "levels"),
            (request.max_file_bytes, "bytes"),
            (request.excerpt_bytes as u64, "bytes"),
        ];
        if let Some((_, unit)) = zero.into_iter().find(|(bound, _)| *bound == 0) {
            return Err(SearchError::ZeroBound { unit });
        }
        scan::run(self, request, guard)
    }
}
