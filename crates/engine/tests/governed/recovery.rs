//! After a crash: every open effect gets a receipt, from the resource where it can be asked (E8, E10, F9, V6).

use std::sync::Arc;

use engine::memory::{ManualClock, MemoryArtifacts};
use engine::{Engine, Policy, Registry, Stop};
use serde_json::{Value, json};
use wire::{Code, Next, Receipt, Status};

use crate::support::{
    Doing, POLICY, Reader, World, call, error, start, tools, verdict, wait, with, write,
};

/// A machine on which this call lost its runtime after its effect, before its receipt.
fn lost(proposal: Value) -> World {
    let world = World::new();
    world.journal.fail(&[Doing::Record]);
    world.store.release();
    world.try_call(proposal, &Stop::new()).unwrap_err();
    world.journal.fail(&[]);
    assert_eq!((world.open_intents(), world.receipts().len()), (1, 0));
    world
}

/// A new runtime on the same ledger settles what is open; the one receipt that it wrote.
fn recover(world: &World, registry: &Registry) -> Receipt {
    let policy = Policy::load(POLICY, &tools(&world.store).build().unwrap().operations()).unwrap();
    let engine = Engine::new(
        Arc::new(ManualClock::at(start().plus_ms(100_000))),
        world.journal.clone(),
        Arc::new(MemoryArtifacts::default()),
        Arc::new(policy),
        "tests/2".to_owned(),
    );
    let [receipt] = engine.recover(registry).unwrap().try_into().unwrap();
    assert!(receipt.is_intact().unwrap());
    assert_eq!(world.receipts().last(), Some(&receipt), "it is stored");
    assert_eq!(world.open_intents(), 0);
    assert_eq!(engine.recover(registry).unwrap(), [], "nothing is settled twice");
    receipt
}

fn code(receipt: &Receipt) -> Option<(Code, Next)> {
    receipt.error.as_ref().map(|error| (error.code, error.next))
}

#[test]
fn f9_an_effect_that_happened_is_found_in_the_resource() {
    let proposal = with(write("1", "./a", "x"), "idempotency_key", "k");
    let world = lost(proposal.clone());
    let receipt = recover(&world, world.session.registry());
    assert_eq!((receipt.status, code(&receipt)), (Status::Succeeded, None));
    assert_eq!(receipt.result.as_ref().unwrap()["text"], "x");
    assert_eq!(receipt.call_id, "1");
    assert_eq!(receipt.idempotency_key.as_deref(), Some("k"));
    assert_eq!(receipt.normalized_action.as_ref().unwrap().action["path"], "a");
    assert_eq!(receipt.decision.as_ref().unwrap().reasons, ["notes"]);
    assert_eq!(receipt.times.started, Some(start()));
    assert_eq!(receipt.times.finished, start().plus_ms(100_000));
    let runtime = receipt.runtime.as_ref().unwrap();
    assert_eq!(runtime.name, "tests/2", "who says so");
    let mut contracts = world.session.registry().contracts();
    let contract = contracts.find(|contract| contract.name == "note_write").unwrap();
    assert_eq!(runtime.implementation, contract.implementation);
    let again = world.call(proposal);
    assert_eq!(again.receipt(), &receipt, "recovered by its logical effect id");
    assert_eq!(world.store.effects(), 1);
}

#[test]
fn e10_an_effect_that_did_not_happen_is_failed_and_may_be_sent_again() {
    let world = lost(write("1", "a", "x"));
    world.store.with(|state| state.notes.clear());
    let receipt = recover(&world, world.session.registry());
    assert_eq!(receipt.status, Status::Failed);
    assert_eq!(code(&receipt), Some((Code::Interrupted, Next::RetrySame)));
    assert_eq!(receipt.result, None);
    assert_eq!(world.call(write("1", "a", "x")).receipt(), &receipt, "a call has one result");
    assert_eq!(verdict(&world.call(write("2", "a", "x"))), "succeeded");
}

#[test]
fn e10_an_effect_that_nobody_can_know_is_ambiguous_and_stays_so() {
    let world = lost(write("1", "a", "x"));
    world.store.with(|state| state.notes.insert("a".to_owned(), "of another".to_owned()));
    let receipt = recover(&world, world.session.registry());
    assert_eq!(receipt.status, Status::Ambiguous);
    assert_eq!(code(&receipt), Some((Code::Ambiguous, Next::ReconcileFirst)));
    assert!(receipt.error.as_ref().unwrap().message.contains("`a` holds another text"));
    let again = world.call(with(write("2", "a", "x"), "idempotency_key", "fresh"));
    assert_eq!(again.receipt(), &receipt, "a fresh key does not run it beside the unsettled one");
    assert_eq!(world.store.effects(), 1);
    assert_eq!(verdict(&world.call(write("3", "b", "x"))), "succeeded", "others go on");
}

