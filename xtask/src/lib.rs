//! What keeps the house: one file per subcommand, each a function from the repository to a [`Report`].
//!
//! For the people who build Chancery; nothing that runs may depend on it. A check must never repair what
//! it finds: it names the file, the line and the way out.

#![expect(
    clippy::disallowed_methods,
    reason = "a build tool reads the repository, asks git and cargo, and measures with a clock"
)]

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub mod agents;
pub mod bench;
pub mod layers;
pub mod schema;
pub mod tidy;
mod tree;

/// What a subcommand found.
#[derive(Debug, Default)]
pub struct Report {
    /// One line for a person, printed also when nothing is wrong.
    pub summary: String,
    /// What has to change. Empty means that the house is in order.
    pub findings: Vec<Finding>,
}

/// One thing that has to change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Path from the repository's root, with `/` between components.
    pub path: String,
    /// Line, counted from 1.
    pub line: usize,
    /// What is wrong and what to do about it.
    pub message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        let (path, message) = (path.to_owned(), message.into());
        Self { path, line, message }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// A file could not be read, or a program that the check asks did not answer.
#[derive(Debug, thiserror::Error)]
#[error("`{asked}` could not be read: {reason}")]
pub struct Error {
    asked: String,
    reason: String,
}

impl Error {
    fn new(asked: impl Into<String>, reason: impl ToString) -> Self {
        let (asked, reason) = (asked.into(), reason.to_string());
        Self { asked, reason }
    }
}

/// The repository's root: the parent folder of this package.
#[must_use]
pub fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_owned()
}

/// Standard output of a command run in `folder`; its standard error is the reason when it fails.
fn ask(folder: &Path, command: &str) -> Result<Vec<u8>, Error> {
    let mut words = command.split(' ');
    let mut program = Command::new(words.next().unwrap_or_default());
    let answer = program.args(words).current_dir(folder).output();
    let answer = answer.map_err(|error| Error::new(command, error))?;
    if answer.status.success() {
        return Ok(answer.stdout);
    }
    let reason = String::from_utf8_lossy(&answer.stderr);
    Err(Error::new(command, reason.trim()))
}

/// Text in, text out: each case is `input => output`.
#[cfg(test)]
#[track_caller]
fn cases(cases: &[&str], check: impl Fn(&str) -> Vec<Finding>) {
    for case in cases {
        let (input, expected) = case.split_once(" => ").unwrap();
        let brief = |finding: &Finding| {
            let words: Vec<_> = finding.message.split(' ').take(3).collect();
            format!("{} {}", finding.line, words.join(" "))
        };
        let found: Vec<_> = check(input).iter().map(brief).collect();
        let found = if found.is_empty() { "fine".to_owned() } else { found.join(", ") };
        assert_eq!(found, expected, "{input}");
    }
}
