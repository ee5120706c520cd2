//! The unified diff: what is one, where a hunk goes, and what it must say of the file.

use workspace::patch::{ChangeError, DiffCause, TextError, TouchKind, parse_diff, parse_patch};

use crate::support::*;

const CODE: &[u8] = b"a\nsame\nb\nc\nsame\nd\n";

fn patched(file: &[u8], hunks: &str) -> Result<String, ChangeError> {
    let scratch = Scratch::with(&[("f", file)]);
    let before = scratch.tree();
    match scratch.diff(&format!("--- a/f\n+++ b/f\n{hunks}")) {
        Ok(_) => Ok(scratch.text("f")),
        Err(refused) => {
            assert_eq!(scratch.tree(), before);
            Err(refused.change())
        }
    }
}

#[test]
fn p1_the_first_line_says_in_which_form_a_patch_is() {
    let scratch = Scratch::new();
    let read = |text: &str| parse_patch(text, &|path| scratch.workspace.path(path));
    assert!(read("\n*** Begin Patch\n*** Delete File: a\n*** End Patch\n").is_ok());
    assert!(read("\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n").is_ok());
    assert!(read("diff --git a/f b/f\nold mode 100644\nnew mode 100755\n").is_ok());
    for neither in [
        "",
        "x",
        "Here it is:\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n",
        "```diff\n",
        "@@ -1 +1 @@\n-a\n+b\n",
    ] {
        assert_eq!(read(neither), Err(TextError::Form), "{neither}");
    }
    let error = read("*** Begin Patch\nwhat\n*** End Patch").unwrap_err();
    assert!(matches!(&error, TextError::V4a(_)) && error.line() == 2, "{error}");
    let error = read("--- a/f\n+++ b/f\nwhat\n").unwrap_err();
    assert!(matches!(&error, TextError::Diff(_)) && error.line() == 3, "{error}");
}

#[test]
fn p3_a_hunk_at_its_stated_line_is_placed_there_though_it_fits_elsewhere_too() {
    assert_eq!(patched(CODE, "@@ -5 +5 @@\n-same\n+other\n").unwrap(), "a\nsame\nb\nc\nother\nd\n");
    assert_eq!(patched(CODE, "@@ -2 +2 @@\n-same\n+other\n").unwrap(), "a\nother\nb\nc\nsame\nd\n");
}

#[test]
fn p3_a_hunk_that_fits_once_elsewhere_is_placed_there_and_says_how_far() {
    let scratch = Scratch::with(&[("f", CODE)]);
    let touches = scratch
        .diff("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n b\n-c\n+C\n@@ -9 +9 @@\n-d\n+D\n")
        .unwrap();
    assert_eq!(scratch.text("f"), "a\nsame\nb\nC\nsame\nD\n");
    assert_eq!(touches[0].offset_lines, [2, -3]);
    let touches = scratch.diff("--- a/f\n+++ b/f\n@@ -6 +6 @@\n-D\n+d\n").unwrap();
    assert!(touches[0].offset_lines.is_empty());
}

#[test]
fn p3_p021_line_numbers_that_are_wrong_once_choose_no_place() {
    let refused = patched(CODE, "@@ -3 +3 @@\n-same\n+other\n").unwrap_err();
    let ChangeError::Ambiguous { found: 2, places, .. } = refused else { panic!("{refused}") };
    assert_eq!([places[0].first, places[1].first], [2, 5]);
    // The second number is right by chance: the first is not, so neither is believed.
    let refused = patched(CODE, "@@ -2 +2 @@\n-a\n+A\n@@ -5 +5 @@\n-same\n+other\n").unwrap_err();
    assert!(matches!(refused, ChangeError::Ambiguous { hunk: 1, found: 2, .. }), "{refused}");
}

#[test]
fn p3_a_hunk_that_fits_nowhere_shows_what_is_near_or_that_it_is_done() {
    let refused =
        patched(b"    return 1\n", "@@ -1 +1 @@\n-\treturn 1\n+\treturn 2\n").unwrap_err();
    let ChangeError::NoMatch { candidates, already_applied: false, .. } = refused else {
        panic!("{refused}")
    };
    assert_eq!(candidates[0].lines.first, 1);
    let refused = patched(b"a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n").unwrap_err();
    assert!(matches!(refused, ChangeError::NoMatch { already_applied: true, .. }), "{refused}");
    let refused = patched(b"a\n", "@@ -0,0 +1 @@\n+b\n").unwrap_err();
    assert!(matches!(refused, ChangeError::NoContext { .. }), "{refused}");
    assert_eq!(patched(b"", "@@ -0,0 +1 @@\n+b\n").unwrap(), "b\n");
    let upwards = "@@ -6 +6 @@\n-d\n+D\n@@ -1 +1 @@\n-a\n+A\n";
    let refused = patched(CODE, upwards).unwrap_err();
    assert!(matches!(refused, ChangeError::HunkOrder { hunk: 1, .. }), "{refused}");
}

