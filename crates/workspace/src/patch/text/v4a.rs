//! Reading the V4A patch format, which agents already speak, into changes.
//!
//! Strict about structure and literal about content: a line that fits no rule is an error with its number, never
//! skipped.

use crate::patch::change::{Change, Hunk, HunkLine, after, before};
use crate::patch::text::error::V4aError;
use crate::path::{PathError, RepoPath};

pub(super) const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const END_OF_FILE: &str = "*** End of File";

/// Reads the text between `*** Begin Patch` and `*** End Patch`; `path` reads one path as the caller allows it.
///
/// # Errors
/// [`V4aError`] with the line that could not be understood.
pub fn parse_v4a(
    text: &str,
    path: &dyn Fn(&str) -> Result<RepoPath, PathError>,
) -> Result<Vec<Change>, V4aError> {
    let mut lines = Lines::of(text)?;
    let mut changes = Vec::new();
    while let Some((number, line)) = lines.next() {
        let path = |text: &str| path(text.trim()).map_err(|error| V4aError::path(number, &error));
        if let Some(added) = line.strip_prefix("*** Add File: ") {
            changes.push(add(&mut lines, path(added)?)?);
        } else if let Some(deleted) = line.strip_prefix("*** Delete File: ") {
            changes.push(Change::Delete { path: path(deleted)?, base: None });
        } else if let Some(updated) = line.strip_prefix("*** Update File: ") {
            let from = path(updated)?;
            let to = match lines.next_if(|line| line.starts_with("*** Move to: ")) {
                Some((_, line)) => {
                    Some(path(line.strip_prefix("*** Move to: ").unwrap_or_default())?)
                }
                None => None,
            };
            changes.push(update(&mut lines, number, from, to)?);
        } else {
            let expected = "expected `*** Add File: `, `*** Update File: ` or `*** Delete File: `";
            return Err(V4aError::new(number, expected));
        }
    }
    if changes.is_empty() {
        return Err(V4aError::new(1, "a patch without a file"));
    }
    Ok(changes)
}

/// The lines between the two markers, numbered from 1.
struct Lines<'a> {
    lines: std::iter::Peekable<std::vec::IntoIter<(usize, &'a str)>>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Result<Self, V4aError> {
        let numbered = text.lines().enumerate().map(|(at, line)| (at + 1, line));
        let mut lines: Vec<(usize, &str)> =
            numbered.skip_while(|(_, line)| line.trim().is_empty()).collect();
        while lines.last().is_some_and(|(_, line)| line.trim().is_empty()) {
            lines.pop();
        }
        match (lines.first(), lines.last()) {
            (Some((_, first)), _) if first.trim() != BEGIN => {
                return Err(V4aError::new(1, format!("a patch starts with `{BEGIN}`")));
            }
            (Some(_), Some((number, last))) if last.trim() != END => {
                return Err(V4aError::new(*number, format!("a patch ends with `{END}`")));
            }
            (None, _) | (_, None) => {
                return Err(V4aError::new(1, format!("a patch starts with `{BEGIN}`")));
            }
            _ => {}
        }
        lines.pop();
        let body: Vec<(usize, &str)> = lines.into_iter().skip(1).collect();
        Ok(Self { lines: body.into_iter().peekable() })
    }

    fn next(&mut self) -> Option<(usize, &'a str)> {
        self.lines.next()
    }

    fn next_if(&mut self, wanted: impl Fn(&str) -> bool) -> Option<(usize, &'a str)> {
        self.lines.next_if(|(_, line)| wanted(line))
    }

    /// The next line of the file that is being described.
    fn next_of_file(&mut self) -> Option<(usize, &'a str)> {
        self.next_if(|line| !line.starts_with("*** ") || line.trim_end() == END_OF_FILE)
    }
}

fn add(lines: &mut Lines<'_>, path: RepoPath) -> Result<Change, V4aError> {
    let mut content = String::new();
    while let Some((number, line)) = lines.next_of_file() {
        let Some(text) = line.strip_prefix('+') else {
            return Err(V4aError::new(number, "every line of an added file starts with `+`"));
        };
        content.push_str(text);
        content.push('\n');
    }
    Ok(Change::Create { path, content, executable: false })
}

fn update(
    lines: &mut Lines<'_>,
    number: usize,
    path: RepoPath,
    move_to: Option<RepoPath>,
) -> Result<Change, V4aError> {
    let mut hunks: Vec<Hunk> = Vec::new();
    let mut hunk = Hunk::default();
    let mut last = number;
    while let Some((number, line)) = lines.next_of_file() {
        last = number;
        if line.trim_end() == END_OF_FILE {
            hunk.end_of_file = true;
            finish(&mut hunk, &mut hunks, number)?;
        } else if let Some(anchor) = line.strip_prefix("@@") {
            if !hunk.lines.is_empty() {
                finish(&mut hunk, &mut hunks, number)?;
            }
            let anchor = anchor.strip_prefix(' ').unwrap_or(anchor).trim_end();
            if !anchor.is_empty() {
                hunk.anchors.push(anchor.to_owned());
            }
        } else {
            hunk.lines.push(hunk_line(number, line)?);
        }
    }
    if hunk != Hunk::default() {
        finish(&mut hunk, &mut hunks, last)?;
    }
    match (hunks.is_empty(), move_to) {
        (true, None) => Err(V4aError::new(number, "an update without a hunk")),
        (true, Some(to)) => Ok(Change::Rename { from: path, to, base: None }),
        (false, move_to) => Ok(Change::Hunks { path, hunks, move_to, base: None }),
    }
}

fn hunk_line(number: usize, line: &str) -> Result<HunkLine, V4aError> {
    let mut characters = line.chars();
    let mark = characters.next();
    let rest = characters.as_str().to_owned();
    match mark {
        // An empty context line loses its one space in many hands.
        None => Ok(HunkLine::Context(String::new())),
        Some(' ') => Ok(HunkLine::Context(rest)),
        Some('-') => Ok(HunkLine::Remove(rest)),
        Some('+') => Ok(HunkLine::Add(rest)),
        Some(_) => {
            let expected = "a line of a hunk starts with a space, `-`, `+` or `@@`";
            Err(V4aError::new(number, expected))
        }
    }
}

fn finish(hunk: &mut Hunk, hunks: &mut Vec<Hunk>, number: usize) -> Result<(), V4aError> {
    if before(&hunk.lines) == after(&hunk.lines) {
        return Err(V4aError::new(number, "a hunk that changes nothing"));
    }
    hunks.push(std::mem::take(hunk));
    Ok(())
}
