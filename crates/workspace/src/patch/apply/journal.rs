//! The journal of file changes: what a patch is about to do, durable before the first file moves.
//!
//! It lies outside the workspace, one folder per workspace, and its lock admits one patch at a time across
//! processes. A record is removed only when nothing of its patch is left to do or to undo.

use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::patch::apply::folder::{Folder, NotStaged, Rights, digest, hex};
use crate::patch::error::{ApplyError, JournalError};
use crate::path::RepoPath;
use crate::root::Workspace;

/// The version of the stored form.
const VERSION: u32 = 1;

/// How long a patch waits for the one before it: this often, this long each time.
const LOCK_TRIES: u32 = 2_000;
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// The largest record that is read back, in bytes.
const MAX_RECORD_BYTES: u64 = 16 << 20;

/// Ends of record names: begun, published, and left for a person.
const BEGUN: &str = ".json";
const PUBLISHED: &str = ".done";
const REPAIR: &str = ".repair";

/// What a patch does, in the order in which it does it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    version: u32,
    /// Missing folders that are made first, outermost first.
    pub(crate) folders: Vec<RepoPath>,
    pub(crate) steps: Vec<Step>,
}

/// One change of one name. Paths are real; `spare` is a name beside the path; digests are SHA-256.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "step", deny_unknown_fields)]
pub(crate) enum Step {
    /// The staged content at `spare` and the one at `path` change places.
    Modify { path: RepoPath, spare: String, before: String, after: String },
    /// The staged content at `spare` gets the free name `path`.
    Add { path: RepoPath, spare: String, after: String },
    /// What is at `path` gets the name `spare`, until the patch is published.
    Remove { path: RepoPath, spare: String, before: String },
    /// What is at `from` gets the free name `to`.
    Move { from: RepoPath, to: RepoPath, digest: String },
    /// What is at `path` gets other permission bits.
    Mode { path: RepoPath, digest: String, before: u32, after: u32 },
}

impl Record {
    pub(crate) fn new(folders: Vec<RepoPath>, steps: Vec<Step>) -> Self {
        Self { version: VERSION, folders, steps }
    }
}

impl Step {
    /// The path that a conflict is reported for.
    pub(crate) fn path(&self) -> &RepoPath {
        match self {
            Self::Modify { path, .. }
            | Self::Add { path, .. }
            | Self::Remove { path, .. }
            | Self::Mode { path, .. } => path,
            Self::Move { from, .. } => from,
        }
    }
}

/// The journal of one workspace, held by this process alone.
#[derive(Debug)]
pub(crate) struct Journal {
    folder: Folder,
    /// Where the folder is, for people.
    shown: String,
    _lock: OwnedFd,
}

/// A record that an earlier process left.
pub(crate) enum Left {
    /// Its patch must be undone.
    Begun(Record),
    /// Its patch was published; only spare names are left.
    Published(Record),
    /// It waits for a person.
    Repair(Record),
}

