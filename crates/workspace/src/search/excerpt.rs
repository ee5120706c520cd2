//! What is shown of a matched line: the part around its first hit, columns, and the lines beside it.
//!
//! Every piece of text is bounded and cut between characters, and a cut says so (P-015).

use crate::path::RepoPath;
use crate::search::look::Line;
use crate::search::{ContextLine, Hit, MAX_CONTEXT_LINES, Match, SearchRequest};
use crate::text;

/// Shows a matched line of `text`.
pub(super) fn show(path: &RepoPath, text: &str, line: &Line, request: &SearchRequest) -> Match {
    let whole = text.get(line.start..line.end).unwrap_or_default();
    let context_lines = request.context_lines.min(MAX_CONTEXT_LINES);
    let (excerpt, column) = around(whole, line, request.excerpt_bytes);
    Match {
        path: path.clone(),
        line: line.number,
        line_start: line.start as u64,
        hits: hits(text, line),
        hits_on_line: line.hits_on_line,
        clipped: excerpt.len() < whole.len(),
        excerpt: excerpt.to_owned(),
        excerpt_column: column as u64,
        before: before(text, line, context_lines, request.excerpt_bytes),
        after: after(text, line, context_lines, request.excerpt_bytes),
    }
}

/// What a match takes as JSON beside its texts, when it has every member: names of members, numbers.
const MATCH_BYTES: usize = 160;

/// The same for a line of context.
const CONTEXT_BYTES: usize = 28;

/// What a path takes as JSON beside itself.
const PATH_BYTES: usize = 48;

/// How many bytes of an answer a match takes, as JSON.
pub(super) fn size_bytes(found: &Match) -> u64 {
    let context = found.before.iter().chain(&found.after);
    let context = context.map(|line| CONTEXT_BYTES + text::json_bytes(&line.text));
    let texts = text::json_bytes(&found.path.to_string()) + text::json_bytes(&found.excerpt);
    (MATCH_BYTES + texts + context.sum::<usize>()) as u64
}

/// How many bytes of an answer a path takes, as JSON.
pub(super) fn path_bytes(path: &RepoPath) -> u64 {
    (PATH_BYTES + text::json_bytes(&path.to_string())) as u64
}

/// The part of a line around its first hit, and where it starts in the line.
fn around<'a>(whole: &'a str, line: &Line, bytes: usize) -> (&'a str, usize) {
    if text::cut_json(whole, bytes).len() == whole.len() {
        return (whole, 0);
    }
    let (start, end) = line.hits.first().copied().unwrap_or((line.start, line.start));
    let (start, end) = (start.saturating_sub(line.start), end.saturating_sub(line.start));
    let start = text::floor(whole, start);
    // The hit in the middle; as far as it fits, from its start on.
    let hit = text::json_bytes(whole.get(start..end).unwrap_or_default());
    let spare = bytes.saturating_sub(hit);
    let behind = text::json_bytes(whole.get(start..).unwrap_or_default());
    let before = (spare / 2).max(bytes.saturating_sub(behind));
    let from = text::cut_json_back(whole.get(..start).unwrap_or_default(), before);
    let rest = whole.get(from..).unwrap_or_default();
    (text::cut_json(rest, bytes), from)
}

fn hits(text: &str, line: &Line) -> Vec<Hit> {
    let mut units = 0;
    let mut at = line.start;
    let mut all = Vec::with_capacity(line.hits.len());
    for (start, end) in &line.hits {
        let between = text.get(at..*start).unwrap_or_default();
        units += between.chars().map(char::len_utf16).sum::<usize>();
        at = *start;
        all.push(Hit {
            start: *start as u64,
            end: *end as u64,
            column: (start.saturating_sub(line.start) + 1) as u64,
            column_utf16: (units + 1) as u64,
        });
    }
    all
}

