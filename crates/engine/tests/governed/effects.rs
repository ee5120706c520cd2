//! One effect, once: keys, call ids, and what runs or is unsettled already (E8, E10, V7).

use std::thread;

use engine::call::Message;
use engine::memory::MemoryJournal;
use engine::ports::{Begin, Intent, Journal as _};
use engine::{Answer, Stop};
use serde_json::{Value, json};
use wire::{Code, Status};

use crate::support::{World, call, error, read, verdict, wait, with, write};

fn keyed(call: Value, key: &str) -> Value {
    with(call, "idempotency_key", key)
}

/// Drives both at once: the second is sent while the first runs, and is answered before the first is let go only
/// if it does not wait for it.
fn beside(world: &World, first: Value, second: Value) -> (Answer, Answer) {
    thread::scope(|scope| {
        let first = scope.spawn(|| world.call(first));
        world.store.wait_until(|state| state.inside == 1);
        let second = scope.spawn(|| world.call(second));
        world.store.wait_until(|_| world.journal.waits() > 0);
        world.store.release();
        (first.join().unwrap(), second.join().unwrap())
    })
}

#[test]
fn e8_the_same_key_and_action_is_answered_with_the_first_receipt_and_does_not_run() {
    let world = World::new();
    let first = world.call(keyed(write("1", "a", "x"), "k"));
    world.clock.advance(7);
    let again = world.call(keyed(write("2", "a", "x"), "k"));
    let spelled = world.call(keyed(write("3", "./a", "x"), "k"));
    assert_eq!(again.receipt(), first.receipt());
    assert_eq!(
        spelled.receipt(),
        first.receipt(),
        "the normalized action counts, not its spelling"
    );
    assert_eq!(again.shown(), first.shown());
    assert_eq!((world.store.effects(), world.receipts().len()), (1, 1));
}

#[test]
fn e8_the_same_key_with_another_action_is_a_conflict() {
    let world = World::new();
    let first = world.call(keyed(write("1", "a", "x"), "k"));
    for (id, path, text) in [("2", "a", "y"), ("3", "b", "x")] {
        let other = world.call(keyed(write(id, path, text), "k"));
        assert_eq!(verdict(&other), "rejected idempotency_conflict");
        assert_eq!(error(&other).pointer.as_deref(), Some("/idempotency_key"));
        assert_eq!(error(&other).details["receipt_id"], first.receipt().receipt_id.as_str());
    }
    let tool = world.call(keyed(wait("4", "a", "x"), "k"));
    assert_eq!(verdict(&tool), "rejected idempotency_conflict", "another tool is another action");
    assert_eq!(world.store.effects(), 1);
}

#[test]
fn e8_a_conflict_is_cleared_by_another_key() {
    let world = World::new();
    world.call(keyed(write("1", "a", "x"), "k"));
    let conflict = world.call(keyed(write("2", "a", "y"), "k"));
    assert_eq!(verdict(&conflict), "rejected idempotency_conflict");
    let corrected = world.call(keyed(write("3", "a", "y"), "other"));
    assert_eq!(verdict(&corrected), "succeeded");
}

#[test]
fn e8_a_key_means_something_in_its_task_only() {
    let world = World::new();
    world.call(keyed(write("1", "a", "x"), "k"));
    let session = world.task("task-2");
    let message = Message::Value(keyed(write("1", "a", "y"), "k"));
    let other = world.drive(&session, message, &Stop::new()).unwrap();
    assert_eq!(verdict(&other), "succeeded");
    assert_eq!(world.store.effects(), 2);
}

#[test]
fn e8_a_refusal_does_not_hold_its_key() {
    let world = World::new();
    let invalid = call("1", "note_write", json!({ "path": "a" }));
    assert_eq!(verdict(&world.call(keyed(invalid, "k"))), "rejected invalid_arguments");
    let denied = world.call(keyed(write("2", ".env", "x"), "k"));
    assert_eq!(verdict(&denied), "denied denied");
    let late = with(keyed(write("3", "a", "x"), "k"), "deadline", "1970-01-01T00:00:00.000Z");
    assert_eq!(verdict(&world.call(late)), "expired deadline_expired");
    let corrected = world.call(keyed(write("4", "a", "x"), "k"));
    assert_eq!(verdict(&corrected), "succeeded", "nothing had happened under the key");
    assert_eq!(world.store.effects(), 1);
}

#[test]
fn e8_a_keyed_failure_is_answered_again_and_not_tried_again() {
    let world = World::new();
    let first = world.call(keyed(read("1", "a"), "k"));
    assert_eq!(verdict(&first), "failed not_found");
    world.store.with(|state| state.notes.insert("a".to_owned(), "x".to_owned()));
    let again = world.call(keyed(read("2", "a"), "k"));
    assert_eq!(again.receipt(), first.receipt());
    assert_eq!(world.store.runs(), 1);
}

