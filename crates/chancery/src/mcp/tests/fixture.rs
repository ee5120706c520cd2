//! A client over pipes, and a small runtime whose tools do what the protocol tests need.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write, pipe};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};

use engine::Stop;
use engine::ports::Progress;
use serde_json::{Map, Value, json};
use wire::contract::{Cancellation, EffectClass, Lifecycle, Reconciliation, Reversibility};
use wire::receipt::Artifact;
use wire::{Code, Digest, Error, ToolContract};

use crate::mcp::{Calls, Incoming, Reply, serve};

/// A contract with the least in it.
pub(in crate::mcp) fn contract(name: &str) -> ToolContract {
    ToolContract {
        name: name.to_owned(),
        version: "1.0.0".to_owned(),
        title: format!("The tool {name}"),
        description: format!("Does {name}."),
        arguments_schema: json!({ "type": "object" }),
        result_schema: json!({ "type": "object" }),
        effect: EffectClass::Read,
        reversibility: Reversibility::NoEffect,
        operations: Vec::new(),
        default_timeout_ms: 1000,
        max_timeout_ms: 1000,
        max_output_bytes: 1000,
        cancellation: Cancellation::Cooperative,
        reconciliation: Reconciliation::NotNeeded,
        routes: BTreeMap::new(),
        redacted_arguments: Vec::new(),
        implementation: Digest::of_bytes(b"fixture"),
        owner: "tests".to_owned(),
        lifecycle: Lifecycle::Current,
    }
}

/// A runtime with one tool for each thing that a call can do to the door.
#[derive(Default)]
pub(super) struct Fixture {
    /// Calls of `wait` that have begun, by their `name` argument.
    begun: Mutex<Vec<String>>,
    /// Calls of `wait` that were stopped.
    pub(super) stopped: Mutex<Vec<String>>,
    /// Names that `wait` waits for.
    opened: Mutex<Vec<String>>,
    news: Condvar,
}

impl Fixture {
    /// Waits until `count` calls of `wait` have begun.
    pub(super) fn until_begun(&self, count: usize) {
        let begun = self.begun.lock().unwrap();
        drop(self.news.wait_while(begun, |begun| begun.len() < count).unwrap());
    }

    /// Lets the call of `wait` with this name end.
    pub(super) fn open(&self, name: &str) {
        self.opened.lock().unwrap().push(name.to_owned());
        self.news.notify_all();
    }

    /// Waits for its name whatever it is told.
    fn until_opened(&self, name: &str) {
        self.begun.lock().unwrap().push(name.to_owned());
        self.news.notify_all();
        let opened = self.opened.lock().unwrap();
        let shut = |opened: &mut Vec<String>| !opened.iter().any(|open| open == name);
        drop(self.news.wait_while(opened, shut).unwrap());
    }

    fn wait(self: &Arc<Fixture>, name: &str, stop: &Stop) -> bool {
        let waker = Arc::downgrade(self);
        stop.on_stop(Box::new(move || {
            if let Some(fixture) = waker.upgrade() {
                // Taking the lock orders this after the look at the stop and before the wait.
                drop(fixture.opened.lock().unwrap());
                fixture.news.notify_all();
            }
        }));
        self.begun.lock().unwrap().push(name.to_owned());
        self.news.notify_all();
        let opened = self.opened.lock().unwrap();
        let shut = |opened: &mut Vec<String>| {
            !opened.iter().any(|open| open == name) && !stop.is_stopped()
        };
        drop(self.news.wait_while(opened, shut).unwrap());
        if stop.is_stopped() {
            self.stopped.lock().unwrap().push(name.to_owned());
        }
        !stop.is_stopped()
    }
}

/// The fixture behind the trait; the tests keep the other end.
pub(super) struct Shared(pub(super) Arc<Fixture>);

impl Calls for Shared {
    fn contracts(&self) -> Vec<ToolContract> {
        ["echo", "wait", "deaf", "panic", "count", "unrecorded"].map(contract).to_vec()
    }

    fn instructions(&self) -> String {
        "For tests.".to_owned()
    }

    fn knows(&self, tool: &str) -> bool {
        self.contracts().iter().any(|contract| contract.name == tool)
    }

