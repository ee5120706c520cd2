//! What the engine asks of a machine: time, a journal, a place for artifacts, someone to tell about progress.
//!
//! The engine names no storage and no clock; the ledger and the binary bring them, and so does [`crate::memory`]
//! for tests and embedding without a disk.

use std::io;

use wire::receipt::{Artifact, Decision, NormalizedAction};
use wire::{Code, Digest, Error, Receipt, Timestamp, ToolCall};

/// Time. One reading is used for one decision.
pub trait Clock: Send + Sync {
    /// The time of day.
    fn now(&self) -> Timestamp;
}

/// The ledger did not do what was asked; nothing may be answered on the strength of it.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the ledger failed to {doing}: {reason}")]
pub struct JournalError {
    /// What was being done, such as `store a receipt`.
    pub doing: &'static str,
    /// What the storage said.
    pub reason: String,
}

/// An effect that is about to happen, stored before it does.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Intent {
    /// The whole envelope; redacted arguments stand as their digests.
    pub call: ToolCall,
    /// Digest of the arguments as sent.
    pub arguments_digest: Digest,
    /// What is about to be done.
    pub action: NormalizedAction,
    /// The decision that allows it.
    pub decision: Decision,
    /// The registry revision of the task.
    pub registry_revision: Digest,
    /// When the message arrived.
    pub received: Timestamp,
    /// When the effect began.
    pub started: Timestamp,
}

/// What the journal says to an intent.
#[derive(Debug)]
pub enum Begin {
    /// It is stored; the effect may begin.
    Begun,
    /// The same effect (by idempotency key, call id or logical effect id and the same action) has its receipt.
    Finished(Box<Receipt>),
    /// An effect with the same action is running in the task; its receipt will stand under this effect id.
    Running {
        /// The logical effect id of the running effect.
        logical_effect_id: String,
    },
    /// An effect with the same action ended ambiguous in the task and has not been settled.
    Unresolved(Box<Receipt>),
    /// The idempotency key or the call id is taken by another action.
    Conflict(Error),
}

/// The file state that a task has been shown, so that an edit can be held against it (P2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// The path in the workspace, in its escaped form.
    pub path: String,
    /// The digest of the whole content; `None` when the path is gone.
    pub digest: Option<Digest>,
}

/// One finished call, to be stored in one transaction.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The receipt, sealed.
    pub receipt: Receipt,
    /// The arguments with redacted members replaced by their digests; `None` when they could not be read.
    pub arguments: Option<serde_json::Value>,
    /// What the task has been shown.
    pub observed: Vec<Observation>,
    /// Whether the receipt owns its call id: false for a refusal of a call id that is in use already.
    pub owns_call_id: bool,
}

/// What became of storing an entry.
#[derive(Debug)]
pub enum Recorded {
    /// It is durable.
    Stored,
    /// The call id has a receipt already, which stands.
    Existing(Box<Receipt>),
}

/// Refusals that say nothing about tool and arguments: with another version, key or call id, or once a person has
/// looked, the same call is a new one. They do not count as a call that failed or was refused (F11).
pub const UNCOUNTED: [Code; 5] = [
    Code::UnsupportedToolVersion,
    Code::IdempotencyConflict,
    Code::CallIdReused,
    Code::RetryStorm,
    Code::LedgerUnavailable,
];

/// What the journal knows that bears on a call that has just arrived.
#[derive(Debug, Clone, Default)]
pub struct Standing {
    /// The call of the task with the same call id.
    pub same_call_id: Option<Known>,
    /// The call of the task with the same idempotency key.
    pub same_key: Option<Known>,
    /// Failed calls with the same tool and arguments since the task last had an effect or was shown a file state that it
    /// did not know, without [`UNCOUNTED`].
    pub failed: u32,
    /// Denied and rejected ones, likewise.
    pub refused: u32,
    /// The latest receipt among those.
    pub latest: Option<Digest>,
    /// Repeats that were refused since a person last looked at the task.
    pub refused_repeats: u32,
}

/// A call that the journal knows already.
#[derive(Debug, Clone)]
pub struct Known {
    /// Tool of that call.
    pub tool: String,
    /// Digest of that call's arguments.
    pub arguments_digest: Digest,
    /// Its effect.
    pub logical_effect_id: String,
    /// Its receipt, unless it is still running.
    pub receipt: Option<Box<Receipt>>,
}

