//! What durability costs: begin and record for one caller and for many, beside fdatasync(2) in the same run.
//!
//! `cargo bench -p chancery-ledger [-- FOLDER]`; the folder decides which disk is measured. Compare only inside a run.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement owns its clock and files, speaks to a person and ends at the first failure"
)]

#[path = "../tests/ledger/calls.rs"]
#[expect(dead_code, reason = "the calls of the tests, of which this needs a part")]
mod calls;

use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use calls::call;
use engine::ports::{Artifacts as _, Journal as _};
use ledger::Ledger;
use wire::Status;

const ROUND: Duration = Duration::from_secs(3);
const CALLERS: usize = 32;

fn main() {
    let place = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let place = place.map_or_else(std::env::temp_dir, Into::into);
    let folder = tempfile::tempdir_in(place).unwrap();
    let ledger = Ledger::open(folder.path(), "bench").unwrap();
    let next = AtomicU64::new(0);
    let fresh = || call(&format!("call_{:08}", next.fetch_add(1, Ordering::Relaxed)));
    let pair = || {
        let call = fresh();
        ledger.begin(&call.intent()).unwrap();
        ledger.record(&call.entry(Status::Succeeded)).unwrap();
    };
    for round in 1..=3 {
        println!("round {round}");
        show("append 4 KiB + fdatasync", &syncs(folder.path()));
        show("begin + record, 1 caller", &repeat(&pair));
        let record = || drop(ledger.record(&fresh().entry(Status::Succeeded)).unwrap());
        show("record alone, 1 caller", &repeat(&record));
        let together: Vec<Duration> = std::thread::scope(|scope| {
            let callers: Vec<_> = (0..CALLERS).map(|_| scope.spawn(|| repeat(&pair))).collect();
            callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
        });
        show("begin + record, 32 callers", &together);
        let look = || {
            let digest = calls::digest("arguments");
            drop(ledger.standing("task", "none", Some("none"), "patch", &digest).unwrap());
        };
        show("standing, 1 caller", &repeat(&look));
        let artifact = || {
            let mut writer = ledger.create().unwrap();
            writer.write(&next.fetch_add(1, Ordering::Relaxed).to_le_bytes().repeat(2048)).unwrap();
            drop(writer.finish("stdout", "text/plain").unwrap());
        };
        show("artifact of 16 KiB, 1 caller", &repeat(&artifact));
    }
    let report = ledger.verify().unwrap();
    println!("{} receipts, sound: {}", report.receipts, report.is_sound());
}

fn syncs(folder: &Path) -> Vec<Duration> {
    let mut file = std::fs::File::create(folder.join("syncs")).unwrap();
    repeat(|| {
        file.write_all(&[7; 4096]).unwrap();
        file.sync_data().unwrap();
    })
}

/// The time of each repetition, for one round.
fn repeat(mut work: impl FnMut()) -> Vec<Duration> {
    let begin = Instant::now();
    let mut times = Vec::new();
    while begin.elapsed() < ROUND {
        let one = Instant::now();
        work();
        times.push(one.elapsed());
    }
    times
}

fn show(what: &str, times: &[Duration]) {
    let mut sorted = times.to_vec();
    sorted.sort();
    let at = |share: usize| sorted.get(sorted.len() * share / 1000).copied().unwrap_or_default();
    let per_s = times.len() as f64 / ROUND.as_secs_f64();
    println!("  {what:<30} {per_s:>9.0}/s   p50 {:>9.1?}   p99 {:>9.1?}", at(500), at(990));
}
