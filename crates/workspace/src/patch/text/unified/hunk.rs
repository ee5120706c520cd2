//! One hunk of a unified diff: its header, and as many lines as the header says.

use super::Lines;
use crate::patch::change::{DiffHunk, HunkLine, after, before};
use crate::patch::text::error::{DiffCause, DiffError};

/// Whether a line opens a hunk.
pub(super) fn is_header(line: &str) -> bool {
    line.starts_with("@@")
}

/// Reads the hunk that the next line opens.
pub(super) fn read(lines: &mut Lines<'_>) -> Result<DiffHunk, DiffError> {
    let number = lines.number();
    let header = lines.peek().and_then(Header::read);
    let header = header.ok_or_else(|| lines.expected("`@@ -line,count +line,count @@`"))?;
    lines.skip();
    let stated = (header.old_lines, header.new_lines);
    let start = lines.next;
    let mut hunk = DiffHunk { first: header.first, ..DiffHunk::default() };
    let (mut old, mut new) = stated;
    while (old, new) != (0, 0) {
        let Some(line) = line(lines.peek()).filter(|line| fits(line, old, new)) else {
            return Err(miscounted(lines, number, stated, start));
        };
        lines.skip();
        let of_old = !matches!(line, HunkLine::Add(_));
        let of_new = !matches!(line, HunkLine::Remove(_));
        hunk.lines.push(line);
        old -= u64::from(of_old);
        new -= u64::from(of_new);
        if is_marker(lines.peek()) {
            // Behind a line of both sides it is about both.
            if (of_old && old > 0) || (of_new && new > 0) {
                return Err(lines.error(DiffCause::Marker));
            }
            hunk.unended_before |= of_old;
            hunk.unended_after |= of_new;
            lines.skip();
        }
    }
    let goes_on = lines.peek().is_some_and(|line| line.starts_with([' ', '+', '-', '\\']));
    if goes_on && !lines.starts_sides() {
        return Err(miscounted(lines, number, stated, start));
    }
    let same = before(&hunk.lines) == after(&hunk.lines);
    if same && hunk.unended_before == hunk.unended_after {
        return Err(DiffError::new(number, DiffCause::NoChange));
    }
    Ok(hunk)
}

/// The numbers of a header.
struct Header {
    first: u64,
    old_lines: u64,
    new_lines: u64,
}

impl Header {
    fn read(line: &str) -> Option<Self> {
        let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
        let (new, _) = rest.split_once(" @@")?;
        let (first, old_lines) = numbers(old)?;
        let (_, new_lines) = numbers(new)?;
        // Line 0 is the place before the first line of an empty side.
        (first > 0 || old_lines == 0).then_some(Self { first, old_lines, new_lines })
    }
}

fn numbers(text: &str) -> Option<(u64, u64)> {
    let number = |text: &str| {
        text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
    };
    match text.split_once(',') {
        Some((first, count)) => Some((number(first)?, number(count)?)),
        None => Some((number(text)?, 1)),
    }
}

/// The refusal of a hunk that has not as many lines as its header, in line `header`, says.
fn miscounted(lines: &Lines<'_>, header: usize, stated: (u64, u64), start: usize) -> DiffError {
    let counted = count(lines, start);
    if counted == stated {
        return lines.expected("a line that starts with a space, `-` or `+`");
    }
    DiffError::new(header, DiffCause::Counts { stated, counted })
}

/// How many lines of the old and of the new side there are up to what must be another hunk or file.
fn count(lines: &Lines<'_>, start: usize) -> (u64, u64) {
    let (mut old, mut new, mut blank) = (0, 0, 0);
    for at in start.. {
        let Some(text) = lines.all.get(at).filter(|_| !lines.starts_sides_at(at)) else { break };
        match line(Some(text)) {
            // Only lines of the hunk behind it make an empty line one of its own.
            Some(HunkLine::Context(_)) if text.is_empty() => {
                blank += 1;
                continue;
            }
            Some(line) => {
                old += blank + u64::from(!matches!(line, HunkLine::Add(_)));
                new += blank + u64::from(!matches!(line, HunkLine::Remove(_)));
            }
            None if is_marker(Some(text)) => {}
            None => break,
        }
        blank = 0;
    }
    (old, new)
}

/// Whether the sides that a line is of have lines to come.
fn fits(line: &HunkLine, old: u64, new: u64) -> bool {
    match line {
        HunkLine::Context(_) => old > 0 && new > 0,
        HunkLine::Remove(_) => old > 0,
        HunkLine::Add(_) => new > 0,
    }
}

fn line(text: Option<&str>) -> Option<HunkLine> {
    let mut characters = text?.chars();
    let mark = characters.next();
    let rest = characters.as_str().to_owned();
    match mark {
        // An empty context line loses its one space in many hands.
        None => Some(HunkLine::Context(String::new())),
        Some(' ') => Some(HunkLine::Context(rest)),
        Some('-') => Some(HunkLine::Remove(rest)),
        Some('+') => Some(HunkLine::Add(rest)),
        Some(_) => None,
    }
}

/// Whether a line says that the one before it has no line ending; the words differ by language.
fn is_marker(line: Option<&str>) -> bool {
    line.is_some_and(|line| line.starts_with('\\'))
}
