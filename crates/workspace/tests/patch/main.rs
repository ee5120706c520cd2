//! What a patch promises, on real files: where it lands, what it keeps, and what is left when it does not land.

#![expect(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test makes its own tree, fails by a panic, and says what it skips"
)]

mod attributes;
mod crash;
mod edits;
mod git;
mod lines;
mod links;
mod races;
mod support;
mod transaction;
mod unified;
mod v4a;
