//! Both eras: the handshake of 2025-11-25 and before, and the self-contained requests of 2026-07-28.

use serde_json::{Value, json};
use wire::Digest;

use super::fixture::Client;

fn modern(params: Value) -> Value {
    let mut params = params;
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    params["_meta"]["io.modelcontextprotocol/clientInfo"] =
        json!({ "name": "test", "version": "1" });
    params
}

#[test]
fn d2_the_handshake_agrees_on_a_version_that_both_speak() {
    for (asked, agreed) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let mut client = Client::new();
        let info = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": asked, "capabilities": {}, "clientInfo": info });
        let answer = client.ask(0, "initialize", params);
        let result = &answer["result"];
        assert_eq!(result["protocolVersion"], agreed, "{asked}");
        assert_eq!(result["serverInfo"]["name"], "chancery");
        assert_eq!(result["instructions"], "For tests.");
        assert_eq!(result["capabilities"], json!({ "tools": {}, "resources": {} }));
        assert_eq!(client.finish(), [] as [Value; 0]);
    }
}

#[test]
fn d2_a_handshake_client_lists_and_calls_tools() {
    let mut client = Client::initialized();
    assert_eq!(client.ask(1, "ping", json!({}))["result"], json!({}));
    let answer = client.ask(2, "tools/list", json!({}));
    let tools = answer["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 6);
    assert_eq!(tools[0]["annotations"]["readOnlyHint"], true);
    assert!(
        answer["result"].get("resultType").is_none() && answer["result"].get("ttlMs").is_none()
    );
    client.call(3, "echo", json!({ "name": "x", "unknown": [1.5, null] }));
    let answer = client.hear().unwrap();
    let result = &answer["result"];
    assert_eq!(result["isError"], false);
    assert_eq!(result["_meta"]["chancery/receipt_id"], "sha256:r");
    assert_eq!(
        result["structuredContent"]["arguments"],
        json!({ "name": "x", "unknown": [1.5, null] })
    );
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, result["structuredContent"]);
    let uri = format!("chancery://artifact/sha256/{}", Digest::of_bytes(b"whole").hex());
    let link = json!({
        "type": "resource_link", "uri": uri, "name": "whole", "size": 5, "mimeType": "text/plain",
    });
    assert_eq!(result["content"][1], link);
    assert!(result.get("resultType").is_none());
}

#[test]
fn d2_a_self_contained_client_discovers_lists_and_calls_tools() {
    let mut client = Client::new();
    let answer = client.ask(0, "server/discover", modern(json!({})));
    let result = &answer["result"];
    assert_eq!(result["resultType"], "complete");
    assert!(result["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")));
    assert_eq!(result["instructions"], "For tests.");
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "chancery");
    let answer = client.ask(1, "tools/list", modern(json!({})));
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(answer["result"]["cacheScope"], "private");
    assert!(answer["result"]["ttlMs"].as_u64().unwrap() > 0);
    let params = modern(json!({ "name": "echo", "arguments": { "name": "x" } }));
    let answer = client.ask(2, "tools/call", params);
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(answer["result"]["structuredContent"]["name"], "x");
    // Self-contained means that a handshake changes nothing for a request that says its version.
    let answer = client.ask(3, "ping", modern(json!({})));
    assert_eq!(answer["error"]["code"], -32601);
}

#[test]
fn e5_a_version_that_is_not_spoken_is_refused_with_those_that_are() {
    let mut client = Client::new();
    let mut params = modern(json!({}));
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2030-01-01");
    let answer = client.ask(0, "tools/list", params);
    assert_eq!(answer["error"]["code"], -32022);
    assert!(
        answer["error"]["data"]["supported"].as_array().unwrap().contains(&json!("2026-07-28"))
    );
    // A refused request is over: its id is free again.
    assert!(client.ask(0, "tools/list", modern(json!({})))["result"]["tools"].is_array());
}

#[test]
fn f8_a_self_contained_call_is_cancelled_like_any_other() {
    let mut client = Client::new();
    let params = modern(json!({ "name": "wait", "arguments": { "name": "a" } }));
    client.request(1, "tools/call", params);
    client.fixture.until_begun(1);
    client.say(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 },
    }));
    assert!(client.ask(2, "tools/list", modern(json!({})))["result"]["tools"].is_array());
    let fixture = client.fixture.clone();
    assert_eq!(client.finish(), [] as [Value; 0]);
    assert_eq!(*fixture.stopped.lock().unwrap(), ["a"]);
}

