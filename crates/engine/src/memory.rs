//! The ports in memory: for tests, simulation, and embedding where nothing needs to outlive the process.
//!
//! The same promises as the ledger's, but for durability.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use wire::contract::EffectClass;
use wire::receipt::Artifact;
use wire::{Code, Digest, Error, Receipt, Status, Timestamp};

use crate::ports::{
    ArtifactWriter, Artifacts, Begin, Clock, Entry, Intent, Journal, JournalError, Known, Recorded,
    Standing, TaskRecord,
};

/// A clock that stands still until it is moved.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// A clock that stands at a time.
    #[must_use]
    pub fn at(time: Timestamp) -> ManualClock {
        ManualClock(AtomicU64::new(time.unix_ms()))
    }

    /// Moves the clock forward, milliseconds.
    pub fn advance(&self, ms: u64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_ms(self.0.load(Ordering::SeqCst))
    }
}

/// A journal in memory.
#[derive(Debug, Default)]
pub struct MemoryJournal {
    state: Mutex<State>,
    news: Condvar,
}

#[derive(Debug, Default)]
struct State {
    tasks: BTreeMap<String, TaskRecord>,
    entries: Vec<Entry>,
    open: Vec<Intent>,
    observed: BTreeMap<(String, String), Digest>,
    answered: BTreeMap<(String, String), Digest>,
}

impl MemoryJournal {
    /// Every receipt, oldest first.
    #[must_use]
    pub fn receipts(&self) -> Vec<Receipt> {
        self.lock()
            .entries
            .iter()
            .map(|entry| entry.receipt.clone())
            .collect()
    }

    /// The intents that have no receipt yet.
    #[must_use]
    pub fn open_intents(&self) -> Vec<Intent> {
        self.lock().open.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn receipt(&self, found: impl Fn(&Receipt) -> bool) -> Option<Box<Receipt>> {
        let newest = self.entries.iter().rev().filter(|entry| entry.owns_call_id);
        newest
            .map(|entry| &entry.receipt)
            .find(|r| found(r))
            .cloned()
            .map(Box::new)
    }

    fn known(
        &self,
        task: &str,
        of_receipt: impl Fn(&Receipt) -> bool,
        of_call: impl Fn(&wire::ToolCall) -> bool,
    ) -> Option<Known> {
        if let Some(receipt) = self.receipt(|r| r.task_id == task && of_receipt(r)) {
            return Some(Known {
                tool: receipt.tool.clone(),
                arguments_digest: receipt.arguments_digest.clone(),
                logical_effect_id: receipt.logical_effect_id.clone(),
                receipt: Some(receipt),
            });
        }
        let open = self
            .open
            .iter()
            .find(|i| i.call.task_id == task && of_call(&i.call))?;
        Some(Known {
            tool: open.call.tool.clone(),
            arguments_digest: open.arguments_digest.clone(),
            logical_effect_id: open.call.logical_effect_id.clone(),
            receipt: None,
        })
    }

    fn same_effect(&self, intent: &Intent) -> Option<Begin> {
        let call = &intent.call;
        let key = call.idempotency_key.as_ref();
        let by_key = |r: &Receipt| key.is_some() && r.idempotency_key.as_ref() == key;
        if let Some(receipt) = self.receipt(|r| r.task_id == call.task_id && by_key(r)) {
            let same = receipt.normalized_action.as_ref().map(|a| &a.digest)
                == Some(&intent.action.digest);
            let first = receipt.receipt_id.to_string();
            return Some(if same {
                Begin::Finished(receipt)
            } else {
                let message = "the idempotency key was used for another action";
                let error = Error::new(Code::IdempotencyConflict, message);
                Begin::Conflict(error.at("/idempotency_key").with("receipt_id", first))
            });
        }
        let open = self
            .open
            .iter()
            .filter(|open| open.call.task_id == call.task_id);
        for open in open {
            let running = || Begin::Running {
                logical_effect_id: open.call.logical_effect_id.clone(),
            };
            if open.action.digest == intent.action.digest {
                return Some(running());
            }
            if key.is_some() && open.call.idempotency_key.as_ref() == key {
                let message = "the idempotency key is in use for another action";
                let error = Error::new(Code::IdempotencyConflict, message);
                return Some(Begin::Conflict(error.at("/idempotency_key")));
            }
        }
        let unsettled = self.receipt(|r| {
            r.task_id == call.task_id
                && r.status == Status::Ambiguous
                && r.normalized_action.as_ref().map(|a| &a.digest) == Some(&intent.action.digest)
        })?;
        let settled = self
            .entries
            .iter()
            .any(|e| e.receipt.reconciles.as_ref() == Some(&unsettled.receipt_id));
        (!settled).then_some(Begin::Unresolved(unsettled))
    }
}

impl Journal for MemoryJournal {
    fn open_task(&self, record: &TaskRecord) -> Result<TaskRecord, JournalError> {
        let mut state = self.lock();
        let first = state
            .tasks
            .entry(record.task_id.clone())
            .or_insert_with(|| record.clone());
        Ok(first.clone())
    }

