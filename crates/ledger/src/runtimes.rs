//! Which runtimes are alive. A living runtime holds an exclusive lock on `runtimes/<runtime id>.lock` until it ends;
//! the kernel lets go of it however it ends. A missing file means that the runtime is gone.
//!
//! It never takes an exclusive lock on another runtime's file: two that ask at once would each see the other.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use uuid::Uuid;

/// This runtime, alive while the value is.
#[derive(Debug)]
pub(crate) struct Runtime {
    /// UUID version 7.
    pub(crate) id: String,
    /// For people.
    pub(crate) name: String,
    /// When it started, as its id tells.
    pub(crate) started_unix_ms: i64,
    lock: PathBuf,
    staging: PathBuf,
    _held: File,
}

impl Runtime {
    /// Makes an id and holds its lock; its own folder for unfinished artifacts exists from then on.
    pub(crate) fn start(runtimes: &Path, staging: &Path, name: &str) -> io::Result<Runtime> {
        let uuid = Uuid::now_v7();
        let id = uuid.to_string();
        let lock = lock_of(runtimes, &id);
        let held = hold(&lock)?;
        let staging = staging.join(&id);
        DirBuilder::new().mode(0o700).create(&staging)?;
        let started = uuid.get_timestamp().map_or((0, 0), |time| time.to_unix());
        let started_ms = started.0.saturating_mul(1000) + u64::from(started.1 / 1_000_000);
        Ok(Runtime {
            id,
            name: name.to_owned(),
            started_unix_ms: i64::try_from(started_ms).unwrap_or(i64::MAX),
            lock,
            staging,
            _held: held,
        })
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // What cannot be removed here is removed by the next one that opens the ledger.
        drop(fs::remove_dir_all(&self.staging));
        drop(fs::remove_file(&self.lock));
    }
}

/// Whether a runtime has ended.
pub(crate) fn is_gone(runtimes: &Path, id: &str) -> io::Result<bool> {
    if Uuid::parse_str(id).is_err() {
        return Ok(false);
    }
    let file = match File::open(lock_of(runtimes, id)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
    };
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Removes what runtimes that have ended left behind: their lock files and unfinished artifacts.
pub(crate) fn sweep(runtimes: &Path, staging: &Path) -> io::Result<()> {
    let mut ids = Vec::new();
    for entry in fs::read_dir(staging)?.chain(fs::read_dir(runtimes)?) {
        let name = entry?.file_name();
        let Some(name) = name.to_str() else { continue };
        ids.push(name.strip_suffix(".lock").unwrap_or(name).to_owned());
    }
    for id in ids {
        if is_gone(runtimes, &id)? {
            ignore_missing(fs::remove_dir_all(staging.join(&id)))?;
            ignore_missing(fs::remove_file(lock_of(runtimes, &id)))?;
        }
    }
    Ok(())
}

fn lock_of(runtimes: &Path, id: &str) -> PathBuf {
    runtimes.join(format!("{id}.lock"))
}

fn hold(path: &Path) -> io::Result<File> {
    loop {
        let file = File::options().create(true).append(true).mode(0o600).open(path)?;
        rustix::io::retry_on_intr(|| flock(&file, FlockOperation::LockExclusive))?;
        // A sweep may have seen the file before it was locked, and have removed it.
        match fs::metadata(path) {
            Ok(found) if found.ino() == file.metadata()?.ino() => return Ok(file),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
}

fn ignore_missing(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let whole = tempfile::tempdir().unwrap();
        let [runtimes, staging] = ["runtimes", "staging"].map(|name| whole.path().join(name));
        fs::create_dir_all(&runtimes).unwrap();
        fs::create_dir_all(&staging).unwrap();
        (whole, runtimes, staging)
    }

    #[test]
    fn a_runtime_is_alive_until_it_ends() {
        let (_whole, runtimes, staging) = folders();
        let runtime = Runtime::start(&runtimes, &staging, "x").unwrap();
        let id = runtime.id.clone();
        assert!(!is_gone(&runtimes, &id).unwrap());
        assert!(!is_gone(&runtimes, "../x").unwrap(), "a strange id is never called gone");
        drop(runtime);
        assert!(is_gone(&runtimes, &id).unwrap());
        assert_eq!(fs::read_dir(&runtimes).unwrap().count(), 0);
        assert_eq!(fs::read_dir(&staging).unwrap().count(), 0);
    }

    #[test]
    fn a_sweep_takes_only_what_the_dead_left() {
        let (_whole, runtimes, staging) = folders();
        let dead = Uuid::now_v7().to_string();
        fs::write(lock_of(&runtimes, &dead), "").unwrap();
        fs::create_dir(staging.join(&dead)).unwrap();
        fs::write(staging.join(&dead).join("half#1"), "half").unwrap();
        let alive = Runtime::start(&runtimes, &staging, "x").unwrap();
        sweep(&runtimes, &staging).unwrap();
        assert!(!staging.join(&dead).exists() && !lock_of(&runtimes, &dead).exists());
        assert!(staging.join(&alive.id).exists() && lock_of(&runtimes, &alive.id).exists());
    }
}
