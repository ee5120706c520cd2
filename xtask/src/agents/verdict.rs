//! What happened, line by line, and whether it is what had to happen.
//!
//! Works on the evidence alone: must never run anything, nor take the agent's word where the ledger or the files
//! can be asked.

use std::fmt;
use std::path::PathBuf;

use serde_json::Value;

/// The one change that the task asks for.
const MENDED: &str = "workspace/src/lib.rs modified";

/// What the agent may offer its model beside the server's tools: doors to the same server.
const HARMLESS: [&str; 3] =
    ["list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource"];

/// How much of a call and of its answer a line shows, in characters.
const ASKED: usize = 64;
const ANSWERED: usize = 72;

/// Everything that was left behind.
pub(super) struct Evidence {
    /// The agent's exit code, or none when it had to be ended.
    pub(super) exit: Option<i32>,
    /// The last line that it, or what surrounds it, wrote to standard error.
    pub(super) last_words: String,
    /// The calls that the model was to make.
    pub(super) script: Vec<Value>,
    /// What the model was offered, did and saw.
    pub(super) log: Vec<Value>,
    /// The ledger's receipts, oldest first.
    pub(super) receipts: Vec<Value>,
    pub(super) ledger_is_sound: bool,
    /// What is different in the workspace and beside it.
    pub(super) changes: Vec<String>,
    pub(super) failed_before: bool,
    pub(super) passed_after: bool,
}

/// A task that was done, or not.
#[derive(Debug)]
pub struct Played {
    agent: String,
    transcript: Vec<String>,
    /// What had to hold, and what is there instead if it does not.
    checks: Vec<(&'static str, Option<String>)>,
    /// The scratch folder, when it was left in place.
    pub(super) kept: Option<PathBuf>,
}

impl Played {
    /// Whether everything holds.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.checks.iter().all(|(_, instead)| instead.is_none())
    }
}

impl fmt::Display for Played {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{} with a scripted model, in namespaces without a network\n", self.agent)?;
        self.transcript.iter().try_for_each(|line| writeln!(out, "{line}"))?;
        writeln!(out)?;
        for (what, instead) in &self.checks {
            match instead {
                None => writeln!(out, "ok   {what}")?,
                Some(instead) => writeln!(out, "NOT  {what}: {instead}")?,
            }
        }
        if let Some(kept) = &self.kept {
            writeln!(out, "\nkept: {}", kept.display())?;
        }
        let held = self.checks.iter().filter(|(_, instead)| instead.is_none()).count();
        writeln!(out, "\nagents: {held} of {} checks hold", self.checks.len())
    }
}

impl Evidence {
    /// Holds the evidence against the task.
    pub(super) fn judge(&self, agent: &str) -> Played {
        let exit = (self.exit != Some(0)).then(|| match self.exit {
            Some(code) => format!("it ended with {code} and said `{}`", self.last_words),
            None => format!("it had to be ended; it said `{}`", self.last_words),
        });
        let unsound = || "`chancery verify` says otherwise".to_owned();
        let changed = || format!("[{}]", self.changes.join(", "));
        let tests =
            || format!("failed before: {}, pass now: {}", self.failed_before, self.passed_after);
        let checks = vec![
            ("the agent offered its model no effect but through chancery", self.other_tools()),
            (
                "the model made every call of the script and saw what it expected",
                self.unexpected_call(),
            ),
            ("the agent ended with 0", exit),
            (
                "the ledger holds exactly these calls, under the agent's own ids",
                self.unexpected_receipt(),
            ),
            (
                "every receipt is what it was when it was written",
                (!self.ledger_is_sound).then(unsound),
            ),
            (
                "one file was changed, and nothing beside the workspace",
                (self.changes != [MENDED]).then(changed),
            ),
            (
                "the tests failed before and pass now",
                (!(self.failed_before && self.passed_after)).then(tests),
            ),
        ];
        Played { agent: agent.to_owned(), transcript: self.transcript(), checks, kept: None }
    }

    fn calls(&self) -> Vec<&Value> {
        self.log.iter().filter(|entry| entry.get("call").is_some()).collect()
    }

