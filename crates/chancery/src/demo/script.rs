//! What the scripted agent does, and what it expects each time.

use std::io;

use serde_json::{Value, json};

use super::scratch::{CRATE, SECRET, Scratch};

/// One call of the agent.
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) tool: &'static str,
    /// What happens outside the runtime just before.
    pub(super) before: fn(&Scratch) -> io::Result<()>,
    pub(super) arguments: fn() -> Value,
    /// The host's id of the call; empty lets the connection give one.
    pub(super) call_id: &'static str,
    pub(super) expected: Expected,
}

/// The outcome that a step must have.
pub(super) struct Expected {
    pub(super) status: &'static str,
    pub(super) code: Option<&'static str>,
    /// What else must hold of the answer; the error says what was expected.
    pub(super) that: fn(&Value) -> Result<(), &'static str>,
}

fn step(
    name: &'static str,
    tool: &'static str,
    arguments: fn() -> Value,
    expected: Expected,
) -> Step {
    Step { name, tool, before: |_| Ok(()), arguments, call_id: "", expected }
}

fn succeeded(that: fn(&Value) -> Result<(), &'static str>) -> Expected {
    Expected { status: "succeeded", code: None, that }
}

fn refused(
    status: &'static str,
    code: &'static str,
    that: fn(&Value) -> Result<(), &'static str>,
) -> Expected {
    Expected { status, code: Some(code), that }
}

fn nothing_more(_: &Value) -> Result<(), &'static str> {
    Ok(())
}

