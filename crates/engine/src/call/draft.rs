//! The receipt of a call while the call is under way, and the ways out before an effect.
//!
//! A draft only grows. It becomes a receipt in `record` and nowhere else.

use serde_json::Value;
use wire::receipt::{PROTOCOL, Times, Usage};
use wire::{Code, Digest, Error, Receipt, Status};

use super::Context;
use crate::ports::Observation;

/// The receipt so far, and what is stored beside it.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) receipt: Receipt,
    pub(super) arguments: Option<Value>,
    pub(super) observed: Vec<Observation>,
    pub(super) owns_call_id: bool,
}

impl Draft {
    /// A draft that knows only that a message arrived.
    pub(super) fn new(cx: &Context<'_>, call_id: String, arguments_digest: Digest) -> Draft {
        let grant = &cx.session.grant;
        let times = Times {
            received: cx.received,
            queued: None,
            started: None,
            finished: cx.received,
            deadline: None,
        };
        let receipt = Receipt {
            protocol_version: PROTOCOL.to_owned(),
            receipt_id: arguments_digest.clone(),
            call_id,
            task_id: grant.task_id.clone(),
            attempt_id: grant.attempt_id.clone(),
            logical_effect_id: String::new(),
            idempotency_key: None,
            tool: String::new(),
            tool_version: None,
            registry_revision: cx.session.registry.revision().clone(),
            status: Status::Rejected,
            times,
            arguments_digest,
            normalized_action: None,
            result: None,
            artifacts: Vec::new(),
            redactions: Vec::new(),
            truncation: Vec::new(),
            error: None,
            decision: None,
            runtime: None,
            usage: Usage::default(),
            reconciles: None,
        };
        Draft { receipt, arguments: None, observed: Vec::new(), owns_call_id: false }
    }

    /// Ends the call here, without an effect.
    pub(super) fn refuse(self, error: Error) -> Exit {
        let status = match error.code {
            Code::Denied | Code::NotGranted | Code::ApprovalRequired => Status::Denied,
            Code::DeadlineExpired => Status::Expired,
            Code::Cancelled => Status::Cancelled,
            Code::Internal | Code::Machine | Code::LedgerUnavailable => Status::Failed,
            _ => Status::Rejected,
        };
        Exit::Refused(Box::new(Refused { draft: self, status, error }))
    }

    /// Answers the call with the receipt of another.
    pub(super) fn answer_with(self, receipt: Box<Receipt>) -> Exit {
        Exit::Known(Box::new(Known { call_id: self.receipt.call_id, receipt: *receipt }))
    }
}

/// The refusal of a call id that stands for another call.
pub(super) fn call_id_reused() -> Error {
    let message = "the call id belongs to another call of this task; give each call its own";
    Error::new(Code::CallIdReused, message).at("/call_id")
}

/// A way out before the effect.
#[derive(Debug)]
pub enum Exit {
    /// The call ends here, in an error; nothing has happened.
    Refused(Box<Refused>),
    /// The effect that the call asks for has its receipt already (E8).
    Known(Box<Known>),
}

/// A call that ends before its effect.
#[derive(Debug)]
#[must_use = "no receipt, no answer: a refusal goes to `record`"]
pub struct Refused {
    pub(super) draft: Draft,
    pub(super) status: Status,
    pub(super) error: Error,
}

/// A call that is answered with another's receipt.
#[derive(Debug)]
#[must_use = "the answer is noted in the journal by `record`"]
pub struct Known {
    pub(super) call_id: String,
    pub(super) receipt: Receipt,
}
