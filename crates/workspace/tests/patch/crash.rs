//! A crash at every step, and what the next start makes of it.
//!
//! The crash is a panic out of the question that is asked before every step: nothing below catches it, and no
//! destructor cleans up, so the disk is left as a killed process leaves it.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use workspace::RepoPath;
use workspace::patch::{ApplyError, parse_diff, recover};

use crate::support::*;

type Tree = Vec<(String, u32, Vec<u8>)>;

fn start() -> Scratch {
    Scratch::with(&[
        ("mod.txt", b"one\n"),
        ("del.txt", b"bye\n"),
        ("from/ren.txt", b"ren\n"),
        ("both.txt", b"both\n"),
        ("run", b"run\n"),
    ])
}

/// Applies the patch of every kind of step and dies when it is asked for the `step`th time; whether it died.
fn die_at(scratch: &Scratch, step: usize) -> bool {
    let mode = "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n";
    let mut changes = vec![
        replace("mod.txt", "one", "two"),
        delete("del.txt"),
        rename("from/ren.txt", "to/ren.txt"),
        create("new/deep/file.txt", "new\n"),
        replace("both.txt", "both", "changed"),
        rename("both.txt", "other/both.txt"),
    ];
    changes.extend(parse_diff(mode).unwrap());
    let seen = |path: &RepoPath| scratch.digest_now(path);
    let plan = scratch.workspace.targets(changes).unwrap().plan(&seen).unwrap();
    let asked = Cell::new(0);
    let stop = || {
        if asked.replace(asked.get() + 1) == step {
            resume_unwind(Box::new("killed"));
        }
        false
    };
    let applied = || plan.apply(&scratch.workspace, &scratch.journals(), &stop).map(|_| ());
    match catch_unwind(AssertUnwindSafe(applied)) {
        Err(_) => true,
        Ok(done) => {
            done.unwrap();
            false
        }
    }
}

fn trees() -> (Tree, Tree) {
    let scratch = start();
    let old = scratch.tree();
    assert!(!die_at(&scratch, usize::MAX));
    (old, scratch.tree())
}

#[test]
fn p6_a_crash_at_any_step_ends_in_all_of_it_or_none_of_it() {
    let (old, new) = trees();
    let mut ends = (0, 0);
    for step in 0.. {
        let scratch = start();
        let died = die_at(&scratch, step);
        if !died {
            break;
        }
        recover(&scratch.workspace, &scratch.journals()).unwrap();
        match scratch.tree() {
            tree if tree == old => ends.0 += 1,
            tree if tree == new => ends.1 += 1,
            tree => panic!("step {step} left {tree:?}"),
        }
        let again = recover(&scratch.workspace, &scratch.journals()).unwrap();
        assert_eq!((again.undone, again.finished), (0, 0), "step {step}");
    }
    assert!(ends.0 > 12 && ends.1 >= 1, "{ends:?}");
}

#[test]
fn p6_the_next_patch_puts_right_what_the_last_one_left() {
    for step in 1.. {
        let scratch = start();
        if !die_at(&scratch, step) {
            break;
        }
        scratch.patch(vec![create("later.txt", "later\n")]).unwrap();
        let names: Vec<String> = scratch.tree().into_iter().map(|(name, ..)| name).collect();
        assert!(!names.iter().any(|name| name.contains(".chancery-")), "step {step}: {names:?}");
        assert_eq!(scratch.text("later.txt"), "later\n");
    }
}

#[test]
fn p6_a_step_leaves_each_file_old_or_new_even_before_recovery() {
    for step in 0.. {
        let scratch = start();
        if !die_at(&scratch, step) {
            break;
        }
        let text = scratch.text("mod.txt");
        assert!(text == "one\n" || text == "two\n", "step {step}: {text}");
    }
}

#[test]
fn f6_what_was_written_after_a_crash_is_kept_and_needs_repair() {
    let mut needed = 0;
    for step in 0.. {
        let scratch = start();
        if !die_at(&scratch, step) {
            break;
        }
        if scratch.text("mod.txt") != "two\n" {
            continue;
        }
        scratch.write("mod.txt", b"two, and theirs\n");
        let recovered = recover(&scratch.workspace, &scratch.journals());
        assert_eq!(scratch.text("mod.txt"), "two, and theirs\n");
        let Err(ApplyError::NeedsRepair { paths, kept, journal }) = recovered else { continue };
        needed += 1;
        assert_eq!(paths, [path("mod.txt")]);
        assert_eq!(scratch.text(&kept[0].to_string()), "one\n", "the content before is kept");
        let refused = scratch.patch(vec![create("later.txt", "x")]);
        assert!(matches!(refused, Err(Refused::Apply(ApplyError::NeedsRepair { .. }))));
        std::fs::remove_file(journal).unwrap();
        scratch.patch(vec![create("later.txt", "x")]).unwrap();
    }
    assert!(needed > 0);
}
