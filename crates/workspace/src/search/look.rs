//! Looking into one file: is it text, and which of its lines match.
//!
//! The file is opened beneath the root without following a link or waiting, and judged by its descriptor. Text
//! is UTF-8, UTF-16 behind a mark, or else bytes that are compared both as they are and as the western
//! single-byte set. It must never search the start of a file and call it the whole.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;

use encoding_rs::{UTF_16BE, UTF_16LE, WINDOWS_1252};
use grep_matcher::{LineTerminator, Matcher};
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use rustix::fs::OFlags;

use crate::path::RepoPath;
use crate::root::Workspace;
use crate::root::beneath::{self, FileKind, Links, Status};
use crate::search::skip::Reason;
use crate::search::walk::opening;
use crate::search::{MAX_HITS_COUNTED, MAX_HITS_PER_LINE, SearchRequest, generated};
use crate::text::{self, Encoding};

/// How many matched lines lie between two questions whether to stop.
const STEP_LINES: usize = 256;

/// Loads the bytes of a file into `buffer`. The reason is `None` when the file is gone.
pub(super) fn load(
    workspace: &Workspace,
    path: &RepoPath,
    request: &SearchRequest,
    buffer: &mut Vec<u8>,
) -> Result<(), Option<Reason>> {
    buffer.clear();
    let fd = beneath::open_raw(workspace.fd(), path.as_bytes(), OFlags::RDONLY, Links::Refuse)
        .map_err(opening)?;
    let status = Status::of(&fd).map_err(opening)?;
    if status.kind != FileKind::File {
        return Err(Some(Reason::Special));
    }
    if status.size_bytes > request.max_file_bytes {
        return Err(Some(Reason::Oversized));
    }
    buffer.reserve(usize::try_from(status.size_bytes).unwrap_or(0).saturating_add(1));
    let bound = request.max_file_bytes.saturating_add(1);
    let read =
        File::from(fd).take(bound).read_to_end(buffer).map_err(|_| Some(Reason::Unreadable))?;
    if read as u64 > request.max_file_bytes {
        // It grew since its size was asked for.
        return Err(Some(Reason::Oversized));
    }
    let is_generated = !request.include_generated && generated::by_head(buffer);
    if is_generated { Err(Some(Reason::Generated)) } else { Ok(()) }
}

/// Text to search.
pub(super) struct Source<'a> {
    /// The decoded text, without its mark. Lines end with a line feed, also where the file has single
    /// carriage returns; those keep their place.
    pub(super) text: Cow<'a, str>,
    /// The bytes as they are, when they are no UTF-8.
    raw: Option<&'a [u8]>,
    /// Whether the decoded text is more than a way to show these bytes.
    is_text: bool,
}

/// Understands bytes as text.
pub(super) fn source(bytes: &[u8]) -> Result<Source<'_>, Reason> {
    if text::has_utf32_mark(bytes) {
        return Err(Reason::Undecodable);
    }
    let wide = [(Encoding::Utf16Le, UTF_16LE), (Encoding::Utf16Be, UTF_16BE)]
        .into_iter()
        .find_map(|(encoding, set)| Some((bytes.strip_prefix(encoding.mark())?, set)));
    let decoded = wide.map(|(rest, set)| set.decode_without_bom_handling(rest).0);
    if memchr::memchr(0, decoded.as_deref().map_or(bytes, str::as_bytes)).is_some() {
        return Err(Reason::Binary);
    }
    if let Some(text) = decoded {
        return Ok(Source { text: only_feeds(text), raw: None, is_text: true });
    }
    let rest = bytes.strip_prefix(Encoding::Utf8Bom.mark()).unwrap_or(bytes);
    if let Ok(text) = std::str::from_utf8(rest) {
        return Ok(Source { text: only_feeds(text.into()), raw: None, is_text: true });
    }
    let (text, _) = WINDOWS_1252.decode_without_bom_handling(bytes);
    let is_text = !text::has_binary_controls(bytes);
    Ok(Source { text: only_feeds(text), raw: Some(bytes), is_text })
}

/// Line feeds where a text has carriage returns alone, at the same places.
fn only_feeds(text: Cow<'_, str>) -> Cow<'_, str> {
    let has = |byte| memchr::memchr(byte, text.as_bytes()).is_some();
    if !has(b'\n') && has(b'\r') { text.replace('\r', "\n").into() } else { text }
}

/// A matched line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// From 1.
    pub(super) number: u64,
    /// Where it starts and ends in the decoded text, its ending left out.
    pub(super) start: usize,
    pub(super) end: usize,
    /// The first hits in the decoded text.
    pub(super) hits: Vec<(usize, usize)>,
    pub(super) hits_on_line: u64,
}

