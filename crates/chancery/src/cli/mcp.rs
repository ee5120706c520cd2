//! `chancery mcp`: the runtime behind the MCP door.

use std::sync::Arc;

use engine::ports::{Artifacts as _, Progress};
use engine::{Message, Stop};
use serde_json::{Value, json};
use wire::{Code, Digest, Error, Status, ToolContract};

use super::{CommandError, Place};
use crate::exit::Exit;
use crate::mcp::{Calls, Incoming, Reply, serve_stdio};
use crate::render;
use crate::runtime::Runtime;

pub(super) fn run(place: &Place) -> Result<Exit, CommandError> {
    let runtime = Runtime::open(&place.setup())?;
    serve_stdio(Arc::new(Behind(runtime)))?;
    Ok(Exit::Done)
}

/// The runtime as the door sees it.
struct Behind(Runtime);

const INSTRUCTIONS: &str = "Tools of Chancery work on one workspace and record every call in a receipt. Read \
    before you change: an edit is held against the file state that you were last shown, and a stale or ambiguous \
    edit is refused with what you need to correct it. Paths are relative to the workspace root. `status` says what \
    became of the call; `error.next` says what to do: change_arguments, retry_same, reconcile_first, ask_human, \
    never. A `truncation` names what was left out and how to go on.";

impl Calls for Behind {
    fn contracts(&self) -> Vec<ToolContract> {
        self.0.registry().contracts().cloned().collect()
    }

    fn instructions(&self) -> String {
        INSTRUCTIONS.to_owned()
    }

    fn knows(&self, tool: &str) -> bool {
        self.0.registry().contracts().any(|contract| contract.name == tool)
    }

    fn call(
        &self,
        incoming: Incoming,
        stop: &Stop,
        progress: &dyn Progress,
    ) -> Result<Reply, Error> {
        let mut proposal = json!({
            "tool": incoming.tool,
            "arguments": incoming.arguments,
            "call_id": incoming.call_id,
        });
        if let Some(members) = proposal.as_object_mut() {
            if let Some(deadline) = incoming.deadline {
                members.insert("deadline".to_owned(), deadline.to_string().into());
            }
            if let Some(key) = incoming.idempotency_key {
                members.insert("idempotency_key".to_owned(), Value::String(key));
            }
        }
        let answer = self
            .0
            .drive_with(Message::Value(proposal), stop, progress)
            .map_err(|unrecorded| unrecorded.0)?;
        let receipt = answer.receipt();
        Ok(Reply {
            structured: answer.shown().clone(),
            text: render::answer(answer.shown()),
            is_error: !matches!(receipt.status, Status::Succeeded | Status::Accepted),
            receipt_id: receipt.receipt_id.to_string(),
            artifacts: receipt.artifacts.clone(),
        })
    }

    fn read_artifact(
        &self,
        digest: &Digest,
        start_byte: u64,
        max_bytes: u64,
    ) -> Result<Option<Vec<u8>>, Error> {
        let refused = |reason: String| {
            Error::new(Code::Machine, format!("the artifact cannot be read: {reason}"))
        };
        let (ledger, workspace) = (self.0.ledger(), &self.0.session().grant().workspace);
        let is_ours = ledger.keeps_for(workspace, digest);
        if !is_ours.map_err(|error| refused(error.to_string()))? {
            return Ok(None);
        }
        ledger.read(digest, start_byte, max_bytes).map_err(|error| refused(error.to_string()))
    }
}
