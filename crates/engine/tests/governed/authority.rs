//! Grant and policy: both must cover everything that a call will do, or nothing happens (C1–C3, C6, F2, V8).

use std::collections::BTreeSet;

use engine::authority::Scope;
use engine::{Grant, Policy};
use serde_json::{Value, json};
use wire::contract::EffectClass;
use wire::receipt::{NormalizedAction, Verdict};
use wire::{Next, Status};

use crate::support::{
    POLICY, Searcher, World, call, error, grant, read, shown_result, start, tools, verdict, wait,
    write,
};

fn only(names: &[&str]) -> Scope {
    Scope::Only(names.iter().map(|name| (*name).to_owned()).collect())
}

/// The dimension in which the grant does not cover the call; nothing was done.
fn dimension(grant: Grant, proposal: Value) -> String {
    let world = World::with(POLICY, grant);
    let answer = world.call(proposal);
    assert_eq!(verdict(&answer), "denied not_granted");
    assert_eq!(error(&answer).next, Next::AskHuman);
    assert_eq!(error(&answer).details["capability_id"], "capability-1");
    let decision = answer.receipt().decision.as_ref().unwrap();
    assert_eq!(
        (decision.verdict, decision.capability_id.as_str()),
        (Verdict::Deny, "capability-1")
    );
    assert_eq!((world.store.runs(), world.open_intents()), (0, 0));
    error(&answer).details["dimension"].as_str().unwrap().to_owned()
}

#[test]
fn c1_a_grant_covers_in_every_dimension_or_nothing_happens() {
    let to_a = || write("1", "src/a", "x");
    assert_eq!(dimension(Grant { tools: only(&["note_read"]), ..grant() }, to_a()), "tool");
    assert_eq!(dimension(Grant { tools: only(&[]), ..grant() }, to_a()), "tool");
    let reading = Grant { operations: only(&["note.read"]), ..grant() };
    assert_eq!(dimension(reading, to_a()), "operation");
    for elsewhere in ["src/b", "src/a/b", "src/ab", "sr", "a", "SRC"] {
        let grant = Grant { paths: only(&[elsewhere]), ..grant() };
        assert_eq!(dimension(grant, to_a()), "path", "{elsewhere}");
    }
    assert_eq!(dimension(Grant { expires: start(), ..grant() }, to_a()), "time");
    let later = Grant { issued: start().plus_ms(1), ..grant() };
    assert_eq!(dimension(later, to_a()), "time", "it is not issued yet");
}

#[test]
fn c1_a_narrow_grant_covers_what_it_names() {
    let narrow = Grant {
        tools: only(&["note_write", "note_read"]),
        operations: only(&["note.write"]),
        paths: only(&["src", "docs/b"]),
        ..grant()
    };
    let world = World::with(POLICY, narrow);
    assert_eq!(verdict(&world.call(write("1", "src/a", "x"))), "succeeded");
    assert_eq!(verdict(&world.call(write("2", "docs/b", "x"))), "succeeded");
    assert_eq!(verdict(&world.call(write("3", "docs/c", "x"))), "denied not_granted");
    assert_eq!(verdict(&world.call(read("4", "src/a"))), "denied not_granted");
    assert_eq!(world.store.effects(), 2);
}

#[test]
fn c1_every_demand_of_a_call_is_held_not_the_first_only() {
    let narrow = Grant { paths: only(&["a", "a.0", "a.1"]), ..grant() };
    let world = World::with(POLICY, narrow);
    let beside = |id: &str, count: u8| {
        let options = json!({ "beside": count });
        call(id, "note_write", json!({ "path": "a", "text": "x", "options": options }))
    };
    assert_eq!(verdict(&world.call(beside("1", 2))), "succeeded");
    let wider = world.call(beside("2", 3));
    assert_eq!(verdict(&wider), "denied not_granted");
    assert!(error(&wider).message.contains("`a.2`"));
    assert_eq!(world.store.effects(), 1);
}

