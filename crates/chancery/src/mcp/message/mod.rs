//! One line, one message: strict JSON-RPC 2.0 as MCP uses it, or a refusal that says what to correct.
//!
//! It repairs nothing: what is not understood exactly is not passed on. Whatever is refused is answered, with the
//! request's id wherever that can be read without a doubt.

use rmcp::model::{ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, RequestId};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use wire::strict::{self, Bounds};
use wire::{Code, Error};

use super::flight::Flight;
use super::lines::Line;

mod id;

/// The greatest size and nesting of one message. The envelope takes three levels of it.
pub(super) const BOUNDS: Bounds = Bounds { bytes: 8 << 20, depth: 64 };

/// The member of `_meta` that makes a request self-contained (MCP 2026-07-28, base protocol).
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// JSON-RPC's range for errors of the implementation, of which MCP leaves the first to us.
const BUSY: ErrorCode = ErrorCode(-32000);

/// What a line turned out to be.
pub(super) enum Heard {
    /// A message for the protocol.
    Message(Box<ClientJsonRpcMessage>),
    /// No message; the client is told.
    Refused(Refusal),
    /// A message that asks for nothing.
    Nothing,
}

/// The answer to what is no message.
#[derive(Debug)]
pub(super) struct Refusal {
    id: Option<RequestId>,
    code: ErrorCode,
    error: Error,
}

impl Refusal {
    /// The answer as a line.
    pub(super) fn line(&self) -> String {
        json!({
            "jsonrpc": "2.0",
            "id": self.id,
            "error": { "code": self.code, "message": self.error.message, "data": data(&self.error) },
        })
        .to_string()
    }
}

/// An error's machine-readable part, as JSON-RPC error data.
pub(super) fn data(error: &Error) -> Value {
    let mut data = Map::new();
    data.insert("code".to_owned(), json!(error.code));
    data.insert("next".to_owned(), json!(error.next));
    if let Some(pointer) = &error.pointer {
        data.insert("pointer".to_owned(), json!(pointer));
    }
    if !error.details.is_empty() {
        data.insert("details".to_owned(), Value::Object(error.details.clone()));
    }
    Value::Object(data)
}

/// Reads lines of one connection.
#[derive(Default)]
pub(super) struct Reader {
    initialized: bool,
}

impl Reader {
    /// Reads a line; a request among them is in flight from here on.
    pub(super) fn read(&mut self, line: Line, flight: &Flight) -> Heard {
        match self.try_read(line, flight) {
            Ok(heard) => heard,
            Err(refusal) => Heard::Refused(*refusal),
        }
    }

    fn try_read(&mut self, line: Line, flight: &Flight) -> Result<Heard, Box<Refusal>> {
        let bytes = match line {
            Line::Whole(bytes) => bytes,
            Line::Oversized { head, tail, bytes } => {
                let message = format!("the line has {bytes} bytes; {} are accepted", BOUNDS.bytes);
                return Err(refuse(
                    id::at_the_start(&head).or_else(|| id::at_the_end(&tail)),
                    ErrorCode::INVALID_REQUEST,
                    Error::new(Code::MessageTooLarge, message),
                ));
            }
        };
        let value = strict::parse(&bytes, BOUNDS).map_err(|error| match error.code {
            Code::MalformedJson => refuse(None, ErrorCode::PARSE_ERROR, error),
            _ => refuse(id::at_the_start(&bytes), ErrorCode::INVALID_REQUEST, error),
        })?;
        let Value::Object(mut members) = value else {
            let message =
                "a message is one JSON object; batches are not part of the protocol any more";
            return Err(invalid(None, Code::InvalidField, message, ""));
        };
        let id = match members.remove("id") {
            None => None,
            Some(id) => Some(id::of_value(&id).ok_or_else(|| {
                invalid(None, Code::InvalidField, "an id is a string or an integer", "/id")
            })?),
        };
        if members.remove("jsonrpc") != Some(json!("2.0")) {
            return Err(invalid(id, Code::InvalidField, "`jsonrpc` must be `2.0`", "/jsonrpc"));
        }
        self.sort(id, members, bytes.len(), flight)
    }