#[test]
fn r7_an_effect_of_a_tool_that_is_gone_is_ambiguous_and_never_run_by_another() {
    let world = lost(write("1", "a", "x"));
    let without = Registry::builder().with(Reader(Arc::clone(&world.store))).unwrap();
    let receipt = recover(&world, &without.build().unwrap());
    assert_eq!(receipt.status, Status::Ambiguous);
    let message = &receipt.error.as_ref().unwrap().message;
    assert!(message.contains("`note_write` version 1.0.0"), "{message}");
    assert_eq!(world.store.effects(), 1);
}

#[test]
fn e10_a_tool_that_breaks_while_it_looks_leaves_the_effect_ambiguous() {
    let world = lost(call("1", "defective", json!({ "at": "write" })));
    let receipt = recover(&world, world.session.registry());
    assert_eq!(receipt.status, Status::Ambiguous);
}

#[test]
fn e10_each_of_several_lost_calls_is_given_its_own_result() {
    let world = World::new();
    world.journal.fail(&[Doing::Record]);
    for (id, text) in [("1", "x"), ("2", "y"), ("3", "z")] {
        world.try_call(write(id, id, text), &Stop::new()).unwrap_err();
    }
    world.journal.fail(&[]);
    world.store.with(|state| {
        state.notes.remove("2");
        state.notes.insert("3".to_owned(), "of another".to_owned());
    });
    let settled = world.engine.recover(world.session.registry()).unwrap();
    let found: Vec<_> = settled.iter().map(|r| (r.call_id.as_str(), r.status)).collect();
    let expected = [("1", Status::Succeeded), ("2", Status::Failed), ("3", Status::Ambiguous)];
    assert_eq!(found, expected);
    assert_eq!(world.open_intents(), 0);
}

#[test]
fn v6_what_the_ledger_did_not_store_is_settled_at_the_next_look() {
    let world = lost(write("1", "a", "x"));
    world.journal.fail(&[Doing::Record]);
    world.engine.recover(world.session.registry()).unwrap_err();
    assert_eq!(world.open_intents(), 1);
    world.journal.fail(&[]);
    assert_eq!(recover(&world, world.session.registry()).status, Status::Succeeded);
}

#[test]
fn f5_a_call_that_was_stopped_in_its_effect_is_settled_like_any_other() {
    let world = World::new();
    let stop = Stop::new();
    std::thread::scope(|scope| {
        let call = scope.spawn(|| world.try_call(wait("1", "a", "x"), &stop));
        world.store.wait_until(|state| state.inside == 1);
        world.journal.fail(&[Doing::Record]);
        stop.stop();
        assert!(call.join().unwrap().is_err());
    });
    world.journal.fail(&[]);
    let receipt = recover(&world, world.session.registry());
    assert_eq!(code(&receipt), Some((Code::Interrupted, Next::RetrySame)));
}

#[test]
fn o2_a_recovered_receipt_holds_no_secret_and_says_what_was_redacted() {
    let arguments = json!({ "path": "a", "text": "x", "token": "canary-SECRET" });
    let world = lost(call("1", "note_write", arguments));
    let receipt = recover(&world, world.session.registry());
    assert!(!serde_json::to_string(&receipt).unwrap().contains("canary-SECRET"));
    let fields: Vec<_> = receipt.redactions.iter().map(|cut| cut.field.as_str()).collect();
    assert_eq!(fields, ["/arguments/token"]);
}

#[test]
fn o2_a_receipt_says_what_was_redacted() {
    let world = World::new();
    let arguments = json!({ "path": "a", "text": 7, "token": "canary-SECRET" });
    let refused = world.call(call("1", "note_write", arguments.clone()));
    assert_eq!(error(&refused).code, Code::InvalidArguments);
    let arguments = json!({ "path": "a", "text": "x", "token": "canary-SECRET" });
    let served = world.call(call("2", "note_write", arguments));
    let tokens = world.store.with(|state| state.tokens.clone());
    assert_eq!(tokens, ["canary-SECRET"], "the call itself has the real value");
    for answer in [refused, served] {
        let [redaction] = answer.receipt().redactions.as_slice() else { panic!("one") };
        assert_eq!((redaction.field.as_str(), redaction.count), ("/arguments/token", 1));
        assert!(!serde_json::to_string(answer.receipt()).unwrap().contains("canary-SECRET"));
    }
}
