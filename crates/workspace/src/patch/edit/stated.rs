//! Placing the hunks of a unified diff in a text.
//!
//! Line numbers only ever choose among places where the hunk's own lines are, exactly (P3, P-021). As soon as one
//! hunk of a file is not at its stated line, none of its numbers is believed and each hunk must fit once.

use crate::patch::change::{DiffHunk, HunkLine, after, before};
use crate::patch::edit::matching::as_line;
use crate::patch::edit::sheet::{Made, Sheet, bare, range};
use crate::patch::error::ChangeError;
use crate::path::RepoPath;
use crate::text::LineEnding;

/// A text with all hunks in it.
pub(super) struct Placed {
    pub(super) text: String,
    /// How many lines below its stated line each hunk was placed.
    pub(super) offsets: Vec<i64>,
}

/// The text that `hunks`, in file order, make of `text`.
///
/// The output of `git diff` has the carriage returns of the file in its lines and is taken byte for byte. Where the
/// hunks fit only without them, the new lines end as those around them do, as in any other edit.
pub(super) fn apply(
    path: &RepoPath,
    text: &str,
    ending: LineEnding,
    hunks: &[DiffHunk],
) -> Result<Placed, ChangeError> {
    let has_returns = || hunks.iter().any(|hunk| ends_with_return(&before(&hunk.lines)));
    if ending != LineEnding::Crlf || has_returns() {
        let placed = place(&Sheet::literal(path, text), hunks, &|line| line);
        if placed.is_ok() {
            return placed;
        }
    }
    place(&Sheet::of(path, text, ending), hunks, &bare)
}

fn ends_with_return(lines: &[&str]) -> bool {
    lines.iter().any(|line| line.ends_with('\r'))
}

/// Places `hunks`, of whose lines `read` says what counts.
fn place(
    file: &Sheet<'_>,
    hunks: &[DiffHunk],
    read: &dyn Fn(&str) -> &str,
) -> Result<Placed, ChangeError> {
    let places = places(file, hunks, read)?;
    let mut made = Made::new(file.lines.iter().map(|line| line.len()).sum());
    let mut offsets = Vec::with_capacity(hunks.len());
    let mut done = 0;
    for (index, (hunk, at)) in hunks.iter().zip(places).enumerate() {
        let length = before(&hunk.lines).len();
        if at < done {
            let hunk = index;
            return Err(ChangeError::HunkOrder {
                path: file.path.clone(),
                hunk,
                lines: range(at, length),
            });
        }
        final_newline(file, index, hunk, at + length)?;
        made.keep(file, done, at);
        done = rewrite(&mut made, file, hunk, at, read);
        let (found, stated) = (i64::try_from(as_line(at)), i64::try_from(hunk.first.max(1)));
        offsets.push(found.unwrap_or(i64::MAX).saturating_sub(stated.unwrap_or(i64::MAX)));
    }
    made.keep(file, done, file.lines.len());
    Ok(Placed { text: made.text, offsets })
}

/// The index of the line that each hunk starts at.
fn places(
    file: &Sheet<'_>,
    hunks: &[DiffHunk],
    read: &dyn Fn(&str) -> &str,
) -> Result<Vec<usize>, ChangeError> {
    let read_all = |lines: Vec<&str>| -> Vec<String> {
        lines.into_iter().map(|line| read(line).to_owned()).collect()
    };
    let all: Vec<Vec<String>> = hunks.iter().map(|hunk| read_all(before(&hunk.lines))).collect();
    let stated = hunks.iter().zip(&all).map(|(hunk, before)| at_stated(file, hunk, before));
    if let Some(places) = stated.collect() {
        return Ok(places);
    }
    let unique = |(index, (hunk, wanted)): (usize, (&DiffHunk, &Vec<String>))| {
        let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        if wanted.is_empty() {
            return match file.lines.is_empty() {
                true => Ok(0),
                false => Err(ChangeError::NoContext { path: file.path.clone(), hunk: index }),
            };
        }
        match file.fits(&wanted, reaches_end(hunk), 0, file.lines.len()).as_slice() {
            [one] => Ok(*one),
            [] => {
                let left = read_all(after(&hunk.lines));
                let left: Vec<&str> = left.iter().map(String::as_str).collect();
                Err(file.no_match(index, &wanted, &left))
            }
            many => Err(file.ambiguous(index, many, wanted.len())),
        }
    };
    hunks.iter().zip(&all).enumerate().map(unique).collect()
}

/// The stated line as an index, when the hunk's lines are there. Without any, only an empty file has a place.
fn at_stated(file: &Sheet<'_>, hunk: &DiffHunk, before: &[String]) -> Option<usize> {
    if before.is_empty() {
        return file.lines.is_empty().then_some(0);
    }
    let at = usize::try_from(hunk.first).ok()?.checked_sub(1)?;
    let before: Vec<&str> = before.iter().map(String::as_str).collect();
    file.fits_at(&before, reaches_end(hunk), at).then_some(at)
}

/// Whether the hunk says that it holds the file's last line.
fn reaches_end(hunk: &DiffHunk) -> bool {
    hunk.unended_before || hunk.unended_after
}

/// Holds what a hunk that ends before line `end` says of the final newline against the file.
fn final_newline(
    file: &Sheet<'_>,
    index: usize,
    hunk: &DiffHunk,
    end: usize,
) -> Result<(), ChangeError> {
    let is_unended = end == file.lines.len() && file.is_unended();
    if is_unended == hunk.unended_before {
        return Ok(());
    }
    let path = file.path.clone();
    Err(ChangeError::FinalNewline { path, hunk: index, file_has_one: !is_unended })
}

/// Writes the hunk that starts at line `at`; the index of the first line behind it.
fn rewrite(
    made: &mut Made,
    file: &Sheet<'_>,
    hunk: &DiffHunk,
    at: usize,
    read: &dyn Fn(&str) -> &str,
) -> usize {
    let mut next = at;
    for line in &hunk.lines {
        match line {
            HunkLine::Context(_) => {
                made.keep(file, next, next + 1);
                next += 1;
            }
            HunkLine::Remove(_) => next += 1,
            HunkLine::Add(line) => made.add(read(line), file, next),
        }
    }
    if hunk.unended_after {
        made.unend(file, next);
    }
    next
}
