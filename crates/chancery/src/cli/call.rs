//! `chancery call TOOL JSON`: one call, through the same door as every other.

use std::io::Read as _;

use clap::Args;
use engine::Message;
use serde_json::{Value, json};
use wire::strict;

use super::{CommandError, Page, Place};
use crate::exit::Exit;
use crate::runtime::Runtime;
use crate::{render, session};

#[derive(Debug, Args)]
pub(super) struct Call {
    /// The tool's name
    tool: String,
    /// The arguments, a JSON object; `-` reads them from standard input
    #[arg(default_value = "{}")]
    arguments: String,
    /// Two calls of a task with one key are one effect
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// When the call is no longer wanted, RFC 3339
    #[arg(long, value_name = "TIME")]
    deadline: Option<String>,
    #[command(flatten)]
    place: Place,
}

impl Call {
    pub(super) fn run(&self, page: &mut Page) -> Result<Exit, CommandError> {
        let mut text = self.arguments.clone();
        if text == "-" {
            text.clear();
            let limit = u64::try_from(engine::bounds::MESSAGE.bytes).unwrap_or(u64::MAX);
            std::io::stdin().take(limit.saturating_add(1)).read_to_string(&mut text)?;
        }
        let arguments = strict::parse(text.as_bytes(), engine::bounds::MESSAGE)
            .map_err(|error| CommandError::Usage(format!("the arguments: {error}")))?;
        let mut proposal = json!({
            "tool": self.tool,
            "arguments": arguments,
            "call_id": session::new_id("call"),
        });
        let stated = [("idempotency_key", &self.idempotency_key), ("deadline", &self.deadline)];
        if let Some(members) = proposal.as_object_mut() {
            for (name, value) in stated {
                if let Some(value) = value {
                    members.insert(name.to_owned(), Value::String(value.clone()));
                }
            }
        }
        let runtime = Runtime::open(&self.place.setup())?;
        let answer = runtime
            .drive(Message::Value(proposal))
            .map_err(|error| CommandError::Machine(error.to_string()))?;
        if page.json() {
            let receipt = serde_json::to_value(answer.receipt());
            page.document(&receipt.map_err(|error| CommandError::Machine(error.to_string()))?)?;
        } else {
            page.line(&render::answer(answer.shown()))?;
        }
        Ok(Exit::of(answer.receipt().status))
    }
}
