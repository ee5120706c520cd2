//! The MCP door: the runtime's tools over the Model Context Protocol on standard input and output.
//!
//! It knows the protocol, both the `initialize` era and the era of self-contained requests, and nothing else: it
//! decides nothing, records nothing, validates no argument and touches no file. Only its one writer prints.
//!
//! ```text
//! input thread:  bytes → lines → message ─┐                    ┌─→ call (blocking threads) → runtime
//!                          └→ refusal ──┐ └→ transport ⇄ rmcp ⇄ server ─→ listing, artifacts
//! output thread: bytes ← lines ←────────┴── transport ←────────┴── progress
//! ```

mod artifacts;
mod call;
mod flight;
mod lines;
mod listing;
mod message;
mod progress;
mod server;
mod transport;

use std::io::{self, BufWriter, Read, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};
use wire::receipt::Artifact;
use wire::{Digest, Timestamp, ToolContract};

use flight::Flight;
use lines::Lines;
use message::{Heard, Reader};
use server::Door;
use transport::Channel;

/// The greatest number of calls that run at one time; more wait.
const CALLS: usize = 64;

/// Threads beside those of the calls, so that reading an artifact never waits for a call.
const READS: usize = 4;

/// The greatest number of lines that wait for the writer, or messages that wait for the protocol.
const QUEUED: usize = 128;

/// How long the last answers may take to be written after the client has gone, milliseconds.
const FLUSH_MS: u64 = 1000;

/// One `tools/call`, as far as MCP says anything about it.
#[derive(Debug)]
pub struct Incoming {
    /// The tool's name; [`Calls::knows`] said yes to it.
    pub tool: String,
    /// The arguments as sent: strict JSON, not yet held against any schema.
    pub arguments: Map<String, Value>,
    /// The host's own id of the call, 1 to 256 bytes (E2).
    pub call_id: String,
    /// `_meta["chancery/deadline"]` (E6).
    pub deadline: Option<Timestamp>,
    /// `_meta["chancery/idempotency_key"]`, 1 to 256 bytes (E8).
    pub idempotency_key: Option<String>,
}

/// The answer to one `tools/call`. Hosts show a model either half, so each says everything.
#[derive(Debug)]
pub struct Reply {
    /// Becomes `structuredContent`; fits the contract's result schema.
    pub structured: Map<String, Value>,
    /// Becomes the one text block of `content`.
    pub text: String,
    /// Whether the call did not end as asked.
    pub is_error: bool,
    /// Becomes `_meta["chancery/receipt_id"]`.
    pub receipt_id: String,
    /// Becomes one `resource_link` each.
    pub artifacts: Vec<Artifact>,
}

/// What the door asks of the runtime.
pub trait Calls: Send + Sync + 'static {
    /// The tools of the session, in a stable order; asked once.
    fn contracts(&self) -> Vec<ToolContract>;

    /// What a planner should know before its first call; asked once.
    fn instructions(&self) -> String;

    /// Whether the session has a tool of this name.
    fn knows(&self, tool: &str) -> bool;

    /// Does one call to its end, on a thread that may block. The stop is said when the client cancels or goes.
    ///
    /// # Errors
    /// When no receipt could be stored; everything else is a [`Reply`].
    fn call(
        &self,
        incoming: Incoming,
        stop: &engine::Stop,
        progress: &dyn engine::ports::Progress,
    ) -> Result<Reply, wire::Error>;

    /// Up to `max_bytes` of an artifact from `start_byte` on; `None` when the session has no such artifact.
    ///
    /// # Errors
    /// When it is there and cannot be read, or is damaged.
    fn read_artifact(
        &self,
        digest: &Digest,
        start_byte: u64,
        max_bytes: u64,
    ) -> Result<Option<Vec<u8>>, wire::Error>;
}

/// Serves one client on standard input and output until it goes.
///
/// # Errors
/// When no thread can be started. A client that breaks off is not an error.
pub fn serve_stdio(calls: Arc<dyn Calls>) -> io::Result<()> {
    serve(calls, io::stdin(), io::stdout())
}

/// Serves one client on any pair of streams until its input ends or its output breaks.
fn serve(
    calls: Arc<dyn Calls>,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> io::Result<()> {
    // One thread for the protocol: its steps are short, and what blocks has threads of its own.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .max_blocking_threads(CALLS + READS)
        .build()?;
    let flight = Arc::new(Flight::default());
    let (out, lines) = mpsc::channel(QUEUED);
    let (heard_tx, heard) = mpsc::channel(QUEUED);
    let (written_tx, written) = oneshot::channel::<()>();
    thread::Builder::new().name("mcp-output".to_owned()).spawn(move || {
        write_lines(lines, output);
        // Nobody waits any more when the process is about to end; that is fine.
        drop(written_tx);
    })?;
    thread::Builder::new().name("mcp-input".to_owned()).spawn({
        let (out, flight) = (out.clone(), flight.clone());
        move || listen(input, &heard_tx, &out, &flight)
    })?;
    runtime.block_on(async move {
        let door = Door::new(calls, out.clone(), flight.clone());
        let channel = Channel::new(heard, out, flight);
        let running = rmcp::service::serve_directly(door, channel, None);
        // However the protocol ended, the client is gone.
        drop(running.waiting().await);
        drop(tokio::time::timeout(Duration::from_millis(FLUSH_MS), written).await);
    });
    // A call that ignores its stop must not hold the process.
    runtime.shutdown_background();
    Ok(())
}

/// Reads, refuses what is no message of the protocol, and passes the rest on.
fn listen(
    input: impl Read,
    heard: &mpsc::Sender<rmcp::model::ClientJsonRpcMessage>,
    out: &mpsc::Sender<String>,
    flight: &Flight,
) {
    let mut lines = Lines::new(input, message::BOUNDS.bytes);
    let mut reader = Reader::default();
    // An input that breaks is an input that ends.
    while let Ok(Some(line)) = lines.next() {
        let passed_on = match reader.read(line, flight) {
            Heard::Message(message) => heard.blocking_send(*message).is_ok(),
            Heard::Refused(refusal) => out.blocking_send(refusal.line()).is_ok(),
            Heard::Nothing => true,
        };
        if !passed_on {
            return;
        }
    }
}

/// The one writer: whole lines, flushed whenever nothing more waits.
fn write_lines(mut lines: mpsc::Receiver<String>, output: impl Write) {
    let mut output = BufWriter::new(output);
    while let Some(mut line) = lines.blocking_recv() {
        loop {
            line.push('\n');
            if output.write_all(line.as_bytes()).is_err() {
                return;
            }
            match lines.try_recv() {
                Ok(next) => line = next,
                Err(_) => break,
            }
        }
        if output.flush().is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
