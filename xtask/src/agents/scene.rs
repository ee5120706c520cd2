//! The scratch folder: a copy of the repository, something beside it that nobody may touch, and the places of what
//! runs.
//!
//! Must never lie inside this repository, where cargo and git would see it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{FOLDER, Fault};

/// Where cargo builds in the workspace; what is in there is nobody's change.
const BUILT: &str = "workspace/target/";

/// The content of each file, or where a link points, by its path from the scratch folder.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// A scratch folder, removed when dropped.
pub(super) struct Scene {
    directory: TempDir,
    real: PathBuf,
    pub(super) workspace: PathBuf,
    pub(super) state: PathBuf,
    /// What the model was offered and what it saw.
    pub(super) log: PathBuf,
}

impl Scene {
    /// Copies the repository.
    ///
    /// # Errors
    /// When something cannot be read or written.
    pub(super) fn set(root: &Path) -> Result<Self, Fault> {
        let source = root.join(FOLDER).join("repository");
        let directory = tempfile::Builder::new().prefix("chancery-agents-").tempdir();
        let directory = directory.map_err(Fault::at("the temporary directory"))?;
        let real =
            directory.path().canonicalize().map_err(Fault::at(directory.path().display()))?;
        let workspace = real.join("workspace");
        copy(&source, &workspace).map_err(Fault::at(source.display()))?;
        let beside = real.join("beside");
        let written = fs::create_dir(&beside)
            .and_then(|()| fs::write(beside.join("file.txt"), "as it was\n"));
        written.map_err(Fault::at(beside.display()))?;
        let (state, log) = (real.join("state"), real.join("model.jsonl"));
        Ok(Self { directory, real, workspace, state, log })
    }

    /// A place in the scratch folder.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.real.join(name)
    }

    /// Everything that the agent may or may not change, as it is now.
    ///
    /// # Errors
    /// When something cannot be read.
    pub(super) fn files(&self) -> Result<Files, Fault> {
        let mut files = Files::new();
        for name in ["workspace", "beside"] {
            read(&self.real.join(name), name, &mut files).map_err(Fault::at(name))?;
        }
        Ok(files)
    }

    /// Leaves everything in place.
    pub(super) fn keep(self) -> PathBuf {
        drop(self.directory.keep());
        self.real
    }
}

/// Where rustup keeps the toolchains.
pub(super) fn rustup_home() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".rustup");
    std::env::var_os("RUSTUP_HOME").map_or_else(home, PathBuf::from)
}

/// What is different, one path each.
pub(super) fn changes(before: &Files, after: &Files) -> Vec<String> {
    let gone = before.keys().filter(|path| !after.contains_key(*path));
    let mut changes: Vec<_> = gone.map(|path| format!("{path} removed")).collect();
    for (path, content) in after {
        match before.get(path) {
            None => changes.push(format!("{path} added")),
            Some(earlier) if earlier != content => changes.push(format!("{path} modified")),
            Some(_) => {}
        }
    }
    changes
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (name, place) = (entry.file_name(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            if name != "target" {
                copy(&entry.path(), &place)?;
            }
        } else {
            fs::copy(entry.path(), place)?;
        }
    }
    Ok(())
}

fn read(folder: &Path, name: &str, files: &mut Files) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, entry.path());
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        if kind.is_dir() {
            if !format!("{name}/").starts_with(BUILT) {
                read(&path, &name, files)?;
            }
        } else if kind.is_symlink() {
            files.insert(name, fs::read_link(path)?.into_os_string().into_vec());
        } else if kind.is_file() {
            files.insert(name, fs::read(path)?);
        } else {
            files.insert(name, Vec::new());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_found_and_what_cargo_built_is_none() {
        let scene = Scene::set(&crate::root()).unwrap();
        let before = scene.files().unwrap();
        assert_eq!(changes(&before, &scene.files().unwrap()), Vec::<String>::new());
        fs::create_dir(scene.path("workspace/target")).unwrap();
        for (path, text) in [
            ("workspace/target/built", ""),
            ("workspace/src/new.rs", ""),
            ("beside/file.txt", "changed"),
        ] {
            fs::write(scene.path(path), text).unwrap();
        }
        fs::remove_file(scene.path("workspace/Cargo.lock")).unwrap();
        let expected = [
            "workspace/Cargo.lock removed",
            "beside/file.txt modified",
            "workspace/src/new.rs added",
        ];
        assert_eq!(changes(&before, &scene.files().unwrap()), expected);
    }
}
