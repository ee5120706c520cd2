//! The world that the tools change: notes by path, and a count of everything that was done to them.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What is in the store.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// The notes.
    pub(crate) notes: BTreeMap<String, String>,
    /// How often something was written: the effects.
    pub(crate) effects: usize,
    /// The credentials that tools were given.
    pub(crate) tokens: Vec<String>,
    /// How often a tool planned.
    pub(crate) plans: usize,
    /// How often a tool ran.
    pub(crate) runs: usize,
    /// How many waiting runs are inside.
    pub(crate) inside: usize,
    /// Whether waiting runs may end.
    pub(crate) released: bool,
    /// How many plans wait for each other before they end.
    pub(crate) plans_meet: usize,
}

/// The store, and news of it.
#[derive(Debug, Default)]
pub(crate) struct Store {
    state: Mutex<State>,
    changed: Condvar,
}

/// A wait this long has failed; nothing depends on how long it is.
const NEVER: Duration = Duration::from_secs(60);

impl Store {
    /// Looks at the store or changes it, and tells whoever waits.
    pub(crate) fn with<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        let result = change(&mut self.lock());
        self.changed.notify_all();
        result
    }

    /// Waits until the store is as wanted.
    pub(crate) fn wait_until(&self, wanted: impl Fn(&State) -> bool) {
        let waited = self.changed.wait_timeout_while(self.lock(), NEVER, |state| !wanted(state));
        let (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(!timeout.timed_out(), "the store never came to be as wanted: {state:?}");
    }

    /// The effects so far.
    pub(crate) fn effects(&self) -> usize {
        self.lock().effects
    }

    /// The runs so far.
    pub(crate) fn runs(&self) -> usize {
        self.lock().runs
    }

    /// Lets all waiting runs end.
    pub(crate) fn release(&self) {
        self.with(|state| state.released = true);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
