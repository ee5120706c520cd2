//! Many calls, at once and in any sequence: none is lost, none is done twice, each has its own answer (E8, E10,
//! V7).

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use engine::Stop;
use engine::call::Message;
use proptest::prelude::*;
use serde_json::{Value, json};
use wire::{Digest, Receipt, Status};

use crate::support::{World, call, read, shown_result, verdict, verdict_of, wait, with, write};

const THREADS: usize = 32;
const CALLS: usize = 12;

/// What one thread sends, with the text that its result must hold.
fn calls(thread: usize) -> Vec<(Value, String)> {
    let mut calls = Vec::new();
    for n in 0..CALLS {
        let id = format!("{thread}-{n}");
        let (own, shared) = (format!("own {id}"), format!("shared {n}"));
        calls.push((write(&format!("{id} write"), &own, &own), own.clone()));
        calls.push((read(&format!("{id} read"), &own), own));
        let keyed = write(&format!("{id} keyed"), &shared, &shared);
        calls.push((with(keyed, "idempotency_key", shared.as_str()), shared));
    }
    calls
}

#[test]
fn v7_thirty_two_threads_at_once_lose_no_receipt_and_repeat_no_effect() {
    let world = World::new();
    let answered: Vec<(Value, Receipt)> = thread::scope(|scope| {
        let drive_all = |thread| {
            let world = &world;
            move || {
                let drive = |(call, text): (Value, String)| {
                    let answer = world.call(call.clone());
                    assert_eq!(verdict(&answer), "succeeded");
                    assert_eq!(shown_result(&answer)["text"], text, "its own result");
                    (call, answer.receipt().clone())
                };
                calls(thread).into_iter().map(drive).collect::<Vec<_>>()
            }
        };
        let threads: Vec<_> = (0..THREADS).map(|n| scope.spawn(drive_all(n))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(answered.len(), THREADS * CALLS * 3);
    let stored: BTreeMap<_, _> =
        world.receipts().into_iter().map(|receipt| (receipt.receipt_id.clone(), receipt)).collect();
    assert_eq!(
        stored.len(),
        THREADS * CALLS * 2 + CALLS,
        "one receipt for each call or shared key"
    );
    let mut effects_of_key: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (call, receipt) in &answered {
        assert_eq!(stored.get(&receipt.receipt_id), Some(receipt));
        match call["idempotency_key"].as_str() {
            Some(key) => {
                let effects = effects_of_key.entry(key.to_owned()).or_default();
                effects.insert(receipt.receipt_id.to_string());
            }
            None => assert_eq!(call["call_id"], receipt.call_id),
        }
    }
    assert!(effects_of_key.values().all(|effects| effects.len() == 1));
    assert_eq!(effects_of_key.len(), CALLS);
    assert_eq!(world.store.effects(), THREADS * CALLS + CALLS);
    assert_eq!(world.open_intents(), 0);
}

#[test]
fn v7_one_effect_asked_for_by_all_at_once_happens_once() {
    let world = World::new();
    let receipts: BTreeSet<String> = thread::scope(|scope| {
        let ask = |n: usize| {
            let (world, id) = (&world, format!("call {n}"));
            let keyed = with(wait(&id, "a", "x"), "idempotency_key", format!("key {n}"));
            scope.spawn(move || world.call(keyed).receipt().receipt_id.to_string())
        };
        let threads: Vec<_> = (0..THREADS).map(ask).collect();
        world.store.wait_until(|state| state.plans == THREADS && state.inside == 1);
        world.store.wait_until(|_| world.journal.waiters() == THREADS - 1);
        world.store.release();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(receipts.len(), 1, "fresh keys are recognized by their action");
    assert_eq!((world.store.effects(), world.store.runs()), (1, 1));
}

#[test]
fn v7_who_waits_for_another_s_receipt_takes_no_place_from_who_has_work() {
    let world = World::new();
    let places = engine::bounds::EXECUTIONS;
    thread::scope(|scope| {
        for n in 0..=places {
            let (world, same) = (&world, wait(&format!("same {n}"), "a", "x"));
            scope.spawn(move || assert_eq!(verdict(&world.call(same)), "succeeded"));
        }
        world.store.wait_until(|state| state.plans == places + 1 && state.inside == 1);
        world.store.wait_until(|_| world.journal.waiters() == places);
        assert_eq!(verdict(&world.call(write("other", "b", "y"))), "succeeded");
        world.store.release();
    });
    assert_eq!(world.store.effects(), 2);
}

#[test]
fn e10_calls_finish_out_of_order_and_each_is_paired() {
    let world = World::new();
    let slow = thread::scope(|scope| {
        let slow = scope.spawn(|| world.call(wait("slow", "a", "x")));
        world.store.wait_until(|state| state.inside == 1);
        let fast = world.call(write("fast", "b", "y"));
        assert_eq!((fast.receipt().call_id.as_str(), verdict(&fast)), ("fast", "succeeded".into()));
        assert!(!slow.is_finished());
        world.store.release();
        slow.join().unwrap()
    });
    assert_eq!(slow.receipt().call_id, "slow");
    let order: Vec<_> = world.receipts().into_iter().map(|receipt| receipt.call_id).collect();
    assert_eq!(order, ["fast", "slow"]);
}

#[test]
fn v7_a_mixed_crowd_of_good_and_bad_calls_gets_its_own_verdicts() {
    let world = World::new();
    thread::scope(|scope| {
        for n in 0..THREADS {
            let world = &world;
            scope.spawn(move || {
                let session = world.task(&format!("task {n}"));
                let drive = |call: Value| {
                    let message = Message::Value(call);
                    world.drive(&session, message, &Stop::new()).unwrap()
                };
                let path = format!("of {n}");
                assert_eq!(verdict(&drive(write("1", &path, "x"))), "succeeded");
                assert_eq!(verdict(&drive(write("2", ".env", &path))), "denied denied");
                assert_eq!(verdict(&drive(call("3", "x", json!({})))), "rejected unknown_tool");
                let broken = call("4", "defective", json!({ "at": "read" }));
                assert_eq!(drive(broken).receipt().status, Status::Failed);
                assert_eq!(verdict(&drive(read("5", &path))), "succeeded");
            });
        }
    });
    assert_eq!(world.receipts().len(), THREADS * 5);
    assert_eq!(world.store.effects(), THREADS);
}

/// What a task has been answered so far, kept as simply as the requirement is said.
#[derive(Default)]
struct Model {
    by_id: BTreeMap<u8, (u8, Digest)>,
    by_key: BTreeMap<u8, (u8, Digest)>,
    ambiguous: Option<Digest>,
    denied: bool,
    runs: usize,
}

/// What the model expects: a receipt that it knows, or a new one with a verdict.
#[derive(Debug, PartialEq)]
enum Expected {
    Known(Digest),
    New(&'static str),
}

const DENIED: u8 = 2;
const AMBIGUOUS: u8 = 3;

/// Four actions of four tools: two that succeed, one that is denied, one whose end nobody knows.
fn act(action: u8) -> Value {
    match action {
        0 => write("", "a", "x"),
        1 => wait("", "b", "x"),
        DENIED => read("", ".env"),
        _ => call("", "defective", json!({ "at": "write" })),
    }
}

impl Model {
    fn expected(&self, id: u8, key: Option<u8>, action: u8) -> Expected {
        match self.by_id.get(&id) {
            Some((known, receipt)) if *known == action => return Expected::Known(receipt.clone()),
            Some(_) => return Expected::New("rejected call_id_reused"),
            None => {}
        }
        if action == DENIED {
            let repeats = self.denied;
            return Expected::New(if repeats { "rejected repeated_call" } else { "denied denied" });
        }
        match key.and_then(|key| self.by_key.get(&key)) {
            Some((known, receipt)) if *known == action => return Expected::Known(receipt.clone()),
            Some(_) => return Expected::New("rejected idempotency_conflict"),
            None => {}
        }
        match &self.ambiguous {
            Some(receipt) if action == AMBIGUOUS => Expected::Known(receipt.clone()),
            _ if action == AMBIGUOUS => Expected::New("ambiguous internal"),
            _ => Expected::New("succeeded"),
        }
    }

    fn answered(&mut self, id: u8, key: Option<u8>, action: u8, receipt: &Receipt) {
        let answer = (action, receipt.receipt_id.clone());
        match verdict_of(receipt).as_str() {
            "rejected call_id_reused" => return,
            "succeeded" | "ambiguous internal" => {
                if let Some(key) = key.filter(|key| !self.by_key.contains_key(key)) {
                    self.by_key.insert(key, answer.clone());
                }
            }
            _ => {}
        }
        self.by_id.entry(id).or_insert(answer);
    }

    fn step(&mut self, world: &World, (id, key, action): (u8, Option<u8>, u8)) {
        let expected = self.expected(id, key, action);
        let mut proposal = with(act(action), "call_id", format!("call {id}"));
        if let Some(key) = key {
            proposal = with(proposal, "idempotency_key", format!("key {key}"));
        }
        world.clock.advance(1);
        let answer = world.call(proposal);
        let receipt = answer.receipt();
        if let Expected::New(verdict) = expected {
            assert_eq!(verdict_of(receipt), verdict);
            self.runs += usize::from(["succeeded", "ambiguous internal"].contains(&verdict));
            self.denied = verdict != "succeeded" && (self.denied || verdict == "denied denied");
            if verdict == "ambiguous internal" {
                self.ambiguous = Some(receipt.receipt_id.clone());
            }
            self.answered(id, key, action, receipt);
        } else {
            assert_eq!(Expected::Known(receipt.receipt_id.clone()), expected);
            self.by_id.entry(id).or_insert((action, receipt.receipt_id.clone()));
        }
    }
}

#[test]
fn e8_any_sequence_of_calls_is_answered_as_the_model_says() {
    let step = (0..8_u8, prop::option::of(0..3_u8), 0..4_u8);
    let config = ProptestConfig { cases: 150, failure_persistence: None, ..Default::default() };
    proptest!(config, |(steps in prop::collection::vec(step, 1..24))| {
        let (world, mut model) = (World::new(), Model::default());
        world.store.release();
        for step in steps {
            model.step(&world, step);
        }
        prop_assert_eq!(world.store.runs(), model.runs);
        prop_assert_eq!(world.open_intents(), 0);
    });
}
