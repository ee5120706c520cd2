//! `repository_patch`.

use serde_json::json;

use crate::support::Bench;

#[test]
fn p2_an_edit_needs_a_read_and_a_read_is_enough() {
    let bench = Bench::with(&[("a.rs", b"let a = 1;\n")]);
    assert_eq!(bench.replace("a.rs", "1", "2").end(), ("rejected", "not_read"));
    bench.read("a.rs");
    let told = bench.replace("a.rs", "1", "2");
    assert_eq!(told.end(), ("succeeded", ""), "{}", told.all());
    assert_eq!(bench.text("a.rs"), "let a = 2;\n");
    assert_eq!(
        told.text("/result/diff"),
        "--- a/a.rs\n+++ b/a.rs\n@@ -1,1 +1,1 @@\n-let a = 1;\n+let a = 2;\n"
    );
    // The task knows what it wrote.
    assert_eq!(bench.replace("a.rs", "2", "3").end(), ("succeeded", ""));
}

#[test]
fn p2_a_search_hit_is_not_a_read() {
    let bench = Bench::with(&[("a.rs", b"let a = 1;\n")]);
    bench.search("let a");
    assert_eq!(bench.replace("a.rs", "1", "2").end(), ("rejected", "not_read"));
}

#[test]
fn p2_a_file_that_changed_since_is_stale_and_shown() {
    let bench = Bench::with(&[("a", b"one\n")]);
    bench.read("a");
    bench.write("a", b"one, and theirs\n");
    let told = bench.replace("a", "one", "two");
    assert_eq!(told.end(), ("rejected", "stale"));
    assert_eq!(told.text("/error/details/refused/0/excerpt"), "one, and theirs\n");
    let current = wire::Digest::of_bytes(b"one, and theirs\n").to_string();
    assert_eq!(told.text("/error/details/refused/0/current"), current);
    assert_eq!(bench.text("a"), "one, and theirs\n");
}

#[test]
fn p2_a_stated_base_counts_instead_of_a_read() {
    let bench = Bench::with(&[("a", b"one\n")]);
    let with_base = |base: &wire::Digest| {
        let change =
            json!({ "action": "write", "path": "a", "content": "two\n", "base": base.to_string() });
        bench.call("repository_patch", json!({ "changes": [change] }))
    };
    assert_eq!(with_base(&wire::Digest::of_bytes(b"other")).end(), ("rejected", "stale"));
    assert_eq!(with_base(&wire::Digest::of_bytes(b"one\n")).end(), ("succeeded", ""));
}

#[test]
fn p3_an_ambiguous_edit_lists_its_places() {
    let bench = Bench::with(&[("a", b"x\ny\nx\n")]);
    bench.read("a");
    let told = bench.replace("a", "x", "z");
    assert_eq!(told.end(), ("rejected", "ambiguous_match"));
    let places = told.at("/error/details/refused/0/lines");
    assert_eq!(places, json!([{ "first": 1, "last": 1 }, { "first": 3, "last": 3 }]));
    assert_eq!(told.at("/error/details/applied"), json!(0));
}

#[test]
fn p3_no_match_shows_what_is_near() {
    let bench = Bench::with(&[("a", b"    return 1\n")]);
    bench.read("a");
    let told = bench.replace("a", "\treturn 1\n", "\treturn 2\n");
    assert_eq!(told.end(), ("rejected", "no_match"));
    let near = told.at("/error/details/refused/0/candidates/0");
    assert_eq!(near["difference"], "indentation");
    assert_eq!(near["excerpt"], "    return 1\n");
}

