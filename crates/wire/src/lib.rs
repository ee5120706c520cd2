//! What is said between a planner, a harness and the runtime: calls, receipts, errors and tool contracts.
//!
//! Data and its JSON Schema only. This crate decides nothing, performs no I/O and reads no clock, so that
//! a judge or a client can depend on it without depending on the runtime.

pub mod call;
pub mod contract;
pub mod digest;
pub mod error;
pub mod receipt;
pub mod schema;
pub mod strict;
pub mod time;

pub use call::{Proposal, ToolCall};
pub use contract::ToolContract;
pub use digest::Digest;
pub use error::{Code, Error, Next};
pub use receipt::{Receipt, Status};
pub use time::Timestamp;
