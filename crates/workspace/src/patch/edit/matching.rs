//! Finding the one place that a text names, and describing the near ones when there is none.
//!
//! Only exact text counts as found. Looser comparisons exist for the error message alone: none of them may ever
//! choose a place (P3).

use memchr::memmem;

use crate::patch::error::{Candidate, Difference, LineRange, MAX_RANGES};
use crate::text::{LineEnding, Lines, cut};

/// The most candidates that an error shows.
const MAX_CANDIDATES: usize = 3;

/// The longest excerpt of a candidate, in bytes.
const EXCERPT_BYTES: usize = 400;

/// Where lines are only compared this far down a long text, so that an error costs a bounded time.
const COMPARED_LINES: usize = 100_000;

/// How many lines of a long `old` are compared loosely.
const COMPARED_OLD_LINES: usize = 40;

/// `text` with the line endings that a file has, where it has one kind (P7, P-018).
pub(crate) fn with_endings(text: &str, ending: LineEnding) -> String {
    match ending.bytes() {
        Some(bytes) if text.contains(['\n', '\r']) => {
            text.replace("\r\n", "\n").replace('\n', bytes)
        }
        _ => text.to_owned(),
    }
}

/// Every place of `old` in `text`, as byte offsets, overlapping ones included.
pub(crate) fn places(text: &str, old: &str) -> Vec<usize> {
    let finder = memmem::Finder::new(old);
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text.as_bytes().get(from..).and_then(|rest| finder.find(rest)) {
        found.push(from + at);
        from += at + 1;
    }
    found
}

/// The lines that `length` bytes at each offset cover, the first [`MAX_RANGES`] of them.
pub(crate) fn ranges(lines: &Lines, places: &[usize], length: usize) -> Vec<LineRange> {
    let range = |at: &usize| LineRange {
        first: as_line(lines.at(*at)),
        last: as_line(lines.at(at + length.saturating_sub(1))),
    };
    places.iter().take(MAX_RANGES).map(range).collect()
}

/// A line index from 0 as the number that people use.
pub(crate) fn as_line(index: usize) -> u64 {
    u64::try_from(index).map_or(u64::MAX, |index| index.saturating_add(1))
}

/// The places that come nearest to `old`, which is nowhere in `text`.
pub(crate) fn candidates(text: &str, old: &str) -> Vec<Candidate> {
    let old: Vec<&str> = old.lines().take(COMPARED_OLD_LINES).collect();
    let lines: Vec<&str> = text.split_inclusive('\n').take(COMPARED_LINES).collect();
    if old.is_empty() || lines.is_empty() {
        return Vec::new();
    }
    let mut near = Vec::new();
    for (at, window) in windows(&lines, old.len()) {
        if let Some((rank, difference)) = compare(window, &old) {
            near.push((rank, at, difference));
        }
    }
    near.sort();
    let candidate = |(_, at, difference): &(u32, usize, Difference)| {
        let last = (at + old.len()).min(lines.len());
        let shown: String = lines.get(*at..last).unwrap_or_default().concat();
        Candidate {
            lines: LineRange { first: as_line(*at), last: as_line(last.saturating_sub(1)) },
            excerpt: cut(&shown, EXCERPT_BYTES).to_owned(),
            difference: *difference,
        }
    };
    near.iter().take(MAX_CANDIDATES).map(candidate).collect()
}

/// Runs of `size` lines with the index of their first; the whole text when it is shorter.
fn windows<'a, 'b>(
    lines: &'b [&'a str],
    size: usize,
) -> impl Iterator<Item = (usize, &'b [&'a str])> {
    lines.windows(size.min(lines.len()).max(1)).enumerate()
}

/// How near a window comes, smaller is nearer; `None` when it is not near.
fn compare(window: &[&str], old: &[&str]) -> Option<(u32, Difference)> {
    type Fold = fn(&str) -> String;
    let folds: [(Difference, Fold); 6] = [
        (Difference::LineEnding, |line| line.trim_end_matches(['\r', '\n']).to_owned()),
        (Difference::TrailingSpace, |line| line.trim_end().to_owned()),
        (Difference::Indentation, |line| line.trim().to_owned()),
        (Difference::Whitespace, |line| line.split_whitespace().collect()),
        (Difference::UnicodePunctuation, plain),
        (Difference::Case, |line| plain(line).to_lowercase()),
    ];
    // Nearly every window fails on its cheapest test, so that one comes first.
    let alike = window.iter().zip(old).filter(|(there, wanted)| similar(there, wanted)).count();
    if alike * 2 < old.len().max(1) {
        return None;
    }
    if window.len() == old.len() {
        for (rank, (difference, fold)) in folds.into_iter().enumerate() {
            if window.iter().zip(old).all(|(there, wanted)| fold(there) == fold(wanted)) {
                return Some((u32::try_from(rank).unwrap_or(u32::MAX), difference));
            }
        }
    }
    let unlike = u32::try_from(old.len() - alike.min(old.len())).unwrap_or(u32::MAX);
    Some((unlike.saturating_add(10), Difference::Text))
}

/// Whether two lines are the same but for case, space and punctuation marks, or share most of their text.
fn similar(there: &str, wanted: &str) -> bool {
    let (there, wanted) = (there.trim(), wanted.trim());
    if there == wanted {
        return true;
    }
    if there.is_empty() || wanted.is_empty() {
        return false;
    }
    let bytes = || there.bytes().zip(wanted.bytes());
    let same = |(a, b): &(u8, u8)| a.eq_ignore_ascii_case(b);
    let start = bytes().take_while(same).count();
    let end = there.bytes().rev().zip(wanted.bytes().rev()).take_while(same).count();
    let longer = there.len().max(wanted.len());
    let shared = (start + end).min(there.len().min(wanted.len()));
    if shared * 5 >= longer * 3 {
        return true;
    }
    let length = |text: &str| text.chars().filter(|c| !c.is_whitespace()).count();
    length(there) == length(wanted) && plain(there).eq_ignore_ascii_case(&plain(wanted))
}

/// Without space, and with dashes and quotes as ASCII has them.
fn plain(line: &str) -> String {
    let mark = |character| match character {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}' => '\'',
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{201f}' => '"',
        other => other,
    };
    line.chars().filter(|character| !character.is_whitespace()).map(mark).collect()
}
