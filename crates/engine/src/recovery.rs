//! After a crash: every open intent whose runtime is gone gets a receipt (E8, E10, F9).
//!
//! The tool looks at the resource where it can; where nobody can know, the receipt says `ambiguous` and a person
//! settles it. An effect is never done again from here.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value;
use wire::receipt::{PROTOCOL, Redaction, Runtime, Times, Usage};
use wire::{Code, Error, Receipt, Status, ToolContract};

use crate::bounds;
use crate::call::{Engine, redact};
use crate::ports::{Entry, Intent, JournalError, Recorded};
use crate::registry::{self, Registry};
use crate::tool::Reconciled;

impl Engine {
    /// Settles what runtimes before this one left open; the receipts that were written.
    ///
    /// # Errors
    /// [`JournalError`] if the ledger does not answer; what was not settled is found again at the next start.
    pub fn recover(&self, registry: &Registry) -> Result<Vec<Receipt>, JournalError> {
        let mut settled = Vec::new();
        for intent in self.journal().take_abandoned(bounds::RECOVERIES)? {
            let call = &intent.call;
            let entry = registry.find(&call.tool, Some(&call.tool_version)).ok();
            let reconciled = reconcile(entry.as_deref(), &intent);
            let contract = entry.as_ref().map(|entry| &entry.contract);
            let receipt = self.settle(&intent, contract, reconciled).seal().map_err(|error| {
                JournalError { doing: "seal a recovered receipt", reason: error.to_string() }
            })?;
            let arguments = Some(Value::Object(intent.call.arguments.clone()));
            let entry = Entry { receipt, arguments, observed: Vec::new(), owns_call_id: true };
            match self.journal().record(&entry)? {
                Recorded::Stored => settled.push(entry.receipt),
                Recorded::Existing(receipt) => settled.push(*receipt),
            }
        }
        Ok(settled)
    }

    fn settle(
        &self,
        intent: &Intent,
        contract: Option<&ToolContract>,
        reconciled: Reconciled,
    ) -> Receipt {
        let now = self.now();
        let (status, result, error) = match reconciled {
            Reconciled::Happened(facts) => (Status::Succeeded, Some(facts), None),
            Reconciled::DidNotHappen => {
                let message = "the runtime ended before the effect happened; nothing was changed";
                (Status::Failed, None, Some(Error::new(Code::Interrupted, message)))
            }
            Reconciled::Unknown(why) => {
                let message = format!("the runtime ended while the effect was under way: {why}");
                (Status::Ambiguous, None, Some(Error::new(Code::Ambiguous, message)))
            }
        };
        let call = &intent.call;
        Receipt {
            protocol_version: PROTOCOL.to_owned(),
            receipt_id: intent.arguments_digest.clone(),
            call_id: call.call_id.clone(),
            task_id: call.task_id.clone(),
            attempt_id: call.attempt_id.clone(),
            logical_effect_id: call.logical_effect_id.clone(),
            idempotency_key: call.idempotency_key.clone(),
            tool: call.tool.clone(),
            tool_version: Some(call.tool_version.clone()),
            registry_revision: intent.registry_revision.clone(),
            status,
            times: Times {
                received: intent.received,
                queued: None,
                started: Some(intent.started),
                finished: now,
                deadline: Some(call.deadline),
            },
            arguments_digest: intent.arguments_digest.clone(),
            normalized_action: Some(intent.action.clone()),
            result,
            artifacts: Vec::new(),
            redactions: contract.map_or_else(Vec::new, |contract| redactions(intent, contract)),
            truncation: Vec::new(),
            error,
            decision: Some(intent.decision.clone()),
            runtime: contract.map(|contract| Runtime {
                name: self.runtime().to_owned(),
                implementation: contract.implementation.clone(),
                isolation: serde_json::Map::new(),
            }),
            usage: Usage::default(),
            reconciles: None,
        }
    }
}

/// What the intent stands without; its arguments are stored redacted already.
fn redactions(intent: &Intent, contract: &ToolContract) -> Vec<Redaction> {
    redact(&mut intent.call.arguments.clone(), &contract.redacted_arguments)
}

fn reconcile(entry: Option<&registry::Entry>, intent: &Intent) -> Reconciled {
    let call = &intent.call;
    let Some(entry) = entry else {
        let why = format!("`{}` version {} is not here to look", call.tool, call.tool_version);
        return Reconciled::Unknown(why);
    };
    let look = || entry.tool().reconcile(&intent.action.action);
    catch_unwind(AssertUnwindSafe(look))
        .unwrap_or_else(|_| Reconciled::Unknown("the tool panicked while looking".to_owned()))
}
