//! What a stage holds cannot be taken out of it and carried past the next check.

use engine::call::{Approved, Authorized, Begun, Bounded, Executed, Normalized};

fn parts(normalized: Normalized, authorized: Authorized, approved: Approved) {
    let _ = normalized.into_parts();
    let _ = authorized.into_parts();
    let _ = approved.prepared;
}

fn job(begun: Begun<'_>) {
    let _ = begun.job;
}

fn receipt(executed: Executed, bounded: Bounded) {
    let _ = executed.outcome;
    let _ = bounded.into_draft();
}

fn tool(session: &engine::Session) {
    let _ = session.registry().find("write", None);
}

fn main() {}
