//! Nothing outside of the workspace is ever read, however a path is built or moved.

use std::os::unix::net::UnixListener;

use workspace::{AccessError, FileKind, Guard, PathClass, PathError, ReadError, ReadRequest};

use crate::fixture::{CANARY, Tree, path};
use crate::{read, text};

fn access(error: &ReadError) -> &AccessError {
    match error {
        ReadError::Access(error) => error,
        other => panic!("another refusal: {other}"),
    }
}

#[test]
fn p8_p001_a_link_that_leads_out_is_refused_by_its_own_name() {
    let tree = Tree::new();
    tree.link("../OUT/canary", "note.txt");
    tree.link("note.txt", "hop.txt");
    tree.link(tree.beside("OUT/canary"), "absolute.txt");
    tree.link("../OUT", "folder");
    for name in ["note.txt", "hop.txt", "absolute.txt", "folder/canary"] {
        let error = read(&tree.workspace, name).unwrap_err();
        assert!(matches!(access(&error), AccessError::OutsideWorkspace { .. }), "{name}: {error}");
        let shown = format!("{error} {error:?}");
        assert!(
            shown.contains(name) && !shown.contains("OUT") && !shown.contains(CANARY),
            "{shown}"
        );
    }
}

#[test]
fn p8_p002_a_sibling_with_the_same_beginning_is_outside() {
    let tree = Tree::new();
    tree.file("in.txt", "inside");
    let full = |name: &str| format!("{}", tree.beside(name).canonicalize().unwrap().display());
    let inside = tree.workspace.path(&full("WS/in.txt")).unwrap();
    assert_eq!(inside, path("in.txt"));
    let sibling = tree.workspace.path(&full("WS-old/canary"));
    assert!(matches!(sibling, Err(PathError::Absolute { .. })));
    let parent = tree.workspace.path("../WS-old/canary");
    assert!(matches!(parent, Err(PathError::Parent { .. })));
}

#[test]
fn p8_p005_a_folder_swapped_for_a_link_never_gives_outside_content() {
    let tree = Tree::new();
    tree.file("sub/canary", "SAFE");
    tree.link("../OUT", "away");
    let (mut reads, mut safe, mut refused) = (0, 0, 0);
    tree.while_swapping("sub", "away", || {
        while reads < 5_000 || safe == 0 || refused == 0 {
            reads += 1;
            match read(&tree.workspace, "sub/canary") {
                Ok(outcome) => {
                    let page = text(outcome);
                    assert_eq!(page.text, "SAFE");
                    safe += 1;
                }
                Err(error) => {
                    assert!(!format!("{error:?}").contains(CANARY));
                    refused += 1;
                }
            }
        }
    });
    assert_eq!(reads, safe + refused);
}

#[test]
fn p8_p005_a_file_swapped_for_another_is_read_as_one_of_them() {
    let tree = Tree::new();
    tree.file("one", "1".repeat(20_000));
    tree.file("two", "2".repeat(20_000));
    tree.while_swapping("one", "two", || {
        for _ in 0..500 {
            match read(&tree.workspace, "one") {
                Ok(outcome) => {
                    let page = text(outcome);
                    let first = page.text.chars().next().unwrap();
                    assert!(page.text.chars().all(|character| character == first), "torn");
                }
                Err(error) => assert!(
                    matches!(error, ReadError::ChangedWhileReading { .. } | ReadError::Access(_)),
                    "{error}"
                ),
            }
        }
    });
}

#[test]
fn p8_p006_pipes_sockets_and_devices_are_refused_without_being_opened() {
    let tree = Tree::new();
    tree.fifo("pipe");
    let _socket = UnixListener::bind(tree.at("socket")).unwrap();
    tree.link("pipe", "to-pipe");
    tree.link("/dev/zero", "device");
    tree.file("ok.txt", "ok");
    for (name, kind) in
        [("pipe", FileKind::Fifo), ("to-pipe", FileKind::Fifo), ("socket", FileKind::Socket)]
    {
        let error = read(&tree.workspace, name).unwrap_err();
        match access(&error) {
            AccessError::NotRegular { kind: found, .. } => assert_eq!(*found, kind, "{name}"),
            other => panic!("{name}: {other}"),
        }
    }
    assert!(read(&tree.workspace, "device").is_err());
    assert_eq!(text(read(&tree.workspace, "ok.txt").unwrap()).text, "ok");
}

#[test]
fn p8_links_inside_are_followed_and_circles_are_refused() {
    let tree = Tree::new();
    tree.file("a/real.txt", "inside");
    tree.link("a", "b");
    tree.link("c2", "c1");
    tree.link("c1", "c2");
    tree.link("nowhere", "dangling");
    let page = text(read(&tree.workspace, "b/real.txt").unwrap());
    assert_eq!((page.path, page.real), (path("b/real.txt"), path("a/real.txt")));
    let circle = read(&tree.workspace, "c1").unwrap_err();
    assert!(matches!(access(&circle), AccessError::LinkRefused { .. }));
    let dangling = read(&tree.workspace, "dangling").unwrap_err();
    assert!(access(&dangling).is_not_found());
}

#[test]
fn w9_a_secret_is_kept_back_under_every_name() {
    let tree = Tree::new();
    tree.file("conf/.env", "TOKEN=secret");
    tree.link("conf/.env", "plain.txt");
    for name in ["conf/.env", "plain.txt"] {
        let request = ReadRequest::new(path(name));
        let error = tree.workspace.read(&request, &Guard::no_secrets()).unwrap_err();
        assert!(
            matches!(error, ReadError::NotAdmitted { class: PathClass::Secret, .. }),
            "{name}: {error}"
        );
    }
}

#[test]
fn w10_names_of_any_bytes_are_read() {
    let tree = Tree::new();
    for (bytes, text_form) in [
        (&b"caf\xE9"[..], "caf\\xE9"),
        (b"two\nlines", "two\\x0Alines"),
        (b"-r", "-r"),
        (b"back\\slash", "back\\\\slash"),
        (b"x (deleted)", "x (deleted)"),
    ] {
        tree.file(bytes, "here");
        let page = text(read(&tree.workspace, text_form).unwrap());
        assert_eq!((page.text.as_str(), page.real.as_bytes()), ("here", bytes));
    }
}
