//! `Approved` → `Begun` → `Executed`: the intent is durable, then the effect happens, here and nowhere else.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use wire::contract::EffectClass;
use wire::{Code, Error, Timestamp, ToolCall};

use super::Context;
use super::approve::Approved;
use super::authorize::check;
use super::draft::{Draft, Exit};
use super::gate::Pass;
use crate::bounds;
use crate::ports::{Begin, Intent};
use crate::registry::{AnyOutcome, Entry, Job};
use crate::tool::{Demand, Ended, Hands, Outcome};

/// A call whose intent is durable, or that has no effect and needs none.
#[must_use = "an open intent is settled by executing it"]
pub struct Begun<'a> {
    draft: Draft,
    entry: Arc<Entry>,
    job: Job,
    effect: EffectClass,
    output_bytes: u64,
    deadline: Timestamp,
    pass: Pass<'a>,
}

/// A call whose effect, if any, has happened.
#[must_use = "no receipt, no answer"]
pub struct Executed {
    draft: Draft,
    entry: Arc<Entry>,
    outcome: AnyOutcome,
    output_bytes: u64,
}

impl Executed {
    pub(super) fn into_parts(self) -> (Draft, Arc<Entry>, AnyOutcome, u64) {
        (self.draft, self.entry, self.outcome, self.output_bytes)
    }
}

impl Approved {
    /// Waits for its turn and stores the intent.
    ///
    /// # Errors
    /// [`Exit`] if the deadline passed in the queue (F3), the call was cancelled, or the effect is known,
    /// running or unresolved already (E8).
    pub fn begin<'a>(self, cx: &Context<'a>) -> Result<Begun<'a>, Exit> {
        let (mut draft, entry, prepared, deadline) = self.into_parts();
        draft.receipt.times.queued = Some(cx.engine.now());
        let is_over = || cx.stop.is_stopped() || cx.engine.now() >= deadline;
        let pass = cx.engine.gate.pass(is_over);
        if cx.stop.is_stopped() {
            let message = "cancelled before it began; nothing was done";
            return Err(draft.refuse(Error::new(Code::Cancelled, message)));
        }
        let started = cx.engine.now();
        let Some(pass) = pass.filter(|_| started < deadline) else {
            let message = format!("the deadline {deadline} passed before the effect began");
            return Err(draft.refuse(Error::new(Code::DeadlineExpired, message)));
        };
        draft.receipt.times.started = Some(started);
        let keyed = draft.receipt.idempotency_key.is_some();
        if prepared.effect != EffectClass::Read || keyed {
            draft = match store_intent(cx, draft, deadline, started) {
                Ok(draft) => draft,
                Err(Held::Over(exit)) => return Err(exit),
                Err(Held::Running { draft, logical_effect_id }) => {
                    // Who waits for another's receipt takes no place from who has work to do.
                    drop(pass);
                    return Err(await_receipt(cx, *draft, &logical_effect_id, deadline));
                }
            };
        }
        let (job, effect, output_bytes) = (prepared.job, prepared.effect, prepared.output_bytes);
        Ok(Begun { draft, entry, job, effect, output_bytes, deadline, pass })
    }
}

/// Why an effect does not begin.
enum Held {
    /// The call ends here.
    Over(Exit),
    /// The same effect is running.
    Running { draft: Box<Draft>, logical_effect_id: String },
}

fn store_intent(
    cx: &Context<'_>,
    draft: Draft,
    deadline: Timestamp,
    started: Timestamp,
) -> Result<Draft, Held> {
    let over = |draft: Draft, error: Error| Err(Held::Over(draft.refuse(error)));
    let Some(intent) = intent(cx, &draft, deadline, started) else {
        return over(draft, Error::new(Code::Internal, "an intent without a decision"));
    };
    match cx.engine.journal().begin(&intent) {
        Ok(Begin::Begun) => Ok(draft),
        Ok(Begin::Finished(receipt) | Begin::Unresolved(receipt)) => {
            Err(Held::Over(draft.answer_with(receipt)))
        }
        Ok(Begin::Running { logical_effect_id }) => {
            Err(Held::Running { draft: Box::new(draft), logical_effect_id })
        }
        Ok(Begin::Conflict(error)) => {
            let (owns_call_id, pointer) = match error.code {
                Code::CallIdReused => (false, "/call_id"),
                _ => (draft.owns_call_id, "/idempotency_key"),
            };
            over(Draft { owns_call_id, ..draft }, error.at(pointer))
        }
        Err(error) => over(draft, Error::new(Code::LedgerUnavailable, error.to_string())),
    }
}

