//! Reading one path: a page of text, a description of a binary file, or a listing.
//!
//! A page is always one contiguous piece of the decoded text and says what is left, so that following the
//! continuations gives the whole (W2, W10). It must never cut inside a character, present a cut as the
//! whole, or return bytes of a file that changed under it.

use serde::{Deserialize, Serialize};

use crate::class::PathClass;
use crate::error::AccessError;
use crate::guard::Guard;
use crate::path::RepoPath;
use crate::root::Workspace;
use crate::root::beneath::FileKind;
use crate::text::{Encoding, LineEnding};

mod content;
mod listing;
mod media;
mod page;

pub(crate) use content::{Content, load};

/// What to read, and how much of it at most.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadRequest {
    /// The path to read; a link inside the workspace is followed.
    pub path: RepoPath,
    /// Which part of it.
    pub range: Range,
    /// The most text that one answer carries, in bytes of its JSON string; of a listing, in bytes of its entries
    /// as JSON. At least one character or entry is returned.
    pub max_bytes: u64,
    /// The most lines that one answer carries.
    pub max_lines: u64,
    /// Where a line is clipped, in bytes. Bytes ranges are not clipped by line.
    pub max_line_bytes: u64,
    /// The largest file that is loaded at all, in bytes.
    pub max_file_bytes: u64,
    /// The most entries of a listing.
    pub max_entries: u64,
    /// How many levels a listing goes down; 1 lists the directory itself.
    pub max_depth: u64,
}

impl ReadRequest {
    /// The whole of `path` under the usual bounds: 64 KiB and 2,000 lines of text, lines of 4 KiB, files of
    /// 64 MiB, 1,000 entries one level deep.
    #[must_use]
    pub fn new(path: RepoPath) -> Self {
        Self {
            path,
            range: Range::All,
            max_bytes: 64 << 10,
            max_lines: 2000,
            max_line_bytes: 4 << 10,
            max_file_bytes: 64 << 20,
            max_entries: 1000,
            max_depth: 1,
        }
    }
}

/// A part of a file or of a listing. Text positions are bytes of the decoded text, byte-order mark left out;
/// for UTF-8 without a mark these are the bytes of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Range {
    /// Everything.
    All,
    /// Lines, counted from 1; without a count to the end.
    Lines {
        /// The first line.
        start: u64,
        /// How many lines.
        count: Option<u64>,
    },
    /// Bytes of the decoded text, counted from 0; without a count to the end. A start inside a character
    /// moves back to its first byte.
    Bytes {
        /// The first byte.
        start: u64,
        /// How many bytes.
        count: Option<u64>,
    },
    /// The entries of a listing that sort after this one.
    After {
        /// The last entry already seen, relative to the listed directory.
        entry: RepoPath,
    },
}

/// What a read found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum ReadOutcome {
    /// A page of text.
    Text(TextPage),
    /// A file that is no text.
    Binary(BinaryFile),
    /// A directory.
    Directory(Listing),
}

/// A page of text, and how to find and keep what surrounds it (W10).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextPage {
    /// The path as it was asked for.
    pub path: RepoPath,
    /// The path with links followed.
    pub real: RepoPath,
    /// The stricter class of the two.
    pub class: PathClass,
    /// The text, with the line endings of the file.
    pub text: String,
    /// The line that the text starts in, from 1; 0 when the file is empty.
    pub first_line: u64,
    /// The line that the text ends in; 0 when the file is empty.
    pub last_line: u64,
    /// Where the text starts in the decoded file, in bytes.
    pub start_byte: u64,
    /// Where it ends, exclusive.
    pub end_byte: u64,
    /// How many lines the file has; a final line ending starts no further line (P-011).
    pub total_lines: u64,
    /// How many bytes the decoded text has.
    pub text_bytes: u64,
    /// How many bytes the file has.
    pub total_bytes: u64,
    /// SHA-256 over the raw bytes of the whole file, in lower-case hexadecimal.
    pub digest: String,
    /// How the text is encoded in the file.
    pub encoding: Encoding,
    /// Whether decoding lost nothing, so that an edit can write the same bytes back.
    pub lossless: bool,
    /// How its lines end.
    pub line_ending: LineEnding,
    /// Whether the file ends with a line ending.
    pub final_newline: bool,
    /// Whether any executable bit is set.
    pub executable: bool,
    /// How many names the file has.
    pub links: u64,
    /// What was cut; `None` when the whole requested range is here.
    pub truncation: Option<Truncation>,
    /// The range to ask for next; `None` when the requested range is complete.
    pub continuation: Option<Range>,
}

/// Which bound ended a page, and what of the requested range is left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Truncation {
    /// The bound.
    pub bound: Bound,
    /// Lines of the range that were not returned, a clipped one included.
    pub remaining_lines: u64,
    /// Bytes of the range that were not returned.
    pub remaining_bytes: u64,
    /// After a clipped line: the lines behind it, for a reader who does not want its rest.
    pub skip_line: Option<Range>,
}

