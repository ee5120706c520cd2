//! Editing the text of a file: from its bytes to its new bytes, or to the reason why not.
//!
//! Everything that the edit does not name keeps its bytes (P7), and no place is ever guessed (P3).

mod sheet;
mod matching;
mod hunks;
mod stated;
mod lines;

use crate::patch::change::{DiffHunk, Hunk, HunkLine, Occurrences};
use crate::patch::error::ChangeError;
use crate::path::RepoPath;
use crate::text::{self, Encoding, LineEnding, Lines};

pub(crate) use lines::LineEdit;

/// What a text starts with that has a byte-order mark in it.
const MARK: char = '\u{feff}';

/// A file's bytes as text that can be edited and written back.
struct Text<'a> {
    text: std::borrow::Cow<'a, str>,
    encoding: Encoding,
    ending: LineEnding,
}

impl<'a> Text<'a> {
    fn of(path: &RepoPath, bytes: &'a [u8]) -> Result<Self, ChangeError> {
        let decoded = text::decode(bytes).filter(|decoded| decoded.lossless);
        let decoded = decoded.ok_or_else(|| ChangeError::NotText { path: path.clone() })?;
        let ending = LineEnding::of(decoded.text.as_bytes());
        Ok(Self { text: decoded.text, encoding: decoded.encoding, ending })
    }

    /// The bytes of another text in this one's encoding, with its mark (P7).
    fn encode(&self, path: &RepoPath, text: &str) -> Result<Vec<u8>, ChangeError> {
        let encoded = self.encoding.encode(text).map_err(|character| ChangeError::Unencodable {
            path: path.clone(),
            encoding: self.encoding,
            character,
        })?;
        let mut bytes = self.encoding.mark().to_vec();
        bytes.extend(encoded);
        Ok(bytes)
    }
}

/// Replaces `old` by `new` where it is found as often as it must be.
pub(crate) fn replace(
    path: &RepoPath,
    bytes: &[u8],
    old: &str,
    new: &str,
    occurrences: Occurrences,
) -> Result<Vec<u8>, ChangeError> {
    if old.is_empty() {
        return Err(ChangeError::EmptyOld { path: path.clone() });
    }
    let file = Text::of(path, bytes)?;
    let old = matching::with_endings(old, file.ending);
    let new = matching::with_endings(new, file.ending);
    let places = matching::places(&file.text, &old);
    if places.is_empty() {
        return Err(ChangeError::NoMatch {
            path: path.clone(),
            hunk: 0,
            candidates: matching::candidates(&file.text, &old),
            already_applied: !new.trim().is_empty() && file.text.contains(&new),
        });
    }
    // One place must be the only one even among those that overlap; several are counted as they are replaced.
    let found = match occurrences {
        Occurrences::Once => places.len(),
        Occurrences::Exactly(_) => file.text.matches(&old).count(),
    };
    let found = u64::try_from(found).unwrap_or(u64::MAX);
    if found != occurrences.count() {
        let lines = Lines::of(file.text.as_bytes(), file.ending);
        return Err(ChangeError::Ambiguous {
            path: path.clone(),
            hunk: 0,
            expected: occurrences.count(),
            found,
            places: matching::ranges(&lines, &places, old.len()),
        });
    }
    file.encode(path, &file.text.replace(&old, &new))
}

/// Gives the file another text, in its own encoding and line endings.
pub(crate) fn write_whole(
    path: &RepoPath,
    bytes: &[u8],
    content: &str,
) -> Result<Vec<u8>, ChangeError> {
    match Text::of(path, bytes) {
        Ok(file) if content.contains('\r') => file.encode(path, content),
        Ok(file) => file.encode(path, &matching::with_endings(content, file.ending)),
        // What was no text before has no encoding to keep.
        Err(_) => Ok(content.as_bytes().to_vec()),
    }
}

/// Places the hunks of a V4A update.
pub(crate) fn place_hunks(
    path: &RepoPath,
    bytes: &[u8],
    hunks: &[Hunk],
) -> Result<Vec<u8>, ChangeError> {
    let file = Text::of(path, bytes)?;
    file.encode(path, &hunks::apply(path, &file.text, file.ending, hunks)?)
}

/// Places the hunks of a unified diff; the new bytes, and how many lines off each hunk was.
pub(crate) fn place_diff(
    path: &RepoPath,
    bytes: &[u8],
    hunks: &[DiffHunk],
) -> Result<(Vec<u8>, Vec<i64>), ChangeError> {
    let file = Text::of(path, bytes)?;
    // `git diff` shows the mark of a UTF-8 file as the start of its first line.
    if file.encoding == Encoding::Utf8Bom && hunks.iter().any(names_mark) {
        let text = format!("{MARK}{}", file.text);
        let placed = stated::apply(path, &text, file.ending, hunks)?;
        return Ok((placed.text.into_bytes(), placed.offsets));
    }
    let placed = stated::apply(path, &file.text, file.ending, hunks)?;
    Ok((file.encode(path, &placed.text)?, placed.offsets))
}

fn names_mark(hunk: &DiffHunk) -> bool {
    let starts = |line: &HunkLine| line.before().is_some_and(|line| line.starts_with(MARK));
    hunk.lines.iter().any(starts)
}

/// Replaces lines by their numbers in the file before the patch, see [`Change::Lines`](crate::patch::Change).
pub(crate) fn replace_lines(
    path: &RepoPath,
    bytes: &[u8],
    wanted: (u64, u64, &str),
    made_before: &[LineEdit],
) -> Result<(Vec<u8>, LineEdit), ChangeError> {
    let file = Text::of(path, bytes)?;
    let (text, edit) = lines::apply(path, &file.text, file.ending, wanted, made_before)?;
    Ok((file.encode(path, &text)?, edit))
}
