//! The governed call, over ports in memory and with real small tools: what it promises, requirement by requirement.
//!
//! Names begin with the requirement they show. Nothing here waits for time to pass: the clock is moved by hand, and
//! threads wait for each other.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod authority;
mod crowd;
mod deadlines;
mod effects;
mod envelope;
mod output;
mod recovery;
mod registry;
mod repeats;
mod support;
mod unrecorded;
