//! One page of a text: which piece of it a request gets, and what is left.
//!
//! A page is one contiguous piece and is never empty unless the text is; that is what makes a chain of
//! continuations end. It must never cut inside a character.

use crate::path::RepoPath;
use crate::read::{
    BinaryFile, Bound, Content, Range, ReadError, ReadOutcome, ReadRequest, TextPage, Truncation,
    media,
};
use crate::text::{self, LineEnding, Lines};

/// Answers a request from the content of its file.
pub(super) fn answer(request: &ReadRequest, content: Content) -> Result<ReadOutcome, ReadError> {
    let unit = match request.range {
        Range::All => None,
        Range::Lines { .. } => Some("lines"),
        Range::Bytes { .. } => Some("bytes of text"),
        Range::After { .. } => Some("entries"),
    };
    let wrong = |unit| ReadError::WrongRange { path: request.path.clone(), unit };
    if matches!(request.range, Range::After { .. }) {
        return Err(wrong("entries"));
    }
    let Some(decoded) = text::decode(&content.bytes) else {
        if let Some(unit) = unit {
            return Err(wrong(unit));
        }
        return Ok(ReadOutcome::Binary(describe(content)));
    };
    let line_ending = LineEnding::of(decoded.text.as_bytes());
    let lines = Lines::of(decoded.text.as_bytes(), line_ending);
    let source = Source { path: &request.path, text: &decoded.text, lines: &lines };
    let wanted = source.wanted(&request.range)?;
    let piece = if wanted.by_line {
        source.by_lines(&wanted, request)
    } else {
        source.by_bytes(&wanted, request)
    };
    let shown = decoded.text.get(wanted.start..piece.end).unwrap_or_default();
    let line = |offset| if lines.count() == 0 { 0 } else { wide(lines.at(offset)) + 1 };
    let (truncation, continuation) = source.rest(&wanted, &piece);
    Ok(ReadOutcome::Text(TextPage {
        text: shown.to_owned(),
        first_line: line(wanted.start),
        last_line: line(piece.end.saturating_sub(1).max(wanted.start)),
        start_byte: wide(wanted.start),
        end_byte: wide(piece.end),
        total_lines: wide(lines.count()),
        text_bytes: wide(decoded.text.len()),
        total_bytes: wide(content.bytes.len()),
        encoding: decoded.encoding,
        lossless: decoded.lossless,
        line_ending,
        final_newline: decoded.text.ends_with(['\n', '\r']),
        executable: content.status.is_executable(),
        links: content.status.links,
        digest: content.digest,
        class: content.resolved.class,
        path: content.resolved.requested,
        real: content.resolved.real,
        truncation,
        continuation,
    }))
}

fn describe(content: Content) -> BinaryFile {
    BinaryFile {
        size_bytes: wide(content.bytes.len()),
        media_type: media::of(&content.bytes).to_owned(),
        executable: content.status.is_executable(),
        links: content.status.links,
        digest: content.digest,
        class: content.resolved.class,
        path: content.resolved.requested,
        real: content.resolved.real,
    }
}

/// The text that pages are cut from.
struct Source<'a> {
    path: &'a RepoPath,
    text: &'a str,
    lines: &'a Lines,
}

/// The piece that was asked for, in bytes of the text.
struct Wanted {
    start: usize,
    end: usize,
    /// Whether the page goes by lines.
    by_line: bool,
    /// Behind its last line, counted from 0, when lines were counted.
    last_line: Option<usize>,
}

/// The piece that is returned: from the start of the wanted one to here.
struct Piece {
    end: usize,
    bound: Option<Bound>,
}

