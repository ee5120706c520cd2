//! Links, hard links and special files: nothing is written through them, nothing outside is touched.

use std::os::unix::fs::{MetadataExt, symlink};

use workspace::AccessError;
use workspace::patch::{ChangeError, PatchError};

use crate::support::*;

fn refusal(scratch: &Scratch, change: workspace::patch::Change) -> ChangeError {
    let before = scratch.tree();
    let refused = match scratch.workspace.targets(vec![change]) {
        Ok(targets) => targets.plan(&|path| scratch.digest_now(path)).map(|_| ()),
        Err(error) => Err(error),
    };
    let PatchError { mut refusals } = refused.unwrap_err();
    assert_eq!(scratch.tree(), before);
    refusals.remove(0).error
}

#[test]
fn p8_p003_a_link_to_nothing_is_not_written_through() {
    let scratch = Scratch::with(&[("a.txt", b"a")]);
    symlink(scratch.outside("not-yet.txt"), scratch.at("new.txt")).unwrap();
    symlink("nowhere", scratch.at("dangling")).unwrap();
    for change in [
        create("new.txt", "x"),
        replace("new.txt", "a", "b"),
        rename("a.txt", "new.txt"),
        create("dangling", "x"),
        create("dangling/below.txt", "x"),
        delete("dangling"),
    ] {
        let refused = refusal(&scratch, change);
        assert!(
            matches!(
                refused,
                ChangeError::Link { .. }
                    | ChangeError::Access(AccessError::OutsideWorkspace { .. })
            ),
            "{refused}"
        );
    }
    assert!(!scratch.outside("not-yet.txt").exists());
    scratch.patch(vec![create("real/new.txt", "x")]).unwrap();
    assert_eq!(scratch.text("real/new.txt"), "x");
}

#[test]
fn p8_p004_no_verb_writes_through_a_linked_directory() {
    let scratch = Scratch::with(&[("x", b"x")]);
    std::fs::write(scratch.outside("canary"), "CANARY-7f3a").unwrap();
    symlink(scratch.outside(""), scratch.at("outbox")).unwrap();
    for change in [
        create("outbox/a.txt", "x"),
        replace("outbox/canary", "CANARY", "x"),
        write("outbox/canary", "x", None),
        delete("outbox/canary"),
        rename("x", "outbox/x"),
        rename("outbox/canary", "y"),
    ] {
        let refused = refusal(&scratch, change);
        let outside = matches!(refused, ChangeError::Access(AccessError::OutsideWorkspace { .. }));
        assert!(outside, "{refused}");
        assert!(!refused.to_string().contains("CANARY"));
    }
    let names: Vec<_> = std::fs::read_dir(scratch.outside("")).unwrap().collect();
    assert_eq!(names.len(), 1);
}

#[test]
fn p8_p026_a_link_inside_stays_a_link_and_its_target_changes() {
    let scratch = Scratch::with(&[("b.cfg", b"k = 1\n")]);
    symlink("b.cfg", scratch.at("a.cfg")).unwrap();
    let touches = scratch.patch(vec![replace("a.cfg", "1", "2")]).unwrap();
    assert_eq!(touches[0].path, path("b.cfg"));
    assert!(std::fs::symlink_metadata(scratch.at("a.cfg")).unwrap().is_symlink());
    assert_eq!(scratch.text("b.cfg"), "k = 2\n");
    for change in [delete("a.cfg"), rename("a.cfg", "c.cfg"), rename("b.cfg", "a.cfg")] {
        let refused = refusal(&scratch, change);
        let told = matches!(refused, ChangeError::Link { .. } | ChangeError::SameFile { .. });
        assert!(told, "{refused}");
    }
}

#[test]
fn p8_p026_a_hard_linked_file_is_refused() {
    let scratch = Scratch::with(&[("h1", b"one\n")]);
    std::fs::hard_link(scratch.at("h1"), scratch.at("h2")).unwrap();
    let refused = refusal(&scratch, replace("h1", "one", "two"));
    assert!(matches!(refused, ChangeError::HardLinked { links: 2, .. }), "{refused}");
    assert_eq!(std::fs::metadata(scratch.at("h1")).unwrap().nlink(), 2);
}

#[test]
fn p8_p006_what_is_no_regular_file_is_refused_at_once() {
    let scratch = Scratch::with(&[("ok.txt", b"ok")]);
    let pipe = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, scratch.at("pipe"), rustix::fs::FileType::Fifo, pipe, 0)
        .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(scratch.at("socket")).unwrap();
    std::fs::create_dir(scratch.at("folder")).unwrap();
    for at in ["pipe", "socket", "folder"] {
        for change in
            [replace(at, "a", "b"), write(at, "x", None), delete(at), rename(at, "elsewhere")]
        {
            let refused = refusal(&scratch, change);
            let regular = matches!(refused, ChangeError::Access(AccessError::NotRegular { .. }));
            assert!(regular, "{at}: {refused}");
        }
        let refused = refusal(&scratch, create(at, "x"));
        assert!(matches!(refused, ChangeError::Exists { current: None, .. }), "{refused}");
    }
}

#[test]
fn p8_p002_a_sibling_with_the_roots_name_in_front_is_outside() {
    let scratch = Scratch::new();
    let root = scratch.at("");
    let root = root.to_str().unwrap().trim_end_matches('/');
    assert!(scratch.workspace.path(&format!("{root}-old/canary")).is_err());
    assert!(scratch.workspace.path("../ws-old/canary").is_err());
    assert_eq!(scratch.workspace.path(&format!("{root}/a/b")).unwrap(), path("a/b"));
}

#[test]
fn p8_p024_a_rename_onto_itself_keeps_the_file() {
    let scratch = Scratch::with(&[("plan.md", b"plan\n")]);
    std::fs::hard_link(scratch.at("plan.md"), scratch.at("same.md")).unwrap();
    for to in ["./plan.md", "same.md"] {
        let refused = refusal(&scratch, rename("plan.md", to));
        assert!(matches!(refused, ChangeError::SameFile { .. }), "{refused}");
    }
    std::fs::remove_file(scratch.at("same.md")).unwrap();
    scratch
        .v4a("*** Begin Patch\n*** Update File: plan.md\n*** Move to: ./plan.md\n@@\n-plan\n+plan 2\n*** End Patch")
        .unwrap();
    assert_eq!(scratch.text("plan.md"), "plan 2\n");
}

#[test]
fn p11_a_target_carries_the_class_of_its_real_path() {
    let scratch = Scratch::with(&[(".env", b"KEY=1\n"), (".git/config", b"[core]\n")]);
    symlink(".env", scratch.at("settings")).unwrap();
    let classes = |change| {
        let targets = scratch.workspace.targets(vec![change]).unwrap();
        targets.iter().map(|target| target.class).collect::<Vec<_>>()
    };
    use workspace::PathClass::*;
    assert_eq!(classes(replace("settings", "1", "2")), [Secret]);
    assert_eq!(classes(create(".git/hooks/pre-commit", "x")), [ExecutableConfiguration]);
    assert_eq!(classes(rename("settings.txt", ".vscode/tasks.json")).len(), 2);
}
