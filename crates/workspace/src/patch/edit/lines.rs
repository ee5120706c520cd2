//! Replacing lines by their numbers.
//!
//! Numbers count in the file as it was before the patch, however many edits came before; what they name is pinned by
//! the file's digest, so no text is compared.

use crate::patch::edit::sheet::{Made, Sheet, range};
use crate::patch::error::{ChangeError, LineRange};
use crate::path::RepoPath;
use crate::text::LineEnding;

/// A line edit that was made: which lines of the file before the patch, and how many came for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineEdit {
    /// Index of the first line.
    first: usize,
    /// Index behind the last line; `first` for an insertion.
    end: usize,
    new_lines: usize,
}

impl LineEdit {
    /// Reads the numbers of a request.
    fn of(path: &RepoPath, first: u64, last: u64) -> Result<Self, ChangeError> {
        let backwards = || ChangeError::LinesBackwards { path: path.clone(), first, last };
        if first == 0 || last.saturating_add(1) < first {
            return Err(backwards());
        }
        let index = |line: u64| usize::try_from(line).map_err(|_| backwards());
        Ok(Self { first: index(first - 1)?, end: index(last)?, new_lines: 0 })
    }

    fn is_insertion(&self) -> bool {
        self.first == self.end
    }

    /// Whether two edits name a line both, or the order of what they bring is not told by their numbers.
    fn overlaps(&self, other: &Self) -> bool {
        match (self.is_insertion(), other.is_insertion()) {
            (true, true) => self.first == other.first,
            (true, false) => other.first < self.first && self.first < other.end,
            (false, true) => other.overlaps(self),
            (false, false) => self.first < other.end && other.first < self.end,
        }
    }

    /// Whether its lines stand before those of `other`, which does not overlap.
    fn is_before(&self, other: &Self) -> bool {
        // What is inserted before a line stands before what replaces the line.
        self.end <= other.first
    }

    fn shown(&self) -> LineRange {
        range(self.first, self.end - self.first)
    }
}

/// Replaces lines `first` to `last` of `text`, in which `made` were replaced already; the edit to remember.
pub(super) fn apply(
    path: &RepoPath,
    text: &str,
    ending: LineEnding,
    (first, last, new): (u64, u64, &str),
    made_before: &[LineEdit],
) -> Result<(String, LineEdit), ChangeError> {
    let mut edit = LineEdit::of(path, first, last)?;
    let file = Sheet::of(path, text, ending);
    let gone: usize = made_before.iter().map(|made| made.end - made.first).sum();
    let came: usize = made_before.iter().map(|made| made.new_lines).sum();
    let total = (file.lines.len() + gone).saturating_sub(came);
    if edit.end > total || edit.first > total {
        let total_lines = u64::try_from(total).unwrap_or(u64::MAX);
        let line = last.max(first);
        return Err(ChangeError::LinesPastEnd { path: path.clone(), line, total_lines });
    }
    if let Some(other) = made_before.iter().find(|made| made.overlaps(&edit)) {
        let path = path.clone();
        return Err(ChangeError::LinesOverlap { path, lines: edit.shown(), other: other.shown() });
    }
    let above = || made_before.iter().filter(|made| made.is_before(&edit));
    let gone: usize = above().map(|made| made.end - made.first).sum();
    let came: usize = above().map(|made| made.new_lines).sum();
    let now = |index: usize| (index + came).saturating_sub(gone);
    let (start, end) = (now(edit.first), now(edit.end));

    let new: Vec<&str> = new.split_inclusive('\n').map(without_ending).collect();
    edit.new_lines = new.len();
    let mut made = Made::new(text.len());
    made.keep(&file, 0, start);
    for line in &new {
        made.add(line, &file, end);
    }
    let is_last = end == file.lines.len();
    // A file without a final newline stays one when its last line is replaced (P7).
    if is_last && !new.is_empty() && file.is_unended() {
        made.unend(&file, end);
    }
    made.keep(&file, end, file.lines.len());
    Ok((made.text, edit))
}

fn without_ending(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}
