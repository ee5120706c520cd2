//! One hunk: its header, its lines, and the counts that must agree.
//!
//! The counts say where a hunk ends, so a removed line that begins like a header is still a line.

use crate::patch::change::{DiffHunk, DiffLine, HunkLine};
use crate::patch::notation::unified::Lines;
use crate::patch::notation::unified::header::{NEW, OLD};
use crate::patch::notation::{NotationError, NotationFault};

/// What the header of a hunk says.
struct Stated {
    number: usize,
    old_first: u64,
    old: u64,
    new: u64,
}

/// Lines of each side.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Sides {
    old: u64,
    new: u64,
}

impl Sides {
    fn count(&mut self, line: &HunkLine) {
        self.old += u64::from(line.before().is_some());
        self.new += u64::from(line.after().is_some());
    }
}

/// Reads the hunk that the next line heads; `above` is the one before it in the same file.
pub(super) fn read(
    lines: &mut Lines<'_>,
    above: Option<&DiffHunk>,
) -> Result<DiffHunk, NotationError> {
    let stated = Stated::read(lines)?;
    let mut sides = Sides::default();
    let mut hunk = DiffHunk { old_first: stated.old_first, lines: Vec::new() };
    loop {
        let complete = sides.old >= stated.old && sides.new >= stated.new;
        let Some((number, text)) = lines.peek() else { break };
        if text.starts_with('\\') {
            end_without_newline(number, hunk.lines.last_mut())?;
        } else if complete {
            break;
        } else if let Some(line) = line(text) {
            sides.count(&line);
            hunk.lines.push(DiffLine { line, ended: true });
        } else {
            break;
        }
        lines.take();
    }
    go_on_counting(lines, &mut sides);
    stated.must_be(sides)?;
    check(&hunk, &stated, above)?;
    Ok(hunk)
}

/// Reads a line of a hunk; `None` when it is none.
fn line(text: &str) -> Option<HunkLine> {
    let mut characters = text.chars();
    let mark = characters.next();
    let rest = || characters.as_str().to_owned();
    match mark {
        // An empty context line loses its one space in many hands.
        None => Some(HunkLine::Context(String::new())),
        Some(' ') => Some(HunkLine::Context(rest())),
        Some('-') => Some(HunkLine::Remove(rest())),
        Some('+') => Some(HunkLine::Add(rest())),
        Some(_) => None,
    }
}

/// Counts the lines that follow a hunk and can only be its own, so that the error tells the right count.
fn go_on_counting(lines: &Lines<'_>, sides: &mut Sides) {
    let starts = |by, mark| lines.ahead(by).is_some_and(|(_, text)| text.starts_with(mark));
    for by in 0.. {
        let heads = starts(by, OLD) && starts(by + 1, NEW);
        match lines.ahead(by) {
            // A blank line may as well stand between two files.
            Some((_, text)) if !heads && !text.trim().is_empty() => match line(text) {
                Some(line) => sides.count(&line),
                None => return,
            },
            _ => return,
        }
    }
}

fn end_without_newline(
    number: usize,
    last: Option<&mut DiffLine>,
) -> Result<(), NotationError> {
    let Some(line) = last else {
        let expected = "`\\ No newline at end of file` stands behind the line that it is about";
        return Err(NotationError::expected(number, expected));
    };
    line.ended = false;
    Ok(())
}

impl Stated {
    fn read(lines: &mut Lines<'_>) -> Result<Self, NotationError> {
        let (number, text) = lines.take().unwrap_or_default();
        let expected = "a hunk begins with `@@ -l,c +l,c @@`: first line and count of either side";
        let wrong = || NotationError::expected(number, expected);
        let (old, rest) =
            text.strip_prefix("@@ -").and_then(|rest| rest.split_once(" +")).ok_or_else(wrong)?;
        let (new, _) = rest.split_once(" @@").ok_or_else(wrong)?;
        let (old_first, old) = span(old).ok_or_else(wrong)?;
        let (_, new) = span(new).ok_or_else(wrong)?;
        Ok(Self { number, old_first, old, new })
    }

    fn must_be(&self, sides: Sides) -> Result<(), NotationError> {
        if sides == (Sides { old: self.old, new: self.new }) {
            return Ok(());
        }
        let Sides { old, new } = sides;
        let fault =
            NotationFault::Count { old, new, stated_old: self.old, stated_new: self.new };
        Err(NotationError::new(self.number, fault))
    }
}

/// First line and count, which is 1 when it is not there.
fn span(text: &str) -> Option<(u64, u64)> {
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<u32>().ok().map(u64::from)).flatten()
    };
    match text.split_once(',') {
        Some((first, count)) => Some((number(first)?, number(count)?)),
        None => Some((number(text)?, 1)),
    }
}

fn check(hunk: &DiffHunk, stated: &Stated, above: Option<&DiffHunk>) -> Result<(), NotationError> {
    let expected = |what| Err(NotationError::expected(stated.number, what));
    if hunk.lines.iter().all(|line| matches!(line.line, HunkLine::Context(_))) {
        return expected("a hunk that removes and adds nothing");
    }
    if stated.old > 0 && stated.old_first == 0 {
        return expected("lines are counted from 1");
    }
    let sides: [fn(&HunkLine) -> Option<&str>; 2] = [HunkLine::before, HunkLine::after];
    let open = |hunk: &DiffHunk, side: fn(&HunkLine) -> Option<&str>| {
        let mut lines = hunk.lines.iter().filter(|line| side(&line.line).is_some());
        lines.by_ref().any(|line| !line.ended).then(|| lines.next().is_none())
    };
    if sides.iter().any(|side| open(hunk, *side) == Some(false)) {
        return expected("a line follows on a side that ended without a newline");
    }
    let Some(above) = above else { return Ok(()) };
    if sides.iter().any(|side| open(above, *side).is_some()) {
        return expected("the hunk above ended the file without a newline");
    }
    if hunk.first_index() < above.first_index().saturating_add(above.old_count()) {
        let fault = NotationFault::Order { first: stated.old_first };
        return Err(NotationError::new(stated.number, fault));
    }
    Ok(())
}
