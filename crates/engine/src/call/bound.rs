//! `Executed` → `Bounded`: each field goes where the contract says (E11), and what is shown fits what the caller
//! can take (E12).
//!
//! Tools cut with knowledge of what they cut; this is the wall behind them. The execution's own status is never
//! changed by a cut (F7).

use serde_json::{Map, Value};
use wire::contract::{Route, ToolContract};
use wire::receipt::Artifact;
use wire::{Code, Error, Receipt, Status};

use super::Context;
use super::draft::Draft;
use super::execute::Executed;
use super::fit::fit;
use crate::bounds;
use crate::registry::AnyOutcome;
use crate::tool::Ended;

/// A finished call, cut and routed.
#[must_use = "no receipt, no answer"]
#[derive(Debug)]
pub struct Bounded {
    draft: Draft,
}

impl Bounded {
    pub(super) fn into_draft(self) -> Draft {
        self.draft
    }
}

impl Executed {
    /// Routes and cuts the outcome.
    pub fn bound(self, cx: &Context<'_>) -> Bounded {
        let (mut draft, entry, outcome, output_bytes) = self.into_parts();
        let finished = cx.engine.now();
        let contract = &entry.contract;
        let receipt = &mut draft.receipt;
        receipt.times.finished = finished;
        receipt.status = status(outcome.ended);
        receipt.usage.wall_ms = receipt.times.started.map_or(0, |started| finished.since(started));
        receipt.usage.cpu_ms = outcome.cpu_ms;
        receipt.usage.peak_memory_bytes = outcome.peak_memory_bytes;
        if let Some(runtime) = &mut receipt.runtime {
            runtime.isolation.clone_from(&outcome.isolation);
        }
        draft.observed.clone_from(&outcome.observed);
        route(cx, &mut draft.receipt, contract, outcome);
        let limit = output_bytes.clamp(bounds::MIN_OUTPUT_BYTES, contract.max_output_bytes);
        fit(cx, &mut draft.receipt, contract, limit);
        Bounded { draft }
    }
}

fn status(ended: Ended) -> Status {
    match ended {
        Ended::Succeeded => Status::Succeeded,
        Ended::Failed => Status::Failed,
        Ended::Partial => Status::Partial,
        Ended::Cancelled => Status::Cancelled,
        Ended::Ambiguous => Status::Ambiguous,
    }
}

fn route(cx: &Context<'_>, receipt: &mut Receipt, contract: &ToolContract, outcome: AnyOutcome) {
    receipt.error = outcome.error;
    receipt.truncation = outcome.truncation;
    receipt.artifacts = outcome.artifacts;
    let Some(fields) = outcome.result else { return };
    let mut kept = Map::new();
    for (name, value) in fields {
        match contract.routes.get(&name) {
            Some(Route::Planner | Route::State) => {
                kept.insert(name, value);
            }
            Some(Route::Artifact) => match store(cx, &name, &value) {
                Ok(artifact) => receipt.artifacts.push(artifact),
                Err(error) => receipt.error = receipt.error.take().or(Some(error)),
            },
            None => {}
        }
    }
    receipt.result = Some(kept);
}

/// Keeps a value apart, by content address.
pub(super) fn store(cx: &Context<'_>, name: &str, value: &Value) -> Result<Artifact, Error> {
    let (bytes, media_type) = match value {
        Value::String(text) => (text.clone().into_bytes(), "text/plain; charset=utf-8"),
        other => (other.to_string().into_bytes(), "application/json"),
    };
    let put = || {
        let mut writer = cx.engine.artifacts.create()?;
        writer.write(&bytes)?;
        writer.finish(name, media_type)
    };
    put().map_err(|error| {
        let message = format!("`{name}` could not be kept as an artifact: {error}");
        Error::new(Code::Machine, message)
    })
}
