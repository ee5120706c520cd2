//! What a planner may send, and what it is told when it sends something else (E1–E5, E9, F1, V2).

use std::sync::atomic::{AtomicU32, Ordering};

use engine::call::Message;
use engine::{Session, Stop};
use proptest::prelude::*;
use serde_json::{Value, json};
use wire::contract::EffectClass;
use wire::receipt::Verdict;
use wire::{Code, Next, Status, call as envelope};

use crate::support::{World, call, error, read, shown_result, verdict, with, write};

/// Code, pointer and supported values of a refusal; nothing was executed for it.
fn refusal(world: &World, proposal: Value) -> (Code, Option<String>, Option<Value>) {
    let before = world.store.runs();
    let answer = world.call(proposal);
    assert_eq!(answer.receipt().status, Status::Rejected);
    assert_eq!(answer.receipt().decision, None, "nothing was decided on");
    assert_eq!(world.store.runs(), before, "nothing was executed");
    assert_eq!(world.open_intents(), 0, "no effect was meant");
    let error = error(&answer);
    (error.code, error.pointer.clone(), error.details.get("supported").cloned())
}

fn at(pointer: &str) -> Option<String> {
    Some(pointer.to_owned())
}

#[test]
fn e2_a_proposal_that_names_an_identity_is_rejected() {
    let world = World::new();
    for member in ["task_id", "attempt_id", "logical_effect_id", "capability_id"] {
        let proposal = with(write(member, "a", "x"), member, "task-1");
        let expected = (Code::IdentityRefused, at(&format!("/{member}")), None);
        assert_eq!(refusal(&world, proposal), expected, "even where it is the session's own");
    }
    assert_eq!(world.store.effects(), 0);
}

#[test]
fn e2_identity_is_the_session_s_and_the_version_is_the_pinned_one() {
    let world = World::new();
    let answer = world.call(with(write("1", "a", "x"), "tool_version", "1.0.0"));
    let receipt = answer.receipt();
    let grant = world.session.grant();
    assert_eq!(receipt.task_id, grant.task_id);
    assert_eq!(receipt.attempt_id, grant.attempt_id);
    assert_eq!(receipt.decision.as_ref().unwrap().capability_id, grant.capability_id);
    assert_eq!(&receipt.registry_revision, world.session.registry().revision());
    assert_eq!(receipt.tool_version.as_deref(), Some("1.0.0"));
    let unnamed = world.call(write("2", "b", "x"));
    assert_eq!(unnamed.receipt().tool_version.as_deref(), Some("1.0.0"));
}

#[test]
fn e3_a_receipt_says_what_became_of_the_execution_and_of_the_world() {
    let world = World::new();
    let answer = world.call(with(write("1", "./a", "x"), "idempotency_key", "k"));
    let receipt = answer.receipt();
    assert_eq!(receipt.protocol_version, "receipt.v1");
    assert_eq!(receipt.status, Status::Succeeded);
    assert_eq!(Value::from(receipt.result.clone().unwrap()), json!({ "text": "x", "number": 1 }));
    let action = receipt.normalized_action.as_ref().unwrap();
    assert_eq!(action.action, json!({ "path": "a", "text": "x" }), "the real resource");
    assert_eq!(action.effect, EffectClass::WriteFiles);
    let decision = receipt.decision.as_ref().unwrap();
    assert_eq!(decision.verdict, Verdict::Allow);
    assert_eq!(&decision.policy_version, world.engine.policy_version());
    assert_eq!(decision.reasons, ["notes"]);
    let runtime = receipt.runtime.as_ref().unwrap();
    assert_eq!(runtime.name, "tests/1");
    let mut contracts = world.session.registry().contracts();
    let contract = contracts.find(|contract| contract.name == "note_write").unwrap();
    assert_eq!(runtime.implementation, contract.implementation);
    let times = &receipt.times;
    assert_eq!(times.deadline, Some(times.received.plus_ms(contract.default_timeout_ms)));
    assert!(times.queued.is_some() && times.started.is_some());
    assert_eq!(shown_result(&answer)["text"], "x");
}

#[test]
fn e4_a_refused_call_has_no_times_of_an_execution() {
    let world = World::new();
    let answer = world.call(call("1", "note_write", json!({ "path": "a" })));
    let times = &answer.receipt().times;
    assert_eq!((times.queued, times.started), (None, None));
    assert_eq!(times.finished, times.received);
}

