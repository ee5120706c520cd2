//! `chancery demo`: a scripted agent does a piece of work on a scratch copy of a repository, through MCP, and tries
//! what it must not do.
//!
//! Every step states the outcome that it expects; the demo ends well only if each had exactly that outcome.

mod client;
mod scratch;
mod script;

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use crate::cli::{CommandError, Page};
use crate::exit::Exit;
use client::Client;
use scratch::Scratch;
use script::{Expected, Step, steps};

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// The repository to copy; the working directory if not given
    #[arg(long, value_name = "DIR")]
    repository: Option<PathBuf>,
    /// Leave the scratch copy and its state in place, and say where
    #[arg(long)]
    keep: bool,
}

impl Demo {
    pub(crate) fn run(&self, page: &mut Page) -> Result<Exit, CommandError> {
        let repository = match &self.repository {
            Some(directory) => directory.clone(),
            None => std::env::current_dir()?,
        };
        let scratch = Scratch::of(&repository)?;
        if !page.json() {
            page.line(&format!(
                "a scratch copy of {} files, served by `chancery mcp`\n",
                scratch.files
            ))?;
        }
        let mut client = Client::start(&scratch)?;
        let steps = steps();
        let mut unexpected = 0;
        for (at, step) in steps.iter().enumerate() {
            (step.before)(&scratch)?;
            let asked = (step.arguments)();
            let answer = client.call(step.tool, &asked, step.call_id)?;
            let verdict = judge(step, &answer);
            unexpected += usize::from(verdict.is_err());
            report(page, at + 1, step, &answer, &verdict)?;
        }
        client.finish()?;
        let sound = verify(&scratch, page)?;
        if self.keep {
            let (root, state) = scratch.keep();
            page.line(&format!("kept: workspace {}, state {}", root.display(), state.display()))?;
        }
        let expected = steps.len() - unexpected;
        if !page.json() {
            page.line(&format!("{expected} of {} outcomes as expected", steps.len()))?;
        }
        Ok(if unexpected == 0 && sound { Exit::Done } else { Exit::Failed })
    }
}

/// Whether an answer is what its step expects; if not, what was expected.
fn judge(step: &Step, answer: &Value) -> Result<(), String> {
    let Expected { status, code, that } = &step.expected;
    let text = |pointer: &str| answer.pointer(pointer).and_then(Value::as_str);
    if text("/status") != Some(*status) {
        return Err(format!("expected status `{status}`"));
    }
    if text("/error/code") != *code {
        return Err(format!("expected error code `{}`", code.unwrap_or("none")));
    }
    that(answer).map_err(|what| format!("expected {what}"))
}

fn report(
    page: &mut Page,
    number: usize,
    step: &Step,
    answer: &Value,
    verdict: &Result<(), String>,
) -> Result<(), CommandError> {
    let text = |pointer: &str| answer.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    if page.json() {
        return Ok(page.document(&json!({
            "step": step.name,
            "tool": step.tool,
            "as_expected": verdict.is_ok(),
            "answer": answer,
        }))?);
    }
    let mark = if verdict.is_ok() { "ok " } else { "NOT" };
    let receipt = text("/receipt_id").trim_start_matches("sha256:").get(..12).unwrap_or_default();
    let outcome = match text("/error/code") {
        "" => text("/status").to_owned(),
        code => format!("{} {code}", text("/status")),
    };
    page.line(&format!(
        "{mark} {number:>2} {receipt:<12} {:<18} {outcome:<28} {}",
        step.tool, step.name
    ))?;
    if let Err(expected) = verdict {
        page.line(&format!("       {expected}, got {answer}"))?;
    }
    Ok(())
}

/// Every receipt of the demo must still be what it was when it was written.
fn verify(scratch: &Scratch, page: &mut Page) -> Result<bool, CommandError> {
    let ledger = ledger::Ledger::open(scratch.state(), crate::runtime::NAME)?;
    let report = ledger.verify()?;
    let open = ledger.open_intents()?.len();
    if !page.json() {
        page.line(&format!(
            "\n{} receipts verified, {} broken, {open} intents open",
            report.receipts,
            report.broken.len()
        ))?;
    }
    Ok(report.is_sound() && open == 0)
}