    fn other_tools(&self) -> Option<String> {
        let mut offers =
            self.log.iter().filter_map(|entry| entry.get("offered")?.as_array()).peekable();
        if offers.peek().is_none() {
            return Some("it never asked the model".to_owned());
        }
        let names = offers.flatten().filter(|tool| !is_ours(tool)).map(|tool| text(tool, "/name"));
        let others: Vec<_> = names.filter(|name| !HARMLESS.contains(name)).collect();
        (!others.is_empty()).then(|| others.join(", "))
    }

    fn unexpected_call(&self) -> Option<String> {
        let fault = |entry: &Value| entry.get("fault")?.as_str().map(str::to_owned);
        let made = self.calls().len();
        let missing = || format!("{made} of {} calls were made", self.script.len());
        let done = self.log.last().is_some_and(|entry| text(entry, "/said") == "done");
        let fault = self.log.iter().find_map(fault);
        fault.or_else(|| (made != self.script.len() || !done).then(missing))
    }

    /// Each receipt must be that of the call in its place: same tool, expected status, and the ids that the model saw.
    fn unexpected_receipt(&self) -> Option<String> {
        let calls = self.calls();
        if self.receipts.len() != self.script.len() || calls.len() != self.script.len() {
            return Some(format!("{} receipts for {} calls", self.receipts.len(), calls.len()));
        }
        let mut places = self.script.iter().zip(calls).zip(&self.receipts);
        let other = places.find(|((step, call), receipt)| {
            let own_id = format!("/{}", text(call, "/call"));
            text(receipt, "/tool") != text(step, "/tool")
                || text(receipt, "/status") != text(step, "/status")
                || text(receipt, "/receipt_id") != text(call, "/answer/receipt_id")
                || !text(receipt, "/call_id").ends_with(&own_id)
        });
        other.map(|((_, call), receipt)| {
            let (tool, status) = (text(receipt, "/tool"), text(receipt, "/status"));
            format!(
                "{} has the receipt {tool} {status} {}",
                text(call, "/call"),
                text(receipt, "/call_id")
            )
        })
    }

    fn transcript(&self) -> Vec<String> {
        let mut number = 0;
        let line = |entry: &Value| {
            if let Some(offered) = entry.get("offered").and_then(Value::as_array) {
                return offer(offered);
            }
            if entry.get("call").is_some() {
                number += 1;
                return call_line(number, entry);
            }
            match entry.get("fault") {
                Some(fault) => format!("   fault: {fault}"),
                None => format!("   the model says: {}", text(entry, "/said")),
            }
        };
        self.log.iter().map(line).collect()
    }
}

fn offer(offered: &[Value]) -> String {
    let names = |ours: bool| {
        let some = offered.iter().filter(|tool| is_ours(tool) == ours);
        some.map(|tool| text(tool, "/name")).collect::<Vec<_>>().join(", ")
    };
    let namespace =
        offered.iter().find(|tool| is_ours(tool)).map_or("", |tool| text(tool, "/namespace"));
    format!("   offered in {namespace}: {}\n   and beside it: {}", names(true), names(false))
}

fn call_line(number: usize, entry: &Value) -> String {
    let id = text(entry, "/answer/receipt_id");
    let receipt = id.strip_prefix("sha256:").unwrap_or(id).get(..12).unwrap_or(id);
    let status = text(entry, "/answer/status");
    let (tool, asked) = (text(entry, "/name"), cut(text(entry, "/arguments"), ASKED));
    let answered = match (text(entry, "/shown").split_once("\"result\":"), text(entry, "/fault")) {
        (Some((_, result)), "") => cut(result.strip_suffix('}').unwrap_or(result), ANSWERED),
        (_, fault) => {
            let seen = text(entry, "/shown").split_whitespace().collect::<Vec<_>>().join(" ");
            format!("NOT as expected: {fault}; the model saw {seen}")
        }
    };
    format!("{number:>2} {tool:<17} {asked:<ASKED$} -> {status:<9} {receipt:<12} {answered}")
}

