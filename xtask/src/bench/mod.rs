//! `cargo xtask bench`: what the release binary costs, each figure beside a peer's from the same run.
//!
//! A time says something only beside another one from the same minute on the same machine. Must never
//! hide a peer that is not installed, nor pass when something of ours was not measured.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use crate::Error;

mod client;
mod ground;
mod measures;
mod proc;
mod report;
mod rounds;
mod subjects;

pub use report::Measured;

use ground::Cargo;
use measures::Ground;

/// How to call it.
pub const USAGE: &str =
    "cargo xtask bench [--json] [--binary PATH] [--only read|search|run|start]...";

type Question = fn(&Ground) -> Result<Vec<report::Row>, Fault>;

const QUESTIONS: [(&str, Question); 4] = [
    ("read", measures::read),
    ("search", measures::search),
    ("run", measures::run),
    ("start", measures::start),
];

/// What the command line asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Print JSON in place of a table.
    pub json: bool,
    /// The binary to measure; if not given, the release build of this repository.
    pub binary: Option<PathBuf>,
    /// The questions to ask; all of them if empty.
    pub only: Vec<String>,
}

impl Options {
    /// Reads the words after `bench`.
    ///
    /// # Errors
    /// The word that is not understood.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let (mut words, mut options) = (words.into_iter(), Self::default());
        while let Some(word) = words.next() {
            match word.as_str() {
                "--json" => options.json = true,
                "--binary" => options.binary = Some(words.next().ok_or(word)?.into()),
                "--only" => {
                    let name = words.next().ok_or(word)?;
                    let known = QUESTIONS.iter().any(|(known, _)| *known == name);
                    options.only.push(if known { name } else { return Err(name) });
                }
                _ => return Err(word),
            }
        }
        Ok(options)
    }

    fn asks(&self, question: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == question)
    }
}

/// A measurement that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Something did not do what it should.
    #[error("`{at}`: {reason}")]
    At {
        /// A program, file or tool.
        at: String,
        /// What went wrong.
        reason: String,
    },
    /// Cargo did not answer.
    #[error(transparent)]
    Asked(#[from] Error),
}

impl Fault {
    /// The reason is told on one line, as the table needs it.
    fn new(at: impl Display, reason: impl Display) -> Self {
        let reason = reason.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        Self::At { at: at.to_string(), reason }
    }

    /// Says where an error of another kind happened.
    fn at<E: Display>(at: impl Display) -> impl FnOnce(E) -> Self {
        let at = at.to_string();
        move |reason| Self::new(at, reason)
    }
}

/// Asks the questions.
///
/// # Errors
/// When the binary does not build, or there is no ground to measure on. What fails while it is
/// measured is a figure that says so.
pub fn run(root: &Path, options: &Options) -> Result<Measured, Fault> {
    let cargo = Cargo::ask(root)?;
    let binary = match &options.binary {
        Some(binary) => binary.canonicalize().map_err(Fault::at(binary.display()))?,
        None => cargo.release(root)?,
    };
    let folder = cargo.target.join("bench");
    let scratch = std::fs::create_dir_all(&folder).and_then(|()| tempfile::tempdir_in(&folder));
    let scratch = scratch.map_err(Fault::at(folder.display()))?;
    let ground = Ground {
        root: root.to_owned(),
        ours: ground::version(&binary),
        binary,
        scratch: scratch.path().to_owned(),
        tree: folder.join("tree"),
    };
    ground.prepare()?;
    let (mut machine, mut rows) = (ground::machine(), Vec::new());
    for (name, question) in QUESTIONS {
        if options.asks(name) {
            rows.extend(question(&ground)?);
        }
    }
    machine.push(("load end", ground::load()));
    Ok(Measured { machine, rows })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_read_or_the_odd_word_is_named() {
        let parse = |line: &str| Options::parse(line.split_whitespace().map(str::to_owned));
        let expected = Options {
            json: true,
            binary: Some("a/b".into()),
            only: vec!["read".into(), "run".into()],
        };
        assert_eq!(parse("--json --binary a/b --only read --only run"), Ok(expected));
        assert!(parse("").unwrap().asks("search") && !parse("--only run").unwrap().asks("search"));
        for (line, odd) in [("--fast", "--fast"), ("--only walk", "walk"), ("--binary", "--binary")]
        {
            assert_eq!(parse(line), Err(odd.to_owned()));
        }
    }
}
