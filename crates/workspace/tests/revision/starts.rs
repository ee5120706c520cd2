//! Starting with what was known before, and falling back when events are not to be had.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;

use workspace::{ObserveError, Tracker};

use crate::fixture::Tree;
use crate::support::{Tracked, afresh};

fn never() -> bool {
    false
}

#[test]
fn w1_a_start_from_what_was_kept_sees_what_changed_meanwhile() {
    let tree = Tree::new();
    for number in 0..50 {
        tree.file(format!("d{}/f{number}", number % 5), number.to_string());
    }
    let cache = tree.beside("cache");
    let first = Tracker::new(&tree.workspace, Some(cache.clone()));
    let before = first.observe(&never).unwrap();
    first.save(&never).unwrap();
    drop(first);
    let again = Tracker::new(&tree.workspace, Some(cache.clone()));
    assert_eq!(again.observe(&never).unwrap().revision(), before.revision());
    // Same size, and the time set back: only the change time tells.
    let file = tree.at("d1/f1");
    let modified = fs::metadata(&file).unwrap().modified().unwrap();
    fs::write(&file, "x").unwrap();
    fs::File::options().write(true).open(&file).unwrap().set_modified(modified).unwrap();
    let later = Tracker::new(&tree.workspace, Some(cache)).observe(&never).unwrap();
    assert_ne!(later.revision(), before.revision());
    assert_eq!(later.revision(), afresh(&tree.workspace));
}

#[test]
fn w1_a_cache_that_is_damaged_or_of_another_root_is_none() {
    let tree = Tree::new();
    tree.file("a", "1");
    let cache = tree.beside("cache");
    let observe = || {
        let tracker = Tracker::new(&tree.workspace, Some(cache.clone()));
        let revision = tracker.observe(&never).unwrap().revision();
        tracker.save(&never).unwrap();
        revision
    };
    let expected = observe();
    let kept = fs::read(&cache).unwrap();
    for at in (0..kept.len()).step_by(3) {
        let mut damaged = kept.clone();
        damaged[at] ^= 0x55;
        fs::write(&cache, damaged).unwrap();
        assert_eq!(observe(), expected, "{at}");
        fs::write(&cache, &kept[..at]).unwrap();
        assert_eq!(observe(), expected, "{at}");
    }
    let other = Tree::new();
    other.file("a", "2");
    fs::write(&cache, kept).unwrap();
    let tracker = Tracker::new(&other.workspace, Some(cache.clone()));
    assert_eq!(tracker.observe(&never).unwrap().revision(), afresh(&other.workspace));
    assert_eq!(fs::metadata(&cache).unwrap().permissions().mode() & 0o077, 0);
}

#[test]
fn w1_who_does_not_want_to_wait_gets_no_old_revision() {
    let it = Tracked::new(&[("a", "1")]);
    it.now();
    fs::write(it.tree.at("a"), "2").unwrap();
    assert!(matches!(it.tracker.observe(&|| true), Err(ObserveError::Stopped)));
    assert_eq!(it.now().revision(), afresh(&it.tree.workspace));
}

#[test]
fn w1_equal_files_have_one_revision_wherever_they_are() {
    let one = Tracked::new(&[("a", "1"), ("b/c", "2")]);
    let other = Tracked::new(&[("b/c", "2"), ("a", "1")]);
    assert_eq!(one.now().revision(), other.now().revision());
    assert!(one.now().revision().as_str().starts_with("w1:"));
}

#[test]
fn w1_an_audit_finds_nothing_that_events_had_not_told() {
    let it = Tracked::new(&[("a", "1"), ("b/c", "2")]);
    it.now();
    fs::write(it.tree.at("a"), "2").unwrap();
    assert_eq!(it.tracker.audit(&never).unwrap(), Vec::new());
    assert_eq!(it.tracker.missed(), 0);
    it.now();
}

/// Whether this is an ordinary user. As root, the test of this name is run once more by one, and that must pass.
fn is_ordinary(test: &str) -> bool {
    if !rustix::process::geteuid().is_root() {
        return true;
    }
    // Root may read everything, and the folder of this binary may be closed to others.
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let copy = folder.path().join("test");
    fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    let run = std::process::Command::new(&copy)
        .args(["--exact", test])
        .env("TMPDIR", "/tmp")
        .current_dir("/tmp")
        .uid(65534)
        .gid(65534)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && said.contains("1 passed"), "{said}");
    false
}

#[test]
fn w1_a_file_that_may_not_be_read_counts_by_its_stamp() {
    if !is_ordinary("starts::w1_a_file_that_may_not_be_read_counts_by_its_stamp") {
        return;
    }
    let it = Tracked::new(&[("a", "1"), ("d/x", "1")]);
    fs::set_permissions(it.tree.at("a"), fs::Permissions::from_mode(0o0)).unwrap();
    fs::set_permissions(it.tree.at("d"), fs::Permissions::from_mode(0o0)).unwrap();
    let before = it.now();
    fs::set_permissions(it.tree.at("d"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(it.since(&before), ["-d", "+d/x"]);
    let before = it.now();
    fs::set_permissions(it.tree.at("a"), fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(it.since(&before), ["~a"]);
}
