//! The questions: what a governed read, a search, a command, a start and an idle server cost.
//!
//! One function per question. Must never compare things that do different work without saying so.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Fault;
use super::client::Server;
use super::ground::{self, Cargo};
use super::report::{Figure, Outcome, Row};
use super::rounds::{self, Lane, Pace, State, Subject};
use super::subjects::{Appended, Call, Program, Served, Started};

/// In few files of the tree, and in ours.
const NEEDLE: &str = "RESOLVE_BENEATH";
/// Files that are read in turn. An agent seldom asks for the same one twice in a row.
const FILES: usize = 40;
const FILE_BYTES: usize = 2048;
/// About what a receipt writes to the log: rows and index pages.
const RECEIPT_BYTES: usize = 32 * 1024;
const FIRST_LINE: &str = "line 0000";

/// The targets: our median in the row's unit.
const READ_BELOW_MS: f64 = 1.0;
const START_BELOW_MS: f64 = 50.0;
const RSS_BELOW_MB: f64 = 25.0;

/// Starts of a server that do not count, because its files may come from the disk.
const STARTS_BEFORE: usize = 2;

/// What every question needs.
pub(super) struct Ground {
    pub(super) root: PathBuf,
    /// The release binary, and how it names itself.
    pub(super) binary: PathBuf,
    pub(super) ours: String,
    /// A folder of this run's own.
    pub(super) scratch: PathBuf,
    /// A tree of sources, see [`Cargo::tree`].
    pub(super) tree: PathBuf,
}

impl Ground {
    /// The small workspace, which all questions but the search share.
    pub(super) fn prepare(&self) -> Result<(), Fault> {
        let line = |number| format!("line {number:04}: plain text of an ordinary file\n");
        let mut text: String = (0..FILE_BYTES).map(line).collect();
        text.truncate(FILE_BYTES);
        let workspace = self.workspace();
        fs::create_dir_all(&workspace).map_err(Fault::at(workspace.display()))?;
        files()
            .try_for_each(|name| fs::write(workspace.join(&name), &text).map_err(Fault::at(name)))
    }

    fn workspace(&self) -> PathBuf {
        self.scratch.join("workspace")
    }

    pub(super) fn state(&self) -> PathBuf {
        self.scratch.join("state")
    }

    fn ours(&self, workspace: &Path) -> Server {
        let workspace = workspace.to_owned();
        Server {
            name: self.ours.clone(),
            program: self.binary.clone(),
            arguments: vec![
                "mcp".into(),
                "--workspace".into(),
                workspace,
                "--state".into(),
                self.state(),
            ],
            complaints: self.scratch.join("chancery.stderr"),
        }
    }

    /// The filesystem server on the small workspace, or how to get it.
    fn filesystem(&self) -> (String, Result<Server, String>) {
        let (name, found) = ground::filesystem_server(&self.root);
        let complaints = self.scratch.join("server-filesystem.stderr");
        let server = found.map(|words| {
            let mut words = words.into_iter();
            let program = words.next().unwrap_or_default();
            let arguments = words.chain([self.workspace()]).collect();
            Server { name: name.clone(), program, arguments, complaints }
        });
        (name, server)
    }

    fn read_by_peer(&self) -> Call {
        let path = |name| json!({ "path": self.workspace().join(name) });
        let arguments = files().map(path).collect();
        Call { tool: "read_text_file", arguments, right: |answer| holds(answer, "/content/0/text") }
    }
}

/// Question 1: a file of 2 KB read under policy, with its receipt on disk before the answer.
pub(super) fn read(ground: &Ground) -> Result<Vec<Row>, Fault> {
    let (name, server) = ground.filesystem();
    let mut lanes = [
        Lane::new(&ground.ours, served(&ground.ours(&ground.workspace()), read_by_us())),
        Lane::new(name, at_hand(server, |server| served(&server, ground.read_by_peer()))),
        Lane::new(format!("append {RECEIPT_BYTES} bytes and fsync"), durable(ground)),
    ];
    rounds::run(&mut lanes, Pace { rounds: 20, burst: 25, warm_up: 50 });
    let mut figures = figures(&lanes);
    // The server ends first, so that what is verified is what it left behind.
    drop(lanes);
    let note = verified(ground).unwrap_or_else(|fault| {
        if let Some(ours) = figures.first_mut().filter(|ours| ours.is_measured()) {
            ours.outcome = Outcome::Failed(fault.to_string());
        }
        String::new()
    });
    let what = "read a file of 2 KB through MCP";
    Ok(vec![Row { what, unit: "ms", figures, below: Some(READ_BELOW_MS), note }])
}

