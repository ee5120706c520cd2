//! A journal in memory that can be made to fail at any one thing, and that counts who waits.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use engine::memory::MemoryJournal;
use engine::ports::{Begin, Entry, Intent, Journal, JournalError, Recorded, Standing, TaskRecord};
use wire::{Digest, Receipt};

use super::Store;

/// What a journal does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Doing {
    Open,
    Standing,
    Begin,
    Record,
    Answer,
    Effect,
    Observed,
}

/// The journal of the tests.
#[derive(Debug)]
pub(crate) struct FaultyJournal {
    pub(crate) inner: MemoryJournal,
    failing: Mutex<BTreeSet<Doing>>,
    /// How often somebody waited for another's receipt.
    waits: AtomicUsize,
    waiters: Mutex<HashSet<ThreadId>>,
    store: Arc<Store>,
}

impl FaultyJournal {
    pub(crate) fn new(store: Arc<Store>) -> FaultyJournal {
        let inner = MemoryJournal::default();
        FaultyJournal {
            inner,
            failing: Mutex::default(),
            waits: AtomicUsize::new(0),
            waiters: Mutex::default(),
            store,
        }
    }

    /// From now on only this fails.
    pub(crate) fn fail(&self, at: &[Doing]) {
        *self.failing.lock().unwrap() = at.iter().copied().collect();
    }

    pub(crate) fn waits(&self) -> usize {
        self.waits.load(Ordering::SeqCst)
    }

    /// How many threads have waited for another's receipt.
    pub(crate) fn waiters(&self) -> usize {
        self.waiters.lock().unwrap().len()
    }

    fn at(&self, doing: Doing) -> Result<(), JournalError> {
        if self.failing.lock().unwrap().contains(&doing) {
            let reason = format!("the disk is full at {doing:?}");
            return Err(JournalError { doing: "do what was asked", reason });
        }
        Ok(())
    }
}

impl Journal for FaultyJournal {
    fn open_task(&self, record: &TaskRecord) -> Result<TaskRecord, JournalError> {
        self.at(Doing::Open)?;
        self.inner.open_task(record)
    }

    fn standing(
        &self,
        task_id: &str,
        call_id: &str,
        idempotency_key: Option<&str>,
        tool: &str,
        arguments_digest: &Digest,
    ) -> Result<Standing, JournalError> {
        self.at(Doing::Standing)?;
        self.inner.standing(task_id, call_id, idempotency_key, tool, arguments_digest)
    }

    fn begin(&self, intent: &Intent) -> Result<Begin, JournalError> {
        self.at(Doing::Begin)?;
        self.inner.begin(intent)
    }

    fn record(&self, entry: &Entry) -> Result<Recorded, JournalError> {
        self.at(Doing::Record)?;
        self.inner.record(entry)
    }

    fn answered_with(
        &self,
        task_id: &str,
        call_id: &str,
        receipt: &Digest,
    ) -> Result<(), JournalError> {
        self.at(Doing::Answer)?;
        self.inner.answered_with(task_id, call_id, receipt)
    }

    fn receipt_of_effect(
        &self,
        task_id: &str,
        logical_effect_id: &str,
    ) -> Result<Option<Box<Receipt>>, JournalError> {
        self.at(Doing::Effect)?;
        self.inner.receipt_of_effect(task_id, logical_effect_id)
    }

    fn wait_for_news(&self, ms: u64) {
        self.waits.fetch_add(1, Ordering::SeqCst);
        self.waiters.lock().unwrap().insert(thread::current().id());
        self.store.with(|_| ());
        self.inner.wait_for_news(ms);
    }

    fn observed(&self, task_id: &str, path: &str) -> Result<Option<Digest>, JournalError> {
        self.at(Doing::Observed)?;
        self.inner.observed(task_id, path)
    }

    fn take_abandoned(&self, limit: usize) -> Result<Vec<Intent>, JournalError> {
        self.inner.take_abandoned(limit)
    }
}
