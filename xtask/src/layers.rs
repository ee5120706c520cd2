//! `cargo xtask layers`: the arrows between our crates are those of the table here, and no other.
//!
//! A new arrow is an architectural change, so it is made in this table, in the open. The check must
//! never read source text: what cargo links is what counts.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::{Error, Finding, Report, ask};

/// Every crate of ours, from the bottom up, with the crates that it may be built from.
const ARROWS: &[(&str, &[&str])] = &[
    ("wire", &[]),
    ("workspace", &[]),
    ("sandbox", &[]),
    ("engine", &["wire"]),
    ("conformance", &["wire"]),
    ("ledger", &["engine", "wire"]),
    ("tools", &["engine", "workspace", "sandbox", "wire"]),
    ("chancery", &["tools", "ledger", "engine", "workspace", "sandbox", "wire"]),
];

/// May use anything of ours, because nothing that runs is built from it.
const TOOLING: &str = "xtask";

/// A package of the workspace, by the name that the table uses.
struct Package {
    name: String,
    /// Path of the manifest from the root.
    path: String,
    manifest: String,
    /// All of them, ours or not.
    dependencies: Vec<Dependency>,
}

struct Dependency {
    name: String,
    dev: bool,
}

/// Compares the table with `cargo metadata`.
///
/// # Errors
/// When cargo does not answer, or a manifest that it names cannot be read.
pub fn run(root: &Path) -> Result<Report, Error> {
    let question = "cargo metadata --no-deps --offline --format-version 1";
    let answer = ask(root, question)?;
    let metadata: Value = serde_json::from_slice(&answer).unwrap_or_default();
    let packages = list(&metadata, "packages").iter();
    let packages: Vec<_> = packages.map(|package| read(root, package)).collect::<Result<_, _>>()?;
    if packages.is_empty() {
        return Err(Error::new(question, "it names no packages"));
    }
    let (summary, findings) = (format!("{} crates", packages.len()), check(&packages));
    Ok(Report { summary, findings })
}

fn read(root: &Path, package: &Value) -> Result<Package, Error> {
    let path = Path::new(text(package, "manifest_path"));
    let manifest =
        fs::read_to_string(path).map_err(|error| Error::new(path.to_string_lossy(), error))?;
    let path = path.strip_prefix(root).unwrap_or(path);
    let path = path.to_string_lossy().into_owned();
    let mut dependencies = Vec::new();
    for dependency in list(package, "dependencies") {
        let name = short(text(dependency, "name")).to_owned();
        let dev = text(dependency, "kind") == "dev";
        dependencies.push(Dependency { name, dev });
    }
    let name = short(text(package, "name")).to_owned();
    Ok(Package { name, path, manifest, dependencies })
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    let list = value.get(field).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// `chancery-wire` is called `wire` in the code and in the table.
fn short(name: &str) -> &str {
    name.strip_prefix("chancery-").unwrap_or(name)
}

fn check(packages: &[Package]) -> Vec<Finding> {
    let here = |name: &str| packages.iter().any(|package| package.name == name);
    let mut findings = Vec::new();
    for package in packages.iter().filter(|package| package.name != TOOLING) {
        let from = package.name.as_str();
        let mut at = |line, message| findings.push(Finding::new(&package.path, line, message));
        let Some(allowed) = allowed(from) else {
            let message = format!("`{from}` is in no layer; give it a row in `ARROWS`");
            at(1, message);
            continue;
        };
        for to in package.dependencies.iter().filter(|to| here(&to.name)) {
            let line = line_of(&package.manifest, &to.name);
            let message = refused(from, allowed, to);
            message.into_iter().for_each(|message| at(line, message));
        }
        let built = |to: &str| package.dependencies.iter().any(|dep| !dep.dev && dep.name == to);
        for to in allowed.iter().filter(|to| here(to) && !built(to)) {
            let message =
                format!("`{from} → {to}` is allowed and not used; take it out of `ARROWS`");
            at(1, message);
        }
    }
    findings
}

fn refused(from: &str, allowed: &[&str], to: &Dependency) -> Option<String> {
    let name = to.name.as_str();
    if to.dev {
        let up = name == TOOLING || height(name) > height(from);
        let message = || format!("`{from} → {name}` points up; move the test to the higher crate");
        return up.then(message);
    }
    let message =
        || format!("`{from} → {name}` is not allowed; remove it, or argue for it in `ARROWS`");
    (!allowed.contains(&name)).then(message)
}

fn allowed(name: &str) -> Option<&'static [&'static str]> {
    let row = ARROWS.iter().find(|(from, _)| *from == name);
    row.map(|(_, allowed)| *allowed)
}

/// How many layers a crate stands on. The table is written from the bottom up, so this ends.
fn height(name: &str) -> usize {
    let below = allowed(name).unwrap_or_default();
    below.iter().map(|name| height(name) + 1).max().unwrap_or(0)
}

fn line_of(manifest: &str, name: &str) -> usize {
    let key = |line: &str| line.split(['.', '=', ' ']).next().map(short) == Some(name);
    manifest.lines().position(key).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `name: below dev/below`, one crate a line.
    fn found(crates: &str) -> Vec<Finding> {
        let package = |line: &str| {
            let (name, below) = line.split_once(':').unwrap();
            let dependency = |below: &str| Dependency {
                name: below.trim_start_matches("dev/").into(),
                dev: below.starts_with("dev/"),
            };
            Package {
                name: name.into(),
                path: name.into(),
                manifest: below.trim().replace(' ', " = 1\n"),
                dependencies: below.split_whitespace().map(dependency).collect(),
            }
        };
        check(&crates.lines().map(package).collect::<Vec<_>>())
    }

    #[test]
    fn arrows_are_those_of_the_table() {
        crate::cases(
            &[
                "wire: serde\nengine: serde wire\nledger: engine wire\nxtask: ledger => fine",
                "wire:\nsandbox:\nengine: serde wire sandbox => 3 `engine → sandbox`",
                "wire: xtask\nxtask: => 1 `wire → xtask`",
                "wire: dev/xtask\nxtask: => 1 `wire → xtask`",
                "workspace:\nwire: dev/workspace => fine",
                "workspace: dev/tools\ntools: workspace => 1 `workspace → tools`",
                "wire:\nengine: dev/wire => 1 `engine → wire`",
                "console: => 1 `console` is in",
            ],
            found,
        );
    }

    #[test]
    fn the_table_is_written_from_the_bottom_up() {
        for (index, (from, allowed)) in ARROWS.iter().enumerate() {
            let below: Vec<_> = ARROWS[..index].iter().map(|(name, _)| name).collect();
            assert!(allowed.iter().all(|to| below.contains(&to)), "`{from}` stands on a later row");
        }
    }
}
