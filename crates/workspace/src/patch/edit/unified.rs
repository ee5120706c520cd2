//! Placing the hunks of a unified diff in a text.
//!
//! A hunk stands at its stated line, or at the only place in the file that it fits; line numbers alone never
//! place anything (P3). The diff says where a line ends without a newline, and there it is taken at its word.

use crate::patch::change::{DiffHunk, DiffLine, HunkLine};
use crate::patch::edit::matching::as_line;
use crate::patch::edit::sheet::{Made, Sheet, new_side_is_telling, range};
use crate::patch::edit::{Matched, Placed};
use crate::patch::error::{ChangeError, FileEnd};
use crate::path::RepoPath;
use crate::text::LineEnding;

/// The text that `hunks`, in file order, make of `text`, and where each was placed.
pub(super) fn apply(
    path: &RepoPath,
    text: &str,
    ending: LineEnding,
    hunks: &[DiffHunk],
) -> Result<(String, Vec<Placed>), ChangeError> {
    let file = File::of(path, text, ending, hunks);
    let places = file.places(hunks)?;
    let mut made = Made::default();
    let (mut placed, mut done) = (Vec::with_capacity(hunks.len()), 0);
    for (index, (hunk, at)) in hunks.iter().zip(places).enumerate() {
        made.keep(&file.sheet, done, at);
        let fit = file.fit(hunk, at);
        done = file.rewrite(&mut made, hunk, at, fit);
        let matched = if fit == Fit::Folded { Matched::LineEndings } else { Matched::Exact };
        let lines = range(at, done - at);
        placed.push(Placed { hunk: index, lines, offset_lines: offset(hunk, at), matched });
    }
    made.keep(&file.sheet, done, file.sheet.lines.len());
    Ok((made.text, placed))
}

struct File<'a> {
    sheet: Sheet<'a>,
    separator: char,
    /// Whether the diff shows carriage returns, so that it means exactly the endings that it shows.
    literal: bool,
}

/// How the old side of a hunk fits its place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// With its line endings: what comes ends as the diff shows it.
    Exact,
    /// Exactly, but no line there has an ending: what comes ends as the file's lines do.
    Unended,
    /// But for line endings: what comes ends as the lines around it.
    Folded,
}

impl<'a> File<'a> {
    fn of(path: &'a RepoPath, text: &'a str, ending: LineEnding, hunks: &[DiffHunk]) -> Self {
        let mut old = hunks.iter().flat_map(old_side);
        let literal = old.any(|line| line.line.text().contains('\r'));
        let separator = if literal { '\n' } else { char::from(ending.last_byte()) };
        Self { sheet: Sheet::split(path, text, ending, separator), separator, literal }
    }

    /// The line index at which each hunk starts.
    fn places(&self, hunks: &[DiffHunk]) -> Result<Vec<usize>, ChangeError> {
        for (index, hunk) in hunks.iter().enumerate() {
            if hunk.old_count() == 0 && !self.sheet.lines.is_empty() {
                let path = self.sheet.path.clone();
                return Err(ChangeError::NoContext { path, hunk: index });
            }
        }
        let stated: Vec<usize> = hunks.iter().map(stated).collect();
        let found = if hunks.iter().zip(&stated).all(|(hunk, at)| self.fits(hunk, *at)) {
            stated
        } else {
            self.search(hunks)?
        };
        let mut done = 0;
        for (index, (hunk, at)) in hunks.iter().zip(&found).enumerate() {
            let length = old_side(hunk).count();
            if *at < done {
                return Err(self.sheet.misplaced(index, &[*at], length));
            }
            done = at + length;
        }
        Ok(found)
    }

    /// The only place of each hunk. Where one number was wrong none is trusted, so each must be the only one.
    fn search(&self, hunks: &[DiffHunk]) -> Result<Vec<usize>, ChangeError> {
        let fits = |hunk: &DiffHunk| -> Vec<usize> {
            (0..=self.sheet.lines.len()).filter(|at| self.fits(hunk, *at)).collect()
        };
        let all: Vec<Vec<usize>> = hunks.iter().map(fits).collect();
        for (index, (hunk, found)) in hunks.iter().zip(&all).enumerate() {
            if found.is_empty() {
                return Err(self.refused(index, hunk));
            }
        }
        let mut places = Vec::with_capacity(all.len());
        for (index, (hunk, found)) in hunks.iter().zip(all).enumerate() {
            match found.as_slice() {
                [one] => places.push(*one),
                many => {
                    return Err(self.sheet.ambiguous(index, many, old_side(hunk).count()));
                }
            }
        }
        Ok(places)
    }

