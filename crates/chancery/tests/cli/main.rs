//! The command line as a person meets it: pages, JSON, exit codes.

#![expect(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test makes its own tree and starts the binary"
)]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("ws")).unwrap();
        std::fs::write(directory.path().join("ws/a.txt"), "one\ntwo\n").unwrap();
        std::fs::write(directory.path().join("ws/.env"), "TOKEN=canary\n").unwrap();
        Place { directory }
    }

    fn root(&self) -> std::path::PathBuf {
        self.directory.path().join("ws")
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.run_in(&self.root(), arguments)
    }

    fn run_in(&self, root: &Path, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_chancery"))
            .args(arguments)
            .current_dir(root)
            .env("CHANCERY_STATE", self.directory.path().join("state"))
            .output()
            .unwrap()
    }

    /// What a command prints, once its exit code is as expected.
    fn page(&self, exit: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let text = String::from_utf8(output.stdout).unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(exit), "{arguments:?}\n{text}\n{told}");
        text + &told
    }

    fn json(&self, exit: i32, arguments: &[&str]) -> Value {
        let text = self.page(exit, arguments);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"))
    }
}

const READ: &str = r#"{"files":[{"path":"a.txt"}]}"#;

#[test]
fn d1_the_commands_explain_themselves() {
    let place = Place::new();
    let help = place.page(0, &["--help"]);
    snapbox::assert_data_eq!(help, snapbox::file!["help.txt"]);
    assert!(place.page(2, &["call"]).contains("<TOOL>"));
    assert!(place.page(2, &["no-such-command"]).contains("unrecognized"));
}

#[test]
fn d1_a_tool_answers_the_eight_questions() {
    let place = Place::new();
    let page = place.page(0, &["tools", "explain", "repository_patch"]);
    let questions: Vec<&str> = page.lines().filter(|line| line.ends_with('?')).collect();
    assert_eq!(questions.len(), 8, "{page}");
    assert!(place.page(6, &["tools", "explain", "no_such_tool"]).contains("no_such_tool"));
    let tools = place.page(0, &["tools"]);
    for tool in ["process_run", "repository_patch", "repository_read", "repository_search"] {
        assert!(tools.contains(tool), "{tools}");
    }
}

#[test]
fn e3_a_call_prints_its_receipt_and_its_exit_says_how_it_ended() {
    let place = Place::new();
    let receipt = place.json(0, &["--json", "call", "repository_read", READ]);
    assert_eq!(receipt["status"], "succeeded");
    assert!(place.page(0, &["call", "repository_read", READ]).contains("one"));
    let denied = r#"{"files":[{"path":".env"}]}"#;
    let page = place.page(3, &["call", "repository_read", denied]);
    assert!(page.contains("denied") && !page.contains("canary"), "{page}");
    place.page(2, &["call", "repository_read", "{}"]);
    place.page(2, &["call", "no_such_tool", "{}"]);
    assert!(place.page(2, &["call", "repository_read", "{"]).contains("malformed_json"));
    place.page(1, &["call", "process_run", r#"{"argv":["false"]}"#]);
    let past = ["call", "repository_read", READ, "--deadline", "2020-01-01T00:00:00Z"];
    place.page(4, &past);
}

#[test]
fn e10_receipts_are_listed_shown_and_verified() {
    let place = Place::new();
    let receipt = place.json(0, &["--json", "call", "repository_read", READ]);
    let id = receipt["receipt_id"].as_str().unwrap();
    let list = place.page(0, &["receipts"]);
    assert_eq!(list.lines().count(), 1, "{list}");
    let short = id.trim_start_matches("sha256:").get(..12).unwrap();
    assert!(list.contains(short) && list.contains("repository_read"), "{list}");
    let shown = place.json(0, &["show", id]);
    assert_eq!(shown["receipt"]["receipt_id"], id);
    assert_eq!(place.json(0, &["show", short])["receipt"]["receipt_id"], id);
    place.page(6, &["show", "ffffffffffff"]);
    assert_eq!(place.page(0, &["receipts", "--status", "denied"]), "");
    assert!(place.page(0, &["verify"]).contains('1'));
}

#[test]
fn o3_a_changed_receipt_is_found() {
    let place = Place::new();
    place.page(0, &["call", "repository_read", READ]);
    let state = place.directory.path().join("state");
    let file = std::fs::read_dir(&state)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"SQLite")))
        .unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    let log = file.with_extension("db-wal");
    assert!(!log.exists() || std::fs::metadata(&log).unwrap().len() == 0, "all in one file");
    let at = bytes.windows(9).position(|window| window == b"one\\ntwo\\").unwrap();
    bytes[at] = b'O';
    std::fs::write(&file, bytes).unwrap();
    let report = place.page(1, &["verify"]);
    assert!(report.contains("broken"), "{report}");
}

#[test]
fn f7_a_whole_output_is_read_back_from_its_artifact() {
    let place = Place::new();
    let flood = r#"{"argv":["seq","1","100000"]}"#;
    let receipt = place.json(0, &["--json", "call", "process_run", flood]);
    let digest = receipt["artifacts"][0]["digest"].as_str().unwrap();
    let whole = place.page(0, &["show", "--artifact", digest]);
    assert_eq!(whole.lines().count(), 100_000);
    assert_eq!(
        place.page(0, &["show", "--artifact", digest, "--start", "2", "--bytes", "2"]),
        "2\n"
    );
}

#[test]
fn state_does_not_lie_where_a_tool_can_reach_it() {
    let place = Place::new();
    let inside = place.root().join("state");
    let page =
        place.page(2, &["call", "repository_read", READ, "--state", inside.to_str().unwrap()]);
    assert!(page.contains("lies inside the workspace"), "{page}");
    let nowhere = place.page(2, &["call", "repository_read", READ, "--workspace", "no/such/place"]);
    assert!(nowhere.contains("--workspace"), "{nowhere}");
}

#[test]
fn i1_doctor_says_what_stands_and_what_is_missing() {
    let place = Place::new();
    let page = place.page(0, &["doctor"]);
    for line in ["state directory", "registry", "policy", "open intents", "sandbox: network"] {
        assert!(page.contains(line), "{page}");
    }
    let walls = page.lines().filter(|line| line.contains("sandbox: "));
    assert!(walls.clone().count() > 8, "{page}");
    assert!(walls.filter(|line| line.starts_with("ok")).count() > 6, "{page}");
}

#[test]
fn e8_one_key_is_one_effect_across_processes() {
    let place = Place::new();
    let append = r#"{"shell":{"script":"echo x >> log"}}"#;
    let once = ["call", "process_run", append, "--task", "task-1", "--idempotency-key", "key-1"];
    let first = place.json(0, &[&["--json"], &once[..]].concat());
    let second = place.json(0, &[&["--json"], &once[..]].concat());
    assert_eq!(first["receipt_id"], second["receipt_id"]);
    assert_eq!(std::fs::read_to_string(place.root().join("log")).unwrap(), "x\n");
}
