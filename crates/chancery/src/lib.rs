//! The mouths of Chancery: command line, MCP and demo, and [`Runtime`], the way to embed it.
//!
//! Only this crate knows protocol fashion, configuration and the clock. It decides nothing about a call.

#![expect(
    clippy::disallowed_methods,
    reason = "the binary reads configuration, environment and clock once, and hands them down"
)]

pub mod cli;
pub mod demo;
pub mod exit;
pub mod mcp;
pub mod runtime;

mod clock;
mod render;
mod session;
mod surroundings;

pub use runtime::{Runtime, Setup, StartError};
