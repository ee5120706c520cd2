//! The word to stop, from whoever may say it to whatever is running.
//!
//! It is said once and never taken back.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A handle on one call's cancellation; clones speak of the same call.
#[derive(Clone, Default)]
pub struct Stop {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    stopped: bool,
    listeners: Vec<Box<dyn FnOnce() + Send>>,
}

impl Stop {
    /// A call that nobody has stopped.
    #[must_use]
    pub fn new() -> Stop {
        Stop::default()
    }

    /// Stops the call. Listeners run on this thread, once.
    pub fn stop(&self) {
        let listeners = {
            let mut inner = self.lock();
            inner.stopped = true;
            std::mem::take(&mut inner.listeners)
        };
        for listener in listeners {
            listener();
        }
    }

    /// Whether the call was stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    /// Runs `listener` when the call is stopped; at once, if it was already.
    pub fn on_stop(&self, listener: Box<dyn FnOnce() + Send>) {
        let mut inner = self.lock();
        if inner.stopped {
            drop(inner);
            listener();
        } else {
            inner.listeners.push(listener);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stop").field("stopped", &self.is_stopped()).finish_non_exhaustive()
    }
}