fn intent(
    cx: &Context<'_>,
    draft: &Draft,
    deadline: Timestamp,
    started: Timestamp,
) -> Option<Intent> {
    let receipt = &draft.receipt;
    let arguments = draft.arguments.as_ref()?.as_object()?.clone();
    Some(Intent {
        call: ToolCall {
            protocol_version: wire::call::PROTOCOL.to_owned(),
            task_id: receipt.task_id.clone(),
            attempt_id: receipt.attempt_id.clone(),
            logical_effect_id: receipt.logical_effect_id.clone(),
            tool: receipt.tool.clone(),
            tool_version: receipt.tool_version.clone()?,
            arguments,
            capability_id: cx.session.grant.capability_id.clone(),
            deadline,
            idempotency_key: receipt.idempotency_key.clone(),
            call_id: receipt.call_id.clone(),
        },
        arguments_digest: receipt.arguments_digest.clone(),
        action: receipt.normalized_action.clone()?,
        decision: receipt.decision.clone()?,
        registry_revision: receipt.registry_revision.clone(),
        received: receipt.times.received,
        started,
    })
}

/// Answers a call with the receipt of an effect that is running, once there is one (E8).
pub(super) fn await_receipt(
    cx: &Context<'_>,
    draft: Draft,
    logical_effect_id: &str,
    until: Timestamp,
) -> Exit {
    // The receipt-less effect owns the call id, or its own; a refusal of who waits never does.
    let waiting = |draft: Draft| Draft { owns_call_id: false, ..draft };
    loop {
        let asked =
            cx.engine.journal().receipt_of_effect(&draft.receipt.task_id, logical_effect_id);
        match asked {
            Ok(Some(receipt)) => return draft.answer_with(receipt),
            Ok(None) => {}
            Err(error) => {
                let error = Error::new(Code::LedgerUnavailable, error.to_string());
                return waiting(draft).refuse(error);
            }
        }
        if cx.stop.is_stopped() {
            let message = "cancelled while the same effect was running; that one goes on";
            return waiting(draft).refuse(Error::new(Code::Cancelled, message));
        }
        if cx.engine.now() >= until {
            let message = "the same effect is still running; ask again for its receipt";
            let error = Error::new(Code::DeadlineExpired, message);
            return waiting(draft).refuse(error.advise(wire::Next::RetrySame));
        }
        cx.engine.journal().wait_for_news(bounds::WAIT_SLICE_MS);
    }
}

impl Begun<'_> {
    /// Does it. A panic of the tool leaves an effect ambiguous, and a read failed.
    pub fn execute(self, cx: &Context<'_>) -> Executed {
        let Begun { draft, entry, job, effect, output_bytes, deadline, pass } = self;
        let admits = |demand: &Demand| check(cx, &entry, demand).is_ok();
        let hands = Hands {
            stop: cx.stop,
            deadline,
            clock: cx.engine.clock.as_ref(),
            artifacts: cx.engine.artifacts.as_ref(),
            progress: cx.progress,
            admits: &admits,
        };
        let ran = catch_unwind(AssertUnwindSafe(|| job.run(entry.tool(), &hands)));
        drop(pass);
        let outcome = ran.unwrap_or_else(|_| {
            let message = "the tool has a defect: it panicked while running";
            let error = Error::new(Code::Internal, message);
            let ended = if effect == EffectClass::Read { Ended::Failed } else { Ended::Ambiguous };
            Outcome { ended, ..Outcome::failed(error) }
        });
        Executed { draft, entry, outcome, output_bytes }
    }
}

impl std::fmt::Debug for Begun<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Begun").field("draft", &self.draft).finish_non_exhaustive()
    }
}
