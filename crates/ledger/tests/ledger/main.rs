//! The promises of the ledger, each shown on real files. Names begin with the requirement they show.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and starts the processes that it kills"
)]

mod artifacts;
mod calls;
mod crash;
mod effects;
mod immutable;
mod model;
mod people;
mod processes;
mod standing;
