//! `Parsed` → `Validated`: not a repeat, a tool of the pinned registry, arguments that fit its schema.

use std::sync::Arc;

use serde_json::{Map, Value};
use wire::receipt::{Redaction, Runtime};
use wire::{Code, Digest, Error, Proposal, Receipt, Timestamp};

use super::Context;
use super::draft::{Draft, Exit, call_id_reused};
use super::execute::await_receipt;
use super::parse::Parsed;
use crate::bounds;
use crate::ports::{Known, Standing};
use crate::registry::Entry;

/// A call whose tool is known and whose arguments fit.
#[derive(Debug)]
#[must_use = "a stage is consumed by the next"]
pub struct Validated {
    draft: Draft,
    entry: Arc<Entry>,
    arguments: Map<String, Value>,
    deadline: Timestamp,
}

impl Validated {
    pub(super) fn into_parts(self) -> (Draft, Arc<Entry>, Map<String, Value>, Timestamp) {
        (self.draft, self.entry, self.arguments, self.deadline)
    }
}

impl Parsed {
    /// Checks the call against the journal and the task's pinned registry.
    ///
    /// # Errors
    /// [`Exit`] for a repeat, an unknown tool or version, arguments that do not fit, or a past deadline.
    pub fn validate(self, cx: &Context<'_>) -> Result<Validated, Exit> {
        let (draft, proposal) = self.into_parts();
        let mut draft = hold_against_journal(cx, draft, &proposal)?;
        let found = cx.session.registry.find(&proposal.tool, proposal.tool_version.as_deref());
        let entry = match found {
            Ok(entry) => entry,
            Err(error) => return Err(draft.refuse(error)),
        };
        let contract = &entry.contract;
        draft.receipt.tool_version = Some(contract.version.clone());
        draft.receipt.runtime = Some(Runtime {
            name: cx.engine.runtime().to_owned(),
            implementation: contract.implementation.clone(),
            isolation: Map::new(),
        });
        let mut redacted = proposal.arguments.clone();
        draft.receipt.redactions = redact(&mut redacted, &contract.redacted_arguments);
        draft.arguments = Some(Value::Object(redacted));
        if let Err(error) = entry.check_arguments(&Value::Object(proposal.arguments.clone())) {
            return Err(draft.refuse(error));
        }
        let latest = cx.received.plus_ms(contract.max_timeout_ms);
        let default = cx.received.plus_ms(contract.default_timeout_ms);
        let deadline = proposal.deadline.unwrap_or(default).min(latest);
        draft.receipt.times.deadline = Some(deadline);
        Ok(Validated { draft, entry, arguments: proposal.arguments, deadline })
    }
}

/// A call id, a key or a failure that the task has seen already is settled here, cheaply (E8, E10, F11).
fn hold_against_journal(
    cx: &Context<'_>,
    mut draft: Draft,
    proposal: &Proposal,
) -> Result<Draft, Exit> {
    let asked = cx.engine.journal().standing(
        &draft.receipt.task_id,
        &proposal.call_id,
        proposal.idempotency_key.as_deref(),
        &proposal.tool,
        &draft.receipt.arguments_digest,
    );
    let standing = match asked {
        Ok(standing) => standing,
        Err(error) => {
            return Err(draft.refuse(Error::new(Code::LedgerUnavailable, error.to_string())));
        }
    };
    match &standing.same_call_id {
        // Answered with another's receipt before, and spelled otherwise now: the journal compares the actions.
        Some(known) if is_other_spelling(&draft, known) => {}
        Some(known) => return Err(same_call_id(cx, draft, known, proposal.deadline)),
        None => draft.owns_call_id = true,
    }
    // Planned anew, an action that has happened would be held against the state that it made; the same arguments
    // under the same key mean the same action, whose receipt stands.
    if let Some(known) = standing.same_key.as_ref().filter(|known| is_same(&draft, known)) {
        return Err(answer_as(cx, draft, known, proposal.deadline));
    }
    match refuse_repeat(&standing, &draft.receipt.task_id) {
        Some(error) => Err(draft.refuse(error)),
        None => Ok(draft),
    }
}

fn is_other_spelling(draft: &Draft, known: &Known) -> bool {
    let by_another = |receipt: &Receipt| receipt.call_id != draft.receipt.call_id;
    known.receipt.as_deref().is_some_and(by_another)
        && known.tool == draft.receipt.tool
        && known.arguments_digest != draft.receipt.arguments_digest
}

fn is_same(draft: &Draft, known: &Known) -> bool {
    known.tool == draft.receipt.tool && known.arguments_digest == draft.receipt.arguments_digest
}

fn same_call_id(
    cx: &Context<'_>,
    draft: Draft,
    known: &Known,
    deadline: Option<Timestamp>,
) -> Exit {
    if is_same(&draft, known) {
        answer_as(cx, draft, known, deadline)
    } else {
        draft.refuse(call_id_reused())
    }
}

/// The same call is answered the same; it waits for its receipt no longer than its deadline (E6).
fn answer_as(cx: &Context<'_>, draft: Draft, known: &Known, deadline: Option<Timestamp>) -> Exit {
    match &known.receipt {
        Some(receipt) => draft.answer_with(receipt.clone()),
        None => {
            let effect = known.logical_effect_id.clone();
            let latest = cx.received.plus_ms(bounds::ATTACH_MS);
            let until = deadline.map_or(latest, |deadline| deadline.min(latest));
            await_receipt(cx, draft, &effect, until)
        }
    }
}

/// F11: what failed or was refused unchanged, with no effect in between, is not tried again.
fn refuse_repeat(standing: &Standing, task_id: &str) -> Option<Error> {
    if standing.refused_repeats >= bounds::REPEATS_PER_TASK {
        let message = format!(
            "the task repeated refused calls {} times and is stopped; a person releases it with \
             `chancery task release {task_id}`",
            standing.refused_repeats
        );
        return Some(Error::new(Code::RetryStorm, message));
    }
    let repeated =
        standing.failed >= bounds::FAILED_REPEATS || standing.refused >= bounds::REFUSED_REPEATS;
    if !repeated {
        return None;
    }
    let times = standing.failed.saturating_add(standing.refused);
    let often = if times == 1 { "before".to_owned() } else { format!("{times} times") };
    let message = format!(
        "this call ended the same way {often} and nothing was changed since; change the arguments, or \
         change what it depends on"
    );
    let first = standing.latest.as_ref().map_or("", Digest::as_str);
    Some(Error::new(Code::RepeatedCall, message).with("receipt_id", first))
}

/// Replaces the values of redacted arguments by their digest before anything durable (O2).
pub(crate) fn redact(arguments: &mut Map<String, Value>, names: &[String]) -> Vec<Redaction> {
    let mut redactions = Vec::new();
    for name in names {
        let Some(value) = arguments.get_mut(name) else {
            continue;
        };
        let (field, rule) = (format!("/arguments/{name}"), "contract".to_owned());
        redactions.push(Redaction { field, rule, count: hide(value) });
    }
    redactions
}

fn hide(value: &mut Value) -> u64 {
    match value {
        Value::Object(members) => members.values_mut().map(hide).sum(),
        Value::Array(items) => items.iter_mut().map(hide).sum(),
        other => {
            let digest = Digest::of_json(other).unwrap_or_else(|_| Digest::of_bytes(b""));
            *other = Value::String(format!("redacted:{digest}"));
            1
        }
    }
}