#[test]
fn c3_a_grant_ends_and_works_no_longer() {
    let world = World::new();
    assert_eq!(verdict(&world.call(write("1", "a", "x"))), "succeeded");
    world.clock.advance(3_599_999);
    assert_eq!(verdict(&world.call(write("2", "a", "y"))), "succeeded");
    world.clock.advance(1);
    assert_eq!(verdict(&world.call(write("3", "a", "z"))), "denied not_granted");
    assert_eq!(world.store.effects(), 2);
}

#[test]
fn f2_a_denial_names_the_policy_and_its_version_and_nothing_is_executed() {
    let world = World::new();
    let answer = world.call(write("1", ".env", "x"));
    assert_eq!(verdict(&answer), "denied denied");
    let error = error(&answer);
    assert_eq!(error.next, Next::Never);
    assert_eq!(error.details["policies"], json!(["no-secrets"]));
    assert_eq!(error.details["policy_version"], world.engine.policy_version().as_str());
    let decision = answer.receipt().decision.as_ref().unwrap();
    assert_eq!(decision.verdict, Verdict::Deny);
    assert_eq!(&decision.policy_version, world.engine.policy_version());
    assert!(answer.receipt().normalized_action.is_some(), "what was denied is known");
    assert_eq!((world.store.runs(), world.open_intents()), (0, 0));
}

#[test]
fn f2_a_denial_while_planning_is_a_decision_too() {
    let world = World::new();
    let answer = world.call(read("1", ".env"));
    assert_eq!(verdict(&answer), "denied denied");
    let decision = answer.receipt().decision.as_ref().unwrap();
    assert_eq!(decision.verdict, Verdict::Deny);
    assert_eq!(&decision.policy_version, world.engine.policy_version());
    assert_eq!(world.store.runs(), 0);
}

#[test]
fn c6_without_a_policy_that_permits_nothing_is_done() {
    let world = World::with("", grant());
    assert_eq!(verdict(&world.call(write("1", "a", "x"))), "denied denied");
    assert_eq!(verdict(&world.call(read("2", "a"))), "denied denied");
    assert_eq!(world.store.runs(), 0);
}

