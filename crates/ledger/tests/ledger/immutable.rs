//! A stored receipt stays as it is, and damage shows (E7).

use crate::calls::{call, ledger, open};
use engine::ports::Journal as _;
use rusqlite::Connection;
use wire::Status;

#[test]
fn e7_a_stored_receipt_cannot_be_changed_or_removed() {
    let (folder, ledger) = ledger();
    let one = call("1").key("k");
    ledger.begin(&one.intent()).unwrap();
    ledger.record(&one.entry(Status::Ambiguous)).unwrap();
    ledger.answered_with("task", "2", &one.receipt(Status::Ambiguous).receipt_id).unwrap();
    drop(ledger);
    let outside = Connection::open(folder.path().join("ledger.sqlite")).unwrap();
    let columns = "task_id, call_id, attempt_id, logical_effect_id, tool, arguments_digest,
        received_unix_ms, finished_unix_ms, planner_bytes, planner_tokens, receipt_json";
    let replace = |id: &str, more: &str, values: &str| {
        format!(
            "INSERT OR REPLACE INTO receipts (receipt_id, status, owns_call_id, owns_key, {columns} {more})
             SELECT {id}, 'succeeded', {values}, {columns} {more} FROM receipts WHERE sequence = 1"
        )
    };
    let refused = [
        "UPDATE receipts SET status = 'succeeded'".to_owned(),
        "UPDATE OR REPLACE receipts SET receipt_json = '{}'".to_owned(),
        "DELETE FROM receipts".to_owned(),
        replace("receipt_id", "", "0, 0"),
        replace("'x'", ", sequence", "0, 0"),
        replace("'x'", "", "1, 0"),
        replace("'x'", ", idempotency_key", "0, 1"),
        "DELETE FROM intents".to_owned(),
        "UPDATE intents SET tool = 'x'".to_owned(),
        "DELETE FROM answered".to_owned(),
        "UPDATE answered SET call_id = 'x'".to_owned(),
    ];
    for sql in refused {
        let error = outside.execute(&sql, []).unwrap_err().to_string();
        assert!(error.contains(" is never "), "{sql}: {error}");
    }
    drop(outside);
    let report = open(&folder).verify().unwrap();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(report.receipts, 1);
}

#[test]
fn e7_verify_finds_what_was_changed_behind_the_ledger() {
    let (folder, ledger) = ledger();
    for n in 0..6 {
        ledger.record(&call(&n.to_string()).entry(Status::Failed)).unwrap();
    }
    assert!(ledger.verify().unwrap().is_sound());
    let outside = Connection::open(folder.path().join("ledger.sqlite")).unwrap();
    outside
        .execute_batch(
            "DROP TRIGGER receipts_are_not_changed; DROP TRIGGER receipts_are_not_removed;
             UPDATE receipts SET receipt_json = replace(receipt_json, 'failed', 'denied') WHERE sequence = 1;
             UPDATE receipts SET status = 'succeeded' WHERE sequence = 2;
             UPDATE receipts SET receipt_json = ' ' || receipt_json WHERE sequence = 3;
             UPDATE receipts SET receipt_json = '{' WHERE sequence = 4;
             DELETE FROM receipts WHERE sequence = 5;",
        )
        .unwrap();
    let report = ledger.verify().unwrap();
    let found: Vec<_> = report.broken.iter().map(|b| (b.sequence, b.reason.as_str())).collect();
    let expected = [
        (1, "does not fit the receipt id"),
        (2, "the column `status`"),
        (3, "does not fit the receipt id"),
        (4, "cannot be read"),
        (5, "was removed"),
    ];
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for ((sequence, reason), (wanted, part)) in found.into_iter().zip(expected) {
        assert!(sequence == wanted && reason.contains(part), "{sequence} {reason}");
    }
}

#[test]
fn e7_numbers_in_a_receipt_come_back_digit_by_digit() {
    let (_folder, ledger) = ledger();
    let numbers: Vec<f64> = (1..400_u32)
        .map(|n| {
            f64::from(n) * 0.1 + 1.0 / f64::from(n).powi(7) + f64::from(n).exp().fract() * 1e-9
        })
        .chain([
            5e-324,
            f64::MAX,
            1.797_693_134_862_315_7e308,
            0.1 + 0.2,
            2.225_073_858_507_201_4e-308,
        ])
        .collect();
    let mut entry = call("1").entry(Status::Succeeded);
    let mut result = serde_json::Map::new();
    result.insert("numbers".to_owned(), serde_json::json!(numbers));
    entry.receipt.result = Some(result);
    entry.receipt = entry.receipt.seal().unwrap();
    ledger.record(&entry).unwrap();
    assert!(ledger.verify().unwrap().is_sound());
    let found = ledger.receipt_of_effect("task", "effect of 1").unwrap().unwrap();
    assert!(found.is_intact().unwrap());
    assert_eq!(found.receipt_id, entry.receipt.receipt_id);
}
