//! The bound on executions at one time. Whoever waits does so no longer than the deadline.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::bounds::WAIT_SLICE_MS;

pub(super) struct Gate {
    free: Mutex<usize>,
    changed: Condvar,
}

/// A place in the gate; given back when dropped.
pub(super) struct Pass<'a>(&'a Gate);

impl Gate {
    pub(super) fn new(places: usize) -> Gate {
        Gate { free: Mutex::new(places), changed: Condvar::new() }
    }

    /// Waits for a place until `is_over` says that there is no point any more.
    pub(super) fn pass(&self, is_over: impl Fn() -> bool) -> Option<Pass<'_>> {
        let mut free = self.lock();
        loop {
            if let Some(left) = free.checked_sub(1) {
                *free = left;
                return Some(Pass(self));
            }
            if is_over() {
                return None;
            }
            let slice = Duration::from_millis(WAIT_SLICE_MS);
            let woken = self.changed.wait_timeout(free, slice);
            free = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        *self.0.lock() += 1;
        self.0.changed.notify_one();
    }
}
