//! Rules about where things are: folders, module names, the order of a call, manifests, and traces of
//! the machine that a file was written on.
//!
//! Nothing here may judge how the code inside a file is written.

use std::collections::{BTreeMap, BTreeSet};

use super::{LISTS, MACHINE_FOLDERS, excepted};
use crate::Finding;
use crate::tree::{File, words};

const FOLDER_ENTRIES: usize = 12;

/// Names under which everything and nothing can be filed.
const SINKS: &[&str] = &["common", "util", "utils", "helpers", "types", "misc", "imp"];

/// Where the life of a call is read, and in which order.
const CALL: &str = "crates/engine/src/call/mod.rs";
const STAGES: &str = "parse, validate, normalize, authorize, approve, execute, bound, record";

/// Folders of a machine. In pieces, so that this file does not hold them itself.
const FOLDERS: &[&str] = &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/fa", "rm/")];
/// Counted only with the name of a user behind it.
const HOMES: &str = concat!("/ho", "me/");

/// Files that say where packages come from, and the keys that say so.
const PACKAGE_FILES: &str = "Cargo.lock config.toml package-lock.json .npmrc requirements.txt";
const PACKAGE_KEYS: &[&str] = &["source", "\"resolved\"", "registry", "index", "--"];
/// Where everybody gets them.
const PACKAGE_HOSTS: &str = "github.com registry.npmjs.org pypi.org files.pythonhosted.org";

pub(super) fn check(files: &[&File]) -> Vec<Finding> {
    let mut findings = crowded_folders(files);
    findings.extend(stray_lints(files));
    for file in files {
        let code = file.is_rust() || file.path.ends_with("Cargo.toml");
        if let Some(name) = file.names().find(|name| code && SINKS.contains(name)) {
            let message = format!("`{name}` takes in everything; name it for what it holds");
            findings.push(Finding::new(&file.path, 1, message));
        }
        findings.extend(call_order(file));
        findings.extend(machine_traces(file));
    }
    findings
}

fn crowded_folders(files: &[&File]) -> Vec<Finding> {
    let mut folders: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in files.iter().filter(|file| !file.is_test()) {
        let mut path = file.path.as_str();
        while let Some((folder, entry)) = path.rsplit_once('/') {
            folders.entry(folder).or_default().insert(entry);
            path = folder;
        }
    }
    folders.retain(|folder, entries| entries.len() > FOLDER_ENTRIES && !excepted(LISTS, folder));
    let message = |entries: usize| format!("{entries} entries; past {FOLDER_ENTRIES}, group them");
    let crowded = folders.iter();
    crowded.map(|(path, entries)| Finding::new(path, 1, message(entries.len()))).collect()
}

fn call_order(file: &File) -> Option<Finding> {
    let mut modules = Vec::new();
    for line in file.lines() {
        let name = words(&line.code).skip_while(|word| *word != "mod").nth(1);
        modules.extend(STAGES.split(", ").find(|stage| Some(*stage) == name));
    }
    let message = || format!("the life of a call is read in the order {STAGES}");
    (file.path == CALL && modules.join(", ") != STAGES).then(|| Finding::new(CALL, 1, message()))
}

/// Cargo has no partial override, so the crate that may hold unsafe code repeats the workspace's lints.
fn stray_lints<'a>(files: &[&'a File]) -> Vec<Finding> {
    let lints = |text: &'a str, prefix: &str| {
        let mut rust = table(text, &format!("[{prefix}lints.rust]"));
        rust.retain(|line| !line.starts_with("unsafe_code"));
        (rust, table(text, &format!("[{prefix}lints.clippy]")))
    };
    let root = files.iter().find(|file| file.path == "Cargo.toml");
    let expected = lints(root.map_or("", |root| root.text.as_str()), "workspace.");
    let mut findings = Vec::new();
    for file in files {
        let member = match file.path.split('/').collect::<Vec<_>>().as_slice() {
            ["crates", _, name] | ["xtask", name] => *name == "Cargo.toml",
            _ => false,
        };
        let repeats = file.path.starts_with("crates/sandbox/") && lints(&file.text, "") == expected;
        if member && !repeats && !table(&file.text, "[lints]").contains("workspace = true") {
            let message = "write `[lints] workspace = true`; the sandbox may repeat the workspace's \
                           lints instead, all but `unsafe_code`";
            findings.push(Finding::new(&file.path, 1, message));
        }
    }
    findings
}

/// The lines of one table of a manifest.
fn table<'a>(text: &'a str, header: &str) -> BTreeSet<&'a str> {
    let body = text.lines().map(str::trim).skip_while(|line| *line != header);
    let body = body.skip(1).take_while(|line| !line.starts_with('['));
    body.filter(|line| line.contains('=')).collect()
}

