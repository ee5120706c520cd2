//! The call: what happens between a planner's proposal and the answer.
//!
//! Registry, authority, the stages of a call and recovery. It performs no I/O, names no async runtime and
//! reads no clock: a machine is reached through [`ports`] only, and an effect happens in one place only,
//! `call::execute`.

pub mod authority;
pub mod bounds;
pub mod call;
pub mod memory;
pub mod ports;
pub mod recovery;
pub mod registry;
pub mod stop;
pub mod tool;

pub use authority::{Grant, Policy};
pub use call::{Answer, Engine, Message, Session, Unrecorded};
pub use registry::Registry;
pub use stop::Stop;
pub use tool::{Demand, Hands, Outcome, Plan, Reconciled, Resource, Tool};
