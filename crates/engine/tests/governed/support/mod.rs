//! A machine for one test: a clock that is moved by hand, a journal that can be made to fail, a store of notes, and
//! the tools that work on it.

mod faulty;
mod notes;
mod odd;
mod store;

use std::sync::Arc;

use engine::authority::Scope;
use engine::call::Message;
use engine::memory::{ManualClock, MemoryArtifacts};
use engine::ports::{Artifacts as _, Journal as _, Silent};
use engine::registry::Builder;
use engine::{Answer, Engine, Grant, Policy, Registry, Session, Stop, Unrecorded};
use serde_json::{Map, Value, json};
use wire::contract::Route;
use wire::{Digest, Error, Receipt, Status, Timestamp};

pub(crate) use faulty::{Doing, FaultyJournal};
pub(crate) use notes::{Reader, Searcher, Text, Waiter, Writer, contract, demand, routes};
pub(crate) use odd::{Defective, Greedy, Large};
pub(crate) use store::Store;

/// The policy of most tests: everything may be done to notes that are not secret.
pub(crate) const POLICY: &str = r#"
@id("notes") permit (principal, action, resource);
@id("no-secrets") forbid (principal, action, resource is Path) when { resource.class == "secret" };
"#;

/// The machine.
pub(crate) struct World {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) journal: Arc<FaultyJournal>,
    pub(crate) artifacts: MemoryArtifacts,
    pub(crate) store: Arc<Store>,
    pub(crate) engine: Engine,
    pub(crate) session: Session,
    registry: Arc<Registry>,
}

/// When every test begins.
pub(crate) fn start() -> Timestamp {
    Timestamp::from_unix_ms(1_796_091_524_000)
}

/// A grant without limit, for an hour.
pub(crate) fn grant() -> Grant {
    Grant {
        capability_id: "capability-1".to_owned(),
        tenant: "local".to_owned(),
        principal: "me".to_owned(),
        task_id: "task-1".to_owned(),
        attempt_id: "attempt-1".to_owned(),
        workspace: "/work".to_owned(),
        tools: Scope::Any,
        operations: Scope::Any,
        paths: Scope::Any,
        issued: start(),
        expires: start().plus_ms(3_600_000),
    }
}

/// The tools on notes, to which a test may add.
pub(crate) fn tools(store: &Arc<Store>) -> Builder {
    let shown = [("one", Route::Planner), ("two", Route::State), ("three", Route::Artifact)];
    Registry::builder()
        .with(Reader(Arc::clone(store)))
        .and_then(|tools| tools.with(Writer(Arc::clone(store))))
        .and_then(|tools| tools.with(Waiter(Arc::clone(store))))
        .and_then(|tools| tools.with(Searcher(Arc::clone(store))))
        .and_then(|tools| tools.with(Defective(Arc::clone(store))))
        .and_then(|tools| tools.with(Greedy(Arc::clone(store))))
        .and_then(|tools| tools.with(Large { routes: routes(&shown), max_output_bytes: 8_192 }))
        .unwrap()
}

impl World {
    /// A machine with all tools, the usual policy and a grant without limit.
    pub(crate) fn new() -> World {
        World::with(POLICY, grant())
    }

    /// A machine with another policy or grant.
    pub(crate) fn with(policy: &str, grant: Grant) -> World {
        World::of(policy, grant, &|store| tools(store).build().unwrap())
    }

    /// A machine with other tools.
    pub(crate) fn of(
        policy: &str,
        grant: Grant,
        registry: &dyn Fn(&Arc<Store>) -> Registry,
    ) -> World {
        let store = Arc::new(Store::default());
        let registry = Arc::new(registry(&store));
        let clock = Arc::new(ManualClock::at(start()));
        let journal = Arc::new(FaultyJournal::new(Arc::clone(&store)));
        let artifacts = MemoryArtifacts::default();
        let policy = Policy::load(policy, &registry.operations()).unwrap();
        let engine = Engine::new(
            clock.clone(),
            journal.clone(),
            Arc::new(artifacts.clone()),
            Arc::new(policy),
            "tests/1".to_owned(),
        );
        let session = engine.open(grant, Arc::clone(&registry)).unwrap();
        World { clock, journal, artifacts, store, engine, session, registry }
    }

    /// Drives a call that nobody stops, and looks at what every answer promises.
    pub(crate) fn call(&self, call: Value) -> Answer {
        self.try_call(call, &Stop::new()).unwrap()
    }

