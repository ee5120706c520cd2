//! What a command writes: taken off its pipes while it runs, passed on, previewed.
//! It must never grow with the output.

mod drain;
mod preview;

pub(crate) use drain::Drain;
pub use drain::{Sink, SinkFailure, StreamCount, Streams};
pub use preview::{HeadTail, Preview};