#[test]
fn e8_a_duplicate_in_flight_gets_the_receipt_of_the_first() {
    for second in [
        keyed(wait("2", "a", "x"), "k"),
        keyed(wait("2", "./a", "x"), "k"),
        keyed(wait("2", "a", "x"), "fresh"),
        wait("2", "a", "x"),
    ] {
        let world = World::new();
        let (first, second) = beside(&world, keyed(wait("1", "a", "x"), "k"), second);
        assert_eq!(verdict(&first), "succeeded");
        assert_eq!(second.receipt(), first.receipt());
        assert_eq!((world.store.effects(), world.store.runs()), (1, 1));
    }
}

#[test]
fn e8_another_action_under_the_key_of_a_running_one_is_a_conflict() {
    let world = World::new();
    thread::scope(|scope| {
        let first = scope.spawn(|| world.call(keyed(wait("1", "a", "x"), "k")));
        world.store.wait_until(|state| state.inside == 1);
        let other = world.call(keyed(write("2", "b", "x"), "k"));
        assert_eq!(verdict(&other), "rejected idempotency_conflict");
        world.store.release();
        assert_eq!(verdict(&first.join().unwrap()), "succeeded");
    });
    assert_eq!(world.store.effects(), 1);
}

#[test]
fn e8_refusals_under_the_key_of_a_running_effect_do_not_stand_for_it() {
    let world = World::new();
    thread::scope(|scope| {
        let first = scope.spawn(|| world.call(keyed(wait("1", "a", "x"), "k")));
        world.store.wait_until(|state| state.inside == 1);
        let waiting = scope.spawn(|| world.call(keyed(wait("2", "a", "x"), "k")));
        world.store.wait_until(|_| world.journal.waits() > 0);
        let refused = [
            (keyed(write("3", "b", "x"), "k"), "rejected idempotency_conflict"),
            (keyed(call("4", "note_write", json!({})), "k"), "rejected invalid_arguments"),
            (keyed(write("5", ".env", "x"), "k"), "denied denied"),
        ];
        for (call, expected) in refused {
            assert_eq!(verdict(&world.call(call)), expected);
        }
        assert_eq!(world.open_intents(), 1, "the running effect stays known");
        let seen = world.journal.waits();
        world.store.wait_until(|_| world.journal.waits() > seen + 1);
        assert!(!waiting.is_finished(), "nobody else's refusal is its receipt");
        world.store.release();
        let first = first.join().unwrap();
        assert_eq!(verdict(&first), "succeeded");
        assert_eq!(waiting.join().unwrap().receipt(), first.receipt());
    });
    assert_eq!(world.store.effects(), 1);
}

#[test]
fn e8_an_ambiguous_effect_is_not_run_again_under_any_key() {
    let world = World::new();
    let broken = |id: &str| call(id, "defective", json!({ "at": "write" }));
    let first = world.call(keyed(broken("1"), "k"));
    assert_eq!(verdict(&first), "ambiguous internal");
    for call in [broken("2"), keyed(broken("3"), "fresh"), keyed(broken("4"), "k"), broken("1")] {
        assert_eq!(world.call(call).receipt(), first.receipt());
    }
    assert_eq!(world.store.runs(), 1);
}

#[test]
fn e10_the_same_call_id_sent_again_is_the_same_call() {
    let world = World::new();
    let first = world.call(write("1", "a", "x"));
    let again = world.call(write("1", "a", "x"));
    assert_eq!(again.receipt(), first.receipt());
    let denied = world.call(write("2", ".env", "x"));
    assert_eq!(world.call(write("2", ".env", "x")).receipt(), denied.receipt());
    assert_eq!((world.store.effects(), world.receipts().len()), (1, 2));
}

#[test]
fn e10_a_call_id_of_a_running_call_waits_for_its_receipt() {
    let world = World::new();
    let (first, again) = beside(&world, wait("1", "a", "x"), wait("1", "a", "x"));
    assert_eq!(again.receipt(), first.receipt());
    assert_eq!(world.store.effects(), 1);
}

#[test]
fn e10_a_call_id_is_not_given_to_another_call() {
    let world = World::new();
    let first = world.call(write("1", "a", "x"));
    for other in [write("1", "a", "y"), read("1", "a")] {
        let other = world.call(other);
        assert_eq!(verdict(&other), "rejected call_id_reused");
        assert_eq!(error(&other).pointer.as_deref(), Some("/call_id"));
    }
    assert_eq!(world.call(write("1", "a", "x")).receipt(), first.receipt(), "it stays the first's");
    let corrected = world.call(write("2", "a", "y"));
    assert_eq!(verdict(&corrected), "succeeded", "with an id of its own it is served");
}

