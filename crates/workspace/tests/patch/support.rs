//! A scratch workspace with a sibling outside of it, and the shortest way to a patch.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use workspace::patch::{
    ApplyError, Change, ChangeError, Occurrences, PatchError, Touch, parse_diff, parse_v4a,
};
use workspace::{RepoPath, Workspace};

pub(crate) struct Scratch {
    all: tempfile::TempDir,
    pub(crate) workspace: Workspace,
}

/// Why a patch did not land.
#[derive(Debug)]
pub(crate) enum Refused {
    Plan(PatchError),
    Apply(ApplyError),
}

impl Refused {
    /// The first refused change.
    pub(crate) fn change(self) -> ChangeError {
        match self {
            Self::Plan(mut error) => error.refusals.remove(0).error,
            Self::Apply(error) => panic!("refused only when applied: {error}"),
        }
    }
}

impl Scratch {
    pub(crate) fn new() -> Self {
        let all = tempfile::tempdir().unwrap();
        for folder in ["ws", "out", "journals"] {
            std::fs::create_dir(all.path().join(folder)).unwrap();
        }
        let workspace = Workspace::open(&all.path().join("ws")).unwrap();
        Self { all, workspace }
    }

    pub(crate) fn with(files: &[(&str, &[u8])]) -> Self {
        let scratch = Self::new();
        for (path, content) in files {
            scratch.write(path, content);
        }
        scratch
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.all.path().join("ws").join(path)
    }

    pub(crate) fn outside(&self, path: &str) -> PathBuf {
        self.all.path().join("out").join(path)
    }

    pub(crate) fn journals(&self) -> PathBuf {
        self.all.path().join("journals")
    }

    pub(crate) fn write(&self, path: &str, content: &[u8]) {
        let path = self.at(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn bytes(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.at(path)).unwrap()
    }

    pub(crate) fn text(&self, path: &str) -> String {
        String::from_utf8(self.bytes(path)).unwrap()
    }

    /// Every file with its content and mode: two equal trees have nothing changed and nothing left behind.
    pub(crate) fn tree(&self) -> Vec<(String, u32, Vec<u8>)> {
        let mut all = Vec::new();
        walk(&self.all.path().join("ws"), "", &mut all);
        all.sort();
        all
    }

    /// Applies changes as a task that has read every file just now.
    pub(crate) fn patch(&self, changes: Vec<Change>) -> Result<Vec<Touch>, Refused> {
        let seen = |path: &RepoPath| self.digest_now(path);
        self.patch_having_seen(changes, &seen)
    }

    pub(crate) fn patch_having_seen(
        &self,
        changes: Vec<Change>,
        seen: &dyn Fn(&RepoPath) -> Option<String>,
    ) -> Result<Vec<Touch>, Refused> {
        let targets = self.workspace.targets(changes).map_err(Refused::Plan)?;
        let plan = targets.plan(seen).map_err(Refused::Plan)?;
        plan.apply(&self.workspace, &self.journals(), &|| false).map_err(Refused::Apply)
    }

    pub(crate) fn v4a(&self, text: &str) -> Result<Vec<Touch>, Refused> {
        let changes = parse_v4a(text, &|path| self.workspace.path(path)).unwrap();
        self.patch(changes)
    }

    pub(crate) fn diff(&self, text: &str) -> Result<Vec<Touch>, Refused> {
        self.patch(parse_diff(text).unwrap())
    }

    pub(crate) fn digest_now(&self, path: &RepoPath) -> Option<String> {
        std::fs::read(self.at(&path.to_string())).ok().map(|bytes| digest(&bytes))
    }
}

fn walk(folder: &Path, below: &str, all: &mut Vec<(String, u32, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{below}{}", entry.file_name().to_string_lossy());
        let status = entry.metadata().unwrap();
        if status.is_dir() {
            all.push((format!("{name}/"), status.mode(), Vec::new()));
            walk(&entry.path(), &format!("{name}/"), all);
        } else if status.is_file() {
            all.push((name, status.mode(), std::fs::read(entry.path()).unwrap()));
        } else {
            all.push((name, status.mode(), Vec::new()));
        }
    }
}

pub(crate) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn path(text: &str) -> RepoPath {
    text.parse().unwrap()
}

pub(crate) fn replace(at: &str, old: &str, new: &str) -> Change {
    Change::Replace {
        path: path(at),
        old: old.to_owned(),
        new: new.to_owned(),
        occurrences: Occurrences::Once,
        base: None,
    }
}

pub(crate) fn replace_exactly(at: &str, old: &str, new: &str, count: u64) -> Change {
    Change::Replace {
        path: path(at),
        old: old.to_owned(),
        new: new.to_owned(),
        occurrences: Occurrences::Exactly(count),
        base: None,
    }
}

pub(crate) fn create(at: &str, content: &str) -> Change {
    Change::Create { path: path(at), content: content.to_owned(), executable: false }
}

pub(crate) fn write(at: &str, content: &str, base: Option<String>) -> Change {
    Change::Write { path: path(at), content: content.to_owned(), base }
}

pub(crate) fn delete(at: &str) -> Change {
    Change::Delete { path: path(at), base: None }
}

pub(crate) fn rename(from: &str, to: &str) -> Change {
    Change::Rename { from: path(from), to: path(to), base: None }
}
