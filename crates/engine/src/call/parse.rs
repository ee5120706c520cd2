//! Bytes → `Parsed`: strict JSON, a proposal, and identity from the session only (E2, E5).

use serde_json::Value;
use wire::{Digest, Error, Proposal, strict};

use super::Context;
use super::draft::{Draft, Exit};
use crate::bounds;

/// A message as it arrives.
#[derive(Debug)]
pub enum Message<'a> {
    /// The text of a proposal.
    Bytes(&'a [u8]),
    /// A proposal that its door has parsed strictly already.
    Value(Value),
}

/// A proposal in good form.
#[derive(Debug)]
#[must_use = "a stage is consumed by the next"]
pub struct Parsed {
    draft: Draft,
    proposal: Proposal,
}

impl Parsed {
    pub(super) fn into_parts(self) -> (Draft, Proposal) {
        (self.draft, self.proposal)
    }
}

pub(super) fn parse(cx: &Context<'_>, message: Message<'_>) -> Result<Parsed, Exit> {
    let value = match message {
        Message::Value(value) => value,
        Message::Bytes(bytes) => strict::parse(bytes, bounds::MESSAGE)
            .map_err(|error| unreadable(cx, &Digest::of_bytes(bytes), None, error))?,
    };
    let call_id = value.get("call_id").and_then(Value::as_str).map(str::to_owned);
    let digest = Digest::of_json(&value).unwrap_or_else(|_| Digest::of_bytes(b""));
    let proposal =
        Proposal::from_value(value).map_err(|error| unreadable(cx, &digest, call_id, error))?;
    let arguments = Digest::of_json(&proposal.arguments).unwrap_or(digest);
    let mut draft = Draft::new(cx, proposal.call_id.clone(), arguments);
    draft.receipt.tool = proposal.tool.clone();
    draft.receipt.idempotency_key = proposal.idempotency_key.clone();
    draft.receipt.logical_effect_id = match &proposal.idempotency_key {
        Some(key) => effect_id(cx, "key", key),
        None => effect_id(cx, "call", &proposal.call_id),
    };
    Ok(Parsed { draft, proposal })
}

/// A message without a readable call id still gets its receipt, under an id made of its bytes.
fn unreadable(cx: &Context<'_>, digest: &Digest, call_id: Option<String>, error: Error) -> Exit {
    let shown = |id: String| id.chars().take(wire::call::ID_BYTES).collect();
    let call_id = call_id.map_or_else(|| format!("unreadable:{}", digest.hex()), shown);
    Draft::new(cx, call_id, digest.clone()).refuse(error)
}

/// One effect per idempotency key; without a key, one per call.
pub(super) fn effect_id(cx: &Context<'_>, kind: &str, id: &str) -> String {
    let text = format!("{}\n{kind}\n{id}", cx.session.grant.task_id);
    let digest = Digest::of_bytes(text.as_bytes());
    format!("effect-{}", digest.hex().get(..32).unwrap_or_default())
}
