//! `repository_read`.

use serde_json::{Value, json};

use crate::support::Bench;

#[test]
fn w10_a_read_says_what_an_edit_has_to_keep() {
    let bench = Bench::with(&[("a.txt", b"\xEF\xBB\xBFone\r\ntwo")]);
    let told = bench.read("a.txt");
    assert_eq!(told.end(), ("succeeded", ""));
    let facts = told.at("/result/files/0");
    assert_eq!(facts["text"], "one\r\ntwo");
    assert_eq!(facts["encoding"], "utf-8-bom");
    assert_eq!(facts["line_ending"], "crlf");
    assert_eq!(facts["final_newline"], false);
    assert_eq!((&facts["first_line"], &facts["last_line"]), (&json!(1), &json!(2)));
    assert_eq!(facts["digest"], wire::Digest::of_bytes(b"\xEF\xBB\xBFone\r\ntwo").to_string());
}

#[test]
fn f7_p010_following_the_continuation_gives_the_whole_file() {
    let long = format!("{{\"d\":\"{}\",\"end\":\"TAIL\"}}", "x".repeat(300_000));
    let bench = Bench::with(&[("one.json", long.as_bytes())]);
    let mut next = json!({ "path": "one.json" });
    let mut text = String::new();
    for _ in 0..100 {
        let limits = json!({ "bytes": 16384 });
        let told = bench.call("repository_read", json!({ "files": [next], "limits": limits }));
        assert_eq!(told.end(), ("succeeded", ""), "{}", told.all());
        assert!(told.all().len() <= 16384, "the bound holds for the whole answer");
        text.push_str(&told.text("/result/files/0/text"));
        next = told.at("/truncation/0/continuation");
        if next == Value::Null {
            break;
        }
    }
    assert_eq!(text, long);
}

#[test]
fn w2_p009_a_part_says_that_it_is_one() {
    let content: String = (1..=50_000).map(|line| format!("{line}\n")).collect();
    let bench = Bench::with(&[("n", content.as_bytes())]);
    let told = bench.read("n");
    assert_eq!(told.at("/result/files/0/total_lines"), json!(50_000));
    assert_eq!(told.at("/truncation/0/field"), json!("/result/files/0/text"));
    let lines = json!({ "files": [{ "path": "n", "start_line": 40_000, "lines": 3 }] });
    assert_eq!(
        bench.call("repository_read", lines).text("/result/files/0/text"),
        "40000\n40001\n40002\n"
    );
    let past = json!({ "files": [{ "path": "n", "start_line": 50_001 }] });
    assert_eq!(bench.call("repository_read", past).end(), ("failed", "invalid_range"));
}

#[test]
fn w2_one_bad_path_among_several_is_told_beside_the_good_ones() {
    let bench = Bench::with(&[("a", b"a\n"), ("b", b"b\n")]);
    let files = json!([{ "path": "a" }, { "path": "missing" }, { "path": "b" }]);
    let told = bench.call("repository_read", json!({ "files": files }));
    assert_eq!(told.end(), ("partial", "partial"));
    assert_eq!(told.text("/result/files/0/text"), "a\n");
    assert_eq!(told.text("/result/files/1/error/code"), "not_found");
    assert_eq!(told.text("/result/files/2/text"), "b\n");
}

#[test]
fn w9_a_secret_is_denied_also_through_a_link() {
    let bench = Bench::with(&[(".env", b"TOKEN=canary-11\n"), ("a", b"a\n")]);
    std::os::unix::fs::symlink(".env", bench.at("settings")).unwrap();
    for path in [".env", "./.ENV", "settings"] {
        let told = bench.read(path);
        assert_ne!(told.end().0, "succeeded", "{path}");
        assert!(!told.all().contains("canary-11"));
    }
    let files = json!([{ "path": "a" }, { "path": "settings" }]);
    let told = bench.call("repository_read", json!({ "files": files }));
    assert_eq!(told.end(), ("denied", "denied"));
}

#[test]
fn p8_p001_a_link_out_of_the_workspace_is_refused() {
    let bench = Bench::new();
    std::fs::write(bench.outside("canary"), "CANARY-7f3a").unwrap();
    std::os::unix::fs::symlink(bench.outside("canary"), bench.at("absolute")).unwrap();
    std::os::unix::fs::symlink("../canary", bench.at("relative")).unwrap();
    std::os::unix::fs::symlink("relative", bench.at("hop")).unwrap();
    for path in ["absolute", "relative", "hop", "../canary"] {
        let told = bench.read(path);
        assert_eq!(told.end(), ("rejected", "outside_workspace"), "{path}: {}", told.all());
        assert!(!told.all().contains("CANARY"));
    }
}

#[test]
fn w2_a_directory_is_listed_in_order_and_by_pages() {
    let bench = Bench::new();
    for nth in 0..600 {
        bench.write(&format!("d/f{nth:03}"), b"x");
    }
    let told = bench.read("d");
    assert_eq!(told.text("/result/files/0/kind"), "directory");
    assert_eq!(told.text("/result/files/0/entries/0/path"), "f000");
    let shown = told.at("/result/files/0/entries").as_array().unwrap().len();
    let next = told.at("/truncation/0/continuation");
    let rest = bench.call("repository_read", json!({ "files": [next] }));
    let left = rest.at("/result/files/0/entries").as_array().unwrap().len();
    assert_eq!(shown + left, 600);
}
