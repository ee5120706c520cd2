//! The lines of a file while it is edited, and the new text that grows from them.
//!
//! Lines that an edit does not name keep every byte, their endings with them (P7).

use crate::patch::edit::matching::{as_line, candidates};
use crate::patch::error::{ChangeError, LineRange, MAX_RANGES};
use crate::path::RepoPath;
use crate::text::LineEnding;

/// A file's text as lines.
pub(super) struct Sheet<'a> {
    pub(super) path: &'a RepoPath,
    /// With their endings.
    pub(super) lines: Vec<&'a str>,
    default_ending: &'static str,
    /// Whether a carriage return before the line feed belongs to the line, as in the output of `git diff`.
    literal: bool,
}

/// A line without its ending.
pub(super) fn bare(line: &str) -> &str {
    line.trim_end_matches(['\n', '\r'])
}

impl<'a> Sheet<'a> {
    /// Lines as people count them, each without its ending when it is compared.
    pub(super) fn of(path: &'a RepoPath, text: &'a str, ending: LineEnding) -> Self {
        let separator = if ending == LineEnding::Cr { '\r' } else { '\n' };
        let lines = text.split_inclusive(separator).collect();
        Self { path, lines, default_ending: ending.bytes().unwrap_or("\n"), literal: false }
    }

    /// Lines that end with a line feed, compared with all else that is in them.
    pub(super) fn literal(path: &'a RepoPath, text: &'a str) -> Self {
        let lines = text.split_inclusive('\n').collect();
        Self { path, lines, default_ending: "\n", literal: true }
    }

    /// What counts of a line when it is compared.
    pub(super) fn content<'l>(&self, line: &'l str) -> &'l str {
        if self.literal { line.strip_suffix('\n').unwrap_or(line) } else { bare(line) }
    }

    /// What is behind the content of a line.
    fn ending<'l>(&self, line: &'l str) -> &'l str {
        line.strip_prefix(self.content(line)).unwrap_or_default()
    }

    /// Where `before` fits exactly, starting at or behind `start` and before `end`.
    pub(super) fn fits(
        &self,
        before: &[&str],
        at_end: bool,
        start: usize,
        end: usize,
    ) -> Vec<usize> {
        (start..end).filter(|at| self.fits_at(before, at_end, *at)).collect()
    }

    pub(super) fn fits_at(&self, before: &[&str], at_end: bool, at: usize) -> bool {
        let there = at.checked_add(before.len()).and_then(|end| self.lines.get(at..end));
        let same =
            |there: &[&str]| there.iter().map(|line| self.content(line)).eq(before.iter().copied());
        there.is_some_and(same) && (!at_end || at + before.len() == self.lines.len())
    }

    /// Whether the last line has no ending.
    pub(super) fn is_unended(&self) -> bool {
        self.lines.last().is_some_and(|line| self.ending(line).is_empty())
    }

    /// How a new line behind line `at` ends: as its neighbour does.
    pub(super) fn ending_near(&self, at: usize) -> &str {
        if self.literal {
            return self.default_ending;
        }
        let neighbours = [at.checked_sub(1), Some(at)];
        let near = neighbours.into_iter().flatten().filter_map(|index| self.lines.get(index));
        let endings = near.map(|line| self.ending(line));
        endings.into_iter().find(|ending| !ending.is_empty()).unwrap_or(self.default_ending)
    }

    /// The refusal of a hunk whose lines `before` are nowhere, while `after` is what it would leave.
    pub(super) fn no_match(&self, hunk: usize, before: &[&str], after: &[&str]) -> ChangeError {
        let says_something = after.iter().any(|line| !line.trim().is_empty());
        ChangeError::NoMatch {
            path: self.path.clone(),
            hunk,
            candidates: candidates(&self.lines.concat(), &before.join("\n")),
            already_applied: says_something
                && !self.fits(after, false, 0, self.lines.len()).is_empty(),
        }
    }

    pub(super) fn ambiguous(&self, hunk: usize, places: &[usize], length: usize) -> ChangeError {
        ChangeError::Ambiguous {
            path: self.path.clone(),
            hunk,
            expected: 1,
            found: u64::try_from(places.len()).unwrap_or(u64::MAX),
            places: places.iter().take(MAX_RANGES).map(|at| range(*at, length)).collect(),
        }
    }
}

/// `length` lines from the line at index `at`.
pub(super) fn range(at: usize, length: usize) -> LineRange {
    LineRange { first: as_line(at), last: as_line((at + length).saturating_sub(1)) }
}

/// The new text while it grows.
pub(super) struct Made {
    pub(super) text: String,
    /// Whether the text ends with a line that has no ending yet, as the file's last line may.
    unended: bool,
}

impl Made {
    pub(super) fn new(capacity: usize) -> Self {
        Self { text: String::with_capacity(capacity), unended: false }
    }

    /// Takes over the lines of the file from index `from` to before `to`.
    pub(super) fn keep(&mut self, file: &Sheet<'_>, from: usize, to: usize) {
        for at in from..to {
            if let Some(line) = file.lines.get(at) {
                self.push(file.content(line), file.ending(line), file, at);
            }
        }
    }

    /// Adds a line of its own; `near` is the index of the file's next line.
    pub(super) fn add(&mut self, line: &str, file: &Sheet<'_>, near: usize) {
        self.push(line, file.ending_near(near), file, near);
    }

    fn push(&mut self, line: &str, ending: &str, file: &Sheet<'_>, near: usize) {
        if self.unended {
            self.text.push_str(file.ending_near(near));
        }
        self.text.push_str(line);
        self.text.push_str(ending);
        self.unended = ending.is_empty();
    }

    /// Takes the ending off the line that was added last, whose neighbour was line `near`.
    pub(super) fn unend(&mut self, file: &Sheet<'_>, near: usize) {
        if !self.unended && self.text.ends_with(file.ending_near(near)) {
            let ending = file.ending_near(near).len();
            self.text.truncate(self.text.len().saturating_sub(ending));
            self.unended = true;
        }
    }
}
