//! Reading a patch text into changes, in one of two forms.
//!
//! The form is told by the first line and nothing else; a text in neither form is refused, never repaired.

mod error;
mod v4a;
mod unified;

pub use error::{DiffCause, DiffError, TextError, V4aError};
pub use unified::parse_diff;
pub use v4a::parse_v4a;

use crate::patch::change::Change;
use crate::path::{PathError, RepoPath};

/// Reads a V4A patch or a unified diff; `path` reads one path of a V4A patch as the caller allows it.
///
/// # Errors
/// [`TextError`] when the text is in neither form, or with the line that could not be understood.
pub fn parse_patch(
    text: &str,
    path: &dyn Fn(&str) -> Result<RepoPath, PathError>,
) -> Result<Vec<Change>, TextError> {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if first == v4a::BEGIN {
        Ok(parse_v4a(text, path)?)
    } else if first.starts_with("diff --git ") || first.starts_with("--- ") {
        Ok(parse_diff(text)?)
    } else {
        Err(TextError::Form)
    }
}
