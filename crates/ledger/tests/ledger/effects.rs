//! Which effects may begin, and what stands for those that may not (E8, E10, F9).

use crate::calls::{Call, at, call, digest, ledger, open};
use engine::ports::{Begin, Entry, Journal as _, Recorded};
use ledger::Ledger;
use wire::{Code, Digest, Error, Status};

/// What the journal says, as one line.
fn begin(ledger: &Ledger, call: &Call) -> String {
    let receipt = |digest: &Digest| digest.hex().get(..8).unwrap().to_owned();
    match ledger.begin(&call.intent()).unwrap() {
        Begin::Begun => "begun".to_owned(),
        Begin::Finished(found) => format!("finished {}", receipt(&found.receipt_id)),
        Begin::Running { logical_effect_id } => format!("running {logical_effect_id}"),
        Begin::Unresolved(found) => format!("unresolved {}", receipt(&found.receipt_id)),
        Begin::Conflict(error) => format!("conflict {}", error.code),
    }
}

fn record(ledger: &Ledger, entry: &Entry) -> String {
    match ledger.record(entry).unwrap() {
        Recorded::Stored => entry.receipt.receipt_id.hex().get(..8).unwrap().to_owned(),
        Recorded::Existing(found) => {
            format!("existing {}", found.receipt_id.hex().get(..8).unwrap())
        }
    }
}

