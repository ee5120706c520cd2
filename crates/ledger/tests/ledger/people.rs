//! What people ask of the ledger (E12, O1, D3).

use crate::calls::{Call, at, call, digest, ledger};
use engine::ports::{Entry, Journal as _};
use ledger::{ContextCost, Filter, Ledger, Lookup};
use wire::{Receipt, Status, Timestamp};

fn ids(ledger: &Ledger, filter: &Filter) -> Vec<String> {
    ledger.receipts(filter).unwrap().into_iter().map(|receipt| receipt.call_id).collect()
}

fn finished(call: &Call, status: Status, at: Timestamp) -> Entry {
    let mut entry = call.entry(status);
    entry.receipt.times.finished = at;
    Entry { receipt: entry.receipt.seal().unwrap(), ..entry }
}

#[test]
fn o1_receipts_are_found_by_any_part_of_the_filter_newest_first() {
    let (_folder, ledger) = ledger();
    let tool = Call { tool: "execute".to_owned(), ..call("3").arguments(r#"say "50%_off\""#) };
    ledger.record(&finished(&call("1"), Status::Succeeded, at(10))).unwrap();
    ledger.record(&finished(&call("2"), Status::Failed, at(20))).unwrap();
    ledger.record(&finished(&tool, Status::Failed, at(30))).unwrap();
    let task = Call { task_id: "other".to_owned(), ..call("4") };
    ledger.record(&finished(&task, Status::Denied, at(40))).unwrap();
    let none = Filter::default;
    let text = |text: &str| Filter { text: Some(text.to_owned()), ..none() };
    let cases = [
        (none(), "4 3 2 1"),
        (Filter { task: Some("task".into()), ..none() }, "3 2 1"),
        (Filter { tool: Some("patch".into()), ..none() }, "4 2 1"),
        (Filter { status: Some(Status::Failed), ..none() }, "3 2"),
        (Filter { since: Some(at(20)), ..none() }, "4 3 2"),
        (Filter { since: Some(at(20)), tool: Some("patch".into()), limit: 1, ..none() }, "4"),
        (Filter { limit: 0, ..none() }, ""),
        (text("ARGUMENTS OF 2"), "2"),
        (text(r#""50%_off\""#), "3"),
        (text("50%off"), ""),
        (text("'"), ""),
        (text(""), "4 3 2 1"),
    ];
    for (filter, expected) in cases {
        assert_eq!(ids(&ledger, &filter).join(" "), expected, "{filter:?}");
    }
}

#[test]
fn o1_pages_join_without_a_gap_even_when_receipts_come_in_between() {
    let (_folder, ledger) = ledger();
    let record = |n: u32| ledger.record(&call(&n.to_string()).entry(Status::Failed)).unwrap();
    (0..25).for_each(|n| drop(record(n)));
    let mut seen = Vec::new();
    let mut before = None;
    loop {
        let page = ledger.receipts(&Filter { limit: 10, before, ..Filter::default() }).unwrap();
        let Some(last) = page.last() else { break };
        before = Some(last.receipt_id.clone());
        seen.extend(page.iter().map(|receipt| receipt.call_id.parse::<u32>().unwrap()));
        record(100 + u32::try_from(seen.len()).unwrap());
    }
    assert_eq!(seen, (0..25).rev().collect::<Vec<_>>());
}

#[test]
fn o1_a_receipt_is_found_by_the_beginning_of_its_id() {
    let (_folder, ledger) = ledger();
    let receipts: Vec<Receipt> = (0..40)
        .map(|n| {
            let entry = call(&n.to_string()).entry(Status::Failed);
            ledger.record(&entry).unwrap();
            entry.receipt
        })
        .collect();
    let first = receipts.first().unwrap();
    let found = Lookup::Found(Box::new(first.clone()));
    let hex = first.receipt_id.hex();
    assert_eq!(ledger.receipt(first.receipt_id.as_str()).unwrap(), found);
    assert_eq!(ledger.receipt(hex).unwrap(), found);
    assert_eq!(ledger.receipt(&hex.split_at(16).0.to_uppercase()).unwrap(), found);
    for nothing in ["", "sha256:", "%", "xyz", &digest("none").to_string()] {
        assert_eq!(ledger.receipt(nothing).unwrap(), Lookup::None, "{nothing}");
    }
    let several = (0..16).filter(|n| {
        matches!(ledger.receipt(&format!("{n:x}")).unwrap(), Lookup::Ambiguous(ids) if ids.len() > 1)
    });
    assert!(several.count() > 0, "40 ids share some first digits");
    assert_eq!(
        ledger.arguments(&first.receipt_id).unwrap().unwrap(),
        serde_json::json!({ "text": "arguments of 0" })
    );
    assert_eq!(ledger.arguments(&digest("none")).unwrap(), None);
}

#[test]
fn e12_the_context_cost_is_summed_by_tool_with_repeated_answers() {
    let (_folder, ledger) = ledger();
    let entry = call("1").entry(Status::Succeeded);
    ledger.record(&entry).unwrap();
    ledger.record(&Call { tool: "read".to_owned(), ..call("2") }.entry(Status::Failed)).unwrap();
    ledger
        .record(&Call { task_id: "other".to_owned(), ..call("3") }.entry(Status::Failed))
        .unwrap();
    ledger.answered_with("task", "4", &entry.receipt.receipt_id).unwrap();
    let cost = |tool: &str, calls| ContextCost {
        tool: tool.to_owned(),
        calls,
        planner_bytes: 100 * calls,
        planner_tokens: 25 * calls,
    };
    assert_eq!(ledger.context_cost("task").unwrap(), [cost("patch", 2), cost("read", 1)]);
    assert_eq!(ledger.context_cost("none").unwrap(), []);
}

#[test]
fn o1_open_intents_name_their_runtime() {
    let (_folder, ledger) = ledger();
    ledger.begin(&call("1").intent()).unwrap();
    let open = ledger.open_intents().unwrap();
    let intent = open.first().unwrap();
    assert_eq!((open.len(), intent.runtime_name.as_str()), (1, "test/1"));
    assert_eq!((intent.tool.as_str(), intent.started), ("patch", at(1)));
    assert!(!intent.is_abandoned);
}
