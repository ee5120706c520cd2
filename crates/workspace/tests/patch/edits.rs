//! Finding the place, keeping what was not asked for, and the errors that help to write the edit right.

use std::os::unix::fs::PermissionsExt;

use workspace::patch::{ChangeError, Difference, TouchKind};

use crate::support::*;

#[test]
fn p1_exact_text_is_replaced_and_the_rest_stays() {
    let scratch = Scratch::with(&[("a.rs", b"fn one() {}\nfn two() {}\n")]);
    let touches = scratch.patch(vec![replace("a.rs", "two", "three")]).unwrap();
    assert_eq!(scratch.text("a.rs"), "fn one() {}\nfn three() {}\n");
    let touch = &touches[0];
    assert_eq!(touch.kind, TouchKind::Modified);
    assert_eq!((touch.added_lines, touch.removed_lines), (1, 1));
    assert_eq!((touch.changed[0].first, touch.changed[0].last), (2, 2));
    assert_eq!(touch.after.as_deref(), Some(digest(&scratch.bytes("a.rs")).as_str()));
}

#[test]
fn p1_the_text_may_be_there_an_announced_number_of_times() {
    let scratch = Scratch::with(&[("a", b"k = 1\nx\nk = 1\n")]);
    let touches = scratch.patch(vec![replace_exactly("a", "k = 1", "k = 2", 2)]).unwrap();
    assert_eq!(scratch.text("a"), "k = 2\nx\nk = 2\n");
    let lines: Vec<u64> = touches[0].changed.iter().map(|range| range.first).collect();
    assert_eq!(lines, [1, 3]);
}

#[test]
fn p2_a_file_that_was_not_read_is_not_changed() {
    let scratch = Scratch::with(&[("a", b"one\n")]);
    let refused = scratch.patch_having_seen(vec![replace("a", "one", "two")], &|_| None);
    let ChangeError::NotSeen { current, .. } = refused.unwrap_err().change() else { panic!() };
    assert_eq!(current, digest(b"one\n"));
    assert_eq!(scratch.text("a"), "one\n");
}

#[test]
fn p2_p027_a_write_from_an_old_read_is_stale_whatever_size_and_time_say() {
    let scratch = Scratch::with(&[("log.md", b"base\n")]);
    let read = digest(b"base\n");
    let first = write("log.md", "base\nfrom A\n", Some(read.clone()));
    scratch.patch(vec![first]).unwrap();
    let second = write("log.md", "base\nfrom B\n", Some(read.clone()));
    let ChangeError::Stale { expected, current, excerpt, .. } =
        scratch.patch(vec![second]).unwrap_err().change()
    else {
        panic!()
    };
    assert_eq!((expected, current), (read, Some(digest(b"base\nfrom A\n"))));
    assert!(excerpt.contains("from A"));
    assert_eq!(scratch.text("log.md"), "base\nfrom A\n");

    // The same size and modification time, another content.
    scratch.write("log.md", b"BASE\n");
    let before = std::fs::metadata(scratch.at("log.md")).unwrap().modified().unwrap();
    let seen = digest(b"BASE\n");
    std::fs::write(scratch.at("log.md"), b"base\n").unwrap();
    let file = std::fs::File::options().write(true).open(scratch.at("log.md")).unwrap();
    file.set_modified(before).unwrap();
    let stale = scratch.patch(vec![write("log.md", "x\n", Some(seen))]).unwrap_err().change();
    assert!(matches!(stale, ChangeError::Stale { .. }), "{stale}");
}

#[test]
fn p3_two_places_are_an_error_with_the_lines_of_both() {
    let scratch = Scratch::with(&[("a", b"x\nsave()\ny\nsave()\n")]);
    let before = scratch.tree();
    let ChangeError::Ambiguous { expected: 1, found: 2, places, .. } =
        scratch.patch(vec![replace("a", "save()", "load()")]).unwrap_err().change()
    else {
        panic!()
    };
    let lines: Vec<u64> = places.iter().map(|range| range.first).collect();
    assert_eq!(lines, [2, 4]);
    assert_eq!(scratch.tree(), before);
}

#[test]
fn p3_places_that_overlap_are_two() {
    let scratch = Scratch::with(&[("a", b"aaa")]);
    let refused = scratch.patch(vec![replace("a", "aa", "b")]).unwrap_err().change();
    assert!(matches!(refused, ChangeError::Ambiguous { found: 2, .. }), "{refused}");
}