/// What is wanted of one file.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) matcher: &'a RegexMatcher,
    /// Lines that start here or before were shown already.
    pub(super) behind: Option<u64>,
    /// The most lines to collect.
    pub(super) max_lines: usize,
    /// Whether hits are located, or lines only counted.
    pub(super) locate: bool,
    pub(super) stop: &'a (dyn Fn() -> bool + Sync),
}

/// Finds the matched lines; `None` when it was stopped.
pub(super) fn lines(source: &Source<'_>, wanted: &Wanted<'_>) -> Option<Vec<Line>> {
    let found = if source.is_text {
        search(source.text.as_bytes(), wanted, wanted.behind)?
    } else {
        Vec::new()
    };
    let Some(raw) = source.raw else {
        return Some(found);
    };
    // Where the position lies in these bytes is not known yet, so all of their lines are looked at.
    let as_bytes = search(raw, &Wanted { max_lines: usize::MAX, ..*wanted }, None)?;
    let mut all = to_decoded(raw, &source.text, as_bytes);
    all.retain(|line| wanted.behind.is_none_or(|behind| line.start as u64 > behind));
    all.extend(found);
    // Of a line that was found both ways the one with hits in the decoded text, which came last, is kept.
    all.sort_by_key(|line| line.number);
    all.reverse();
    all.dedup_by_key(|line| line.number);
    all.reverse();
    all.truncate(wanted.max_lines);
    Some(all)
}

/// Counts the matched lines; `None` when it was stopped.
pub(super) fn count(source: &Source<'_>, wanted: &Wanted<'_>) -> Option<u64> {
    if source.raw.is_some() {
        return lines(source, wanted).map(|lines| lines.len() as u64);
    }
    let mut count = 0;
    let mut stopped = false;
    let sink = grep_searcher::sinks::Bytes(|_, _| {
        count += 1;
        stopped = u64::is_multiple_of(count, STEP_LINES as u64) && (wanted.stop)();
        Ok(!stopped)
    });
    searcher().search_slice(wanted.matcher, source.text.as_bytes(), sink).ok()?;
    (!stopped).then_some(count)
}

fn searcher() -> Searcher {
    SearcherBuilder::new()
        .line_terminator(LineTerminator::crlf())
        .line_number(true)
        .bom_sniffing(false)
        .binary_detection(BinaryDetection::none())
        .build()
}

/// Finds lines in bytes; their offsets are in these bytes.
fn search(bytes: &[u8], wanted: &Wanted<'_>, behind: Option<u64>) -> Option<Vec<Line>> {
    let mut lines = Lines { wanted, behind, found: Vec::new(), stopped: false };
    // This sink and a search in memory have no failures.
    searcher().search_slice(wanted.matcher, bytes, &mut lines).ok()?;
    (!lines.stopped).then_some(lines.found)
}

/// Collects matched lines.
struct Lines<'a> {
    wanted: &'a Wanted<'a>,
    behind: Option<u64>,
    found: Vec<Line>,
    stopped: bool,
}

impl Sink for Lines<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        let start = found.absolute_byte_offset();
        if self.behind.is_some_and(|behind| start <= behind) {
            return Ok(true);
        }
        if self.found.len().is_multiple_of(STEP_LINES) && (self.wanted.stop)() {
            self.stopped = true;
            return Ok(false);
        }
        let bytes = found.bytes();
        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        let (hits, hits_on_line) = if self.wanted.locate {
            hits(self.wanted.matcher, line, start)
        } else {
            (Vec::new(), 0)
        };
        let shown = line.strip_suffix(b"\r").unwrap_or(line);
        self.found.push(Line {
            number: found.line_number().unwrap_or(0),
            start,
            end: start.saturating_add(shown.len()),
            hits,
            hits_on_line,
        });
        Ok(self.found.len() < self.wanted.max_lines)
    }
}

/// The hits of one line that starts at `offset`.
fn hits(matcher: &RegexMatcher, line: &[u8], offset: usize) -> (Vec<(usize, usize)>, u64) {
    let mut hits = Vec::new();
    let mut count = 0;
    let each = |hit: grep_matcher::Match| {
        if hits.len() < MAX_HITS_PER_LINE {
            hits.push((offset.saturating_add(hit.start()), offset.saturating_add(hit.end())));
        }
        count += 1;
        count < MAX_HITS_COUNTED
    };
    // This matcher has no failures.
    matcher.find_iter(line, each).ok();
    (hits, count)
}

