//! The two notations in which a patch is written as one text, told apart by how the text begins.
//!
//! Nothing here looks at a file, and a text that begins as neither is never taken for one of them.

mod error;
mod unified;
mod v4a;

pub use error::{NotationError, NotationFault};

use crate::patch::change::Change;
use crate::path::{PathError, RepoPath};

/// Reads a patch text: V4A when its first line with text is `*** Begin Patch`, a unified diff when that line
/// begins with `diff --git ` or `--- ` (P1). `path` reads one path as the caller allows it.
///
/// # Errors
/// [`NotationError`] with the line that could not be understood.
pub fn parse_patch(
    text: &str,
    path: &dyn Fn(&str) -> Result<RepoPath, PathError>,
) -> Result<Vec<Change>, NotationError> {
    let lines = text.lines().zip(1..);
    let Some((first, number)) = lines.into_iter().find(|(line, _)| !line.trim().is_empty()) else {
        return Err(NotationError::new(1, NotationFault::Neither));
    };
    if first.trim() == v4a::BEGIN {
        v4a::parse(text, path)
    } else if unified::begins(first) {
        unified::parse(text, path)
    } else {
        Err(NotationError::new(number, NotationFault::Neither))
    }
}
