//! A workspace in a scratch directory and an engine in memory that drives the real tools on it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::authority::{DEFAULT_POLICY, Scope};
use engine::memory::{ManualClock, MemoryArtifacts, MemoryJournal};
use engine::ports::{Artifacts as _, Silent};
use engine::{Answer, Engine, Grant, Message, Policy, Registry, Session, Stop};
use sandbox::Jail;
use serde_json::{Map, Value, json};
use tools::{Place, Surroundings};
use wire::{Digest, Receipt, Timestamp};
use workspace::Workspace;

pub(crate) struct Bench {
    directory: tempfile::TempDir,
    artifacts: MemoryArtifacts,
    engine: Engine,
    session: Session,
    registry: Arc<Registry>,
    policy: Arc<Policy>,
    calls: AtomicU64,
}

impl Bench {
    pub(crate) fn new() -> Bench {
        Bench::with(&[])
    }

    pub(crate) fn with(files: &[(&str, &[u8])]) -> Bench {
        let directory = tempfile::tempdir().unwrap();
        for folder in ["ws", "changes"] {
            std::fs::create_dir(directory.path().join(folder)).unwrap();
        }
        // As root, a command runs as an ordinary user, who has to get here.
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(directory.path(), open).unwrap();
        let place = place(directory.path().canonicalize().unwrap());
        let registry = Arc::new(tools::registry(&place).unwrap());
        let policy = Arc::new(Policy::load(DEFAULT_POLICY, &registry.operations()).unwrap());
        let artifacts = MemoryArtifacts::default();
        let now = Timestamp::from_unix_ms(1_796_091_524_000);
        let engine = Engine::new(
            Arc::new(ManualClock::at(now)),
            Arc::new(MemoryJournal::default()),
            Arc::new(artifacts.clone()),
            Arc::clone(&policy),
            "tests/1".to_owned(),
        );
        let grant = Grant {
            capability_id: "capability-1".to_owned(),
            tenant: "local".to_owned(),
            principal: "me".to_owned(),
            task_id: "task-1".to_owned(),
            attempt_id: "attempt-1".to_owned(),
            workspace: place.surroundings.root.display().to_string(),
            tools: Scope::Any,
            operations: Scope::Any,
            paths: Scope::Any,
            issued: now,
            expires: now.plus_ms(3_600_000),
        };
        let session = engine.open(grant, Arc::clone(&registry)).unwrap();
        let calls = AtomicU64::new(0);
        let bench = Bench { directory, artifacts, engine, session, registry, policy, calls };
        for (path, content) in files {
            bench.write(path, content);
        }
        bench
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.directory.path().join("ws").join(path)
    }

    pub(crate) fn outside(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, content: &[u8]) {
        let path = self.at(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.at(path)).unwrap()
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    pub(crate) fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy)
    }

    /// Drives one call under an id of its own.
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> Told {
        let call_id = format!("call-{}", self.calls.fetch_add(1, Ordering::Relaxed));
        let call = json!({ "call_id": call_id, "tool": tool, "arguments": arguments });
        let drive = |message| self.engine.drive(&self.session, message, &Stop::new(), &Silent);
        Told(drive(Message::Value(call)).unwrap())
    }

    /// The same under an idempotency key.
    pub(crate) fn call_keyed(&self, key: &str, tool: &str, arguments: Value) -> Told {
        let call_id = format!("call-{}", self.calls.fetch_add(1, Ordering::Relaxed));
        let call = json!({
            "call_id": call_id, "tool": tool, "arguments": arguments, "idempotency_key": key,
        });
        let drive = |message| self.engine.drive(&self.session, message, &Stop::new(), &Silent);
        Told(drive(Message::Value(call)).unwrap())
    }

    pub(crate) fn read(&self, path: &str) -> Told {
        self.call("repository_read", json!({ "files": [{ "path": path }] }))
    }

    pub(crate) fn search(&self, query: &str) -> Told {
        self.call("repository_search", json!({ "query": query }))
    }

    pub(crate) fn replace(&self, path: &str, old: &str, new: &str) -> Told {
        let change = json!({ "action": "replace", "path": path, "old": old, "new": new });
        self.call("repository_patch", json!({ "changes": [change] }))
    }

    pub(crate) fn sh(&self, script: &str) -> Told {
        self.call("process_run", json!({ "shell": { "script": script } }))
    }

    pub(crate) fn artifact(&self, digest: &Digest) -> Vec<u8> {
        self.artifacts.read(digest, 0, u64::MAX).unwrap().unwrap()
    }
}

/// The place of the tools beneath a scratch directory.
pub(crate) fn place(directory: PathBuf) -> Place {
    let root = directory.join("ws");
    let path = std::env::var("PATH").unwrap_or_default();
    Place {
        workspace: Arc::new(Workspace::open(&root).unwrap()),
        jail: Some(Arc::new(Jail::new().unwrap())),
        surroundings: Surroundings {
            root,
            journals: directory.join("changes"),
            toolchains: Vec::new(),
            environment: vec![("PATH".to_owned(), path)],
        },
    }
}

/// What a call came to.
pub(crate) struct Told(Answer);

impl Told {
    pub(crate) fn receipt(&self) -> &Receipt {
        self.0.receipt()
    }

    pub(crate) fn shown(&self) -> &Map<String, Value> {
        self.0.shown()
    }

    /// The status and the error code, empty without an error.
    pub(crate) fn end(&self) -> (&str, &str) {
        let receipt = self.receipt();
        let code = receipt.error.as_ref().map_or("", |error| error.code.as_str());
        (receipt.status.as_str(), code)
    }

    /// A value of the planner's view; `null` when it is not there.
    pub(crate) fn at(&self, pointer: &str) -> Value {
        let shown = Value::Object(self.shown().clone());
        shown.pointer(pointer).cloned().unwrap_or(Value::Null)
    }

    pub(crate) fn text(&self, pointer: &str) -> String {
        self.at(pointer).as_str().map(str::to_owned).unwrap_or_default()
    }

    /// Everything that the planner is shown, as one text.
    pub(crate) fn all(&self) -> String {
        Value::Object(self.shown().clone()).to_string()
    }
}
