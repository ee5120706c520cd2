//! Placing the hunks of a V4A update in a text.
//!
//! A hunk is placed by its own lines, exactly; anchors say behind which line it stands, and within that line's
//! block only one place may fit (P3).

use crate::patch::change::{Hunk, HunkLine};
use crate::patch::edit::matching::{as_line, candidates};
use crate::patch::error::{ChangeError, LineRange, MAX_RANGES};
use crate::path::RepoPath;
use crate::text::LineEnding;

/// The text that `hunks`, in file order, make of `text`.
pub(crate) fn apply(
    path: &RepoPath,
    text: &str,
    ending: LineEnding,
    hunks: &[Hunk],
) -> Result<String, ChangeError> {
    let separator = if ending == LineEnding::Cr { '\r' } else { '\n' };
    let lines: Vec<&str> = text.split_inclusive(separator).collect();
    let mut file = File { path, lines, default_ending: ending.bytes().unwrap_or("\n") };
    let mut made = Made { text: String::with_capacity(text.len()), unended: false };
    let mut done = 0;
    for (index, hunk) in hunks.iter().enumerate() {
        let at = file.place(index, hunk, done)?;
        made.keep(&file, done, at);
        done = made.rewrite(&mut file, hunk, at);
    }
    let end = file.lines.len();
    made.keep(&file, done, end);
    Ok(made.text)
}

struct File<'a> {
    path: &'a RepoPath,
    /// With their endings.
    lines: Vec<&'a str>,
    default_ending: &'static str,
}

fn bare(line: &str) -> &str {
    line.trim_end_matches(['\n', '\r'])
}

impl File<'_> {
    /// The index of the line that the hunk starts at, not before `from`.
    fn place(&self, index: usize, hunk: &Hunk, from: usize) -> Result<usize, ChangeError> {
        let before: Vec<&str> = hunk.lines.iter().filter_map(HunkLine::before).collect();
        let anchor = self.anchor(index, hunk, from)?;
        if before.is_empty() {
            return match (anchor, hunk.end_of_file) {
                (_, true) => Ok(self.lines.len()),
                (Some(anchor), false) => Ok(anchor + 1),
                (None, false) if self.lines.is_empty() => Ok(0),
                (None, false) => {
                    Err(ChangeError::NoContext { path: self.path.clone(), hunk: index })
                }
            };
        }
        let start = anchor.map_or(from, |anchor| anchor + 1);
        let end = self.lines.len();
        let in_block = match anchor {
            Some(anchor) => self.fits(&before, hunk.end_of_file, start, self.block_end(anchor)),
            None => Vec::new(),
        };
        let fits = match in_block.as_slice() {
            [] => self.fits(&before, hunk.end_of_file, start, end),
            _ => in_block,
        };
        match fits.as_slice() {
            [one] => Ok(*one),
            [] => Err(self.no_match(index, hunk, &before)),
            many => Err(self.ambiguous(index, many, before.len())),
        }
    }

    /// Where `before` fits exactly, starting at or behind `start` and before `end`.
    fn fits(&self, before: &[&str], at_end: bool, start: usize, end: usize) -> Vec<usize> {
        let fits = |at: &usize| {
            let there = self.lines.get(*at..at + before.len());
            let same =
                |there: &[&str]| there.iter().map(|line| bare(line)).eq(before.iter().copied());
            there.is_some_and(same) && (!at_end || at + before.len() == self.lines.len())
        };
        (start..end).filter(fits).collect()
    }

    /// The last of the hunk's anchors, each found once behind the one before.
    fn anchor(&self, index: usize, hunk: &Hunk, from: usize) -> Result<Option<usize>, ChangeError> {
        let mut last = None;
        for anchor in &hunk.anchors {
            let start = last.map_or(from, |at: usize| at + 1);
            let end = last.map_or(self.lines.len(), |at| self.block_end(at));
            let behind = |exact: bool, end: usize| -> Vec<usize> {
                let lines = self.lines.iter().enumerate().take(end).skip(start);
                let is = |line: &str| match exact {
                    true => bare(line) == anchor,
                    false => line.trim() == anchor.trim(),
                };
                lines.filter(|(_, line)| is(line)).map(|(at, _)| at).collect()
            };
            let tries = [(true, end), (false, end), (false, self.lines.len())];
            let found = tries.into_iter().map(|(exact, end)| behind(exact, end));
            let found = found.into_iter().find(|found| !found.is_empty()).unwrap_or_default();
            last = match found.as_slice() {
                [one] => Some(*one),
                [] => return Err(self.no_match(index, hunk, &[anchor])),
                many => return Err(self.ambiguous(index, many, 1)),
            };
        }
        Ok(last)
    }

    /// Behind the last line of the block that the line at `anchor` opens: its deeper indented lines.
    fn block_end(&self, anchor: usize) -> usize {
        let indent = |line: &str| line.len() - line.trim_start().len();
        let own = self.lines.get(anchor).map_or(0, |line| indent(line));
        let behind = self.lines.iter().enumerate().skip(anchor + 1);
        let closes = |line: &str| {
            let text = line.trim_start();
            !text.is_empty() && indent(line) <= own && !text.starts_with(['{', '}', ')', ']'])
        };
        behind.filter(|(_, line)| closes(line)).map(|(at, _)| at).next().unwrap_or(self.lines.len())
    }

    fn no_match(&self, hunk: usize, wanted: &Hunk, before: &[&str]) -> ChangeError {
        let after = wanted.lines.iter().filter_map(|line| match line {
            HunkLine::Context(line) | HunkLine::Add(line) => Some(line.as_str()),
            HunkLine::Remove(_) => None,
        });
        let after: Vec<&str> = after.collect();
        let already_applied =
            !after.is_empty() && !self.fits(&after, false, 0, self.lines.len()).is_empty();
        ChangeError::NoMatch {
            path: self.path.clone(),
            hunk,
            candidates: candidates(&self.lines.concat(), &before.join("\n")),
            already_applied,
        }
    }

    fn ambiguous(&self, hunk: usize, places: &[usize], length: usize) -> ChangeError {
        let range = |at: &usize| LineRange { first: as_line(*at), last: as_line(at + length - 1) };
        ChangeError::Ambiguous {
            path: self.path.clone(),
            hunk,
            expected: 1,
            found: u64::try_from(places.len()).unwrap_or(u64::MAX),
            places: places.iter().take(MAX_RANGES).map(range).collect(),
        }
    }

    /// How a new line behind line `at` ends: as its neighbour does.
    fn ending_near(&self, at: usize) -> &str {
        let neighbours = [at.checked_sub(1), Some(at)];
        let near = neighbours.into_iter().flatten().filter_map(|index| self.lines.get(index));
        let endings = near.map(|line| line.strip_prefix(bare(line)).unwrap_or_default());
        endings.into_iter().find(|ending| !ending.is_empty()).unwrap_or(self.default_ending)
    }
}