#[test]
fn p7_the_final_newline_is_as_the_diff_says_and_must_be_as_it_says() {
    let none = "\\ No newline at end of file\n";
    assert_eq!(patched(b"a", &format!("@@ -1 +1 @@\n-a\n{none}+b\n{none}")).unwrap(), "b");
    assert_eq!(patched(b"a", &format!("@@ -1 +1 @@\n-a\n{none}+a\n")).unwrap(), "a\n");
    assert_eq!(patched(b"a\n", &format!("@@ -1 +1 @@\n-a\n+a\n{none}")).unwrap(), "a");
    assert_eq!(patched(b"a\nb", &format!("@@ -1,2 +1,2 @@\n-a\n+A\n b\n{none}")).unwrap(), "A\nb");
    let check = |file: &[u8], hunks: &str, has_one| {
        let refused = patched(file, hunks).unwrap_err();
        let ChangeError::FinalNewline { file_has_one, .. } = refused else { panic!("{refused}") };
        assert_eq!(file_has_one, has_one);
    };
    check(b"a", "@@ -1 +1 @@\n-a\n+b\n", false);
    check(b"a\n", &format!("@@ -1 +1 @@\n-a\n{none}+b\n"), true);
    // What is said to be the end of the file is looked for there only.
    let twice = format!("@@ -9 +9 @@\n-same\n{none}+other\n");
    assert_eq!(patched(b"same\nx\nsame", &twice).unwrap(), "same\nx\nother\n");
}

#[test]
fn p7_p018_lines_without_carriage_returns_take_the_endings_of_the_file() {
    let hunk = "@@ -1,3 +1,4 @@\n a\n-b\n+b1\n+b2\n c\n";
    let file = b"\xEF\xBB\xBFa\r\nb\r\nc\r\n";
    let wanted = "\u{feff}a\r\nb1\r\nb2\r\nc\r\n";
    assert_eq!(patched(file, hunk).unwrap(), wanted);
    assert_eq!(patched(b"a\rb\rc\r", hunk).unwrap(), "a\rb1\rb2\rc\r");
    // A text in which every line ends so came that way.
    let scratch = Scratch::with(&[("f", b"a\nb\nc\n")]);
    scratch.diff(&format!("--- a/f\n+++ b/f\n{hunk}").replace('\n', "\r\n")).unwrap();
    assert_eq!(scratch.text("f"), "a\nb1\nb2\nc\n");
    // With carriage returns in the lines of the file, the others are meant as they are.
    assert_eq!(patched(b"a\r\nb\r\n", "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+b\n").unwrap(), "a\r\nb\n");
}

#[test]
fn p7_p019_bytes_of_an_old_encoding_stay() {
    let scratch = Scratch::with(&[("f", b"// caf\xE9\nx = 1\n")]);
    scratch.diff("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n // café\n-x = 1\n+x = 2\n").unwrap();
    assert_eq!(scratch.bytes("f"), b"// caf\xE9\nx = 2\n");
}

#[test]
fn p1_a_file_is_created_deleted_and_renamed_by_its_headers() {
    let scratch = Scratch::with(&[("gone", b"x\ny\n"), ("from", b"1\n2\n")]);
    let touches = scratch
        .diff("--- /dev/null\n+++ b/new/run\n@@ -0,0 +1 @@\n+made\n\\ No newline at end of file\n--- a/gone\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x\n-y\ndiff --git a/from b/to\nrename from from\nrename to to\n--- a/from\n+++ b/to\n@@ -1,2 +1,2 @@\n 1\n-2\n+two\n")
        .unwrap();
    assert_eq!(touches.len(), 3);
    assert_eq!(
        (scratch.text("new/run"), scratch.text("to")),
        ("made".to_owned(), "1\ntwo\n".to_owned())
    );
    assert!(!scratch.at("gone").exists() && !scratch.at("from").exists());
    assert!(touches.iter().any(|touch| touch.kind == TouchKind::Renamed { from: path("from") }));

    let refused =
        scratch.diff("--- a/to\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n").unwrap_err().change();
    assert!(matches!(refused, ChangeError::NotEmptied { left_bytes: 4, .. }), "{refused}");
    let refused =
        scratch.diff("--- /dev/null\n+++ b/to\n@@ -0,0 +1 @@\n+x\n").unwrap_err().change();
    assert!(matches!(refused, ChangeError::Exists { .. }), "{refused}");
}

