//! A runtime that is killed at any moment loses nothing that it said was stored (V6).

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;

use engine::ports::{Artifacts as _, Begin, Journal as _};
use ledger::{Ledger, Lookup};
use wire::Status;

use crate::calls::{call, open};
use crate::processes::{role, start, start_limited};

const CYCLES: u64 = 60;

/// Four callers; each says what it knows to be stored as soon as it knows it.
fn work_until_killed(ledger: &Ledger, cycle: &str) {
    let say = |line: String| {
        // One write per line, so that a kill leaves whole lines or none.
        let mut out = std::io::stdout().lock();
        out.write_all(format!("\n{line}\n").as_bytes()).unwrap();
        out.flush().unwrap();
    };
    std::thread::scope(|scope| {
        for caller in 0..4 {
            let say = &say;
            scope.spawn(move || {
                for n in 0_u64.. {
                    let call = call(&format!("{cycle}-{caller}-{n}"));
                    assert!(matches!(ledger.begin(&call.intent()).unwrap(), Begin::Begun));
                    say(format!("intent {}", call.effect_id));
                    let entry = call.entry(Status::Succeeded);
                    ledger.record(&entry).unwrap();
                    say(format!("receipt {} {}", entry.receipt.receipt_id, call.effect_id));
                }
            });
        }
    });
}

#[test]
fn v6_kill_at_any_moment_loses_no_acknowledged_receipt() {
    if let Some((cycle, folder)) = role() {
        work_until_killed(&Ledger::open(&folder, "child").unwrap(), &cycle);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (mut receipts, mut abandoned) = (0, 0);
    for cycle in 0..CYCLES {
        let said = kill_at_some_moment(folder.path(), cycle);
        let (left, told) = check_after_kill(&folder, &said);
        (abandoned, receipts) = (abandoned + left, receipts + told);
    }
    let report = open(&folder).verify().unwrap();
    assert!(report.is_sound(), "{report:?}");
    println!(
        "{CYCLES} kills: {receipts} acknowledged receipts, {abandoned} open intents, none lost"
    );
    assert!(receipts > 0 && abandoned > 0, "the kills came too early or too late");
}

#[test]
fn v6_a_disk_that_refuses_writes_is_an_error_and_loses_no_acknowledged_receipt() {
    if let Some((_, folder)) = role() {
        work_until_refused(&Ledger::open(&folder, "child").unwrap());
        return;
    }
    let test = "crash::v6_a_disk_that_refuses_writes_is_an_error_and_loses_no_acknowledged_receipt";
    let folder = tempfile::tempdir().unwrap();
    let mut child = start_limited(test, folder.path(), 1024);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let said: Vec<String> = lines.collect();
    assert!(child.wait().unwrap().success(), "{said:?}");
    assert!(said.iter().any(|line| line == "artifact refused"), "{said:?}");
    assert!(said.iter().any(|line| line == "receipt refused"), "{said:?}");
    let ledger = open(&folder);
    let mut told = 0;
    for id in said.iter().filter_map(|line| line.strip_prefix("stored ")) {
        assert!(matches!(ledger.receipt(id).unwrap(), Lookup::Found(_)), "lost: {id}");
        told += 1;
    }
    assert!(told > 10, "{told}");
    assert!(ledger.verify().unwrap().is_sound());
    ledger.record(&call("afterwards").entry(Status::Succeeded)).unwrap();
}

fn work_until_refused(ledger: &Ledger) {
    let mut writer = ledger.create().unwrap();
    assert!(writer.write(&vec![7; 8 << 20]).is_err());
    assert!(writer.write(b"more").is_err(), "a writer that failed stays failed");
    assert!(writer.finish("stdout", "text/plain").is_err());
    println!("\nartifact refused");
    let big = "x".repeat(20_000);
    let refused = (0..200).find_map(|n| {
        let entry = call(&n.to_string()).arguments(&big).entry(Status::Succeeded);
        let failed = ledger.record(&entry).err();
        if failed.is_none() {
            println!("\nstored {}", entry.receipt.receipt_id);
        }
        failed
    });
    assert!(refused.is_some(), "the limit was never reached");
    let entry = call("big").arguments(&big.repeat(60)).entry(Status::Succeeded);
    assert!(ledger.record(&entry).is_err(), "it goes on refusing what does not fit");
    println!("\nreceipt refused");
}

/// Everything that the child said before it was killed: after a counted line, and every second time only once the
/// next commit has reached the log, so that kills fall between commits and into them.
fn kill_at_some_moment(folder: &Path, cycle: u64) -> Vec<String> {
    let test = "crash::v6_kill_at_any_moment_loses_no_acknowledged_receipt";
    let mut child = start(test, folder, &cycle.to_string());
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let spread = (cycle + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    let wanted = usize::try_from(spread % 40).unwrap();
    let mut said: Vec<String> = lines
        .by_ref()
        .filter(|line| line.starts_with("intent ") || line.starts_with("receipt "))
        .take(1 + wanted)
        .collect();
    // Read on, so that the child never waits for room in the pipe.
    let rest = std::thread::spawn(move || lines.collect::<Vec<String>>());
    if cycle.is_multiple_of(2) {
        let log = folder.join("ledger.sqlite-wal");
        let state = || std::fs::metadata(&log).map(|log| (log.len(), log.modified().unwrap()));
        let before = state().unwrap();
        while state().unwrap() == before {
            assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    said.extend(rest.join().unwrap());
    said
}

/// How many intents were found open, and how many receipts had been acknowledged.
fn check_after_kill(folder: &tempfile::TempDir, said: &[String]) -> (usize, usize) {
    let [one, other] = [open(folder), open(folder)];
    let open: BTreeSet<String> =
        one.open_intents().unwrap().into_iter().map(|intent| intent.logical_effect_id).collect();
    let taken: Vec<_> = std::thread::scope(|scope| {
        let takers = [&one, &other].map(|l| scope.spawn(|| l.take_abandoned(usize::MAX).unwrap()));
        takers.into_iter().flat_map(|taker| taker.join().unwrap()).collect()
    });
    let effects: BTreeSet<_> = taken.iter().map(|i| i.call.logical_effect_id.clone()).collect();
    assert_eq!(taken.len(), open.len(), "each open intent is given once");
    assert_eq!(effects, open);
    let mut told = 0;
    for line in said {
        if let Some((id, _)) = line.strip_prefix("receipt ").and_then(|rest| rest.split_once(' ')) {
            assert!(matches!(one.receipt(id).unwrap(), Lookup::Found(_)), "lost: {line}");
            told += 1;
        } else if let Some(effect) = line.strip_prefix("intent ") {
            let receipt = one.receipt_of_effect("task", effect).unwrap();
            assert!(receipt.is_some() != open.contains(effect), "lost or in two states: {line}");
        }
    }
    for intent in &taken {
        let call = call(&intent.call.call_id);
        assert_eq!(call.intent(), *intent);
        one.record(&call.entry(Status::Ambiguous)).unwrap();
    }
    assert!(one.open_intents().unwrap().is_empty());
    (taken.len(), told)
}
