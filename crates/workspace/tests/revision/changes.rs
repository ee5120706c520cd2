//! Every way in which a file can change, seen at once and named.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::fixture::path;
use crate::support::Tracked;

#[test]
fn w1_nothing_changed_is_the_same_revision() {
    let it = Tracked::new(&[("a", "1"), ("b/c", "2")]);
    let before = it.now();
    fs::read(it.tree.at("a")).unwrap();
    assert_eq!(it.since(&before), Vec::<String>::new());
    assert_eq!(it.now().sequence(), before.sequence());
}

#[test]
fn w1_each_kind_of_change_is_seen_right_after_it() {
    let it = Tracked::new(&[("a", "1"), ("b/c", "2"), ("b/d", "3"), ("e/f/g", "4")]);
    let step = |expected: &[&str], act: &dyn Fn()| {
        let before = it.now();
        act();
        assert_eq!(it.since(&before), expected);
    };
    let at = |name: &str| it.tree.at(name);
    step(&["~a"], &|| fs::write(at("a"), "2").unwrap());
    step(&["~b/c"], &|| {
        fs::write(at("b/c.new"), "5").unwrap();
        fs::rename(at("b/c.new"), at("b/c")).unwrap();
    });
    step(&["+n"], &|| fs::write(at("n"), "").unwrap());
    step(&["-n"], &|| fs::remove_file(at("n")).unwrap());
    step(&["~a"], &|| fs::set_permissions(at("a"), fs::Permissions::from_mode(0o755)).unwrap());
    step(&[], &|| fs::set_permissions(at("a"), fs::Permissions::from_mode(0o711)).unwrap());
    step(&["-b/c", "-b/d", "+z/c", "+z/d"], &|| fs::rename(at("b"), at("z")).unwrap());
    step(&["~z/c"], &|| fs::write(at("z/c"), "6").unwrap());
    step(&["+x/y/z/w"], &|| it.tree.file("x/y/z/w", "7"));
    step(&["~x/y/z/w"], &|| it.tree.file("x/y/z/w", "8"));
    step(&["-e/f/g"], &|| fs::remove_dir_all(at("e/f")).unwrap());
    step(&["+l"], &|| it.tree.link("a", "l"));
    step(&["~l"], &|| {
        fs::remove_file(at("l")).unwrap();
        it.tree.link("b", "l");
    });
    step(&["+p"], &|| it.tree.fifo("p"));
    step(&["-p", "+p/q"], &|| {
        fs::remove_file(at("p")).unwrap();
        it.tree.file("p/q", "");
    });
    step(&["+\\xFF\\x0A"], &|| it.tree.file(b"\xFF\n", ""));
    step(&["-x/y/z/w"], &|| fs::rename(at("x"), it.tree.beside("x")).unwrap());
    step(&["+back/y/z/w"], &|| fs::rename(it.tree.beside("x"), at("back")).unwrap());
    step(&["~back/y/z/w"], &|| it.tree.file("back/y/z/w", "9"));
}

#[test]
fn w1_a_folder_that_comes_and_goes_unseen_leaves_no_watch_behind() {
    let it = Tracked::new(&[("a/b", "1")]);
    let before = it.now();
    for _ in 0..3 {
        fs::rename(it.tree.at("a"), it.tree.beside("away")).unwrap();
        fs::rename(it.tree.beside("away"), it.tree.at("a")).unwrap();
    }
    fs::rename(it.tree.at("a"), it.tree.beside("away")).unwrap();
    assert_eq!(it.since(&before), ["-a/b"]);
    let sequence = it.now().sequence();
    fs::write(it.tree.beside("away/b"), "2").unwrap();
    assert_eq!(it.now().sequence(), sequence, "outside is nobody's business");
}

#[test]
fn w1_a_write_through_a_name_outside_is_seen_although_no_event_tells_of_it() {
    let it = Tracked::new(&[("a", "1")]);
    fs::hard_link(it.tree.at("a"), it.tree.beside("outside")).unwrap();
    let before = it.now();
    fs::write(it.tree.beside("outside"), "2").unwrap();
    assert_eq!(it.since(&before), ["~a"]);
    let before = it.now();
    fs::remove_file(it.tree.beside("outside")).unwrap();
    assert_eq!(it.since(&before), Vec::<String>::new());
}

#[test]
fn w1_a_change_that_is_undone_shows_in_the_sequence() {
    let it = Tracked::new(&[("a", "1")]);
    let before = it.now();
    fs::write(it.tree.at("a"), "2").unwrap();
    fs::write(it.tree.at("a"), "1").unwrap();
    let after = it.now();
    assert_eq!(after.revision(), before.revision());
    assert!(after.sequence() > before.sequence());
}

#[test]
fn w1_a_folder_has_a_revision_of_its_own() {
    let it = Tracked::new(&[("a/b", "1"), ("c/d", "1")]);
    let before = it.now();
    fs::write(it.tree.at("c/d"), "2").unwrap();
    let after = it.now();
    assert_eq!(after.revision_of(&path("a")), before.revision_of(&path("a")));
    assert_ne!(after.revision_of(&path("c")), before.revision_of(&path("c")));
    assert_eq!(after.revision_of(&path("a/b")), None);
}

#[test]
fn w1_content_is_checked_against_the_revision_that_is_named() {
    let it = Tracked::new(&[("a", "1")]);
    let before = it.now();
    fs::write(it.tree.at("a"), "2").unwrap();
    let after = it.now();
    assert_eq!(before.has_content(&path("a"), b"1"), Some(true));
    assert_eq!(after.has_content(&path("a"), b"1"), Some(false));
    assert_eq!(after.has_content(&path("a"), b"2"), Some(true));
    assert_eq!(after.has_content(&path("none"), b"2"), None);
}