fn conflict(ledger: &Ledger, call: &Call) -> Error {
    match ledger.begin(&call.intent()).unwrap() {
        Begin::Conflict(error) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn e8_the_same_key_and_action_is_answered_with_the_first_receipt() {
    let (_folder, ledger) = ledger();
    let first = call("1").key("k").action("a");
    assert_eq!(begin(&ledger, &first), "begun");
    let again = call("2").key("k").action("a");
    assert_eq!(begin(&ledger, &again), "running effect of 1");
    let id = record(&ledger, &first.entry(Status::Succeeded));
    assert_eq!(begin(&ledger, &again), format!("finished {id}"));
    let elsewhere = Call { task_id: "other".to_owned(), ..again };
    assert_eq!(begin(&ledger, &elsewhere), "begun", "a key means something in its task only");
}

#[test]
fn e8_the_same_key_with_another_action_is_a_conflict_that_names_the_first() {
    let (_folder, ledger) = ledger();
    let first = call("1").key("k");
    assert_eq!(begin(&ledger, &first), "begun");
    let other = call("2").key("k");
    let error = conflict(&ledger, &other);
    assert_eq!(error.code, Code::IdempotencyConflict);
    assert_eq!(error.details.get("logical_effect_id").unwrap(), "effect of 1");
    ledger.record(&first.entry(Status::Failed)).unwrap();
    let error = conflict(&ledger, &other);
    let id = first.receipt(Status::Failed).receipt_id;
    assert_eq!(error.details.get("receipt_id").unwrap(), id.as_str());
}

#[test]
fn e8_a_refusal_does_not_hold_its_key() {
    let (_folder, ledger) = ledger();
    let denied = Call { error: Some(Code::ApprovalRequired), ..call("1").key("k") };
    record(&ledger, &denied.entry(Status::Denied));
    let invalid = Call { action: None, ..call("2").key("k") };
    record(&ledger, &invalid.entry(Status::Rejected));
    assert_eq!(begin(&ledger, &call("3").key("k")), "begun");
}

#[test]
fn e8_a_key_is_held_by_a_call_that_ran_without_an_intent() {
    let (_folder, ledger) = ledger();
    let first = call("1").key("k").action("a");
    let id = record(&ledger, &first.entry(Status::Succeeded));
    record(&ledger, &call("2").key("k").action("a").entry(Status::Succeeded));
    assert_eq!(begin(&ledger, &call("3").key("k").action("a")), format!("finished {id}"));
    assert_eq!(begin(&ledger, &call("4").key("k")), "conflict idempotency_conflict");
}

#[test]
fn e8_a_call_id_stands_for_one_action() {
    let (_folder, ledger) = ledger();
    let first = call("1");
    assert_eq!(begin(&ledger, &first), "begun");
    assert_eq!(begin(&ledger, &first), "running effect of 1");
    assert_eq!(begin(&ledger, &call("1").action("b")), "conflict call_id_reused");
    let id = record(&ledger, &first.entry(Status::Succeeded));
    assert_eq!(begin(&ledger, &first), format!("finished {id}"));
    assert_eq!(begin(&ledger, &call("1").action("b")), "conflict call_id_reused");
}

#[test]
fn e8_an_effect_id_stands_for_one_action() {
    let (_folder, ledger) = ledger();
    let first = call("1").action("a");
    let retry =
        |action: &str| Call { effect_id: "effect of 1".to_owned(), ..call("2").action(action) };
    assert_eq!(begin(&ledger, &first), "begun");
    assert_eq!(begin(&ledger, &retry("a")), "running effect of 1");
    assert_eq!(begin(&ledger, &retry("b")), "conflict idempotency_conflict");
    let id = record(&ledger, &first.entry(Status::Failed));
    assert_eq!(begin(&ledger, &retry("a")), format!("finished {id}"));
}

#[test]
fn e8_the_same_action_under_a_fresh_key_waits_for_the_running_one() {
    let (_folder, ledger) = ledger();
    let first = call("1").key("k1").action("a");
    assert_eq!(begin(&ledger, &first), "begun");
    assert_eq!(begin(&ledger, &call("2").key("k2").action("a")), "running effect of 1");
    record(&ledger, &first.entry(Status::Succeeded));
    assert_eq!(begin(&ledger, &call("3").key("k3").action("a")), "begun", "it is over");
}

#[test]
fn e8_an_ambiguous_action_is_not_begun_again_until_it_is_settled() {
    let (_folder, ledger) = ledger();
    let first = call("1").action("a");
    assert_eq!(begin(&ledger, &first), "begun");
    let ambiguous = first.entry(Status::Ambiguous);
    let id = record(&ledger, &ambiguous);
    assert_eq!(begin(&ledger, &call("2").action("a")), format!("unresolved {id}"));
    let still = Call { reconciles: Some(ambiguous.receipt.receipt_id.clone()), ..first.clone() };
    let still = still.entry(Status::Ambiguous);
    let second = record(&ledger, &still);
    assert_eq!(begin(&ledger, &call("2").action("a")), format!("unresolved {second}"));
    let settled = Call { reconciles: Some(still.receipt.receipt_id.clone()), ..first };
    record(&ledger, &settled.entry(Status::Failed));
    assert_eq!(begin(&ledger, &call("2").action("a")), "begun");
}

#[test]
fn e10_a_reconciliation_is_appended_and_found_for_its_effect() {
    let (_folder, ledger) = ledger();
    let first = call("1").key("k");
    begin(&ledger, &first);
    let ambiguous = first.entry(Status::Ambiguous);
    record(&ledger, &ambiguous);
    let settles = |status| {
        let id = ambiguous.receipt.receipt_id.clone();
        Call { reconciles: Some(id), ..first.clone() }.entry(status)
    };
    let settled = settles(Status::Succeeded);
    let id = record(&ledger, &settled);
    let found = ledger.receipt_of_effect("task", "effect of 1").unwrap().unwrap();
    assert_eq!(*found, settled.receipt);
    assert_eq!(begin(&ledger, &first), format!("finished {id}"), "by key");
    let standing = ledger.standing("task", "1", None, "patch", &digest("x")).unwrap();
    assert_eq!(standing.same_call_id.unwrap().receipt.unwrap(), found, "by call id");
    assert_eq!(
        record(&ledger, &settles(Status::Failed)),
        format!("existing {id}"),
        "an effect is settled once"
    );
    assert_eq!(ledger.receipts(&ledger::Filter::default()).unwrap().len(), 2);
}

#[test]
fn e10_a_call_id_is_answered_once() {
    let (_folder, ledger) = ledger();
    let first = call("1");
    begin(&ledger, &first);
    let id = record(&ledger, &first.entry(Status::Succeeded));
    assert_eq!(record(&ledger, &first.entry(Status::Failed)), format!("existing {id}"));
    assert_eq!(record(&ledger, &first.entry(Status::Succeeded)), format!("existing {id}"));
    let refusal = Entry { owns_call_id: false, ..call("1").action("b").entry(Status::Rejected) };
    record(&ledger, &refusal);
    let found = ledger.receipt_of_effect("task", "effect of 1").unwrap().unwrap();
    assert_eq!(found.status, Status::Succeeded, "a refusal beside it does not count");
}

#[test]
fn e10_a_refusal_that_races_a_running_call_does_not_take_its_place() {
    let (_folder, ledger) = ledger();
    let first = call("1");
    begin(&ledger, &first);
    let twin = Call { effect_id: "of the twin".to_owned(), ..call("1") }.entry(Status::Denied);
    record(&ledger, &twin);
    assert_eq!(ledger.open_intents().unwrap().len(), 1, "the running effect is still open");
    let id = record(&ledger, &first.entry(Status::Succeeded));
    assert_eq!(begin(&ledger, &first), format!("finished {id}"));
    assert!(ledger.open_intents().unwrap().is_empty());
}

#[test]
fn e10_a_call_that_was_answered_with_another_receipt_is_known() {
    let (_folder, ledger) = ledger();
    let first = call("1").action("a");
    begin(&ledger, &first);
    let entry = first.entry(Status::Succeeded);
    let id = record(&ledger, &entry);
    ledger.answered_with("task", "2", &entry.receipt.receipt_id).unwrap();
    ledger.answered_with("task", "2", &entry.receipt.receipt_id).unwrap();
    let standing = ledger.standing("task", "2", None, "patch", &digest("x")).unwrap();
    assert_eq!(*standing.same_call_id.unwrap().receipt.unwrap(), entry.receipt);
    assert_eq!(begin(&ledger, &call("2").action("a")), format!("finished {id}"));
    assert_eq!(begin(&ledger, &call("2").action("b")), "conflict call_id_reused");
    assert_eq!(record(&ledger, &call("2").entry(Status::Failed)), format!("existing {id}"));
    assert!(ledger.answered_with("task", "3", &digest("no receipt")).is_err());
}

#[test]
fn f9_open_intents_of_a_runtime_that_ended_go_to_one_other() {
    let folder = tempfile::tempdir().unwrap();
    let lost = open(&folder);
    let calls: Vec<Call> = (0..20).map(|n| call(&n.to_string())).collect();
    for call in &calls {
        assert_eq!(begin(&lost, call), "begun");
    }
    let taker = open(&folder);
    assert!(taker.take_abandoned(100).unwrap().is_empty(), "its runtime is alive");
    assert!(lost.take_abandoned(100).unwrap().is_empty(), "its own are not abandoned");
    drop(lost);
    assert!(taker.open_intents().unwrap().iter().all(|intent| intent.is_abandoned));
    let other = open(&folder);
    let taken: Vec<_> = std::thread::scope(|scope| {
        let takers: Vec<_> = [&taker, &other, &taker, &other]
            .map(|ledger| scope.spawn(|| ledger.take_abandoned(6).unwrap()))
            .into();
        takers.into_iter().flat_map(|taker| taker.join().unwrap()).collect()
    });
    let mut effects: Vec<_> = taken.iter().map(|i| i.call.logical_effect_id.clone()).collect();
    effects.sort();
    effects.dedup();
    assert_eq!((taken.len(), effects.len()), (20, 20), "each was given to one taker");
    let first = calls.first().unwrap();
    assert_eq!(taken.iter().find(|i| i.call.call_id == "0").unwrap(), &first.intent());
    assert!(taker.open_intents().unwrap().iter().all(|intent| !intent.is_abandoned));
    record(&other, &first.entry(Status::Ambiguous));
    assert_eq!(taker.open_intents().unwrap().len(), 19);
}

#[test]
fn f9_the_limit_of_a_take_over_is_kept_and_the_rest_is_found_later() {
    let folder = tempfile::tempdir().unwrap();
    let lost = open(&folder);
    for n in 0..5 {
        begin(&lost, &call(&n.to_string()));
    }
    drop(lost);
    let taker = open(&folder);
    let counts = [2, 0, 2, 9].map(|limit| taker.take_abandoned(limit).unwrap().len());
    assert_eq!(counts, [2, 0, 2, 1]);
}

#[test]
fn f9_what_was_seen_last_outlives_the_runtime() {
    let folder = tempfile::tempdir().unwrap();
    let observation = |path: &str, content: Option<&str>| engine::ports::Observation {
        path: path.to_owned(),
        digest: content.map(digest),
    };
    let ledger = open(&folder);
    let entry = call("1").entry(Status::Succeeded);
    let observed = vec![observation("a", Some("1")), observation("b", Some("2"))];
    record(&ledger, &Entry { observed, ..entry });
    let entry = call("2").entry(Status::Succeeded);
    let observed = vec![observation("b", None), observation("a", Some("3"))];
    record(&ledger, &Entry { observed, ..entry });
    drop(ledger);
    let ledger = open(&folder);
    assert_eq!(ledger.observed("task", "a").unwrap(), Some(digest("3")));
    assert_eq!(ledger.observed("task", "b").unwrap(), None);
    assert_eq!(ledger.observed("other", "a").unwrap(), None);
}

#[test]
fn r3_a_task_keeps_what_its_first_attempt_pinned() {
    let folder = tempfile::tempdir().unwrap();
    let attempt = |id: &str, revision: &str| engine::ports::TaskRecord {
        task_id: "task".to_owned(),
        attempt_id: id.to_owned(),
        registry_revision: digest(revision),
        grant: serde_json::json!({ "capability_id": id }),
        opened: at(0),
    };
    let first = attempt("1", "old");
    assert_eq!(open(&folder).open_task(&first).unwrap(), first);
    let ledger = open(&folder);
    assert_eq!(ledger.open_task(&attempt("2", "new")).unwrap(), first);
    let ids: Vec<_> =
        ledger.attempts("task").unwrap().into_iter().map(|attempt| attempt.attempt_id).collect();
    assert_eq!(ids, ["1", "2"]);
}
