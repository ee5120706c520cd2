//! What a tool is: a contract, a plan without effects, and a run with the hands it was given.
//!
//! A tool has no say in its own permission, its retries or its recording (DESIGN, "The life of a call").

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use wire::contract::{EffectClass, ResourceKind};
use wire::receipt::{Artifact, Truncation};
use wire::{Code, Digest, Error, Timestamp, ToolContract};

use crate::ports::{Artifacts, Clock, Observation, Progress};
use crate::stop::Stop;

/// One tool. The engine calls `plan` before the decision and `run` after it, never otherwise.
pub trait Tool: Send + Sync + 'static {
    /// The arguments; their JSON Schema is the tool's input schema. Unknown members must be denied.
    type Arguments: DeserializeOwned + JsonSchema;
    /// What a plan has prepared and a run consumes.
    type Job: Send + 'static;
    /// The result; every field needs a route in the contract (E11).
    type Result: Serialize + JsonSchema;

    /// The contract. Schemas are filled in by [`crate::registry`] from the types.
    fn contract(&self) -> ToolContract;

    /// Resolves the arguments to real resources. Must not change anything.
    ///
    /// # Errors
    /// A typed error when the action cannot be done as asked; nothing has happened.
    fn plan(&self, arguments: Self::Arguments, view: &View<'_>) -> Result<Plan<Self::Job>, Error>;

    /// Does what was planned and allowed.
    fn run(&self, job: Self::Job, hands: &Hands<'_>) -> Outcome<Self::Result>;

    /// Finds out what became of an action whose runtime died (E8, F9). The action is as [`Plan::action`] said.
    fn reconcile(&self, action: &Value) -> Reconciled;
}

/// What a plan may ask about the task.
pub struct View<'a> {
    pub(crate) observed: &'a dyn Fn(&str) -> Option<Digest>,
    pub(crate) require: &'a dyn Fn(&Demand) -> Result<(), Error>,
    /// When the call arrived.
    pub now: Timestamp,
    /// The time that the execution may take, milliseconds.
    pub time_ms: u64,
}

impl View<'_> {
    /// The digest of a path's content that the task was last shown (P2), by escaped path.
    #[must_use]
    pub fn observed(&self, path: &str) -> Option<Digest> {
        (self.observed)(path)
    }

    /// Asks early whether a demand will be allowed, before its content may appear in an explanation.
    /// The decision proper is made later, over the whole plan.
    ///
    /// # Errors
    /// `denied` or `not_granted`, to be returned as it is.
    pub fn require(&self, demand: &Demand) -> Result<(), Error> {
        (self.require)(demand)
    }
}

/// What a tool intends to do, in normal form.
#[derive(Debug)]
pub struct Plan<J> {
    /// Real resources and parameters; the decision is bound to its digest, and it is what recovery sees.
    pub action: Value,
    /// Everything that the run will touch.
    pub demands: Vec<Demand>,
    /// The effect that this call has, at most the contract's.
    pub effect: EffectClass,
    /// The greatest size of what the planner is shown, bytes of JSON, as the caller asked (E12).
    pub output_bytes: u64,
    /// What the run consumes.
    pub job: J,
}

/// One thing that a run will do to one resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Demand {
    /// The operation, one of the contract's.
    pub operation: &'static str,
    /// What it is done to.
    pub resource: Resource,
}

/// A resource that policy can speak of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Resource {
    /// A path of the workspace.
    Path {
        /// The real path, escaped, relative to the root.
        path: String,
        /// Its class, such as `ordinary` or `secret`.
        class: &'static str,
    },
    /// A program to be started.
    Program {
        /// Its name as it will be looked up.
        name: String,
        /// Whether a shell interprets a script.
        shell: bool,
    },
}

impl Resource {
    /// The kind that contracts and policies know it by.
    #[must_use]
    pub fn kind(&self) -> ResourceKind {
        match self {
            Resource::Path { .. } => ResourceKind::Path,
            Resource::Program { .. } => ResourceKind::Program,
        }
    }
}

/// What a run is given.
pub struct Hands<'a> {
    pub(crate) stop: &'a Stop,
    pub(crate) deadline: Timestamp,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) artifacts: &'a dyn Artifacts,
    pub(crate) progress: &'a dyn Progress,
    pub(crate) admits: &'a (dyn Fn(&Demand) -> bool + Sync),
}

impl Hands<'_> {
    /// The caller's word to stop.
    #[must_use]
    pub fn stop(&self) -> &Stop {
        self.stop
    }

    /// Whether the run should end now: stopped, or past its deadline.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.stop.is_stopped() || self.clock.now() >= self.deadline
    }

    /// Milliseconds until the deadline.
    #[must_use]
    pub fn remaining_ms(&self) -> u64 {
        self.deadline.since(self.clock.now())
    }

    /// Whether a further demand, found on the way, is allowed by the same grant and policy (search asks by file).
    #[must_use]
    pub fn admits(&self, demand: &Demand) -> bool {
        (self.admits)(demand)
    }

    /// Says how far the run has come.
    pub fn progress(&self, done: u64, total: Option<u64>, unit: &'static str) {
        self.progress.report(done, total, unit);
    }

    /// The place for content that is too large for the answer.
    #[must_use]
    pub fn artifacts(&self) -> &dyn Artifacts {
        self.artifacts
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// As asked.
    Succeeded,
    /// In the outcome's error.
    Failed,
    /// Partly; the result says which part.
    Partial,
    /// By the caller's word.
    Cancelled,
    /// Nobody knows.
    Ambiguous,
}

/// What a run reports.
#[derive(Debug)]
pub struct Outcome<R> {
    /// How it ended.
    pub ended: Ended,
    /// What became of the world.
    pub result: Option<R>,
    /// Why it did not end as asked.
    pub error: Option<Error>,
    /// What was cut.
    pub truncation: Vec<Truncation>,
    /// What was kept apart.
    pub artifacts: Vec<Artifact>,
    /// File states that the planner has been shown by this outcome (P2).
    pub observed: Vec<Observation>,
    /// CPU time of a command, milliseconds.
    pub cpu_ms: Option<u64>,
    /// Peak memory of a command, bytes.
    pub peak_memory_bytes: Option<u64>,
    /// The isolation that was really enforced.
    pub isolation: Map<String, Value>,
}

impl<R> Outcome<R> {
    /// An outcome with a result and nothing else.
    #[must_use]
    pub fn succeeded(result: R) -> Outcome<R> {
        Outcome { ended: Ended::Succeeded, result: Some(result), ..Outcome::bare(Ended::Succeeded) }
    }

    /// An outcome with an error and nothing else.
    #[must_use]
    pub fn failed(error: Error) -> Outcome<R> {
        let ended = match error.code {
            Code::Cancelled => Ended::Cancelled,
            Code::Ambiguous => Ended::Ambiguous,
            _ => Ended::Failed,
        };
        Outcome { error: Some(error), ..Outcome::bare(ended) }
    }

    fn bare(ended: Ended) -> Outcome<R> {
        Outcome {
            ended,
            result: None,
            error: None,
            truncation: Vec::new(),
            artifacts: Vec::new(),
            observed: Vec::new(),
            cpu_ms: None,
            peak_memory_bytes: None,
            isolation: Map::new(),
        }
    }
}

/// What a tool found out about an interrupted effect.
#[derive(Debug, Clone, PartialEq)]
pub enum Reconciled {
    /// It happened, whole; the facts go into the receipt's result.
    Happened(Map<String, Value>),
    /// It did not happen; the world is as before.
    DidNotHappen,
    /// It cannot be known; the sentence says why and who can settle it.
    Unknown(String),
}