#[test]
fn e5_what_the_registry_does_not_have_is_named_with_what_it_has() {
    let world = World::new();
    let names: Vec<_> = world.session.registry().contracts().map(|c| c.name.clone()).collect();
    let unknown = call("1", "note_burn", json!({}));
    assert_eq!(refusal(&world, unknown), (Code::UnknownTool, at("/tool"), Some(json!(names))));
    let version = with(write("2", "a", "x"), "tool_version", "2.0.0");
    let expected = (Code::UnsupportedToolVersion, at("/tool_version"), Some(json!(["1.0.0"])));
    assert_eq!(refusal(&world, version), expected);
    let protocol = with(write("3", "a", "x"), "protocol_version", "tool-call.v2");
    let supported = Some(json!([envelope::PROTOCOL]));
    let expected = (Code::UnsupportedProtocolVersion, at("/protocol_version"), supported);
    assert_eq!(refusal(&world, protocol), expected);
    let (code, pointer, supported) = refusal(&world, with(write("4", "a", "x"), "tols", "x"));
    assert_eq!((code, pointer), (Code::UnknownField, at("/tols")));
    assert!(supported.unwrap().as_array().unwrap().contains(&json!("tool")));
    assert_eq!(verdict(&world.call(write("5", "a", "x"))), "succeeded");
}

#[test]
fn e5_a_version_that_was_corrected_as_told_is_served() {
    let world = World::new();
    let wrong = world.call(with(write("1", "a", "x"), "tool_version", "2.0.0"));
    assert_eq!(error(&wrong).next, Next::ChangeArguments);
    let supported = error(&wrong).details["supported"][0].clone();
    let corrected = world.call(with(write("2", "a", "x"), "tool_version", supported));
    assert_eq!(verdict(&corrected), "succeeded");
}

#[test]
fn f1_arguments_that_do_not_fit_are_refused_at_the_fault() {
    let world = World::new();
    let refused = |id: &str, arguments: Value| {
        let (code, pointer, _) = refusal(&world, call(id, "note_write", arguments));
        (code, pointer.unwrap())
    };
    let invalid = |pointer: &str| (Code::InvalidArguments, pointer.to_owned());
    let unknown = |pointer: &str| (Code::UnknownField, pointer.to_owned());
    let beside = |value: Value| json!({ "path": "a", "text": "x", "options": { "beside": value } });
    assert_eq!(refused("1", json!({})), invalid("/arguments"));
    assert_eq!(refused("2", json!({ "path": 1, "text": "x" })), invalid("/arguments/path"));
    assert_eq!(refused("3", json!({ "path": "a", "text": null })), invalid("/arguments/text"));
    let mode = json!({ "path": "a", "text": "x", "mo/de": 1 });
    assert_eq!(refused("4", mode), unknown("/arguments/mo~1de"));
    let deep = json!({ "path": "a", "text": "x", "options": { "force": true } });
    assert_eq!(refused("5", deep), unknown("/arguments/options/force"));
    let at = "/arguments/options/beside";
    for (id, value) in
        [("6", json!(0)), ("7", json!(10)), ("8", json!(-1)), ("9", json!(1.5)), ("10", json!("1"))]
    {
        assert_eq!(refused(id, beside(value)), invalid(at));
    }
    assert_eq!(world.store.with(|state| state.plans), 0, "no tool saw them");
    let whole = call("11", "note_write", beside(json!(9)));
    assert_eq!(verdict(&world.call(whole)), "succeeded", "the bound itself is inside");
}

#[test]
fn f1_a_refusal_does_not_repeat_what_was_sent() {
    let world = World::new();
    let secret = "canary-SECRET-0123456789";
    let wrong = json!({ "path": "a", "text": 7, "token": secret });
    let answer = world.call(call("1", "note_write", wrong));
    assert_eq!(verdict(&answer), "rejected invalid_arguments");
    let wrong = json!({ "path": "a", "text": "x", "options": secret });
    let other = world.call(call("2", "note_write", wrong));
    for answer in [answer, other] {
        assert!(!serde_json::to_string(answer.receipt()).unwrap().contains(secret));
    }
}

#[test]
fn e9_an_error_tells_a_person_and_a_planner_what_to_do() {
    let world = World::new();
    let next = |answer: &engine::Answer| {
        let error = &answer.shown()["error"];
        (error["code"].clone(), error["next"].clone())
    };
    let missing = next(&world.call(read("1", "gone")));
    assert_eq!(missing, (json!("not_found"), json!("change_arguments")));
    let denied = next(&world.call(write("2", ".env", "x")));
    assert_eq!(denied, (json!("denied"), json!("never")));
    let stop = Stop::new();
    stop.stop();
    let cancelled = next(&world.try_call(write("3", "a", "x"), &stop).unwrap());
    assert_eq!(cancelled, (json!("cancelled"), json!("retry_same")));
    let defect = next(&world.call(call("4", "defective", json!({ "at": "plan" }))));
    assert_eq!(defect, (json!("internal"), json!("ask_human")));
}

