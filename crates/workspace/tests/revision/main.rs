//! The revision: what moves it, what does not, and that it is never an old one (W1).

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test makes its own tree, and fails by a panic"
)]

#[path = "../fixture/mod.rs"]
#[expect(dead_code, reason = "not every test needs every part of it")]
mod fixture;
mod support;

mod changes;
mod scope;
mod starts;
mod storm;
