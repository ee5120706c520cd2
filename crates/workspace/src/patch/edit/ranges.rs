//! Replacing lines by their numbers.
//!
//! No text is matched: the digest that the change is based on says what the lines are (P2). All numbers count in
//! the one text that the edits are given on, so their order does not matter.

use crate::patch::edit::matching::{as_line, with_endings};
use crate::patch::edit::sheet::{Made, Sheet, bare, ending};
use crate::patch::error::{ChangeError, LineRange};
use crate::path::RepoPath;
use crate::text::LineEnding;

/// New lines for a range of old ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LineEdit {
    /// The lines that go; none, before line `first`, when `last` is `first - 1`.
    pub(crate) lines: LineRange,
    /// The lines that come.
    pub(crate) new: String,
}

/// The text that `edits` make of `text`.
pub(super) fn apply(
    path: &RepoPath,
    text: &str,
    ending: LineEnding,
    edits: &[LineEdit],
) -> Result<String, ChangeError> {
    let sheet = Sheet::of(path, text, ending);
    let total = as_line(sheet.lines.len()).saturating_sub(1);
    for LineEdit { lines, .. } in edits {
        let (path, lines) = (path.clone(), *lines);
        if lines.first == 0 || lines.last < lines.first - 1 {
            return Err(ChangeError::BackwardRange { path, lines });
        }
        if lines.last > total || lines.first > total + 1 {
            return Err(ChangeError::PastEnd { path, lines, total_lines: total });
        }
    }
    let mut made = Made::default();
    let mut done = 0;
    for LineEdit { lines, new } in in_order(path, edits)? {
        let index = |line: u64| usize::try_from(line).unwrap_or(usize::MAX);
        let (from, to) = (index(lines.first - 1), index(lines.last));
        made.keep(&sheet, done, from);
        let new = with_endings(new, ending);
        for line in new.split_inclusive(char::from(ending.last_byte())) {
            let ending = match self::ending(line) {
                // Behind the last line that it takes, so that a replaced line lends its own.
                "" => sheet.ending_near(from.saturating_add(1).min(to.max(from))),
                ending => ending,
            };
            made.push(bare(line), ending, &sheet, from);
        }
        done = to.max(from);
        // What takes the place of a last line without an ending has none either (P7).
        if !new.is_empty() && done == sheet.lines.len() && sheet.is_unended() {
            made.open_end();
        }
    }
    made.keep(&sheet, done, sheet.lines.len());
    Ok(made.text)
}

/// The edits by line, an insertion before the line that it stands before; two must not share a line.
fn in_order<'e>(path: &RepoPath, edits: &'e [LineEdit]) -> Result<Vec<&'e LineEdit>, ChangeError> {
    let mut sorted: Vec<&LineEdit> = edits.iter().collect();
    sorted.sort_by_key(|edit| (edit.lines.first, edit.lines.last));
    let pairs = sorted.iter().zip(sorted.iter().skip(1));
    for (LineEdit { lines: one, .. }, LineEdit { lines: other, .. }) in pairs {
        if other.first <= one.last {
            let (path, one, other) = (path.clone(), *one, *other);
            return Err(ChangeError::OverlappingLines { path, one, other });
        }
    }
    Ok(sorted)
}
