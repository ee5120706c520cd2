//! Reading a unified diff, as `git diff` and `diff -u` write it, into changes.
//!
//! Every line must have its place: what is not understood is an error with its number, never skipped. Paths are
//! relative; what a diff can say and a change here cannot (binary content, copies, links, submodules) is refused.

mod headers;
mod hunk;
mod name;

use crate::patch::change::Change;
use crate::patch::text::error::{DiffCause, DiffError};

/// Reads the files of a unified diff, each with `diff --git` or only with `---` and `+++` in front of its hunks.
///
/// # Errors
/// [`DiffError`] with the line that could not be understood.
pub fn parse_diff(text: &str) -> Result<Vec<Change>, DiffError> {
    let mut lines = Lines::of(text);
    let mut changes = Vec::new();
    lines.skip_blank();
    while lines.peek().is_some() {
        let headers = headers::read(&mut lines)?;
        let mut hunks = Vec::new();
        while lines.peek().is_some_and(hunk::is_header) {
            hunks.push(hunk::read(&mut lines)?);
        }
        changes.push(headers.change(hunks)?);
        lines.skip_blank();
    }
    Ok(changes)
}

/// The lines of the text, numbered from 1, without their line feeds.
struct Lines<'a> {
    all: Vec<&'a str>,
    next: usize,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        let text = text.strip_suffix('\n').unwrap_or(text);
        let mut all: Vec<&str> = text.split('\n').collect();
        // Carriage returns everywhere are of the text's way here, not of the files.
        let is_last = |at: usize| at + 1 == all.len();
        if all.iter().enumerate().all(|(at, line)| line.ends_with('\r') || is_last(at) && at > 0) {
            all = all.iter().map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
        }
        Self { all, next: 0 }
    }

    /// The number of the next line.
    fn number(&self) -> usize {
        self.next + 1
    }

    fn peek(&self) -> Option<&'a str> {
        self.all.get(self.next).copied()
    }

    fn skip(&mut self) {
        self.next += 1;
    }

    fn skip_blank(&mut self) {
        while self.peek().is_some_and(|line| line.trim().is_empty()) {
            self.skip();
        }
    }

    /// What is behind `mark` on the next line, which is taken if it starts so.
    fn take(&mut self, mark: &str) -> Option<&'a str> {
        let rest = self.peek()?.strip_prefix(mark)?;
        self.skip();
        Some(rest)
    }

    /// Whether the next line opens a file without `diff --git`.
    fn starts_sides(&self) -> bool {
        self.starts_sides_at(self.next)
    }

    fn starts_sides_at(&self, at: usize) -> bool {
        let starts = |at: usize, mark| self.all.get(at).is_some_and(|line| line.starts_with(mark));
        starts(at, "--- ") && starts(at + 1, "+++ ") && starts(at + 2, "@@ ")
    }

    fn error(&self, cause: DiffCause) -> DiffError {
        DiffError::new(self.number(), cause)
    }

    fn expected(&self, expected: &'static str) -> DiffError {
        self.error(DiffCause::Expected { expected })
    }
}
