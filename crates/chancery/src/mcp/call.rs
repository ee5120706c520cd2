//! `tools/call`: from MCP's words to the runtime's, and back.
//!
//! Arguments are passed on as they came; that they fit is the runtime's business. A cancelled call is told to
//! stop and waited for, though nobody is answered.

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ContentBlock, MetaObject, RequestId, RequestMetaObject,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use wire::call::ID_BYTES;
use wire::{Code, Digest, Error, Timestamp};

use super::progress::Notifier;
use super::server::{Methods, defect};
use super::{Incoming, Reply, artifacts, message};

impl Methods {
    /// Does one call and answers with its result.
    pub(super) async fn call(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let tool = params.name.into_owned();
        if !self.calls.knows(&tool) {
            let shown: String = tool.chars().take(64).collect();
            let message = format!("there is no tool `{shown}`; `tools/list` names the tools");
            return Err(invalid(&Error::new(Code::UnknownTool, message).at("/params/name")));
        }
        let incoming = Incoming {
            tool,
            arguments: params.arguments.unwrap_or_default(),
            call_id: call_id(&context.meta, &self.connection, &context.id),
            deadline: deadline(&context.meta).map_err(|error| invalid(&error))?,
            idempotency_key: key(&context.meta).map_err(|error| invalid(&error))?,
        };
        let stop = self.flight.stop_of(&context.id);
        // Queueing counts: a call that waits for a place can be cancelled, and the runtime records that.
        let place = tokio::select! {
            place = self.places.acquire() => place.ok(),
            () = context.ct.cancelled() => { stop.stop(); None }
        };
        let work = tokio::task::spawn_blocking({
            let (calls, stop) = (self.calls.clone(), stop.clone());
            let notifier = context
                .meta
                .get_progress_token()
                .map(|token| Notifier::new(token, self.out.clone(), stop.clone()));
            move || match &notifier {
                Some(notifier) => calls.call(incoming, &stop, notifier),
                None => calls.call(incoming, &stop, &engine::ports::Silent),
            }
        });
        tokio::pin!(work);
        let done = tokio::select! {
            biased;
            done = &mut work => done,
            () = context.ct.cancelled() => { stop.stop(); work.await }
        };
        drop(place);
        match done {
            Ok(Ok(reply)) => Ok(result(reply)),
            Ok(Err(error)) => {
                Err(ErrorData::internal_error(error.message.clone(), Some(message::data(&error))))
            }
            // The call panicked; the panic itself has been reported on standard error.
            Err(_) => Err(defect("the call ended in a defect of the runtime")),
        }
    }
}

fn result(reply: Reply) -> CallToolResult {
    let mut content = vec![ContentBlock::text(reply.text)];
    content.extend(reply.artifacts.iter().map(artifacts::link));
    let mut result = CallToolResult::success(content);
    result.is_error = Some(reply.is_error);
    result.structured_content = Some(Value::Object(reply.structured));
    let mut meta = MetaObject::new();
    meta.0.insert("chancery/receipt_id".to_owned(), json!(reply.receipt_id));
    result.meta = Some(meta);
    result
}

/// The host's own id of the call, where it has one: Claude Code's, Codex's, else connection and request id.
fn call_id(meta: &RequestMetaObject, connection: &str, id: &RequestId) -> String {
    let said = |name: &str| meta.0.0.get(name).and_then(Value::as_str);
    let named = match (said("claudecode/toolUseId"), said("threadId"), said("callId")) {
        (Some(tool_use), _, _) => tool_use.to_owned(),
        (None, Some(thread), Some(call)) => format!("{thread}/{call}"),
        (None, None, Some(call)) => call.to_owned(),
        (None, _, None) => String::new(),
    };
    if !named.is_empty() && named.len() <= ID_BYTES {
        return named;
    }
    // Quotes keep the id `"1"` apart from the id 1.
    let id = json!(id).to_string();
    let whole = format!("{connection}/{id}");
    if whole.len() <= ID_BYTES {
        whole
    } else {
        format!("{connection}/{}", Digest::of_bytes(id.as_bytes()))
    }
}

fn deadline(meta: &RequestMetaObject) -> Result<Option<Timestamp>, Error> {
    const NAME: &str = "chancery/deadline";
    let wrong = || {
        Error::new(Code::InvalidField, format!("`{NAME}` must be an RFC 3339 time in UTC"))
            .at("/params/_meta/chancery~1deadline")
    };
    match meta.0.0.get(NAME) {
        None => Ok(None),
        Some(Value::String(text)) => text.parse().map(Some).map_err(|_| wrong()),
        Some(_) => Err(wrong()),
    }
}

fn key(meta: &RequestMetaObject) -> Result<Option<String>, Error> {
    const NAME: &str = "chancery/idempotency_key";
    match meta.0.0.get(NAME) {
        None => Ok(None),
        Some(Value::String(key)) if (1..=ID_BYTES).contains(&key.len()) => Ok(Some(key.clone())),
        Some(_) => {
            let message = format!("`{NAME}` must be a string of 1 to {ID_BYTES} bytes");
            Err(Error::new(Code::InvalidField, message)
                .at("/params/_meta/chancery~1idempotency_key"))
        }
    }
}

fn invalid(error: &Error) -> ErrorData {
    ErrorData::invalid_params(error.message.clone(), Some(message::data(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(value: Value) -> RequestMetaObject {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn e2_the_host_names_the_call_where_it_can() {
        let id = |value: Value| call_id(&meta(value), "conn", &RequestId::Number(7));
        assert_eq!(id(json!({ "claudecode/toolUseId": "toolu_1", "callId": "c" })), "toolu_1");
        assert_eq!(id(json!({ "threadId": "t", "callId": "c" })), "t/c");
        assert_eq!(id(json!({ "threadId": "t" })), "conn/7");
        assert_eq!(id(json!({ "claudecode/toolUseId": "x".repeat(257) })), "conn/7");
        let named = |id: &str| call_id(&meta(json!({})), "conn", &RequestId::String(id.into()));
        assert_eq!(named("7"), "conn/\"7\"");
        assert!(named(&"x".repeat(300)).len() <= ID_BYTES);
    }

    #[test]
    fn e6_a_deadline_is_a_time_or_refused() {
        let at = |value: Value| deadline(&meta(json!({ "chancery/deadline": value })));
        assert_eq!(at(json!("1970-01-01T00:00:01Z")).unwrap().unwrap().unix_ms(), 1000);
        assert_eq!(at(json!("soon")).unwrap_err().code, Code::InvalidField);
        assert!(at(json!(1)).is_err());
    }

    #[test]
    fn e8_an_idempotency_key_is_a_bounded_string_or_refused() {
        let of = |value: Value| key(&meta(json!({ "chancery/idempotency_key": value })));
        assert_eq!(of(json!("k")).unwrap().as_deref(), Some("k"));
        assert!(of(json!("")).is_err() && of(json!(1)).is_err());
        assert!(of(json!("x".repeat(257))).is_err());
    }
}
