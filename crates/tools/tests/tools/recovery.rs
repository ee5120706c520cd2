//! What the next start makes of an effect whose runtime died (E10, F9).

use std::sync::Arc;

use engine::Engine;
use engine::memory::{ManualClock, MemoryArtifacts, MemoryJournal};
use engine::ports::{Begin, Intent, Journal as _};
use serde_json::json;
use wire::{Receipt, Status, ToolCall};

use crate::support::{Bench, Told};

/// The intent of a call that did begin, as the ledger of a dead runtime holds it.
fn intent(told: &Told, tool: &str) -> Intent {
    let receipt = told.receipt().clone();
    Intent {
        call: ToolCall {
            protocol_version: "tool-call.v1".to_owned(),
            task_id: receipt.task_id,
            attempt_id: receipt.attempt_id,
            logical_effect_id: receipt.logical_effect_id,
            tool: tool.to_owned(),
            tool_version: receipt.tool_version.unwrap(),
            arguments: serde_json::Map::new(),
            capability_id: "capability-1".to_owned(),
            deadline: receipt.times.deadline.unwrap(),
            idempotency_key: None,
            call_id: receipt.call_id,
        },
        arguments_digest: receipt.arguments_digest,
        action: receipt.normalized_action.unwrap(),
        decision: receipt.decision.unwrap(),
        registry_revision: receipt.registry_revision,
        received: receipt.times.received,
        started: receipt.times.received,
    }
}

/// The receipt that the next start writes for an open intent.
fn next_start(bench: &Bench, intent: &Intent) -> Receipt {
    let journal = Arc::new(MemoryJournal::default());
    assert!(matches!(journal.begin(intent).unwrap(), Begin::Begun));
    let engine = Engine::new(
        Arc::new(ManualClock::at(intent.started.plus_ms(1_000))),
        journal.clone(),
        Arc::new(MemoryArtifacts::default()),
        bench.policy(),
        "tests/2".to_owned(),
    );
    let mut receipts = engine.recover(bench.registry()).unwrap();
    assert!(journal.open_intents().is_empty(), "no intent stays open");
    assert_eq!(receipts.len(), 1);
    receipts.remove(0)
}

#[test]
fn f9_a_patch_is_settled_by_the_files_themselves() {
    let bench = Bench::with(&[("a", b"one\n")]);
    bench.read("a");
    let told = bench.replace("a", "one", "two");
    let intent = intent(&told, "repository_patch");

    let happened = next_start(&bench, &intent);
    assert_eq!(happened.status, Status::Succeeded, "{happened:?}");

    bench.write("a", b"one\n");
    let did_not = next_start(&bench, &intent);
    assert_ne!(did_not.status, Status::Succeeded);
    assert_ne!(did_not.status, Status::Ambiguous, "the file is as before: {did_not:?}");

    bench.write("a", b"something else\n");
    let unknown = next_start(&bench, &intent);
    assert_eq!(unknown.status, Status::Ambiguous);
    let error = unknown.error.unwrap();
    assert_eq!(error.next, wire::Next::ReconcileFirst, "{error:?}");
}

#[test]
fn f9_a_mode_alone_is_settled_by_the_mode() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::with(&[("run", b"x\n")]);
    bench.read("run");
    let diff = "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n";
    let told = bench.call("repository_patch", json!({ "patch": diff }));
    let intent = intent(&told, "repository_patch");
    assert_eq!(next_start(&bench, &intent).status, Status::Succeeded);
    std::fs::set_permissions(bench.at("run"), std::fs::Permissions::from_mode(0o644)).unwrap();
    let did_not = next_start(&bench, &intent).status;
    assert!(![Status::Succeeded, Status::Ambiguous].contains(&did_not), "{did_not:?}");
}

#[test]
fn f9_a_command_stays_ambiguous() {
    let bench = Bench::new();
    let told = bench.call("process_run", json!({ "argv": ["true"] }));
    let receipt = next_start(&bench, &intent(&told, "process_run"));
    assert_eq!(receipt.status, Status::Ambiguous);
}
