//! `Validated` → `Normalized`: the tool resolves the arguments to real resources, without an effect.
//!
//! The digest made here is over tool, version, effect, demands and action; every later decision binds to it (C2).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::{Value, json};
use wire::receipt::{Decision, NormalizedAction, Verdict};
use wire::{Code, Digest, Error, Timestamp};

use super::Context;
use super::authorize::check;
use super::draft::{Draft, Exit};
use super::validate::Validated;
use crate::bounds;
use crate::registry::{Entry, Prepared};
use crate::tool::{Demand, View};

/// A call that is known down to its real resources.
#[derive(Debug)]
#[must_use = "a stage is consumed by the next"]
pub struct Normalized {
    draft: Draft,
    entry: Arc<Entry>,
    prepared: Prepared,
    deadline: Timestamp,
}

impl Normalized {
    pub(super) fn into_parts(self) -> (Draft, Arc<Entry>, Prepared, Timestamp) {
        (self.draft, self.entry, self.prepared, self.deadline)
    }
}

impl Validated {
    /// Lets the tool plan.
    ///
    /// # Errors
    /// [`Exit`] with the tool's own typed error, or with a denial that showed itself while planning.
    pub fn normalize(self, cx: &Context<'_>) -> Result<Normalized, Exit> {
        let (mut draft, entry, arguments, deadline) = self.into_parts();
        let planned = plan(cx, &entry, Value::Object(arguments), deadline);
        let checked = planned.and_then(|prepared| {
            hold_to_contract(&entry, &prepared)?;
            let digest = digest(&entry, &prepared)?;
            Ok((prepared, digest))
        });
        match checked {
            Ok((prepared, digest)) => {
                let (action, effect) = (prepared.action.clone(), prepared.effect);
                draft.receipt.normalized_action = Some(NormalizedAction { action, digest, effect });
                Ok(Normalized { draft, entry, prepared, deadline })
            }
            Err(error) => {
                if matches!(error.code, Code::Denied | Code::NotGranted) {
                    draft.receipt.decision = Some(denial(cx, &error));
                }
                Err(draft.refuse(error))
            }
        }
    }
}

fn plan(
    cx: &Context<'_>,
    entry: &Entry,
    arguments: Value,
    deadline: Timestamp,
) -> Result<Prepared, Error> {
    let task = &cx.session.grant.task_id;
    // An unreadable journal shows nothing as observed, so the edit is refused: closed, not open.
    let observed = |path: &str| cx.engine.journal().observed(task, path).ok().flatten();
    let require = |demand: &Demand| check(cx, entry, demand).map(|_| ());
    let now = cx.engine.now();
    let view = View { observed: &observed, require: &require, now, time_ms: deadline.since(now) };
    catch_unwind(AssertUnwindSafe(|| entry.tool().plan(arguments, &view))).unwrap_or_else(|_| {
        Err(Error::new(Code::Internal, "the tool has a defect: it panicked while planning"))
    })
}

/// A plan may not demand what its contract does not name, nor have more effect (R1).
fn hold_to_contract(entry: &Entry, prepared: &Prepared) -> Result<(), Error> {
    let contract = &entry.contract;
    let defect = |message: String| Err(Error::new(Code::Internal, message));
    if prepared.effect > contract.effect {
        return defect(format!("`{}` planned more effect than its contract has", contract.name));
    }
    if prepared.demands.is_empty() {
        return defect(format!("`{}` planned without a demand", contract.name));
    }
    if prepared.demands.len() > bounds::DEMANDS {
        let message = format!(
            "the call touches {} resources; {} are accepted, so split it",
            prepared.demands.len(),
            bounds::DEMANDS
        );
        return Err(Error::new(Code::InvalidArguments, message).at("/arguments"));
    }
    let named = |demand: &Demand| {
        contract.operations.iter().any(|operation| {
            operation.name == demand.operation && operation.resource == demand.resource.kind()
        })
    };
    match prepared.demands.iter().find(|demand| !named(demand)) {
        Some(demand) => defect(format!("`{}` is not in the contract", demand.operation)),
        None => Ok(()),
    }
}

fn digest(entry: &Entry, prepared: &Prepared) -> Result<Digest, Error> {
    let whole = json!({
        "tool": entry.contract.name,
        "version": entry.contract.version,
        "effect": prepared.effect,
        "demands": prepared.demands,
        "action": prepared.action,
    });
    Digest::of_json(&whole).map_err(|error| Error::new(Code::Internal, error.to_string()))
}

fn denial(cx: &Context<'_>, error: &Error) -> Decision {
    Decision {
        verdict: Verdict::Deny,
        capability_id: cx.session.grant.capability_id.clone(),
        policy_version: cx.engine.policy.version().clone(),
        reasons: vec![error.message.clone()],
        approval: None,
    }
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("action", &self.action).finish_non_exhaustive()
    }
}
