//! How often a call has failed unchanged, and what resets the count (F11).

use crate::calls::{Call, at, call, digest, ledger};
use engine::ports::{Entry, Journal as _, Standing};
use ledger::Ledger;
use wire::contract::EffectClass;
use wire::{Code, Status};

fn standing(ledger: &Ledger) -> Standing {
    ledger.standing("task", "new", None, "patch", &digest("same")).unwrap()
}

fn counts(ledger: &Ledger) -> (u32, u32) {
    let standing = standing(ledger);
    (standing.failed, standing.refused)
}

fn record(ledger: &Ledger, call_id: &str, status: Status) -> Entry {
    let entry = call(call_id).arguments("same").entry(status);
    ledger.record(&entry).unwrap();
    entry
}

#[test]
fn f11_failed_and_refused_repeats_are_counted_apart() {
    let (_folder, ledger) = ledger();
    assert_eq!(counts(&ledger), (0, 0));
    assert_eq!(standing(&ledger).latest, None);
    record(&ledger, "1", Status::Failed);
    record(&ledger, "2", Status::Denied);
    let latest = record(&ledger, "3", Status::Rejected);
    record(&ledger, "4", Status::Cancelled);
    record(&ledger, "5", Status::Expired);
    record(&ledger, "6", Status::Ambiguous);
    assert_eq!(counts(&ledger), (1, 2));
    assert_eq!(standing(&ledger).latest, Some(latest.receipt.receipt_id));
}

#[test]
fn f11_only_the_same_tool_arguments_and_task_count() {
    let (_folder, ledger) = ledger();
    ledger.record(&call("1").arguments("other").entry(Status::Failed)).unwrap();
    let tool = Call { tool: "execute".to_owned(), ..call("2").arguments("same") };
    ledger.record(&tool.entry(Status::Failed)).unwrap();
    let task = Call { task_id: "other".to_owned(), ..call("3").arguments("same") };
    ledger.record(&task.entry(Status::Failed)).unwrap();
    assert_eq!(counts(&ledger), (0, 0));
}

#[test]
fn f11_a_successful_effect_of_the_task_resets_and_a_read_does_not() {
    let (_folder, ledger) = ledger();
    record(&ledger, "1", Status::Failed);
    let read = Call { effect: EffectClass::Read, ..call("2") };
    ledger.record(&read.entry(Status::Succeeded)).unwrap();
    let refused = Call { action: None, ..call("3") };
    ledger.record(&refused.entry(Status::Succeeded)).unwrap();
    let elsewhere = Call { task_id: "other".to_owned(), ..call("4") };
    ledger.record(&elsewhere.entry(Status::Succeeded)).unwrap();
    ledger.record(&call("5").entry(Status::Ambiguous)).unwrap();
    assert_eq!(counts(&ledger), (1, 0));
    ledger.record(&call("6").entry(Status::Partial)).unwrap();
    assert_eq!(counts(&ledger), (0, 0));
    record(&ledger, "7", Status::Failed);
    assert_eq!(counts(&ledger), (1, 0));
    ledger.record(&call("8").entry(Status::Succeeded)).unwrap();
    assert_eq!(counts(&ledger), (0, 0));
}

#[test]
fn f11_refused_repeats_count_until_a_person_looks() {
    let (_folder, ledger) = ledger();
    let repeat = |id: &str, code| Call { error: Some(code), ..call(id) }.entry(Status::Rejected);
    for id in ["1", "2", "3"] {
        ledger.record(&repeat(id, Code::RepeatedCall)).unwrap();
    }
    ledger.record(&repeat("4", Code::RetryStorm)).unwrap();
    ledger.record(&call("5").entry(Status::Succeeded)).unwrap();
    assert_eq!(standing(&ledger).refused_repeats, 3, "a success does not reset them");
    ledger.look("other", at(9)).unwrap();
    assert_eq!(standing(&ledger).refused_repeats, 3);
    ledger.look("task", at(9)).unwrap();
    assert_eq!(standing(&ledger).refused_repeats, 0);
    ledger.record(&repeat("6", Code::RepeatedCall)).unwrap();
    assert_eq!(standing(&ledger).refused_repeats, 1);
}

#[test]
fn e8_a_call_is_known_by_its_id_and_by_its_key() {
    let (_folder, ledger) = ledger();
    let known = |call_id: &str, key: Option<&str>| {
        let standing = ledger.standing("task", call_id, key, "patch", &digest("x")).unwrap();
        let effect = |known: Option<engine::ports::Known>| {
            known.map(|known| (known.logical_effect_id, known.receipt.is_some()))
        };
        (effect(standing.same_call_id), effect(standing.same_key))
    };
    let first = call("1").key("k");
    let effect = |finished| Some(("effect of 1".to_owned(), finished));
    assert_eq!(known("1", Some("k")), (None, None));
    ledger.begin(&first.intent()).unwrap();
    assert_eq!(known("1", Some("k")), (effect(false), effect(false)));
    ledger.record(&first.entry(Status::Succeeded)).unwrap();
    assert_eq!(known("1", None), (effect(true), None));
    assert_eq!(known("2", Some("k")), (None, effect(true)));
}
