//! `Bounded` or `Refused` → receipt → answer. The answer leaves only after its receipt is durable.

use serde_json::{Map, Value};
use wire::contract::{EffectClass, Route, ToolContract};
use wire::receipt::Artifact;
use wire::{Code, Error, Receipt, Status};

use super::bound::Bounded;
use super::draft::{Draft, Known, Refused, call_id_reused};
use super::fit;
use super::parse::effect_id;
use super::{Answer, Context, Unrecorded};
use crate::ports::{Entry, Recorded};

pub(super) fn bounded(cx: &Context<'_>, bounded: Bounded) -> Result<Answer, Unrecorded> {
    record(cx, bounded.into_draft())
}

pub(super) fn refused(cx: &Context<'_>, refused: Refused) -> Result<Answer, Unrecorded> {
    let Refused { mut draft, status, error } = refused;
    let code = error.code;
    draft.receipt.status = status;
    draft.receipt.error = Some(error);
    draft.receipt.times.started = None;
    draft.receipt.times.finished = cx.engine.now();
    // A refusal stands for no effect: who waits for the effect of its key must not be answered with it. Only
    // where the ledger failed may the intent have been stored, and is closed.
    if code != Code::LedgerUnavailable {
        draft.receipt.logical_effect_id = effect_id(cx, "call", &draft.receipt.call_id);
    }
    match contract(cx, &draft.receipt) {
        Some(contract) => fit::fit(cx, &mut draft.receipt, contract, contract.max_output_bytes),
        None => fit::count(&mut draft.receipt, None),
    }
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
    let Draft { receipt, arguments, observed, owns_call_id } = draft;
    let receipt = receipt.seal().map_err(|error| unrecorded(&error.to_string()))?;
    let entry = Entry { receipt, arguments, observed, owns_call_id };
    match cx.engine.journal().record(&entry) {
        Ok(Recorded::Stored) => Ok(answer(cx, entry.receipt)),
        Ok(Recorded::Existing(receipt)) if is_same_call(&receipt, &entry.receipt) => {
            Ok(answer(cx, *receipt))
        }
        Ok(Recorded::Existing(_)) if had_effect(&entry.receipt) => {
            Err(unrecorded("its call id was taken by another call"))
        }
        Ok(Recorded::Existing(_)) => refused(cx, outrun(entry)),
        Err(error) => Err(unrecorded(&error.to_string())),
    }
}

fn is_same_call(one: &Receipt, other: &Receipt) -> bool {
    one.tool == other.tool && one.arguments_digest == other.arguments_digest
}

fn had_effect(receipt: &Receipt) -> bool {
    let effect = receipt.normalized_action.as_ref().map(|action| action.effect);
    receipt.times.started.is_some() && effect != Some(EffectClass::Read)
}

/// Another call took the call id while this one, which has no effect, was under way: its outcome has no place.
fn outrun(entry: Entry) -> Refused {
    let Entry { receipt, arguments, .. } = entry;
    let (artifacts, truncation) = (Vec::new(), Vec::new());
    let receipt = Receipt { result: None, artifacts, truncation, ..receipt };
    let draft = Draft { receipt, arguments, observed: Vec::new(), owns_call_id: false };
    Refused { draft, status: Status::Rejected, error: call_id_reused() }
}

fn answer(cx: &Context<'_>, receipt: Receipt) -> Answer {
    let shown = shown(&receipt, contract(cx, &receipt));
    Answer { receipt, shown }
}

fn contract<'a>(cx: &'a Context<'_>, receipt: &Receipt) -> Option<&'a ToolContract> {
    cx.session.registry.contracts().find(|contract| contract.name == receipt.tool)
}

fn unrecorded(reason: &str) -> Unrecorded {
    let message = format!("the receipt could not be stored, so there is no answer: {reason}");
    Unrecorded(Error::new(Code::LedgerUnavailable, message))
}

/// The fields of a result that are routed to the planner.
pub(super) fn planner_part(
    result: &Map<String, Value>,
    contract: Option<&ToolContract>,
) -> Map<String, Value> {
    let routed = |name: &str| contract.is_some_and(|c| c.routes.get(name) == Some(&Route::Planner));
    let part = result.iter().filter(|(name, _)| routed(name));
    part.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// What a planner is shown of a receipt. A result field without a route to the planner is left out (E11).
pub(super) fn shown(receipt: &Receipt, contract: Option<&ToolContract>) -> Map<String, Value> {
    let mut shown = Map::new();
    shown.insert("status".to_owned(), receipt.status.as_str().into());
    shown.insert("receipt_id".to_owned(), receipt.receipt_id.as_str().into());
    let mut insert = |name: &str, value: Result<Value, serde_json::Error>| {
        if let Ok(value) = value {
            shown.insert(name.to_owned(), value);
        }
    };
    if let Some(error) = &receipt.error {
        insert("error", serde_json::to_value(error));
    }
    if let Some(result) = &receipt.result {
        insert("result", Ok(Value::Object(planner_part(result, contract))));
    }
    if !receipt.truncation.is_empty() {
        insert("truncation", serde_json::to_value(&receipt.truncation));
    }
    // A cut names its artifact already; the planner does not pay for it twice.
    let named = |artifact: &&Artifact| {
        receipt.truncation.iter().any(|cut| cut.artifact.as_ref() == Some(&artifact.digest))
    };
    let apart: Vec<_> = receipt.artifacts.iter().filter(|artifact| !named(artifact)).collect();
    if !apart.is_empty() {
        insert("artifacts", serde_json::to_value(&apart));
    }
    shown
}
