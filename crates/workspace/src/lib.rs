//! Rooted access to a repository's files: read, list, search and patch.
//!
//! Everything starts from one open directory ([`Workspace`]). Nothing here ever opens a path outside of it,
//! follows a link out of it, or hands out content that was checked under one name and read under another.

mod path;
mod class;
mod error;
mod root;
mod guard;
mod text;
mod rules;
mod revision;
mod read;
mod search;

pub use class::{PathClass, Protected, classify};
pub use error::{AccessError, WorkspaceError};
pub use guard::Guard;
pub use path::{MAX_COMPONENT_BYTES, MAX_PATH_BYTES, PathError, RepoPath};
pub use read::{
    BinaryFile, Bound, Entry, LinkTarget, Listing, Range, ReadError, ReadOutcome, ReadRequest,
    TextPage, Truncation,
};
pub use revision::{ChangedFile, FileChange, ObserveError, Observed, Revision, Standing, Tracker};
pub use root::beneath::{FileKind, Identity};
pub use root::{Resolved, Workspace};
pub use search::{
    Case, ContextLine, Count, Hit, MAX_CONTEXT_LINES, MAX_HITS_COUNTED, MAX_HITS_PER_LINE, Match,
    Output, PathHit, SearchError, SearchMode, SearchOutcome, SearchPosition, SearchRequest,
    SearchTruncation, Skipped, Verdict,
};
pub use text::{Encoding, LineEnding};

pub mod patch;