#[test]
fn p3_p021_a_look_alike_is_shown_and_never_edited() {
    let text = "def a():\n\tif p:\n\t\tsave()\n\t\treturn\n\ndef b():\n\tfor q in p:\n\t\tif q:\n\t\t\tsave()\n\t\t\treturn\n";
    let scratch = Scratch::with(&[("m.py", text.as_bytes())]);
    let spaces = "        save()\n        return\n";
    let ChangeError::NoMatch { candidates, already_applied: false, .. } =
        scratch.patch(vec![replace("m.py", spaces, "pass\n")]).unwrap_err().change()
    else {
        panic!()
    };
    let lines: Vec<(u64, u64)> =
        candidates.iter().map(|near| (near.lines.first, near.lines.last)).collect();
    assert_eq!(lines, [(3, 4), (9, 10)]);
    assert!(candidates.iter().all(|near| near.difference == Difference::Indentation));
    assert_eq!(scratch.text("m.py"), text);
}

#[test]
fn p3_the_error_says_in_what_a_near_place_differs() {
    let check = |file: &str, old: &str, difference| {
        let scratch = Scratch::with(&[("a", file.as_bytes())]);
        let refused = scratch.patch(vec![replace("a", old, "new")]).unwrap_err().change();
        let ChangeError::NoMatch { candidates, .. } = refused else { panic!("{refused}") };
        assert_eq!(candidates[0].difference, difference, "{file:?} for {old:?}");
    };
    check("let a = 1;\n", "let a = 1; \n", Difference::TrailingSpace);
    check("    let a = 1;\n", "\tlet a = 1;", Difference::Indentation);
    check("let  a = 1;\n", "let a = 1;", Difference::Whitespace);
    check("say \u{201c}hi\u{201d}\n", "say \"hi\"", Difference::UnicodePunctuation);
    check("Let A = 1;\n", "let a = 1;", Difference::Case);
    check("let total = 1;\n", "let total = 2;", Difference::Text);
}

#[test]
fn p3_a_text_that_was_applied_already_is_told_so() {
    let scratch = Scratch::with(&[("a", b"let b = 2;\n")]);
    let refused = scratch.patch(vec![replace("a", "let a = 1;", "let b = 2;")]);
    let ChangeError::NoMatch { already_applied, .. } = refused.unwrap_err().change() else {
        panic!()
    };
    assert!(already_applied);
}

#[test]
fn p3_p025_a_text_that_is_nowhere_leaves_the_file_as_it_is() {
    let scratch = Scratch::with(&[("conf.txt", b"a = 1\nb = 2\nc = 3\n")]);
    let before = scratch.tree();
    let refused = scratch.patch(vec![replace("conf.txt", "b = 2 \n", "b = 9\n")]);
    let ChangeError::NoMatch { candidates, .. } = refused.unwrap_err().change() else { panic!() };
    assert_eq!(candidates[0].lines.first, 2);
    assert_eq!(scratch.tree(), before);

    let mode = std::fs::Permissions::from_mode(0o444);
    std::fs::set_permissions(scratch.at("conf.txt"), mode).unwrap();
    let refused = scratch.patch(vec![replace("conf.txt", "b = 2", "b = 9")]).unwrap_err().change();
    assert!(matches!(refused, ChangeError::ReadOnly { .. }), "{refused}");
    assert_eq!(scratch.text("conf.txt"), "a = 1\nb = 2\nc = 3\n");
}

#[test]
fn p3_p022_the_new_text_is_taken_literally() {
    let new = "$$1 $& $' $` ${0} \\1 \\n";
    let scratch = Scratch::with(&[("a", b"total=@@\n")]);
    scratch.patch(vec![replace("a", "@@", new)]).unwrap();
    assert_eq!(scratch.text("a"), format!("total={new}\n"));
}

#[test]
fn p3_an_edit_that_changes_nothing_is_an_error() {
    let scratch = Scratch::with(&[("a", b"one\n")]);
    let refused = scratch.patch(vec![replace("a", "one", "one")]).unwrap_err().change();
    assert!(matches!(refused, ChangeError::NoChange { .. }), "{refused}");
    let refused = scratch.patch(vec![replace("a", "", "x")]).unwrap_err().change();
    assert!(matches!(refused, ChangeError::EmptyOld { .. }), "{refused}");
}

