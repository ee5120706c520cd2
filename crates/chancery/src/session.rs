//! Who is asking: the local session of the person who started the process.
//!
//! Its grant is bounded by the workspace and by time; the policy decides within it.

use engine::Grant;
use engine::authority::Scope;
use uuid::Uuid;
use wire::Timestamp;

/// How long a local session's grant lasts, milliseconds: a week.
const GRANT_MS: u64 = 7 * 24 * 3_600_000;

/// A new id of a kind, ordered by time.
pub(crate) fn new_id(kind: &str) -> String {
    format!("{kind}-{}", Uuid::now_v7().simple())
}

/// The grant of a local session for a task, or for a new one.
pub(crate) fn local_grant(task_id: Option<String>, workspace: &str, now: Timestamp) -> Grant {
    let uid = rustix::process::getuid().as_raw();
    Grant {
        capability_id: new_id("grant"),
        tenant: "local".to_owned(),
        principal: format!("uid-{uid}"),
        task_id: task_id.unwrap_or_else(|| new_id("task")),
        attempt_id: new_id("attempt"),
        workspace: workspace.to_owned(),
        tools: Scope::Any,
        operations: Scope::Any,
        paths: Scope::Any,
        issued: now,
        expires: now.plus_ms(GRANT_MS),
    }
}
