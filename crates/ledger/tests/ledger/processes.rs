//! Many callers and several processes on one state directory (V7, decision 10 of the design).

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use engine::ports::{Begin, Journal, Recorded};
use ledger::{Ledger, OpenError};
use wire::{Digest, Status};

use crate::calls::{Call, call, open};

/// The role that this test binary plays when it is started by one of its own tests.
pub(crate) const ROLE: &str = "CHANCERY_LEDGER_TEST_ROLE";

/// Starts this binary again to run `test` as a child that works in `folder`.
pub(crate) fn start(test: &str, folder: &Path, role: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .env("CHANCERY_LEDGER_TEST_FOLDER", folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The same, where no file may grow past `kib` and a write past that is an error.
pub(crate) fn start_limited(test: &str, folder: &Path, kib: u32) -> Child {
    // An ignored signal stays ignored in the program that is started. `ulimit -f` counts in 512 bytes (POSIX).
    let shell = format!("trap '' XFSZ; ulimit -f {}; exec \"$0\" \"$@\"", kib * 2);
    Command::new("sh")
        .args(["-c", &shell])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(ROLE, "limited")
        .env("CHANCERY_LEDGER_TEST_FOLDER", folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The role and the folder, in a child.
pub(crate) fn role() -> Option<(String, std::path::PathBuf)> {
    let role = std::env::var(ROLE).ok()?;
    Some((role, std::env::var_os("CHANCERY_LEDGER_TEST_FOLDER")?.into()))
}

/// Does the effect if it may begin, else waits for whoever does it; the receipt of the effect.
fn refresh(ledger: &Ledger, call: &Call, done: impl Fn()) -> Digest {
    loop {
        match ledger.begin(&call.intent()).unwrap() {
            Begin::Begun => {
                done();
                let entry = call.entry(Status::Succeeded);
                assert!(matches!(ledger.record(&entry).unwrap(), Recorded::Stored));
                return entry.receipt.receipt_id;
            }
            Begin::Finished(receipt) => return receipt.receipt_id,
            Begin::Running { logical_effect_id } => {
                match ledger.receipt_of_effect("task", &logical_effect_id).unwrap() {
                    Some(receipt) => return receipt.receipt_id,
                    None => ledger.wait_for_news(5),
                }
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn e8_concurrent_duplicates_run_once() {
    let folder = tempfile::tempdir().unwrap();
    let ledgers = [open(&folder), open(&folder)];
    for round in 0..10 {
        let (done, start) = (AtomicUsize::new(0), Barrier::new(16));
        let receipts: BTreeSet<Digest> = std::thread::scope(|scope| {
            let callers: Vec<_> = (0..16)
                .zip(ledgers.iter().cycle())
                .map(|(n, ledger)| {
                    let call = call(&format!("{round}-{n}"));
                    let call = call.key(&round.to_string()).action(&format!("a {round}"));
                    let (done, start) = (&done, &start);
                    scope.spawn(move || {
                        start.wait();
                        refresh(ledger, &call, || {
                            done.fetch_add(1, Ordering::SeqCst);
                        })
                    })
                })
                .collect();
            callers.into_iter().map(|caller| caller.join().unwrap()).collect()
        });
        assert_eq!((done.into_inner(), receipts.len()), (1, 1), "round {round}");
    }
}

#[test]
fn v7_processes_that_refresh_one_effect_get_one_receipt() {
    if let Some((role, folder)) = role() {
        let ledger = Ledger::open(&folder, &role).unwrap();
        println!("\nready");
        std::io::stdin().lock().read_line(&mut String::new()).unwrap();
        for round in 0..20 {
            let call = call(&format!("{round} {role}")).key(&format!("k {round}"));
            let call = call.action(&format!("a {round}"));
            let receipt = refresh(&ledger, &call, || println!("\ndone {round}"));
            println!("\nreceipt {round} {receipt}");
        }
        return;
    }
    let test = "processes::v7_processes_that_refresh_one_effect_get_one_receipt";
    let folder = tempfile::tempdir().unwrap();
    let mut children: Vec<_> = (0..4)
        .map(|n| {
            let mut child = start(test, folder.path(), &n.to_string());
            let output = BufReader::new(child.stdout.take().unwrap());
            (child, output.lines().map(Result::unwrap))
        })
        .collect();
    for (_, lines) in &mut children {
        lines.find(|line| line == "ready").unwrap();
    }
    for (child, _) in &mut children {
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
    }
    let mut said = Vec::new();
    for (mut child, lines) in children {
        said.extend(lines.filter(|line| line.starts_with("done ") || line.starts_with("receipt ")));
        assert!(child.wait().unwrap().success());
    }
    let effects = said.iter().filter(|line| line.starts_with("done")).count();
    let receipts: Vec<_> = said.iter().filter(|line| line.starts_with("receipt")).collect();
    let distinct: BTreeSet<_> = receipts.iter().collect();
    assert_eq!((effects, receipts.len(), distinct.len()), (20, 80, 20));
    let ledger = open(&folder);
    assert!(ledger.open_intents().unwrap().is_empty());
    assert!(ledger.verify().unwrap().is_sound());
}

#[test]
fn v7_a_fresh_directory_may_be_opened_by_many_at_once() {
    for _ in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        let start = Barrier::new(8);
        std::thread::scope(|scope| {
            for n in 0..8 {
                let (folder, start) = (&folder, &start);
                scope.spawn(move || {
                    start.wait();
                    let ledger = open(folder);
                    ledger.begin(&call(&n.to_string()).intent()).unwrap();
                    ledger.record(&call(&n.to_string()).entry(Status::Succeeded)).unwrap();
                });
            }
        });
        let report = open(&folder).verify().unwrap();
        assert!(report.is_sound() && report.receipts == 8, "{report:?}");
    }
}

#[test]
fn e8_callers_on_one_ledger_are_committed_together_and_none_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(&folder);
    std::thread::scope(|scope| {
        for caller in 0..32 {
            let ledger = &ledger;
            scope.spawn(move || {
                for n in 0..20 {
                    let call = call(&format!("{caller}-{n}"));
                    assert!(matches!(ledger.begin(&call.intent()).unwrap(), Begin::Begun));
                    let entry = call.entry(Status::Succeeded);
                    assert!(matches!(ledger.record(&entry).unwrap(), Recorded::Stored));
                }
            });
        }
    });
    let report = ledger.verify().unwrap();
    assert!(report.is_sound() && report.receipts == 640, "{report:?}");
    assert!(ledger.open_intents().unwrap().is_empty());
}

#[test]
fn a_ledger_that_was_closed_is_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(&folder);
    ledger.record(&call("x").entry(Status::Succeeded)).unwrap();
    assert!(ledger.verify().unwrap().is_sound());
    assert!(folder.path().join("ledger.sqlite-wal").exists());
    drop(ledger);
    let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.filter(|name| name.to_string_lossy().starts_with("ledger.")).count(), 1);
}

#[test]
fn a_state_directory_is_private_and_refused_where_others_may_write() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("deep/state");
    drop(Ledger::open(&state, "x").unwrap());
    for path in ["", "artifacts", "artifacts/staging", "runtimes"] {
        let mode = std::fs::metadata(state.join(path)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{path}");
    }
    std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o770)).unwrap();
    let error = Ledger::open(&state, "x").unwrap_err();
    assert!(matches!(error, OpenError::Exposed { mode: 0o770, .. }), "{error}");
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    assert!(matches!(Ledger::open(&file, "x"), Err(OpenError::Files { .. })));
}
