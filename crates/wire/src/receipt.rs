//! The answer: `receipt.v1`, the one record of what became of a call.
//!
//! A receipt is immutable (E7): its id is the digest of everything else in it. It never holds a secret
//! that redaction removed, nor more output than the contract's bound.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::contract::EffectClass;
use crate::digest::{Digest, NotCanonical};
use crate::error::Error;
use crate::time::Timestamp;

/// The name of the receipt protocol.
pub const PROTOCOL: &str = "receipt.v1";

/// What became of the execution (E4). What became of the world is the receipt's `result`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The execution ended as asked.
    Succeeded,
    /// The execution ended in an error; what it changed, if anything, is in the result.
    Failed,
    /// The call is invalid; no effect.
    Rejected,
    /// Policy or capability refused; no effect.
    Denied,
    /// The deadline passed before the effect began; no effect.
    Expired,
    /// The caller cancelled; no new work was begun.
    Cancelled,
    /// A part was done and a part was not; the result says which.
    Partial,
    /// Whether the effect happened is not known.
    Ambiguous,
    /// An external system took the work and has not finished it.
    Accepted,
}

impl Status {
    /// The wire form.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Succeeded => "succeeded",
            Status::Failed => "failed",
            Status::Rejected => "rejected",
            Status::Denied => "denied",
            Status::Expired => "expired",
            Status::Cancelled => "cancelled",
            Status::Partial => "partial",
            Status::Ambiguous => "ambiguous",
            Status::Accepted => "accepted",
        }
    }
}

/// When things happened to the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Times {
    /// The runtime had the whole message.
    pub received: Timestamp,
    /// The call was allowed and waited for its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<Timestamp>,
    /// The effect began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Timestamp>,
    /// The outcome was known.
    pub finished: Timestamp,
    /// The absolute deadline that the call ran under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
}

/// The action that was decided on, in normal form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NormalizedAction {
    /// Real resources and parameters, after every path and default was resolved.
    pub action: Value,
    /// Digest of tool, version, effect class, demands and action together; decisions bind to it.
    pub digest: Digest,
    /// What kind of effect it has.
    pub effect: EffectClass,
}

/// The decision that let the call through, or did not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// Whether the action may be done.
    pub verdict: Verdict,
    /// The grant that was used.
    pub capability_id: String,
    /// Digest of the policy set that decided.
    pub policy_version: Digest,
    /// The policies that determined the verdict, and what each says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// The approval that was spent on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
}

/// What was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The action may be done.
    Allow,
    /// The action must not be done.
    Deny,
}

/// Content kept apart from the receipt, by content address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    /// What it is to the call, such as `stdout`.
    pub name: String,
    /// Digest of the content, which is also its address.
    pub digest: Digest,
    /// Size of the content, bytes.
    pub size_bytes: u64,
    /// IANA media type.
    pub media_type: String,
}

/// The bound that cut a piece of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Bytes of text.
    Bytes,
    /// Lines of text.
    Lines,
    /// Bytes of one line.
    LineBytes,
    /// Tokens, as estimated.
    Tokens,
    /// Matches of a search.
    Matches,
    /// Files or directory entries.
    Files,
    /// Depth of a directory tree.
    Depth,
    /// Time.
    Deadline,
}

/// One cut: which field, which bound, what is left and how to get it (F7).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Truncation {
    /// The field of the result that was cut, as a JSON Pointer.
    pub field: String,
    /// The bound that was reached.
    pub bound: Bound,
    /// How much of the bound's unit is left out.
    pub left_out: Count,
    /// Digest of the artifact that holds the whole, where one was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Digest>,
    /// Arguments or a token to go on from, as the tool's contract says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continuation: Option<Value>,
}

/// A count that is exact, or a lower bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Count {
    /// Exactly so many.
    Exact(u64),
    /// So many or more.
    AtLeast(u64),
}

/// One removal: which field, which rule, how often (O2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Redaction {
    /// The member that was redacted, as a JSON Pointer.
    pub field: String,
    /// The rule that redacted it.
    pub rule: String,
    /// How many places.
    pub count: u64,
}

/// What the call used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Time from begin to end of the execution, milliseconds.
    pub wall_ms: u64,
    /// CPU time of a command's processes, milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ms: Option<u64>,
    /// Peak resident memory of a command's largest process, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
    /// Size of what the planner is shown, bytes of JSON (E12).
    pub planner_bytes: u64,
    /// The same in tokens, estimated as one for every four bytes, rounded up (E12).
    pub planner_tokens: u64,
}

/// The runtime that answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Runtime {
    /// Name and version, such as `chancery/0.1.0`.
    pub name: String,
    /// Digest of the tool's implementation.
    pub implementation: Digest,
    /// The isolation that was really enforced, layer by layer, for tools that run programs.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub isolation: Map<String, Value>,
}

