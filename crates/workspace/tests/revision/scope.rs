//! What belongs to a revision: what git tracks, and what no rule leaves out.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::fixture::path;
use crate::support::Tracked;

fn git(at: &Path, arguments: &[&str]) {
    let status = Command::new("git")
        .args(["-c", "user.name=n", "-c", "user.email=e@example.org"])
        .args(arguments)
        .current_dir(at)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(status.status.success(), "{arguments:?}: {status:?}");
}

fn repository(files: &[(&str, &str)]) -> Tracked {
    let it = Tracked::new(files);
    git(&it.tree.root(), &["init", "--quiet"]);
    it
}

#[test]
fn w1_what_rules_leave_out_does_not_count() {
    let it = repository(&[(".gitignore", "out/\n*.log\n"), ("a", "1"), ("out/x", "1")]);
    let before = it.now();
    assert!(before.covers(&path("a")) && before.covers(&path(".gitignore")));
    it.tree.file("out/y", "2");
    it.tree.file("b.log", "2");
    assert_eq!(it.since(&before), Vec::<String>::new());
    it.tree.file("sub/.gitignore", "*.tmp\n");
    it.tree.file("sub/x.tmp", "");
    it.tree.file("sub/x", "");
    assert_eq!(it.since(&before), ["+sub/.gitignore", "+sub/x"]);
}

#[test]
fn w1_rules_that_change_are_obeyed_at_once() {
    let it = repository(&[(".gitignore", "out/\n"), ("a.log", "1"), ("out/x", "1")]);
    let before = it.now();
    it.tree.file(".gitignore", "*.log\n");
    assert_eq!(it.since(&before), ["~.gitignore", "-a.log", "+out/x"]);
    let before = it.now();
    it.tree.file("out/x", "2");
    assert_eq!(it.since(&before), ["~out/x"]);
    let before = it.now();
    it.tree.file(".git/info/exclude", "out/\n");
    assert_eq!(it.since(&before), ["-out/x"]);
    let before = it.now();
    fs::remove_dir_all(it.tree.at(".git")).unwrap();
    assert_eq!(it.since(&before), ["+a.log", "+out/x"]);
}

#[test]
fn w1_a_tracked_file_wins_over_every_rule() {
    let it = repository(&[
        (".gitignore", "out/\n*.log\n"),
        ("a.log", "1"),
        ("out/in/x", "1"),
        ("out/y", "1"),
    ]);
    let before = it.now();
    assert!(!before.covers(&path("a.log")));
    git(&it.tree.root(), &["add", "--force", "a.log", "out/in/x"]);
    assert_eq!(it.since(&before), ["+a.log", "+out/in/x"]);
    let before = it.now();
    it.tree.file("out/in/x", "2");
    it.tree.file("out/in/new", "2");
    it.tree.file("out/y", "2");
    assert_eq!(it.since(&before), ["~out/in/x"]);
    let before = it.now();
    git(&it.tree.root(), &["rm", "--quiet", "--cached", "out/in/x", "--force"]);
    assert_eq!(it.since(&before), ["-out/in/x"]);
    assert!(it.now().covers(&path("a.log")));
}

#[test]
fn w1_the_store_of_git_is_no_part_of_it() {
    let it = repository(&[("a", "1")]);
    let before = it.now();
    git(&it.tree.root(), &["add", "a"]);
    git(&it.tree.root(), &["commit", "--quiet", "-m", "m"]);
    assert_eq!(it.since(&before), Vec::<String>::new());
    git(&it.tree.root(), &["checkout", "--quiet", "-b", "other"]);
    it.tree.file("a", "2");
    git(&it.tree.root(), &["commit", "--quiet", "-am", "m"]);
    assert_eq!(it.since(&before), ["~a"]);
    git(&it.tree.root(), &["checkout", "--quiet", "-"]);
    assert_eq!(it.since(&before), Vec::<String>::new());
}

#[test]
fn w1_a_damaged_index_means_that_nothing_is_known_to_be_tracked() {
    let it = repository(&[(".gitignore", "*.log\n"), ("a.log", "1"), ("b", "1")]);
    git(&it.tree.root(), &["add", "--force", "a.log", "b"]);
    assert!(it.now().covers(&path("a.log")));
    let index = fs::read(it.tree.at(".git/index")).unwrap();
    for length in [0, 4, 12, index.len() / 2, index.len() - 1] {
        it.tree.file(".git/index", &index[..length]);
        assert!(it.now().covers(&path("b")), "{length}");
    }
    let mut wrong = index.clone();
    wrong[8..12].fill(0xFF);
    it.tree.file(".git/index", wrong);
    assert!(!it.now().covers(&path("a.log")));
    it.tree.file(".git/index", index);
    assert!(it.now().covers(&path("a.log")));
}

#[test]
fn w1_every_repository_s_own_rules_are_followed_also_those_made_later() {
    let it = repository(&[("a", "1"), ("inner/b.tmp", "1"), ("inner/c", "1")]);
    git(&it.tree.at("inner"), &["init", "--quiet", "--template="]);
    let before = it.now();
    it.tree.file("inner/.git/info/exclude", "*.tmp\n");
    assert_eq!(it.since(&before), ["-inner/b.tmp"]);
    let before = it.now();
    it.tree.file("inner/.git/info/exclude", "c\n");
    assert_eq!(it.since(&before), ["+inner/b.tmp", "-inner/c"]);
    let before = it.now();
    fs::remove_dir_all(it.tree.at("inner/.git/info")).unwrap();
    assert_eq!(it.since(&before), ["+inner/c"]);
}

#[test]
fn w1_rules_that_change_through_another_name_are_obeyed_and_a_link_is_no_rule() {
    let it =
        repository(&[(".gitignore", "*.log\n"), ("a.log", "1"), ("b.tmp", "1"), ("r", "*.tmp\n")]);
    fs::hard_link(it.tree.at(".gitignore"), it.tree.beside("outside")).unwrap();
    let before = it.now();
    fs::write(it.tree.beside("outside"), "*.tmp\n").unwrap();
    assert_eq!(it.since(&before), ["~.gitignore", "+a.log", "-b.tmp"]);
    fs::remove_file(it.tree.at(".gitignore")).unwrap();
    it.tree.link("r", ".gitignore");
    let now = it.now();
    assert!(now.covers(&path("a.log")) && now.covers(&path("b.tmp")));
}
