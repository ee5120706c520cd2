//! The paths that a sandbox masks or pins.

use std::path::PathBuf;

use crate::fixture::Tree;

fn beneath(tree: &Tree, found: Vec<PathBuf>) -> Vec<String> {
    let root = tree.root().canonicalize().unwrap();
    let below = |path: PathBuf| path.strip_prefix(&root).unwrap().display().to_string();
    found.into_iter().map(below).collect()
}

#[test]
fn w9_secrets_are_found_everywhere_and_by_their_real_paths() {
    let tree = Tree::new();
    for name in [".env", ".ssh/id_x", "a/b/key.pem", ".env.example", "src/env.rs", "plain"] {
        tree.file(name, "x");
    }
    tree.file(".gitignore", "*\n");
    tree.link("../../plain", "a/b/.env.local");
    tree.link("../OUT/canary", "out.pem");
    tree.link("nowhere", "dangling.pem");
    tree.link(".", "loop.pem");
    assert_eq!(
        beneath(&tree, tree.workspace.protected().secrets),
        [".env", ".ssh", "a/b/key.pem", "plain"]
    );
}

#[test]
fn p11_executable_configuration_is_found_in_nested_stores_too() {
    let tree = Tree::new();
    for name in [
        ".git/HEAD",
        ".git/commondir",
        ".git/config",
        ".git/hooks/pre-commit",
        ".git/objects/aa/config",
        ".git/modules/m/hooks/x",
        ".git/modules/libs/lfs/config",
        "vendor/lib/.git/config",
        "worktree/.git",
        ".github/workflows/ci.yml",
        ".vscode/tasks.json",
        "src/main.rs",
    ] {
        tree.file(name, "x");
    }
    let found = beneath(&tree, tree.workspace.protected().executable_configuration);
    assert_eq!(
        found,
        [
            ".git/commondir",
            ".git/config",
            ".git/hooks",
            ".git/modules/libs/lfs/config",
            ".git/modules/m/hooks",
            ".github/workflows",
            ".vscode/tasks.json",
            "vendor/lib/.git/config",
            "worktree/.git",
        ]
    );
}
