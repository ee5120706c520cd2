//! The request: what a planner proposes, and the whole `tool-call.v1` envelope that the runtime makes of it.
//!
//! A planner never fills in identity or capability; those come from the authenticated session (E2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{Code, Error};
use crate::time::Timestamp;

/// The name of the request protocol.
pub const PROTOCOL: &str = "tool-call.v1";

/// The greatest length of an id that comes from outside, bytes.
pub const ID_BYTES: usize = 256;

/// What a planner may send (E2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    /// `tool-call.v1`; may be left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    /// The tool's name.
    pub tool: String,
    /// The tool's version; left out means the one that the task's registry pins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_version: Option<String>,
    /// The tool's arguments, an object that fits the tool's schema.
    pub arguments: Map<String, Value>,
    /// The planner's own id of this call, which pairs it with its result (E10).
    pub call_id: String,
    /// When the call is no longer wanted, absolute; covers queueing, approval and execution (E6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// Two calls with one key are one effect (E8).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// One request, complete (E1): a proposal bound to the session that made it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// Always `tool-call.v1`.
    pub protocol_version: String,
    /// The durable task that the call belongs to.
    pub task_id: String,
    /// The attempt of the task; a resumed task is a new attempt.
    pub attempt_id: String,
    /// The effect that the call asks for; retries of one effect share it.
    pub logical_effect_id: String,
    /// The tool's name.
    pub tool: String,
    /// The tool's version in the task's pinned registry.
    pub tool_version: String,
    /// The tool's arguments.
    pub arguments: Map<String, Value>,
    /// The grant that the session holds.
    pub capability_id: String,
    /// When the call is no longer wanted, absolute.
    pub deadline: Timestamp,
    /// Two calls with one key are one effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The planner's own id of this call.
    pub call_id: String,
}

/// Members of the envelope that only a session supplies.
const SESSION_MEMBERS: [&str; 4] = ["task_id", "attempt_id", "logical_effect_id", "capability_id"];

const MEMBERS: [&str; 7] = [
    "protocol_version",
    "tool",
    "tool_version",
    "arguments",
    "call_id",
    "deadline",
    "idempotency_key",
];

impl Proposal {
    /// Reads a proposal from strictly parsed JSON.
    ///
    /// # Errors
    /// `identity_refused`, `unknown_field`, `missing_field`, `invalid_field` or
    /// `unsupported_protocol_version`, each with the pointer of the member (E2, E5).
    pub fn from_value(value: Value) -> Result<Proposal, Error> {
        let Value::Object(mut members) = value else {
            return Err(Error::new(Code::InvalidField, "a call is a JSON object").at(""));
        };
        refuse_unknown(&members)?;
        let proposal = Proposal {
            protocol_version: text(&mut members, "protocol_version")?,
            tool: required(&mut members, "tool")?,
            tool_version: text(&mut members, "tool_version")?,
            arguments: match members.remove("arguments") {
                Some(Value::Object(arguments)) => arguments,
                Some(_) => return Err(invalid("arguments", "an object")),
                None => return Err(missing("arguments")),
            },
            call_id: required(&mut members, "call_id")?,
            deadline: match text(&mut members, "deadline")? {
                Some(text) => {
                    Some(text.parse().map_err(|_| invalid("deadline", "an RFC 3339 time in UTC"))?)
                }
                None => None,
            },
            idempotency_key: text(&mut members, "idempotency_key")?,
        };
        match &proposal.protocol_version {
            Some(version) if version != PROTOCOL => {
                let message = format!("`{version}` is not supported; `{PROTOCOL}` is");
                Err(Error::new(Code::UnsupportedProtocolVersion, message)
                    .at("/protocol_version")
                    .with("supported", vec![PROTOCOL]))
            }
            _ => Ok(proposal),
        }
    }
}

