//! Bounds: each is typed, each leaves a way on, and none is an accident of load.

use std::sync::atomic::{AtomicUsize, Ordering};

use workspace::{Count, Guard, Output, SearchError, SearchRequest, SearchTruncation, Verdict};

use crate::fixture::{Tree, path};
use crate::{literal, paths, places, regex, search};

#[test]
fn w2_the_bound_on_matches_is_hit_only_when_there_is_more() {
    let tree = Tree::new();
    tree.file("a", "x\nx\n");
    tree.file("b", "x\ny\n");
    let exactly = search(&tree, &SearchRequest { max_matches: 3, ..literal("x") });
    assert_eq!((exactly.truncation, exactly.count), (None, Count::Exact(3)));
    assert_eq!(exactly.continuation, None);
    let fewer = search(&tree, &SearchRequest { max_matches: 2, ..literal("x") });
    assert_eq!(
        (fewer.truncation, fewer.count),
        (Some(SearchTruncation::Matches), Count::AtLeast(3))
    );
    let next = SearchRequest { after: fewer.continuation, ..literal("x") };
    assert_eq!(places(&search(&tree, &next)), ["b:1"]);
}

#[test]
fn w4_p015_one_huge_line_gives_a_bounded_excerpt() {
    let tree = Tree::new();
    let half = "x".repeat(512 << 10);
    tree.file("min.js", format!("{half}needle{half}"));
    let outcome = search(&tree, &SearchRequest { max_matches: 1, ..literal("needle") });
    let found = &outcome.matches[0];
    assert!(found.clipped && found.excerpt.contains("needle"));
    assert!(found.excerpt.len() <= 240);
    assert_eq!((found.hits_on_line, outcome.truncation), (1, None));
    assert!(serde_json::to_string(&outcome).unwrap().len() < 2_000);
}

#[test]
fn w2_the_bound_on_output_counts_json_and_lets_one_result_through() {
    let tree = Tree::new();
    tree.file("a", "x23456789\n".repeat(10));
    let request = SearchRequest { max_output_bytes: 600, ..literal("x") };
    let outcome = search(&tree, &request);
    assert_eq!((outcome.matches.len(), outcome.truncation), (3, Some(SearchTruncation::Bytes)));
    let one = search(&tree, &SearchRequest { max_output_bytes: 1, ..request });
    assert_eq!((one.matches.len(), one.truncation), (1, Some(SearchTruncation::Bytes)));
}

#[test]
fn w2_files_and_depth_are_bounded() {
    let tree = Tree::new();
    for name in ["a", "b", "c", "d/e", "d/f/g"] {
        tree.file(name, "x\n");
    }
    let two = search(&tree, &SearchRequest { max_files: 2, ..literal("x") });
    assert_eq!(
        (places(&two), two.truncation),
        (vec!["a:1".into(), "b:1".into()], Some(SearchTruncation::Files))
    );
    let none = search(&tree, &SearchRequest { max_files: 2, ..literal("absent") });
    assert_eq!(none.verdict, Verdict::NoneSoFar);
    assert_eq!(search(&tree, &SearchRequest { max_files: 5, ..literal("x") }).truncation, None);
    let flat = search(&tree, &SearchRequest { max_depth: 1, ..literal("x") });
    assert_eq!((places(&flat).len(), flat.skipped.too_deep), (3, 1));
    let deeper = search(&tree, &SearchRequest { max_depth: 2, ..literal("x") });
    assert_eq!((places(&deeper).len(), deeper.skipped.too_deep), (4, 1));
    let zero = SearchRequest { max_files: 0, ..literal("x") };
    let fault = tree.workspace.search(&zero, &Guard::open()).unwrap_err();
    assert!(matches!(fault, SearchError::ZeroBound { unit: "files" }));
}

#[test]
fn w7_a_search_that_is_stopped_says_what_it_had_and_goes_on_from_there() {
    let tree = Tree::new();
    for number in 0..100 {
        tree.file(format!("{number:03}"), "x\n");
    }
    let whole = search(&tree, &literal("x"));
    let mut request = literal("x");
    let mut all = Vec::new();
    let mut stops = 0;
    loop {
        let asked = AtomicUsize::new(0);
        let stop = || asked.fetch_add(1, Ordering::Relaxed) >= 30;
        let guard = Guard { stop: &stop, ..Guard::open() };
        let page = tree.workspace.search(&request, &guard).unwrap();
        all.extend(page.matches);
        match page.truncation {
            None => break,
            Some(bound) => assert_eq!(bound, SearchTruncation::Deadline),
        }
        stops += 1;
        assert!(page.continuation > request.after, "no progress");
        request.after = page.continuation;
    }
    assert!(stops > 1, "it was stopped");
    assert_eq!(all, whole.matches);
    let at_once = Guard { stop: &|| true, ..Guard::open() };
    let nothing = tree.workspace.search(&literal("x"), &at_once).unwrap();
    assert_eq!(
        (nothing.verdict, nothing.truncation),
        (Verdict::NoneSoFar, Some(SearchTruncation::Deadline))
    );
    assert_eq!(nothing.count, Count::AtLeast(0));
}

#[test]
fn w7_p017_nested_repetition_takes_linear_time() {
    let tree = Tree::new();
    tree.file("a.txt", format!("{}X\n", "a".repeat(60)));
    tree.file("b.txt", "a".repeat(4 << 20));
    let one = search(&tree, &regex("(a+)+$"));
    assert_eq!(places(&one), ["b.txt:1"]);
    for _ in 0..4 {
        let outcome = search(&tree, &regex("(a|aa)+$"));
        assert_eq!(outcome.matches[0].hits[0].end, 4 << 20);
        assert!(outcome.matches[0].clipped);
    }
}

#[test]
fn w2_the_hits_of_one_line_are_bounded() {
    let tree = Tree::new();
    tree.file("a", "ab".repeat(5_000));
    let outcome = search(&tree, &literal("a"));
    let found = &outcome.matches[0];
    assert_eq!(found.hits.len(), workspace::MAX_HITS_PER_LINE);
    assert_eq!(found.hits_on_line, workspace::MAX_HITS_COUNTED);
}

#[test]
fn w2_paths_and_counts_are_bounded_by_results() {
    let tree = Tree::new();
    for name in ["a", "b", "c"] {
        tree.file(name, "x\nx\n");
    }
    for output in [Output::Paths, Output::Count] {
        let request = SearchRequest { output, max_matches: 2, ..literal("x") };
        let first = search(&tree, &request);
        assert_eq!(
            (paths(&first), first.truncation),
            (vec!["a".into(), "b".into()], Some(SearchTruncation::Matches))
        );
        assert_eq!(first.continuation.as_ref().unwrap().path, path("b"));
        let next = search(&tree, &SearchRequest { after: first.continuation, ..request });
        assert_eq!((paths(&next), next.truncation), (vec!["c".into()], None));
    }
}
