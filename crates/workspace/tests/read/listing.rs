//! Directories: order, depth, continuation, links.

use proptest::prelude::*;
use workspace::{
    FileKind, Guard, LinkTarget, Listing, PathClass, Range, ReadError, ReadOutcome, ReadRequest,
};

use crate::fixture::{Tree, path};

fn list(tree: &Tree, request: &ReadRequest) -> Listing {
    match tree.workspace.read(request, &Guard::open()).unwrap() {
        ReadOutcome::Directory(listing) => listing,
        other => panic!("no directory: {other:?}"),
    }
}

fn names(listing: &Listing) -> Vec<String> {
    listing.entries.iter().map(|entry| entry.path.to_string()).collect()
}

#[test]
fn w6_entries_come_in_path_byte_order_down_to_the_depth() {
    let tree = Tree::new();
    for name in ["a/x", "a/b/c/d", "a-b", "a0", "Z", ".git/HEAD"] {
        tree.file(name, "1");
    }
    let request = ReadRequest::new(path("."));
    let one = list(&tree, &request);
    assert_eq!(names(&one), [".git", "Z", "a", "a-b", "a0"]);
    assert_eq!(one.unentered, 2);
    let deep = list(&tree, &ReadRequest { max_depth: 3, ..request });
    assert_eq!(names(&deep), [".git", "Z", "a", "a-b", "a/b", "a/b/c", "a/x", "a0"]);
    assert_eq!(deep.unentered, 2, "the store, and a/b/c");
    let sub = list(&tree, &ReadRequest { max_depth: 2, ..ReadRequest::new(path("a")) });
    assert_eq!(names(&sub), ["b", "b/c", "x"]);
    assert_eq!(sub.real, path("a"));
}

#[test]
fn p8_links_are_shown_with_where_they_lead_and_not_entered() {
    let tree = Tree::new();
    tree.file("d/.env", "K=1");
    tree.link("../OUT", "out");
    tree.link("d", "in");
    tree.link("d/.env", "env");
    tree.link("nowhere", "none");
    tree.link(".", "loop");
    tree.fifo("pipe");
    let listing = list(&tree, &ReadRequest { max_depth: 9, ..ReadRequest::new(path(".")) });
    let entry = |name: &str| listing.entries.iter().find(|entry| entry.path == path(name)).unwrap();
    assert_eq!(names(&listing), ["d", "d/.env", "env", "in", "loop", "none", "out", "pipe"]);
    assert_eq!(entry("out").target, Some(LinkTarget::Outside));
    assert_eq!(entry("in").target, Some(LinkTarget::Inside(path("d"))));
    assert_eq!(entry("none").target, Some(LinkTarget::Dangling));
    assert_eq!(entry("loop").target, Some(LinkTarget::Inside(path("."))));
    assert_eq!(entry("env").class, PathClass::Secret);
    assert_eq!(entry("pipe").kind, FileKind::Fifo);
    assert!(!serde_json::to_string(&listing).unwrap().contains("OUT"));
}

#[test]
fn w2_ranges_of_lines_do_not_fit_a_directory() {
    let tree = Tree::new();
    tree.folder("d");
    let range = Range::Lines { start: 1, count: None };
    let request = ReadRequest { range, ..ReadRequest::new(path("d")) };
    let fault = tree.workspace.read(&request, &Guard::open()).unwrap_err();
    assert!(matches!(fault, ReadError::WrongRange { .. }));
}

#[test]
fn p8_p005_a_folder_swapped_for_a_link_is_never_listed_from_outside() {
    let tree = Tree::new();
    tree.file("sub/safe", "SAFE");
    tree.link("../OUT", "away");
    let request = ReadRequest { max_depth: 3, ..ReadRequest::new(path(".")) };
    let mut entered = 0;
    tree.while_swapping("sub", "away", || {
        for _ in 0..2_000 {
            let listing = list(&tree, &request);
            entered += usize::from(listing.entries.len() > 2);
            assert!(names(&listing).iter().all(|name| !name.contains("canary")), "{listing:?}");
        }
    });
    assert!(entered > 0, "the real folder was met too");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn w2_continued_listings_give_the_same_entries(
        files in proptest::collection::btree_set("[ab.-]{1,2}(/[ab-]{1,2}){0,3}", 0..24),
        max_entries in 1_u64..6,
        max_depth in 1_u64..5,
    ) {
        let tree = Tree::new();
        for file in &files {
            // A name may already be a folder, or lie in a file; both leave a tree all the same.
            if let Ok(path) = file.parse::<workspace::RepoPath>() {
                let at = tree.at(path.as_bytes());
                std::fs::create_dir_all(at.parent().unwrap()).ok();
                std::fs::write(at, "x").ok();
            }
        }
        let whole = list(&tree, &ReadRequest { max_depth, ..ReadRequest::new(path(".")) });
        let sorted = whole.entries.is_sorted_by(|one, two| one.path < two.path);
        prop_assert!(sorted);
        let mut request = ReadRequest { max_depth, max_entries, ..ReadRequest::new(path(".")) };
        let mut all = Vec::new();
        loop {
            let page = list(&tree, &request);
            prop_assert!(page.entries.len() as u64 <= max_entries);
            prop_assert_eq!(page.truncation.is_some(), page.continuation.is_some());
            all.extend(page.entries);
            match page.continuation {
                Some(range) => request.range = range,
                None => break,
            }
        }
        prop_assert_eq!(all, whole.entries);
    }
}
