//! Lines replaced by their numbers, which the file's digest pins.

use workspace::patch::{Change, ChangeError, TouchKind};

use crate::support::*;

const FIVE: &[u8] = b"1\n2\n3\n4\n5\n";

fn lines(first: u64, last: u64, new: &str) -> Change {
    Change::Lines { path: path("f"), first, last, new: new.to_owned(), base: None }
}

/// What `file` becomes by `changes`.
fn edited(file: &[u8], changes: Vec<Change>) -> Result<String, ChangeError> {
    let scratch = Scratch::with(&[("f", file)]);
    let before = scratch.tree();
    match scratch.patch(changes) {
        Ok(_) => Ok(scratch.text("f")),
        Err(refused) => {
            assert_eq!(scratch.tree(), before);
            Err(refused.change())
        }
    }
}

#[test]
fn p1_lines_are_replaced_inserted_and_removed_by_number() {
    let check = |first, last, new: &str, expected: &str| {
        let made = edited(FIVE, vec![lines(first, last, new)]).unwrap();
        assert_eq!(made, expected, "{first}-{last} {new:?}");
    };
    check(2, 3, "two\nthree\n", "1\ntwo\nthree\n4\n5\n");
    check(2, 2, "two", "1\ntwo\n3\n4\n5\n");
    check(2, 4, "", "1\n5\n");
    check(1, 0, "0\n", "0\n1\n2\n3\n4\n5\n");
    check(3, 2, "2.5\n", "1\n2\n2.5\n3\n4\n5\n");
    check(6, 5, "6\n", "1\n2\n3\n4\n5\n6\n");
    check(1, 5, "", "");
    check(3, 3, "\n", "1\n2\n\n4\n5\n");
    assert_eq!(edited(b"", vec![lines(1, 0, "first")]).unwrap(), "first\n");
}

#[test]
fn p1_all_numbers_of_a_patch_count_in_the_file_before_it() {
    let changes = || {
        vec![
            lines(1, 1, "one\nand a half\n"),
            lines(3, 2, "new\n"),
            lines(5, 5, ""),
            lines(3, 3, "three\n"),
        ]
    };
    let expected = "one\nand a half\n2\nnew\nthree\n4\n";
    assert_eq!(edited(FIVE, changes()).unwrap(), expected);
    let backwards = changes().into_iter().rev().collect();
    assert_eq!(edited(FIVE, backwards).unwrap(), expected, "in any order");
    let past = edited(FIVE, vec![lines(1, 1, "a\nb\nc\n"), lines(6, 6, "x")]).unwrap_err();
    assert!(matches!(past, ChangeError::LinesPastEnd { total_lines: 5, .. }), "{past}");
}

#[test]
fn p1_numbers_go_along_with_a_rename_and_stop_at_another_edit() {
    let scratch = Scratch::with(&[("f", FIVE)]);
    let mut second = lines(5, 5, "five\n");
    if let Change::Lines { path: at, .. } = &mut second {
        *at = path("g");
    }
    let touches = scratch.patch(vec![lines(1, 1, ""), rename("f", "g"), second]).unwrap();
    assert_eq!(scratch.text("g"), "2\n3\n4\nfive\n");
    assert_eq!(touches[0].kind, TouchKind::Renamed { from: path("f") });

    assert_eq!(
        edited(FIVE, vec![lines(1, 1, "x"), replace("f", "5", "y")]).unwrap(),
        "x\n2\n3\n4\ny\n"
    );
    let moved = edited(FIVE, vec![replace("f", "1", "x\ny"), lines(2, 2, "z")]).unwrap_err();
    assert!(matches!(moved, ChangeError::LinesMoved { .. }), "{moved}");
}

#[test]
fn p3_ranges_that_overlap_are_refused() {
    let check = |one: (u64, u64), other: (u64, u64), overlap: bool| {
        for (one, other) in [(one, other), (other, one)] {
            let changes = [one, other].map(|(first, last)| lines(first, last, "x\n"));
            match edited(FIVE, changes.into()) {
                Ok(_) => assert!(!overlap, "{one:?} {other:?}"),
                Err(ChangeError::LinesOverlap { lines, .. }) => {
                    assert!(overlap, "{one:?} {other:?}");
                    assert_eq!((lines.first, lines.last), other);
                }
                Err(error) => panic!("{error}"),
            }
        }
    };
    check((1, 2), (2, 3), true);
    check((1, 4), (2, 3), true);
    check((2, 2), (2, 2), true);
    check((3, 2), (3, 2), true);
    check((2, 3), (3, 2), true);
    check((1, 2), (3, 4), false);
    check((3, 2), (3, 4), false);
    check((3, 2), (1, 2), false);
}

#[test]
fn p3_ranges_that_are_none_are_refused_with_what_there_is() {
    let refused = |first, last| edited(FIVE, vec![lines(first, last, "x")]).unwrap_err();
    for (first, last) in [(0, 1), (3, 1), (0, 0), (5, 0)] {
        let error = refused(first, last);
        assert!(matches!(error, ChangeError::LinesBackwards { .. }), "{error}");
    }
    for (first, last) in [(5, 6), (6, 6), (7, 6), (1, u64::MAX)] {
        let error = refused(first, last);
        let ChangeError::LinesPastEnd { total_lines, .. } = error else { panic!("{error}") };
        assert_eq!(total_lines, 5);
    }
    let same = edited(FIVE, vec![lines(2, 2, "2\n")]).unwrap_err();
    assert!(matches!(same, ChangeError::NoChange { .. }), "{same}");
}

#[test]
fn p2_line_numbers_need_the_content_that_they_were_read_from() {
    let scratch = Scratch::with(&[("f", FIVE)]);
    let not_seen = scratch.patch_having_seen(vec![lines(1, 1, "x")], &|_| None);
    assert!(matches!(not_seen.unwrap_err().change(), ChangeError::NotSeen { .. }));
    let stale = scratch.patch_having_seen(vec![lines(1, 1, "x")], &|_| Some(digest(b"old")));
    assert!(matches!(stale.unwrap_err().change(), ChangeError::Stale { .. }));
    let base = Some(digest(FIVE));
    let stated = Change::Lines { path: path("f"), first: 1, last: 1, new: "x".to_owned(), base };
    scratch.patch_having_seen(vec![stated], &|_| None).unwrap();
    assert_eq!(scratch.text("f"), "x\n2\n3\n4\n5\n");
}

#[test]
fn p7_new_lines_end_as_those_of_the_file_and_its_end_stays() {
    let check = |file: &str, first, last, expected: &str| {
        let made = edited(file.as_bytes(), vec![lines(first, last, "x\ny\n")]).unwrap();
        assert_eq!(made, expected, "{file:?}");
    };
    check("a\r\nb\r\n", 2, 2, "a\r\nx\r\ny\r\n");
    check("\u{feff}a\r\nb\r\n", 1, 1, "\u{feff}x\r\ny\r\nb\r\n");
    check("a\rb\r", 2, 2, "a\rx\ry\r");
    check("a\nb", 2, 2, "a\nx\ny");
    check("a\nb", 3, 2, "a\nb\nx\ny");
    check("a\r\nb\nc\n", 2, 1, "a\r\nx\r\ny\r\nb\nc\n");
}
