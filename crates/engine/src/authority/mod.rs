//! Who may do what: grants, which say what was handed out, and policy, which says what is allowed at all.
//!
//! An action needs both (DESIGN, decision 2). Anything that cannot be evaluated is denied.

mod grant;
mod policy;

pub use grant::{Grant, Scope};
pub use policy::{DEFAULT_POLICY, Policy, PolicyError};

pub(crate) use policy::{Asker, Ruling, Rulings};