/// Moves offsets in the bytes to where the same characters are in the decoded text.
fn to_decoded(raw: &[u8], text: &str, mut lines: Vec<Line>) -> Vec<Line> {
    let mut places = Places { raw, raw_at: 0, text_at: 0 };
    for line in &mut lines {
        line.start = places.of(line.start);
        let from = (places.raw_at, places.text_at);
        for hit in &mut line.hits {
            // Hits do not overlap, so places only go forward.
            hit.0 = places.of(hit.0);
            hit.1 = places.of(hit.1);
        }
        (places.raw_at, places.text_at) = from;
        line.end = places.of(line.end).min(text.len());
    }
    lines
}

/// Offsets in bytes of the single-byte set, and the same in its decoded form, going forward.
struct Places<'a> {
    raw: &'a [u8],
    raw_at: usize,
    text_at: usize,
}

impl Places<'_> {
    fn of(&mut self, raw_at: usize) -> usize {
        let between = self.raw.get(self.raw_at..raw_at).unwrap_or_default();
        self.text_at += WINDOWS_1252.decode_without_bom_handling(between).0.len();
        self.raw_at = self.raw_at.max(raw_at);
        self.text_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use grep_regex::RegexMatcherBuilder;

    fn found(bytes: &[u8], query: &str) -> Vec<(u64, String)> {
        let matcher = RegexMatcherBuilder::new().multi_line(true).crlf(true).build(query).unwrap();
        let wanted = Wanted {
            matcher: &matcher,
            behind: None,
            max_lines: 100,
            locate: true,
            stop: &|| false,
        };
        let source = source(bytes).unwrap();
        let lines = lines(&source, &wanted).unwrap();
        let shown = |line: &Line| {
            let hits: Vec<&str> =
                line.hits.iter().map(|hit| source.text.get(hit.0..hit.1).unwrap()).collect();
            assert!(line.hits.iter().all(|hit| hit.0 >= line.start && hit.1 <= line.end));
            (line.number, hits.join("|"))
        };
        lines.iter().map(shown).collect()
    }

    #[test]
    fn w4_hits_lie_in_the_decoded_text_whatever_the_encoding() {
        let one = |number: u64, text: &str| vec![(number, text.to_owned())];
        assert_eq!(found("é\nx é y é\n".as_bytes(), "é y"), one(2, "é y"));
        assert_eq!(found(b"a\xE9\ncaf\xE9 caf\xE9\n", "café"), one(2, "café|café"));
        assert_eq!(found(b"\xE9\xE9\n\xFF\xE9 foo\xE9 foo\n", "foo"), one(2, "foo|foo"));
        // One bad byte does not hide what is good UTF-8 in the same file.
        assert_eq!(found("\u{e9} 日本 x\n".as_bytes(), "日本"), one(1, "日本"));
        let mut mixed = "é 日本\nplain\n".as_bytes().to_vec();
        mixed.push(0xFF);
        assert_eq!(found(&mixed, "日本"), one(1, "æ—¥æœ¬"));
        // Neither UTF-8 nor text of the single-byte set: compared as bytes only.
        assert_eq!(found(b"\x01\xE9 x\n", "é"), []);
        assert_eq!(found(b"\x01\xE9 x\n", "x"), one(1, "x"));
        assert_eq!(found(b"\xFF\xFEx\0\n\0n\0e\0", "ne"), one(2, "ne"));
        assert_eq!(found(b"a\rneedle\rb", "^needle$"), one(2, "needle"));
        assert_eq!(found(b"a\r\nneedle\r\nb", "^needle$"), one(2, "needle"));
        assert_eq!(found(b"\xEF\xBB\xBFneedle", "^needle"), one(1, "needle"));
    }

    #[test]
    fn w5_what_is_no_text_says_why() {
        assert_eq!(source(b"a\0b").err(), Some(Reason::Binary));
        assert_eq!(source(b"\xFF\xFEx\0\0\0").err(), Some(Reason::Binary));
        assert_eq!(source(b"\xFF\xFE\0\0x\0\0\0").err(), Some(Reason::Undecodable));
        assert!(source(b"").is_ok());
    }
}