#[test]
fn p5_a_patch_text_lands_whole_or_not_at_all() {
    let bench = Bench::with(&[("a", b"one\n"), ("b", b"two\n")]);
    bench.read("a");
    let patch = "*** Begin Patch\n*** Update File: a\n@@\n-one\n+ONE\n*** Update File: b\n@@\n-two\n+TWO\n*** End Patch";
    let told = bench.call("repository_patch", json!({ "patch": patch }));
    assert_eq!(told.end(), ("rejected", "not_read"));
    assert_eq!(bench.text("a"), "one\n");
    bench.read("b");
    assert_eq!(bench.call("repository_patch", json!({ "patch": patch })).end(), ("succeeded", ""));
    assert_eq!((bench.text("a"), bench.text("b")), ("ONE\n".to_owned(), "TWO\n".to_owned()));
}

#[test]
fn p11_p007_what_runs_code_later_is_not_written() {
    let bench = Bench::with(&[(".git/config", b"[core]\n"), ("sub/.git/HEAD", b"ref: x\n")]);
    for path in [
        ".git/hooks/pre-commit",
        "sub/.git/hooks/pre-commit",
        ".github/workflows/ci.yml",
        ".vscode/tasks.json",
        ".mcp.json",
        "opencode.json",
        "sub/.opencode/plugin/x.ts",
        ".gitconfig",
        "lefthook.toml",
        ".forgejo/workflows/ci.yml",
        ".zprofile",
        "lib/x.pth",
        "chancery.toml",
        ".env",
    ] {
        let change = json!({ "action": "create", "path": path, "content": "x" });
        let told = bench.call("repository_patch", json!({ "changes": [change] }));
        assert_eq!(told.end(), ("denied", "denied"), "{path}: {}", told.all());
        assert!(!bench.at(path).exists(), "{path}");
    }
    assert_eq!(bench.replace(".git/config", "core", "x").end(), ("denied", "denied"));
}

#[test]
fn p9_create_delete_and_rename_each_say_what_they_did() {
    let bench = Bench::with(&[("a", b"a\n"), ("b", b"b\n")]);
    bench.read("a");
    bench.read("b");
    let changes = json!([
        { "action": "create", "path": "new/c", "content": "c\n" },
        { "action": "delete", "path": "a" },
        { "action": "rename", "path": "b", "to": "moved/b" },
    ]);
    let told = bench.call("repository_patch", json!({ "changes": changes }));
    assert_eq!(told.end(), ("succeeded", ""), "{}", told.all());
    let files = told.at("/result/files");
    let said: Vec<String> = files
        .as_array()
        .unwrap()
        .iter()
        .map(|file| {
            format!("{} {}", file["change"].as_str().unwrap(), file["path"].as_str().unwrap())
        })
        .collect();
    assert_eq!(said, ["deleted a", "renamed moved/b", "created new/c"]);
    assert!(!bench.at("a").exists() && !bench.at("b").exists());
}

#[test]
fn e8_a_change_sent_again_under_its_key_is_answered_and_not_held_against_what_it_made() {
    let bench = Bench::with(&[("a", b"one\n"), ("b", b"b\n"), ("c", b"c\n")]);
    for path in ["a", "b", "c"] {
        bench.read(path);
    }
    for (key, change) in [
        ("k1", json!({ "action": "create", "path": "n", "content": "n\n" })),
        ("k2", json!({ "action": "replace", "path": "a", "old": "one", "new": "two" })),
        ("k3", json!({ "action": "delete", "path": "b" })),
        ("k4", json!({ "action": "rename", "path": "c", "to": "d" })),
    ] {
        let arguments = json!({ "changes": [change] });
        let first = bench.call_keyed(key, "repository_patch", arguments.clone());
        assert_eq!(first.end(), ("succeeded", ""), "{key}: {}", first.all());
        let again = bench.call_keyed(key, "repository_patch", arguments);
        assert_eq!(again.receipt().receipt_id, first.receipt().receipt_id, "{key}");
    }
    let other = json!({ "changes": [{ "action": "create", "path": "m", "content": "m\n" }] });
    let told = bench.call_keyed("k1", "repository_patch", other);
    assert_eq!(told.end(), ("rejected", "idempotency_conflict"));
}

