//! [`Tracker`]: the one place where a workspace is observed, shared by all calls on it.
//!
//! Whoever observes has the tree to itself for that time; the others wait as long as their own stop allows.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::path::RepoPath;
use crate::revision::live::Live;
use crate::revision::{ObserveError, Observed, Standing, remembered};
use crate::root::Workspace;

/// How long one waits before it is asked again whether to stop.
const WAIT: Duration = Duration::from_millis(5);

/// How long nobody asks before the queue of events is drained all the same.
const IDLE: Duration = Duration::from_secs(30);

/// How many of these pass before everything is looked at once more.
const IDLES_PER_AUDIT: u32 = 20;

/// Keeps the revision of one workspace. Clones share it.
#[derive(Clone)]
pub struct Tracker {
    owners: Arc<Owners>,
}

/// What the clones share; when the last of them goes, the thread does.
struct Owners {
    shared: Arc<Shared>,
}

impl Drop for Owners {
    fn drop(&mut self) {
        self.shared.seat().is_over = true;
        self.shared.over.notify_all();
    }
}

struct Shared {
    workspace: Workspace,
    cache: Option<PathBuf>,
    seat: Mutex<Seat>,
    /// Somebody who had the tree has given it back.
    freed: Condvar,
    /// Nobody is left who could ask.
    over: Condvar,
}

/// Who has the tree.
struct Seat {
    /// `None` while somebody observes.
    live: Option<Box<Live>>,
    is_too_large: bool,
    /// Whether what is known has changed since it was kept.
    is_unsaved: bool,
    /// Changes that no event had told of.
    missed: u64,
    /// Nobody is left who could ask.
    is_over: bool,
}

impl Tracker {
    /// A tracker for a workspace. `cache` is a file outside of it that is kept from one start to the next.
    #[must_use]
    pub fn new(workspace: &Workspace, cache: Option<PathBuf>) -> Self {
        let known = cache.as_ref().map(|file| remembered::load(file, workspace.identity()));
        let live = Live::new(workspace, known.unwrap_or_default());
        let seat = Seat {
            live: Some(Box::new(live)),
            is_too_large: false,
            is_unsaved: false,
            missed: 0,
            is_over: false,
        };
        let shared = Shared {
            workspace: workspace.clone(),
            cache,
            seat: Mutex::new(seat),
            freed: Condvar::new(),
            over: Condvar::new(),
        };
        Self { owners: Arc::new(Owners { shared: Arc::new(shared) }) }
    }

    /// Looks at the workspace in the background: now, so that the first call need not wait, and every now and then.
    /// It ends with the last clone of the tracker.
    pub fn start(&self) {
        let shared = Arc::clone(&self.owners.shared);
        // Without a thread the calls themselves do everything.
        thread::Builder::new().name("revision".to_owned()).spawn(move || keep(&shared)).ok();
    }

    /// The workspace as it is now: everything that was written before the call is in it.
    ///
    /// # Errors
    /// [`ObserveError`] when that cannot be said; [`ObserveError::standing`] is what to say instead.
    pub fn observe(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<Observed, ObserveError> {
        self.owners.shared.observe(stop)
    }

    /// How many changes were found by looking that no event had told of. More than none is a defect of ours or of
    /// the file system.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.owners.shared.seat().missed
    }

    /// Looks at everything once and compares it with what events have told. Returns what they had not.
    ///
    /// # Errors
    /// As [`Tracker::observe`].
    pub fn audit(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<Vec<RepoPath>, ObserveError> {
        self.owners.shared.audit(stop)
    }

    /// Keeps what is known for the next start.
    pub fn save(&self) {
        self.owners.shared.save();
    }
}

impl Shared {
    fn seat(&self) -> std::sync::MutexGuard<'_, Seat> {
        self.seat.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `act` with the tree, once nobody else has it.
    fn with<T>(
        &self,
        stop: &(dyn Fn() -> bool + Sync),
        act: impl FnOnce(&mut Live) -> Result<T, ObserveError>,
    ) -> Result<T, ObserveError> {
        let mut seat = self.seat();
        let mut live = loop {
            if seat.is_too_large {
                return Err(ObserveError::TooLarge);
            }
            if let Some(live) = seat.live.take() {
                break live;
            }
            if stop() {
                return Err(ObserveError::Stopped);
            }
            let waited = self.freed.wait_timeout(seat, WAIT);
            seat = waited.unwrap_or_else(PoisonError::into_inner).0;
        };
        drop(seat);
        let before = live.sequence();
        let done = act(&mut live);
        let mut seat = self.seat();
        seat.is_unsaved |= live.sequence() != before;
        match done {
            // It is not going to become smaller; its memory is of more use elsewhere.
            Err(ObserveError::TooLarge) => seat.is_too_large = true,
            _ => seat.live = Some(live),
        }
        drop(seat);
        self.freed.notify_one();
        done
    }

    fn observe(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<Observed, ObserveError> {
        self.with(stop, |live| {
            if !live.observe(stop)? {
                return Err(ObserveError::Stopped);
            }
            let standing = if live.has_events() { Standing::Live } else { Standing::Polled };
            let tree = live.tree().clone();
            let digest = tree.digest().ok_or(ObserveError::Stopped)?;
            Ok(Observed { tree, digest, standing, sequence: live.sequence() })
        })
    }

    fn audit(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<Vec<RepoPath>, ObserveError> {
        let missed = self.with(stop, |live| live.audit(stop))?;
        let count = u64::try_from(missed.len()).unwrap_or(u64::MAX);
        let mut seat = self.seat();
        seat.missed = seat.missed.saturating_add(count);
        Ok(missed)
    }

    fn save(&self) {
        let Some(file) = &self.cache else { return };
        let never = || false;
        let tree = self.with(&never, |live| Ok(live.tree().clone()));
        let mut seat = self.seat();
        if !seat.is_unsaved {
            return;
        }
        seat.is_unsaved = false;
        drop(seat);
        if let Ok(tree) = tree {
            // A cache that cannot be kept costs time at the next start and nothing else.
            remembered::save(file, self.workspace.identity(), &tree).ok();
        }
    }
}

/// The thread behind [`Tracker::start`].
fn keep(shared: &Shared) {
    let is_over = || shared.seat().is_over;
    let mut idles = 0;
    while !is_over() {
        if idles == IDLES_PER_AUDIT {
            idles = 0;
            shared.audit(&is_over).ok();
        } else {
            idles += 1;
            shared.observe(&is_over).ok();
        }
        shared.save();
        let seat = shared.seat();
        if !seat.is_over {
            drop(shared.over.wait_timeout(seat, IDLE));
        }
    }
}

impl fmt::Debug for Tracker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Tracker({:?})", self.owners.shared.workspace)
    }
}