/// Question 2: a literal in a tree of real sources.
pub(super) fn search(ground: &Ground) -> Result<Vec<Row>, Fault> {
    Cargo::ask(&ground.root)?.tree(&ground.root, &ground.tree)?;
    let call = Call {
        tool: "repository_search",
        arguments: vec![json!({ "query": NEEDLE })],
        right: |answer| at(answer, "/structuredContent/status") == "succeeded",
    };
    let server = ground.ours(&ground.tree);
    // The same files as ours: hidden ones too, and ignore files also where there is no repository.
    let files = "--no-config --hidden --no-require-git --no-ignore-parent --no-ignore-global";
    let words = format!("{files} --fixed-strings --line-number --column -e {NEEDLE} .");
    let ripgrep = ground::on_path("rg").ok_or("apt-get install ripgrep".to_owned());
    let name = ripgrep.as_ref().map_or_else(|_| "rg".to_owned(), |path| ground::version(path));
    let program = |rg: &Path| Program::new(rg, &words, &ground.tree);
    let note = match &ripgrep {
        Ok(rg) => {
            let listed = Program::new(rg, &format!("{files} --files ."), &ground.tree).output()?;
            alike(&found_by_us(&server, &call), lines(&program(rg).output()?), lines(&listed))
        }
        Err(_) => String::new(),
    };
    let mut lanes = [
        Lane::new(&ground.ours, served(&server, call)),
        Lane::new(name, at_hand(ripgrep, |rg| State::Ready(Box::new(program(&rg)) as _))),
    ];
    rounds::run(&mut lanes, Pace { rounds: 10, burst: 3, warm_up: 3 });
    let figures = figures(&lanes);
    let what = "search a literal in this repository and its dependencies";
    Ok(vec![Row { what, unit: "ms", figures, below: None, note }])
}

/// Question 3: a command that does nothing.
pub(super) fn run(ground: &Ground) -> Result<Vec<Row>, Fault> {
    let call = Call {
        tool: "process_run",
        arguments: vec![json!({ "argv": ["true"] })],
        right: |answer| at(answer, "/structuredContent/result/exit_code") == &json!(0),
    };
    let plain = ground::on_path("true").ok_or("apt-get install coreutils".to_owned());
    let bwrap = ground::on_path("bwrap").ok_or("apt-get install bubblewrap".to_owned());
    let name = bwrap.as_ref().map_or_else(|_| "bwrap".to_owned(), |path| ground::version(path));
    let program = |path: PathBuf, words: &str| {
        State::Ready(Box::new(Program::new(&path, words, &ground.scratch)) as _)
    };
    let confined = "--unshare-all --ro-bind / / --proc /proc --dev /dev true";
    let mut lanes = [
        Lane::new(&ground.ours, served(&ground.ours(&ground.workspace()), call)),
        Lane::new("plain spawn", at_hand(plain, |path| program(path, ""))),
        Lane::new(name, at_hand(bwrap, |path| program(path, confined))),
    ];
    rounds::run(&mut lanes, Pace { rounds: 20, burst: 6, warm_up: 6 });
    let figures = figures(&lanes);
    let note =
        "Only chancery limits memory, time and system calls, and keeps a receipt.".to_owned();
    let what = "run `true` to its end, output collected";
    Ok(vec![Row { what, unit: "ms", figures, below: None, note }])
}

/// Questions 4 and 5: from start to the first answer, and the memory of a server that has nothing to do.
pub(super) fn start(ground: &Ground) -> Result<Vec<Row>, Fault> {
    let started = |server, call| State::Ready(Started::new(server, call));
    let (name, server) = ground.filesystem();
    let mut lanes = [
        Lane::new(&ground.ours, started(ground.ours(&ground.workspace()), read_by_us())),
        Lane::new(name, at_hand(server, |server| started(server, ground.read_by_peer()))),
    ];
    rounds::run(&mut lanes, Pace { rounds: 20, burst: 1, warm_up: STARTS_BEFORE });
    let of = |values: fn(&Started) -> Option<Vec<f64>>| {
        lanes.iter().map(|lane| Figure::new(lane, values)).collect()
    };
    let row = |what, unit, figures, below, note: &str| Row {
        what,
        unit,
        figures,
        below,
        note: note.to_owned(),
    };
    let rss = of(|it| Some(it.idle(STARTS_BEFORE).map(|memory| memory.rss_mb).collect()));
    let pss = of(|it| Some(it.idle(STARTS_BEFORE).map(|memory| memory.pss_mb).collect()));
    let life = "CPU time is that of the whole life: start, one call, end.";
    Ok(vec![
        row("start to tools/list answered", "ms", of(|_| None), Some(START_BELOW_MS), life),
        row("idle memory after one call, RSS", "MB", rss, Some(RSS_BELOW_MB), ""),
        row("idle memory after one call, PSS", "MB", pss, None, ""),
    ])
}

