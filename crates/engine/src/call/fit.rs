//! What is shown fits what the caller can take (E12); what was cut is kept apart whole (E7), and every cut is told
//! (F7).
//!
//! It cuts only what is shown: state stays, and the artifact of a cut holds nothing that was routed elsewhere (E11).

use serde_json::{Map, Value};
use wire::contract::{Route, ToolContract};
use wire::receipt::{Bound, Count, Truncation};
use wire::{Digest, Receipt};

use super::Context;
use super::bound::store;
use super::record::{planner_part, shown};
use crate::bounds;

/// Text shorter than this is not worth cutting: to tell of the cut takes as much, bytes.
const SHORT: usize = 256;

/// The message of an error keeps at least this, bytes.
const LEAST_MESSAGE: usize = 64;

/// The most cuts of texts before whole fields are left out.
const CUTS: usize = 64;

/// Cuts what is shown to `limit` bytes of JSON, and counts it.
///
/// An error may fill half of the limit; fields are cut or left out from the largest on.
pub(super) fn fit(cx: &Context<'_>, receipt: &mut Receipt, contract: &ToolContract, limit: u64) {
    fit_error(cx, receipt, limit / 2);
    if size_of(receipt, Some(contract)) > limit {
        fit_result(cx, receipt, contract, limit);
    }
    count(receipt, Some(contract));
}

/// Writes down what the planner's part of a receipt costs (E12).
pub(super) fn count(receipt: &mut Receipt, contract: Option<&ToolContract>) {
    let size = size_of(receipt, contract);
    receipt.usage.planner_bytes = size;
    receipt.usage.planner_tokens = size.div_ceil(bounds::BYTES_PER_TOKEN);
}

fn size_of(receipt: &Receipt, contract: Option<&ToolContract>) -> u64 {
    length(&Value::Object(shown(receipt, contract)))
}

fn length(value: &Value) -> u64 {
    u64::try_from(value.to_string().len()).unwrap_or(u64::MAX)
}

/// Keeps the whole apart. Without an artifact there is still a cut: the caller's bound holds, and the cut says so.
fn keep(cx: &Context<'_>, receipt: &mut Receipt, name: &str, whole: &Value) -> Option<Digest> {
    let artifact = store(cx, name, whole).ok()?;
    let address = artifact.digest.clone();
    receipt.artifacts.push(artifact);
    Some(address)
}

fn cut(field: String, left_out: u64, artifact: Option<Digest>) -> Truncation {
    let left_out = Count::Exact(left_out);
    Truncation { field, bound: Bound::Bytes, left_out, artifact, continuation: None }
}

fn fit_error(cx: &Context<'_>, receipt: &mut Receipt, room: u64) {
    let Some(mut error) = receipt.error.clone() else { return };
    let size = |error: &wire::Error| serde_json::to_value(error).map_or(0, |value| length(&value));
    let before = size(&error);
    if before <= room {
        return;
    }
    let whole = serde_json::to_value(&error).unwrap_or_default();
    let address = keep(cx, receipt, "error", &whole);
    error.details.clear();
    while size(&error) > room && error.message.len() > LEAST_MESSAGE {
        let excess = usize::try_from(size(&error) - room).unwrap_or(usize::MAX);
        let text = &mut error.message;
        let wanted = text.len().saturating_sub(excess).max(text.len() / 2).max(LEAST_MESSAGE);
        text.truncate(text.floor_char_boundary(wanted.min(text.len() - 1)));
    }
    receipt.truncation.push(cut("/error".to_owned(), before - size(&error), address));
    receipt.error = Some(error);
}