#[test]
fn p7_the_executable_bit_changes_alone_and_must_be_as_stated() {
    let scratch = Scratch::with(&[("run", b"x\n")]);
    let make = "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n";
    let touches = scratch.diff(make).unwrap();
    assert_eq!((touches[0].executable, touches[0].added_lines), (Some(true), 0));
    assert_eq!(scratch.tree()[0].1 & 0o111, 0o111);
    let refused = scratch.diff(make).unwrap_err().change();
    assert!(matches!(refused, ChangeError::ModeDiffers { executable: true, .. }), "{refused}");
    scratch
        .diff("diff --git a/run b/run\nold mode 100755\nnew mode 100644\n--- a/run\n+++ b/run\n@@ -1 +1 @@\n-x\n+y\n")
        .unwrap();
    assert_eq!((scratch.tree()[0].1 & 0o111, scratch.text("run")), (0, "y\n".to_owned()));
}

#[test]
fn p2_a_diff_needs_what_the_task_has_seen() {
    let scratch = Scratch::with(&[("f", b"a\n")]);
    let changes = || parse_diff("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n").unwrap();
    let not_seen = scratch.patch_having_seen(changes(), &|_| None).unwrap_err().change();
    assert!(matches!(not_seen, ChangeError::NotSeen { .. }), "{not_seen}");
    let stale = scratch.patch_having_seen(changes(), &|_| Some(digest(b"b"))).unwrap_err().change();
    assert!(matches!(stale, ChangeError::Stale { .. }), "{stale}");
}

#[test]
fn p4_a_diff_of_a_plan_is_a_diff_that_lands() {
    let files: &[(&str, &[u8])] = &[
        ("a", b"one\ntwo"),
        ("b", b"keep\n"),
        ("gone", b"x\n"),
        ("empty gone", b""),
        ("run", b"x\n"),
    ];
    let scratch = Scratch::with(files);
    let seen = |path: &workspace::RepoPath| scratch.digest_now(path);
    let mut changes = vec![
        replace("a", "two", "2"),
        rename("b", "c"),
        create("new", "n"),
        create("new empty", ""),
        delete("gone"),
        delete("empty gone"),
    ];
    changes
        .extend(parse_diff("diff --git a/run b/run\nold mode 100644\nnew mode 100755\n").unwrap());
    let plan = scratch.workspace.targets(changes).unwrap().plan(&seen).unwrap();
    let diff = plan.diff();
    plan.apply(&scratch.workspace, &scratch.journals(), &|| false).unwrap();
    let again = Scratch::with(files);
    again.diff(&diff).unwrap();
    assert_eq!(again.tree(), scratch.tree());
}

#[test]
fn p1_wrong_counts_are_refused_with_the_line_and_both_counts() {
    let check = |hunks: &str, line: usize, stated, counted| {
        let error = parse_diff(&format!("--- a/f\n+++ b/f\n{hunks}")).unwrap_err();
        assert_eq!(error.cause, DiffCause::Counts { stated, counted }, "{hunks}");
        assert_eq!(error.line, line, "{hunks}");
    };
    check("@@ -1,2 +1,2 @@\n a\n-b\n", 3, (2, 2), (2, 1));
    check("@@ -1,1 +1,1 @@\n-a\n+b\n+c\n", 3, (1, 1), (1, 2));
    check("@@ -1 +1 @@\n-a\n+b\n@@ -5,3 +5,3 @@\n c\n-d\n+e\n", 6, (3, 3), (2, 2));
    check(
        "@@ -1,4 +1,4 @@\n a\n-b\n+c\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n",
        3,
        (4, 4),
        (2, 2),
    );
    check("@@ -1 +1,2 @@\n a\n-b\n+c\n", 3, (1, 2), (2, 2));
    // Lines that look like headers are lines while the counts say so.
    let scratch = Scratch::with(&[("f", b"-- a\nx\n")]);
    scratch.diff("--- a/f\n+++ b/f\n@@ -1 +1 @@\n--- a\n+++ b\n@@ -2 +2 @@\n-x\n+y\n").unwrap();
    assert_eq!(scratch.text("f"), "++ b\ny\n");
}

