//! When a call ends early: its deadline, and the caller's word (E6, F3, F4, F8).

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use engine::{Answer, Stop};
use serde_json::Value;
use wire::{Code, Next, Status};

use crate::support::{POLICY, World, error, grant, start, verdict, wait, with, write};

/// A time so many milliseconds after the start.
fn after(ms: u64) -> String {
    start().plus_ms(ms).to_string()
}

/// Fills every place with runs that wait, puts one more call behind them, and does `meanwhile` to it.
fn in_the_queue(world: &World, queued: Value, stop: &Stop, meanwhile: impl FnOnce()) -> Answer {
    let places = engine::bounds::EXECUTIONS;
    thread::scope(|scope| {
        for n in 0..places {
            let call = wait(&format!("in {n}"), &format!("in {n}"), "x");
            scope.spawn(move || {
                assert_eq!(
                    verdict(&world.call(with(call, "deadline", after(60_000)))),
                    "succeeded"
                );
            });
        }
        world.store.wait_until(|state| state.inside == places);
        let queued = scope.spawn(|| world.try_call(queued, stop).unwrap());
        world.store.wait_until(|state| state.plans == places + 1);
        meanwhile();
        let answer = queued.join().unwrap();
        assert_eq!(world.store.effects(), 0, "the others still wait, and it did nothing");
        assert_eq!(world.open_intents(), places, "no effect was meant by it");
        world.store.release();
        answer
    })
}

#[test]
fn f3_a_deadline_that_passes_in_the_queue_expires_the_call_without_an_effect() {
    let world = World::new();
    let queued = with(write("1", "a", "x"), "deadline", after(500));
    let answer = in_the_queue(&world, queued, &Stop::new(), || world.clock.advance(500));
    assert_eq!(verdict(&answer), "expired deadline_expired");
    let times = &answer.receipt().times;
    assert!(times.queued.is_some());
    assert_eq!((times.started, times.deadline), (None, Some(start().plus_ms(500))));
    assert!(world.store.with(|state| !state.notes.contains_key("a")));
}

#[test]
fn f8_a_call_cancelled_in_the_queue_has_no_effect() {
    let world = World::new();
    let stop = Stop::new();
    let answer = in_the_queue(&world, write("1", "a", "x"), &stop, || stop.stop());
    assert_eq!(verdict(&answer), "cancelled cancelled");
    assert_eq!(answer.receipt().times.started, None);
    assert!(world.store.with(|state| !state.notes.contains_key("a")));
}

#[test]
fn e6_a_deadline_that_has_passed_already_is_not_a_little_time() {
    let world = World::new();
    world.clock.advance(1_000);
    for (id, ms) in [("1", 0), ("2", 999), ("3", 1_000)] {
        let late = with(write(id, id, "x"), "deadline", after(ms));
        assert_eq!(verdict(&world.call(late)), "expired deadline_expired");
    }
    let in_time = with(write("4", "a", "x"), "deadline", after(1_001));
    assert_eq!(verdict(&world.call(in_time)), "succeeded");
    assert_eq!(world.store.effects(), 1);
}

#[test]
fn e6_a_deadline_is_at_most_what_the_contract_allows() {
    let world = World::new();
    let deadline = |call: Value| world.call(call).receipt().times.deadline.unwrap();
    let far = with(write("1", "a", "x"), "deadline", "9999-01-01T00:00:00.000Z");
    assert_eq!(deadline(far), start().plus_ms(60_000));
    assert_eq!(deadline(write("2", "b", "x")), start().plus_ms(10_000));
    let near = with(write("3", "c", "x"), "deadline", after(7));
    assert_eq!(deadline(near), start().plus_ms(7));
}

#[test]
fn e6_a_run_sees_the_deadline_of_its_call_and_ends_by_it() {
    let world = World::new();
    let answer = thread::scope(|scope| {
        let late = with(wait("1", "a", "x"), "deadline", after(500));
        let call = scope.spawn(|| world.call(late));
        world.store.wait_until(|state| state.inside == 1);
        assert_eq!(world.open_intents(), 1, "the intent is stored before the effect");
        world.clock.advance(500);
        world.store.with(|_| ());
        call.join().unwrap()
    });
    assert_eq!(verdict(&answer), "failed timed_out");
    assert_eq!(error(&answer).message, "0 ms are left");
    assert_eq!(answer.receipt().usage.wall_ms, 500);
    assert_eq!((world.store.effects(), world.open_intents()), (0, 0));
}

#[test]
fn e6_a_retry_does_not_reset_the_deadline() {
    let world = World::new();
    let keyed = |id: &str| with(wait(id, "a", "x"), "idempotency_key", "k");
    let (first, second) = thread::scope(|scope| {
        let first = scope.spawn(|| world.call(with(keyed("1"), "deadline", after(500))));
        world.store.wait_until(|state| state.inside == 1);
        let second = scope.spawn(|| world.call(with(keyed("2"), "deadline", after(50_000))));
        world.store.wait_until(|_| world.journal.waits() > 0);
        world.clock.advance(500);
        world.store.with(|_| ());
        (first.join().unwrap(), second.join().unwrap())
    });
    assert_eq!(verdict(&first), "failed timed_out");
    assert_eq!(second.receipt(), first.receipt());
    assert_eq!(world.store.runs(), 1);
}

