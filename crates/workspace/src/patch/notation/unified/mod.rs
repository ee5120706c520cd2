//! Reading a unified diff, with git's headers or with `---` and `+++` alone, into changes.
//!
//! Strict about structure and literal about content: counts must be right, names must agree, and a line that fits
//! no rule is an error with its number, never skipped.

mod header;
mod hunk;
mod name;

use crate::patch::change::{Change, DiffHunk, Fate, HunkLine};
use crate::patch::notation::{NotationError, NotationFault};
use crate::path::{PathError, RepoPath};
use header::{Header, Name};

/// Reads one path as the caller allows it.
type ReadPath<'a> = &'a dyn Fn(&str) -> Result<RepoPath, PathError>;

/// Whether a text whose first line this is would be a unified diff.
pub(super) fn begins(line: &str) -> bool {
    line.starts_with(header::GIT) || line.starts_with(header::OLD)
}

/// Reads the diffs of one or more files.
pub(super) fn parse(text: &str, path: ReadPath<'_>) -> Result<Vec<Change>, NotationError> {
    let mut lines = Lines::of(text);
    let mut changes = Vec::new();
    while let Some((number, line)) = lines.peek_text() {
        if !begins(line) {
            let expected = "expected `diff --git `, `--- ` or `@@ ` here: a diff holds nothing else";
            return Err(NotationError::expected(number, expected));
        }
        let header = Header::read(&mut lines)?;
        let mut hunks: Vec<DiffHunk> = Vec::new();
        while lines.peek_text().is_some_and(|(_, line)| line.starts_with("@@")) {
            hunks.push(hunk::read(&mut lines, hunks.last())?);
        }
        changes.push(change(header, hunks, path)?);
    }
    Ok(changes)
}

/// The lines of the text with their numbers, from 1. A carriage return before the line feed is the content's own,
/// unless every line has one: then they are the text's.
struct Lines<'a> {
    lines: Vec<&'a str>,
    next: usize,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        let mut lines: Vec<&str> = text.split_terminator('\n').collect();
        if lines.iter().all(|line| line.ends_with('\r')) {
            lines = lines.iter().map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
        }
        Self { lines, next: 0 }
    }

    fn peek(&self) -> Option<(usize, &'a str)> {
        self.ahead(0)
    }

    /// The line that stands `by` lines behind the next one.
    fn ahead(&self, by: usize) -> Option<(usize, &'a str)> {
        let at = self.next + by;
        self.lines.get(at).map(|line| (at + 1, *line))
    }

    /// The next line that is not blank; blank ones before it are passed over.
    fn peek_text(&mut self) -> Option<(usize, &'a str)> {
        while self.peek().is_some_and(|(_, line)| line.trim().is_empty()) {
            self.next += 1;
        }
        self.peek()
    }

    fn take(&mut self) -> Option<(usize, &'a str)> {
        let line = self.peek();
        self.next += 1;
        line
    }
}

/// The change that one file's header and hunks stand for.
fn change(
    header: Header,
    hunks: Vec<DiffHunk>,
    path: ReadPath<'_>,
) -> Result<Change, NotationError> {
    let Header { number, name, executable, .. } = header;
    let expected = |what| Err(NotationError::expected(number, what));
    let read = |name: &str| {
        path(name).map_err(|error| NotationError::new(number, NotationFault::Path(error)))
    };
    let only = |wanted: fn(&HunkLine) -> bool| {
        let mut lines = hunks.iter().flat_map(|hunk| &hunk.lines);
        hunks.len() <= 1 && lines.all(|line| wanted(&line.line))
    };
    match name {
        Name::New(name) => {
            if !only(|line| matches!(line, HunkLine::Add(_))) {
                return expected("a new file has one hunk, of added lines");
            }
            let content = content(hunks);
            let executable = executable == Some(true);
            Ok(Change::Create { path: read(&name)?, content, executable })
        }
        Name::Gone(name) => {
            if !only(|line| matches!(line, HunkLine::Remove(_))) {
                return expected("a deleted file has one hunk, of removed lines");
            }
            let (path, fate) = (read(&name)?, Fate::Goes);
            Ok(Change::Diff { path, hunks, fate, executable: None, base: None })
        }
        Name::Kept(_) if hunks.is_empty() && executable.is_none() => {
            expected("nothing of the file is changed: a hunk begins with `@@ -l,c +l,c @@`")
        }
        Name::Kept(name) => {
            let (path, fate) = (read(&name)?, Fate::Stays);
            Ok(Change::Diff { path, hunks, fate, executable, base: None })
        }
        Name::Moved { from, to } => {
            let (from, to) = (read(&from)?, read(&to)?);
            if hunks.is_empty() && executable.is_none() {
                return Ok(Change::Rename { from, to, base: None });
            }
            Ok(Change::Diff { path: from, hunks, fate: Fate::Moves { to }, executable, base: None })
        }
    }
}

/// What the added lines of a new file come to.
fn content(hunks: Vec<DiffHunk>) -> String {
    let mut content = String::new();
    for line in hunks.iter().flat_map(|hunk| &hunk.lines) {
        content.push_str(line.line.text());
        if line.ended {
            content.push('\n');
        }
    }
    content
}