#[test]
fn p7_p018_mark_and_line_endings_stay() {
    let scratch = Scratch::with(&[("a", b"\xEF\xBB\xBFa\r\nb\r\nc\r\n")]);
    let touches = scratch.patch(vec![replace("a", "b", "b1\nb2")]).unwrap();
    let wanted = b"\xEF\xBB\xBFa\r\nb1\r\nb2\r\nc\r\n";
    assert_eq!(scratch.bytes("a"), wanted);
    assert_eq!(touches[0].after, Some(digest(wanted)));
    scratch.patch(vec![replace("a", "b1\nb2\n", "b\n")]).unwrap();
    assert_eq!(scratch.bytes("a"), b"\xEF\xBB\xBFa\r\nb\r\nc\r\n");
}

#[test]
fn p7_p019_bytes_of_an_old_encoding_stay() {
    let scratch = Scratch::with(&[("a", b"// caf\xE9\nx = 1\n// \xE0 la\n")]);
    scratch.patch(vec![replace("a", "x = 1", "x = 2")]).unwrap();
    assert_eq!(scratch.bytes("a"), b"// caf\xE9\nx = 2\n// \xE0 la\n");
    let refused = scratch.patch(vec![replace("a", "x = 2", "x = 日")]).unwrap_err().change();
    assert!(matches!(refused, ChangeError::Unencodable { character: '日', .. }), "{refused}");
}

#[test]
fn p7_utf16_is_edited_in_place_and_what_is_no_text_is_refused() {
    let utf16 = |text: &str| {
        let units = text.encode_utf16().flat_map(u16::to_le_bytes);
        [0xFF, 0xFE].into_iter().chain(units).collect::<Vec<u8>>()
    };
    let scratch = Scratch::with(&[("a", &utf16("one\r\ntwo\r\n")), ("b", b"x\0y")]);
    scratch.patch(vec![replace("a", "one\ntwo", "three")]).unwrap();
    assert_eq!(scratch.bytes("a"), utf16("three\r\n"));
    let refused = scratch.patch(vec![replace("b", "x", "z")]).unwrap_err().change();
    assert!(matches!(refused, ChangeError::NotText { .. }), "{refused}");
}

#[test]
fn p7_a_whole_write_keeps_encoding_endings_and_mode() {
    let scratch = Scratch::with(&[("a", b"\xEF\xBB\xBFold\r\ntext\r\n")]);
    let mode = std::fs::Permissions::from_mode(0o750);
    std::fs::set_permissions(scratch.at("a"), mode).unwrap();
    scratch.patch(vec![write("a", "new\nlines\n", None)]).unwrap();
    assert_eq!(scratch.bytes("a"), b"\xEF\xBB\xBFnew\r\nlines\r\n");
    let mode = std::fs::metadata(scratch.at("a")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o750);
}

#[test]
fn p7_p026_the_executable_bit_stays_and_set_id_bits_do_not() {
    let scratch = Scratch::with(&[("run.sh", b"echo one\n")]);
    let mode = std::fs::Permissions::from_mode(0o4755);
    std::fs::set_permissions(scratch.at("run.sh"), mode).unwrap();
    scratch.patch(vec![replace("run.sh", "one", "two")]).unwrap();
    let mode = std::fs::metadata(scratch.at("run.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o755);
    assert_eq!(scratch.tree().len(), 1, "no spare file is left");
}

#[test]
fn p7_a_new_file_can_be_executable() {
    let scratch = Scratch::new();
    let change = workspace::patch::Change::Create {
        path: path("bin/run"),
        content: "#!/bin/sh\n".to_owned(),
        executable: true,
    };
    scratch.patch(vec![change]).unwrap();
    let mode = std::fs::metadata(scratch.at("bin/run")).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111 & mode);
    assert_ne!(mode & 0o100, 0);
}

#[test]
fn p4_the_diff_of_a_plan_is_whole() {
    let scratch = Scratch::new();
    let content: String = (0..500).map(|line| format!("line {line}\n")).collect();
    let targets = scratch.workspace.targets(vec![create("a", &content)]).unwrap();
    let plan = targets.plan(&|_| None).unwrap();
    let whole = plan.diff();
    let mut lines = whole.lines();
    assert_eq!((lines.next(), lines.next()), (Some("--- /dev/null"), Some("+++ b/a")));
    assert!(lines.next().is_some_and(|line| line.ends_with("+1,500 @@")));
    assert_eq!(lines.next(), Some("+line 0"));
    assert_eq!(lines.last(), Some("+line 499"));
}
