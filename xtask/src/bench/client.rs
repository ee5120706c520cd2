//! The client's side of MCP over standard input and output, one request at a time.
//!
//! Adds as little as it can to what is measured, and waits for no answer for ever. Must never judge an
//! answer: whoever asks knows what it has to hold.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};

use super::Fault;

/// How long one answer may take. None of those measured takes a hundredth of it.
const ANSWER: Duration = Duration::from_secs(30);
/// How long a server may take to end once its input is closed.
const END: Duration = Duration::from_secs(3);
/// How much of what a server complained about is told.
const COMPLAINT_BYTES: usize = 400;

/// A server's command line, and the file that takes its standard error.
#[derive(Debug, Clone)]
pub(super) struct Server {
    pub(super) name: String,
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<PathBuf>,
    pub(super) complaints: PathBuf,
}

/// A running server and the conversation with it. Dropped, it closes the server's input and waits.
pub(super) struct Client {
    name: String,
    server: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    complaints: PathBuf,
    asked: u64,
}

impl Server {
    /// Starts the server and shakes hands, as a host of 2025 does.
    ///
    /// # Errors
    /// When it cannot be started, or does not answer.
    pub(super) fn start(&self) -> Result<Client, Fault> {
        let complaints = File::create(&self.complaints).map_err(Fault::at(&self.name))?;
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = command.stderr(complaints).spawn().map_err(Fault::at(&self.name))?;
        let (to, from) = (server.stdin.take(), server.stdout.take());
        let from = from.ok_or_else(|| Fault::new(&self.name, "has no standard output"))?;
        let mut client = Client {
            name: self.name.clone(),
            server,
            to,
            from: BufReader::with_capacity(1 << 18, from),
            complaints: self.complaints.clone(),
            asked: 0,
        };
        client.request(
            "initialize",
            &json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": { "name": "bench", "version": "1" },
            }),
        )?;
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(client)
    }
}

impl Client {
    /// The process that was started.
    pub(super) fn pid(&self) -> u32 {
        self.server.id()
    }

    /// Calls a tool; the result as it came.
    ///
    /// # Errors
    /// When no answer comes, or one that is an error of the protocol.
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value, Fault> {
        self.request("tools/call", &json!({ "name": tool, "arguments": arguments }))
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// When no answer comes, or one that is an error of the protocol.
    pub(super) fn request(&mut self, method: &str, params: &Value) -> Result<Value, Fault> {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        let deadline = Instant::now() + ANSWER;
        loop {
            let line = self.line(deadline).map_err(|error| self.fault(error))?;
            let mut message: Value =
                serde_json::from_slice(&line).map_err(|error| self.fault(error))?;
            let answers = message.get("id").and_then(Value::as_u64) == Some(id);
            if !answers || message.get("method").is_some() {
                continue;
            }
            return match message.get_mut("result") {
                Some(result) => Ok(result.take()),
                None => Err(self.fault(format!("{method} was answered with {message}"))),
            };
        }
    }

    fn send(&mut self, message: &Value) -> Result<(), Fault> {
        let line = format!("{message}\n");
        let ended = || io::Error::other("its input is closed");
        let sent = self.to.as_mut().ok_or_else(ended).and_then(|to| to.write_all(line.as_bytes()));
        sent.map_err(|error| self.fault(error))
    }

    /// One line with its end.
    fn line(&mut self, deadline: Instant) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        while !line.ends_with(b"\n") {
            if self.from.buffer().is_empty() {
                self.readable(deadline)?;
            }
            let arrived = self.from.fill_buf()?;
            let part = arrived.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
            if part.is_empty() {
                return Err(io::Error::other("it ended in the middle of the conversation"));
            }
            line.extend_from_slice(part);
            let used = part.len();
            self.from.consume(used);
        }
        Ok(line)
    }

    /// Waits until there is something to read, or the end.
    fn readable(&self, deadline: Instant) -> io::Result<()> {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        let mut watched = [PollFd::new(self.from.get_ref(), PollFlags::IN)];
        let ready = rustix::io::retry_on_intr(|| poll(&mut watched, Some(&left)))?;
        if ready == 0 { Err(io::Error::other("it did not answer in time")) } else { Ok(()) }
    }

    fn fault(&self, reason: impl ToString) -> Fault {
        let reason = reason.to_string();
        let complaint = complaint(&self.complaints);
        let told = if complaint.is_empty() { reason } else { format!("{reason}; {complaint}") };
        Fault::new(&self.name, told)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.to.take());
        let deadline = Instant::now() + END;
        while self.line(deadline).is_ok() {}
        // It has ended, or it does not want to.
        drop(self.server.kill());
        drop(self.server.wait());
    }
}

/// The end of what a server wrote to its standard error, on one line.
fn complaint(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    let from = bytes.len().saturating_sub(COMPLAINT_BYTES);
    let text = String::from_utf8_lossy(bytes.get(from..).unwrap_or_default()).into_owned();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(script: &str, folder: &Path) -> Server {
        Server {
            name: "scripted".into(),
            program: "sh".into(),
            arguments: vec!["-c".into(), script.into()],
            complaints: folder.join("complaints"),
        }
    }

    #[test]
    fn an_answer_is_paired_by_its_id_and_others_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let script = r#"read -r hello
            echo '{"jsonrpc":"2.0","method":"notifications/message"}'
            echo '{"jsonrpc":"2.0","id":1,"result":{}}'
            read -r ready; read -r call
            echo '{"jsonrpc":"2.0","id":1,"method":"ping"}'
            case $call in *tools/call*) said=call ;; *) said=else ;; esac
            echo '{"jsonrpc":"2.0","id":2,"result":{"said":"'$said'"}}'"#;
        let mut client = server(script, folder.path()).start().unwrap();
        let said = client.call("t", &json!({})).unwrap();
        assert_eq!(said["said"], "call");
    }

    #[test]
    fn a_server_that_ends_is_a_fault_with_its_own_words() {
        let folder = tempfile::tempdir().unwrap();
        let fault = server("read -r hello; echo no room >&2", folder.path()).start().err().unwrap();
        let told = fault.to_string();
        assert_eq!(told, "`scripted`: it ended in the middle of the conversation; no room");
    }
}
