//! A session keeps the grant and the registry that it was opened with, and an answer keeps its receipt.

use std::sync::Arc;

use engine::call::Context;
use engine::{Answer, Grant, Registry, Session};
use wire::Receipt;

fn context(cx: &mut Context<'_>, other: &'static Session) {
    cx.session = other;
    cx.received = wire::Timestamp::MAX;
}

fn session(session: &mut Session, wider: Grant, newer: Arc<Registry>) {
    session.grant = wider;
    session.registry = newer;
}

fn registry(registry: &mut Registry) {
    registry.entries.clear();
    registry.revision = wire::Digest::of_bytes(b"");
}

fn answer(answer: &mut Answer, receipt: Receipt) {
    answer.receipt = receipt;
    answer.shown.clear();
}

fn main() {}