#[test]
fn d2_everything_that_can_be_kept_says_for_how_long() {
    let mut client = Client::new();
    let uri = format!("chancery://artifact/sha256/{}", Digest::of_bytes(b"whole").hex());
    for (method, params) in [
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({ "uri": uri })),
    ] {
        let result = client.ask(1, method, modern(params))["result"].clone();
        assert!(result["ttlMs"].is_u64(), "{method}: {result}");
        assert_eq!(result["cacheScope"], "private", "{method}: {result}");
    }
}

#[test]
fn e2_a_self_contained_request_must_say_what_its_client_can() {
    let mut client = Client::new();
    let params = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } });
    let answer = client.ask(0, "tools/list", params);
    assert_eq!(answer["error"]["code"], -32602);
}

#[test]
fn d2_a_client_may_probe_and_then_shake_hands() {
    let mut client = Client::new();
    client.ask(0, "server/discover", modern(json!({})));
    let info = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
    client.ask(1, "initialize", params);
    let answer = client.ask(2, "tools/list", json!({}));
    assert_eq!(answer["result"]["tools"].as_array().unwrap().len(), 6);
    let answer = client.ask(3, "tools/list", modern(json!({})));
    assert_eq!(answer["result"]["resultType"], "complete");
}

#[test]
fn e2_call_id_and_key_come_from_the_request() {
    let mut client = Client::initialized();
    let meta = json!({ "claudecode/toolUseId": "toolu_9", "chancery/idempotency_key": "k" });
    let answer = client.ask(1, "tools/call", json!({ "name": "echo", "_meta": meta }));
    let structured = &answer["result"]["structuredContent"];
    assert_eq!((&structured["call_id"], &structured["key"]), (&json!("toolu_9"), &json!("k")));
    let answer = client.ask(2, "tools/call", json!({ "name": "echo" }));
    let call_id = answer["result"]["structuredContent"]["call_id"].as_str().unwrap().to_owned();
    assert!(call_id.ends_with("/2"), "{call_id}");
    let answer = client.ask("2", "tools/call", json!({ "name": "echo" }));
    assert_ne!(answer["result"]["structuredContent"]["call_id"], call_id.as_str());
}

#[test]
fn e7_an_artifact_is_read_by_its_address() {
    let mut client = Client::initialized();
    let answer = client.ask(1, "resources/templates/list", json!({}));
    let template = answer["result"]["resourceTemplates"][0]["uriTemplate"].as_str().unwrap();
    assert_eq!(template, "chancery://artifact/sha256/{hex}{?start}");
    assert_eq!(client.ask(2, "resources/list", json!({}))["result"]["resources"], json!([]));
    let uri = format!("chancery://artifact/sha256/{}", Digest::of_bytes(b"whole").hex());
    let answer = client.ask(3, "resources/read", json!({ "uri": uri }));
    assert_eq!(answer["result"]["contents"][0]["text"], "whole");
    let answer = client.ask(4, "resources/read", json!({ "uri": format!("{uri}?start=2") }));
    assert_eq!(answer["result"]["contents"][0]["text"], "ole");
    let unknown = format!("chancery://artifact/sha256/{}", Digest::of_bytes(b"no").hex());
    let answer = client.ask(5, "resources/read", json!({ "uri": unknown }));
    assert_eq!(answer["error"]["code"], -32002);
    assert_eq!(answer["error"]["data"]["code"], "not_found");
    let answer = client.ask(6, "resources/read", modern(json!({ "uri": unknown })));
    assert_eq!(answer["error"]["code"], -32602);
    let damaged = format!("chancery://artifact/sha256/{}", Digest::of_bytes(b"damaged").hex());
    let answer = client.ask(8, "resources/read", json!({ "uri": damaged }));
    assert_eq!(answer["error"]["code"], -32603);
    assert_eq!(answer["error"]["data"]["code"], "machine");
    let answer = client.ask(7, "resources/read", json!({ "uri": "file:///etc/passwd" }));
    assert_eq!(answer["error"]["data"]["pointer"], "/params/uri");
}
