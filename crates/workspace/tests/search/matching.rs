//! What matches, and where.

use workspace::{Case, Count, Guard, Output, SearchError, SearchRequest, Verdict};

use crate::fixture::{Tree, path};
use crate::{literal, paths, places, regex, search};

#[test]
fn w4_p013_a_query_or_a_name_is_never_an_option() {
    let tree = Tree::new();
    tree.file("opts", "--force\n-e x\n--pre=touch hit\n");
    tree.file("-r", "--force\n");
    assert_eq!(places(&search(&tree, &literal("--force"))), ["-r:1", "opts:1"]);
    assert_eq!(places(&search(&tree, &literal("-e"))), ["opts:2"]);
    assert_eq!(places(&search(&tree, &regex("--pre=touch hit"))), ["opts:3"]);
    let scoped = SearchRequest { scope: path("-r"), ..literal("-") };
    assert_eq!(places(&search(&tree, &scoped)), ["-r:1"]);
    assert!(!tree.at("hit").exists());
}

#[test]
fn w4_p014_found_none_and_failed_are_three_outcomes() {
    let tree = Tree::new();
    tree.file("a", "f(x)\n");
    assert_eq!(search(&tree, &literal("(")).verdict, Verdict::Found);
    let none = search(&tree, &literal("absent"));
    assert_eq!((none.verdict, none.count), (Verdict::None, Count::Exact(0)));
    let fault = |request| tree.workspace.search(&request, &Guard::open()).unwrap_err();
    match fault(regex("x(")) {
        SearchError::InvalidPattern { position, reason } => {
            assert_eq!(position, 1);
            assert!(reason.contains("unclosed"), "{reason}");
        }
        other => panic!("{other}"),
    }
    assert!(matches!(fault(regex("a{999999999}")), SearchError::InvalidPattern { .. }));
    assert!(matches!(fault(literal("")), SearchError::EmptyQuery));
    assert!(matches!(fault(literal("a\nb")), SearchError::InvalidPattern { position: 1, .. }));
    let missing = fault(SearchRequest { scope: path("nope"), ..literal("x") });
    assert!(matches!(missing, SearchError::Access(error) if error.is_not_found()));
}

#[test]
fn w4_hits_are_given_in_bytes_lines_and_columns() {
    let tree = Tree::new();
    tree.file("a", "first\né🙂 ab ab\n");
    let outcome = search(&tree, &literal("ab"));
    let found = &outcome.matches[0];
    assert_eq!((found.line, found.line_start, found.hits_on_line), (2, 6, 2));
    let hit = |at: usize| {
        let hit = found.hits[at];
        (hit.start, hit.end, hit.column, hit.column_utf16)
    };
    assert_eq!(hit(0), (13, 15, 8, 5));
    assert_eq!(hit(1), (16, 18, 11, 8));
    assert_eq!((found.excerpt.as_str(), found.clipped), ("é🙂 ab ab", false));
}

#[test]
fn w4_letter_case_counts_as_asked() {
    let tree = Tree::new();
    tree.file("a", "Alpha\nalpha\nÉcole\nécole\n");
    let count =
        |request: SearchRequest, case| search(&tree, &SearchRequest { case, ..request }).count;
    assert_eq!(count(literal("alpha"), Case::Smart), Count::Exact(2));
    assert_eq!(count(literal("Alpha"), Case::Smart), Count::Exact(1));
    assert_eq!(count(literal("alpha"), Case::Sensitive), Count::Exact(1));
    assert_eq!(count(literal("ALPHA"), Case::Insensitive), Count::Exact(2));
    assert_eq!(count(regex("é.ole"), Case::Smart), Count::Exact(2));
    assert_eq!(count(regex(r"\w+É"), Case::Smart), Count::Exact(0));
    assert_eq!(count(regex("AL.HA"), Case::Insensitive), Count::Exact(2));
}

#[test]
fn w4_line_anchors_hold_for_every_line_ending() {
    let tree = Tree::new();
    tree.file("crlf", "one\r\nend\r\n");
    tree.file("lf", "one\nend\n");
    tree.file("none", "end");
    tree.file("cr", "one\rend\r");
    let outcome = search(&tree, &regex("^end$"));
    assert_eq!(places(&outcome), ["cr:2", "crlf:2", "lf:2", "none:1"]);
    assert!(outcome.matches.iter().all(|found| found.excerpt == "end"), "{:?}", outcome.matches);
}