/// A message of a fresh task, so that no repeat is counted.
fn drive(world: &World, session: &Session, message: &[u8]) -> engine::Answer {
    world.drive(session, Message::Bytes(message), &Stop::new()).unwrap()
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z~/]{0,4}", inner, 0..4).prop_map(Value::from_iter),
        ]
    })
}

fn member() -> impl Strategy<Value = String> {
    let known = ["tool", "call_id", "arguments", "deadline", "idempotency_key", "tool_version"];
    let named = prop::sample::select(known.map(str::to_owned).to_vec());
    prop_oneof![4 => named, 1 => "\\PC{0,8}"]
}

/// What holds for any message at all; `world` looks at every answer itself.
fn holds(world: &World, answer: &engine::Answer) -> Result<(), TestCaseError> {
    let receipt = answer.receipt();
    prop_assert!(receipt.error.is_some() || receipt.status == Status::Succeeded);
    prop_assert_eq!(world.open_intents(), 0);
    let said = receipt.error.as_ref().map(|error| error.code);
    prop_assert!(said != Some(Code::Internal), "{:?}", receipt.error);
    Ok(())
}

#[test]
fn v2_any_bytes_get_a_receipt_or_a_typed_error() {
    let world = World::new();
    let session = world.task("bytes");
    proptest!(ProptestConfig { failure_persistence: None, ..Default::default() }, |(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
    )| {
        let answer = drive(&world, &session, &bytes);
        prop_assert_eq!(answer.receipt().status, Status::Rejected);
        holds(&world, &answer)?;
    });
    assert_eq!(world.store.runs(), 0);
}

#[test]
fn v2_a_good_message_with_any_change_gets_a_receipt_or_a_typed_error() {
    let world = World::new();
    let tasks = AtomicU32::new(0);
    proptest!(ProptestConfig { failure_persistence: None, ..Default::default() }, |(
        tool in prop::sample::select(vec!["note_read", "note_write", "note_search", "large"]),
        changes in prop::collection::vec((member(), value()), 0..3),
        arguments in prop::collection::vec(("[a-z_]{0,6}|path|text|fields", value()), 0..3),
        cut in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
    )| {
        let session = world.task(&format!("task {}", tasks.fetch_add(1, Ordering::Relaxed)));
        let mut proposal = call("1", tool, json!({ "path": "a", "text": "x" }));
        for (name, value) in arguments {
            proposal["arguments"][name] = value;
        }
        for (name, value) in changes {
            proposal[name] = value;
        }
        let mut bytes = serde_json::to_vec(&proposal).unwrap();
        if let Some((at, byte)) = cut {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let answer = drive(&world, &session, &bytes);
        holds(&world, &answer)?;
        let again = drive(&world, &session, &bytes);
        holds(&world, &again)?;
    });
    assert!(world.store.runs() > 0, "some changes leave a good call");
}

#[test]
fn v2_bounds_of_a_message_are_held_and_reached() {
    let world = World::new();
    let verdict_of = |bytes: &[u8]| verdict(&drive(&world, &world.session, bytes));
    let bound = engine::bounds::MESSAGE;
    let note =
        |id: &str, length: usize| serde_json::to_vec(&write(id, "a", &"x".repeat(length))).unwrap();
    let room = bound.bytes - note("1", 0).len();
    assert_eq!(verdict_of(&note("1", room)), "succeeded");
    assert_eq!(verdict_of(&note("2", room + 1)), "rejected message_too_large");
    let nested = |id: &str, levels: usize| {
        let value = format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        format!(r#"{{"call_id":"{id}","tool":"large","arguments":{{"fields":{{"one":{value}}}}}}}"#)
    };
    assert_eq!(verdict_of(nested("3", bound.depth - 3).as_bytes()), "succeeded");
    assert_eq!(verdict_of(nested("4", bound.depth - 2).as_bytes()), "rejected message_too_deep");
    assert_eq!(verdict_of(nested("5", 100_000).as_bytes()), "rejected message_too_deep");
    let twice = br#"{"call_id":"6","tool":"note_read","tool":"note_write","arguments":{}}"#;
    assert_eq!(verdict_of(twice), "rejected duplicate_field");
    let large =
        br#"{"call_id":"7","tool":"large","arguments":{"fields":{"one":9007199254740993}}}"#;
    assert_eq!(verdict_of(large), "rejected number_out_of_range");
    let half = br#"{"call_id":"8","tool":"note_read","arguments":{"path":"\ud800"}}"#;
    assert_eq!(verdict_of(half), "rejected invalid_unicode");
    let id = serde_json::to_vec(&read(&"i".repeat(256), "a")).unwrap();
    assert_eq!(verdict_of(&id), "succeeded");
    let id = serde_json::to_vec(&read(&"i".repeat(257), "a")).unwrap();
    assert_eq!(verdict_of(&id), "rejected invalid_field");
}
