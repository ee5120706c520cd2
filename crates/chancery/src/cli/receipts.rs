//! `chancery receipts`, `show` and `verify`: the memory, for people.

use clap::Args;
use engine::ports::Artifacts as _;
use ledger::{Filter, Ledger, Lookup};
use serde_json::{Value, json};
use wire::{Digest, Receipt, Status};

use super::{CommandError, Page};
use crate::exit::Exit;
use crate::runtime::{NAME, state_dir};

#[derive(Debug, Args)]
pub(super) struct State {
    /// The state directory; `$CHANCERY_STATE`, else `$XDG_STATE_HOME/chancery`, if not given
    #[arg(long, value_name = "DIR")]
    state: Option<std::path::PathBuf>,
}

impl State {
    fn open(&self) -> Result<Ledger, CommandError> {
        Ok(Ledger::open(&state_dir(self.state.as_deref())?, NAME)?)
    }
}

#[derive(Debug, Args)]
pub(super) struct List {
    /// Of one task
    #[arg(long)]
    task: Option<String>,
    /// Of one tool
    #[arg(long)]
    tool: Option<String>,
    /// With one status, such as `denied`
    #[arg(long, value_parser = status)]
    status: Option<Status>,
    /// Holding a text
    #[arg(long)]
    text: Option<String>,
    /// At most so many
    #[arg(long, default_value_t = 50)]
    limit: usize,
    /// Only those older than this receipt
    #[arg(long, value_name = "RECEIPT", value_parser = digest)]
    before: Option<Digest>,
    #[command(flatten)]
    state: State,
}

fn status(text: &str) -> Result<Status, String> {
    serde_json::from_value(Value::String(text.to_owned())).map_err(|_| "no such status".to_owned())
}

fn digest(text: &str) -> Result<Digest, String> {
    Digest::try_from(text.to_owned()).map_err(|error| error.to_string())
}

impl List {
    pub(super) fn run(&self, page: &mut Page) -> Result<Exit, CommandError> {
        let filter = Filter {
            task: self.task.clone(),
            tool: self.tool.clone(),
            status: self.status,
            text: self.text.clone(),
            limit: self.limit,
            before: self.before.clone(),
            ..Filter::default()
        };
        for receipt in self.state.open()?.receipts(&filter)? {
            if page.json() {
                page.document(&as_json(&receipt)?)?;
            } else {
                page.line(&line(&receipt))?;
            }
        }
        Ok(Exit::Done)
    }
}

/// A receipt on one line: when, what, how it ended, and under which id.
pub(crate) fn line(receipt: &Receipt) -> String {
    let id = receipt.receipt_id.hex().get(..12).unwrap_or_default();
    let tool = if receipt.tool.is_empty() { "(unreadable)" } else { &receipt.tool };
    let why = receipt.error.as_ref().map_or("", |error| error.code.as_str());
    let wall_ms = receipt.usage.wall_ms;
    let text = format!(
        "{} {id} {tool:<18} {:<10} {wall_ms:>6} ms {why}",
        receipt.times.finished,
        receipt.status.as_str()
    );
    text.trim_end().to_owned()
}

fn as_json(receipt: &Receipt) -> Result<Value, CommandError> {
    serde_json::to_value(receipt).map_err(|error| CommandError::Machine(error.to_string()))
}

#[derive(Debug, Args)]
pub(super) struct Show {
    /// A receipt's id or its beginning; or, with `--artifact`, an artifact's digest
    id: String,
    /// Print the content of an artifact
    #[arg(long)]
    artifact: bool,
    /// The first byte of the artifact
    #[arg(long, default_value_t = 0)]
    start: u64,
    /// The most bytes of the artifact
    #[arg(long, default_value_t = 16 << 20)]
    bytes: u64,
    #[command(flatten)]
    state: State,
}

impl Show {
    pub(super) fn run(&self, page: &mut Page) -> Result<Exit, CommandError> {
        let ledger = self.state.open()?;
        if self.artifact {
            return self.artifact(&ledger, page);
        }
        let receipt = match ledger.receipt(&self.id)? {
            Lookup::Found(receipt) => receipt,
            Lookup::None => {
                return Err(CommandError::NotFound(format!("there is no receipt `{}`", self.id)));
            }
            Lookup::Ambiguous(ids) => {
                let ids: Vec<&str> = ids.iter().map(Digest::as_str).collect();
                let (id, ids) = (&self.id, ids.join(", "));
                return Err(CommandError::Usage(format!(
                    "`{id}` is the beginning of several: {ids}"
                )));
            }
        };
        let arguments = ledger.arguments(&receipt.receipt_id)?;
        let whole = json!({ "receipt": as_json(&receipt)?, "arguments": arguments });
        if page.json() {
            page.document(&whole)?;
        } else {
            page.line(&format!("{whole:#}"))?;
        }
        Ok(Exit::Done)
    }

    fn artifact(&self, ledger: &Ledger, page: &mut Page) -> Result<Exit, CommandError> {
        let digest = digest(&self.id).map_err(CommandError::Usage)?;
        match ledger.read(&digest, self.start, self.bytes)? {
            Some(content) => {
                page.raw(&content)?;
                Ok(Exit::Done)
            }
            None => Err(CommandError::NotFound(format!("there is no artifact `{digest}`"))),
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct Verify {
    #[command(flatten)]
    state: State,
}

impl Verify {
    pub(super) fn run(&self, page: &mut Page) -> Result<Exit, CommandError> {
        let report = self.state.open()?.verify()?;
        if page.json() {
            let broken: Vec<Value> = report
                .broken
                .iter()
                .map(|broken| json!({ "receipt_id": broken.receipt_id, "reason": broken.reason }))
                .collect();
            page.document(&json!({
                "receipts": report.receipts,
                "broken": broken,
                "storage": report.storage,
            }))?;
        } else {
            for broken in &report.broken {
                page.line(&format!("broken {}: {}", broken.receipt_id, broken.reason))?;
            }
            for fault in &report.storage {
                page.line(&format!("storage: {fault}"))?;
            }
            page.line(&format!(
                "{} receipts looked at, {} broken",
                report.receipts,
                report.broken.len()
            ))?;
        }
        Ok(if report.is_sound() { Exit::Done } else { Exit::Failed })
    }
}
