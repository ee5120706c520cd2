//! Finding files by their names.

use workspace::{Case, Count, Guard, SearchMode, SearchRequest, SearchTruncation};

use crate::fixture::Tree;
use crate::{paths, search};

fn named(query: &str) -> SearchRequest {
    SearchRequest { mode: SearchMode::Filename, ..SearchRequest::new(query) }
}

fn tree() -> Tree {
    let tree = Tree::new();
    for name in ["README.md", "src/lib.rs", "src/read/mod.rs", "Cargo.lock", "tests/lib.rs"] {
        tree.file(name, "x");
    }
    tree.file(b"caf\xE9.rs", b"\0binary");
    tree.link("src", "loop");
    tree
}

#[test]
fn w4_file_names_are_matched_by_glob_or_part() {
    let tree = tree();
    let find = |query: &str| paths(&search(&tree, &named(query)));
    assert_eq!(find("lib.rs"), ["src/lib.rs", "tests/lib.rs"]);
    assert_eq!(find("src/*.rs"), ["src/lib.rs"]);
    assert_eq!(find("*.lock"), ["Cargo.lock"], "generated files have names too");
    assert_eq!(find("readme"), ["README.md"]);
    assert_eq!(find("Readme"), [""; 0]);
    assert_eq!(find("caf\\xE9"), ["caf\\xE9.rs"]);
    assert_eq!(find("caf?.rs"), ["caf\\xE9.rs"]);
    let insensitive = SearchRequest { case: Case::Insensitive, ..named("*/MOD.rs") };
    assert_eq!(paths(&search(&tree, &insensitive)), [""; 0]);
    let insensitive = SearchRequest { case: Case::Insensitive, ..named("**/MOD.rs") };
    assert_eq!(paths(&search(&tree, &insensitive)), ["src/read/mod.rs"]);
}

#[test]
fn w4_p016_a_glob_for_everything_visits_each_real_file_once() {
    let tree = tree();
    let outcome = search(&tree, &named("**/*"));
    assert_eq!(
        paths(&outcome),
        ["Cargo.lock", "README.md", "caf\\xE9.rs", "src/lib.rs", "src/read/mod.rs", "tests/lib.rs"]
    );
    assert_eq!((outcome.files_searched, outcome.skipped.links), (6, 1));
    assert_eq!(outcome.count, Count::Exact(6));
}

#[test]
fn w2_paths_are_bounded_and_continued() {
    let tree = tree();
    let mut request = SearchRequest { max_matches: 1, ..named("lib.rs") };
    let first = search(&tree, &request);
    assert_eq!(
        (paths(&first), first.truncation),
        (vec!["src/lib.rs".into()], Some(SearchTruncation::Matches))
    );
    request.after = first.continuation;
    let second = search(&tree, &request);
    assert_eq!((paths(&second), second.truncation), (vec!["tests/lib.rs".into()], None));
}

#[test]
fn w9_names_that_the_caller_keeps_back_are_counted() {
    let tree = Tree::new();
    tree.file(".env", "x");
    let outcome = tree.workspace.search(&named("env"), &Guard::no_secrets()).unwrap();
    assert_eq!((outcome.paths.len(), outcome.skipped.denied), (0, 1));
}
