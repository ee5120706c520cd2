//! Placing the hunks of a V4A update in a text.
//!
//! A hunk is placed by its own lines, exactly; anchors say behind which line it stands, and within that line's
//! block only one place may fit (P3).

use crate::patch::change::{Hunk, HunkLine, after, before};
use crate::patch::edit::sheet::{Made, Sheet, bare};
use crate::patch::error::ChangeError;
use crate::path::RepoPath;
use crate::text::LineEnding;

/// The text that `hunks`, in file order, make of `text`.
pub(crate) fn apply(
    path: &RepoPath,
    text: &str,
    ending: LineEnding,
    hunks: &[Hunk],
) -> Result<String, ChangeError> {
    let file = Sheet::of(path, text, ending);
    let mut made = Made::new(text.len());
    let mut done = 0;
    for (index, hunk) in hunks.iter().enumerate() {
        let at = place(&file, index, hunk, done)?;
        made.keep(&file, done, at);
        done = rewrite(&mut made, &file, hunk, at);
    }
    made.keep(&file, done, file.lines.len());
    Ok(made.text)
}

/// The index of the line that the hunk starts at, not before `from`.
fn place(file: &Sheet<'_>, index: usize, hunk: &Hunk, from: usize) -> Result<usize, ChangeError> {
    let before = before(&hunk.lines);
    let anchor = anchor(file, index, hunk, from)?;
    if before.is_empty() {
        return match (anchor, hunk.end_of_file) {
            (_, true) => Ok(file.lines.len()),
            (Some(anchor), false) => Ok(anchor + 1),
            (None, false) if file.lines.is_empty() => Ok(0),
            (None, false) => Err(ChangeError::NoContext { path: file.path.clone(), hunk: index }),
        };
    }
    let start = anchor.map_or(from, |anchor| anchor + 1);
    let end = file.lines.len();
    let in_block = match anchor {
        Some(anchor) => file.fits(&before, hunk.end_of_file, start, block_end(file, anchor)),
        None => Vec::new(),
    };
    let fits = match in_block.as_slice() {
        [] => file.fits(&before, hunk.end_of_file, start, end),
        _ => in_block,
    };
    match fits.as_slice() {
        [one] => Ok(*one),
        [] => Err(file.no_match(index, &before, &after(&hunk.lines))),
        many => Err(file.ambiguous(index, many, before.len())),
    }
}

/// The last of the hunk's anchors, each found once behind the one before.
fn anchor(
    file: &Sheet<'_>,
    index: usize,
    hunk: &Hunk,
    from: usize,
) -> Result<Option<usize>, ChangeError> {
    let mut last = None;
    for anchor in &hunk.anchors {
        let start = last.map_or(from, |at: usize| at + 1);
        let end = last.map_or(file.lines.len(), |at| block_end(file, at));
        let behind = |exact: bool, end: usize| -> Vec<usize> {
            let lines = file.lines.iter().enumerate().take(end).skip(start);
            let is = |line: &str| match exact {
                true => bare(line) == anchor,
                false => line.trim() == anchor.trim(),
            };
            lines.filter(|(_, line)| is(line)).map(|(at, _)| at).collect()
        };
        let tries = [(true, end), (false, end), (false, file.lines.len())];
        let found = tries.into_iter().map(|(exact, end)| behind(exact, end));
        let found = found.into_iter().find(|found| !found.is_empty()).unwrap_or_default();
        last = match found.as_slice() {
            [one] => Some(*one),
            [] => return Err(file.no_match(index, &[anchor], &after(&hunk.lines))),
            many => return Err(file.ambiguous(index, many, 1)),
        };
    }
    Ok(last)
}

/// Behind the last line of the block that the line at `anchor` opens: its deeper indented lines.
fn block_end(file: &Sheet<'_>, anchor: usize) -> usize {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let own = file.lines.get(anchor).map_or(0, |line| indent(line));
    let behind = file.lines.iter().enumerate().skip(anchor + 1);
    let closes = |line: &str| {
        let text = line.trim_start();
        !text.is_empty() && indent(line) <= own && !text.starts_with(['{', '}', ')', ']'])
    };
    behind.filter(|(_, line)| closes(line)).map(|(at, _)| at).next().unwrap_or(file.lines.len())
}

/// Writes the hunk that starts at line `at`; the index of the first line behind it.
fn rewrite(made: &mut Made, file: &Sheet<'_>, hunk: &Hunk, at: usize) -> usize {
    let mut next = at;
    for line in &hunk.lines {
        match line {
            HunkLine::Context(_) => {
                made.keep(file, next, next + 1);
                next += 1;
            }
            HunkLine::Remove(_) => next += 1,
            HunkLine::Add(line) => made.add(line, file, next),
        }
    }
    // A file without a final newline stays one when its last line is replaced (P7).
    let added_last = matches!(hunk.lines.last(), Some(HunkLine::Add(_)));
    if added_last && next == file.lines.len() && file.is_unended() {
        made.unend(file, next);
    }
    next
}
