//! Content by its digest: whole or not there, and memory that stays flat (E7).

use std::fs;
use std::path::{Path, PathBuf};

use engine::ports::{ArtifactWriter, Artifacts as _, Journal as _};
use ledger::Ledger;
use wire::{Digest, Status};

use crate::calls::{call, digest, ledger, open};

fn store(ledger: &Ledger, content: &[u8]) -> Digest {
    let mut writer = ledger.create().unwrap();
    writer.write(content).unwrap();
    let artifact = writer.finish("stdout", "text/plain").unwrap();
    assert_eq!(artifact.size_bytes, content.len() as u64);
    assert_eq!(artifact.digest, Digest::of_bytes(content));
    artifact.digest
}

fn place(folder: &Path, digest: &Digest) -> PathBuf {
    let (head, tail) = digest.hex().split_at(2);
    folder.join("artifacts/sha256").join(head).join(tail)
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

fn peak_memory_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn e7_content_is_stored_once_under_its_digest_and_read_by_range() {
    let (folder, ledger) = ledger();
    let content = b"0123456789".repeat(300_000);
    let address = store(&ledger, &content);
    assert_eq!(store(&ledger, &content), address);
    assert_eq!(files(&folder.path().join("artifacts")), [place(folder.path(), &address)]);
    assert_eq!(ledger.read(&address, 0, u64::MAX).unwrap().unwrap(), content);
    let range = |start, max| ledger.read(&address, start, max).unwrap().unwrap();
    assert_eq!(range(5, 3), b"567");
    assert_eq!(range(2_999_998, 9), b"89");
    assert_eq!(range(3_000_000, 9), b"");
    assert_eq!(range(u64::MAX, u64::MAX), b"");
    assert_eq!(range(0, 0), b"");
    assert_eq!(ledger.read(&digest("none"), 0, 9).unwrap(), None);
}

#[test]
fn e7_content_of_any_size_around_the_part_is_whole() {
    let (_folder, ledger) = ledger();
    for size in [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20] {
        let content: Vec<u8> = (0..size).map(|n: u32| n.to_le_bytes()[1] ^ 0x5a).collect();
        let address = store(&ledger, &content);
        assert_eq!(ledger.read(&address, 0, u64::MAX).unwrap().unwrap(), content, "{size}");
    }
}

#[test]
fn e7_a_dropped_writer_leaves_nothing() {
    let (folder, ledger) = ledger();
    for bytes in [0, 10, 5 << 20] {
        let mut writer = ledger.create().unwrap();
        writer.write(&vec![7; bytes]).unwrap();
    }
    assert_eq!(files(&folder.path().join("artifacts")), Vec::<PathBuf>::new());
}

#[test]
fn e7_what_a_killed_runtime_left_unfinished_is_swept_and_what_lives_is_not() {
    let (folder, ledger) = ledger();
    let staging = folder.path().join("artifacts/staging");
    let dead = staging.join("01890a5d-ac96-774b-bcce-b302099a8057");
    fs::create_dir(&dead).unwrap();
    fs::write(dead.join("0#1"), "half").unwrap();
    let mut writer = ledger.create().unwrap();
    writer.write(&vec![7; 2 << 20]).unwrap();
    let other = open(&folder);
    assert!(!dead.exists());
    drop(other);
    drop(ledger);
    drop(open(&folder));
    let artifact = writer.finish("stdout", "text/plain").unwrap();
    assert!(place(folder.path(), &artifact.digest).exists(), "a writer outlives its ledger");
    assert_eq!(fs::read_dir(staging).unwrap().count(), 0);
}

#[test]
fn e7_damaged_content_is_an_error_and_storing_it_again_heals_it() {
    let (folder, ledger) = ledger();
    let address = store(&ledger, b"what was printed");
    fs::write(place(folder.path(), &address), "what was PRINTED").unwrap();
    let error = ledger.read(&address, 0, u64::MAX).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
    fs::write(place(folder.path(), &address), "").unwrap();
    assert!(ledger.read(&address, 0, 5).is_err(), "an empty file is the whole content");
    store(&ledger, b"what was printed");
    assert_eq!(ledger.read(&address, 0, 4).unwrap().unwrap(), b"what");
}

#[test]
fn e7_memory_does_not_grow_with_the_content() {
    let (folder, ledger) = ledger();
    let piece: Vec<u8> = (0..64 * 1024_u32).map(|n| n.to_le_bytes()[0]).collect();
    let before_kib = peak_memory_kib();
    let mut writer = ledger.create().unwrap();
    for _ in 0..200 * 16 {
        writer.write(&piece).unwrap();
    }
    let artifact = writer.finish("stdout", "application/octet-stream").unwrap();
    let grown_kib = peak_memory_kib() - before_kib;
    assert_eq!(artifact.size_bytes, 200 << 20);
    assert_eq!(fs::metadata(place(folder.path(), &artifact.digest)).unwrap().len(), 200 << 20);
    assert!(grown_kib < 32 * 1024, "grew by {grown_kib} KiB");
}

#[test]
fn e7_receipts_name_their_artifacts() {
    let (folder, ledger) = ledger();
    let mut writer: Box<dyn ArtifactWriter> = ledger.create().unwrap();
    writer.write(b"x").unwrap();
    let artifact = writer.finish("stdout", "text/plain").unwrap();
    let mut entry = call("1").entry(Status::Succeeded);
    entry.receipt.artifacts = vec![artifact.clone(), artifact.clone()];
    entry.receipt = entry.receipt.seal().unwrap();
    ledger.record(&entry).unwrap();
    let outside = rusqlite::Connection::open(folder.path().join("ledger.sqlite")).unwrap();
    let named: (String, String) = outside
        .query_row("SELECT digest, name FROM artifacts WHERE receipt = 1", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    assert_eq!(named, (artifact.digest.to_string(), "stdout".to_owned()));
}

#[test]
fn e7_content_is_stored_from_inside_an_async_runtime_too() {
    let (_folder, ledger) = ledger();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let content = b"0123456789".repeat(300_000);
    runtime.block_on(async {
        let address = store(&ledger, &content);
        assert_eq!(ledger.read(&address, 0, u64::MAX).unwrap().unwrap(), content);
        let mut dropped = ledger.create().unwrap();
        dropped.write(&content).unwrap();
    });
}

#[test]
fn c2_an_artifact_is_kept_for_its_workspace_only() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(&folder);
    let mut writer = ledger.create().unwrap();
    writer.write(b"content").unwrap();
    let artifact = writer.finish("stdout", "text/plain").unwrap();
    let mut entry = call("1").entry(Status::Succeeded);
    entry.receipt.artifacts = vec![artifact.clone()];
    entry.receipt = entry.receipt.seal().unwrap();
    let receipt = &entry.receipt;
    let attempt = engine::ports::TaskRecord {
        task_id: receipt.task_id.clone(),
        attempt_id: receipt.attempt_id.clone(),
        registry_revision: receipt.registry_revision.clone(),
        grant: serde_json::json!({ "workspace": "/here" }),
        opened: receipt.times.received,
    };
    ledger.open_task(&attempt).unwrap();
    assert!(!ledger.keeps_for("/here", &artifact.digest).unwrap(), "no receipt names it yet");
    ledger.record(&entry).unwrap();
    assert!(ledger.keeps_for("/here", &artifact.digest).unwrap());
    assert!(!ledger.keeps_for("/there", &artifact.digest).unwrap());
}