#[test]
fn e6_who_waits_for_the_same_effect_waits_until_its_own_deadline() {
    for same_call_id in [false, true] {
        let (world, ended) = (World::new(), AtomicBool::new(false));
        let waiting = thread::scope(|scope| {
            let first = with(wait("1", "a", "x"), "deadline", after(60_000));
            let first = scope.spawn(|| world.call(first));
            world.store.wait_until(|state| state.inside == 1);
            let id = if same_call_id { "1" } else { "2" };
            let second = with(wait(id, "a", "x"), "deadline", after(500));
            let second = scope.spawn(|| {
                let answer = world.call(second);
                ended.store(true, Ordering::SeqCst);
                world.store.with(|_| ());
                answer
            });
            world.store.wait_until(|_| world.journal.waits() > 0);
            world.clock.advance(500);
            // Who overstays its deadline is let go by the end of the effect, and is known by its answer.
            let overstays = || world.journal.waits() > 50;
            world.store.wait_until(|_| ended.load(Ordering::SeqCst) || overstays());
            world.store.release();
            assert_eq!(verdict(&first.join().unwrap()), "succeeded");
            second.join().unwrap()
        });
        assert_eq!(verdict(&waiting), "expired deadline_expired", "same call id: {same_call_id}");
        assert_eq!(error(&waiting).next, Next::RetrySame);
        let again = world.call(wait("1", "a", "x"));
        assert_eq!(verdict(&again), "succeeded", "the refusal did not take the call id");
        assert_eq!(world.store.effects(), 1);
    }
}

#[test]
fn f8_a_call_cancelled_before_it_begins_has_no_effect() {
    let world = World::new();
    let stop = Stop::new();
    stop.stop();
    let answer = world.try_call(write("1", "a", "x"), &stop).unwrap();
    assert_eq!(verdict(&answer), "cancelled cancelled");
    assert_eq!(answer.receipt().times.started, None);
    assert_eq!((world.store.runs(), world.open_intents()), (0, 0));
    assert_eq!(verdict(&world.call(write("2", "a", "x"))), "succeeded", "as its advice says");
}

#[test]
fn f8_a_call_cancelled_during_its_effect_gets_the_receipt_of_what_was_in_flight() {
    let world = World::new();
    let stop = Stop::new();
    let answer = thread::scope(|scope| {
        let call = scope.spawn(|| world.try_call(wait("1", "a", "x"), &stop).unwrap());
        world.store.wait_until(|state| state.inside == 1);
        stop.stop();
        call.join().unwrap()
    });
    assert_eq!(answer.receipt().status, Status::Cancelled);
    assert!(answer.receipt().times.started.is_some(), "it had begun");
    assert_eq!((world.store.effects(), world.open_intents()), (0, 0));
}

#[test]
fn f8_who_is_cancelled_while_another_does_the_same_does_not_cancel_it() {
    let world = World::new();
    let stop = Stop::new();
    let (first, second) = thread::scope(|scope| {
        let first = scope.spawn(|| world.call(wait("1", "a", "x")));
        world.store.wait_until(|state| state.inside == 1);
        let second = scope.spawn(|| world.try_call(wait("2", "a", "x"), &stop).unwrap());
        world.store.wait_until(|_| world.journal.waits() > 0);
        stop.stop();
        let second = second.join().unwrap();
        world.store.release();
        (first.join().unwrap(), second)
    });
    assert_eq!(verdict(&second), "cancelled cancelled");
    assert_eq!(verdict(&first), "succeeded");
    assert_eq!(world.store.effects(), 1);
}

#[test]
fn v8_a_grant_that_ends_while_the_call_is_planned_does_not_let_it_through() {
    let ends = engine::Grant { expires: start().plus_ms(1_000), ..grant() };
    let world = World::with(POLICY, ends);
    world.store.with(|state| state.plans_meet = 2);
    let answer = thread::scope(|scope| {
        let call = scope.spawn(|| world.call(write("1", "a", "x")));
        world.store.wait_until(|state| state.plans == 1);
        world.clock.advance(1_000);
        world.store.with(|state| state.plans += 1);
        call.join().unwrap()
    });
    assert_eq!(verdict(&answer), "denied not_granted");
    assert_eq!(world.store.effects(), 0);
}

#[test]
fn f4_a_call_that_timed_out_before_its_effect_may_be_sent_again_in_time() {
    let world = World::new();
    let answer = world.call(with(wait("1", "a", "x"), "deadline", after(0)));
    assert_eq!(error(&answer).code, Code::DeadlineExpired);
    world.store.release();
    assert_eq!(verdict(&world.call(wait("2", "a", "x"))), "succeeded");
}