fn hold(condition: bool, what: &'static str) -> Result<(), &'static str> {
    if condition { Ok(()) } else { Err(what) }
}

fn number(answer: &Value, pointer: &str) -> u64 {
    answer.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
}

fn in_crate(file: &str) -> String {
    format!("{CRATE}/{file}")
}

/// The whole script, in order.
pub(super) fn steps() -> Vec<Step> {
    let mut all = work();
    all.extend(walls());
    all.extend(edits());
    all.extend(programs());
    all.extend(protocol());
    all
}

/// The job: find a fault, mend it, prove it.
fn work() -> Vec<Step> {
    const RUN_TESTS: fn() -> Value =
        || json!({ "argv": ["cargo", "test", "--offline", "--quiet"], "cwd": CRATE });
    vec![
        step(
            "search for the function",
            "repository_search",
            || json!({ "query": "pub fn mean", "path": CRATE }),
            succeeded(|answer| {
                hold(answer.pointer("/result/count") == Some(&json!({ "exact": 1 })), "one hit")
            }),
        ),
        step(
            "read the file",
            "repository_read",
            || json!({ "files": [{ "path": in_crate("src/lib.rs") }] }),
            succeeded(|answer| {
                let text = answer.pointer("/result/files/0/text").and_then(Value::as_str);
                hold(text.is_some_and(|text| text.contains("values.len()")), "the text of the file")
            }),
        ),
        step(
            "run the tests: one fails",
            "process_run",
            RUN_TESTS,
            refused("failed", "command_failed", |answer| {
                hold(
                    answer.to_string().contains("mean_of_nothing_is_none"),
                    "the failing test's name",
                )
            }),
        ),
        step(
            "mend the fault",
            "repository_patch",
            || {
                json!({ "changes": [{
                    "action": "replace",
                    "path": in_crate("src/lib.rs"),
                    "old": "    Some(sum / values.len() as f64)\n",
                    "new": "    (!values.is_empty()).then(|| sum / values.len() as f64)\n",
                }] })
            },
            succeeded(|answer| {
                hold(number(answer, "/result/files/0/added_lines") == 1, "one added line")
            }),
        ),
        step("run the tests: all pass", "process_run", RUN_TESTS, succeeded(nothing_more)),
    ]
}

/// What the agent must not reach.
fn walls() -> Vec<Step> {
    vec![
        step(
            "a secret is denied",
            "repository_read",
            || json!({ "files": [{ "path": in_crate(".env") }] }),
            refused("denied", "denied", |answer| {
                hold(!answer.to_string().contains(SECRET), "no secret in the answer")
            }),
        ),
        step(
            "a denied call is not tried twice",
            "repository_read",
            || json!({ "files": [{ "path": in_crate(".env") }] }),
            refused("rejected", "repeated_call", nothing_more),
        ),
        step(
            "the secret is not found by search",
            "repository_search",
            || json!({ "query": "demo-secret", "path": CRATE }),
            succeeded(|answer| {
                let kept_back = number(answer, "/result/skipped/denied") >= 1;
                hold(
                    kept_back && !answer.to_string().contains(SECRET),
                    "the file counted as denied and not shown",
                )
            }),
        ),
        step(
            "nor seen by a command",
            "process_run",
            || json!({ "argv": ["cat", ".env"], "cwd": CRATE }),
            Expected {
                status: "succeeded",
                code: None,
                that: |answer| {
                    hold(!answer.to_string().contains(SECRET), "no secret in the output")
                },
            },
        ),
        step(
            "a path out of the workspace is refused",
            "repository_read",
            || json!({ "files": [{ "path": "../../etc/passwd" }] }),
            refused("rejected", "outside_workspace", nothing_more),
        ),
        step(
            "so is a link out of it",
            "repository_read",
            || json!({ "files": [{ "path": in_crate("elsewhere/passwd") }] }),
            refused("rejected", "outside_workspace", nothing_more),
        ),
        step(
            "there is no network for a command",
            "process_run",
            || json!({ "shell": { "script": "exec 3<>/dev/tcp/127.0.0.1/22", "interpreter": "bash" } }),
            refused("failed", "command_failed", nothing_more),
        ),
    ]
}

/// Edits that must be refused rather than guessed.
fn edits() -> Vec<Step> {
    let replace = || {
        json!({ "changes": [{
            "action": "replace", "path": in_crate("notes.txt"), "old": "- to do\n", "new": "- done\n",
        }] })
    };
    let read = || json!({ "files": [{ "path": in_crate("notes.txt") }] });
    vec![
        step(
            "an unread file is not edited",
            "repository_patch",
            replace,
            refused("rejected", "not_read", nothing_more),
        ),
        step("read it", "repository_read", read, succeeded(nothing_more)),
        Step {
            before: |scratch| {
                scratch.edit_outside("notes.txt", "- to do\n- to do\n- done\n- and this\n")
            },
            ..step(
                "a stale edit is refused",
                "repository_patch",
                || {
                    json!({ "changes": [{
                        "action": "replace", "path": in_crate("notes.txt"), "old": "- done\n", "new": "- to do\n",
                    }] })
                },
                refused("rejected", "stale", nothing_more),
            )
        },
        step(
            "read it again",
            "repository_read",
            || json!({ "files": [{ "path": in_crate("notes.txt"), "start_line": 1, "lines": 4 }] }),
            succeeded(nothing_more),
        ),
        step(
            "an ambiguous edit lists its candidates",
            "repository_patch",
            || {
                json!({ "changes": [{
                    "action": "replace", "path": in_crate("notes.txt"), "old": "- to do", "new": "- done",
                }] })
            },
            refused("rejected", "ambiguous_match", |answer| {
                let lines =
                    answer.pointer("/error/details/refused/0/lines").and_then(Value::as_array);
                hold(lines.is_some_and(|lines| lines.len() == 2), "two candidates with their lines")
            }),
        ),
    ]
}

/// Programs that do not behave.
fn programs() -> Vec<Step> {
    vec![
        step(
            "a flood is cut and kept",
            "process_run",
            || json!({ "shell": { "script": "yes flood | head -c 5000000" } }),
            succeeded(|answer| {
                let counted = number(answer, "/result/stdout/total_bytes") == 5_000_000;
                let kept = answer.pointer("/truncation/0/artifact").is_some_and(Value::is_string);
                hold(counted && kept, "5,000,000 bytes counted and kept as an artifact")
            }),
        ),
        step(
            "a daemon does not outlive its call",
            "process_run",
            || json!({ "shell": { "script": "setsid sleep 600 >/dev/null 2>&1 & echo up" }, "timeout_ms": 20000 }),
            succeeded(|answer| {
                hold(
                    number(answer, "/result/ended_leftovers") >= 1,
                    "one process that had to be ended",
                )
            }),
        ),
        step(
            "a command that hangs is ended in time",
            "process_run",
            || json!({ "shell": { "script": "echo begun; trap '' TERM; sleep 600" }, "timeout_ms": 500 }),
            refused("failed", "timed_out", |answer| {
                hold(answer.to_string().contains("begun"), "what it had printed")
            }),
        ),
    ]
}

/// The contract of a call itself.
fn protocol() -> Vec<Step> {
    const ONCE: fn() -> Value = || json!({ "shell": { "script": "echo once >> count.txt; wc -l < count.txt" }, "cwd": CRATE });
    fn printed_one(answer: &Value) -> Result<(), &'static str> {
        let printed = answer.pointer("/result/stdout/head").and_then(Value::as_str);
        hold(printed.map(str::trim) == Some("1"), "one line in the file")
    }
    vec![
        step(
            "an unknown argument is refused",
            "repository_read",
            || json!({ "files": [{ "path": "README.md" }], "followLinks": true }),
            refused("rejected", "unknown_field", nothing_more),
        ),
        Step {
            call_id: "demo-once",
            ..step("a call with an effect", "process_run", ONCE, succeeded(printed_one))
        },
        Step {
            call_id: "demo-once",
            ..step(
                "sent again, it is answered and not done again",
                "process_run",
                ONCE,
                succeeded(printed_one),
            )
        },
    ]
}