impl Journal {
    /// Takes the lock of the workspace's journal, beneath the existing directory `journals`.
    pub(crate) fn open(
        workspace: &Workspace,
        journals: &Path,
        stop: &dyn Fn() -> bool,
    ) -> Result<Self, ApplyError> {
        let opened = |errno: Errno| JournalError { doing: "opened", source: errno.into() };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let all = rustix::fs::open(journals, flags, Mode::empty()).map_err(opened)?;
        let key: String = digest(workspace.shown().as_bytes()).chars().take(16).collect();
        Folder::of(all.try_clone().map_err(|source| JournalError { doing: "opened", source })?)
            .make_folder(key.as_bytes(), 0o700)
            .map_err(opened)?;
        let own = rustix::fs::openat(&all, &key, flags, Mode::empty()).map_err(opened)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o600);
        let lock = rustix::fs::openat(&own, c"lock", flags, mode).map_err(opened)?;
        wait_for(&lock, stop)?;
        let shown = journals.join(&key).display().to_string();
        Ok(Self { folder: Folder::of(own), shown, _lock: lock })
    }

    /// A name that no other record has.
    pub(crate) fn new_id() -> Result<String, JournalError> {
        let mut bytes = [0; 8];
        rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
            .map_err(|errno| JournalError { doing: "named", source: errno.into() })?;
        Ok(hex(&bytes))
    }

    /// Makes a record durable.
    pub(crate) fn begin(&self, id: &str, record: &Record) -> Result<(), JournalError> {
        let written = |source| JournalError { doing: "written", source };
        let bytes = serde_json::to_vec(record).map_err(|error| written(error.into()))?;
        // Written under another name first, so that what a crash leaves under a record's name is whole.
        let part = format!("{id}.part");
        let rights = Rights::New { executable: false };
        self.folder.stage(part.as_bytes(), &bytes, &rights).map_err(|error| match error {
            NotStaged::Io(source) => written(source),
            NotStaged::Attribute(unset) => written(unset.errno.into()),
        })?;
        self.rename(&part, &format!("{id}{BEGUN}")).map_err(|errno| written(errno.into()))
    }

    /// From here on the patch has happened.
    pub(crate) fn publish(&self, id: &str) -> Result<(), JournalError> {
        self.rename(&format!("{id}{BEGUN}"), &format!("{id}{PUBLISHED}"))
            .map_err(|errno| JournalError { doing: "closed", source: errno.into() })
    }

    /// Leaves the record for a person; where it is.
    pub(crate) fn leave_for_repair(&self, id: &str) -> Result<String, JournalError> {
        let name = format!("{id}{REPAIR}");
        self.rename(&format!("{id}{BEGUN}"), &name)
            .map_err(|errno| JournalError { doing: "kept", source: errno.into() })?;
        Ok(format!("{}/{name}", self.shown))
    }

    /// Where a record that waits for a person is.
    pub(crate) fn shown(&self, id: &str) -> String {
        format!("{}/{id}{REPAIR}", self.shown)
    }

    /// Removes the record of a patch of which nothing is left.
    pub(crate) fn close(&self, id: &str) -> Result<(), JournalError> {
        for end in [BEGUN, PUBLISHED] {
            self.folder
                .remove(format!("{id}{end}").as_bytes())
                .map_err(|errno| JournalError { doing: "cleaned", source: errno.into() })?;
        }
        Ok(())
    }

    /// The records that earlier processes left, in the order of their names.
    pub(crate) fn left(&self) -> Result<Vec<(String, Left)>, JournalError> {
        let read = |source| JournalError { doing: "read", source };
        let mut all = Vec::new();
        for name in self.folder.names().map_err(|errno| read(errno.into()))? {
            let Ok(name) = String::from_utf8(name) else { continue };
            let (id, kind): (&str, fn(Record) -> Left) = match name.rsplit_once('.') {
                Some((id, "json")) => (id, Left::Begun),
                Some((id, "done")) => (id, Left::Published),
                Some((id, "repair")) => (id, Left::Repair),
                // Never got its name, so nothing was begun.
                Some((_, "part")) => {
                    self.folder.remove(name.as_bytes()).map_err(|errno| read(errno.into()))?;
                    continue;
                }
                _ => continue,
            };
            all.push((id.to_owned(), kind(self.read(&name).map_err(read)?)));
        }
        Ok(all)
    }

    fn read(&self, name: &str) -> std::io::Result<Record> {
        let mut text = Vec::new();
        self.folder.read(name.as_bytes())?.take(MAX_RECORD_BYTES).read_to_end(&mut text)?;
        let record: Record = serde_json::from_slice(&text)?;
        if record.version != VERSION {
            return Err(std::io::Error::other(format!("its version is {}", record.version)));
        }
        Ok(record)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), Errno> {
        self.folder.rename(from.as_bytes(), &self.folder, to.as_bytes())?;
        self.folder.sync()
    }
}

fn wait_for(lock: &OwnedFd, stop: &dyn Fn() -> bool) -> Result<(), ApplyError> {
    for _ in 0..LOCK_TRIES {
        match rustix::fs::flock(lock.as_fd(), FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::AGAIN | Errno::INTR) if stop() => return Err(ApplyError::Stopped),
            Err(Errno::AGAIN | Errno::INTR) => std::thread::sleep(LOCK_PAUSE),
            Err(errno) => {
                return Err(JournalError { doing: "locked", source: errno.into() }.into());
            }
        }
    }
    Err(ApplyError::Busy)
}
