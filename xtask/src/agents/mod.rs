//! `cargo xtask agents`: a real coding agent does a task on a scratch repository, through Chancery alone.
//!
//! Only the model is a script; the agent, the server, the ledger and the repository are the real things. Must
//! never reach a network but to install what is missing, and never leave a process behind.

use std::fmt::Display;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

mod codex;
mod enclosure;
mod scene;
mod verdict;

pub use verdict::Played;

use enclosure::{Network, enclosed, finish};
use scene::Scene;

/// How to call it.
pub const USAGE: &str = "cargo xtask agents [--binary PATH] [--keep]";

/// Where the agent's packages, its configuration, the script and the repository are described.
const FOLDER: &str = "xtask/agents";

/// The longest that each step may take, in seconds.
const BUILD_SECONDS: u64 = 1800;
const QUESTION_SECONDS: u64 = 60;
const TESTS_SECONDS: u64 = 300;

/// What the command line asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The server's binary; if not given, a debug build of this repository.
    pub binary: Option<PathBuf>,
    /// Leave the scratch folder in place also when all is well.
    pub keep: bool,
}

impl Options {
    /// Reads the words after `agents`.
    ///
    /// # Errors
    /// The word that is not understood.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let (mut words, mut options) = (words.into_iter(), Self::default());
        while let Some(word) = words.next() {
            match word.as_str() {
                "--binary" => options.binary = Some(words.next().ok_or(word)?.into()),
                "--keep" => options.keep = true,
                _ => return Err(word),
            }
        }
        Ok(options)
    }
}

/// Something that is needed before the agent can be judged is not there, or did not do its part.
#[derive(Debug, thiserror::Error)]
#[error("`{at}`: {reason}")]
pub struct Fault {
    at: String,
    reason: String,
}

impl Fault {
    fn new(at: impl Display, reason: impl Display) -> Self {
        Self { at: at.to_string(), reason: reason.to_string() }
    }

    /// Says where an error of another kind happened.
    fn at<E: Display>(at: impl Display) -> impl FnOnce(E) -> Self {
        let at = at.to_string();
        move |reason| Self::new(at, reason)
    }
}

/// Lets the agent do its task, and judges it.
///
/// # Errors
/// When the agent cannot be installed, the binary does not build, or the scratch folder cannot be used. What the
/// agent or the server does wrong is part of the verdict instead.
pub fn run(root: &Path, options: &Options) -> Result<Played, Fault> {
    let agent = codex::installed(root)?;
    let scene = Scene::set(root)?;
    let binary = match &options.binary {
        Some(binary) => binary.canonicalize().map_err(Fault::at(binary.display()))?,
        None => built(root, &scene)?,
    };
    let before = scene.files()?;
    let failed_before = run_tests(&scene)? != Some(0);
    let exit = agent.play(root, &scene, &binary)?;
    let passed_after = run_tests(&scene)? == Some(0);
    let evidence = verdict::Evidence {
        exit,
        last_words: last_line(&scene.path("agent.txt"))?,
        script: fs::read_to_string(root.join(FOLDER).join("script.json"))
            .map_err(Fault::at("script.json"))
            .and_then(|text| serde_json::from_str(&text).map_err(Fault::at("script.json")))?,
        log: lines(&scene.log)?,
        receipts: receipts(&scene, &binary)?,
        ledger_is_sound: verify(&scene, &binary)?,
        changes: scene::changes(&before, &scene.files()?),
        failed_before,
        passed_after,
    };
    let mut played = evidence.judge(&format!("codex {}", agent.version));
    if options.keep || !played.is_sound() {
        played.kept = Some(scene.keep());
    }
    Ok(played)
}

/// The debug binary, built anew if need be.
fn built(root: &Path, scene: &Scene) -> Result<PathBuf, Fault> {
    let what = "cargo build --package chancery";
    let messages = scene.path("build.jsonl");
    let mut cargo = enclosed(Network::Shared, "cargo");
    cargo.args(["build", "--locked", "--package", "chancery", "--message-format"]);
    cargo.arg("json-render-diagnostics").current_dir(root).stdout(created(&messages)?);
    if finish(&mut cargo, BUILD_SECONDS)? != Some(0) {
        return Err(Fault::new(what, "failed; cargo says why above"));
    }
    let executable = |message: &Value| {
        let ours = message.pointer("/target/name").and_then(Value::as_str) == Some("chancery");
        let path = message.get("executable").and_then(Value::as_str);
        path.filter(|_| ours).map(PathBuf::from)
    };
    let found = lines(&messages)?.iter().rev().find_map(executable);
    found.ok_or_else(|| Fault::new(what, "names no executable"))
}

/// The exit code of the repository's tests, run beside the agent and without its runtime.
fn run_tests(scene: &Scene) -> Result<Option<i32>, Fault> {
    let mut cargo = enclosed(Network::None, "cargo");
    cargo.args(["test", "--offline", "--locked", "--quiet"]).current_dir(&scene.workspace);
    cargo.env("CARGO_TARGET_DIR", scene.path("build")).env("CARGO_HOME", scene.path("cargo"));
    cargo.env("RUSTUP_HOME", scene::rustup_home());
    let output = created(&scene.path("tests.txt"))?;
    let errors = output.try_clone().map_err(Fault::at("tests.txt"))?;
    cargo.stdin(Stdio::null()).stdout(output).stderr(errors);
    finish(&mut cargo, TESTS_SECONDS)
}

/// What the ledger holds, oldest first; nothing when it cannot be read.
fn receipts(scene: &Scene, binary: &Path) -> Result<Vec<Value>, Fault> {
    let file = scene.path("receipts.jsonl");
    let mut question = enclosed(Network::None, binary);
    question.args(["receipts", "--json", "--state"]).arg(&scene.state).stdout(created(&file)?);
    if finish(&mut question, QUESTION_SECONDS)? != Some(0) {
        return Ok(Vec::new());
    }
    Ok(lines(&file)?.into_iter().rev().collect())
}

fn verify(scene: &Scene, binary: &Path) -> Result<bool, Fault> {
    let mut question = enclosed(Network::None, binary);
    question.args(["verify", "--state"]).arg(&scene.state).stdout(Stdio::null());
    Ok(finish(&mut question, QUESTION_SECONDS)? == Some(0))
}

fn created(path: &Path) -> Result<File, Fault> {
    File::create(path).map_err(Fault::at(path.display()))
}

/// One JSON value per line; none at all when the file was never written.
fn lines(path: &Path) -> Result<Vec<Value>, Fault> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        text => text.map_err(Fault::at(path.display()))?,
    };
    let parsed = text.lines().map(serde_json::from_str).collect::<Result<_, _>>();
    parsed.map_err(Fault::at(path.display()))
}

fn last_line(path: &Path) -> Result<String, Fault> {
    let text = fs::read(path).map_err(Fault::at(path.display()))?;
    let text = String::from_utf8_lossy(&text);
    Ok(text.trim_end().lines().next_back().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_an_unknown_word_is_named() {
        let parse = |line: &str| Options::parse(line.split_whitespace().map(str::to_owned));
        let given = Options { binary: Some("a/b".into()), keep: true };
        assert_eq!(parse("--binary a/b --keep"), Ok(given));
        assert_eq!(parse(""), Ok(Options::default()));
        assert_eq!(parse("--binary"), Err("--binary".to_owned()));
        assert_eq!(parse("--keep codex"), Err("codex".to_owned()));
    }
}
