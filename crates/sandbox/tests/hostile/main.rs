//! Hostile commands, each with what must hold against it; run by a real jail on this machine. Where it is cheap a
//! control shows that the attack works without the walls. As root the whole list is also run by an ordinary user.

#![expect(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test reaches for the host to attack it, and fails by panicking"
)]

mod case;
mod tree;
mod limits;
mod walls;
mod network;
mod view;
mod masks;
mod input;
mod output;
mod hygiene;
