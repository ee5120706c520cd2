//! Pages of any size add up to the one answer, and to what a naive search finds.

use proptest::prelude::*;
use workspace::{Count, Match, Output, PathHit, SearchRequest, Skipped};

use crate::fixture::Tree;
use crate::{literal, search};

/// Files by name; a name that cannot be made (its folder is a file) is left out.
fn make(files: &[(String, String)]) -> Tree {
    let tree = Tree::new();
    for (name, content) in files {
        let at = tree.at(name);
        std::fs::create_dir_all(at.parent().unwrap()).ok();
        std::fs::write(at, content).ok();
    }
    tree
}

fn any_files() -> impl Strategy<Value = Vec<(String, String)>> {
    let name = "[ab.-]?[abc](/[abc-]{1,2}){0,2}(\\.log|\\.rs)?";
    let content =
        proptest::collection::vec("[ab ]{0,4}(\r)?", 0..8).prop_map(|lines| lines.join("\n"));
    proptest::collection::vec((name, content), 0..30)
}

#[derive(Debug, Default, PartialEq, Eq)]
struct All {
    matches: Vec<Match>,
    paths: Vec<PathHit>,
    files_searched: u64,
    skipped: Vec<Skipped>,
}

/// Follows the continuations to the end.
fn follow(tree: &Tree, mut request: SearchRequest) -> All {
    let mut all = All::default();
    loop {
        let page = search(tree, &request);
        assert!(page.matches.len() as u64 <= request.max_matches);
        all.matches.extend(page.matches);
        all.paths.extend(page.paths);
        all.files_searched += page.files_searched;
        all.skipped.push(page.skipped);
        assert_eq!(page.truncation.is_some(), page.continuation.is_some());
        assert_eq!(page.truncation.is_none(), matches!(page.count, Count::Exact(_)));
        if page.truncation.is_none() {
            return all;
        }
        assert!(page.continuation > request.after, "no progress");
        request.after = page.continuation;
    }
}

fn total(all: &[Skipped]) -> u64 {
    all.iter()
        .map(|one| one.ignored + one.hidden + one.version_control + one.links + one.too_deep)
        .sum()
}

/// Reads every file of the tree and looks for the text line by line.
fn naive(tree: &Tree, query: &str) -> Vec<(String, u64, String)> {
    let mut found = Vec::new();
    let mut folders = vec![tree.root()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(tree.root()).unwrap().to_str().unwrap().to_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            for (at, line) in text.split('\n').enumerate() {
                if line.contains(query) {
                    let shown = line.strip_suffix('\r').unwrap_or(line).to_owned();
                    found.push((name.clone(), at as u64 + 1, shown));
                }
            }
        }
    }
    found.sort();
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn w6_a_search_finds_what_a_naive_one_finds(files in any_files(), query in "[ab]{1,2}") {
        let tree = make(&files);
        let outcome = search(&tree, &SearchRequest { max_matches: 10_000, ..literal(&query) });
        let found: Vec<(String, u64, String)> = outcome
            .matches
            .iter()
            .map(|found| (found.path.to_string(), found.line, found.excerpt.clone()))
            .collect();
        // Single carriage returns end lines too where a file has no other; the naive search knows none of it.
        let only_returns = files.iter().any(|(_, text)| text.contains('\r') && !text.contains('\n'));
        if !only_returns {
            prop_assert_eq!(found, naive(&tree, &query));
        }
    }

    #[test]
    fn w2_w6_pages_add_up_to_one_pass(
        files in any_files(),
        query in "[ab]{1,2}",
        max_matches in 1_u64..5,
        max_output_bytes in 1_u64..60,
        max_files in 1_u64..6,
        max_depth in 1_u64..4,
        context_lines in 0_usize..2,
        output in prop_oneof![Just(Output::Matches), Just(Output::Paths), Just(Output::Count)],
    ) {
        let tree = make(&files);
        tree.file(".ignore", "*.log\n/b/\n");
        tree.folder(".git");
        tree.link("a", "b-link");
        let whole = SearchRequest {
            max_depth,
            context_lines,
            output,
            include_hidden: false,
            max_matches: 10_000,
            max_output_bytes: 1 << 30,
            ..literal(&query)
        };
        let paged = SearchRequest { max_matches, max_output_bytes, max_files, ..whole.clone() };
        let (whole, paged) = (follow(&tree, whole), follow(&tree, paged));
        prop_assert_eq!(&paged.matches, &whole.matches);
        prop_assert_eq!(&paged.paths, &whole.paths);
        prop_assert_eq!(paged.files_searched, whole.files_searched);
        prop_assert_eq!(total(&paged.skipped), total(&whole.skipped));
    }
}

#[test]
fn w6_many_files_come_in_the_same_order_every_time() {
    let tree = Tree::new();
    for number in 0..400 {
        tree.file(format!("{}/{number}.txt", number % 7), "x\n".repeat(number % 5));
    }
    let request = SearchRequest { max_matches: 10_000, max_output_bytes: 1 << 30, ..literal("x") };
    let first = search(&tree, &request);
    let sorted = first
        .matches
        .is_sorted_by(|one, two| (&one.path, one.line_start) < (&two.path, two.line_start));
    assert!(sorted);
    assert_eq!(first.matches.len(), 800);
    for _ in 0..10 {
        assert_eq!(search(&tree, &request), first);
    }
    let cut = SearchRequest { max_matches: 333, ..request };
    let cut = follow(&tree, cut);
    assert_eq!(cut.matches, first.matches);
}
