//! `Normalized` → `Authorized`: the grant covers, and policy allows, every demand of the plan (C1, C2, C6).

use std::collections::BTreeSet;
use std::sync::Arc;

use wire::receipt::{Decision, Verdict};
use wire::{Code, Error, Timestamp};

use super::Context;
use super::draft::{Draft, Exit};
use super::normalize::Normalized;
use crate::authority::{Asker, Ruling};
use crate::registry::{Entry, Prepared};
use crate::tool::{Demand, Resource};

/// A call that may be done, bound to the digest of its normalized action.
#[derive(Debug)]
#[must_use = "a stage is consumed by the next"]
pub struct Authorized {
    draft: Draft,
    entry: Arc<Entry>,
    prepared: Prepared,
    deadline: Timestamp,
}

impl Authorized {
    pub(super) fn into_parts(self) -> (Draft, Arc<Entry>, Prepared, Timestamp) {
        (self.draft, self.entry, self.prepared, self.deadline)
    }
}

impl Normalized {
    /// Decides.
    ///
    /// # Errors
    /// [`Exit`] with `denied` or `not_granted`; the decision stands in the receipt either way.
    pub fn authorize(self, cx: &Context<'_>) -> Result<Authorized, Exit> {
        let (mut draft, entry, prepared, deadline) = self.into_parts();
        let demands: BTreeSet<&Demand> = prepared.demands.iter().collect();
        let mut reasons = BTreeSet::new();
        let refusal = demands.into_iter().find_map(|demand| match check(cx, &entry, demand) {
            Ok(allowing) => {
                reasons.extend(allowing);
                None
            }
            Err(error) => Some(error),
        });
        let (verdict, reasons) = match &refusal {
            None => (Verdict::Allow, reasons.into_iter().collect()),
            Some(error) => (Verdict::Deny, vec![error.message.clone()]),
        };
        draft.receipt.decision = Some(Decision {
            verdict,
            capability_id: cx.session.grant.capability_id.clone(),
            policy_version: cx.engine.policy.version().clone(),
            reasons,
            approval: None,
        });
        match refusal {
            None => Ok(Authorized { draft, entry, prepared, deadline }),
            Some(error) => Err(draft.refuse(error)),
        }
    }
}

/// One demand against grant and policy; the policies that allow it.
pub(super) fn check(
    cx: &Context<'_>,
    entry: &Entry,
    demand: &Demand,
) -> Result<Vec<String>, Error> {
    let grant = &cx.session.grant;
    let tool = entry.contract.name.as_str();
    grant.covers(&grant.task_id, &grant.attempt_id, tool, demand, cx.engine.now())?;
    match rule(cx, entry, demand) {
        Ruling::Allow(reasons) => Ok(reasons),
        Ruling::Deny(reasons) => Err(denied(cx, demand, &reasons)),
    }
}

/// What policy says; remembered in the session where it can only depend on the class of a path.
fn rule(cx: &Context<'_>, entry: &Entry, demand: &Demand) -> Ruling {
    let (grant, policy) = (&cx.session.grant, &cx.engine.policy);
    let ask = || {
        let asker = Asker {
            task_id: &grant.task_id,
            tenant: &grant.tenant,
            principal: &grant.principal,
            tool: &entry.contract.name,
            effect: entry.contract.effect,
        };
        policy.rule(asker, demand)
    };
    match &demand.resource {
        Resource::Path { class, .. } if !policy.reads_paths() => {
            cx.session.rulings.of((entry.contract.name.clone(), demand.operation, *class), ask)
        }
        _ => ask(),
    }
}

fn denied(cx: &Context<'_>, demand: &Demand, reasons: &[String]) -> Error {
    let (resource, class) = match &demand.resource {
        Resource::Path { path, class } => (path, *class),
        Resource::Program { name, .. } => (name, "program"),
    };
    let message = format!(
        "policy denies `{}` on `{resource}` ({class}): {}",
        demand.operation,
        reasons.join(", ")
    );
    Error::new(Code::Denied, message)
        .with("policies", reasons.to_vec())
        .with("policy_version", cx.engine.policy.version().as_str())
}
