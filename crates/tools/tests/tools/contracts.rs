//! What the tools say of themselves, and what they take.

use serde_json::json;

use crate::support::Bench;

/// What a planner is charged for the tools before it has done anything, bytes of compact JSON.
const WORDS_BYTES: usize = 8_000;

#[test]
fn d4_four_tools_cost_a_planner_less_than_8_kb() {
    let bench = Bench::new();
    let cost = |contract: &wire::ToolContract| {
        let schemas = [&contract.arguments_schema, &contract.result_schema];
        schemas.iter().map(|schema| schema.to_string().len()).sum::<usize>()
            + contract.description.len()
    };
    let costs: Vec<_> =
        bench.registry().contracts().map(|contract| (&contract.name, cost(contract))).collect();
    assert_eq!(costs.len(), 4);
    let total: usize = costs.iter().map(|(_, cost)| cost).sum();
    assert!(total < WORDS_BYTES, "{total} bytes: {costs:?}");
}

#[test]
fn d4_schemas_stay_within_what_every_host_understands() {
    let bench = Bench::new();
    for contract in bench.registry().contracts() {
        let text = contract.arguments_schema.to_string();
        for word in ["oneOf", "anyOf", "allOf", "$ref", "\"null\"", "\"type\":["] {
            assert!(!text.contains(word), "{}: {word} in {text}", contract.name);
        }
    }
}

#[test]
fn e5_what_is_no_argument_is_refused_where_it_stands() {
    let bench = Bench::with(&[("a", b"a\n")]);
    let file = |extra: serde_json::Value| {
        let mut file = json!({ "path": "a" });
        file.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        json!({ "files": [file] })
    };
    for (tool, arguments, pointer) in [
        ("repository_read", json!({}), "/arguments"),
        ("repository_read", json!({ "files": [] }), "/arguments/files"),
        ("repository_read", file(json!({ "depth": 9 })), "/arguments/files/0/depth"),
        ("repository_read", file(json!({ "line": 1 })), "/arguments/files/0/line"),
        ("repository_search", json!({ "query": "" }), "/arguments/query"),
        ("repository_search", json!({ "query": "a", "mode": "fuzzy" }), "/arguments/mode"),
        (
            "repository_search",
            json!({ "query": "a", "limits": { "lines": 1 } }),
            "/arguments/limits/lines",
        ),
        ("repository_patch", json!({}), "/arguments"),
        (
            "repository_patch",
            json!({ "patch": "x", "changes": [{ "action": "delete", "path": "a" }] }),
            "/arguments",
        ),
        ("repository_patch", json!({ "patch": "x" }), "/arguments/patch"),
        (
            "repository_patch",
            json!({ "changes": [{ "action": "move", "path": "a" }] }),
            "/arguments/changes/0/action",
        ),
        (
            "repository_patch",
            json!({ "changes": [{ "action": "replace", "path": "a", "old": "a" }] }),
            "/arguments/changes/0/new",
        ),
        (
            "repository_patch",
            json!({ "changes": [{ "action": "delete", "path": "a", "to": "b" }] }),
            "/arguments/changes/0/to",
        ),
        (
            "repository_patch",
            json!({ "changes": [{ "action": "delete", "path": "a", "base": "abc" }] }),
            "/arguments/changes/0/base",
        ),
        (
            "repository_patch",
            json!({ "changes": [{ "action": "delete", "path": "../a" }] }),
            "/arguments/changes/0/path",
        ),
        (
            "repository_patch",
            json!({ "changes": [{ "action": "lines", "path": "a", "first": 1, "new": "x" }] }),
            "/arguments/changes/0/last",
        ),
        (
            "repository_patch",
            json!({ "changes": [{ "action": "lines", "path": "a", "first": 1, "last": 1, "new": "x", "old": "a" }] }),
            "/arguments/changes/0/old",
        ),
        ("process_run", json!({}), "/arguments"),
        ("process_run", json!({ "argv": [] }), "/arguments"),
        ("process_run", json!({ "argv": ["true"], "shell": { "script": "true" } }), "/arguments"),
        ("process_run", json!({ "argv": ["true"], "timeout_ms": 0 }), "/arguments/timeout_ms"),
        ("process_run", json!({ "argv": ["true"], "cwd": "nowhere" }), "/arguments/cwd"),
    ] {
        let told = bench.call(tool, arguments.clone());
        assert_eq!(told.end().0, "rejected", "{tool} {arguments}: {}", told.all());
        assert_eq!(told.text("/error/pointer"), pointer, "{tool} {arguments}: {}", told.all());
    }
    assert_eq!(bench.text("a"), "a\n");
}
