//! A search never leaves the workspace and never waits for a pipe.

use std::os::unix::net::UnixListener;

use workspace::{Guard, SearchError, SearchMode, SearchRequest};

use crate::fixture::{CANARY, Tree, path};
use crate::{literal, paths, places, search};

#[test]
fn p8_p016_links_are_counted_and_not_followed() {
    let tree = Tree::new();
    tree.file("own", CANARY);
    tree.link("../OUT/canary", "l.txt");
    tree.link("../OUT", "d");
    tree.link(".", "loop");
    let outcome = search(&tree, &literal(CANARY));
    assert_eq!((places(&outcome), outcome.skipped.links), (vec!["own:1".into()], 3));
    assert_eq!(outcome.files_searched, 1);
    for scope in ["d", "l.txt", "d/canary"] {
        let request = SearchRequest { scope: path(scope), ..literal(CANARY) };
        let fault = tree.workspace.search(&request, &Guard::open()).unwrap_err();
        assert!(matches!(fault, SearchError::Access(_)), "{scope}");
        assert!(!format!("{fault:?}").contains("OUT"));
    }
}

#[test]
fn p8_p006_pipes_sockets_and_devices_are_passed_by() {
    let tree = Tree::new();
    tree.folder("z");
    tree.fifo("pipe");
    tree.fifo("z/pipe.rs");
    let _socket = UnixListener::bind(tree.at("socket")).unwrap();
    tree.link("/dev/zero", "device");
    tree.file("ok", "x\n");
    let outcome = search(&tree, &literal("x"));
    assert_eq!((places(&outcome), outcome.skipped.special), (vec!["ok:1".into()], 3));
    let scoped = search(&tree, &SearchRequest { scope: path("pipe"), ..literal("x") });
    assert_eq!(scoped.skipped.special, 1);
}

#[test]
fn p8_p005_a_folder_swapped_for_a_link_is_never_searched_outside() {
    let tree = Tree::new();
    tree.file("sub/canary", "SAFE");
    tree.link("../OUT", "away");
    let (mut safe, mut linked, mut rounds) = (0, 0, 0);
    tree.while_swapping("sub", "away", || {
        while rounds < 2_000 || safe == 0 || linked == 0 {
            rounds += 1;
            for query in [CANARY, "SAFE"] {
                let request = SearchRequest { scope: path("."), ..literal(query) };
                let outcome = search(&tree, &request);
                assert!(outcome.matches.iter().all(|found| found.excerpt == "SAFE"), "{outcome:?}");
                safe += outcome.matches.len();
                linked += outcome.skipped.links;
            }
        }
    });
    assert!(rounds >= 2_000);
}

#[test]
fn p8_p005_a_folder_swapped_for_a_link_inside_shows_nothing_under_another_name() {
    let tree = Tree::new();
    tree.file("sub/here", "SAFE");
    tree.file("other/there", "OTHER");
    tree.link("other", "away");
    let by_name = SearchRequest { mode: SearchMode::Filename, ..literal("there") };
    tree.while_swapping("sub", "away", || {
        for _ in 0..2_000 {
            assert_eq!(paths(&search(&tree, &by_name)), ["other/there"]);
            assert_eq!(places(&search(&tree, &literal("OTHER"))), ["other/there:1"]);
        }
    });
}
