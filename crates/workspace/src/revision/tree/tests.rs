//! The tree against a plain map: same content, same digest, whatever the way there.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::revision::difference::{FileChange, between};

fn leaf(text: &str) -> Leaf {
    let digest = blake3::hash(text.as_bytes());
    Leaf { kind: LeafKind::File, digest, stamp: None, is_shared: false }
}

fn path(text: &str) -> RepoPath {
    text.parse().unwrap()
}

fn tree_of(files: &BTreeMap<String, String>) -> Folder {
    let mut folder = Folder::default();
    for (name, content) in files {
        folder.set(&path(name), Node::Leaf(leaf(content)));
    }
    folder
}

fn paths_of(folder: &Folder) -> Vec<String> {
    let mut paths = Vec::new();
    folder.leaves(&RepoPath::root(), &mut |path, _| paths.push(path.to_string()));
    paths.sort();
    paths
}

#[test]
fn w1_a_large_folder_has_one_shape_whichever_way_it_came_to_be() {
    let name = |number: usize| format!("file-{number}");
    let mut grown = Folder::default();
    for number in 0..20_000 {
        grown.set(&path(&name(number)), Node::Leaf(leaf("x")));
    }
    let nodes = (0..20_000).rev();
    let nodes = nodes.map(|number| (name(number).into_bytes().into(), Node::Leaf(leaf("x"))));
    let mut made = Folder::of(nodes.collect());
    assert_eq!(grown.seal(), made.seal());
    assert!(matches!(&made.top.slots, Slots::Split(_)));
    for number in 100..20_000 {
        made.remove(&path(&name(number)));
    }
    assert!(matches!(&made.top.slots, Slots::Few(entries) if entries.len() == 100));
    let few = (0..100).map(|number| (name(number), "x".to_owned())).collect();
    assert_eq!(made.seal(), tree_of(&few).seal());
}

#[test]
fn w1_name_kind_and_content_all_count() {
    let one = |name: &str, leaf: Leaf| {
        let mut folder = Folder::default();
        folder.set(&path(name), Node::Leaf(leaf));
        folder.seal()
    };
    let digests = [
        one("a", leaf("x")),
        one("b", leaf("x")),
        one("a", leaf("y")),
        one("a", Leaf { kind: LeafKind::Executable, ..leaf("x") }),
        one("a/b", leaf("x")),
        Folder::default().seal(),
    ];
    for (at, digest) in digests.iter().enumerate() {
        assert!(!digests[at + 1..].contains(digest), "{at}");
    }
    let stamp = Stamp { inode: 1, size_bytes: 1, modified_ns: 1, changed_ns: 1 };
    assert_eq!(one("a", Leaf { stamp: Some(stamp), ..leaf("x") }), digests[0], "stamps do not");
}

#[test]
fn w1_a_snapshot_stays_what_it_was() {
    let mut live = tree_of(&[("a/b".to_owned(), "1".to_owned())].into());
    let before = live.seal();
    let snapshot = live.clone();
    live.set(&path("a/b"), Node::Leaf(leaf("2")));
    live.set(&path("a/c/d"), Node::Leaf(leaf("3")));
    assert_ne!(live.seal(), before);
    assert_eq!(snapshot.digest(), Some(before));
    assert_eq!(paths_of(&snapshot), ["a/b"]);
}

#[test]
fn w1_a_leaf_becomes_a_folder_and_a_folder_a_leaf() {
    let mut tree = tree_of(&[("a".to_owned(), "1".to_owned())].into());
    tree.set(&path("a/b"), Node::Leaf(leaf("1")));
    assert_eq!(paths_of(&tree), ["a/b"]);
    tree.set(&path("a"), Node::Leaf(leaf("1")));
    assert_eq!(paths_of(&tree), ["a"]);
    assert!(tree.get(&path("a/b")).is_none());
    tree.remove(&path("a/b/c"));
    assert_eq!(paths_of(&tree), ["a"]);
}

proptest! {
    #[test]
    fn w1_equal_content_has_an_equal_digest_and_differences_are_exact(
        first in proptest::collection::btree_map("[ab]{1,2}(/[cd]{1,2}){0,2}f", "[xy]", 0..12),
        second in proptest::collection::btree_map("[ab]{1,2}(/[cd]{1,2}){0,2}f", "[xy]", 0..12),
    ) {
        let (mut old, mut new) = (tree_of(&first), tree_of(&second));
        prop_assert_eq!(old.seal() == new.seal(), first == second);
        let (changes, more) = between(&old, &new, usize::MAX);
        prop_assert_eq!(more, 0);
        let mut expected = Vec::new();
        for path in first.keys().chain(second.keys()).collect::<std::collections::BTreeSet<_>>() {
            let change = match (first.get(path), second.get(path)) {
                (Some(old), Some(new)) if old == new => continue,
                (Some(_), Some(_)) => FileChange::Modified,
                (Some(_), None) => FileChange::Removed,
                _ => FileChange::Added,
            };
            expected.push((path.clone(), change));
        }
        let changes: Vec<_> =
            changes.into_iter().map(|change| (change.path.to_string(), change.change)).collect();
        prop_assert_eq!(changes, expected);
        // The way there does not matter, only what is left: empty folders are part of it.
        let mut walked = old.clone();
        for path in first.keys() {
            walked.remove(&path.parse().unwrap());
        }
        prop_assert_eq!(paths_of(&walked), Vec::<String>::new());
    }
}
