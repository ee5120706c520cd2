//! What a patch promises, on real files: where it lands, what it keeps, and what is left when it does not land.

#![expect(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test makes its own tree, and fails by a panic"
)]

mod crash;
mod edits;
mod links;
mod races;
mod support;
mod transaction;
mod v4a;
