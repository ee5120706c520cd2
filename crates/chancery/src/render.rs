//! A planner's view as text that stands alone: every fact of the structured form, readable.
//!
//! Hosts show a model either form, so neither may say less than the other.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// The text of an answer: status and receipt first, then everything else.
pub(crate) fn answer(shown: &Map<String, Value>) -> String {
    let mut text = String::new();
    let of = |name: &str| shown.get(name).and_then(Value::as_str).unwrap_or_default();
    push(&mut text, format_args!("{} · {}", of("status"), of("receipt_id")));
    for (name, value) in shown {
        if name != "status" && name != "receipt_id" {
            member(&mut text, 0, name, value);
        }
    }
    text
}

fn push(text: &mut String, line: std::fmt::Arguments<'_>) {
    let written = writeln!(text, "{line}");
    debug_assert!(written.is_ok(), "a string takes every write");
}

fn member(text: &mut String, indent: usize, name: &str, value: &Value) {
    let pad = " ".repeat(indent);
    match value {
        Value::Object(members) if members.is_empty() => {
            push(text, format_args!("{pad}{name}: {{}}"))
        }
        Value::Object(members) => {
            push(text, format_args!("{pad}{name}:"));
            for (name, value) in members {
                member(text, indent + 2, name, value);
            }
        }
        Value::Array(items) if items.is_empty() => push(text, format_args!("{pad}{name}: []")),
        Value::Array(items) => {
            push(text, format_args!("{pad}{name}:"));
            for value in items {
                item(text, indent + 2, value);
            }
        }
        Value::String(block) if block.contains('\n') => {
            push(text, format_args!("{pad}{name}: |"));
            for line in block.split_inclusive('\n') {
                push(text, format_args!("{pad}  {}", line.strip_suffix('\n').unwrap_or(line)));
            }
        }
        Value::String(line) => push(text, format_args!("{pad}{name}: {line}")),
        other => push(text, format_args!("{pad}{name}: {other}")),
    }
}

fn item(text: &mut String, indent: usize, value: &Value) {
    let pad = " ".repeat(indent);
    match value {
        Value::Object(members) => {
            push(text, format_args!("{pad}-"));
            for (name, value) in members {
                member(text, indent + 2, name, value);
            }
        }
        Value::String(line) if !line.contains('\n') => push(text, format_args!("{pad}- {line}")),
        other => push(text, format_args!("{pad}- {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_fact_is_in_the_text() {
        let shown = json!({
            "status": "failed",
            "receipt_id": "sha256:1",
            "error": { "code": "no_match" },
            "result": { "files": [{ "path": "a", "text": "x\ny\n" }], "none": [], "empty": {} },
        });
        let text = answer(shown.as_object().unwrap());
        let expected = "failed · sha256:1\nerror:\n  code: no_match\nresult:\n  files:\n    -\n      path: a\n      \
                        text: |\n        x\n        y\n  none: []\n  empty: {}\n";
        assert_eq!(text, expected);
    }
}