    fn call(
        &self,
        incoming: Incoming,
        stop: &Stop,
        progress: &dyn Progress,
    ) -> Result<Reply, Error> {
        let mut structured = Map::new();
        let name = incoming.arguments.get("name").and_then(Value::as_str).unwrap_or_default();
        match incoming.tool.as_str() {
            "wait" => {
                structured.insert("ended".to_owned(), json!(self.0.wait(name, stop)));
            }
            "deaf" => self.0.until_opened(name),
            "panic" => panic!("the fixture's tool panics, as asked"),
            "count" => (1..=1000).for_each(|n| progress.report(n, Some(1000), "steps")),
            "unrecorded" => return Err(Error::new(Code::LedgerUnavailable, "no receipt")),
            _ => {}
        }
        structured.insert("name".to_owned(), json!(name));
        structured.insert("call_id".to_owned(), json!(incoming.call_id));
        structured.insert("key".to_owned(), json!(incoming.idempotency_key));
        structured.insert("arguments".to_owned(), Value::Object(incoming.arguments));
        Ok(Reply {
            text: Value::Object(structured.clone()).to_string(),
            structured,
            is_error: false,
            receipt_id: "sha256:r".to_owned(),
            artifacts: vec![Artifact {
                name: "whole".to_owned(),
                digest: Digest::of_bytes(b"whole"),
                size_bytes: 5,
                media_type: "text/plain".to_owned(),
            }],
        })
    }

    fn read_artifact(
        &self,
        digest: &Digest,
        start_byte: u64,
        max_bytes: u64,
    ) -> Result<Option<Vec<u8>>, Error> {
        if *digest == Digest::of_bytes(b"damaged") {
            return Err(Error::new(Code::Machine, "the content is damaged"));
        }
        let [start, most] = [start_byte, max_bytes].map(|n| usize::try_from(n).unwrap());
        let whole = b"whole".iter().copied().skip(start).take(most);
        Ok((*digest == Digest::of_bytes(b"whole")).then(|| whole.collect()))
    }
}

/// A client that says and hears one line at a time.
pub(super) struct Client {
    to: Option<PipeWriter>,
    from: BufReader<PipeReader>,
    door: Option<JoinHandle<std::io::Result<()>>>,
    /// The runtime behind the door.
    pub(super) fixture: Arc<Fixture>,
}

impl Client {
    /// A client that has said nothing yet.
    pub(super) fn new() -> Client {
        let (input, to) = pipe().unwrap();
        let (from, output) = pipe().unwrap();
        let fixture = Arc::new(Fixture::default());
        let calls = Arc::new(Shared(fixture.clone()));
        let door = thread::spawn(move || serve(calls, input, output));
        Client { to: Some(to), from: BufReader::new(from), door: Some(door), fixture }
    }

    /// A client that has done the handshake.
    pub(super) fn initialized() -> Client {
        let mut client = Client::new();
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let answer = client.ask("hello", "initialize", params);
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
        client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    /// Says one message.
    pub(super) fn say(&mut self, message: &Value) {
        self.say_line(&message.to_string());
    }

    /// Says one line, whatever it is.
    pub(super) fn say_line(&mut self, line: &str) {
        let to = self.to.as_mut().unwrap();
        to.write_all(line.as_bytes()).unwrap();
        to.write_all(b"\n").unwrap();
    }

    /// The raw way in.
    pub(super) fn say_bytes(&mut self) -> &mut PipeWriter {
        self.to.as_mut().unwrap()
    }

    /// Says a request.
    pub(super) fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let id: Value = id.into();
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }

    /// Calls a tool.
    pub(super) fn call(&mut self, id: impl Into<Value>, tool: &str, arguments: Value) {
        self.request(id, "tools/call", json!({ "name": tool, "arguments": arguments }));
    }

    /// The next line; `None` when the door has closed.
    pub(super) fn hear(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        (!line.is_empty()).then(|| {
            assert!(line.ends_with('\n'), "half a line: {line}");
            serde_json::from_str(&line).unwrap()
        })
    }

    /// Says a request and hears the next line, which must answer it.
    pub(super) fn ask(&mut self, id: impl Into<Value>, method: &str, params: Value) -> Value {
        let id: Value = id.into();
        self.request(id.clone(), method, params);
        let answer = self.hear().unwrap();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Ends the input and hears what is left, until the door has closed.
    pub(super) fn finish(mut self) -> Vec<Value> {
        self.to = None;
        let rest = std::iter::from_fn(|| self.hear()).collect();
        self.door.take().unwrap().join().unwrap().unwrap();
        rest
    }

    /// Breaks the output, with the input still open, and waits until the door has closed.
    pub(super) fn break_off(self) -> Arc<Fixture> {
        let Client { to, from, door, fixture } = self;
        drop(from);
        // The writer finds out when it next has something to say.
        let mut to = to.unwrap();
        to.write_all(b"nonsense\n").unwrap();
        door.unwrap().join().unwrap().unwrap();
        fixture
    }
}