fn machine_traces(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let literal = file.is_test() || excepted(MACHINE_FOLDERS, &file.path);
    let packages = PACKAGE_FILES.split(' ').any(|name| file.names().any(|part| part == name));
    for line in file.lines() {
        if let Some(folder) = machine_folder(line.raw).filter(|_| !literal && !line.test) {
            let message =
                format!("`{folder}` is a folder of some machine; start at the project's root");
            findings.push(Finding::new(&file.path, line.number, message));
        }
        if let Some(host) = private_host(line.raw).filter(|_| packages) {
            let message = format!("packages come from `{host}`; name only the public registries");
            findings.push(Finding::new(&file.path, line.number, message));
        }
    }
    findings
}

fn machine_folder(line: &str) -> Option<&str> {
    let inner = |c: char| c.is_alphanumeric() || "_-.~/$})]>*".contains(c);
    let starts = |at| !line.get(..at).unwrap_or_default().ends_with(inner);
    let named = |folder: &&&str| line.match_indices(**folder).any(|(at, _)| starts(at));
    let owned = |(at, _): (usize, &str)| {
        let (user, _) = line.get(at + HOMES.len()..)?.split_once('/')?;
        let user = Some(user).filter(|user| !user.is_empty() && starts(at));
        user.filter(|user| user.chars().all(|c| c.is_ascii_lowercase()))
    };
    let home = line.match_indices(HOMES).find_map(owned).map(|_| HOMES);
    FOLDERS.iter().find(named).copied().or(home)
}

fn private_host(line: &str) -> Option<&str> {
    let key = line.trim_start();
    let (_, address) = line.split_once("://")?;
    let host = address.split(['/', '"']).next()?;
    let named = PACKAGE_KEYS.iter().any(|start| key.starts_with(start));
    (named && !PACKAGE_HOSTS.split(' ').any(|public| public == host)).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `path | text`
    fn found(sample: &str) -> Vec<Finding> {
        let (path, text) = sample.split_once(" | ").unwrap();
        check(&[&File::new(path, text)])
    }

    #[test]
    fn a_file_is_where_it_belongs_and_knows_no_machine() {
        let cases = [
            "crates/a/src/utils.rs |  => 1 `utils` takes in",
            "crates/a/tests/common/mod.rs |  => 1 `common` takes in",
            "docs/types/x.md |  => fine",
            "x.md | a\nsee `/home/ann/x` => 2 `/home/` is a",
            "x.md | /home/$USER/ /home/ ~/home/ann/ https://a.example/root/x => fine",
            "x.toml | path = \"/root/x\" => 1 `/root/` is a",
            concat!("x.sh | cd /wo", "rk/x => 1 `/wo", "rk/` is a"),
            concat!("x.sh | cd /fa", "rm/x => 1 `/fa", "rm/` is a"),
            "x/tests/y.rs | \"/root/x\" => fine",
            "x.rs | #[cfg(test)]\nmod tests {\n\"/root/x\" => fine",
            "Cargo.lock | source = \"registry+https://github.com/a\" => fine",
            "Cargo.lock | source = \"registry+https://mirror.lan/a\" => 1 packages come from",
            "package-lock.json | \"resolved\": \"http://mirror.lan:80/a.tgz\" => 1 packages come from",
            "package-lock.json | \"url\": \"https://fund.example\" => fine",
        ];
        crate::cases(&cases, found);
    }

    #[test]
    fn a_folder_holds_twelve() {
        let files: Vec<_> = (0..13).map(|n| File::new(&format!("a/src/{n}.rs"), "")).collect();
        let files: Vec<_> = files.iter().collect();
        assert_eq!(check(&files[1..]), []);
        assert_eq!(check(&files)[0].message, "13 entries; past 12, group them");
    }

    #[test]
    fn a_call_is_read_in_order() {
        let text = format!("{CALL} | pub mod {};\nmod drive;\n", STAGES.replace(", ", ";\nmod "));
        assert_eq!(found(&text), []);
        assert_eq!(found(&text.replace("mod approve;\n", "")).len(), 1);
        assert_eq!(found(&text.replace("bound;\nmod record", "record;\nmod bound")).len(), 1);
    }

    #[test]
    fn lints_are_the_same_everywhere() {
        let own = "[lints.rust]\nunsafe_code = 1\na = 2\n[lints.clippy]\nb = 3\n";
        let root = own.replace("[lints", "[workspace.lints").replace('1', "4");
        let root = File::new("Cargo.toml", &root);
        let strays = |path: &str, text: &str| check(&[&root, &File::new(path, text)]).len();
        assert_eq!(strays("crates/sandbox/Cargo.toml", own), 0);
        assert_eq!(strays("crates/sandbox/Cargo.toml", &own.replace('b', "c")), 1);
        assert_eq!(strays("crates/engine/Cargo.toml", own), 1);
        assert_eq!(strays("xtask/Cargo.toml", "[lints]\nworkspace = true\n"), 0);
    }
}