    /// Drives a call.
    pub(crate) fn try_call(&self, call: Value, stop: &Stop) -> Result<Answer, Unrecorded> {
        self.drive(&self.session, Message::Value(call), stop)
    }

    /// Drives a call of a session.
    pub(crate) fn drive(
        &self,
        session: &Session,
        message: Message<'_>,
        stop: &Stop,
    ) -> Result<Answer, Unrecorded> {
        let answer = self.engine.drive(session, message, stop, &Silent)?;
        self.check(&answer);
        Ok(answer)
    }

    /// What holds for every answer, whatever was asked.
    fn check(&self, answer: &Answer) {
        let receipt = answer.receipt();
        assert!(receipt.is_intact().unwrap(), "e7: the id is the digest of the content");
        assert!(self.is_stored(receipt), "e10: an answer is a receipt that is stored");
        assert_eq!(answer.shown()["receipt_id"], receipt.receipt_id.as_str());
        assert_eq!(answer.shown()["status"], receipt.status.as_str());
        let succeeded = receipt.status == Status::Succeeded;
        assert_eq!(receipt.error.is_none(), succeeded, "e9: {receipt:?}");
        if let Some(error) = &receipt.error {
            assert!(!error.message.is_empty());
            let shown: Error = serde_json::from_value(answer.shown()["error"].clone()).unwrap();
            assert_eq!(shown.code, error.code);
        }
        let no_effect = [Status::Rejected, Status::Denied, Status::Expired];
        if no_effect.contains(&receipt.status) {
            assert_eq!(receipt.times.started, None, "e4: nothing began");
            assert_eq!(receipt.result, None);
        }
    }

    fn is_stored(&self, receipt: &Receipt) -> bool {
        let Receipt { task_id, call_id, tool, arguments_digest, .. } = receipt;
        let standing = self.journal.inner.standing(task_id, call_id, None, tool, arguments_digest);
        let by_call_id = standing.unwrap().same_call_id.and_then(|known| known.receipt);
        by_call_id.is_some_and(|stored| *stored == *receipt) || self.receipts().contains(receipt)
    }

    /// A session of another task on the same machine.
    pub(crate) fn task(&self, task_id: &str) -> Session {
        let grant = Grant { task_id: task_id.to_owned(), ..self.session.grant().clone() };
        self.engine.open(grant, Arc::clone(&self.registry)).unwrap()
    }

    /// Every receipt, oldest first.
    pub(crate) fn receipts(&self) -> Vec<Receipt> {
        self.journal.inner.receipts()
    }

    /// How many intents are open.
    pub(crate) fn open_intents(&self) -> usize {
        self.journal.inner.open_intents().len()
    }

    /// The content of an artifact.
    pub(crate) fn artifact(&self, digest: &Digest) -> String {
        let bytes = self.artifacts.read(digest, 0, u64::MAX).unwrap().unwrap();
        String::from_utf8(bytes).unwrap()
    }
}

/// A proposal.
pub(crate) fn call(call_id: &str, tool: &str, arguments: Value) -> Value {
    json!({ "call_id": call_id, "tool": tool, "arguments": arguments })
}

/// A proposal that reads a note.
pub(crate) fn read(call_id: &str, path: &str) -> Value {
    call(call_id, "note_read", json!({ "path": path }))
}

/// A proposal that writes a note.
pub(crate) fn write(call_id: &str, path: &str, text: &str) -> Value {
    call(call_id, "note_write", json!({ "path": path, "text": text }))
}

/// A proposal that writes a note when it is released.
pub(crate) fn wait(call_id: &str, path: &str, text: &str) -> Value {
    call(call_id, "note_wait", json!({ "path": path, "text": text }))
}

/// The same proposal with another member.
pub(crate) fn with(mut proposal: Value, member: &str, value: impl Into<Value>) -> Value {
    proposal[member] = value.into();
    proposal
}

/// The error that a call ended in.
pub(crate) fn error(answer: &Answer) -> &Error {
    answer.receipt().error.as_ref().unwrap()
}

/// Status and code of an answer, as one line.
pub(crate) fn verdict(answer: &Answer) -> String {
    verdict_of(answer.receipt())
}

/// Status and code of a receipt, as one line.
pub(crate) fn verdict_of(receipt: &Receipt) -> String {
    match &receipt.error {
        None => receipt.status.as_str().to_owned(),
        Some(error) => format!("{} {}", receipt.status.as_str(), error.code),
    }
}

/// The result as the planner sees it.
pub(crate) fn shown_result(answer: &Answer) -> Map<String, Value> {
    answer.shown()["result"].as_object().unwrap().clone()
}