impl Source<'_> {
    /// The piece that a range names.
    fn wanted(&self, range: &Range) -> Result<Wanted, ReadError> {
        match *range {
            Range::Lines { start, count } => self.wanted_lines(start, count),
            Range::Bytes { start, count } => self.wanted_bytes(start, count),
            Range::All | Range::After { .. } => {
                Ok(Wanted { start: 0, end: self.text.len(), by_line: true, last_line: None })
            }
        }
    }

    fn wanted_lines(&self, start: u64, count: Option<u64>) -> Result<Wanted, ReadError> {
        if count == Some(0) {
            return Err(ReadError::ZeroCount { unit: "lines" });
        }
        let first = start.checked_sub(1).ok_or(ReadError::ZeroStart)?;
        let total = wide(self.lines.count());
        // The first line of an empty file is where everything begins, though there is nothing yet.
        if first >= total && start != 1 {
            return Err(self.past_end("lines", start, total));
        }
        let behind = count.map(|count| narrow(first.saturating_add(count).min(total)));
        Ok(Wanted {
            start: self.lines.start(narrow(first)),
            end: behind.map_or(self.text.len(), |line| self.lines.start(line)),
            by_line: true,
            last_line: behind,
        })
    }

    fn wanted_bytes(&self, start: u64, count: Option<u64>) -> Result<Wanted, ReadError> {
        if count == Some(0) {
            return Err(ReadError::ZeroCount { unit: "bytes" });
        }
        let total = wide(self.text.len());
        if start >= total && start != 0 {
            return Err(self.past_end("bytes", start, total));
        }
        let end = count.map_or(total, |count| start.saturating_add(count).min(total));
        Ok(Wanted {
            start: text::floor(self.text, narrow(start)),
            end: text::ceil(self.text, narrow(end)),
            by_line: false,
            last_line: None,
        })
    }

    fn past_end(&self, unit: &'static str, start: u64, total: u64) -> ReadError {
        ReadError::PastEnd { path: self.path.clone(), unit, start, total }
    }

    /// As much of a byte range as the bounds allow, whatever the lines are.
    fn by_bytes(&self, wanted: &Wanted, request: &ReadRequest) -> Piece {
        let mut piece = Piece { end: wanted.end, bound: None };
        let first = self.lines.at(wanted.start);
        let behind = self.lines.start(first.saturating_add(narrow(request.max_lines)));
        if behind < piece.end {
            piece = Piece { end: behind, bound: Some(Bound::Lines) };
        }
        let most = self.step_json(wanted.start, narrow(request.max_bytes));
        if most < piece.end {
            piece = Piece { end: most, bound: Some(Bound::Bytes) };
        }
        piece
    }

    /// As many whole lines as the bounds allow. A line that is too long alone is clipped and ends the page.
    fn by_lines(&self, wanted: &Wanted, request: &ReadRequest) -> Piece {
        let mut room = narrow(request.max_bytes);
        let first = self.lines.at(wanted.start);
        let mut end = wanted.start;
        let mut line = first;
        while end < wanted.end {
            if line - first >= narrow(request.max_lines) {
                return Piece { end, bound: Some(Bound::Lines) };
            }
            let behind = self.lines.start(line + 1).min(wanted.end);
            let content =
                self.text.get(end..behind).unwrap_or_default().trim_end_matches(['\r', '\n']);
            let clipped = self.step(end, narrow(request.max_line_bytes));
            let too_long = content.len() > narrow(request.max_line_bytes) && clipped < behind;
            let stop = if too_long { clipped } else { behind };
            let cost = text::json_bytes(self.text.get(end..stop).unwrap_or_default());
            if cost > room {
                // Something is always returned: a piece of the line if not even one line fits.
                let bound = Some(Bound::Bytes);
                let none_yet = end == wanted.start;
                let end = if none_yet { self.step_json(end, room) } else { end };
                return Piece { end, bound: bound.filter(|_| end < wanted.end) };
            }
            if too_long {
                return Piece { end: stop, bound: Some(Bound::LineBytes) };
            }
            room -= cost;
            end = behind;
            line += 1;
        }
        Piece { end, bound: None }
    }

    /// The end of at most `bytes` of text from `start` on, but of one character at least.
    fn step(&self, start: usize, bytes: usize) -> usize {
        let end = text::floor(self.text, start.saturating_add(bytes));
        if end > start { end } else { text::ceil(self.text, start.saturating_add(1)) }
    }

    /// The same with bytes counted as JSON has them.
    fn step_json(&self, start: usize, bytes: usize) -> usize {
        let rest = self.text.get(start..).unwrap_or_default();
        self.step(start, text::cut_json(rest, bytes).len())
    }

    /// What a cut left, and how to go on.
    fn rest(&self, wanted: &Wanted, piece: &Piece) -> (Option<Truncation>, Option<Range>) {
        let Some(bound) = piece.bound else {
            return (None, None);
        };
        let line = self.lines.at(piece.end);
        let last = self.lines.at(wanted.end.saturating_sub(1));
        let mid_line = self.lines.start(line) != piece.end;
        // Behind the cut, counted in lines, as far as lines were asked for.
        let from = |line: usize| {
            let count = wanted.last_line.map(|behind| wide(behind.saturating_sub(line)));
            let some = wanted.by_line && line < self.lines.count() && count != Some(0);
            some.then_some(Range::Lines { start: wide(line) + 1, count })
        };
        let whole_rest = wanted.end == self.text.len();
        let bytes = Range::Bytes {
            start: wide(piece.end),
            count: (!whole_rest).then_some(wide(wanted.end.saturating_sub(piece.end))),
        };
        let truncation = Truncation {
            bound,
            remaining_lines: wide((last + 1).saturating_sub(line)),
            remaining_bytes: wide(wanted.end.saturating_sub(piece.end)),
            skip_line: if mid_line { from(line + 1) } else { None },
        };
        let lines = if mid_line { None } else { from(line) };
        (Some(truncation), Some(lines.unwrap_or(bytes)))
    }
}

fn wide(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn narrow(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
