//! The agent's side of MCP: enough of a client to call tools, one at a time.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::scratch::Scratch;

/// A running `chancery mcp` and a conversation with it.
pub(super) struct Client {
    server: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    next_id: u64,
}

impl Client {
    /// Starts the server on a scratch workspace and shakes hands.
    pub(super) fn start(scratch: &Scratch) -> io::Result<Client> {
        let mut server = Command::new(std::env::current_exe()?)
            .args(["mcp", "--workspace"])
            .arg(scratch.root())
            .arg("--state")
            .arg(scratch.state())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(to), Some(from)) = (server.stdin.take(), server.stdout.take()) else {
            return Err(io::Error::other("the server has no pipes"));
        };
        let mut client = Client { server, to: Some(to), from: BufReader::new(from), next_id: 0 };
        client.request(
            "initialize",
            &json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": { "name": "chancery-demo", "version": env!("CARGO_PKG_VERSION") },
            }),
        )?;
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(client)
    }

    /// Calls a tool; its structured answer.
    pub(super) fn call(
        &mut self,
        tool: &str,
        arguments: &Value,
        call_id: &str,
    ) -> io::Result<Value> {
        let mut params = json!({ "name": tool, "arguments": arguments });
        if !call_id.is_empty()
            && let Some(params) = params.as_object_mut()
        {
            // The id that a host gives a call; two requests with one id are one call.
            params.insert("_meta".to_owned(), json!({ "claudecode/toolUseId": call_id }));
        }
        let result = self.request("tools/call", &params)?;
        let structured = result.get("structuredContent").cloned();
        structured.ok_or_else(|| io::Error::other(format!("no structured content in {result}")))
    }

    /// Says goodbye and waits for the server to end.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        drop(self.to.take());
        let status = self.server.wait()?;
        if status.success() {
            Ok(())
        } else {
            Err(io::Error::other(format!("the server ended with {status}")))
        }
    }

    fn request(&mut self, method: &str, params: &Value) -> io::Result<Value> {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let mut line = String::new();
            if self.from.read_line(&mut line)? == 0 {
                return Err(io::Error::other("the server ended in the middle of the conversation"));
            }
            let message: Value = serde_json::from_str(&line)?;
            if message.get("id") != Some(&json!(id)) {
                continue;
            }
            return match message.get("result") {
                Some(result) => Ok(result.clone()),
                None => Err(io::Error::other(format!("{method} was answered with {message}"))),
            };
        }
    }

    fn send(&mut self, message: &Value) -> io::Result<()> {
        let Some(to) = &mut self.to else {
            return Err(io::Error::other("the conversation is over"));
        };
        to.write_all(format!("{message}\n").as_bytes())?;
        to.flush()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // After a fault the server must not outlive the demo; after `finish` it is gone already.
        drop(self.to.take());
        drop(self.server.kill());
        drop(self.server.wait());
    }
}