/// The new text while it grows.
struct Made {
    text: String,
    /// Whether the text ends with a line that has no ending yet, as the file's last line may.
    unended: bool,
}

impl Made {
    fn keep(&mut self, file: &File<'_>, from: usize, to: usize) {
        for at in from..to {
            if let Some(line) = file.lines.get(at) {
                self.push(bare(line), line.strip_prefix(bare(line)).unwrap_or_default(), file, at);
            }
        }
    }

    fn push(&mut self, line: &str, ending: &str, file: &File<'_>, near: usize) {
        if self.unended {
            self.text.push_str(file.ending_near(near));
        }
        self.text.push_str(line);
        self.text.push_str(ending);
        self.unended = ending.is_empty();
    }

    /// Writes the hunk that starts at line `at`; the index of the first line behind it.
    fn rewrite(&mut self, file: &mut File<'_>, hunk: &Hunk, at: usize) -> usize {
        let mut next = at;
        let file_end_unended = file.lines.last().is_some_and(|line| bare(line).len() == line.len());
        for line in &hunk.lines {
            match line {
                HunkLine::Context(_) => {
                    self.keep(file, next, next + 1);
                    next += 1;
                }
                HunkLine::Remove(_) => next += 1,
                HunkLine::Add(line) => {
                    let ending = file.ending_near(next).to_owned();
                    self.push(line, &ending, file, next);
                }
            }
        }
        // A file without a final newline stays one when its last line is replaced (P7).
        let added_last = matches!(hunk.lines.last(), Some(HunkLine::Add(_)));
        if added_last && next == file.lines.len() && file_end_unended {
            let kept = bare(&self.text).len();
            let ended = self.text.len() > kept;
            if ended {
                let ending = file.ending_near(next).len();
                self.text.truncate(self.text.len().saturating_sub(ending));
                self.unended = true;
            }
        }
        next
    }
}
