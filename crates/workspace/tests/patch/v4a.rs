//! The V4A patch text: where a hunk goes, and what is no patch.

use workspace::patch::{ChangeError, V4aError, parse_v4a};

use crate::support::*;

const CODE: &str = "class A:\n    def run(self):\n        return 1\n\nclass B:\n    def run(self):\n        return 1\n";

fn patched(file: &str, hunks: &str) -> Result<String, ChangeError> {
    let scratch = Scratch::with(&[("f", file.as_bytes())]);
    let text = format!("*** Begin Patch\n*** Update File: f\n{hunks}*** End Patch\n");
    scratch.v4a(&text).map_err(Refused::change)?;
    Ok(scratch.text("f"))
}

#[test]
fn p1_a_patch_adds_updates_moves_and_deletes() {
    let scratch = Scratch::with(&[("old.txt", b"a\nb\nc\n"), ("gone.txt", b"x\n")]);
    let patch = "*** Begin Patch
*** Add File: new/file.txt
+hello
+
+world
*** Update File: old.txt
*** Move to: moved.txt
@@
 a
-b
+B
 c
*** Delete File: gone.txt
*** End Patch
";
    let touches = scratch.v4a(patch).unwrap();
    assert_eq!(touches.len(), 3);
    assert_eq!(scratch.text("new/file.txt"), "hello\n\nworld\n");
    assert_eq!(scratch.text("moved.txt"), "a\nB\nc\n");
    assert!(!scratch.at("old.txt").exists() && !scratch.at("gone.txt").exists());
}

#[test]
fn p1_hunks_follow_each_other_down_the_file() {
    let file: String = (1..=20).map(|line| format!("l{line}\n")).collect();
    let hunks = "@@\n l3\n-l4\n+four\n@@\n-l10\n l11\n+eleven and a half\n";
    let text = patched(&file, hunks).unwrap();
    assert!(text.contains("l3\nfour\nl5\n"));
    assert!(text.contains("l9\nl11\neleven and a half\nl12\n"));
}

#[test]
fn p3_an_anchor_says_which_of_two_places_is_meant() {
    let hunk = "@@ class B:\n     def run(self):\n-        return 1\n+        return 2\n";
    let text = patched(CODE, hunk).unwrap();
    assert!(text.starts_with("class A:\n    def run(self):\n        return 1\n"));
    assert!(text.ends_with("        return 2\n"));
    let nested = "@@ class A:\n@@ def run(self):\n-        return 1\n+        return 0\n";
    assert!(
        patched(CODE, nested)
            .unwrap()
            .starts_with("class A:\n    def run(self):\n        return 0\n")
    );
}

#[test]
fn p3_without_an_anchor_two_places_are_refused() {
    let hunk = "@@\n     def run(self):\n-        return 1\n+        return 2\n";
    let ChangeError::Ambiguous { found: 2, places, .. } = patched(CODE, hunk).unwrap_err() else {
        panic!()
    };
    assert_eq!(places[0].first, 2);
    assert_eq!(places[1].first, 6);
    let twice = "@@ def run(self):\n-        return 1\n+        return 2\n";
    assert!(matches!(patched(CODE, twice), Err(ChangeError::Ambiguous { found: 2, .. })));
}

#[test]
fn p3_context_that_is_not_there_is_refused_with_what_is_near() {
    let refused = patched(CODE, "@@\n class B:\n-  def run(self):\n+  def go(self):\n");
    let ChangeError::NoMatch { hunk: 0, candidates, .. } = refused.unwrap_err() else { panic!() };
    assert_eq!(candidates[0].lines.first, 5);
}

#[test]
fn p3_a_hunk_that_was_applied_already_is_told_so() {
    let check = |hunks: &str, expected: bool| {
        let refused = patched("a\nB\nc\n", hunks).unwrap_err();
        let ChangeError::NoMatch { already_applied, .. } = refused else { panic!("{refused}") };
        assert_eq!(already_applied, expected, "{hunks}");
    };
    check("@@\n a\n-b\n+B\n c\n", true);
    check("@@\n a\n-gone\n B\n", true);
    check("@@ gone\n-b\n+B\n", true);
    check("@@\n a\n-b\n+D\n c\n", false);
    check("@@\n-b\n", false);
}

#[test]
fn p3_added_lines_need_a_place() {
    assert!(matches!(patched("a\n", "@@\n+b\n"), Err(ChangeError::NoContext { .. })));
    assert_eq!(patched("a\nc\n", "@@ a\n+b\n").unwrap(), "a\nb\nc\n");
    assert_eq!(patched("a\n", "@@\n+b\n*** End of File\n").unwrap(), "a\nb\n");
}

#[test]
fn p7_p018_a_hunk_takes_the_endings_of_the_file() {
    let scratch = Scratch::with(&[("f", b"\xEF\xBB\xBFa\r\nb\r\nc\r\n")]);
    scratch
        .v4a("*** Begin Patch\n*** Update File: f\n@@\n a\n-b\n+b1\n+b2\n c\n*** End Patch")
        .unwrap();
    assert_eq!(scratch.bytes("f"), b"\xEF\xBB\xBFa\r\nb1\r\nb2\r\nc\r\n");
}

#[test]
fn p7_a_file_without_a_final_newline_stays_one() {
    assert_eq!(patched("a\nb", "@@\n a\n-b\n+c\n").unwrap(), "a\nc");
    assert_eq!(patched("a\nb", "@@\n b\n+c\n").unwrap(), "a\nb\nc");
    assert_eq!(patched("a\nb", "@@\n-a\n b\n").unwrap(), "b");
    assert_eq!(patched("a\nb\n", "@@\n-b\n+c\n").unwrap(), "a\nc\n");
}

#[test]
fn p7_context_lines_keep_their_own_endings() {
    assert_eq!(patched("a\r\nb\nc\n", "@@\n a\n-b\n+B\n c\n").unwrap(), "a\r\nB\nc\n");
}

#[test]
fn p1_what_is_no_patch_is_refused_with_its_line() {
    let fails = |text: &str| -> V4aError {
        let scratch = Scratch::new();
        parse_v4a(text, &|path| scratch.workspace.path(path)).unwrap_err()
    };
    for (text, line) in [
        ("", 1),
        ("hello", 1),
        ("*** Begin Patch\n*** Add File: a\n+x", 3),
        ("*** Begin Patch\n*** End Patch", 1),
        ("*** Begin Patch\nwhat\n*** End Patch", 2),
        ("*** Begin Patch\n*** Add File: a\nx\n*** End Patch", 3),
        ("*** Begin Patch\n*** Add File: /etc/passwd\n+x\n*** End Patch", 2),
        ("*** Begin Patch\n*** Update File: ../a\n@@\n-x\n*** End Patch", 2),
        ("*** Begin Patch\n*** Update File: a\n*** End Patch", 2),
        ("*** Begin Patch\n*** Update File: a\n@@\n same\n*** End Patch", 4),
        ("*** Begin Patch\n*** Update File: a\n@@\n-x\n+x\n*** End Patch", 5),
        ("*** Begin Patch\n*** Update File: a\n@@\n*x\n*** End Patch", 4),
    ] {
        assert_eq!(fails(text).line, line, "{text}");
    }
}
