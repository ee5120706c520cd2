//! Calls, intents and receipts that the tests are written in. It asks nothing of the ledger.

use engine::ports::{Entry, Intent};
use ledger::Ledger;
use serde_json::{Map, json};
use wire::contract::EffectClass;
use wire::receipt::{Decision, NormalizedAction, Times, Usage, Verdict};
use wire::{Code, Digest, Error, Receipt, Status, Timestamp, ToolCall};

/// One call. What is not set is derived from the call id.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) task_id: String,
    pub(crate) call_id: String,
    pub(crate) effect_id: String,
    pub(crate) key: Option<String>,
    pub(crate) tool: String,
    pub(crate) arguments: String,
    pub(crate) action: Option<String>,
    pub(crate) effect: EffectClass,
    pub(crate) error: Option<Code>,
    pub(crate) reconciles: Option<Digest>,
}

pub(crate) fn call(call_id: &str) -> Call {
    Call {
        task_id: "task".to_owned(),
        call_id: call_id.to_owned(),
        effect_id: format!("effect of {call_id}"),
        key: None,
        tool: "patch".to_owned(),
        arguments: format!("arguments of {call_id}"),
        action: Some(format!("action of {call_id}")),
        effect: EffectClass::WriteFiles,
        error: None,
        reconciles: None,
    }
}

pub(crate) fn digest(text: &str) -> Digest {
    Digest::of_bytes(text.as_bytes())
}

pub(crate) fn at(ms: u64) -> Timestamp {
    Timestamp::from_unix_ms(1_796_000_000_000 + ms)
}

impl Call {
    pub(crate) fn key(self, key: &str) -> Call {
        Call { key: Some(key.to_owned()), ..self }
    }

    pub(crate) fn action(self, action: &str) -> Call {
        Call { action: Some(action.to_owned()), ..self }
    }

    pub(crate) fn arguments(self, arguments: &str) -> Call {
        Call { arguments: arguments.to_owned(), ..self }
    }

    fn normalized(&self) -> Option<NormalizedAction> {
        self.action.as_ref().map(|action| NormalizedAction {
            action: json!({ "do": action }),
            digest: digest(action),
            effect: self.effect,
        })
    }

    fn decision() -> Decision {
        Decision {
            verdict: Verdict::Allow,
            capability_id: "grant".to_owned(),
            policy_version: digest("policy"),
            reasons: vec!["may".to_owned()],
            approval: None,
        }
    }

    pub(crate) fn intent(&self) -> Intent {
        let mut arguments = Map::new();
        arguments.insert("text".to_owned(), self.arguments.clone().into());
        Intent {
            call: ToolCall {
                protocol_version: wire::call::PROTOCOL.to_owned(),
                task_id: self.task_id.clone(),
                attempt_id: "attempt".to_owned(),
                logical_effect_id: self.effect_id.clone(),
                tool: self.tool.clone(),
                tool_version: "1.0.0".to_owned(),
                arguments,
                capability_id: "grant".to_owned(),
                deadline: at(60_000),
                idempotency_key: self.key.clone(),
                call_id: self.call_id.clone(),
            },
            arguments_digest: digest(&self.arguments),
            action: self.normalized().unwrap(),
            decision: Call::decision(),
            registry_revision: digest("registry"),
            received: at(0),
            started: at(1),
        }
    }

    pub(crate) fn receipt(&self, status: Status) -> Receipt {
        let receipt = Receipt {
            protocol_version: wire::receipt::PROTOCOL.to_owned(),
            receipt_id: digest(""),
            call_id: self.call_id.clone(),
            task_id: self.task_id.clone(),
            attempt_id: "attempt".to_owned(),
            logical_effect_id: self.effect_id.clone(),
            idempotency_key: self.key.clone(),
            tool: self.tool.clone(),
            tool_version: Some("1.0.0".to_owned()),
            registry_revision: digest("registry"),
            status,
            times: Times {
                received: at(0),
                queued: None,
                started: Some(at(1)),
                finished: at(2),
                deadline: Some(at(60_000)),
            },
            arguments_digest: digest(&self.arguments),
            normalized_action: self.normalized(),
            result: None,
            artifacts: Vec::new(),
            redactions: Vec::new(),
            truncation: Vec::new(),
            error: self.error.map(|code| Error::new(code, "it did not end as asked")),
            decision: Some(Call::decision()),
            runtime: None,
            usage: Usage { planner_bytes: 100, planner_tokens: 25, ..Usage::default() },
            reconciles: self.reconciles.clone(),
        };
        receipt.seal().unwrap()
    }

    pub(crate) fn entry(&self, status: Status) -> Entry {
        Entry {
            receipt: self.receipt(status),
            arguments: Some(json!({ "text": self.arguments })),
            observed: Vec::new(),
            owns_call_id: self.reconciles.is_none(),
        }
    }
}

pub(crate) fn open(folder: &tempfile::TempDir) -> Ledger {
    Ledger::open(folder.path(), "test/1").unwrap()
}

/// A ledger in a folder of its own.
pub(crate) fn ledger() -> (tempfile::TempDir, Ledger) {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(&folder);
    (folder, ledger)
}
