//! A text as lines with their endings, and the new text that grows out of them.
//!
//! A line that is kept is kept with its bytes; a line that comes ends as its neighbours do.

use crate::patch::change::HunkLine;
use crate::patch::edit::matching::{as_line, candidates};
use crate::patch::error::{ChangeError, LineRange, MAX_RANGES};
use crate::path::RepoPath;
use crate::text::LineEnding;

/// The lines of a file.
pub(super) struct Sheet<'a> {
    pub(super) path: &'a RepoPath,
    /// With their endings.
    pub(super) lines: Vec<&'a str>,
    default_ending: &'static str,
}

/// A line without its ending.
pub(super) fn bare(line: &str) -> &str {
    line.trim_end_matches(['\n', '\r'])
}

/// What a line ends with.
pub(super) fn ending(line: &str) -> &str {
    line.strip_prefix(bare(line)).unwrap_or_default()
}

impl<'a> Sheet<'a> {
    /// The lines of `text`, whose lines end as `ending` says.
    pub(super) fn of(path: &'a RepoPath, text: &'a str, ending: LineEnding) -> Self {
        Self::split(path, text, ending, char::from(ending.last_byte()))
    }

    /// The lines of `text` when `separator` ends one.
    pub(super) fn split(
        path: &'a RepoPath,
        text: &'a str,
        ending: LineEnding,
        separator: char,
    ) -> Self {
        let lines = text.split_inclusive(separator).collect();
        Self { path, lines, default_ending: ending.bytes().unwrap_or("\n") }
    }

    /// How a new line behind line `at` ends: as its neighbour does.
    pub(super) fn ending_near(&self, at: usize) -> &str {
        let neighbours = [at.checked_sub(1), Some(at)];
        let near = neighbours.into_iter().flatten().filter_map(|index| self.lines.get(index));
        let mut endings = near.map(|line| ending(line));
        endings.find(|ending| !ending.is_empty()).unwrap_or(self.default_ending)
    }

    /// Whether the last line has no ending.
    pub(super) fn is_unended(&self) -> bool {
        self.lines.last().is_some_and(|line| ending(line).is_empty())
    }

    pub(super) fn no_match(&self, hunk: usize, before: &[&str], applied: bool) -> ChangeError {
        ChangeError::NoMatch {
            path: self.path.clone(),
            hunk,
            candidates: candidates(&self.lines.concat(), &before.join("\n")),
            already_applied: applied,
        }
    }

    pub(super) fn ambiguous(&self, hunk: usize, places: &[usize], length: usize) -> ChangeError {
        ChangeError::Ambiguous {
            path: self.path.clone(),
            hunk,
            expected: 1,
            found: u64::try_from(places.len()).unwrap_or(u64::MAX),
            places: ranges(places, length),
        }
    }

    pub(super) fn misplaced(&self, hunk: usize, places: &[usize], length: usize) -> ChangeError {
        ChangeError::Misplaced {
            path: self.path.clone(),
            hunk,
            places: ranges(places, length),
        }
    }
}

/// The lines that `length` lines at each place cover, the first [`MAX_RANGES`] of them.
fn ranges(places: &[usize], length: usize) -> Vec<LineRange> {
    places.iter().take(MAX_RANGES).map(|at| range(*at, length)).collect()
}

/// `length` lines from line index `at`; none when `length` is 0.
pub(super) fn range(at: usize, length: usize) -> LineRange {
    LineRange { first: as_line(at), last: as_line(at + length).saturating_sub(1) }
}

/// Whether finding the new side of a hunk says that the hunk was applied: it holds a line that the hunk brings,
/// or lines from both sides of one that it takes.
pub(super) fn new_side_is_telling<'l>(lines: impl Iterator<Item = &'l HunkLine>) -> bool {
    let lines: Vec<&HunkLine> = lines.collect();
    let brings = |line: &&HunkLine| matches!(line, HunkLine::Add(text) if !text.trim().is_empty());
    let context = |line: Option<&&HunkLine>| matches!(line, Some(HunkLine::Context(_)));
    lines.iter().any(brings) || (context(lines.first()) && context(lines.last()))
}

/// The new text while it grows.
#[derive(Default)]
pub(super) struct Made {
    pub(super) text: String,
    /// Whether the text ends with a line that has no ending yet, as the file's last line may.
    unended: bool,
}

impl Made {
    /// Keeps the lines from index `from` up to and without `to`.
    pub(super) fn keep(&mut self, sheet: &Sheet<'_>, from: usize, to: usize) {
        for (at, line) in sheet.lines.iter().enumerate().take(to).skip(from) {
            self.push(bare(line), ending(line), sheet, at);
        }
    }

    /// Adds one line; `near` is the index that a line before it without an ending takes one from.
    pub(super) fn push(&mut self, line: &str, ending: &str, sheet: &Sheet<'_>, near: usize) {
        if self.unended {
            self.text.push_str(sheet.ending_near(near));
        }
        self.text.push_str(line);
        self.text.push_str(ending);
        self.unended = ending.is_empty();
    }

    /// Takes the ending of the last line away.
    pub(super) fn open_end(&mut self) {
        if !self.unended {
            let end = self.text.strip_suffix("\r\n").or(self.text.strip_suffix(['\n', '\r']));
            let end = end.map_or(self.text.len(), str::len);
            self.text.truncate(end);
            self.unended = true;
        }
    }
}