#[test]
fn p1_a_unified_diff_is_a_patch_and_says_how_far_off_it_was() {
    let bench = Bench::with(&[("a", b"one\ntwo\nthree\n")]);
    let diff = "--- a/a\n+++ b/a\n@@ -1,1 +1,1 @@\n-two\n+TWO\n";
    assert_eq!(
        bench.call("repository_patch", json!({ "patch": diff })).end(),
        ("rejected", "not_read")
    );
    bench.read("a");
    let told = bench.call("repository_patch", json!({ "patch": diff }));
    assert_eq!(told.end(), ("succeeded", ""), "{}", told.all());
    assert_eq!(told.at("/result/files/0/offset_lines"), json!([1]));
    assert_eq!(bench.text("a"), "one\nTWO\nthree\n");
    let again =
        bench.call("repository_patch", json!({ "patch": diff, "limits": { "bytes": 20000 } }));
    assert_eq!(again.end(), ("rejected", "no_match"), "{}", again.all());
    assert_eq!(again.text("/error/pointer"), "/arguments/patch");
    assert_eq!(again.at("/error/details/refused/0/already_applied"), json!(true));
}

#[test]
fn p1_a_patch_in_no_known_form_says_which_are_and_a_wrong_count_where_it_is() {
    let bench = Bench::with(&[("a", b"one\n")]);
    let told = bench.call("repository_patch", json!({ "patch": "please change a" }));
    assert_eq!(told.end(), ("rejected", "invalid_patch"));
    for form in ["*** Begin Patch", "diff --git", "---"] {
        assert!(told.text("/error/message").contains(form), "{}", told.all());
    }
    let wrong = "--- a/a\n+++ b/a\n@@ -1,2 +1,1 @@\n-one\n+two\n";
    let told = bench.call("repository_patch", json!({ "patch": wrong }));
    assert_eq!(told.end(), ("rejected", "invalid_patch"));
    assert_eq!(told.at("/error/details/line"), json!(3), "{}", told.all());
}

#[test]
fn p7_a_mode_alone_is_a_change_that_can_be_settled() {
    let bench = Bench::with(&[("run", b"x\n")]);
    bench.read("run");
    let diff = "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n";
    let told = bench.call("repository_patch", json!({ "patch": diff }));
    assert_eq!(told.end(), ("succeeded", ""), "{}", told.all());
    assert_eq!(told.at("/result/files/0/executable"), json!(true));
    assert_eq!(told.text("/result/diff"), diff);
}

#[test]
fn p1_lines_are_replaced_by_the_numbers_that_a_read_showed() {
    let bench = Bench::with(&[("a", b"1\n2\n3\n")]);
    let lines = |first: u64, last: u64, new: &str| json!({ "action": "lines", "path": "a", "first": first, "last": last, "new": new });
    let call =
        |changes: serde_json::Value| bench.call("repository_patch", json!({ "changes": changes }));
    assert_eq!(call(json!([lines(1, 1, "one")])).end(), ("rejected", "not_read"));
    bench.read("a");
    let told = call(json!([lines(1, 1, "one\nand\n"), lines(4, 3, "4\n")]));
    assert_eq!(told.end(), ("succeeded", ""), "{}", told.all());
    assert_eq!(bench.text("a"), "one\nand\n2\n3\n4\n");
    let told = call(json!([lines(5, 6, "x")]));
    assert_eq!(told.end(), ("rejected", "invalid_range"));
    assert_eq!(told.at("/error/details/refused/0/total_lines"), json!(5));
    let told = call(json!([lines(1, 2, "x"), lines(2, 2, "y")]));
    assert_eq!(told.end(), ("rejected", "invalid_range"));
    assert_eq!(told.text("/error/pointer"), "/arguments/changes/1");
    bench.write("a", b"theirs\n");
    assert_eq!(call(json!([lines(1, 1, "mine")])).end(), ("rejected", "stale"));
}
