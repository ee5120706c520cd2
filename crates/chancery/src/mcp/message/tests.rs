//! What becomes of lines, as a table.

use super::*;

fn heard(text: &str) -> Heard {
    Reader { initialized: true }.read(Line::Whole(text.as_bytes().to_vec()), &Flight::default())
}

/// The refusal of a line: JSON-RPC code, id, code, pointer.
fn refusal(text: &str) -> (i64, Value, String, Value) {
    let Heard::Refused(refusal) = heard(text) else {
        panic!("expected a refusal of {text}");
    };
    let line: Value = serde_json::from_str(&refusal.line()).unwrap();
    let error = &line["error"];
    assert!(error["data"]["next"].is_string() && !error["message"].as_str().unwrap().is_empty());
    (
        error["code"].as_i64().unwrap(),
        line["id"].clone(),
        error["data"]["code"].as_str().unwrap().to_owned(),
        error["data"]["pointer"].clone(),
    )
}

fn check(text: &str, code: i64, id: Value, name: &str, pointer: Value) {
    assert_eq!(refusal(text), (code, id, name.to_owned(), pointer), "{text}");
}

#[test]
fn v2_what_is_no_strict_json_is_refused_with_its_id() {
    check(r#"{"jsonrpc":"2.0","id":1,"#, -32700, Value::Null, "malformed_json", Value::Null);
    check("nonsense", -32700, Value::Null, "malformed_json", Value::Null);
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#,
        -32600,
        json!(1),
        "duplicate_field",
        json!("/params/name"),
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}"#,
        -32600,
        json!(1),
        "duplicate_field",
        json!("/method"),
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
        -32600,
        Value::Null,
        "duplicate_field",
        json!("/id"),
    );
    check(
        r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"x":9007199254740993}}"#,
        -32600,
        json!("a"),
        "number_out_of_range",
        json!("/params/x"),
    );
    check(
        r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"x":"\ud800"}}"#,
        -32600,
        json!(4),
        "invalid_unicode",
        Value::Null,
    );
    let deep = format!("{}{}", "[".repeat(70), "]".repeat(70));
    let Heard::Refused(refusal) = heard(&format!(r#"{{"jsonrpc":"2.0","id":5,"params":{deep}}}"#))
    else {
        panic!("expected a refusal");
    };
    assert_eq!(refusal.error.code, Code::MessageTooDeep);
    assert_eq!(refusal.id, Some(RequestId::Number(5)));
}

#[test]
fn v2_what_is_no_request_is_refused_with_its_place() {
    check("[]", -32600, Value::Null, "invalid_field", json!(""));
    check(r#"{"id":1,"method":"ping"}"#, -32600, json!(1), "invalid_field", json!("/jsonrpc"));
    check(
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        -32600,
        Value::Null,
        "invalid_field",
        json!("/id"),
    );
    check(
        r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
        -32600,
        Value::Null,
        "invalid_field",
        json!("/id"),
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"Method":"ping"}"#,
        -32600,
        json!(1),
        "missing_field",
        json!("/method"),
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
        -32600,
        json!(1),
        "invalid_field",
        json!("/method"),
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#,
        -32600,
        json!(1),
        "invalid_field",
        json!(""),
    );
}

#[test]
fn f1_params_of_the_wrong_form_are_refused_with_their_place() {
    let call = |params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#)
    };
    check(&call("{}"), -32602, json!(1), "missing_field", json!("/params/name"));
    check(&call(r#"{"name":1}"#), -32602, json!(1), "invalid_field", json!("/params/name"));
    check(
        &call(r#"{"name":"a","arguments":[]}"#),
        -32602,
        json!(1),
        "invalid_field",
        json!("/params/arguments"),
    );
    check(&call("7"), -32602, json!(1), "invalid_field", json!("/params"));
    check(&call(r#"{"name":"a","_meta":7}"#), -32602, json!(1), "invalid_field", json!("/params"));
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{}}"#,
        -32602,
        json!(1),
        "invalid_field",
        json!("/params"),
    );
}

#[test]
fn e2_a_request_before_any_opening_is_refused_unless_it_says_its_version() {
    let read = |text: &str| {
        Reader::default().read(Line::Whole(text.as_bytes().to_vec()), &Flight::default())
    };
    let refused = read(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    assert!(matches!(refused, Heard::Refused(Refusal { code: ErrorCode::INVALID_PARAMS, .. })));
    let modern = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{{"{VERSION}":"2026-07-28"}}}}}}"#
    );
    assert!(matches!(read(&modern), Heard::Message(_)));
    assert!(matches!(read(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#), Heard::Message(_)));
}

#[test]
fn e10_answers_and_strange_notifications_ask_for_nothing() {
    assert!(matches!(heard(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), Heard::Nothing));
    assert!(matches!(heard(r#"{"jsonrpc":"2.0","id":1,"error":{}}"#), Heard::Nothing));
    assert!(matches!(heard(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#), Heard::Message(_)));
    assert!(matches!(
        heard(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}"#),
        Heard::Message(_) | Heard::Nothing
    ));
}

#[test]
fn v2_an_oversized_line_is_answered_by_its_id_at_either_end() {
    let read = |head: &str, tail: &str| {
        let line = Line::Oversized {
            head: head.as_bytes().to_vec(),
            tail: tail.as_bytes().to_vec(),
            bytes: 9 << 20,
        };
        match Reader::default().read(line, &Flight::default()) {
            Heard::Refused(refusal) => refusal.id,
            _ => panic!("expected a refusal"),
        }
    };
    assert_eq!(read(r#"{"id":1,"params":"xx"#, "xx"), Some(RequestId::Number(1)));
    assert_eq!(read(r#"{"params":"xx"#, r#"xx"},"id":2}"#), Some(RequestId::Number(2)));
    assert_eq!(read("xx", "xx"), None);
}
