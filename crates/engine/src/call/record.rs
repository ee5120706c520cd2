//! `Bounded` or `Refused` → receipt → answer. The answer leaves only after its receipt is durable.

use serde_json::{Map, Value};
use wire::contract::{Route, ToolContract};
use wire::{Code, Error, Receipt};

use super::bound::Bounded;
use super::draft::{Draft, Known, Refused};
use super::{Answer, Context, Unrecorded};
use crate::bounds;
use crate::ports::{Entry, Recorded};

pub(super) fn bounded(cx: &Context<'_>, bounded: Bounded) -> Result<Answer, Unrecorded> {
    record(cx, bounded.into_draft())
}

pub(super) fn refused(cx: &Context<'_>, refused: Refused) -> Result<Answer, Unrecorded> {
    let Refused {
        mut draft,
        status,
        error,
    } = refused;
    draft.receipt.status = status;
    draft.receipt.error = Some(error);
    draft.receipt.times.started = None;
    draft.receipt.times.finished = cx.engine.now();
    let contract = contract(cx, &draft.receipt);
    let shown = Value::Object(shown(&draft.receipt, contract))
        .to_string()
        .len();
    draft.receipt.usage.planner_bytes = u64::try_from(shown).unwrap_or(u64::MAX);
    draft.receipt.usage.planner_tokens = draft
        .receipt
        .usage
        .planner_bytes
        .div_ceil(bounds::BYTES_PER_TOKEN);
    record(cx, draft)
}

pub(super) fn known(cx: &Context<'_>, known: Known) -> Result<Answer, Unrecorded> {
    let task = &cx.session.grant.task_id;
    cx.engine
        .journal()
        .answered_with(task, &known.call_id, &known.receipt.receipt_id)
        .map_err(|error| unrecorded(&error.to_string()))?;
    Ok(answer(cx, known.receipt))
}

fn record(cx: &Context<'_>, draft: Draft) -> Result<Answer, Unrecorded> {
    let Draft {
        receipt,
        arguments,
        observed,
        owns_call_id,
    } = draft;
    let receipt = receipt
        .seal()
        .map_err(|error| unrecorded(&error.to_string()))?;
    let entry = Entry {
        receipt,
        arguments,
        observed,
        owns_call_id,
    };
    match cx.engine.journal().record(&entry) {
        Ok(Recorded::Stored) => Ok(answer(cx, entry.receipt)),
        Ok(Recorded::Existing(receipt)) => Ok(answer(cx, *receipt)),
        Err(error) => Err(unrecorded(&error.to_string())),
    }
}

fn answer(cx: &Context<'_>, receipt: Receipt) -> Answer {
    let shown = shown(&receipt, contract(cx, &receipt));
    Answer { receipt, shown }
}

fn contract<'a>(cx: &'a Context<'_>, receipt: &Receipt) -> Option<&'a ToolContract> {
    cx.session
        .registry
        .contracts()
        .find(|contract| contract.name == receipt.tool)
}

fn unrecorded(reason: &str) -> Unrecorded {
    let message = format!("the receipt could not be stored, so there is no answer: {reason}");
    Unrecorded(Error::new(Code::LedgerUnavailable, message))
}

/// What a planner is shown of a receipt. A result field without a route to the planner is left out (E11).
pub(super) fn shown(receipt: &Receipt, contract: Option<&ToolContract>) -> Map<String, Value> {
    let mut shown = Map::new();
    shown.insert("status".to_owned(), receipt.status.as_str().into());
    shown.insert("receipt_id".to_owned(), receipt.receipt_id.as_str().into());
    if let Some(result) = &receipt.result {
        let routed =
            |name: &str| contract.is_some_and(|c| c.routes.get(name) == Some(&Route::Planner));
        let part: Map<_, _> = result
            .iter()
            .filter(|(name, _)| routed(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        shown.insert("result".to_owned(), Value::Object(part));
    }
    let mut insert = |name: &str, value: Result<Value, serde_json::Error>| {
        if let Ok(value) = value {
            shown.insert(name.to_owned(), value);
        }
    };
    if !receipt.truncation.is_empty() {
        insert("truncation", serde_json::to_value(&receipt.truncation));
    }
    if !receipt.artifacts.is_empty() {
        insert("artifacts", serde_json::to_value(&receipt.artifacts));
    }
    if let Some(error) = &receipt.error {
        insert("error", serde_json::to_value(error));
    }
    shown
}