fn refuse_unknown(members: &Map<String, Value>) -> Result<(), Error> {
    for name in members.keys() {
        let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
        if SESSION_MEMBERS.contains(&name.as_str()) {
            let message = format!("`{name}` comes from the session; leave it out");
            return Err(Error::new(Code::IdentityRefused, message).at(&pointer));
        }
        if !MEMBERS.contains(&name.as_str()) {
            let near = MEMBERS.iter().find(|known| known.eq_ignore_ascii_case(name));
            let hint = near.map_or(String::new(), |known| format!("; did you mean `{known}`?"));
            let message = format!("`{}` is not a member of a call{hint}", shown(name));
            return Err(Error::new(Code::UnknownField, message)
                .at(&pointer)
                .with("supported", MEMBERS.to_vec()));
        }
    }
    Ok(())
}

/// A name from outside as it may stand in a message: bounded.
fn shown(name: &str) -> String {
    name.chars().take(64).collect()
}

fn text(members: &mut Map<String, Value>, name: &str) -> Result<Option<String>, Error> {
    match members.remove(name) {
        None => Ok(None),
        Some(Value::String(text)) if (1..=ID_BYTES).contains(&text.len()) => Ok(Some(text)),
        Some(_) => Err(invalid(name, &format!("a string of 1 to {ID_BYTES} bytes"))),
    }
}

fn required(members: &mut Map<String, Value>, name: &str) -> Result<String, Error> {
    text(members, name)?.ok_or_else(|| missing(name))
}

fn invalid(name: &str, wanted: &str) -> Error {
    Error::new(Code::InvalidField, format!("`{name}` must be {wanted}")).at(&format!("/{name}"))
}

fn missing(name: &str) -> Error {
    Error::new(Code::MissingField, format!("`{name}` is missing")).at(&format!("/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refusal(value: Value) -> (Code, String) {
        let error = Proposal::from_value(value).unwrap_err();
        (error.code, error.pointer.unwrap())
    }

    fn whole() -> Value {
        json!({ "tool": "t", "arguments": {}, "call_id": "1" })
    }

    fn changed(name: &str, value: Value) -> Value {
        let mut call = whole();
        call.as_object_mut().unwrap().insert(name.to_owned(), value);
        call
    }

    #[test]
    fn e2_identity_from_a_planner_is_refused_not_believed() {
        for name in SESSION_MEMBERS {
            let expected = (Code::IdentityRefused, format!("/{name}"));
            assert_eq!(refusal(changed(name, json!("x"))), expected);
        }
    }

    #[test]
    fn e5_what_is_not_understood_is_named_with_what_is_supported() {
        assert_eq!(refusal(changed("Tool", json!("x"))), (Code::UnknownField, "/Tool".to_owned()));
        let error = Proposal::from_value(changed("Call_id", json!("x"))).unwrap_err();
        assert!(error.message.contains("did you mean `call_id`"));
        let error =
            Proposal::from_value(changed("protocol_version", json!("tool-call.v2"))).unwrap_err();
        assert_eq!(error.code, Code::UnsupportedProtocolVersion);
        assert_eq!(error.details.get("supported"), Some(&json!([PROTOCOL])));
    }

    #[test]
    fn e1_members_have_bounded_forms() {
        let at = |name: &str| (Code::InvalidField, format!("/{name}"));
        assert_eq!(refusal(changed("arguments", json!([]))), at("arguments"));
        assert_eq!(refusal(changed("call_id", json!(7))), at("call_id"));
        assert_eq!(refusal(changed("call_id", json!(""))), at("call_id"));
        assert_eq!(refusal(changed("call_id", json!("x".repeat(257)))), at("call_id"));
        assert_eq!(refusal(changed("deadline", json!("soon"))), at("deadline"));
        assert_eq!(refusal(json!({ "tool": "t", "arguments": {} })).0, Code::MissingField);
        assert_eq!(refusal(json!("x")).0, Code::InvalidField);
        assert_eq!(Proposal::from_value(whole()).unwrap().tool, "t");
    }
}
