//! The same files match as for `rg`, whose own walker and searcher are asked here (W6).

use std::collections::BTreeSet;
use std::path::Path;

use grep_regex::RegexMatcherBuilder;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, sinks::Bytes};
use ignore::WalkBuilder;
use proptest::prelude::*;
use workspace::{Output, RepoPath, SearchRequest, Workspace};

use crate::fixture::Tree;
use crate::regex;

/// The files that `rg --hidden --no-ignore-global --no-ignore-parent --glob '!.git'` would open.
fn walked(root: &Path, hidden: bool) -> Vec<std::path::PathBuf> {
    let mut walk = WalkBuilder::new(root);
    walk.hidden(!hidden).parents(false).git_global(false).add_custom_ignore_filename(".rgignore");
    walk.filter_entry(|entry| entry.file_name() != ".git");
    walk.build()
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .map(|entry| entry.path().to_owned())
        .collect()
}

fn matched(root: &Path, query: &str, hidden: bool) -> BTreeSet<RepoPath> {
    let matcher = RegexMatcherBuilder::new()
        .multi_line(true)
        .line_terminator(Some(b'\n'))
        .build(query)
        .unwrap();
    let mut searcher: Searcher =
        SearcherBuilder::new().binary_detection(BinaryDetection::quit(0)).build();
    let mut found = BTreeSet::new();
    for path in walked(root, hidden) {
        let mut any = false;
        let sink = Bytes(|_, _| {
            any = true;
            Ok(false)
        });
        searcher.search_path(&matcher, &path, sink).unwrap();
        if any {
            let below = path.strip_prefix(root).unwrap();
            let bytes = std::os::unix::ffi::OsStrExt::as_bytes(below.as_os_str());
            found.insert(RepoPath::from_bytes(bytes).unwrap());
        }
    }
    found
}

fn ours(workspace: &Workspace, query: &str, include_hidden: bool) -> BTreeSet<RepoPath> {
    let request = SearchRequest {
        output: Output::Paths,
        case: workspace::Case::Sensitive,
        include_hidden,
        include_generated: true,
        max_matches: 1_000_000,
        max_output_bytes: 1 << 30,
        max_file_bytes: 1 << 30,
        ..regex(query)
    };
    let outcome = workspace.search(&request, &workspace::Guard::open()).unwrap();
    assert_eq!(outcome.truncation, None);
    outcome.paths.into_iter().map(|hit| hit.path).collect()
}

#[test]
fn w6_the_same_files_match_as_for_rg_on_a_real_tree() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let workspace = Workspace::open(root).unwrap();
    for query in ["RepoPath", "proptest", r"^use std::\w+", "fn .*\\(", "é", "no-such-text-\\d"] {
        assert_eq!(ours(&workspace, query, true), matched(root, query, true), "{query}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn w5_w6_ignore_rules_mean_what_they_mean_to_rg(
        files in proptest::collection::btree_set("[.]?[abc](/[.]?[abc]){0,3}(\\.[xy])?", 1..25),
        rules in proptest::collection::vec(
            (
                prop_oneof![Just(""), Just("a/"), Just("b/"), Just("a/b/"), Just(".a/")],
                prop_oneof![Just(".gitignore"), Just(".ignore"), Just(".rgignore"), Just(".git/info/exclude")],
                proptest::collection::vec("!?/?([abc]|\\*|\\*\\*|\\.[abc]|\\*\\.[xy])(/[abc*])?/?", 1..4),
            ),
            0..5,
        ),
        stores in proptest::collection::btree_set("|a/|a/b/|b/", 0..3),
        hidden in any::<bool>(),
    ) {
        let tree = Tree::new();
        let write = |name: &str, content: &str| {
            let at = tree.at(name);
            // A name whose folder is a file, or that is a folder, is left out.
            std::fs::create_dir_all(at.parent().unwrap()).ok();
            std::fs::write(at, content).ok();
        };
        for file in &files {
            write(file, "needle\n");
        }
        for store in &stores {
            write(&format!("{store}.git/HEAD"), "needle\n");
        }
        for (folder, file, lines) in &rules {
            write(&format!("{folder}{file}"), &lines.join("\n"));
        }
        prop_assert_eq!(ours(&tree.workspace, "needle", hidden), matched(&tree.root(), "needle", hidden));
    }
}