/// The one answer to a call (E3).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// Always `receipt.v1`.
    pub protocol_version: String,
    /// Digest of the receipt's canonical JSON without this member.
    pub receipt_id: Digest,
    /// The planner's id of the call.
    pub call_id: String,
    /// The task.
    pub task_id: String,
    /// The attempt of the task.
    pub attempt_id: String,
    /// The effect that was asked for.
    pub logical_effect_id: String,
    /// The key, when the call had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The tool's name as asked.
    pub tool: String,
    /// The tool's version, when the tool was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_version: Option<String>,
    /// The registry revision that the task pins.
    pub registry_revision: Digest,
    /// What became of the execution.
    pub status: Status,
    /// When.
    pub times: Times,
    /// Digest of the arguments as sent.
    pub arguments_digest: Digest,
    /// The action that was decided on, when the call got that far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normalized_action: Option<NormalizedAction>,
    /// What became of the world, as the tool's result schema says; `null` when there is nothing to say.
    pub result: Option<Map<String, Value>>,
    /// Content kept apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// What was removed, by which rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redactions: Vec<Redaction>,
    /// What was cut, by which bound.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub truncation: Vec<Truncation>,
    /// Why the call did not end as asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
    /// The decision, when the call got that far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// The runtime that answered, when a tool was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
    /// What the call used.
    pub usage: Usage,
    /// For a reconciliation: the receipt of the effect that it settles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconciles: Option<Digest>,
}

impl Receipt {
    /// Seals the receipt: its id becomes the digest of everything else in it. Members stand in the order in which the
    /// ledger keeps them, so that an answer that is given again has the same bytes.
    ///
    /// # Errors
    /// [`NotCanonical`] if a value in it has no canonical JSON.
    pub fn seal(mut self) -> Result<Receipt, NotCanonical> {
        let details = self.error.as_mut().map(|error| &mut error.details);
        for members in self.result.iter_mut().chain(details) {
            members.sort_keys();
            members.values_mut().for_each(Value::sort_all_objects);
        }
        let receipt_id = self.content_digest()?;
        Ok(Receipt { receipt_id, ..self })
    }

    /// Whether the id is the digest of the content.
    ///
    /// # Errors
    /// [`NotCanonical`] if a value in it has no canonical JSON.
    pub fn is_intact(&self) -> Result<bool, NotCanonical> {
        Ok(self.receipt_id == self.content_digest()?)
    }

    fn content_digest(&self) -> Result<Digest, NotCanonical> {
        let mut value = serde_json::to_value(self)?;
        if let Some(members) = value.as_object_mut() {
            members.remove("receipt_id");
        }
        Digest::of_json(&value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn e8_an_answer_that_is_given_again_has_the_same_bytes() {
        let result = json!({ "b": [{ "d": 1, "c": 2 }], "a": { "z": 1, "y": 2 } });
        let sealed = Receipt { result: result.as_object().cloned(), ..receipt() }.seal().unwrap();
        let stored = crate::digest::canonical(&sealed).unwrap();
        let again: Receipt = serde_json::from_slice(&stored).unwrap();
        let bytes = |receipt: &Receipt| serde_json::to_string(&receipt.result).unwrap();
        assert_eq!(bytes(&again), bytes(&sealed));
        assert_eq!(bytes(&again), r#"{"a":{"y":2,"z":1},"b":[{"c":2,"d":1}]}"#);
    }

    fn receipt() -> Receipt {
        let now = Timestamp::from_unix_ms(1);
        Receipt {
            protocol_version: PROTOCOL.to_owned(),
            receipt_id: Digest::of_bytes(b""),
            call_id: "c".to_owned(),
            task_id: "t".to_owned(),
            attempt_id: "a".to_owned(),
            logical_effect_id: "e".to_owned(),
            idempotency_key: None,
            tool: "x".to_owned(),
            tool_version: None,
            registry_revision: Digest::of_bytes(b"r"),
            status: Status::Rejected,
            times: Times {
                received: now,
                queued: None,
                started: None,
                finished: now,
                deadline: None,
            },
            arguments_digest: Digest::of_bytes(b"{}"),
            normalized_action: None,
            result: None,
            artifacts: Vec::new(),
            redactions: Vec::new(),
            truncation: Vec::new(),
            error: None,
            decision: None,
            runtime: None,
            usage: Usage::default(),
            reconciles: None,
        }
    }

    #[test]
    fn e7_any_change_to_a_sealed_receipt_shows() {
        let sealed = receipt().seal().unwrap();
        assert!(sealed.is_intact().unwrap());
        let changed = Receipt { status: Status::Succeeded, ..sealed.clone() };
        assert!(!changed.is_intact().unwrap());
        let text = serde_json::to_string(&sealed).unwrap();
        let read: Receipt = serde_json::from_str(&text).unwrap();
        assert!(read.is_intact().unwrap());
    }

    #[test]
    fn e4_the_four_kinds_of_incomplete_are_told_apart_by_type() {
        let texts: std::collections::BTreeSet<_> =
            [Status::Partial, Status::Ambiguous, Status::Accepted].map(Status::as_str).into();
        assert_eq!(texts.len(), 3);
        let value = serde_json::to_value(receipt()).unwrap();
        assert!(value.get("truncation").is_none(), "truncation is its own member, not a status");
    }
}
