//! The command line. Each command is one file; this one holds the grammar and the way out.
//!
//! Results go to standard output, errors to standard error, and every command has `--json`.

mod call;
mod doctor;
mod explain;
mod mcp;
mod receipts;
mod task;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::runtime::{Setup, StartError};

/// The tool runtime for coding agents: the model proposes, the runtime decides.
#[derive(Debug, Parser)]
#[command(name = "chancery", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the tools over MCP on standard input and output
    Mcp(Place),
    /// Make one call and print its receipt
    Call(call::Call),
    /// List receipts, newest first
    Receipts(receipts::List),
    /// Print one receipt, or part of an artifact
    Show(receipts::Show),
    /// Check that every receipt is what it was when it was written
    Verify(receipts::Verify),
    /// List the tools, or explain one
    Tools(explain::Tools),
    /// Say what this machine offers and what is missing
    Doctor(doctor::Doctor),
    /// Look after a task
    Task(task::Task),
    /// Let a scripted agent work on a scratch copy of a repository, through MCP
    Demo(crate::demo::Demo),
}

/// Where to work.
#[derive(Debug, Clone, Args)]
pub(crate) struct Place {
    /// The workspace's root; the working directory if not given.
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// The state directory; `$CHANCERY_STATE`, else `$XDG_STATE_HOME/chancery`, if not given.
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// A Cedar policy file in place of the built-in policy.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// The task to go on with; a new one if not given.
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
}

impl Place {
    fn setup(&self) -> Setup {
        Setup {
            workspace: self.workspace.clone(),
            state: self.state.clone(),
            policy: self.policy.clone(),
            task: self.task.clone(),
        }
    }
}

/// A command that did not get to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Ledger(#[from] engine::ports::JournalError),
    #[error(transparent)]
    OpenLedger(#[from] ledger::OpenError),
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    Machine(String),
    #[error("the output cannot be written: {0}")]
    Output(#[from] io::Error),
}

impl CommandError {
    fn exit(&self) -> Exit {
        match self {
            CommandError::Usage(_)
            | CommandError::Start(
                StartError::Workspace { .. }
                | StartError::NoState
                | StartError::StateInside(_)
                | StartError::Policy { .. },
            ) => Exit::Usage,
            CommandError::NotFound(_) => Exit::NotFound,
            _ => Exit::Machine,
        }
    }
}

/// What a command prints on.
pub(crate) struct Page {
    out: Box<dyn Write>,
    json: bool,
}

impl Page {
    /// Whether JSON was asked for.
    pub(crate) fn json(&self) -> bool {
        self.json
    }

    /// A line of text.
    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{text}")?;
        self.out.flush()
    }

    /// A JSON document on one line.
    pub(crate) fn document(&mut self, value: &Value) -> io::Result<()> {
        self.line(&value.to_string())
    }

    /// Bytes as they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.out.flush()
    }
}

/// Runs the command that the process was started with.
#[must_use]
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are not faults; clap knows which stream each belongs on.
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Done };
            return match error.print() {
                Ok(()) => exit.into(),
                Err(_) => Exit::Machine.into(),
            };
        }
    };
    let mut page = Page { out: Box::new(io::stdout()), json: cli.json };
    match dispatch(&cli.command, &mut page) {
        Ok(exit) => exit.into(),
        // The reader has gone, as in `chancery receipts | head`.
        Err(CommandError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            Exit::Done.into()
        }
        Err(error) => {
            complain(&error, cli.json);
            error.exit().into()
        }
    }
}

fn dispatch(command: &Command, page: &mut Page) -> Result<Exit, CommandError> {
    match command {
        Command::Mcp(place) => mcp::run(place),
        Command::Call(call) => call.run(page),
        Command::Receipts(list) => list.run(page),
        Command::Show(show) => show.run(page),
        Command::Verify(verify) => verify.run(page),
        Command::Tools(tools) => tools.run(page),
        Command::Doctor(doctor) => doctor.run(page),
        Command::Task(task) => task.run(page),
        Command::Demo(demo) => demo.run(page),
    }
}

fn complain(error: &CommandError, json: bool) {
    let text = if json {
        json!({ "error": error.to_string() }).to_string()
    } else {
        format!("chancery: {error}")
    };
    // There is nowhere left to say that standard error is closed.
    drop(writeln!(io::stderr(), "{text}"));
}
