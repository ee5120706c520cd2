//! The door as a client meets it: bytes in, lines out, over real pipes.

mod eras;
pub(super) mod fixture;
mod flight;
mod refusals;