#[test]
fn p1_what_a_diff_may_not_say_is_refused_with_its_line() {
    let sides =
        |old: &str, new: &str| DiffCause::Sides { old: old.to_owned(), new: new.to_owned() };
    let hunk = "@@ -1 +1 @@\n-a\n+b\n";
    for (text, line, cause) in [
        ("diff --git a/l b/l\nnew file mode 120000\n".to_owned(), 2, DiffCause::SymbolicLink),
        ("diff --git a/l b/l\nindex 1..2 120000\n".to_owned(), 2, DiffCause::SymbolicLink),
        ("diff --git a/s b/s\nnew file mode 160000\n".to_owned(), 2, DiffCause::Submodule),
        (
            "diff --git a/s b/s\nold mode 100600\n".to_owned(),
            2,
            DiffCause::Mode { mode: "100600".to_owned() },
        ),
        ("diff --git a/x b/y\nsimilarity index 90%\ncopy from x\n".to_owned(), 3, DiffCause::Copy),
        (
            "diff --git a/x b/x\nindex 1..2 100644\nBinary files a/x and b/x differ\n".to_owned(),
            3,
            DiffCause::Binary,
        ),
        ("diff --git a/x b/x\nGIT binary patch\nliteral 0\n".to_owned(), 2, DiffCause::Binary),
        (format!("--- a/x\n+++ b/y\n{hunk}"), 1, sides("a/x", "b/y")),
        (format!("--- i/x\n+++ w/x\n{hunk}"), 1, sides("i/x", "w/x")),
        (format!("--- b/x\n+++ a/x\n{hunk}"), 1, sides("b/x", "a/x")),
        (format!("diff --git a/x b/x\n--- a/y\n+++ b/y\n{hunk}"), 1, sides("a/y", "b/y")),
        (
            format!("--- \"a/\\q\"\n+++ b/y\n{hunk}"),
            1,
            DiffCause::Quoting { text: "\"a/\\q\"".to_owned() },
        ),
        ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+a\n".to_owned(), 3, DiffCause::NoChange),
        ("diff --git a/x b/x\n".to_owned(), 1, DiffCause::NothingDone),
        (
            "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n\\ No newline\n+b\n c\n".to_owned(),
            5,
            DiffCause::Marker,
        ),
    ] {
        let error = parse_diff(&text).unwrap_err();
        assert_eq!((error.line, error.cause), (line, cause), "{text}");
    }
    for (text, line) in [
        (format!("--- /etc/passwd\n+++ /etc/passwd\n{hunk}"), 1),
        (format!("--- a/../x\n+++ b/../x\n{hunk}"), 1),
        (format!("--- \"a//etc/x\"\n+++ \"b//etc/x\"\n{hunk}"), 1),
    ] {
        let error = parse_diff(&text).unwrap_err();
        assert!(matches!(error.cause, DiffCause::Path(_)) && error.line == line, "{error}");
    }
    for (text, line) in [
        ("--- a/f\n", 2),
        ("--- a/f\n+++ b/f\n", 3),
        ("--- a/f\n+++ b/f\n@@ -0 +1 @@\n-a\n+b\n", 3),
        ("--- a/f\n+++ b/f\n@@ 1 @@\n-a\n", 3),
        ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\nwhat\n", 6),
        ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n\n@@ -5 +5 @@\n-a\n+b\n", 7),
    ] {
        let error = parse_diff(text).unwrap_err();
        assert!(matches!(error.cause, DiffCause::Expected { .. }), "{text}: {error}");
        assert_eq!(error.line, line, "{text}: {error}");
    }
}

#[test]
fn p1_headers_that_contradict_each_other_are_refused() {
    for headers in [
        "new file mode 100644\n--- a/f\n+++ b/f\n",
        "deleted file mode 100644\n--- a/f\n+++ b/f\n",
        "new file mode 100644\ndeleted file mode 100644\n",
        "rename from f\n",
        "old mode 100644\n",
        "old mode 100644\nnew mode 100755\n--- /dev/null\n+++ b/f\n",
    ] {
        let text = format!("diff --git a/f b/f\n{headers}@@ -1 +1 @@\n-a\n+b\n");
        let text =
            if headers.contains("+++") { text } else { text.replace("@@ -1 +1 @@\n-a\n+b\n", "") };
        let error = parse_diff(&text).unwrap_err();
        assert!(matches!(error.cause, DiffCause::Contradiction { .. }), "{text}: {error}");
    }
    let error = parse_diff("--- /dev/null\n+++ b/f\n@@ -1 +1,2 @@\n a\n+b\n").unwrap_err();
    assert!(matches!(error.cause, DiffCause::Contradiction { .. }), "{error}");
}
