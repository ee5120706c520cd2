//! All of it or nothing: refusals, stops, conflicts and the order of changes.

use std::cell::Cell;

use workspace::RepoPath;
use workspace::patch::{
    ApplyError, ChangeError, Intended, MAX_CHANGES, Settled, TouchKind, parse_diff, recover, settle,
};

use crate::support::*;

#[test]
fn p5_p020_one_change_that_fails_refuses_the_whole() {
    let scratch = Scratch::with(&[("first.txt", b"1\n"), ("second.txt", b"2\n")]);
    let before = scratch.tree();
    let refused = scratch
        .patch(vec![
            delete("first.txt"),
            replace("second.txt", "absent", "x"),
            create("third.txt", "3\n"),
            replace("fourth.txt", "a", "b"),
        ])
        .unwrap_err();
    let Refused::Plan(error) = refused else { panic!() };
    let failed: Vec<usize> = error.refusals.iter().map(|refusal| refusal.change).collect();
    assert_eq!(failed, [1, 3], "every failing change is named");
    assert!(error.to_string().starts_with("0 changes applied, 2 refused"), "{error}");
    assert_eq!(scratch.tree(), before);

    let corrected =
        vec![delete("first.txt"), replace("second.txt", "2", "two"), create("third.txt", "3\n")];
    scratch.patch(corrected).unwrap();
    assert_eq!(scratch.text("second.txt"), "two\n");
    assert!(!scratch.at("first.txt").exists() && scratch.at("third.txt").exists());
}

#[test]
fn p5_p023_a_move_onto_another_file_is_refused() {
    let scratch = Scratch::with(&[("a.txt", b"one\n"), ("b.txt", b"keep me\n")]);
    let before = scratch.tree();
    let patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n-one\n+two\n*** End Patch";
    let ChangeError::Exists { path: at, current, already_applied } =
        scratch.v4a(patch).unwrap_err().change()
    else {
        panic!()
    };
    assert_eq!((at, current), (path("b.txt"), Some(digest(b"keep me\n"))));
    assert!(!already_applied);
    assert_eq!(scratch.tree(), before);
    assert!(matches!(
        scratch.patch(vec![create("b.txt", "x")]).unwrap_err().change(),
        ChangeError::Exists { already_applied: false, .. }
    ));
    assert!(matches!(
        scratch.patch(vec![create("b.txt", "keep me\n")]).unwrap_err().change(),
        ChangeError::Exists { already_applied: true, .. }
    ));
}

#[test]
fn p4_later_changes_see_the_results_of_earlier_ones() {
    let scratch = Scratch::with(&[("a", b"one\n"), ("b", b"bee\n")]);
    let touches = scratch
        .patch(vec![
            replace("a", "one", "two"),
            replace("a", "two", "three"),
            rename("a", "c"),
            replace("c", "three", "four"),
            create("d", "d\n"),
            replace("d", "d", "D"),
            rename("b", "a"),
            create("gone", "x"),
            delete("gone"),
        ])
        .unwrap();
    assert_eq!(scratch.text("c"), "four\n");
    assert_eq!(scratch.text("d"), "D\n");
    assert_eq!(scratch.text("a"), "bee\n");
    assert!(!scratch.at("b").exists() && !scratch.at("gone").exists());
    assert_eq!(touches.len(), 4, "{touches:?}");
    let refused = scratch.patch(vec![delete("a"), replace("a", "bee", "x")]).unwrap_err().change();
    assert!(matches!(refused, ChangeError::Gone { .. }), "{refused}");
}

#[test]
fn p9_a_rename_is_one_operation_and_keeps_the_object() {
    use std::os::unix::fs::MetadataExt;
    let scratch = Scratch::with(&[("a", b"one\n")]);
    let inode = std::fs::metadata(scratch.at("a")).unwrap().ino();
    let touches = scratch.patch(vec![rename("a", "deep/er/b")]).unwrap();
    assert_eq!(touches[0].kind, TouchKind::Renamed { from: path("a") });
    assert_eq!(touches[0].before, touches[0].after);
    assert_eq!(std::fs::metadata(scratch.at("deep/er/b")).unwrap().ino(), inode);
    assert!(!scratch.at("a").exists());
}

#[test]
fn p4_a_file_and_something_beneath_it_do_not_go_together() {
    let scratch = Scratch::new();
    let refused = scratch.patch(vec![create("a", "x"), create("a/b", "y")]).unwrap_err().change();
    assert!(matches!(refused, ChangeError::BeneathFile { .. }), "{refused}");
    assert!(scratch.tree().is_empty());
}

#[test]
fn p3_a_patch_that_comes_to_nothing_is_an_error() {
    let scratch = Scratch::with(&[("a", b"one\n")]);
    let there_and_back = vec![replace("a", "one", "two"), replace("a", "two", "one")];
    for changes in [there_and_back, vec![create("b", "x"), delete("b")]] {
        let refused = scratch.patch(changes).unwrap_err().change();
        assert!(matches!(refused, ChangeError::NoChange { .. }), "{refused}");
    }
}

#[test]
fn p4_a_patch_has_a_bound() {
    let scratch = Scratch::new();
    let changes = (0..=MAX_CHANGES).map(|nth| create(&format!("f{nth}"), "x")).collect();
    let refused = scratch.patch(changes).unwrap_err().change();
    assert!(matches!(refused, ChangeError::PatchTooLarge { .. }), "{refused}");
    let half = "x".repeat(70 << 20);
    let refused = scratch.patch(vec![create("a", &half), create("b", &half)]).unwrap_err().change();
    assert!(matches!(refused, ChangeError::PatchTooLarge { .. }), "{refused}");
}