/// The beginning of a text.
fn cut(whole: &str, characters: usize) -> String {
    if whole.chars().count() <= characters {
        return whole.to_owned();
    }
    let beginning: String = whole.chars().take(characters.saturating_sub(1)).collect();
    format!("{beginning}…")
}

/// In the namespace of the server, or with its prefix.
fn is_ours(tool: &Value) -> bool {
    [text(tool, "/namespace"), text(tool, "/name")]
        .iter()
        .any(|name| name.starts_with("mcp__chancery"))
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What one call leaves behind when all is well.
    fn sound() -> Evidence {
        Evidence {
            exit: Some(0),
            last_words: String::new(),
            script: vec![json!({ "tool": "read", "status": "succeeded" })],
            log: vec![
                json!({ "offered": [
                    { "namespace": "mcp__chancery", "name": "read" },
                    { "namespace": null, "name": "read_mcp_resource" },
                ] }),
                json!({
                    "call": "call_1", "namespace": "mcp__chancery", "name": "read", "arguments": "{}",
                    "shown": "{\"status\":\"succeeded\",\"result\":{}}",
                    "answer": { "status": "succeeded", "receipt_id": "sha256:0123456789abcdef", "result": {} },
                    "fault": null,
                }),
                json!({ "said": "done" }),
            ],
            receipts: vec![json!({
                "tool": "read", "status": "succeeded", "receipt_id": "sha256:0123456789abcdef",
                "call_id": "thread/call_1",
            })],
            ledger_is_sound: true,
            changes: vec![MENDED.to_owned()],
            failed_before: true,
            passed_after: true,
        }
    }

    /// The number of the only check that does not hold, after the evidence was spoilt.
    #[track_caller]
    fn caught(spoil: impl FnOnce(&mut Evidence)) -> Vec<usize> {
        let mut evidence = sound();
        spoil(&mut evidence);
        let played = evidence.judge("agent");
        let numbered = played.checks.iter().enumerate();
        numbered.filter(|(_, (_, instead))| instead.is_some()).map(|(at, _)| at).collect()
    }

    #[test]
    fn a_line_says_what_was_asked_and_what_came_back() {
        let played = sound().judge("agent 1");
        assert!(played.is_sound());
        let line = &played.transcript[1];
        assert_eq!(
            line.split_whitespace().collect::<Vec<_>>().join(" "),
            "1 read {} -> succeeded 0123456789ab {}"
        );
        assert!(played.to_string().ends_with("\nagents: 7 of 7 checks hold\n"));
    }

    #[test]
    fn whatever_is_wrong_is_caught() {
        let tool = json!({ "namespace": null, "name": "shell" });
        assert_eq!(caught(|all| all.log[0]["offered"][1] = tool), [0]);
        assert_eq!(caught(|all| all.log[1]["fault"] = "expected more".into()), [1]);
        assert_eq!(caught(|all| all.log[2]["said"] = "stopped".into()), [1]);
        assert_eq!(caught(|all| drop(all.log.remove(1))), [1, 3]);
        assert_eq!(caught(|all| all.log.clear()), [0, 1, 3]);
        assert_eq!(caught(|all| all.exit = Some(1)), [2]);
        assert_eq!(caught(|all| all.exit = None), [2]);
        for (field, value) in [
            ("tool", "write"),
            ("status", "denied"),
            ("receipt_id", "sha256:00"),
            ("call_id", "thread/call_11"),
        ] {
            assert_eq!(caught(|all| all.receipts[0][field] = value.into()), [3], "{field}");
        }
        assert_eq!(caught(|all| all.receipts.push(all.receipts[0].clone())), [3]);
        assert_eq!(caught(|all| all.ledger_is_sound = false), [4]);
        assert_eq!(caught(|all| all.changes.clear()), [5]);
        assert_eq!(caught(|all| all.changes.push("beside/file.txt modified".into())), [5]);
        assert_eq!(caught(|all| all.failed_before = false), [6]);
        assert_eq!(caught(|all| all.passed_after = false), [6]);
    }
}