fn fit_result(cx: &Context<'_>, receipt: &mut Receipt, contract: &ToolContract, limit: u64) {
    let Some(mut result) = receipt.result.clone() else { return };
    let mut part = planner_part(&result, Some(contract));
    if part.is_empty() {
        return;
    }
    let whole = Value::Object(part.clone());
    result.retain(|name, _| contract.routes.get(name) != Some(&Route::Planner));
    let address = keep(cx, receipt, "result", &whole);
    // A tool's continuation goes on behind what it gave; what is cut here lies before that, and only the artifact
    // has it.
    let of_tool = receipt.truncation.iter().cloned();
    let of_tool = of_tool.map(|cut| Truncation { continuation: None, ..cut }).collect();
    let mut cuts = Cuts { of_tool, made: Vec::new(), address };
    let mut left = CUTS;
    loop {
        let mut fields = result.clone();
        fields.extend(part.clone());
        receipt.result = Some(fields);
        receipt.truncation = cuts.all();
        let excess = size_of(receipt, Some(contract)).saturating_sub(limit);
        if excess == 0 {
            return;
        }
        if part.is_empty() {
            // Nothing is left to speak of but that everything is apart.
            cuts.of_tool.clear();
            receipt.truncation = cuts.all();
            return;
        }
        left = left.saturating_sub(1);
        if left == 0 || !cuts.shorten_largest(&mut part, excess) {
            cuts.leave_out_largest(&mut part, &whole);
        }
    }
}

/// The cuts of one result.
struct Cuts {
    of_tool: Vec<Truncation>,
    made: Vec<Truncation>,
    address: Option<Digest>,
}

impl Cuts {
    fn all(&self) -> Vec<Truncation> {
        self.of_tool.iter().chain(&self.made).cloned().collect()
    }

    /// Shortens the longest text of the largest field by about `excess` bytes, if it has one that is worth it.
    fn shorten_largest(&mut self, part: &mut Map<String, Value>, excess: u64) -> bool {
        let largest = part.iter_mut().max_by_key(|(_, value)| length(value));
        let Some((name, value)) = largest else { return false };
        let found = longest_in(value, pointer("/result", name));
        let Some((field, text)) = found.filter(|(_, text)| text.len() > SHORT) else {
            return false;
        };
        // Telling takes room too; a text at most halves per round, so that escapes cannot overcut.
        let excess = usize::try_from(excess).unwrap_or(usize::MAX).saturating_add(SHORT);
        let keep = text.len().saturating_sub(excess).max(text.len() / 2);
        let at = text.floor_char_boundary(keep.min(text.len() - 1));
        let left_out = u64::try_from(text.len() - at).unwrap_or(u64::MAX);
        text.truncate(at);
        match self.made.iter_mut().find(|made| made.field == field) {
            Some(Truncation { left_out: Count::Exact(before), .. }) => *before += left_out,
            _ => self.made.push(cut(field, left_out, self.address.clone())),
        }
        true
    }

    /// Leaves out the largest field; all of them, where telling of one takes as much as it has.
    fn leave_out_largest(&mut self, part: &mut Map<String, Value>, whole: &Value) {
        let largest = part.iter().max_by_key(|(_, value)| length(value));
        let worth = largest.filter(|(_, value)| length(value) > SHORT as u64);
        let Some(name) = worth.map(|(name, _)| name.clone()) else {
            part.clear();
            self.made = vec![cut("/result".to_owned(), length(whole), self.address.clone())];
            return;
        };
        part.remove(&name);
        let field = pointer("/result", &name);
        let beneath = format!("{field}/");
        self.made.retain(|made| made.field != field && !made.field.starts_with(&beneath));
        let left_out = whole.get(&name).map_or(0, length);
        self.made.push(cut(field, left_out, self.address.clone()));
    }
}

fn pointer(parent: &str, name: &str) -> String {
    format!("{parent}/{}", name.replace('~', "~0").replace('/', "~1"))
}

fn longest_in(value: &mut Value, at: String) -> Option<(String, &mut String)> {
    match value {
        Value::String(text) => Some((at, text)),
        Value::Array(items) => items
            .iter_mut()
            .enumerate()
            .filter_map(|(n, item)| longest_in(item, format!("{at}/{n}")))
            .max_by_key(|(_, text)| text.len()),
        Value::Object(members) => members
            .iter_mut()
            .filter_map(|(name, item)| longest_in(item, pointer(&at, name)))
            .max_by_key(|(_, text)| text.len()),
        _ => None,
    }
}
