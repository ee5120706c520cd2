//! `repository_search`.

use serde_json::{Value, json};

use crate::support::Bench;

#[test]
fn w2_matches_come_in_path_order_with_their_place() {
    let bench = Bench::with(&[("b.rs", b"fn needle() {}\n"), ("a/x.rs", b"//\nlet needle = 1;\n")]);
    let told = bench.search("needle");
    assert_eq!(told.end(), ("succeeded", ""));
    assert_eq!(told.at("/result/count"), json!({ "exact": 2 }));
    let first = told.at("/result/matches/0");
    assert_eq!(
        first,
        json!({ "path": "a/x.rs", "line": 2, "column": 5, "text": "let needle = 1;" })
    );
    assert_eq!(told.text("/result/matches/1/path"), "b.rs");
}

#[test]
fn w7_nothing_found_is_success_and_a_bad_pattern_is_not() {
    let bench = Bench::with(&[("a", b"f(\n")]);
    let none = bench.search("absent");
    assert_eq!(none.end(), ("succeeded", ""));
    assert_eq!(none.at("/result/count"), json!({ "exact": 0 }));
    assert_eq!(bench.search("(").at("/result/count"), json!({ "exact": 1 }));
    for pattern in ["(", "a{999999999}"] {
        let told = bench.call("repository_search", json!({ "query": pattern, "mode": "regex" }));
        assert_eq!(told.end().1, "invalid_pattern", "{}", told.all());
        assert!(told.at("/error/details/position").is_u64(), "{}", told.all());
    }
}

#[test]
fn f7_a_cut_search_goes_on_where_it_stopped() {
    let bench = Bench::new();
    for nth in 0..25 {
        bench.write(&format!("f{nth:02}"), b"needle\nneedle\n");
    }
    let mut found = Vec::new();
    let mut after = Value::Null;
    for _ in 0..20 {
        let mut arguments = json!({ "query": "needle", "limits": { "matches": 7 } });
        if after != Value::Null {
            arguments["after"] = after.clone();
        }
        let told = bench.call("repository_search", arguments);
        for hit in told.at("/result/matches").as_array().into_iter().flatten() {
            found.push(format!("{}:{}", hit["path"], hit["line"]));
        }
        after = told.at("/truncation/0/continuation");
        if after == Value::Null {
            break;
        }
    }
    assert_eq!(found.len(), 50);
    let mut sorted = found.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(found, sorted);
}

#[test]
fn w3_a_continuation_belongs_to_its_query() {
    let bench = Bench::with(&[("a", b"one\none\none\n")]);
    let cut =
        bench.call("repository_search", json!({ "query": "one", "limits": { "matches": 1 } }));
    let after = cut.at("/truncation/0/continuation");
    let other = bench.call("repository_search", json!({ "query": "two", "after": after }));
    assert_eq!(other.end(), ("rejected", "continuation_mismatch"));
    let made_up = bench.call("repository_search", json!({ "query": "one", "after": "nonsense" }));
    assert_eq!(made_up.end(), ("rejected", "continuation_mismatch"));
}

#[test]
fn w5_what_policy_keeps_back_is_counted_and_not_shown() {
    let bench = Bench::with(&[
        (".env", b"KEY=needle-canary\n"),
        ("a", b"needle\n"),
        (".gitignore", b"built\n"),
        ("built/x", b"needle\n"),
    ]);
    std::fs::create_dir(bench.at(".git")).unwrap();
    let told = bench.search("needle");
    assert_eq!(told.at("/result/count"), json!({ "exact": 1 }));
    assert_eq!(told.at("/result/skipped/denied"), json!(1));
    assert_eq!(told.at("/result/skipped/ignored"), json!(1));
    assert!(!told.all().contains("canary"));
}

#[test]
fn e12_p015_one_long_line_does_not_break_the_bound() {
    let line = format!("{}needle{}", "a".repeat(1 << 20), "b".repeat(1 << 20));
    let bench = Bench::with(&[("min.js", line.as_bytes())]);
    let told = bench.search("needle");
    assert!(told.all().len() < 2_000, "{} bytes", told.all().len());
    assert_eq!(told.at("/result/matches/0/clipped"), json!(true));
    assert_eq!(told.at("/result/matches/0/column"), json!((1 << 20) + 1));
    assert_eq!(told.at("/truncation"), Value::Null, "nothing else was left out");
}

#[test]
fn w4_p013_a_pattern_is_never_an_option() {
    let bench = Bench::with(&[("a", b"run --force -e x\n"), ("-r", b"--force\n")]);
    for query in ["--force", "-e", "--pre=touch hit"] {
        let told = bench.search(query);
        assert_eq!(told.end(), ("succeeded", ""), "{query}");
    }
    assert_eq!(bench.search("--force").at("/result/count"), json!({ "exact": 2 }));
    assert!(!bench.at("hit").exists());
}

#[test]
fn w4_paths_and_counts_come_alone_when_asked_for() {
    let bench = Bench::with(&[("a.rs", b"x\nx\n"), ("b.md", b"x\n")]);
    let ask = |output: &str| {
        bench.call(
            "repository_search",
            json!({ "query": "x", "output": output, "include": ["*.rs"] }),
        )
    };
    assert_eq!(ask("paths").text("/result/paths/0/path"), "a.rs");
    assert_eq!(ask("paths").at("/result/matches"), Value::Null);
    assert_eq!(ask("count").at("/result/paths/0"), json!({ "path": "a.rs", "lines": 2 }));
    let names = bench.call("repository_search", json!({ "query": "*.md", "mode": "filename" }));
    assert_eq!(names.text("/result/paths/0/path"), "b.md");
}
