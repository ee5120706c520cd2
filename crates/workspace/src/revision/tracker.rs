//! [`Tracker`]: the one place where a workspace is observed, shared by all calls on it.
//!
//! Whoever observes has the tree to itself for that time; the others wait as long as their own stop allows.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::path::RepoPath;
use crate::revision::live::Live;
use crate::revision::{ObserveError, Observed, Standing, remembered};
use crate::root::Workspace;

/// How long one waits before it is asked again whether to stop.
const WAIT: Duration = Duration::from_millis(5);

/// Keeps the revision of one workspace. Clones share it.
#[derive(Clone)]
pub struct Tracker {
    shared: Arc<Shared>,
}

struct Shared {
    workspace: Workspace,
    cache: Option<PathBuf>,
    seat: Mutex<Seat>,
    /// Somebody who had the tree has given it back.
    freed: Condvar,
}

/// Who has the tree.
struct Seat {
    /// `None` while somebody has it.
    live: Option<Box<Live>>,
    is_too_large: bool,
    /// The [`Live::sequence`] that was kept for the next start.
    saved: u64,
    /// Changes that no event had told of.
    missed: u64,
}

impl Tracker {
    /// A tracker for a workspace. `cache` is a file outside of it that is kept from one start to the next.
    #[must_use]
    pub fn new(workspace: &Workspace, cache: Option<PathBuf>) -> Self {
        let known = cache.as_ref().map(|file| remembered::load(file, workspace.identity()));
        let live = Box::new(Live::new(workspace, known.unwrap_or_default()));
        let seat = Seat { live: Some(live), is_too_large: false, saved: 0, missed: 0 };
        let (seat, freed) = (Mutex::new(seat), Condvar::new());
        Self { shared: Arc::new(Shared { workspace: workspace.clone(), cache, seat, freed }) }
    }

    /// The workspace as it is now: everything that was written before the call is in it.
    ///
    /// # Errors
    /// [`ObserveError`] when that cannot be said; [`ObserveError::standing`] is what to say instead.
    pub fn observe(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<Observed, ObserveError> {
        let mut held = self.shared.take(stop)?;
        held.with(|live| {
            if !live.observe(stop)? {
                return Err(ObserveError::Stopped);
            }
            let standing = if live.has_events() { Standing::Live } else { Standing::Polled };
            let tree = live.tree();
            let digest = tree.digest().ok_or(ObserveError::Stopped)?;
            Ok(Observed { tree, digest, standing, sequence: live.sequence() })
        })
    }

    /// Looks at everything once and compares it with what events have told. Returns what they had not.
    ///
    /// # Errors
    /// As [`Tracker::observe`].
    pub fn audit(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<Vec<RepoPath>, ObserveError> {
        let missed = self.shared.take(stop)?.with(|live| live.audit(stop))?;
        let count = u64::try_from(missed.len()).unwrap_or(u64::MAX);
        let mut seat = self.shared.seat();
        seat.missed = seat.missed.saturating_add(count);
        Ok(missed)
    }

    /// How many changes audits have found that no event had told of. More than none is a defect of ours or of the
    /// file system.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.shared.seat().missed
    }

    /// Keeps what is known for the next start, if anything new is.
    ///
    /// # Errors
    /// As [`Tracker::observe`] while somebody else has the tree, or [`ObserveError::Io`]. What is not kept costs
    /// time at the next start and nothing else.
    pub fn save(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<(), ObserveError> {
        let Some(file) = &self.shared.cache else { return Ok(()) };
        let now = self.shared.take(stop)?.with(|live| Ok((live.sequence(), live.tree())));
        let (sequence, tree) = now?;
        if self.shared.seat().saved == sequence {
            return Ok(());
        }
        remembered::save(file, self.shared.workspace.identity(), &tree)?;
        self.shared.seat().saved = sequence;
        Ok(())
    }
}

impl Shared {
    fn seat(&self) -> MutexGuard<'_, Seat> {
        self.seat.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tree, once nobody else has it.
    fn take(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<Held<'_>, ObserveError> {
        let mut seat = self.seat();
        loop {
            if seat.is_too_large {
                return Err(ObserveError::TooLarge);
            }
            if let Some(live) = seat.live.take() {
                return Ok(Held { shared: self, live: Some(live) });
            }
            if stop() {
                return Err(ObserveError::Stopped);
            }
            let waited = self.freed.wait_timeout(seat, WAIT);
            seat = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The tree, taken by somebody. It goes back when this goes, whatever happened.
struct Held<'a> {
    shared: &'a Shared,
    /// There until it goes back.
    live: Option<Box<Live>>,
}

impl Held<'_> {
    fn with<T>(
        &mut self,
        act: impl FnOnce(&mut Live) -> Result<T, ObserveError>,
    ) -> Result<T, ObserveError> {
        let live = self.live.as_mut().ok_or(ObserveError::Stopped)?;
        let done = act(live);
        if matches!(done, Err(ObserveError::TooLarge)) {
            // It is not going to become smaller; its memory is of more use elsewhere.
            self.shared.seat().is_too_large = true;
        }
        done
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut seat = self.shared.seat();
        seat.live = self.live.take().filter(|_| !seat.is_too_large).map(|mut live| {
            if std::thread::panicking() {
                live.distrust();
            }
            live
        });
        drop(seat);
        self.shared.freed.notify_one();
    }
}

impl fmt::Debug for Tracker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Tracker({:?})", self.shared.workspace)
    }
}