    fn standing(
        &self,
        task_id: &str,
        call_id: &str,
        idempotency_key: Option<&str>,
        tool: &str,
        arguments_digest: &Digest,
    ) -> Result<Standing, JournalError> {
        let state = self.lock();
        let key = |k: Option<&String>| k.is_some() && k.map(String::as_str) == idempotency_key;
        let same_call_id = state.known(task_id, |r| r.call_id == call_id, |c| c.call_id == call_id);
        let alias = state
            .answered
            .get(&(task_id.to_owned(), call_id.to_owned()));
        let answered =
            alias.and_then(|id| state.known(task_id, |r| &r.receipt_id == id, |_| false));
        let same_key = state.known(
            task_id,
            |r| key(r.idempotency_key.as_ref()),
            |c| key(c.idempotency_key.as_ref()),
        );
        let mut standing = Standing {
            same_call_id: same_call_id.or(answered),
            same_key,
            ..Standing::default()
        };
        let of_task = state
            .entries
            .iter()
            .map(|e| &e.receipt)
            .filter(|r| r.task_id == task_id);
        for receipt in of_task {
            let effect = receipt
                .normalized_action
                .as_ref()
                .is_some_and(|a| a.effect != EffectClass::Read);
            if effect && matches!(receipt.status, Status::Succeeded | Status::Partial) {
                (standing.failed, standing.refused, standing.latest) = (0, 0, None);
            }
            let code = receipt.error.as_ref().map(|e| e.code);
            if code == Some(Code::RepeatedCall) {
                standing.refused_repeats += 1;
            }
            if receipt.tool != tool || &receipt.arguments_digest != arguments_digest {
                continue;
            }
            match receipt.status {
                Status::Failed => standing.failed += 1,
                Status::Denied | Status::Rejected => standing.refused += 1,
                _ => continue,
            }
            standing.latest = Some(receipt.receipt_id.clone());
        }
        Ok(standing)
    }

    fn begin(&self, intent: &Intent) -> Result<Begin, JournalError> {
        let mut state = self.lock();
        if let Some(begin) = state.same_effect(intent) {
            return Ok(begin);
        }
        state.open.push(intent.clone());
        Ok(Begin::Begun)
    }

    fn record(&self, entry: &Entry) -> Result<Recorded, JournalError> {
        let mut state = self.lock();
        let new = &entry.receipt;
        if entry.owns_call_id && new.reconciles.is_none() {
            let taken = state.receipt(|r| r.task_id == new.task_id && r.call_id == new.call_id);
            if let Some(receipt) = taken {
                return Ok(Recorded::Existing(receipt));
            }
        }
        for seen in &entry.observed {
            let key = (new.task_id.clone(), seen.path.clone());
            match &seen.digest {
                Some(digest) => state.observed.insert(key, digest.clone()),
                None => state.observed.remove(&key),
            };
        }
        state.open.retain(|open| {
            open.call.task_id != new.task_id || open.call.logical_effect_id != new.logical_effect_id
        });
        state.entries.push(entry.clone());
        self.news.notify_all();
        Ok(Recorded::Stored)
    }

    fn answered_with(
        &self,
        task_id: &str,
        call_id: &str,
        receipt: &Digest,
    ) -> Result<(), JournalError> {
        let key = (task_id.to_owned(), call_id.to_owned());
        self.lock().answered.insert(key, receipt.clone());
        Ok(())
    }

    fn receipt_of_effect(
        &self,
        task_id: &str,
        effect: &str,
    ) -> Result<Option<Box<Receipt>>, JournalError> {
        Ok(self
            .lock()
            .receipt(|r| r.task_id == task_id && r.logical_effect_id == effect))
    }

    fn wait_for_news(&self, ms: u64) {
        drop(
            self.news
                .wait_timeout(self.lock(), Duration::from_millis(ms)),
        );
    }

    fn observed(&self, task_id: &str, path: &str) -> Result<Option<Digest>, JournalError> {
        Ok(self
            .lock()
            .observed
            .get(&(task_id.to_owned(), path.to_owned()))
            .cloned())
    }

    fn take_abandoned(&self, limit: usize) -> Result<Vec<Intent>, JournalError> {
        Ok(self.lock().open.iter().take(limit).cloned().collect())
    }
}

/// Artifacts in memory.
#[derive(Debug, Default, Clone)]
pub struct MemoryArtifacts(Arc<Mutex<BTreeMap<Digest, Vec<u8>>>>);

impl Artifacts for MemoryArtifacts {
    fn create(&self) -> io::Result<Box<dyn ArtifactWriter>> {
        Ok(Box::new(MemoryWriter {
            store: self.clone(),
            bytes: Vec::new(),
        }))
    }

    fn read(
        &self,
        digest: &Digest,
        start_byte: u64,
        max_bytes: u64,
    ) -> io::Result<Option<Vec<u8>>> {
        let store = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let start = usize::try_from(start_byte).unwrap_or(usize::MAX);
        let count = usize::try_from(max_bytes).unwrap_or(usize::MAX);
        Ok(store
            .get(digest)
            .map(|bytes| bytes.iter().skip(start).take(count).copied().collect()))
    }
}

struct MemoryWriter {
    store: MemoryArtifacts,
    bytes: Vec<u8>,
}

impl ArtifactWriter for MemoryWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(self: Box<Self>, name: &str, media_type: &str) -> io::Result<Artifact> {
        let digest = Digest::of_bytes(&self.bytes);
        let size_bytes = u64::try_from(self.bytes.len()).unwrap_or(u64::MAX);
        let mut store = self.store.0.lock().unwrap_or_else(PoisonError::into_inner);
        store.insert(digest.clone(), self.bytes);
        let (name, media_type) = (name.to_owned(), media_type.to_owned());
        Ok(Artifact {
            name,
            digest,
            size_bytes,
            media_type,
        })
    }
}
