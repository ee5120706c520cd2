//! Ranges, bounds, and what a page says about itself.

use workspace::{Bound, Guard, Range, ReadError, ReadRequest};

use crate::fixture::{Tree, path};
use crate::{page, read, text};

fn lines(start: u64, count: u64) -> Range {
    Range::Lines { start, count: Some(count) }
}

#[test]
fn w2_p011_line_ranges_of_a_long_file_are_the_lines_asked_for() {
    let tree = Tree::new();
    let all: String = (1..=50_000).map(|number| format!("{number}\n")).collect();
    tree.file("n.txt", &all);
    let read = |range| page(&tree.workspace, "n.txt", range);
    let three = read(lines(40_000, 3));
    assert_eq!(three.text, "40000\n40001\n40002\n");
    assert_eq!((three.first_line, three.last_line, three.total_lines), (40_000, 40_002, 50_000));
    assert_eq!((three.truncation, three.continuation), (None, None));
    let last = read(lines(50_000, 10));
    assert_eq!((last.text.as_str(), last.last_line), ("50000\n", 50_000));
    assert_eq!(last.end_byte, last.text_bytes);
    let fault = |range| {
        let request = ReadRequest { range, ..ReadRequest::new(path("n.txt")) };
        tree.workspace.read(&request, &Guard::open()).unwrap_err()
    };
    assert!(matches!(
        fault(lines(50_001, 1)),
        ReadError::PastEnd { unit: "lines", start: 50_001, total: 50_000, .. }
    ));
    assert!(matches!(fault(lines(0, 1)), ReadError::ZeroStart));
    assert!(matches!(fault(lines(1, 0)), ReadError::ZeroCount { unit: "lines" }));
    let bytes = |start, count| Range::Bytes { start, count };
    assert!(matches!(fault(bytes(0, Some(0))), ReadError::ZeroCount { unit: "bytes" }));
    let total = all.len() as u64;
    assert!(matches!(fault(bytes(total, None)), ReadError::PastEnd { unit: "bytes", .. }));
    assert!(matches!(fault(Range::After { entry: path("x") }), ReadError::WrongRange { .. }));
}

#[test]
fn w2_p009_a_partial_page_says_what_it_is_part_of() {
    let tree = Tree::new();
    let all = "k = 1 and some more of it\n".repeat(16_000);
    tree.file("long.txt", &all);
    let first = text(read(&tree.workspace, "long.txt").unwrap());
    assert_eq!((first.first_line, first.last_line), (1, 2_000));
    assert_eq!((first.total_lines, first.total_bytes), (16_000, all.len() as u64));
    let truncation = first.truncation.unwrap();
    assert_eq!((truncation.bound, truncation.remaining_lines), (Bound::Lines, 14_000));
    assert_eq!(truncation.remaining_bytes, all.len() as u64 - first.end_byte);
    assert_eq!(first.continuation, Some(Range::Lines { start: 2_001, count: None }));
}

#[test]
fn w2_a_cut_by_bytes_ends_at_a_line() {
    let tree = Tree::new();
    tree.file("a.txt", "one\ntwo\nthree\n");
    let request = ReadRequest {
        // Two lines of three characters and a line feed, which JSON writes with two.
        max_bytes: 11,
        range: Range::Lines { start: 1, count: Some(3) },
        ..ReadRequest::new(path("a.txt"))
    };
    let first = text(tree.workspace.read(&request, &Guard::open()).unwrap());
    assert_eq!(first.text, "one\ntwo\n");
    assert_eq!(first.truncation.unwrap().bound, Bound::Bytes);
    assert_eq!(first.continuation, Some(Range::Lines { start: 3, count: Some(1) }));
}

#[test]
fn w2_p010_the_end_of_one_huge_line_is_reached() {
    let tree = Tree::new();
    let all = format!("{{\"d\":\"{}\",\"end\":\"TAIL\"}}", "x".repeat(300_000));
    tree.file("one.json", &all);
    let mut request = ReadRequest::new(path("one.json"));
    let mut whole = String::new();
    let mut calls = 0;
    loop {
        calls += 1;
        assert!(calls <= 8, "too many calls");
        let page = text(tree.workspace.read(&request, &Guard::open()).unwrap());
        if calls == 1 {
            assert_eq!(page.truncation.as_ref().unwrap().bound, Bound::LineBytes);
            assert_eq!(page.text.len() as u64, request.max_line_bytes);
        }
        assert_eq!(page.start_byte, whole.len() as u64);
        whole.push_str(&page.text);
        match page.continuation {
            Some(range) => request.range = range,
            None => break,
        }
    }
    assert_eq!(whole, all);
}

#[test]
fn w2_behind_a_clipped_line_both_ways_on_are_offered() {
    let tree = Tree::new();
    tree.file("a.txt", format!("short\n{}\nnext\n", "é".repeat(5_000)));
    let first = page(&tree.workspace, "a.txt", Range::All);
    let truncation = first.truncation.unwrap();
    assert_eq!((truncation.bound, truncation.remaining_lines), (Bound::LineBytes, 2));
    let skipped = page(&tree.workspace, "a.txt", truncation.skip_line.unwrap());
    assert_eq!((skipped.text.as_str(), skipped.first_line), ("next\n", 3));
    let rest = page(&tree.workspace, "a.txt", first.continuation.unwrap());
    assert_eq!((rest.first_line, rest.last_line), (2, 3));
    assert!(rest.text.ends_with("é\nnext\n"));
}

#[test]
fn w2_a_byte_range_is_cut_between_characters() {
    let tree = Tree::new();
    tree.file("a.txt", "aé日x");
    let read = |start, count| page(&tree.workspace, "a.txt", Range::Bytes { start, count }).text;
    assert_eq!(read(0, Some(2)), "aé");
    assert_eq!(read(2, Some(1)), "é");
    assert_eq!(read(4, Some(1)), "日");
    assert_eq!(read(6, None), "x");
}

#[test]
fn w10_an_empty_file_is_a_text_of_no_lines() {
    let tree = Tree::new();
    tree.file("e", "");
    let page = text(read(&tree.workspace, "e").unwrap());
    assert_eq!(
        (page.text.as_str(), page.first_line, page.last_line, page.total_lines),
        ("", 0, 0, 0)
    );
    assert!(!page.final_newline && page.truncation.is_none() && page.continuation.is_none());
}

#[test]
fn w2_a_bound_of_zero_or_a_file_too_large_is_refused() {
    let tree = Tree::new();
    tree.file("a", "12345");
    let fault = |request| tree.workspace.read(&request, &Guard::open()).unwrap_err();
    let request = ReadRequest::new(path("a"));
    let zero = fault(ReadRequest { max_bytes: 0, ..request.clone() });
    assert!(matches!(zero, ReadError::ZeroCount { .. }));
    let large = fault(ReadRequest { max_file_bytes: 4, ..request });
    assert!(matches!(large, ReadError::TooLarge { size_bytes: 5, max_file_bytes: 4, .. }));
}

#[test]
fn w7_a_read_that_is_stopped_says_so() {
    let tree = Tree::new();
    tree.file("d/a", "text");
    let guard = Guard { stop: &|| true, ..Guard::open() };
    for name in ["d", "d/a"] {
        let stopped = tree.workspace.read(&ReadRequest::new(path(name)), &guard);
        assert!(matches!(stopped, Err(ReadError::Stopped { .. })), "{name}");
    }
}