/// A task as it is remembered: what it pins and what it was granted.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TaskRecord {
    /// The task.
    pub task_id: String,
    /// The attempt that opens it.
    pub attempt_id: String,
    /// The registry revision that the task keeps for life (R3).
    pub registry_revision: Digest,
    /// The grant of this attempt, as JSON; its id stands in every decision.
    pub grant: serde_json::Value,
    /// When the attempt opened the task.
    pub opened: Timestamp,
}

/// The durable memory of calls. Every method is one transaction, and what it returns is durable.
pub trait Journal: Send + Sync {
    /// Remembers an attempt of a task and its grant, and returns the task's first record: what it pins.
    ///
    /// # Errors
    /// [`JournalError`] if it may not have been stored.
    fn open_task(&self, record: &TaskRecord) -> Result<TaskRecord, JournalError>;

    /// What is known about the call id, the key and the arguments, in one look.
    ///
    /// # Errors
    /// [`JournalError`] if the storage does not answer.
    fn standing(
        &self,
        task_id: &str,
        call_id: &str,
        idempotency_key: Option<&str>,
        tool: &str,
        arguments_digest: &Digest,
    ) -> Result<Standing, JournalError>;

    /// Stores an intent unless the effect is known, running or unresolved (E8).
    ///
    /// # Errors
    /// [`JournalError`] if it may not have been stored.
    fn begin(&self, intent: &Intent) -> Result<Begin, JournalError>;

    /// Stores a receipt and closes its intent, if it had one.
    ///
    /// # Errors
    /// [`JournalError`] if it may not have been stored.
    fn record(&self, entry: &Entry) -> Result<Recorded, JournalError>;

    /// Notes that a call was answered with the receipt of another (E8).
    ///
    /// # Errors
    /// [`JournalError`] if it may not have been stored.
    fn answered_with(
        &self,
        task_id: &str,
        call_id: &str,
        receipt: &Digest,
    ) -> Result<(), JournalError>;

    /// The receipt of an effect of the task, once there is one.
    ///
    /// # Errors
    /// [`JournalError`] if the storage does not answer.
    fn receipt_of_effect(
        &self,
        task_id: &str,
        logical_effect_id: &str,
    ) -> Result<Option<Box<Receipt>>, JournalError>;

    /// Sleeps until a receipt was stored by this process or `ms` have passed.
    fn wait_for_news(&self, ms: u64);

    /// The digest of a path's content that the task was last shown.
    ///
    /// # Errors
    /// [`JournalError`] if the storage does not answer.
    fn observed(&self, task_id: &str, path: &str) -> Result<Option<Digest>, JournalError>;

    /// Takes over open intents whose runtime is gone, at most `limit`; each is given to one taker only.
    ///
    /// # Errors
    /// [`JournalError`] if the storage does not answer.
    fn take_abandoned(&self, limit: usize) -> Result<Vec<Intent>, JournalError>;
}

/// Content being written to an artifact. Dropped unfinished, it leaves nothing.
pub trait ArtifactWriter: Send {
    /// Appends bytes.
    ///
    /// # Errors
    /// When the storage refuses them.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Publishes what was written under its digest.
    ///
    /// # Errors
    /// When the storage refuses it.
    fn finish(self: Box<Self>, name: &str, media_type: &str) -> io::Result<Artifact>;
}

/// Where large content goes, by content address.
pub trait Artifacts: Send + Sync {
    /// A new, empty artifact.
    ///
    /// # Errors
    /// When the storage refuses it.
    fn create(&self) -> io::Result<Box<dyn ArtifactWriter>>;

    /// The content at an address; `None` when there is none.
    ///
    /// # Errors
    /// When the storage does not answer or the content does not fit its digest.
    fn read(&self, digest: &Digest, start_byte: u64, max_bytes: u64)
    -> io::Result<Option<Vec<u8>>>;
}

/// Someone who is told how far a call has come. Must not block.
pub trait Progress: Send + Sync {
    /// Some units of a stated kind are done; `total` where it is known.
    fn report(&self, done: u64, total: Option<u64>, unit: &'static str);
}

/// Nobody is told.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn report(&self, _: u64, _: Option<u64>, _: &'static str) {}
}
