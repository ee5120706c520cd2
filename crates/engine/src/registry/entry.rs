//! Tools of different types behind one face.
//!
//! A plan's job travels with the tool that made it, so a job can only be run by its own tool, once.

use serde::de::IntoDeserializer as _;
use serde_json::{Map, Value};
use wire::contract::EffectClass;
use wire::{Code, Error};

use crate::tool::{Demand, Hands, Outcome, Plan, Reconciled, Tool, View};

/// An outcome whose result is JSON.
pub(crate) type AnyOutcome = Outcome<Map<String, Value>>;

/// What a run consumes, with the tool that will run it.
pub(crate) struct Job(Box<Run>);

type Run = dyn FnOnce(&dyn AnyTool, &Hands<'_>) -> AnyOutcome + Send;

impl Job {
    /// Does what was planned. The only caller is `call::execute`.
    pub(crate) fn run(self, tool: &dyn AnyTool, hands: &Hands<'_>) -> AnyOutcome {
        (self.0)(tool, hands)
    }
}

/// A plan without its type.
pub(crate) struct Prepared {
    pub(crate) action: Value,
    pub(crate) demands: Vec<Demand>,
    pub(crate) effect: EffectClass,
    pub(crate) output_bytes: u64,
    pub(crate) job: Job,
}

/// [`Tool`] without its types.
pub(crate) trait AnyTool: Send + Sync {
    fn plan(&self, arguments: Value, view: &View<'_>) -> Result<Prepared, Error>;
    fn reconcile(&self, action: &Value) -> Reconciled;
    fn as_any(&self) -> &dyn std::any::Any;
}

pub(crate) struct Typed<T>(pub(crate) T);

impl<T: Tool> AnyTool for Typed<T> {
    fn plan(&self, arguments: Value, view: &View<'_>) -> Result<Prepared, Error> {
        let typed = T::Arguments::deserialize_value(arguments)?;
        let Plan { action, demands, effect, output_bytes, job } = self.0.plan(typed, view)?;
        let job = Job(Box::new(move |tool, hands| {
            // The entry that planned is the entry that runs: both come from one pinned registry.
            match tool.as_any().downcast_ref::<Typed<T>>() {
                Some(Typed(tool)) => as_json(tool.run(job, hands)),
                None => Outcome::failed(Error::new(Code::Internal, "a job met another tool")),
            }
        }));
        Ok(Prepared { action, demands, effect, output_bytes, job })
    }

    fn reconcile(&self, action: &Value) -> Reconciled {
        self.0.reconcile(action)
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

/// Reading typed arguments out of JSON that fits their schema.
trait DeserializeValue: Sized {
    fn deserialize_value(value: Value) -> Result<Self, Error>;
}

impl<A: serde::de::DeserializeOwned> DeserializeValue for A {
    fn deserialize_value(value: Value) -> Result<A, Error> {
        A::deserialize(value.into_deserializer()).map_err(|error| {
            let message = format!("the arguments cannot be read: {error}");
            Error::new(Code::InvalidArguments, message).at("/arguments")
        })
    }
}

fn as_json<R: serde::Serialize>(outcome: Outcome<R>) -> AnyOutcome {
    let (result, defect) = match outcome.result.as_ref().map(serde_json::to_value) {
        Some(Ok(Value::Object(fields))) => (Some(fields), None),
        Some(_) => (None, Some(Error::new(Code::Internal, "the result is not a JSON object"))),
        None => (None, None),
    };
    Outcome {
        ended: outcome.ended,
        result,
        error: defect.or(outcome.error),
        truncation: outcome.truncation,
        artifacts: outcome.artifacts,
        observed: outcome.observed,
        cpu_ms: outcome.cpu_ms,
        peak_memory_bytes: outcome.peak_memory_bytes,
        isolation: outcome.isolation,
    }
}
