//! Others at work on the same files: their writes survive, and no race leads outside.

use std::sync::atomic::{AtomicBool, Ordering};

use workspace::RepoPath;
use workspace::patch::ApplyError;

use crate::support::*;

/// Runs `meddle` over and over beside `work`.
fn beside(meddle: impl Fn() + Send + Sync, work: impl FnOnce()) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                meddle();
            }
        });
        let worked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        done.store(true, Ordering::Relaxed);
        if let Err(panic) = worked {
            std::panic::resume_unwind(panic);
        }
    });
}

#[test]
fn p2_a_writer_that_replaces_the_file_never_loses_a_version() {
    let scratch = Scratch::with(&[("a", b"version 0\n")]);
    let mut landed = 0;
    for round in 1..=150_u64 {
        let start = std::sync::Barrier::new(2);
        let last = std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                start.wait();
                for nth in 0..4 {
                    let text = format!("version {round}.{nth}\n");
                    std::fs::write(scratch.at("tmp"), &text).unwrap();
                    std::fs::rename(scratch.at("tmp"), scratch.at("a")).unwrap();
                }
                format!("version {round}.3\n")
            });
            start.wait();
            for _ in 0..3 {
                match scratch.patch(vec![replace("a", "\n", " patched\n")]) {
                    Ok(_) => landed += 1,
                    Err(Refused::Plan(_) | Refused::Apply(ApplyError::Conflict { .. })) => {}
                    Err(other) => panic!("{other:?}"),
                }
            }
            writer.join().unwrap()
        });
        let text = scratch.text("a");
        assert_eq!(text.replace(" patched", ""), last, "round {round}");
    }
    assert!(landed > 0);
    assert_eq!(scratch.tree().len(), 1, "nothing is left beside the file");
}

#[test]
fn v3_p005_swapping_a_directory_for_a_link_leads_nowhere() {
    let scratch = Scratch::with(&[("sub/canary", b"SAFE\n")]);
    std::fs::write(scratch.outside("canary"), "CANARY-7f3a\n").unwrap();
    std::os::unix::fs::symlink(scratch.outside(""), scratch.at("link")).unwrap();
    let meddle = || {
        let (sub, link) = (scratch.at("sub"), scratch.at("link"));
        let exchange = rustix::fs::RenameFlags::EXCHANGE;
        rustix::fs::renameat_with(rustix::fs::CWD, sub, rustix::fs::CWD, link, exchange).unwrap();
    };
    beside(meddle, || {
        for nth in 0..300 {
            let new = format!("sub/w{nth}.txt");
            let edit = replace("sub/canary", "E\n", "E \n");
            for changes in [vec![create(&new, "x")], vec![edit, delete(&new)]] {
                if let Err(Refused::Apply(error)) = scratch.patch(changes) {
                    assert!(!matches!(error, ApplyError::NeedsRepair { .. }), "{error}");
                }
            }
        }
    });
    let outside: Vec<_> = std::fs::read_dir(scratch.outside(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(outside, ["canary"]);
    assert_eq!(std::fs::read(scratch.outside("canary")).unwrap(), b"CANARY-7f3a\n");
}

#[test]
fn p4_two_patches_at_once_both_land() {
    let scratch = Scratch::with(&[("a", b"0\n")]);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let scratch = &scratch;
            scope.spawn(move || {
                for nth in 0..10 {
                    scratch.patch(vec![create(&format!("t{thread}-{nth}"), "x")]).unwrap();
                }
            });
        }
    });
    assert_eq!(scratch.tree().len(), 41);
}

#[test]
fn p2_of_two_patches_on_one_content_one_is_refused() {
    for _ in 0..20 {
        let scratch = Scratch::with(&[("a", b"one\n")]);
        let seen = |path: &RepoPath| scratch.digest_now(path);
        let plan = |new: &str| {
            let targets = scratch.workspace.targets(vec![replace("a", "one", new)]).unwrap();
            targets.plan(&seen).unwrap()
        };
        let (left, right) = (plan("left"), plan("right"));
        let (left, right) = std::thread::scope(|scope| {
            let apply = |plan: workspace::patch::PatchPlan| {
                plan.apply(&scratch.workspace, &scratch.journals(), &|| false)
            };
            let left = scope.spawn(move || apply(left));
            (left.join().unwrap(), apply(right))
        });
        assert!(left.is_ok() != right.is_ok(), "{left:?} {right:?}");
        let text = scratch.text("a");
        assert_eq!(text, if left.is_ok() { "left\n" } else { "right\n" });
    }
}
