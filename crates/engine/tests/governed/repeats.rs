//! A call that failed or was refused and comes again unchanged (F11).

use engine::bounds::{FAILED_REPEATS, REFUSED_REPEATS, REPEATS_PER_TASK};
use engine::call::Message;
use engine::{Session, Stop};
use serde_json::{Value, json};
use wire::Next;

use crate::support::{World, call, error, read, verdict, wait, with, write};

/// Drives the same call under fresh ids; what became of each.
fn again(world: &World, session: &Session, times: u32, proposal: &Value) -> Vec<String> {
    let first = world.receipts().len();
    let drive = |n: u32| {
        let call = with(proposal.clone(), "call_id", format!("{first} {n}"));
        verdict(&world.drive(session, Message::Value(call), &Stop::new()).unwrap())
    };
    (0..times).map(drive).collect()
}

#[test]
fn f11_a_refused_call_that_comes_again_unchanged_is_refused_cheaply() {
    let world = World::new();
    for refused in [write("1", ".env", "x"), call("1", "note_write", json!({ "path": "a" }))] {
        let session = world.task(&refused["arguments"].to_string());
        let allowed = usize::try_from(REFUSED_REPEATS).unwrap();
        let verdicts = again(&world, &session, REFUSED_REPEATS + 2, &refused);
        let (first, repeats) = verdicts.split_at(allowed);
        assert!(first.iter().all(|verdict| verdict != "rejected repeated_call"));
        assert_eq!(repeats, ["rejected repeated_call", "rejected repeated_call"]);
    }
    assert_eq!(world.store.with(|state| state.plans), 1, "a repeat is not even planned");
}

#[test]
fn f11_a_failing_call_is_refused_after_its_bound_and_other_arguments_are_free() {
    let world = World::new();
    let missing = read("x", "gone");
    let verdicts = again(&world, &world.session, FAILED_REPEATS + 1, &missing);
    assert_eq!(verdicts, ["failed not_found", "failed not_found", "rejected repeated_call"]);
    assert_eq!(world.store.runs(), 2);
    assert_eq!(verdict(&world.call(read("2", "other"))), "failed not_found", "other arguments");
    let other_tool = call("3", "note_wait", json!({ "path": "gone", "text": "x" }));
    world.store.release();
    assert_eq!(verdict(&world.call(other_tool)), "succeeded", "another tool");
}

#[test]
fn f11_a_refused_repeat_names_the_receipt_that_it_repeats() {
    let world = World::new();
    let first = world.call(write("1", ".env", "x"));
    let repeat = world.call(write("2", ".env", "x"));
    assert_eq!(verdict(&repeat), "rejected repeated_call");
    assert_eq!(error(&repeat).details["receipt_id"], first.receipt().receipt_id.as_str());
    assert_eq!(error(&repeat).next, Next::ChangeArguments);
}

#[test]
fn f11_an_effect_in_between_makes_the_call_a_new_one() {
    let world = World::new();
    let missing = read("x", "a");
    again(&world, &world.session, FAILED_REPEATS, &missing);
    assert_eq!(verdict(&world.call(read("1", "other"))), "failed not_found", "a read is no effect");
    assert_eq!(
        verdict(&world.call(with(missing.clone(), "call_id", "2"))),
        "rejected repeated_call"
    );
    assert_eq!(verdict(&world.call(write("3", "a", "x"))), "succeeded");
    assert_eq!(verdict(&world.call(with(missing, "call_id", "4"))), "succeeded");
}

#[test]
fn f11_a_call_in_another_task_is_not_a_repeat() {
    let world = World::new();
    let denied = write("1", ".env", "x");
    again(&world, &world.session, 2, &denied);
    let other = world.task("task-2");
    assert_eq!(again(&world, &other, 1, &denied), ["denied denied"]);
}

#[test]
fn f11_expired_and_cancelled_calls_may_come_again() {
    let world = World::new();
    let stop = Stop::new();
    stop.stop();
    for n in 0..4 {
        let late = write(&format!("late {n}"), "a", "x");
        let late = with(late, "deadline", "1970-01-01T00:00:00.000Z");
        assert_eq!(verdict(&world.call(late)), "expired deadline_expired");
        let stopped = wait(&format!("stopped {n}"), "a", "x");
        assert_eq!(verdict(&world.try_call(stopped, &stop).unwrap()), "cancelled cancelled");
    }
    assert_eq!(verdict(&world.call(write("1", "a", "x"))), "succeeded");
}

#[test]
fn f11_a_storm_of_repeats_stops_the_task_until_a_person_looks() {
    let world = World::new();
    let denied = write("1", ".env", "x");
    let verdicts = again(&world, &world.session, REPEATS_PER_TASK + 1, &denied);
    assert_eq!(verdicts[0], "denied denied");
    assert!(verdicts[1..].iter().all(|verdict| verdict == "rejected repeated_call"));
    let innocent = world.call(write("innocent", "a", "x"));
    assert_eq!(verdict(&innocent), "rejected retry_storm");
    assert_eq!(error(&innocent).next, Next::AskHuman);
    assert!(error(&innocent).message.contains("chancery task release task-1"));
    assert_eq!(world.store.effects(), 0);
    let other = world.task("task-2");
    assert_eq!(again(&world, &other, 1, &write("1", "a", "x")), ["succeeded"], "others go on");
    let first = world.receipts().remove(0);
    let known = with(denied, "call_id", first.call_id.clone());
    assert_eq!(world.call(known).receipt(), &first, "what was answered stays answered");
}