#[test]
fn c6_a_policy_speaks_of_tool_effect_task_and_path() {
    let refused = |condition: &str, proposal: Value| {
        let text = format!(
            "permit (principal, action, resource);\n@id(\"x\") forbid (principal, action, resource is Path) \
             when {{ {condition} }};"
        );
        verdict(&World::with(&text, grant()).call(proposal)) == "denied denied"
    };
    let to_a = || write("1", "src/a", "x");
    assert!(refused(r#"context.tool == "note_write""#, to_a()));
    assert!(!refused(r#"context.tool == "note_read""#, to_a()));
    assert!(refused(r#"context.effect == "write_files""#, to_a()));
    assert!(refused(r#"principal.principal == "me" && principal.tenant == "local""#, to_a()));
    assert!(refused(r#"principal == Task::"task-1""#, to_a()));
    assert!(!refused(r#"principal == Task::"task-2""#, to_a()));
    assert!(refused(r#"resource.path like "src/*""#, to_a()));
    assert!(!refused(r#"resource.path like "docs/*""#, to_a()));
}

#[test]
fn c2_what_a_run_finds_on_its_way_is_decided_by_the_same_grant_and_policy() {
    let found = |policy: &str, grant: Grant| {
        let world = World::with(policy, grant);
        world.store.with(|state| {
            let notes = ["a", "src/b", ".env"];
            state.notes.extend(notes.map(|path| (path.to_owned(), String::new())));
        });
        let answer = world.call(call("1", "note_search", json!({})));
        assert_eq!(verdict(&answer), "succeeded");
        shown_result(&answer)["found"].clone()
    };
    let lists_only = r#"permit (principal, action == Action::"note.list", resource);"#;
    assert_eq!(found(lists_only, grant()), json!([]), "to list is not to read");
    let listing = Grant { operations: only(&["note.list"]), ..grant() };
    assert_eq!(found(POLICY, listing), json!([]), "the grant does not cover reading");
    let on_paths = format!(
        "{POLICY}\nforbid (principal, action, resource is Path) when {{ resource.path like \"src/*\" }};"
    );
    assert_eq!(found(&on_paths, grant()), json!(["a"]));
    let beneath = Grant { paths: only(&["", "src"]), ..grant() };
    assert_eq!(found(POLICY, beneath), json!(["src/b"]));
    assert_eq!(found(POLICY, grant()), json!(["a", "src/b"]));
}

fn action(world: &World, proposal: Value) -> NormalizedAction {
    world.call(proposal).receipt().normalized_action.clone().unwrap()
}

#[test]
fn c2_the_decision_is_bound_to_everything_that_makes_the_action() {
    let world = World::new();
    world.store.release();
    let note = |id: &str, path: &str, text: &str, beside: u8| {
        let options = json!({ "beside": beside });
        call(id, "note_write", json!({ "path": path, "text": text, "options": options }))
    };
    let first = action(&world, note("1", "a", "x", 1));
    assert_eq!(first.effect, EffectClass::WriteFiles);
    let others = [
        note("2", "b", "x", 1),
        note("3", "a", "y", 1),
        note("4", "a", "x", 2),
        write("5", "a", "x"),
        wait("6", "a", "x"),
    ];
    let digests: BTreeSet<_> = others.map(|other| action(&world, other).digest).into();
    assert_eq!(digests.len(), 5, "path, text, demands and tool each make another action");
    assert!(!digests.contains(&first.digest));
    assert_eq!(action(&world, note("7", "./a", "x", 1)).digest, first.digest);
}

#[test]
fn v8_a_changed_policy_decides_the_next_call_and_is_named() {
    let before = World::new();
    let stricter = format!("{POLICY}\n@id(\"frozen\") forbid (principal, action, resource);");
    let after = World::with(&stricter, grant());
    assert_ne!(before.engine.policy_version(), after.engine.policy_version());
    let served = before.call(write("1", "a", "x"));
    let refused = after.call(write("1", "a", "x"));
    assert_eq!((verdict(&served), verdict(&refused)), ("succeeded".into(), "denied denied".into()));
    let version = |answer: &engine::Answer| {
        answer.receipt().decision.as_ref().unwrap().policy_version.clone()
    };
    assert_eq!(&version(&served), before.engine.policy_version());
    assert_eq!(&version(&refused), after.engine.policy_version());
}

#[test]
fn c7_a_call_that_is_invalid_is_never_put_to_a_decision() {
    let world = World::with("", grant());
    let answer = world.call(call("1", "note_write", json!({ "path": ".env" })));
    assert_eq!(answer.receipt().status, Status::Rejected);
    assert_eq!(answer.receipt().decision, None);
}

#[test]
fn r1_a_plan_that_goes_beyond_its_contract_is_not_run() {
    let world = World::new();
    for excess in ["operation", "resource_kind", "effect", "no_demand"] {
        let answer = world.call(call(excess, "greedy", json!({ "excess": excess })));
        assert_eq!(verdict(&answer), "failed internal", "{excess}");
    }
    let many = world.call(call("many", "greedy", json!({ "excess": "many_demands" })));
    assert_eq!(verdict(&many), "rejected invalid_arguments");
    assert_eq!((world.store.runs(), world.store.effects()), (0, 0));
}

#[test]
fn c6_a_policy_that_names_a_tool_s_unknown_operation_does_not_load() {
    let world = World::new();
    let full = tools(&world.store).build().unwrap().operations();
    let searching = engine::Registry::builder().with(Searcher(world.store.clone())).unwrap();
    let less = searching.build().unwrap().operations();
    let text = r#"permit (principal, action == Action::"note.write", resource);"#;
    assert!(Policy::load(text, &full).is_ok());
    assert!(Policy::load(text, &less).is_err());
}