#[test]
fn e10_an_answer_by_another_s_receipt_is_found_again_by_its_own_call_id() {
    let world = World::new();
    let first = world.call(keyed(write("1", "a", "x"), "k"));
    let second = keyed(write("2", "a", "x"), "k");
    assert_eq!(world.call(second.clone()).receipt(), first.receipt());
    assert_eq!(world.call(second).receipt(), first.receipt());
    let spelled = keyed(write("3", "./a", "x"), "k");
    assert_eq!(world.call(spelled.clone()).receipt(), first.receipt());
    assert_eq!(world.call(spelled).receipt(), first.receipt(), "however it was spelled");
    let other = world.call(write("2", "a", "y"));
    assert_eq!(verdict(&other), "rejected call_id_reused", "its id is not given to another action");
    assert_eq!(world.store.effects(), 1);
}

/// Two calls with one id that both have passed the look at the journal before either goes on.
fn at_once(world: &World, one: Value, other: Value) -> Vec<String> {
    world.store.with(|state| state.plans_meet = 2);
    let mut verdicts = thread::scope(|scope| {
        let calls = [one, other].map(|call| scope.spawn(|| verdict(&world.call(call))));
        Vec::from(calls.map(|call| call.join().unwrap()))
    });
    verdicts.sort();
    verdicts
}

#[test]
fn e10_two_calls_with_one_id_at_once_are_one_call_or_one_refusal() {
    let world = World::new();
    let effects = at_once(&world, write("1", "a", "x"), write("1", "b", "y"));
    assert_eq!(effects, ["rejected call_id_reused", "succeeded"]);
    assert_eq!((world.store.effects(), world.open_intents()), (1, 0));
    let world = World::new();
    let notes = ["a", "b"].map(|path| (path.to_owned(), format!("the text of {path}")));
    world.store.with(|state| state.notes.extend(notes));
    let reads = at_once(&world, read("1", "a"), read("1", "b"));
    assert_eq!(reads, ["rejected call_id_reused", "succeeded"], "never the text of the other");
    let world = World::new();
    let same = at_once(&world, write("1", "a", "x"), write("1", "a", "x"));
    assert_eq!(same, ["succeeded", "succeeded"]);
    assert_eq!(world.store.effects(), 1);
}

#[test]
fn e10_a_refusal_does_not_take_the_call_id_of_a_running_effect() {
    let world = World::new();
    world.store.with(|state| state.plans_meet = 3);
    thread::scope(|scope| {
        let refused = scope.spawn(|| world.call(write("1", ".env", "x")));
        world.store.wait_until(|state| state.plans == 1);
        world.store.with(|state| state.plans_meet = 0);
        let running = scope.spawn(|| world.call(wait("1", "a", "x")));
        world.store.wait_until(|state| state.inside == 1);
        world.store.with(|state| state.plans = 3);
        assert_eq!(verdict(&refused.join().unwrap()), "denied denied");
        assert_eq!(world.open_intents(), 1);
        world.store.release();
        let running = running.join().unwrap();
        assert_eq!(verdict(&running), "succeeded");
        assert_eq!(world.call(wait("1", "a", "x")).receipt(), running.receipt());
    });
    assert_eq!((world.store.effects(), world.open_intents()), (1, 0));
}

/// The intent of a call that runs, as the engine stored it.
fn running_intent(call: Value) -> Intent {
    let world = World::new();
    thread::scope(|scope| {
        let running = scope.spawn(|| world.call(call));
        world.store.wait_until(|state| state.inside == 1);
        let intent = world.journal.inner.open_intents().remove(0);
        world.store.release();
        assert_eq!(running.join().unwrap().receipt().status, Status::Succeeded);
        intent
    })
}

#[test]
fn c2_an_intent_holds_what_was_decided_and_no_secret() {
    let arguments = json!({ "path": "./a", "text": "x", "token": "canary-SECRET" });
    let proposal = call("1", "note_wait", arguments);
    let intent = running_intent(keyed(proposal, "k"));
    assert_eq!(intent.call.protocol_version, "tool-call.v1");
    assert_eq!((intent.call.task_id.as_str(), intent.call.call_id.as_str()), ("task-1", "1"));
    assert_eq!(intent.call.capability_id, "capability-1");
    assert_eq!(intent.call.idempotency_key.as_deref(), Some("k"));
    assert_eq!(intent.action.action, json!({ "path": "a", "text": "x" }));
    assert_eq!(intent.decision.reasons, ["notes"]);
    let token = intent.call.arguments["token"].as_str().unwrap();
    assert!(token.starts_with("redacted:sha256:"), "{token}");
    assert!(!serde_json::to_string(&intent).unwrap().contains("canary-SECRET"));
}

#[test]
fn e8_the_journal_in_memory_keeps_the_promises_of_its_port() {
    let journal = MemoryJournal::default();
    let first = running_intent(keyed(wait("1", "a", "x"), "k"));
    let other = running_intent(wait("1", "b", "x"));
    assert!(matches!(journal.begin(&first).unwrap(), Begin::Begun));
    assert!(matches!(journal.begin(&first).unwrap(), Begin::Running { .. }));
    let Begin::Conflict(error) = journal.begin(&other).unwrap() else { panic!("the id is taken") };
    assert_eq!(error.code, Code::CallIdReused);
    assert_eq!(journal.open_intents().len(), 1);
}