/// A bound on one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// [`ReadRequest::max_bytes`].
    Bytes,
    /// [`ReadRequest::max_lines`].
    Lines,
    /// [`ReadRequest::max_line_bytes`]: the last line of the page is clipped.
    LineBytes,
    /// [`ReadRequest::max_entries`].
    Entries,
}

/// A file that is no text in any encoding known here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BinaryFile {
    /// The path as it was asked for.
    pub path: RepoPath,
    /// The path with links followed.
    pub real: RepoPath,
    /// The stricter class of the two.
    pub class: PathClass,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// SHA-256 over its bytes, in lower-case hexadecimal.
    pub digest: String,
    /// What its first bytes look like; `application/octet-stream` when nothing is recognised.
    pub media_type: String,
    /// Whether any executable bit is set.
    pub executable: bool,
    /// How many names the file has.
    pub links: u64,
}

/// A directory, its entries in path-byte order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// The path as it was asked for.
    pub path: RepoPath,
    /// The path with links followed.
    pub real: RepoPath,
    /// The entries, a directory before what lies in it.
    pub entries: Vec<Entry>,
    /// How many directories were not entered: below [`ReadRequest::max_depth`], a version control store, or
    /// not to be opened.
    pub unentered: u64,
    /// What was cut; `remaining_lines` counts entries, and is what is known: at least one.
    pub truncation: Option<Truncation>,
    /// The range to ask for next.
    pub continuation: Option<Range>,
}

/// One entry of a listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its path relative to the listed directory.
    pub path: RepoPath,
    /// What it is; links are not followed.
    pub kind: FileKind,
    /// Its size in bytes, as the file system tells it.
    pub size_bytes: u64,
    /// Whether any executable bit of a regular file is set.
    pub executable: bool,
    /// The class of its path.
    pub class: PathClass,
    /// For a link: where it leads.
    pub target: Option<LinkTarget>,
}

/// Where a link leads. The target's path is told only when it lies inside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkTarget {
    /// To this real path in the workspace.
    Inside(RepoPath),
    /// Out of the workspace.
    Outside,
    /// To nothing.
    Dangling,
}

/// Why a read was refused.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The path could not be reached.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// [`Guard::admit`] said no.
    #[error("`{path}` may not be read: its class is {class:?}")]
    NotAdmitted {
        /// The path as it was asked for.
        path: RepoPath,
        /// The class that decided.
        class: PathClass,
    },
    /// Lines count from 1.
    #[error("line 0 does not exist: lines count from 1")]
    ZeroStart,
    /// A range, or a bound, of nothing.
    #[error("a range of zero {unit} was asked for: ask for at least one")]
    ZeroCount {
        /// What was counted.
        unit: &'static str,
    },
    /// The range starts behind the end.
    #[error("`{path}` has {total} {unit}: the range starts at {start}, past the end")]
    PastEnd {
        /// The path as it was asked for.
        path: RepoPath,
        /// What was counted: `lines` or `bytes`.
        unit: &'static str,
        /// Where the range starts.
        start: u64,
        /// How many there are.
        total: u64,
    },
    /// A range of lines or bytes in a directory or binary file, or entries in a file.
    #[error("`{path}` has no {unit}: ask for it without a range")]
    WrongRange {
        /// The path as it was asked for.
        path: RepoPath,
        /// What was asked for.
        unit: &'static str,
    },
    /// The file is larger than the bound.
    #[error("`{path}` has {size_bytes} bytes: files up to {max_file_bytes} are read")]
    TooLarge {
        /// The path as it was asked for.
        path: RepoPath,
        /// Its size.
        size_bytes: u64,
        /// The bound.
        max_file_bytes: u64,
    },
    /// The file changed during each attempt to read it.
    #[error("`{path}` kept changing while it was read: ask again")]
    ChangedWhileReading {
        /// The path as it was asked for.
        path: RepoPath,
    },
    /// The read was stopped by [`Guard::stop`] (W7).
    #[error("stopped before `{path}` was read")]
    Stopped {
        /// The path as it was asked for.
        path: RepoPath,
    },
}

impl Workspace {
    /// Reads one path: text by page, a binary file by description, a directory by listing.
    ///
    /// # Errors
    /// [`ReadError`]; nothing of the content is in it.
    pub fn read(&self, request: &ReadRequest, guard: &Guard<'_>) -> Result<ReadOutcome, ReadError> {
        let zero = [
            (request.max_bytes, "bytes"),
            (request.max_lines, "lines"),
            (request.max_line_bytes, "bytes"),
            (request.max_entries, "entries"),
            (request.max_depth, "levels"),
        ];
        if let Some((_, unit)) = zero.into_iter().find(|(bound, _)| *bound == 0) {
            return Err(ReadError::ZeroCount { unit });
        }
        let reached = self.reach(&request.path)?;
        if reached.resolved.kind == FileKind::Directory {
            return listing::list(self, request, reached, guard).map(ReadOutcome::Directory);
        }
        drop(reached);
        let content = load(self, &request.path, request.max_file_bytes, guard)?;
        page::answer(request, content)
    }
}
