//! A ledger that does not store: no effect before its intent, no answer without its receipt (DESIGN, decision 1),
//! and tools that break.

use engine::Stop;
use engine::call::Message;
use serde_json::{Value, json};
use wire::{Code, Status};

use crate::support::{Doing, World, call, error, read, verdict, wait, with, write};

#[test]
fn v6_an_intent_that_cannot_be_stored_has_no_effect() {
    let world = World::new();
    world.journal.fail(&[Doing::Begin]);
    let answer = world.call(write("1", "a", "x"));
    assert_eq!(verdict(&answer), "failed ledger_unavailable");
    assert_eq!(answer.receipt().times.started, None);
    assert_eq!((world.store.runs(), world.store.effects()), (0, 0));
    assert_eq!(verdict(&world.call(read("2", "a"))), "failed not_found", "a read needs no intent");
    world.journal.fail(&[]);
    assert_eq!(verdict(&world.call(write("3", "a", "x"))), "succeeded");
}

#[test]
fn v6_a_ledger_that_does_not_answer_stops_the_call_at_its_start() {
    let world = World::new();
    world.journal.fail(&[Doing::Standing]);
    let answer = world.call(write("1", "a", "x"));
    assert_eq!(verdict(&answer), "failed ledger_unavailable");
    assert_eq!(world.store.with(|state| state.plans), 0);
}

#[test]
fn v6_a_receipt_that_cannot_be_stored_is_no_answer() {
    let world = World::new();
    world.journal.fail(&[Doing::Record]);
    for proposal in [
        write("1", "a", "x"),
        read("2", "a"),
        write("3", ".env", "x"),
        call("4", "note_write", json!({})),
        json!("not a call"),
    ] {
        let unrecorded = world.try_call(proposal, &Stop::new()).unwrap_err();
        assert_eq!(unrecorded.0.code, Code::LedgerUnavailable);
    }
    assert_eq!(world.receipts(), []);
    assert_eq!(world.store.effects(), 1, "the one effect had its intent");
    assert_eq!(world.open_intents(), 1, "which stays open until it is settled");
}

#[test]
fn v6_an_effect_without_a_stored_receipt_is_not_run_again() {
    let world = World::new();
    world.journal.fail(&[Doing::Record]);
    let keyed = |id: &str| with(write(id, "a", "x"), "idempotency_key", "k");
    assert!(world.try_call(keyed("1"), &Stop::new()).is_err());
    world.journal.fail(&[]);
    world.engine.recover(world.session.registry()).unwrap();
    let [receipt] = world.receipts().try_into().unwrap();
    for id in ["1", "2"] {
        assert_eq!(world.call(keyed(id)).receipt(), &receipt);
    }
    assert_eq!(receipt.status, Status::Succeeded);
    assert_eq!(world.store.effects(), 1);
}

#[test]
fn v6_an_answer_by_another_s_receipt_is_noted_or_not_given() {
    let world = World::new();
    let keyed = |id: &str| with(write(id, "a", "x"), "idempotency_key", "k");
    world.call(keyed("1"));
    world.journal.fail(&[Doing::Answer]);
    let unrecorded = world.try_call(keyed("2"), &Stop::new()).unwrap_err();
    assert_eq!(unrecorded.0.code, Code::LedgerUnavailable);
    assert_eq!(world.store.effects(), 1);
}

#[test]
fn v6_who_waits_on_a_ledger_that_stops_answering_is_told() {
    let world = World::new();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| world.call(wait("1", "a", "x")));
        world.store.wait_until(|state| state.inside == 1);
        let second = scope.spawn(|| world.try_call(wait("2", "a", "x"), &Stop::new()));
        world.store.wait_until(|_| world.journal.waits() > 0);
        world.journal.fail(&[Doing::Effect]);
        let told = second.join().unwrap().unwrap();
        assert_eq!(verdict(&told), "failed ledger_unavailable");
        world.journal.fail(&[]);
        world.store.release();
        assert_eq!(verdict(&first.join().unwrap()), "succeeded");
    });
    assert_eq!(world.store.effects(), 1);
}

fn broken(id: &str, at: &str) -> Value {
    call(id, "defective", json!({ "at": at }))
}

#[test]
fn e4_a_tool_that_panics_gives_a_typed_error_and_a_receipt() {
    let world = World::new();
    let planning = world.call(broken("1", "plan"));
    assert_eq!(verdict(&planning), "failed internal");
    assert_eq!((planning.receipt().times.started, world.store.runs()), (None, 0));
    let reading = world.call(broken("2", "read"));
    assert_eq!(verdict(&reading), "failed internal", "a read has no effect that could be in doubt");
    let writing = world.call(broken("3", "write"));
    assert_eq!(verdict(&writing), "ambiguous internal", "a write may have happened");
    let told = world.call(broken("4", "result"));
    assert_eq!(verdict(&told), "ambiguous internal", "the effect happened, its result is lost");
    for answer in [planning, reading, writing, told] {
        assert!(error(&answer).message.contains("defect"), "blame first");
    }
    assert_eq!(world.open_intents(), 0);
    assert_eq!(verdict(&world.call(write("5", "a", "x"))), "succeeded", "the engine goes on");
}

#[test]
fn e4_a_tool_that_panics_gives_its_place_back() {
    let world = World::new();
    for n in 0..=engine::bounds::EXECUTIONS {
        let session = world.task(&format!("task {n}"));
        let message = Message::Value(broken("1", "read"));
        let answer = world.drive(&session, message, &Stop::new()).unwrap();
        assert_eq!(verdict(&answer), "failed internal");
    }
}
