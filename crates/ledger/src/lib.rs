//! The memory: a durable journal of intents and receipts on SQLite, and artifacts by content address.
//!
//! It implements the engine's ports [`Journal`](engine::ports::Journal) and [`Artifacts`](engine::ports::Artifacts)
//! for one machine. Nothing is answered before it is on disk, no stored receipt is ever changed (E7), and it
//! never decides whether an effect may happen. Several processes may hold one state directory open at once.

#![expect(
    clippy::disallowed_methods,
    reason = "the state directory is this crate's own; no path of a workspace is opened here"
)]

mod artifacts;
mod failure;
mod journal;
mod open;
mod people;
mod runtimes;
mod sqlite;
mod verify;

use std::path::PathBuf;
use std::sync::Arc;

pub use open::OpenError;
pub use people::{ContextCost, Filter, Lookup, OpenIntent};
pub use verify::{Broken, Report};

/// The ledger of one state directory, as one runtime holds it.
///
/// Dropped, it stores what was queued. Its runtime counts as gone once its artifact writers are dropped too: what it
/// left open can then be taken over.
#[derive(Debug)]
pub struct Ledger {
    // Before the writer: only a connection that may write can leave one whole file behind when it is the last.
    readers: sqlite::Readers,
    writer: sqlite::Writer,
    artifacts: artifacts::Store,
    runtimes: PathBuf,
    runtime: Arc<runtimes::Runtime>,
}
