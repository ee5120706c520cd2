//! Many calls at once, cancelled calls, progress, and the end of the connection.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::fixture::Client;

#[test]
fn e10_sixty_four_calls_at_once_are_answered_in_the_order_that_they_end() {
    let mut client = Client::initialized();
    for n in 0..64 {
        client.call(n, "wait", json!({ "name": format!("w{n}") }));
    }
    client.fixture.until_begun(64);
    // Requests that are no calls go on while every place is taken.
    assert_eq!(client.ask("p", "ping", json!({}))["result"], json!({}));
    assert!(client.ask("l", "tools/list", json!({}))["result"]["tools"].is_array());
    for n in (0..64).rev() {
        client.fixture.open(&format!("w{n}"));
        let answer = client.hear().unwrap();
        assert_eq!(answer["id"], n);
        assert_eq!(answer["result"]["structuredContent"]["name"], format!("w{n}"));
    }
}

#[test]
fn e10_calls_past_the_bound_wait_and_are_done() {
    let mut client = Client::initialized();
    for n in 0..80 {
        client.call(n, "wait", json!({ "name": "same" }));
    }
    client.fixture.until_begun(64);
    client.fixture.open("same");
    let answered: BTreeSet<u64> =
        (0..80).map(|_| client.hear().unwrap()["id"].as_u64().unwrap()).collect();
    assert_eq!(answered, (0..80).collect());
}

#[test]
fn f8_a_cancelled_call_is_stopped_and_never_answered() {
    let mut client = Client::initialized();
    client.call(1, "wait", json!({ "name": "a" }));
    client.fixture.until_begun(1);
    let cancel = |id: Value| {
        json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id },
        })
    };
    client.say(&cancel(json!(99)));
    client.say(&cancel(json!(1)));
    client.say(&cancel(json!(1)));
    assert_eq!(client.ask(2, "ping", json!({}))["result"], json!({}));
    let fixture = client.fixture.clone();
    assert_eq!(client.finish(), [] as [Value; 0]);
    assert_eq!(*fixture.stopped.lock().unwrap(), ["a"]);
}

#[test]
fn f8_a_call_that_waits_for_a_place_can_be_cancelled() {
    let mut client = Client::initialized();
    for n in 0..65 {
        client.call(n, "wait", json!({ "name": format!("w{n}") }));
    }
    client.fixture.until_begun(64);
    client.say(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 64 },
    }));
    for n in 0..64 {
        client.fixture.open(&format!("w{n}"));
    }
    let answered: BTreeSet<u64> =
        (0..64).map(|_| client.hear().unwrap()["id"].as_u64().unwrap()).collect();
    assert_eq!(answered, (0..64).collect());
    let fixture = client.fixture.clone();
    assert_eq!(client.finish(), [] as [Value; 0]);
    assert_eq!(*fixture.stopped.lock().unwrap(), ["w64"], "the runtime heard of it");
}

#[test]
fn f8_the_end_of_the_input_stops_what_runs_and_answers_nothing_more() {
    let mut client = Client::initialized();
    client.call(1, "wait", json!({ "name": "a" }));
    client.call(2, "wait", json!({ "name": "b" }));
    client.fixture.until_begun(2);
    let fixture = client.fixture.clone();
    assert_eq!(client.finish(), [] as [Value; 0]);
    let stopped: BTreeSet<String> = fixture.stopped.lock().unwrap().iter().cloned().collect();
    assert_eq!(stopped, ["a", "b"].map(str::to_owned).into());
}

#[test]
fn e10_requests_before_the_end_of_the_input_are_answered() {
    let mut client = Client::initialized();
    client.request(1, "tools/list", json!({}));
    client.call(2, "echo", json!({}));
    let answered: BTreeSet<u64> =
        client.finish().iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    assert_eq!(answered, [1, 2].into());
}

#[test]
fn f8_a_call_that_ignores_its_stop_does_not_hold_the_door() {
    let mut client = Client::initialized();
    client.call(1, "deaf", json!({ "name": "a" }));
    client.fixture.until_begun(1);
    let fixture = client.fixture.clone();
    assert_eq!(client.finish(), [] as [Value; 0]);
    // Only now may it end: the door closed while it ran.
    fixture.open("a");
}

#[test]
fn f8_a_broken_output_stops_what_runs() {
    let mut client = Client::initialized();
    client.call(1, "wait", json!({ "name": "a" }));
    client.fixture.until_begun(1);
    let fixture = client.break_off();
    assert_eq!(*fixture.stopped.lock().unwrap(), ["a"]);
}

#[test]
fn progress_increases_and_ends_before_the_result() {
    let mut client = Client::initialized();
    let params = json!({ "name": "count", "_meta": { "progressToken": "p" } });
    client.request(1, "tools/call", params);
    let mut before = 0;
    loop {
        let line = client.hear().unwrap();
        if line["id"] == 1 {
            break;
        }
        assert_eq!(line["method"], "notifications/progress");
        assert_eq!(line["params"]["progressToken"], "p");
        let done = line["params"]["progress"].as_u64().unwrap();
        assert!(done > before, "{done} after {before}");
        before = done;
    }
    assert!(before > 0, "the first report is sent at once");
    // Without a token there is no notification.
    assert_eq!(client.ask(2, "tools/call", json!({ "name": "count" }))["id"], 2);
    assert_eq!(client.finish(), [] as [Value; 0]);
}