    fn fits(&self, hunk: &DiffHunk, at: usize) -> bool {
        self.holds(old_side(hunk).map(|line| line.line.text()), at) && self.end(hunk, at).is_none()
    }

    /// Whether these lines stand at a line index, whatever the last one ends with.
    fn holds<'l>(&self, mut wanted: impl Iterator<Item = &'l str>, at: usize) -> bool {
        let mut there = self.sheet.lines.iter().skip(at);
        wanted.all(|wanted| there.next().is_some_and(|there| self.is(there, wanted)))
    }

    fn is(&self, there: &str, wanted: &str) -> bool {
        let there = there.strip_suffix(self.separator).unwrap_or(there);
        let folds = !self.literal && self.separator == '\n';
        there == wanted || (folds && there.strip_suffix('\r') == Some(wanted))
    }

    /// How the hunk and the file disagree on the end of the file, when the hunk stands at a line index.
    fn end(&self, hunk: &DiffHunk, at: usize) -> Option<FileEnd> {
        let behind = at + old_side(hunk).count();
        for (line, there) in old_side(hunk).zip(self.sheet.lines.iter().skip(at)) {
            match (line.ended, there.ends_with(self.separator)) {
                (true, false) => return Some(FileEnd::Open),
                (false, true) if behind == self.sheet.lines.len() => return Some(FileEnd::Closed),
                _ => {}
            }
        }
        let ends_there = hunk.lines.iter().any(|line| !line.ended);
        (ends_there && behind != self.sheet.lines.len()).then_some(FileEnd::Later)
    }

    /// Why a hunk fits nowhere.
    fn refused(&self, index: usize, hunk: &DiffHunk) -> ChangeError {
        let holds = |at: &usize| self.holds(old_side(hunk).map(|line| line.line.text()), *at);
        let stated = Some(stated(hunk)).filter(holds);
        let mut anywhere = (0..self.sheet.lines.len()).filter(holds);
        if let Some(at) = stated.or_else(|| anywhere.next())
            && let Some(end) = self.end(hunk, at)
        {
            let (path, line) = (self.sheet.path.clone(), as_line(at + old_side(hunk).count() - 1));
            return ChangeError::FinalNewline { path, hunk: index, line, end };
        }
        let after = || hunk.lines.iter().filter_map(|line| line.line.after());
        let applied = new_side_is_telling(hunk.lines.iter().map(|line| &line.line))
            && (0..self.sheet.lines.len()).any(|at| self.holds(after(), at));
        let before: Vec<&str> = old_side(hunk).map(|line| line.line.text()).collect();
        self.sheet.no_match(index, &before, applied)
    }

    fn fit(&self, hunk: &DiffHunk, at: usize) -> Fit {
        let mut there = old_side(hunk).zip(self.sheet.lines.iter().skip(at));
        let body = |there: &&'a str| there.strip_suffix(self.separator).unwrap_or(there);
        if self.separator != '\n' || there.any(|(line, there)| body(there) != line.line.text()) {
            return Fit::Folded;
        }
        let mut there = self.sheet.lines.iter().skip(at).take(old_side(hunk).count());
        match self.literal || there.any(|line| line.ends_with('\n')) {
            true => Fit::Exact,
            false => Fit::Unended,
        }
    }

    /// Writes the hunk that starts at line index `at`; the index of the first line behind it.
    fn rewrite(&self, made: &mut Made, hunk: &DiffHunk, at: usize, fit: Fit) -> usize {
        let mut next = at;
        for DiffLine { line, ended } in &hunk.lines {
            match line {
                HunkLine::Context(_) => {
                    made.keep(&self.sheet, next, next + 1);
                    next += 1;
                }
                HunkLine::Remove(_) => next += 1,
                HunkLine::Add(text) => {
                    let shown = fit == Fit::Exact || text.ends_with('\r');
                    let ending = match ended {
                        false => "",
                        true if shown => "\n",
                        true => self.sheet.ending_near(next),
                    };
                    made.push(text, ending, &self.sheet, next);
                }
            }
        }
        next
    }
}

/// Context and removed lines.
fn old_side(hunk: &DiffHunk) -> impl Iterator<Item = &DiffLine> {
    hunk.lines.iter().filter(|line| line.line.before().is_some())
}

/// The line index that the hunk's header states.
fn stated(hunk: &DiffHunk) -> usize {
    usize::try_from(hunk.first_index()).unwrap_or(usize::MAX)
}

/// By how many lines a place differs from the stated one.
fn offset(hunk: &DiffHunk, at: usize) -> i64 {
    let signed = |index: usize| i64::try_from(index).unwrap_or(i64::MAX);
    signed(at).saturating_sub(signed(stated(hunk)))
}
