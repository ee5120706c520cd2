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
    ArtifactWriter, Artifacts, Begin, Clock, Entry, Intent, Journal, JournalError, Known,
    Observation, Recorded, Standing, TaskRecord, UNCOUNTED,
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
        self.lock().entries.iter().map(|entry| entry.receipt.clone()).collect()
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

/// A call that was received before.
struct Call {
    known: Known,
    action: Option<Digest>,
}

impl From<&Intent> for Call {
    fn from(intent: &Intent) -> Call {
        let known = Known {
            tool: intent.call.tool.clone(),
            arguments_digest: intent.arguments_digest.clone(),
            logical_effect_id: intent.call.logical_effect_id.clone(),
            receipt: None,
        };
        Call { known, action: Some(intent.action.digest.clone()) }
    }
}

impl From<Box<Receipt>> for Call {
    fn from(receipt: Box<Receipt>) -> Call {
        let action = receipt.normalized_action.as_ref().map(|action| action.digest.clone());
        let known = Known {
            tool: receipt.tool.clone(),
            arguments_digest: receipt.arguments_digest.clone(),
            logical_effect_id: receipt.logical_effect_id.clone(),
            receipt: Some(receipt),
        };
        Call { known, action }
    }
}

impl State {
    /// The newest receipt of the task that owns its call id and is as wanted.
    fn receipt(&self, task: &str, wanted: impl Fn(&Receipt) -> bool) -> Option<Box<Receipt>> {
        let newest = self.entries.iter().rev().filter(|entry| entry.owns_call_id);
        let mut of_task = newest.map(|entry| &entry.receipt).filter(|r| r.task_id == task);
        of_task.find(|receipt| wanted(receipt)).cloned().map(Box::new)
    }

    fn open(&self, task: &str, wanted: impl Fn(&Intent) -> bool) -> Option<&Intent> {
        self.open.iter().find(|open| open.call.task_id == task && wanted(open))
    }

    /// The call with this id, or the one whose receipt it was answered with.
    fn by_call_id(&self, task: &str, call_id: &str) -> Option<Call> {
        if let Some(receipt) = self.receipt(task, |r| r.call_id == call_id) {
            return Some(receipt.into());
        }
        if let Some(open) = self.open(task, |open| open.call.call_id == call_id) {
            return Some(open.into());
        }
        let answered = self.answered.get(&(task.to_owned(), call_id.to_owned()))?;
        self.receipt(task, |r| &r.receipt_id == answered).map(Call::from)
    }

    /// The call that holds this key: one that began. A refusal holds none, for nothing happened.
    fn by_key(&self, task: &str, key: &str) -> Option<Call> {
        if let Some(open) = self.open(task, |o| o.call.idempotency_key.as_deref() == Some(key)) {
            return Some(open.into());
        }
        let holds =
            |r: &Receipt| r.idempotency_key.as_deref() == Some(key) && r.times.started.is_some();
        self.receipt(task, holds).map(Call::from)
    }

    /// What stands for the effect of an intent: by its key, its call id, or its action.
    fn same_effect(&self, intent: &Intent) -> Option<Begin> {
        let (call, action) = (&intent.call, &intent.action.digest);
        let task = call.task_id.as_str();
        if let Some(held) = call.idempotency_key.as_ref().and_then(|key| self.by_key(task, key)) {
            let taken = "the idempotency key was used for another action; send another key";
            return Some(same_or(held, action, Code::IdempotencyConflict, taken));
        }
        if let Some(held) = self.by_call_id(task, &call.call_id) {
            let taken = "the call id was used for another action; send another call id";
            return Some(same_or(held, action, Code::CallIdReused, taken));
        }
        if let Some(running) = self.open(task, |open| &open.action.digest == action) {
            let logical_effect_id = running.call.logical_effect_id.clone();
            return Some(Begin::Running { logical_effect_id });
        }
        let unsettled = self.receipt(task, |r| {
            r.status == Status::Ambiguous
                && r.normalized_action.as_ref().map(|action| &action.digest) == Some(action)
        })?;
        let settled = self
            .entries
            .iter()
            .any(|e| e.receipt.reconciles.as_ref() == Some(&unsettled.receipt_id));
        (!settled).then_some(Begin::Unresolved(unsettled))
    }
}

fn same_or(held: Call, action: &Digest, code: Code, taken: &str) -> Begin {
    let Known { logical_effect_id, receipt, .. } = held.known;
    if held.action.as_ref() == Some(action) {
        return match receipt {
            Some(receipt) => Begin::Finished(receipt),
            None => Begin::Running { logical_effect_id },
        };
    }
    let error = Error::new(code, taken).with("logical_effect_id", logical_effect_id);
    Begin::Conflict(match receipt {
        Some(receipt) => error.with("receipt_id", receipt.receipt_id.as_str()),
        None => error,
    })
}

impl Journal for MemoryJournal {
    fn open_task(&self, record: &TaskRecord) -> Result<TaskRecord, JournalError> {
        let mut state = self.lock();
        let first = state.tasks.entry(record.task_id.clone()).or_insert_with(|| record.clone());
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
        let mut standing = Standing {
            same_call_id: state.by_call_id(task_id, call_id).map(|call| call.known),
            same_key: idempotency_key
                .and_then(|key| state.by_key(task_id, key))
                .map(|call| call.known),
            ..Standing::default()
        };
        let mut seen = BTreeMap::new();
        for entry in state.entries.iter().filter(|entry| entry.receipt.task_id == task_id) {
            let receipt = &entry.receipt;
            let effect =
                receipt.normalized_action.as_ref().is_some_and(|a| a.effect != EffectClass::Read);
            let changed = effect && matches!(receipt.status, Status::Succeeded | Status::Partial);
            let mut shown_news = false;
            for Observation { path, digest } in &entry.observed {
                shown_news |= seen.insert(path, digest) != Some(digest);
            }
            if changed || shown_news {
                (standing.failed, standing.refused, standing.latest) = (0, 0, None);
            }
            let code = receipt.error.as_ref().map(|e| e.code);
            if code == Some(Code::RepeatedCall) {
                standing.refused_repeats += 1;
            }
            let same = receipt.tool == tool && &receipt.arguments_digest == arguments_digest;
            if !same || code.is_some_and(|code| UNCOUNTED.contains(&code)) {
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
            let taken = state.receipt(&new.task_id, |r| r.call_id == new.call_id);
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
        let running = state.open(&new.task_id, |open| open.call.call_id == new.call_id).is_some();
        // Beside a running effect with the same call id, a refusal leaves that one its place.
        let owns_call_id = entry.owns_call_id && (new.times.started.is_some() || !running);
        if owns_call_id {
            state.open.retain(|open| {
                open.call.task_id != new.task_id || open.call.call_id != new.call_id
            });
        }
        state.entries.push(Entry { owns_call_id, ..entry.clone() });
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
        Ok(self.lock().receipt(task_id, |r| r.logical_effect_id == effect))
    }

    fn wait_for_news(&self, ms: u64) {
        drop(self.news.wait_timeout(self.lock(), Duration::from_millis(ms)));
    }

    fn observed(&self, task_id: &str, path: &str) -> Result<Option<Digest>, JournalError> {
        Ok(self.lock().observed.get(&(task_id.to_owned(), path.to_owned())).cloned())
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
        Ok(Box::new(MemoryWriter { store: self.clone(), bytes: Vec::new() }))
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
        Ok(store.get(digest).map(|bytes| bytes.iter().skip(start).take(count).copied().collect()))
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
        Ok(Artifact { name, digest, size_bytes, media_type })
    }
}
