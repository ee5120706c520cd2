//! What the door refuses, and that it lives on.

use std::io::Write;

use serde_json::{Value, json};

use super::fixture::Client;
use crate::mcp::message::BOUNDS;

fn lives(client: &mut Client) {
    assert_eq!(client.ask("alive", "ping", json!({}))["result"], json!({}));
}

#[test]
fn v2_malformed_and_ambiguous_lines_are_answered_and_the_door_lives() {
    let mut client = Client::initialized();
    for (line, code, id) in [
        ("nonsense", -32700, Value::Null),
        (r#"{"jsonrpc":"2.0","id":1,"method":"#, -32700, Value::Null),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}"#, -32600, json!(1)),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, Value::Null),
    ] {
        client.say_line(line);
        let answer = client.hear().unwrap();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "{line}");
        assert!(answer["error"]["data"]["next"].is_string());
        lives(&mut client);
    }
}

#[test]
fn v2_an_oversized_line_is_answered_by_its_id_and_the_door_lives() {
    let mut client = Client::initialized();
    let filler = "x".repeat(BOUNDS.bytes);
    let call = format!(
        r#""method":"tools/call","params":{{"name":"echo","arguments":{{"a":"{filler}"}}}}"#
    );
    client.say_line(&format!(r#"{{"jsonrpc":"2.0","id":5,{call}}}"#));
    client.say_line(&format!(r#"{{"jsonrpc":"2.0",{call},"id":"last"}}"#));
    for id in [json!(5), json!("last")] {
        let answer = client.hear().unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(-32600)));
        assert_eq!(answer["error"]["data"]["code"], "message_too_large");
    }
    lives(&mut client);
}

#[test]
fn e5_an_unknown_tool_is_named_and_unknown_methods_are_refused() {
    let mut client = Client::initialized();
    let answer = client.ask(1, "tools/call", json!({ "name": "nope" }));
    assert_eq!(answer["error"]["code"], -32602);
    assert_eq!(answer["error"]["data"]["code"], "unknown_tool");
    for method in ["prompts/list", "logging/setLevel", "subscriptions/listen", "no/such"] {
        assert_eq!(client.ask(2, method, json!({}))["error"]["code"], -32601, "{method}");
    }
    let answer = client.ask(3, "tools/list", json!({ "cursor": "x" }));
    assert_eq!(answer["error"]["code"], -32602);
}

#[test]
fn e9_a_panic_and_a_lost_receipt_are_answered_and_the_door_lives() {
    let mut client = Client::initialized();
    client.call(1, "panic", json!({}));
    let answer = client.hear().unwrap();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!(-32603)));
    assert_eq!(answer["error"]["data"], json!({ "code": "internal", "next": "ask_human" }));
    client.call(2, "unrecorded", json!({}));
    let answer = client.hear().unwrap();
    assert_eq!(answer["error"]["data"]["code"], "ledger_unavailable");
    lives(&mut client);
}

#[test]
fn e10_an_id_in_use_is_refused_and_its_call_goes_on() {
    let mut client = Client::initialized();
    client.call(1, "wait", json!({ "name": "a" }));
    client.fixture.until_begun(1);
    client.call(1, "echo", json!({}));
    assert_eq!(client.hear().unwrap()["error"]["data"]["pointer"], "/id");
    client.fixture.open("a");
    assert_eq!(client.hear().unwrap()["result"]["structuredContent"]["name"], "a");
}

#[test]
fn v2_random_bytes_never_end_the_door() {
    let mut client = Client::initialized();
    let mut state = 0x9e37_79b9_u32;
    let mut said = 0;
    for length in 1..200 {
        let line: Vec<u8> = (0..length)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                state.to_be_bytes()[0]
            })
            .filter(|byte| !matches!(byte, b'\n' | b'\r'))
            .collect();
        said += usize::from(!line.trim_ascii().is_empty());
        client.say_bytes().write_all(&line).unwrap();
        client.say_line("");
    }
    for _ in 0..said {
        assert!(client.hear().unwrap()["error"]["code"].is_i64());
    }
    lives(&mut client);
}
