//! `cargo xtask tidy`: the rules of the house that neither rustc nor clippy can hold.
//!
//! Text in, findings out. An exception is a row in a list here, with its reason; a rule must never be
//! switched off by a marker in the file that it is about.

use std::path::Path;

use crate::tree::{self, File};
use crate::{Error, Finding, Report};

mod code;
mod docs;
mod layout;

/// A path, and why a rule leaves it alone.
type Exception = (&'static str, &'static str);

/// Files that are one table, or generated: their length is not counted.
const TABLES: &[Exception] = &[];

/// Tests that wait for time because time itself is what they test.
const SLEEPS: &[Exception] = &[];

/// Files that name a folder of some machine because that folder is their subject.
const MACHINE_FOLDERS: &[Exception] = &[];

/// Folders that list like things, where a thirteenth is no sign of disorder.
const LISTS: &[Exception] = &[
    ("", "the root holds what tools look for there"),
    ("crates/tools/src", "one file or folder per tool"),
    ("docs/schema", "one file per published schema"),
];

/// Checks every file of the repository.
///
/// # Errors
/// When git does not answer or a file cannot be read.
pub fn run(root: &Path) -> Result<Report, Error> {
    let files = tree::read(root)?;
    let ours: Vec<&File> = files.iter().filter(|file| !file.is_specimen()).collect();
    let rust: Vec<&File> = ours.iter().copied().filter(|file| file.is_rust()).collect();
    let mut findings: Vec<Finding> = rust.iter().flat_map(|file| code::check(file)).collect();
    findings.extend(layout::check(&ours));
    findings.extend(docs::check(&files));
    findings.sort();
    let lengths = rust.iter().map(|file| (file.text.lines().count(), file.path.as_str())).collect();
    Ok(Report { summary: summary(lengths), findings })
}

fn excepted(list: &[Exception], path: &str) -> bool {
    list.iter().any(|(excepted, _)| *excepted == path)
}

/// How long the Rust files are. What to aim at is in STYLE.md.
fn summary(mut lengths: Vec<(usize, &str)>) -> String {
    lengths.sort_unstable();
    let at =
        |percent: usize| lengths.get(lengths.len() * percent / 100).map_or(0, |(lines, _)| *lines);
    let (longest, path) = lengths.last().copied().unwrap_or_default();
    let (count, median, p95) = (lengths.len(), at(50), at(95));
    format!("{count} Rust files, median {median} lines, p95 {p95}, longest {longest} ({path})")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_summary_names_the_longest_file() {
        let lengths = vec![(3, "a.rs"), (9, "b.rs"), (5, "c.rs")];
        let expected = "3 Rust files, median 5 lines, p95 9, longest 9 (b.rs)";
        assert_eq!(super::summary(lengths), expected);
    }
}
