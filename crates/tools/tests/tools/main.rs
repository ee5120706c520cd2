//! The tools through the whole engine, on real files and real processes.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test makes its own tree, and fails by a panic"
)]

mod continuing;
mod contracts;
mod patching;
mod reading;
mod recovery;
mod running;
mod searching;
mod support;
