//! Where the paths lie that a command must not read, or must not change: for masks and pins of a sandbox.
//!
//! It looks everywhere beneath the root, ignored folders too, and errs towards saying too much: what it could
//! not look into for its bound is named as a whole. It must never open a file.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use crate::class::{PathClass, classify, has_telling_name, is_version_control};
use crate::guard::Guard;
use crate::path::{MAX_PATH_BYTES, RepoPath};
use crate::root::Workspace;
use crate::root::beneath::FileKind;
use crate::root::directory::Directory;

/// How many names are looked at; a tree with more is protected folder by folder from there on.
const MAX_NAMES: usize = 1_000_000;

/// Folders of a version control store that only hold content by digest, or text that nothing runs.
const STORED_CONTENT: &[&[u8]] = &[b"objects", b"refs", b"logs", b"lfs"];

/// What a command in the workspace must be kept from. Absolute real paths in path-byte order; a folder stands for
/// all that lies in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protected {
    /// Everything that is [`PathClass::Secret`].
    pub secrets: Vec<PathBuf>,
    /// Everything that is [`PathClass::ExecutableConfiguration`], and pointers to version control stores.
    pub executable_configuration: Vec<PathBuf>,
    /// By name, what can make other programs run code: executable configuration and version control stores.
    pub(super) runs: BTreeMap<RepoPath, Behind>,
    /// Whether the bound on names left nothing out.
    pub(super) is_complete: bool,
}

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Behind {
    Folder,
    File,
    /// A link, and what it leads to inside of the workspace, if anything.
    Link(Option<RepoPath>),
}

/// The same while it is collected, relative to the root.
#[derive(Default)]
struct Found {
    secrets: BTreeSet<RepoPath>,
    executable_configuration: BTreeSet<RepoPath>,
    runs: BTreeMap<RepoPath, Behind>,
    is_bounded: bool,
}

impl Found {
    fn of(&mut self, class: PathClass) -> Option<&mut BTreeSet<RepoPath>> {
        match class {
            PathClass::Secret => Some(&mut self.secrets),
            PathClass::ExecutableConfiguration => Some(&mut self.executable_configuration),
            PathClass::Ordinary | PathClass::VersionControl => None,
        }
    }
}

impl Workspace {
    /// Looks through the whole workspace for what a command must be kept from.
    #[must_use]
    pub fn protected(&self) -> Protected {
        self.protected_up_to(MAX_NAMES)
    }

    fn protected_up_to(&self, max_names: usize) -> Protected {
        let mut found = Found::default();
        // With each folder, whether it counts as executable configuration already.
        let mut folders = vec![(RepoPath::root(), false)];
        let mut names_left = max_names;
        while let Some((path, is_covered)) = folders.pop() {
            let Ok(folder) = Directory::open(self, &path, &Guard::open()) else {
                // A command may own it and open it after all, so it counts as a whole.
                found.secrets.extend(self.resolve(&path).ok().map(|there| there.real));
                continue;
            };
            let in_store = path.components().any(is_version_control);
            // Elsewhere in a store, a folder of such a name may be that of a submodule.
            let is_git_store = in_store && folder.names.iter().any(|name| name.bytes == b"HEAD");
            // In an ordinary folder, an ordinary name needs no more looking at.
            let is_ordinary = !in_store && classify(&path) == PathClass::Ordinary;
            for name in folder.names {
                if is_ordinary && name.kind == FileKind::File && !has_telling_name(&name.bytes) {
                    names_left = names_left.saturating_sub(1);
                    continue;
                }
                let below = path.child(&name.bytes);
                match name.kind {
                    FileKind::Symlink => self.behind_link(below, &mut found),
                    FileKind::Directory
                        if is_git_store && STORED_CONTENT.contains(&name.bytes.as_slice()) => {}
                    kind => {
                        let is_folder = kind == FileKind::Directory;
                        let too_much = names_left == 0 || below.as_bytes().len() >= MAX_PATH_BYTES;
                        found.is_bounded |= is_folder && too_much;
                        let is_store = is_version_control(&name.bytes);
                        let class = match classify(&below) {
                            PathClass::Ordinary | PathClass::VersionControl
                                if is_folder && too_much =>
                            {
                                PathClass::Secret
                            }
                            // A pointer to a store, which decides whose configuration counts.
                            PathClass::VersionControl if is_store && !is_folder => {
                                PathClass::ExecutableConfiguration
                            }
                            class => class,
                        };
                        let runs = class == PathClass::ExecutableConfiguration;
                        if (runs && !is_covered) || is_store {
                            let behind = if is_folder { Behind::Folder } else { Behind::File };
                            found.runs.insert(below.clone(), behind);
                        }
                        if let Some(paths) = found.of(class).filter(|_| !(runs && is_covered)) {
                            paths.insert(below.clone());
                        }
                        // A secret may lie in a folder that only must not be changed.
                        if is_folder && !too_much && class != PathClass::Secret {
                            folders.push((below, is_covered || runs));
                        }
                    }
                }
                names_left = names_left.saturating_sub(1);
            }
        }
        self.absolute(found)
    }

    /// The target inside of a link, with the stricter class of both names.
    fn behind_link(&self, link: RepoPath, found: &mut Found) {
        let resolved = self.resolve(&link).ok();
        let is_store = link.name().is_some_and(is_version_control);
        if is_store || classify(&link) == PathClass::ExecutableConfiguration {
            let target = resolved.as_ref().map(|resolved| resolved.real.clone());
            found.runs.insert(link, Behind::Link(target));
        }
        if let Some(resolved) = resolved
            && !resolved.real.is_root()
            && let Some(paths) = found.of(resolved.class)
        {
            paths.insert(resolved.real);
        }
    }

    fn absolute(&self, found: Found) -> Protected {
        let root = self.real_root();
        let absolute = |path: &RepoPath| {
            let mut bytes = root.clone();
            if bytes != b"/" {
                bytes.push(b'/');
            }
            bytes.extend_from_slice(path.as_bytes());
            PathBuf::from(OsString::from_vec(bytes))
        };
        Protected {
            secrets: found.secrets.iter().map(absolute).collect(),
            executable_configuration: found.executable_configuration.iter().map(absolute).collect(),
            runs: found.runs,
            is_complete: !found.is_bounded,
        }
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
        assert_eq!(workspace.protected_up_to(2).secrets, [root.join("a/b/.env")]);
        assert_eq!(workspace.protected_up_to(1).secrets, [root.join("a/b")]);
    }
}
