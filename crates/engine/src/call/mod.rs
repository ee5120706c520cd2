//! The life of a call, in the order of the files:
//!
//! ```text
//! parse      bytes      → Parsed       bounded, no duplicate members, identity from the session only
//! validate   Parsed     → Validated    tool found in the task's pinned registry, arguments fit its schema
//! normalize  Validated  → Normalized   the tool planned: action, demands, effect; a digest over all of it
//! authorize  Normalized → Authorized   grant and policy allow every demand
//! approve    Authorized → Approved     nothing to ask, or a person said yes to this digest
//! execute    Approved   → Begun        the deadline holds, the intent is in the journal
//!            Begun      → Executed     the only place where an effect can happen
//! bound      Executed   → Bounded      cut to what the caller can take, the rest kept as artifacts
//! record     Bounded or Refused → Receipt → Answer
//! ```
//!
//! Every stage is a value that only its own file can make and the next step consumes. [`Engine::drive`] owns a
//! call from end to end. Nothing here retries an effect.

mod parse;
mod validate;
mod normalize;
mod authorize;
mod approve;
mod execute;
mod bound;
mod record;

mod draft;
mod fit;
mod gate;

use std::sync::Arc;

use serde_json::{Map, Value};
use wire::{Error, Receipt, Timestamp};

use crate::authority::{Grant, Policy, Rulings};
use crate::bounds;
use crate::ports::{Artifacts, Clock, Journal, JournalError, Progress, TaskRecord};
use crate::registry::Registry;
use crate::stop::Stop;

pub use approve::Approved;
pub use authorize::Authorized;
pub use bound::Bounded;
pub use draft::{Exit, Refused};
pub use execute::{Begun, Executed};
pub use normalize::Normalized;
pub use parse::{Message, Parsed};
pub use validate::Validated;
pub(crate) use validate::redact;

/// The runtime of one machine: ports, policy, and the gate that bounds concurrent executions.
pub struct Engine {
    clock: Arc<dyn Clock>,
    journal: Arc<dyn Journal>,
    artifacts: Arc<dyn Artifacts>,
    policy: Arc<Policy>,
    runtime: String,
    gate: gate::Gate,
}

/// An authenticated session: the grant that it holds and the registry that its task pins (R3).
#[derive(Debug, Clone)]
pub struct Session {
    grant: Grant,
    registry: Arc<Registry>,
    rulings: Arc<Rulings>,
}

/// A task cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The task was started under another registry and is not moved to this one silently (R7).
    #[error(
        "the task `{task_id}` pins the registry `{pinned}`, this runtime has `{offered}`; start a new task, \
         or run the version that the task was started with"
    )]
    RegistryChanged {
        /// The task.
        task_id: String,
        /// What it pins.
        pinned: String,
        /// What there is.
        offered: String,
    },
    /// The ledger does not answer.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The grant has no JSON form; a defect of ours.
    #[error("the grant cannot be stored: {0}")]
    Grant(#[from] serde_json::Error),
}

/// The answer to a call. It can only be made from a receipt that is durable.
#[derive(Debug, Clone)]
pub struct Answer {
    receipt: Receipt,
    shown: Map<String, Value>,
}

/// No receipt could be stored, so there is no answer (DESIGN, decision 1).
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct Unrecorded(pub Error);

/// What one call needs to know of its surroundings. Made by [`Engine::drive`] only.
pub struct Context<'a> {
    engine: &'a Engine,
    session: &'a Session,
    stop: &'a Stop,
    progress: &'a dyn Progress,
    received: Timestamp,
}

impl Engine {
    /// An engine over the ports of a machine. `runtime` names this build, such as `chancery/0.1.0`.
    #[must_use]
    pub fn new(
        clock: Arc<dyn Clock>,
        journal: Arc<dyn Journal>,
        artifacts: Arc<dyn Artifacts>,
        policy: Arc<Policy>,
        runtime: String,
    ) -> Engine {
        let gate = gate::Gate::new(bounds::EXECUTIONS);
        Engine { clock, journal, artifacts, policy, runtime, gate }
    }

    /// Opens a task for a session: the registry is pinned at the first time and held to afterwards (R3, R7).
    ///
    /// # Errors
    /// [`OpenError`] if the task pins another registry or the ledger does not answer.
    pub fn open(&self, grant: Grant, registry: Arc<Registry>) -> Result<Session, OpenError> {
        let record = TaskRecord {
            task_id: grant.task_id.clone(),
            attempt_id: grant.attempt_id.clone(),
            registry_revision: registry.revision().clone(),
            grant: serde_json::to_value(&grant)?,
            opened: self.clock.now(),
        };
        let first = self.journal.open_task(&record)?;
        if first.registry_revision != record.registry_revision {
            return Err(OpenError::RegistryChanged {
                task_id: record.task_id,
                pinned: first.registry_revision.to_string(),
                offered: record.registry_revision.to_string(),
            });
        }
        Ok(Session { grant, registry, rulings: Arc::default() })
    }

    /// Takes a call from its message to its answer. Blocks until the receipt is durable.
    ///
    /// # Errors
    /// [`Unrecorded`] if the ledger did not store the receipt; whether an effect happened is then settled at
    /// the next start.
    pub fn drive(
        &self,
        session: &Session,
        message: Message<'_>,
        stop: &Stop,
        progress: &dyn Progress,
    ) -> Result<Answer, Unrecorded> {
        let received = self.clock.now();
        let cx = Context { engine: self, session, stop, progress, received };
        match attempt(&cx, message) {
            Ok(bounded) => record::bounded(&cx, bounded),
            Err(Exit::Refused(refused)) => record::refused(&cx, *refused),
            Err(Exit::Known(known)) => record::known(&cx, *known),
        }
    }

    /// The digest of the policy that decides.
    #[must_use]
    pub fn policy_version(&self) -> &wire::Digest {
        self.policy.version()
    }

    pub(crate) fn journal(&self) -> &dyn Journal {
        self.journal.as_ref()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn runtime(&self) -> &str {
        &self.runtime
    }
}

fn attempt(cx: &Context<'_>, message: Message<'_>) -> Result<Bounded, Exit> {
    let parsed = parse::parse(cx, message)?;
    let validated = parsed.validate(cx)?;
    let normalized = validated.normalize(cx)?;
    let authorized = normalized.authorize(cx)?;
    let approved = authorized.approve(cx)?;
    let begun = approved.begin(cx)?;
    let executed = begun.execute(cx);
    Ok(executed.bound(cx))
}

impl Session {
    /// The grant that the session holds.
    #[must_use]
    pub fn grant(&self) -> &Grant {
        &self.grant
    }

    /// The registry that the session's task pins.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }
}

impl Answer {
    /// The receipt, as it is stored.
    #[must_use]
    pub fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    /// What the planner is shown: status, receipt id, the routed part of the result, cuts, artifacts, error (E11).
    #[must_use]
    pub fn shown(&self) -> &Map<String, Value> {
        &self.shown
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("runtime", &self.runtime).finish_non_exhaustive()
    }
}
