//! The handle by which somebody else ends a run: cloneable, usable from any thread, never taken back.
//! It must never be lost: a stop that came before the run stops it too (X4).

use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends the run that it is given to, and every later one.
#[derive(Clone, Debug)]
pub struct Stop {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    cancelled: AtomicBool,
    bell: Bell,
}

impl Stop {
    /// A handle that has not been used.
    ///
    /// # Errors
    /// No descriptor is left for it.
    pub fn new() -> io::Result<Self> {
        let shared = Shared { cancelled: AtomicBool::new(false), bell: Bell::new()? };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Asks the run to end: SIGTERM to everyone, the grace of its limits, then SIGKILL. Returns at once.
    pub fn cancel(&self) {
        self.shared.cancelled.store(true, Ordering::SeqCst);
        self.shared.bell.ring();
    }

    /// Whether [`Stop::cancel`] was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.shared.cancelled.load(Ordering::SeqCst)
    }

    pub(crate) fn bell(&self) -> BorrowedFd<'_> {
        self.shared.bell.as_fd()
    }
}

/// A descriptor that becomes readable once and stays so (eventfd(2)).
#[derive(Debug)]
pub(crate) struct Bell {
    file: OwnedFd,
}

impl Bell {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { file: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)? })
    }

    pub(crate) fn ring(&self) {
        // It can only fail when the counter is full, and then it is readable already.
        let _full = rustix::io::write(&self.file, &1u64.to_ne_bytes());
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
