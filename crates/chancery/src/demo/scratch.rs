//! The scratch copy that the demo works on: a repository's files, a small crate with a fault, and things that a tool
//! must keep away from.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// The most files and bytes that are copied; a demo does not need more.
const FILES: u64 = 5_000;
const FILE_BYTES: u64 = 4 << 20;

/// Directories that hold no source.
const PASSED_OVER: [&str; 3] = [".git", "target", "node_modules"];

/// Where the demo's own files are, in the workspace.
pub(super) const CRATE: &str = "chancery-demo";

/// What no answer may hold.
pub(super) const SECRET: &str = "demo-secret-7d1f40";

const LIBRARY: &str = "/// The arithmetic mean; `None` without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    Some(sum / values.len() as f64)
}

/// The greatest value.
pub fn greatest(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_of_nothing_is_none() {
        assert_eq!(mean(&[]), None);
    }

    #[test]
    fn mean_of_two() {
        assert_eq!(mean(&[1.0, 3.0]), Some(2.0));
    }
}
";

const MANIFEST: &str = "[package]
name = \"chancery-demo\"
version = \"0.0.0\"
edition = \"2021\"

[workspace]
";

/// A scratch workspace and its state, removed when dropped.
pub(super) struct Scratch {
    directory: TempDir,
    root: PathBuf,
    state: PathBuf,
    pub(super) files: u64,
}

impl Scratch {
    /// Copies a repository and adds the demo's own files.
    pub(super) fn of(repository: &Path) -> io::Result<Scratch> {
        let directory = tempfile::Builder::new().prefix("chancery-demo-").tempdir()?;
        let real = directory.path().canonicalize()?;
        let (root, state) = (real.join("workspace"), real.join("state"));
        fs::create_dir(&root)?;
        let mut files = 0;
        copy(repository, &root, &mut files)?;
        let own = root.join(CRATE);
        fs::create_dir_all(own.join("src"))?;
        fs::write(own.join("Cargo.toml"), MANIFEST)?;
        fs::write(own.join("src/lib.rs"), LIBRARY)?;
        fs::write(own.join(".env"), format!("TOKEN={SECRET}\n"))?;
        fs::write(own.join("notes.txt"), "- to do\n- to do\n- done\n")?;
        std::os::unix::fs::symlink("/etc", own.join("elsewhere"))?;
        Ok(Scratch { directory, root, state, files })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn state(&self) -> &Path {
        &self.state
    }

    /// Changes a file behind the runtime's back, as an editor would.
    pub(super) fn edit_outside(&self, file: &str, text: &str) -> io::Result<()> {
        fs::write(self.root.join(CRATE).join(file), text)
    }

    /// Leaves everything in place.
    pub(super) fn keep(self) -> (PathBuf, PathBuf) {
        drop(self.directory.keep());
        (self.root, self.state)
    }
}

fn copy(from: &Path, to: &Path, files: &mut u64) -> io::Result<()> {
    let mut entries: Vec<_> = fs::read_dir(from)?.collect::<io::Result<_>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        let kind = entry.file_type()?;
        let (source, copied) = (entry.path(), to.join(&name));
        if kind.is_dir() && !PASSED_OVER.iter().any(|passed| name == *passed) {
            fs::create_dir(&copied)?;
            copy(&source, &copied, files)?;
        } else if kind.is_file() && *files < FILES && entry.metadata()?.len() <= FILE_BYTES {
            fs::copy(&source, &copied)?;
            *files += 1;
        }
    }
    Ok(())
}
