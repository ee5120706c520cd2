//! Where the paths lie that a command must not read, or must not change: for masks and pins of a sandbox.
//!
//! It looks everywhere beneath the root, ignored folders too, and errs towards saying too much: what it could
//! not look into for its bound is named as a whole. It must never open a file.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use crate::beneath::FileKind;
use crate::class::{PathClass, classify, is_version_control};
use crate::directory::Directory;
use crate::guard::Guard;
use crate::path::{MAX_PATH_BYTES, RepoPath};
use crate::root::Workspace;

/// How many names are looked at; a tree with more is protected folder by folder from there on.
const MAX_NAMES: usize = 1_000_000;

/// Folders of a version control store that only hold content by digest, or text that nothing runs.
const STORED_CONTENT: &[&[u8]] = &[b"objects", b"refs", b"logs", b"lfs"];

impl Workspace {
    /// Absolute real paths of everything here that is [`PathClass::ExecutableConfiguration`], in path-byte
    /// order. A folder stands for all that lies in it.
    #[must_use]
    pub fn executable_configuration(&self) -> Vec<PathBuf> {
        self.of_class(PathClass::ExecutableConfiguration, MAX_NAMES)
    }

    /// Absolute real paths of everything here that is [`PathClass::Secret`], in path-byte order. A folder
    /// stands for all that lies in it.
    #[must_use]
    pub fn secrets(&self) -> Vec<PathBuf> {
        self.of_class(PathClass::Secret, MAX_NAMES)
    }

    fn of_class(&self, class: PathClass, max_names: usize) -> Vec<PathBuf> {
        let mut found = BTreeSet::new();
        let mut folders = vec![RepoPath::root()];
        let mut names_left = max_names;
        while let Some(path) = folders.pop() {
            // What cannot be opened here cannot be by a command of the same user either.
            let Ok(folder) = Directory::open(self, &path, &Guard::open()) else {
                continue;
            };
            let in_store = path.components().any(is_version_control);
            for name in folder.names {
                let below = path.child(&name.bytes);
                let is_class = classify(&below) == class;
                match name.kind {
                    FileKind::Symlink => found.extend(self.behind_link(&below, is_class, class)),
                    _ if is_class => found.extend([below]),
                    FileKind::Directory
                        if in_store && STORED_CONTENT.contains(&name.bytes.as_slice()) => {}
                    FileKind::Directory
                        if names_left == 0 || below.as_bytes().len() >= MAX_PATH_BYTES =>
                    {
                        found.extend([below]);
                    }
                    FileKind::Directory => folders.push(below),
                    _ => {}
                }
                names_left = names_left.saturating_sub(1);
            }
        }
        let root = self.real_root();
        let absolute = |path: &RepoPath| {
            let mut bytes = root.clone();
            if bytes != b"/" {
                bytes.push(b'/');
            }
            bytes.extend_from_slice(path.as_bytes());
            PathBuf::from(OsString::from_vec(bytes))
        };
        found.iter().map(absolute).collect()
    }

    /// The target inside of a link that has the class by its own name; else the target is met by itself.
    fn behind_link(&self, link: &RepoPath, is_class: bool, class: PathClass) -> Option<RepoPath> {
        let resolved = self.resolve(link).ok()?;
        (is_class || resolved.class == class)
            .then_some(resolved.real)
            .filter(|real| !real.is_root())
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make their own trees")]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn w9_a_tree_past_the_bound_is_protected_folder_by_folder() {
        let tree = tempfile::tempdir().unwrap();
        fs::create_dir_all(tree.path().join("a/b")).unwrap();
        fs::write(tree.path().join("a/b/.env"), "K=1").unwrap();
        let workspace = Workspace::open(tree.path()).unwrap();
        let root = fs::canonicalize(tree.path()).unwrap();
        assert_eq!(workspace.of_class(PathClass::Secret, 2), [root.join("a/b/.env")]);
        assert_eq!(workspace.of_class(PathClass::Secret, 1), [root.join("a/b")]);
    }
}
