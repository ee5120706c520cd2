//! Placing the hunks of a V4A update in a text.
//!
//! A hunk is placed by its own lines, exactly; anchors say behind which line it stands, and within that line's
//! block only one place may fit (P3).

use crate::patch::change::{Hunk, HunkLine};
use crate::patch::edit::sheet::{Made, Sheet, bare, new_side_is_telling, range};
use crate::patch::edit::{Matched, Placed};
use crate::patch::error::ChangeError;
use crate::path::RepoPath;
use crate::text::LineEnding;

/// The text that `hunks`, in file order, make of `text`, and where each was placed.
pub(super) fn apply(
    path: &RepoPath,
    text: &str,
    ending: LineEnding,
    hunks: &[Hunk],
) -> Result<(String, Vec<Placed>), ChangeError> {
    let file = File { sheet: Sheet::of(path, text, ending) };
    let mut made = Made::default();
    let (mut placed, mut done) = (Vec::with_capacity(hunks.len()), 0);
    for (index, hunk) in hunks.iter().enumerate() {
        let place = file.place(index, hunk, done)?;
        made.keep(&file.sheet, done, place.at);
        done = rewrite(&mut made, &file.sheet, hunk, place.at);
        let lines = range(place.at, done - place.at);
        placed.push(Placed { hunk: index, lines, offset_lines: 0, matched: place.matched });
    }
    made.keep(&file.sheet, done, file.sheet.lines.len());
    Ok((made.text, placed))
}

struct File<'a> {
    sheet: Sheet<'a>,
}

/// Where a hunk starts, and how that was found.
struct Place {
    at: usize,
    matched: Matched,
}

impl File<'_> {
    /// Where the hunk starts, not before line index `from`.
    fn place(&self, index: usize, hunk: &Hunk, from: usize) -> Result<Place, ChangeError> {
        let before: Vec<&str> = hunk.lines.iter().filter_map(HunkLine::before).collect();
        let anchor = self.anchor(index, hunk, from)?;
        let matched = anchor.as_ref().map_or(Matched::Exact, |anchor| anchor.matched);
        let anchor = anchor.map(|anchor| anchor.at);
        let end = self.sheet.lines.len();
        if before.is_empty() {
            let at = match (anchor, hunk.end_of_file) {
                (_, true) => end,
                (Some(anchor), false) => anchor + 1,
                (None, false) if end == 0 => 0,
                (None, false) => {
                    let path = self.sheet.path.clone();
                    return Err(ChangeError::NoContext { path, hunk: index });
                }
            };
            return Ok(Place { at, matched });
        }
        let start = anchor.map_or(from, |anchor| anchor + 1);
        let fits = |start, end| self.fits(&before, hunk.end_of_file, start, end);
        let in_block = anchor.map(|anchor| fits(start, self.block_end(anchor)));
        let found = match in_block {
            Some(found) if !found.is_empty() => found,
            _ => fits(start, end),
        };
        match found.as_slice() {
            [one] => Ok(Place { at: *one, matched }),
            [] => match fits(0, start).as_slice() {
                [] => Err(self.no_match(index, hunk, &before)),
                elsewhere => Err(self.sheet.misplaced(index, elsewhere, before.len())),
            },
            many => Err(self.sheet.ambiguous(index, many, before.len())),
        }
    }

    /// Where `before` fits exactly, starting at or behind `start` and before `end`.
    fn fits(&self, before: &[&str], at_end: bool, start: usize, end: usize) -> Vec<usize> {
        let fits = |at: &usize| {
            let there = self.sheet.lines.get(*at..at + before.len());
            let same =
                |there: &[&str]| there.iter().map(|line| bare(line)).eq(before.iter().copied());
            there.is_some_and(same) && (!at_end || at + before.len() == self.sheet.lines.len())
        };
        (start..end).filter(fits).collect()
    }

    /// The last of the hunk's anchors, each found once behind the one before.
    fn anchor(&self, index: usize, hunk: &Hunk, from: usize) -> Result<Option<Place>, ChangeError> {
        let mut last: Option<Place> = None;
        for anchor in &hunk.anchors {
            let behind = last.as_ref().map(|place| place.at);
            let start = behind.map_or(from, |at| at + 1);
            let end = behind.map_or(self.sheet.lines.len(), |at| self.block_end(at));
            let behind = |exact: bool, end: usize| -> Vec<usize> {
                let lines = self.sheet.lines.iter().enumerate().take(end).skip(start);
                let is = |line: &str| match exact {
                    true => bare(line) == anchor,
                    false => line.trim() == anchor.trim(),
                };
                lines.filter(|(_, line)| is(line)).map(|(at, _)| at).collect()
            };
            let tries = [(true, end), (false, end), (false, self.sheet.lines.len())];
            let mut found = tries.into_iter().map(|(exact, end)| (exact, behind(exact, end)));
            let found = found.find(|(_, found)| !found.is_empty()).unwrap_or_default();
            let looser = last.is_some_and(|place| place.matched != Matched::Exact);
            last = match (found.0 && !looser, found.1.as_slice()) {
                (true, [one]) => Some(Place { at: *one, matched: Matched::Exact }),
                (false, [one]) => Some(Place { at: *one, matched: Matched::TrimmedAnchor }),
                (_, []) => return Err(self.no_match(index, hunk, &[anchor])),
                (_, many) => return Err(self.sheet.ambiguous(index, many, 1)),
            };
        }
        Ok(last)
    }

    /// Behind the last line of the block that the line at `anchor` opens: its deeper indented lines.
    fn block_end(&self, anchor: usize) -> usize {
        let indent = |line: &str| line.len() - line.trim_start().len();
        let own = self.sheet.lines.get(anchor).map_or(0, |line| indent(line));
        let behind = self.sheet.lines.iter().enumerate().skip(anchor + 1);
        let closes = |line: &str| {
            let text = line.trim_start();
            !text.is_empty() && indent(line) <= own && !text.starts_with(['{', '}', ')', ']'])
        };
        behind.filter(|(_, line)| closes(line)).map(|(at, _)| at).next().unwrap_or(self.sheet.lines.len())
    }

    fn no_match(&self, index: usize, hunk: &Hunk, before: &[&str]) -> ChangeError {
        let after: Vec<&str> = hunk.lines.iter().filter_map(HunkLine::after).collect();
        let end = self.sheet.lines.len();
        let applied = new_side_is_telling(hunk.lines.iter())
            && !self.fits(&after, hunk.end_of_file, 0, end).is_empty();
        self.sheet.no_match(index, before, applied)
    }
}

/// Writes the hunk that starts at line `at`; the index of the first line behind it.
fn rewrite(made: &mut Made, sheet: &Sheet<'_>, hunk: &Hunk, at: usize) -> usize {
    let mut next = at;
    for line in &hunk.lines {
        match line {
            HunkLine::Context(_) => {
                made.keep(sheet, next, next + 1);
                next += 1;
            }
            HunkLine::Remove(_) => next += 1,
            HunkLine::Add(line) => made.push(line, sheet.ending_near(next), sheet, next),
        }
    }
    // A file without a final newline stays one when its last line is replaced (P7).
    let added_last = matches!(hunk.lines.last(), Some(HunkLine::Add(_)));
    if added_last && next == sheet.lines.len() && sheet.is_unended() {
        made.open_end();
    }
    next
}