fn before(text: &str, line: &Line, count: usize, bytes: usize) -> Vec<ContextLine> {
    let head = text.as_bytes().get(..line.start).unwrap_or_default();
    let mut lines = Vec::new();
    let mut end = line.start;
    while lines.len() < count && end > 0 {
        // The byte before `end` ends the line that is looked for.
        let body = head.get(..end - 1).unwrap_or_default();
        let start = memchr::memrchr(b'\n', body).map_or(0, |at| at + 1);
        let number = line.number.saturating_sub(lines.len() as u64 + 1);
        lines.push(context(text, number, (start, end - 1), bytes));
        end = start;
    }
    lines.reverse();
    lines
}

fn after(text: &str, line: &Line, count: usize, bytes: usize) -> Vec<ContextLine> {
    let whole = text.as_bytes();
    let behind = |start: usize| {
        let rest = whole.get(start..).unwrap_or_default();
        memchr::memchr(b'\n', rest).map_or(whole.len(), |at| start + at)
    };
    let mut lines = Vec::new();
    let mut start = behind(line.end) + 1;
    while lines.len() < count && start < whole.len() {
        let end = behind(start);
        let number = line.number.saturating_add(lines.len() as u64 + 1);
        lines.push(context(text, number, (start, end), bytes));
        start = end + 1;
    }
    lines
}

fn context(text: &str, line: u64, (start, end): (usize, usize), bytes: usize) -> ContextLine {
    let whole = text.get(start..end).unwrap_or_default();
    let whole = whole.strip_suffix('\r').unwrap_or(whole);
    let shown = text::cut_json(whole, bytes);
    ContextLine { line, text: shown.to_owned(), clipped: shown.len() < whole.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str, number: u64, needle: &str) -> Line {
        let at = text.find(needle).unwrap();
        let start = text.get(..at).unwrap().rfind('\n').map_or(0, |at| at + 1);
        let end = text.get(at..).unwrap().find('\n').map_or(text.len(), |end| at + end);
        Line { number, start, end, hits: vec![(at, at + needle.len())], hits_on_line: 1 }
    }

    fn show_in(text: &str, number: u64, needle: &str, excerpt_bytes: usize) -> Match {
        let request =
            SearchRequest { excerpt_bytes, context_lines: 2, ..SearchRequest::new(needle) };
        show(&RepoPath::root(), text, &line(text, number, needle), &request)
    }

    #[test]
    fn w4_p015_the_excerpt_lies_around_the_hit_and_between_characters() {
        let text = format!("{}needle{}", "é".repeat(500), "日".repeat(500));
        let shown = show_in(&text, 1, "needle", 41);
        assert!(shown.clipped && shown.excerpt.contains("needle"), "{}", shown.excerpt);
        assert!(shown.excerpt.len() <= 41);
        let from = text.get(shown.excerpt_column as usize..).unwrap();
        assert!(from.starts_with(&shown.excerpt));
        assert_eq!((shown.hits[0].column, shown.hits[0].column_utf16), (1001, 501));
        let long = show_in(&text, 1, &"é".repeat(100), 10);
        assert_eq!((long.excerpt.as_str(), long.excerpt_column), ("ééééé", 0));
        let short = show_in("a needle b", 1, "needle", 100);
        assert_eq!((short.excerpt.as_str(), short.clipped), ("a needle b", false));
    }

    #[test]
    fn w4_context_lines_are_those_beside_the_match() {
        let text = "1\n\n3\r\nneedle\n5\n6\n7";
        let shown = show_in(text, 4, "needle", 100);
        let of = |lines: &[ContextLine]| -> Vec<(u64, String)> {
            lines.iter().map(|line| (line.line, line.text.clone())).collect()
        };
        assert_eq!(of(&shown.before), [(2, String::new()), (3, "3".to_owned())]);
        assert_eq!(of(&shown.after), [(5, "5".to_owned()), (6, "6".to_owned())]);
        let first = show_in("needle\n", 1, "needle", 100);
        assert!(first.before.is_empty() && first.after.is_empty());
    }
}
