//! `Executed` → `Bounded`: each field goes where the contract says (E11), and what is shown fits what the caller
//! can take (E12).
//!
//! Tools cut with knowledge of what they cut; this is the wall behind them. The execution's own status is never
//! changed by a cut (F7).

use serde_json::{Map, Value};
use wire::contract::{Route, ToolContract};
use wire::receipt::{Artifact, Bound, Count, Truncation};
use wire::{Code, Error, Receipt, Status};

use super::Context;
use super::draft::Draft;
use super::execute::Executed;
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

/// Text shorter than this is not worth cutting, bytes.
const SHORT: usize = 64;

impl Executed {
    /// Routes and cuts the outcome.
    pub fn bound(self, cx: &Context<'_>) -> Bounded {
        let (mut draft, entry, outcome, output_bytes) = self.into_parts();
        let finished = cx.engine.now();
        let contract = &entry.contract;
        let receipt = &mut draft.receipt;
        receipt.times.finished = finished;
        receipt.status = status(outcome.ended);
        receipt.usage.wall_ms = receipt
            .times
            .started
            .map_or(0, |started| finished.since(started));
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

fn store(cx: &Context<'_>, name: &str, value: &Value) -> Result<Artifact, Error> {
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

/// Cuts the longest texts until what is shown fits; the whole is kept as an artifact.
fn fit(cx: &Context<'_>, receipt: &mut Receipt, contract: &ToolContract, limit: u64) {
    let mut size = size_of(receipt, contract);
    if size > limit {
        let whole = Value::Object(receipt.result.clone().unwrap_or_default());
        // Without the artifact the text is still cut: the caller's bound holds, and the cut says so.
        let artifact = store(cx, "result", &whole).ok();
        let address = artifact.as_ref().map(|artifact| artifact.digest.clone());
        receipt.artifacts.extend(artifact);
        while size > limit {
            let Some((field, left_out)) = cut_longest(receipt, contract, size - limit) else {
                receipt.result = None;
                break;
            };
            let known = receipt.truncation.iter_mut().find(|cut| {
                cut.field == field && cut.bound == Bound::Bytes && cut.artifact == address
            });
            match known {
                Some(Truncation {
                    left_out: Count::Exact(before),
                    ..
                }) => *before += left_out,
                _ => receipt.truncation.push(Truncation {
                    field,
                    bound: Bound::Bytes,
                    left_out: Count::Exact(left_out),
                    artifact: address.clone(),
                    continuation: None,
                }),
            }
            size = size_of(receipt, contract);
        }
    }
    let size = size_of(receipt, contract);
    receipt.usage.planner_bytes = size;
    receipt.usage.planner_tokens = size.div_ceil(bounds::BYTES_PER_TOKEN);
}

fn size_of(receipt: &Receipt, contract: &ToolContract) -> u64 {
    let shown = Value::Object(super::record::shown(receipt, Some(contract)));
    u64::try_from(shown.to_string().len()).unwrap_or(u64::MAX)
}

/// Shortens the longest shown text by about `excess` bytes; the field and how many bytes of it went.
fn cut_longest(
    receipt: &mut Receipt,
    contract: &ToolContract,
    excess: u64,
) -> Option<(String, u64)> {
    let fields = receipt.result.as_mut()?;
    let mut longest: Option<(String, &mut String)> = None;
    for (name, value) in fields.iter_mut() {
        if contract.routes.get(name) != Some(&Route::Planner) {
            continue;
        }
        let pointer = format!("/result/{name}");
        if let Some(found) = longest_in(value, pointer)
            && longest
                .as_ref()
                .is_none_or(|(_, text)| text.len() < found.1.len())
        {
            longest = Some(found);
        }
    }
    let (field, text) = longest.filter(|(_, text)| text.len() > SHORT)?;
    // The truncation entry itself takes room; a text at most halves per round, so that escapes cannot overcut.
    let excess = usize::try_from(excess)
        .unwrap_or(usize::MAX)
        .saturating_add(SHORT * 5);
    let keep = text.len().saturating_sub(excess).max(text.len() / 2);
    let at = text.floor_char_boundary(keep.min(text.len() - 1));
    let left_out = text.len() - at;
    text.truncate(at);
    Some((field, u64::try_from(left_out).unwrap_or(u64::MAX)))
}

fn longest_in(value: &mut Value, pointer: String) -> Option<(String, &mut String)> {
    match value {
        Value::String(text) => Some((pointer, text)),
        Value::Array(items) => items
            .iter_mut()
            .enumerate()
            .filter_map(|(at, item)| longest_in(item, format!("{pointer}/{at}")))
            .max_by_key(|(_, text)| text.len()),
        Value::Object(members) => members
            .iter_mut()
            .filter_map(|(name, item)| {
                let name = name.replace('~', "~0").replace('/', "~1");
                longest_in(item, format!("{pointer}/{name}"))
            })
            .max_by_key(|(_, text)| text.len()),
        _ => None,
    }
}