/// Two files become executable, one of them under another name.
const MODES: &str = "diff --git a/run b/run
old mode 100644
new mode 100755
diff --git a/from/run b/to/run
old mode 100644
new mode 100755
rename from from/run
rename to to/run
";

/// A patch of every kind of step, over two folders.
fn every_step() -> (Scratch, Vec<workspace::patch::Change>) {
    let scratch = Scratch::with(&[
        ("mod.txt", b"one\n"),
        ("del.txt", b"bye\n"),
        ("from/ren.txt", b"ren\n"),
        ("both.txt", b"both\n"),
        ("run", b"run\n"),
        ("from/run", b"run\n"),
    ]);
    let mut changes = vec![
        replace("mod.txt", "one", "two"),
        delete("del.txt"),
        rename("from/ren.txt", "to/ren.txt"),
        create("new/deep/file.txt", "new\n"),
        replace("both.txt", "both", "changed"),
        rename("both.txt", "other/both.txt"),
    ];
    changes.extend(parse_diff(MODES).unwrap());
    (scratch, changes)
}

#[test]
fn p5_a_stop_at_any_step_leaves_everything_as_it_was() {
    let mut stopped = 0;
    for step in 0.. {
        let (scratch, changes) = every_step();
        let before = scratch.tree();
        let seen = |path: &RepoPath| scratch.digest_now(path);
        let plan = scratch.workspace.targets(changes).unwrap().plan(&seen).unwrap();
        let asked = Cell::new(0);
        let stop = || asked.replace(asked.get() + 1) == step;
        match plan.apply(&scratch.workspace, &scratch.journals(), &stop) {
            Err(ApplyError::Stopped) => assert_eq!(scratch.tree(), before, "step {step}"),
            // The last question comes when it is too late for a stop.
            Ok(_) => break,
            Err(error) => panic!("step {step}: {error}"),
        }
        stopped += 1;
        let nothing = recover(&scratch.workspace, &scratch.journals()).unwrap();
        assert_eq!((nothing.undone, nothing.finished), (0, 0));
    }
    assert!(stopped > 12, "only {stopped} steps");
}

#[test]
fn p5_a_change_between_plan_and_publication_is_a_conflict() {
    type Meddle = fn(&Scratch);
    let meddlers: [Meddle; 6] = [
        |scratch| scratch.write("mod.txt", b"theirs\n"),
        |scratch| scratch.write("del.txt", b"theirs\n"),
        |scratch| scratch.write("from/ren.txt", b"theirs\n"),
        |scratch| scratch.write("new/deep/file.txt", b"theirs\n"),
        |scratch| std::fs::remove_file(scratch.at("both.txt")).unwrap(),
        |scratch| scratch.write("run", b"theirs\n"),
    ];
    for meddle in meddlers {
        let (scratch, changes) = every_step();
        let seen = |path: &RepoPath| scratch.digest_now(path);
        let plan = scratch.workspace.targets(changes).unwrap().plan(&seen).unwrap();
        meddle(&scratch);
        let before = scratch.tree();
        let refused = plan.apply(&scratch.workspace, &scratch.journals(), &|| false);
        assert!(matches!(refused, Err(ApplyError::Conflict { .. })), "{refused:?}");
        assert_eq!(scratch.tree(), before);
    }
}

#[test]
fn p5_a_directory_that_became_a_link_is_refused() {
    let scratch = Scratch::with(&[("sub/a", b"one\n")]);
    let seen = |path: &RepoPath| scratch.digest_now(path);
    let changes = vec![replace("sub/a", "one", "two"), create("sub/new", "x")];
    let plan = scratch.workspace.targets(changes).unwrap().plan(&seen).unwrap();
    std::fs::rename(scratch.at("sub"), scratch.at("real")).unwrap();
    std::fs::write(scratch.outside("a"), "one\n").unwrap();
    std::os::unix::fs::symlink(scratch.outside(""), scratch.at("sub")).unwrap();
    let refused = plan.apply(&scratch.workspace, &scratch.journals(), &|| false);
    assert!(matches!(refused, Err(ApplyError::Refused { .. })), "{refused:?}");
    assert_eq!(std::fs::read_dir(scratch.outside("")).unwrap().count(), 1);
    assert_eq!(std::fs::read(scratch.outside("a")).unwrap(), b"one\n");
}

#[test]
fn p6_the_executable_bit_tells_whether_a_change_of_it_happened() {
    let scratch = Scratch::with(&[("run", b"x\n")]);
    let both = Some(digest(b"x\n"));
    let file =
        Intended { path: path("run"), before: both.clone(), after: both, executable: Some(true) };
    assert_eq!(settle(&scratch.workspace, std::slice::from_ref(&file)), Settled::Old);
    scratch.diff("diff --git a/run b/run\nold mode 100644\nnew mode 100755\n").unwrap();
    assert_eq!(settle(&scratch.workspace, &[file]), Settled::New);
}

#[test]
fn p6_digests_tell_whether_a_patch_happened() {
    let scratch = Scratch::with(&[("a", b"one\n")]);
    let intended = |at: &str, before: Option<&[u8]>, after: &[u8]| Intended {
        path: path(at),
        before: before.map(digest),
        after: Some(digest(after)),
        executable: None,
    };
    let files = [intended("a", Some(b"one\n"), b"two\n"), intended("new/b", None, b"b\n")];
    assert_eq!(settle(&scratch.workspace, &files), Settled::Old);
    scratch.write("a", b"two\n");
    assert_eq!(settle(&scratch.workspace, &files), Settled::Mixed);
    scratch.write("new/b", b"b\n");
    assert_eq!(settle(&scratch.workspace, &files), Settled::New);
    scratch.write("a", b"three\n");
    assert_eq!(settle(&scratch.workspace, &files), Settled::Mixed);
}