#[test]
fn w4_p012_text_is_found_in_every_encoding() {
    let tree = Tree::new();
    let mut wide = b"\xFE\xFF".to_vec();
    wide.extend("x\r\nneedle é\r\n".encode_utf16().flat_map(u16::to_be_bytes));
    tree.file("u16", wide);
    tree.file("latin", b"x\nneedle \xE9\n");
    tree.file("bom", "\u{feff}needle é\n");
    tree.file("u32", b"\xFF\xFE\0\0n\0\0\0");
    let outcome = search(&tree, &literal("needle é"));
    assert_eq!(places(&outcome), ["bom:1", "latin:2", "u16:2"]);
    assert_eq!(outcome.skipped.undecodable, 1);
    assert_eq!(outcome.matches[0].hits[0].start, 0);
    assert_eq!(outcome.matches[1].hits[0].end, 11);
}

#[test]
fn w4_counts_and_paths_come_without_text() {
    let tree = Tree::new();
    tree.file("b", "x\ny\nx x\n");
    tree.file("a", "x\n");
    tree.file("c", "y\n");
    let count = search(&tree, &SearchRequest { output: Output::Count, ..literal("x") });
    let lines: Vec<Option<u64>> = count.paths.iter().map(|hit| hit.lines).collect();
    assert_eq!((paths(&count), lines), (vec!["a".into(), "b".into()], vec![Some(1), Some(2)]));
    assert_eq!((count.count, count.matches.len()), (Count::Exact(3), 0));
    let only = search(&tree, &SearchRequest { output: Output::Paths, ..literal("x") });
    assert_eq!((paths(&only), only.count), (vec!["a".into(), "b".into()], Count::Exact(2)));
    assert_eq!((only.files_searched, only.paths[0].lines), (3, None));
}

#[test]
fn w4_context_is_the_lines_around_each_match() {
    let tree = Tree::new();
    tree.file("a", "1\nx\n3\nx\n5\n6\n");
    let outcome = search(&tree, &SearchRequest { context_lines: 1, ..literal("x") });
    let around = |at: usize| {
        let found = &outcome.matches[at];
        (found.before[0].text.clone(), found.after[0].text.clone(), found.after[0].line)
    };
    assert_eq!(around(0), ("1".into(), "3".into(), 3));
    assert_eq!(around(1), ("3".into(), "5".into(), 5));
}

#[test]
fn w6_names_of_any_bytes_are_searched() {
    let tree = Tree::new();
    tree.file(b"caf\xE9/x", "needle\n");
    tree.file(b"two\nlines", "needle\n");
    let outcome = search(&tree, &literal("needle"));
    assert_eq!(places(&outcome), ["caf\\xE9/x:1", "two\\x0Alines:1"]);
    let json = serde_json::to_string(&outcome).unwrap();
    let again: workspace::SearchOutcome = serde_json::from_str(&json).unwrap();
    assert_eq!(again, outcome);
}

#[test]
fn w4_globs_choose_files_by_name_or_path() {
    let tree = Tree::new();
    for name in ["a.rs", "src/b.rs", "src/c.md", "target/d.rs", "src/target/e.rs"] {
        tree.file(name, "x\n");
    }
    let with = |include: &[&str], exclude: &[&str]| {
        let globs = |given: &[&str]| given.iter().map(|glob| (*glob).to_owned()).collect();
        let request =
            SearchRequest { include: globs(include), exclude: globs(exclude), ..literal("x") };
        places(&search(&tree, &request))
    };
    assert_eq!(with(&["*.rs"], &["target"]), ["a.rs:1", "src/b.rs:1"]);
    assert_eq!(with(&["src/*"], &[]), ["src/b.rs:1", "src/c.md:1"]);
    assert_eq!(with(&["src/"], &["*.md"]), ["src/b.rs:1", "src/target/e.rs:1"]);
    assert_eq!(with(&[], &["/target/**", "src/"]), ["a.rs:1"]);
    for glob in ["!x", "a[", ""] {
        let request = SearchRequest { include: vec![glob.to_owned()], ..literal("x") };
        let fault = tree.workspace.search(&request, &Guard::open()).unwrap_err();
        assert!(matches!(fault, SearchError::InvalidGlob { .. }), "{glob}: {fault}");
    }
}