    /// Tells requests, notifications and answers apart.
    fn sort(
        &mut self,
        id: Option<RequestId>,
        members: Map<String, Value>,
        bytes: usize,
        flight: &Flight,
    ) -> Result<Heard, Box<Refusal>> {
        let answer = members.contains_key("result") || members.contains_key("error");
        let method = match members.get("method") {
            Some(Value::String(method)) if !answer => method.clone(),
            // The door asks the client nothing, so an answer answers nothing.
            None if answer => return Ok(Heard::Nothing),
            Some(Value::String(_)) => {
                let message = "a message with a `method` has neither `result` nor `error`";
                return Err(invalid(id, Code::InvalidField, message, ""));
            }
            Some(_) => {
                return Err(invalid(
                    id,
                    Code::InvalidField,
                    "`method` must be a string",
                    "/method",
                ));
            }
            None => {
                return Err(invalid(id, Code::MissingField, "`method` is missing", "/method"));
            }
        };
        let Some(id) = id else {
            // A notification that is not understood is left alone: nothing may be answered to it.
            return Ok(serde_json::from_value::<ClientNotification>(Value::Object(members))
                .map_or(Heard::Nothing, |notification| {
                    Heard::Message(Box::new(ClientJsonRpcMessage::notification(notification)))
                }));
        };
        self.check_opened(&method, &members)
            .map_err(|error| refuse(Some(id.clone()), ErrorCode::INVALID_PARAMS, error))?;
        let request = request(&method, members)
            .map_err(|error| refuse(Some(id.clone()), ErrorCode::INVALID_PARAMS, error))?;
        flight.enter(&id, bytes).map_err(|error| {
            let code = if error.code == Code::Machine { BUSY } else { ErrorCode::INVALID_REQUEST };
            refuse(Some(id.clone()), code, error)
        })?;
        self.initialized |= matches!(request, ClientRequest::InitializeRequest(_));
        Ok(Heard::Message(Box::new(ClientJsonRpcMessage::request(request, id))))
    }

    /// A request comes after `initialize`, or says itself which version it speaks.
    fn check_opened(&self, method: &str, members: &Map<String, Value>) -> Result<(), Error> {
        let opens = matches!(method, "initialize" | "ping" | "server/discover");
        let version = members.get("params").and_then(|params| params.get("_meta")?.get(VERSION));
        if opens || self.initialized || version.is_some() {
            return Ok(());
        }
        let message =
            format!("`{method}` needs `initialize` before it, or `{VERSION}` in its `_meta`");
        Err(Error::new(Code::MissingField, message).at("/params/_meta"))
    }
}

/// A request in the protocol's own types. Methods are taken one by one, for an error that says what is wrong.
fn request(method: &str, members: Map<String, Value>) -> Result<ClientRequest, Error> {
    if let Some(params) = members.get("params")
        && !params.is_object()
    {
        return Err(Error::new(Code::InvalidField, "`params` must be an object").at("/params"));
    }
    if method == "tools/call" {
        check_call(&members)?;
    }
    let value = Value::Object(members);
    match method {
        "tools/call" => typed(value).map(ClientRequest::CallToolRequest),
        "tools/list" => typed(value).map(ClientRequest::ListToolsRequest),
        "resources/read" => typed(value).map(ClientRequest::ReadResourceRequest),
        "resources/list" => typed(value).map(ClientRequest::ListResourcesRequest),
        "resources/templates/list" => typed(value).map(ClientRequest::ListResourceTemplatesRequest),
        "ping" => typed(value).map(ClientRequest::PingRequest),
        "initialize" => typed(value).map(ClientRequest::InitializeRequest),
        "server/discover" => typed(value).map(ClientRequest::DiscoverRequest),
        _ => typed(value).map(ClientRequest::CustomRequest),
    }
}

fn typed<T: DeserializeOwned>(value: Value) -> Result<T, Error> {
    serde_json::from_value(value).map_err(|error| {
        let message = format!("the request does not have the form of its method: {error}");
        Error::new(Code::InvalidField, message).at("/params")
    })
}

fn check_call(members: &Map<String, Value>) -> Result<(), Error> {
    let params = members.get("params").and_then(Value::as_object);
    match params.and_then(|params| params.get("name")) {
        Some(Value::String(_)) => {}
        Some(_) => return Err(wrong("`name` must be a string", "/params/name")),
        None => {
            let message = "`name`, the name of a tool, is missing";
            return Err(Error::new(Code::MissingField, message).at("/params/name"));
        }
    }
    match params.and_then(|params| params.get("arguments")) {
        None | Some(Value::Object(_) | Value::Null) => Ok(()),
        Some(_) => Err(wrong("`arguments` must be an object", "/params/arguments")),
    }
}

fn wrong(message: &str, pointer: &str) -> Error {
    Error::new(Code::InvalidField, message).at(pointer)
}

fn invalid(id: Option<RequestId>, code: Code, message: &str, pointer: &str) -> Box<Refusal> {
    refuse(id, ErrorCode::INVALID_REQUEST, Error::new(code, message).at(pointer))
}

fn refuse(id: Option<RequestId>, code: ErrorCode, error: Error) -> Box<Refusal> {
    Box::new(Refusal { id, code, error })
}

#[cfg(test)]
mod tests;
