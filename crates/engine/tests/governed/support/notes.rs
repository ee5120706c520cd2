//! The tools on the store: read, write, write when released, search.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::tool::View;
use engine::{Demand, Hands, Outcome, Plan, Reconciled, Resource, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use wire::contract::{
    Cancellation, EffectClass, Lifecycle, Operation, Reconciliation, ResourceKind, Reversibility,
    Route,
};
use wire::{Code, Digest, Error, ToolContract};

use super::Store;

/// A contract on notes; what a test wants otherwise it changes.
pub(crate) fn contract(name: &str, effect: EffectClass, operations: &[&str]) -> ToolContract {
    let on_path =
        |name: &&str| Operation { name: (*name).to_owned(), resource: ResourceKind::Path };
    ToolContract {
        name: name.to_owned(),
        version: "1.0.0".to_owned(),
        title: format!("the tool {name}"),
        description: "works on notes".to_owned(),
        arguments_schema: Value::Null,
        result_schema: Value::Null,
        effect,
        reversibility: Reversibility::NoEffect,
        operations: operations.iter().map(on_path).collect(),
        default_timeout_ms: 10_000,
        max_timeout_ms: 60_000,
        max_output_bytes: 8_192,
        cancellation: Cancellation::Cooperative,
        reconciliation: Reconciliation::ByResource,
        routes: routes(&[("text", Route::Planner)]),
        redacted_arguments: Vec::new(),
        implementation: Digest::of_bytes(name.as_bytes()),
        owner: "tests".to_owned(),
        lifecycle: Lifecycle::Current,
    }
}

pub(crate) fn routes(named: &[(&str, Route)]) -> BTreeMap<String, Route> {
    named.iter().map(|(name, route)| ((*name).to_owned(), *route)).collect()
}

/// A note by path, in its class.
pub(crate) fn demand(operation: &'static str, path: &str) -> Demand {
    let class = if path.starts_with(".env") { "secret" } else { "ordinary" };
    Demand { operation, resource: Resource::Path { path: path.to_owned(), class } }
}

/// The one spelling of a path.
pub(crate) fn real(path: &str) -> String {
    path.trim_start_matches("./").to_owned()
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Text {
    pub(crate) text: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Path {
    path: String,
    /// The most that the planner can take, bytes.
    #[serde(default)]
    output_bytes: Option<u64>,
}

/// Reads a note.
pub(crate) struct Reader(pub(crate) Arc<Store>);

impl Tool for Reader {
    type Arguments = Path;
    type Job = String;
    type Result = Text;

    fn contract(&self) -> ToolContract {
        contract("note_read", EffectClass::Read, &["note.read"])
    }

    fn plan(&self, path: Path, view: &View<'_>) -> Result<Plan<String>, Error> {
        let output_bytes = path.output_bytes.unwrap_or(4_096);
        let path = real(&path.path);
        let demands = vec![demand("note.read", &path)];
        view.require(&demands[0])?;
        let meet = self.0.with(|state| {
            state.plans += 1;
            state.plans_meet
        });
        self.0.wait_until(|state| state.plans >= meet);
        let (action, effect) = (json!({ "read": path }), EffectClass::Read);
        Ok(Plan { action, demands, effect, output_bytes, job: path })
    }

    fn run(&self, path: String, _: &Hands<'_>) -> Outcome<Text> {
        let found = self.0.with(|state| {
            state.runs += 1;
            state.notes.get(&path).cloned()
        });
        match found {
            Some(text) => Outcome::succeeded(Text { text }),
            None => Outcome::failed(Error::new(Code::NotFound, format!("no note `{path}`"))),
        }
    }

    fn reconcile(&self, _: &Value) -> Reconciled {
        Reconciled::DidNotHappen
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Note {
    path: String,
    text: String,
    /// A credential; it goes into nothing that lasts.
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    options: Options,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Options {
    /// At most so many notes may stand beside it.
    #[serde(default)]
    #[schemars(range(min = 1, max = 9))]
    beside: Option<u8>,
}

#[derive(Debug)]
pub(crate) struct Write {
    path: String,
    text: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Written {
    text: String,
    number: usize,
}

fn plan_write(store: &Store, note: Note) -> Plan<Write> {
    let beside = note.options.beside.map_or(0, usize::from);
    let path = real(&note.path);
    let meet = store.with(|state| {
        state.plans += 1;
        state.tokens.extend(note.token);
        state.plans_meet
    });
    store.wait_until(|state| state.plans >= meet);
    let mut demands = vec![demand("note.write", &path)];
    demands.extend((0..beside).map(|n| demand("note.write", &format!("{path}.{n}"))));
    Plan {
        action: json!({ "path": path, "text": note.text }),
        demands,
        effect: EffectClass::WriteFiles,
        output_bytes: 4_096,
        job: Write { path, text: note.text },
    }
}

fn write(store: &Store, job: Write) -> Outcome<Written> {
    let number = store.with(|state| {
        state.effects += 1;
        state.notes.insert(job.path, job.text.clone());
        state.effects
    });
    Outcome::succeeded(Written { text: job.text, number })
}

fn look(store: &Store, action: &Value) -> Reconciled {
    let path = action["path"].as_str().unwrap_or_default();
    match store.with(|state| state.notes.get(path).cloned()) {
        Some(text) if action["text"] == text => {
            let facts = json!({ "text": text, "number": 0 });
            Reconciled::Happened(facts.as_object().cloned().unwrap_or_default())
        }
        Some(_) => Reconciled::Unknown(format!("`{path}` holds another text")),
        None => Reconciled::DidNotHappen,
    }
}

fn write_contract(name: &str) -> ToolContract {
    ToolContract {
        redacted_arguments: vec!["token".to_owned()],
        routes: routes(&[("text", Route::Planner), ("number", Route::State)]),
        reversibility: Reversibility::Irreversible,
        ..contract(name, EffectClass::WriteFiles, &["note.write"])
    }
}

/// Writes a note at once.
pub(crate) struct Writer(pub(crate) Arc<Store>);

impl Tool for Writer {
    type Arguments = Note;
    type Job = Write;
    type Result = Written;

    fn contract(&self) -> ToolContract {
        write_contract("note_write")
    }

    fn plan(&self, note: Note, _: &View<'_>) -> Result<Plan<Write>, Error> {
        Ok(plan_write(&self.0, note))
    }

    fn run(&self, job: Write, _: &Hands<'_>) -> Outcome<Written> {
        self.0.with(|state| state.runs += 1);
        write(&self.0, job)
    }

    fn reconcile(&self, action: &Value) -> Reconciled {
        look(&self.0, action)
    }
}

/// Writes a note once it is released; stopped or too late, it does not.
pub(crate) struct Waiter(pub(crate) Arc<Store>);

impl Tool for Waiter {
    type Arguments = Note;
    type Job = Write;
    type Result = Written;

    fn contract(&self) -> ToolContract {
        write_contract("note_wait")
    }

    fn plan(&self, note: Note, _: &View<'_>) -> Result<Plan<Write>, Error> {
        Ok(plan_write(&self.0, note))
    }

    fn run(&self, job: Write, hands: &Hands<'_>) -> Outcome<Written> {
        let store = Arc::clone(&self.0);
        hands.stop().on_stop(Box::new(move || store.with(|_| ())));
        self.0.with(|state| {
            state.runs += 1;
            state.inside += 1;
        });
        self.0.wait_until(|state| state.released || hands.is_over());
        self.0.with(|state| state.inside -= 1);
        if hands.stop().is_stopped() {
            return Outcome::failed(Error::new(Code::Cancelled, "stopped before it wrote"));
        }
        if hands.is_over() {
            let message = format!("{} ms are left", hands.remaining_ms());
            return Outcome::failed(Error::new(Code::TimedOut, message));
        }
        write(&self.0, job)
    }

    fn reconcile(&self, action: &Value) -> Reconciled {
        look(&self.0, action)
    }
}

/// Finds notes, and names those that it may read.
pub(crate) struct Searcher(pub(crate) Arc<Store>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Found {
    found: Vec<String>,
}

impl Tool for Searcher {
    type Arguments = Nothing;
    type Job = ();
    type Result = Found;

    fn contract(&self) -> ToolContract {
        ToolContract {
            routes: routes(&[("found", Route::Planner)]),
            ..contract("note_search", EffectClass::Read, &["note.list", "note.read"])
        }
    }

    fn plan(&self, _: Nothing, _: &View<'_>) -> Result<Plan<()>, Error> {
        let (action, effect) = (json!({ "search": "" }), EffectClass::Read);
        let demands = vec![demand("note.list", "")];
        Ok(Plan { action, demands, effect, output_bytes: 4_096, job: () })
    }

    fn run(&self, (): (), hands: &Hands<'_>) -> Outcome<Found> {
        let mut found: Vec<String> = self.0.with(|state| state.notes.keys().cloned().collect());
        found.retain(|path| hands.admits(&demand("note.read", path)));
        Outcome::succeeded(Found { found })
    }

    fn reconcile(&self, _: &Value) -> Reconciled {
        Reconciled::DidNotHappen
    }
}
