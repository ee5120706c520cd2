//! What is done again and again: a call to a running server, a program from start to end, a durable
//! write, a server from start to its first answer.
//!
//! Each checks what came back, outside the measured time. Must never count something that went wrong.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Fault;
use super::client::{Client, Server};
use super::proc::{self, Memory};
use super::rounds::Subject;

/// A tool, its arguments, and what a right answer holds.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) tool: &'static str,
    /// Each in its turn, then again from the first one.
    pub(super) arguments: Vec<Value>,
    pub(super) right: fn(&Value) -> bool,
}

/// A call to a server that is up.
pub(super) struct Served {
    client: Client,
    call: Call,
    made: usize,
}

/// A program that runs to its end. Its output is read and thrown away.
pub(super) struct Program {
    pub(super) words: Vec<PathBuf>,
    pub(super) folder: PathBuf,
}

/// Bytes that are written behind one another and made durable, with nothing else around it.
pub(super) struct Appended {
    file: File,
    bytes: Vec<u8>,
}

/// A server that is started, asked for its tools, called once and ended.
pub(super) struct Started {
    server: Server,
    call: Call,
    /// Of each one after its call, the first ones too.
    memory: Vec<Memory>,
}

impl Call {
    /// Makes the call for the nth time; the milliseconds from the first byte sent to the answer parsed.
    fn make(&self, client: &mut Client, nth: usize) -> Result<f64, Fault> {
        let arguments = self.arguments.get(nth % self.arguments.len().max(1));
        let begun = Instant::now();
        let answer = client.call(self.tool, arguments.unwrap_or(&Value::Null))?;
        let took = milliseconds(begun.elapsed());
        if (self.right)(&answer) {
            return Ok(took);
        }
        let answer: String = answer.to_string().chars().take(400).collect();
        Err(Fault::new(self.tool, format!("is not the right answer: {answer}")))
    }
}

impl Served {
    pub(super) fn start(server: &Server, call: Call) -> Result<Self, Fault> {
        Ok(Self { client: server.start()?, call, made: 0 })
    }
}

impl Subject for Served {
    fn once(&mut self) -> Result<f64, Fault> {
        self.made += 1;
        self.call.make(&mut self.client, self.made)
    }

    fn cpu_ms(&self) -> Option<f64> {
        Some(proc::cpu_ms(self.client.pid()))
    }
}

impl Program {
    pub(super) fn new(program: &Path, words: &str, folder: &Path) -> Self {
        let words = words.split_whitespace().map(PathBuf::from);
        let words = std::iter::once(program.to_owned()).chain(words).collect();
        Self { words, folder: folder.to_owned() }
    }

    /// Standard output of one run.
    ///
    /// # Errors
    /// When it cannot be started, or fails.
    pub(super) fn output(&self) -> Result<Vec<u8>, Fault> {
        let (program, rest) = self.words.split_first().unwrap_or((&self.folder, &[]));
        let mut command = Command::new(program);
        command.args(rest).current_dir(&self.folder).stdin(Stdio::null());
        let answer = command.output().map_err(Fault::at(program.display()))?;
        if answer.status.success() {
            return Ok(answer.stdout);
        }
        let reason = String::from_utf8_lossy(&answer.stderr);
        Err(Fault::new(program.display(), format!("{}: {}", answer.status, reason.trim())))
    }
}

impl Subject for Program {
    fn once(&mut self) -> Result<f64, Fault> {
        let begun = Instant::now();
        self.output()?;
        Ok(milliseconds(begun.elapsed()))
    }

    fn cpu_ms(&self) -> Option<f64> {
        Some(proc::children_cpu_ms())
    }
}

impl Appended {
    pub(super) fn new(path: &Path, bytes: usize) -> Result<Self, Fault> {
        let file = File::create(path).map_err(Fault::at(path.display()))?;
        Ok(Self { file, bytes: vec![b'.'; bytes] })
    }
}

impl Subject for Appended {
    fn once(&mut self) -> Result<f64, Fault> {
        let begun = Instant::now();
        let stored = self.file.write_all(&self.bytes).and_then(|()| self.file.sync_all());
        stored.map_err(Fault::at("fsync"))?;
        Ok(milliseconds(begun.elapsed()))
    }

    fn cpu_ms(&self) -> Option<f64> {
        None
    }
}

impl Started {
    pub(super) fn new(server: Server, call: Call) -> Self {
        Self { server, call, memory: Vec::new() }
    }

    /// What was measured after the first times.
    pub(super) fn idle(&self, first: usize) -> impl Iterator<Item = &Memory> {
        self.memory.iter().skip(first)
    }
}

impl Subject for Started {
    fn once(&mut self) -> Result<f64, Fault> {
        let begun = Instant::now();
        let mut client = self.server.start()?;
        let answer = client.request("tools/list", &json!({}))?;
        let took = milliseconds(begun.elapsed());
        if answer.get("tools").and_then(Value::as_array).is_none_or(Vec::is_empty) {
            return Err(Fault::new(&self.server.name, "lists no tools"));
        }
        self.call.make(&mut client, 0)?;
        self.memory.push(proc::memory(client.pid()));
        Ok(took)
    }

    /// Of the whole life: the servers have been waited for.
    fn cpu_ms(&self) -> Option<f64> {
        Some(proc::children_cpu_ms())
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_fails_is_a_fault_with_its_own_words() {
        let here = Path::new(".");
        let words = ["sh", "-c", "echo no >&2; exit 3"].map(PathBuf::from).to_vec();
        let mut failing = Program { words, folder: here.to_owned() };
        let fault = failing.once().unwrap_err().to_string();
        assert_eq!(fault, "`sh`: exit status: 3: no");
        assert!(Program::new(Path::new("true"), "", here).once().unwrap() > 0.0);
    }
}
