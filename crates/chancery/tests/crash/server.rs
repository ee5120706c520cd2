//! A `chancery mcp` process and a conversation with it that survives its sudden end.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use serde_json::{Value, json};

/// A running server.
pub(crate) struct Server {
    process: Child,
    to: Option<ChildStdin>,
    reader: Option<JoinHandle<()>>,
    next_id: u64,
    /// Request ids with the structured content of their answers.
    pub(crate) answers: Receiver<(u64, Value)>,
}

impl Server {
    /// Starts a server on a workspace and shakes hands.
    pub(crate) fn start(root: &Path, state: &Path, task: &str) -> Server {
        let mut process = Command::new(env!("CARGO_BIN_EXE_chancery"))
            .args(["mcp", "--task", task, "--workspace"])
            .arg(root)
            .arg("--state")
            .arg(state)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(process.stdout.take().unwrap());
        let to = process.stdin.take();
        let (send, answers) = channel();
        let reader = std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                // A line that was cut by the kill is no answer.
                let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
                let Some(id) = message["id"].as_u64() else { continue };
                let told = message["result"]["structuredContent"].clone();
                if send.send((id, told)).is_err() {
                    return;
                }
            }
        });
        let mut server = Server { process, to, reader: Some(reader), next_id: 0, answers };
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "crash", "version": "1" },
        });
        let id = server.request("initialize", &hello).unwrap();
        assert_eq!(server.answers.recv().unwrap().0, id);
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        server.send(&initialized).unwrap();
        server
    }

    /// Sends a call under a host's id; the request id, or `None` when the server is gone.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value, call_id: &str) -> Option<u64> {
        let meta = json!({ "claudecode/toolUseId": call_id });
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        self.request("tools/call", &params)
    }

    /// Ends it at once, as a power button would.
    pub(crate) fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Says goodbye and waits for its end.
    pub(crate) fn finish(mut self) {
        drop(self.to.take());
        assert!(self.process.wait().unwrap().success());
        self.reader.take().unwrap().join().unwrap();
    }

    fn request(&mut self, method: &str, params: &Value) -> Option<u64> {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        Some(id)
    }

    fn send(&mut self, message: &Value) -> Option<()> {
        let to = self.to.as_mut()?;
        to.write_all(format!("{message}\n").as_bytes()).ok()?;
        to.flush().ok()
    }
}