fn files() -> impl Iterator<Item = String> {
    (0..FILES).map(|number| format!("file{number:02}.txt"))
}

/// What `verify` says about the receipts of the reads.
fn verified(ground: &Ground) -> Result<String, Fault> {
    let state = ground.state();
    let words = format!("verify --state {}", state.display());
    let said = Program::new(&ground.binary, &words, &ground.scratch).output()?;
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    let memory = if ground::lies_in_memory(&state) {
        " The state directory lies in memory, so durable costs nothing here."
    } else {
        ""
    };
    Ok(format!("Only chancery keeps receipts; verify afterwards: {said}.{memory}"))
}

fn read_by_us() -> Call {
    Call {
        tool: "repository_read",
        arguments: files().map(|name| json!({ "files": [{ "path": name }] })).collect(),
        right: |answer| {
            let receipt = at(answer, "/structuredContent/receipt_id").is_string();
            receipt && holds(answer, "/structuredContent/result/files/0/text")
        },
    }
}

/// A server that takes calls, or why there is none.
fn served(server: &Server, call: Call) -> State<Box<dyn Subject>> {
    match Served::start(server, call) {
        Ok(served) => State::Ready(Box::new(served)),
        Err(fault) => State::Failed(fault.to_string()),
    }
}

/// The share of the disk in a durable receipt.
fn durable(ground: &Ground) -> State<Box<dyn Subject>> {
    match Appended::new(&ground.scratch.join("appended"), RECEIPT_BYTES) {
        Ok(appended) => State::Ready(Box::new(appended)),
        Err(fault) => State::Failed(fault.to_string()),
    }
}

fn at_hand<T, S>(found: Result<T, String>, ready: impl FnOnce(T) -> State<S>) -> State<S> {
    found.map_or_else(State::Missing, ready)
}

fn figures(lanes: &[Lane<Box<dyn Subject>>]) -> Vec<Figure> {
    lanes.iter().map(|lane| Figure::new(lane, |_| None)).collect()
}

/// How many lines and files our search says; it is asked once, before anything counts.
fn found_by_us(server: &Server, call: &Call) -> Value {
    let arguments = call.arguments.first().unwrap_or(&Value::Null);
    let answer = server.start().and_then(|mut client| client.call(call.tool, arguments));
    answer.map(|answer| at(&answer, "/structuredContent/result").clone()).unwrap_or_default()
}

/// Whether both found the same.
fn alike(ours: &Value, peer_lines: usize, peer_files: usize) -> String {
    let (count, files) = (at(ours, "/count/exact"), at(ours, "/files_searched"));
    let verdict = if count == &json!(peer_lines) { "Both found" } else { "DIFFERENT: they found" };
    format!("{verdict} {count} and {peer_lines} lines, in {files} and {peer_files} files.")
}

fn lines(output: &[u8]) -> usize {
    output.iter().filter(|byte| **byte == b'\n').count()
}

fn holds(answer: &Value, pointer: &str) -> bool {
    at(answer, pointer).as_str().is_some_and(|text| text.contains(FIRST_LINE))
}

fn at<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_that_found_different_lines_are_told_apart() {
        let ours = json!({ "count": { "exact": 3 }, "files_searched": 40 });
        assert_eq!(alike(&ours, 3, 41), "Both found 3 and 3 lines, in 40 and 41 files.");
        assert_eq!(alike(&ours, 4, 41), "DIFFERENT: they found 3 and 4 lines, in 40 and 41 files.");
    }

    #[test]
    fn an_answer_without_the_text_or_the_receipt_is_not_right() {
        let answer = |text: &str, receipt: Value| {
            let result = json!({ "files": [{ "text": text }] });
            json!({ "structuredContent": { "receipt_id": receipt, "result": result } })
        };
        let right = read_by_us().right;
        assert!(right(&answer("line 0000: x", json!("sha256:0"))));
        assert!(!right(&answer("line 0001: x", json!("sha256:0"))));
        assert!(!right(&answer("line 0000: x", Value::Null)));
    }
}
