//! What a patch promises, on real files: where it lands, what it keeps, and what is left when it does not land.

mod crash;
mod edits;
mod links;
mod races;
mod support;
mod transaction;
mod v4a;
