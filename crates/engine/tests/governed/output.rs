//! What the planner is shown of a result: no more than was routed to it, and no more than it can take (E7, E11,
//! E12, F7).

use std::collections::BTreeMap;

use engine::{Answer, Registry};
use proptest::prelude::*;
use serde_json::{Value, json};
use wire::Status;
use wire::contract::Route;
use wire::receipt::{Bound, Count};

use crate::support::{
    Large, POLICY, World, call, error, grant, read, routes, shown_result, verdict, with, write,
};

/// A machine whose tool `large` has these routes and this greatest output.
fn world(named: BTreeMap<String, Route>, max_output_bytes: u64) -> World {
    World::of(POLICY, grant(), &|_| {
        let large = Large { routes: named.clone(), max_output_bytes };
        Registry::builder().with(large).unwrap().build().unwrap()
    })
}

fn large(id: &str, fields: Value, output_bytes: Option<u64>) -> Value {
    call(id, "large", json!({ "fields": fields, "output_bytes": output_bytes.unwrap_or(8_192) }))
}

fn to_planner() -> BTreeMap<String, Route> {
    routes(&[("one", Route::Planner), ("two", Route::Planner), ("three", Route::Planner)])
}

/// The size of what the planner is shown, which the receipt knows too.
fn size(answer: &Answer) -> u64 {
    let text = Value::Object(answer.shown().clone()).to_string();
    let size = u64::try_from(text.len()).unwrap();
    let usage = &answer.receipt().usage;
    assert_eq!(usage.planner_bytes, size, "e12: the context cost is counted");
    assert_eq!(usage.planner_tokens, size.div_ceil(4));
    size
}

#[test]
fn e12_the_context_cost_of_every_kind_of_answer_is_counted() {
    let world = World::new();
    size(&world.call(write("1", "a", "x")));
    size(&world.call(read("2", "gone")));
    size(&world.call(write("3", ".env", "x")));
    size(&world.call(call("4", "nothing", json!({}))));
    size(&world.call(with(write("5", "a", "x"), "task_id", "t")));
}

#[test]
fn e7_what_fits_is_shown_whole_and_nothing_is_stored_beside_it() {
    let world = world(to_planner(), 8_192);
    let text = "line\n".repeat(1_000);
    let answer = world.call(large("1", json!({ "one": text }), None));
    assert_eq!(shown_result(&answer)["one"], text);
    assert!(answer.receipt().truncation.is_empty() && answer.receipt().artifacts.is_empty());
}

#[test]
fn f7_a_text_that_is_too_long_is_cut_with_a_count_and_the_whole_is_kept() {
    let world = world(to_planner(), 8_192);
    let text: String = (0..30_000).map(|n| if n % 7 == 0 { 'é' } else { 'x' }).collect();
    let answer = world.call(large("1", json!({ "one": { "deep/er": [text] } }), None));
    let receipt = answer.receipt();
    assert_eq!(receipt.status, Status::Succeeded, "a cut is not an outcome");
    assert!(size(&answer) <= 8_192 && size(&answer) > 4_096, "most of the room is used");
    let shown = shown_result(&answer)["one"]["deep/er"][0].as_str().unwrap().to_owned();
    assert!(text.starts_with(&shown));
    let [cut] = receipt.truncation.as_slice() else { panic!("{:?}", receipt.truncation) };
    assert_eq!(cut.field, "/result/one/deep~1er/0");
    assert_eq!(cut.bound, Bound::Bytes);
    let left_out = u64::try_from(text.len() - shown.len()).unwrap();
    assert_eq!(cut.left_out, Count::Exact(left_out));
    let [artifact] = receipt.artifacts.as_slice() else { panic!("{:?}", receipt.artifacts) };
    assert_eq!(cut.artifact.as_ref(), Some(&artifact.digest));
    let whole: Value = serde_json::from_str(&world.artifact(&artifact.digest)).unwrap();
    assert_eq!(whole["one"]["deep/er"][0], text);
    assert_eq!(answer.shown()["truncation"][0]["field"], cut.field, "the planner is told");
}

#[test]
fn f7_a_tool_s_continuation_stands_only_while_all_that_it_gave_is_shown() {
    let world = world(to_planner(), 8_192);
    let ask = |id: &str, bytes: usize, cuts: u64| {
        let fields = json!({ "one": "x".repeat(bytes) });
        let arguments = json!({ "fields": fields, "output_bytes": 2_048, "cuts": cuts });
        let answer = world.call(call(id, "large", arguments));
        assert!(size(&answer) <= 2_048, "{id}: {}", size(&answer));
        answer
    };
    let goes_on = |answer: &Answer| {
        let cuts = &answer.receipt().truncation;
        cuts.iter().filter(|cut| cut.continuation.is_some()).count()
    };
    let fits = ask("fits", 1_000, 1);
    assert_eq!((fits.receipt().truncation.len(), goes_on(&fits)), (1, 1));
    let cut = ask("cut", 3_000, 1);
    assert_eq!((cut.receipt().truncation.len(), goes_on(&cut)), (2, 0), "it would leave a gap");
    assert!(cut.receipt().truncation[1].artifact.is_some(), "the whole is kept");
    // More words about cuts than there is room: one says that everything is apart.
    let many = ask("many", 3_000, 200);
    assert_eq!((many.receipt().truncation.len(), goes_on(&many)), (1, 0));
}

#[test]
fn f7_what_cannot_be_cut_as_text_is_left_out_whole_and_said() {
    let world = world(to_planner(), 4_096);
    let numbers: Vec<u32> = (0..3_000).collect();
    let answer = world.call(large("1", json!({ "one": numbers, "two": "short" }), None));
    let receipt = answer.receipt();
    assert_eq!(receipt.status, Status::Succeeded);
    assert!(size(&answer) <= 4_096);
    let [cut] = receipt.truncation.as_slice() else { panic!("{:?}", receipt.truncation) };
    let address = cut.artifact.as_ref().unwrap();
    let whole: Value = serde_json::from_str(&world.artifact(address)).unwrap();
    assert_eq!(whole["one"], json!(numbers));
    assert_eq!(cut.bound, Bound::Bytes);
    assert!(cut.field.starts_with("/result"), "{}", cut.field);
}

#[test]
fn f7_many_small_texts_do_not_grow_by_being_cut() {
    let world = world(to_planner(), 8_192);
    for (n, length) in [40, 300, 2_000].into_iter().enumerate() {
        let lines: Vec<String> = (0..300).map(|_| "x".repeat(length)).collect();
        let fields = json!({ "one": lines, "two": "short" });
        let answer = world.call(large(&n.to_string(), fields, None));
        assert!(size(&answer) <= 8_192, "{length}: {}", size(&answer));
        assert_eq!(shown_result(&answer)["two"], "short", "what fits is still shown");
        assert!(!answer.receipt().truncation.is_empty());
    }
}

#[test]
fn f7_no_field_fits_and_one_cut_says_so() {
    let world = world(to_planner(), 1_024);
    let members: serde_json::Map<String, Value> =
        (0..60).map(|n| (format!("member {n}"), json!(n))).collect();
    let fields = json!({ "one": members, "two": [members.clone()], "three": members.clone() });
    let answer = world.call(large("1", fields, None));
    assert!(size(&answer) <= 1_024, "{}", size(&answer));
    assert_eq!(answer.receipt().status, Status::Succeeded);
}

#[test]
fn e11_what_goes_to_state_stays_there_when_the_planner_s_part_does_not_fit() {
    let named = [("one", Route::Planner), ("two", Route::State), ("three", Route::State)];
    let world = world(routes(&named), 4_096);
    let kept = json!("s".repeat(10_000));
    let numbers: Vec<u32> = (0..3_000).collect();
    let answer = world.call(large("1", json!({ "one": numbers, "two": kept }), None));
    assert_eq!(answer.receipt().result.as_ref().unwrap()["two"], kept);
    assert!(size(&answer) <= 4_096);
}

#[test]
fn e12_a_caller_that_can_take_less_is_shown_less() {
    let world = world(to_planner(), 8_192);
    let long = json!({ "one": "x".repeat(20_000), "two": "y".repeat(20_000) });
    for (n, bytes) in [600, 1_024, 4_000, 8_192, 100_000, u64::MAX >> 11].into_iter().enumerate() {
        let answer = world.call(large(&n.to_string(), long.clone(), Some(bytes)));
        assert!(size(&answer) <= bytes.min(8_192), "{bytes}: {}", size(&answer));
        assert_eq!(verdict(&answer), "succeeded");
    }
}

#[test]
fn e12_an_error_is_no_way_around_the_bound() {
    let world = world(to_planner(), 4_096);
    let fields = json!({ "one": "x".repeat(20_000) });
    let failing = json!({ "fields": fields, "error": "e".repeat(20_000), "output_bytes": 1_024 });
    let answer = world.call(call("1", "large", failing));
    assert_eq!(verdict(&answer), "failed command_failed");
    assert!(size(&answer) <= 1_024, "{}", size(&answer));
    assert!(error(&answer).message.starts_with('e'), "a person still sees how it began");
    let cut = &answer.receipt().truncation[0];
    assert_eq!(cut.field, "/error");
    let whole: Value =
        serde_json::from_str(&world.artifact(cut.artifact.as_ref().unwrap())).unwrap();
    assert_eq!(whole["details"]["more"], "e".repeat(20_000), "the whole is kept");
}

#[test]
fn e11_an_artifact_field_is_shown_by_reference_only() {
    let named = [("one", Route::Planner), ("two", Route::State), ("three", Route::Artifact)];
    let world = world(routes(&named), 8_192);
    let fields = json!({ "one": "shown", "two": "kept", "three": "apart" });
    let answer = world.call(large("1", fields, None));
    let receipt = answer.receipt();
    let kept = Value::from(receipt.result.clone().unwrap());
    assert_eq!(kept, json!({ "one": "shown", "two": "kept" }));
    assert_eq!(Value::from(shown_result(&answer)), json!({ "one": "shown" }));
    let [artifact] = receipt.artifacts.as_slice() else { panic!("{:?}", receipt.artifacts) };
    assert_eq!((artifact.name.as_str(), artifact.size_bytes), ("three", 5));
    assert_eq!(artifact.media_type, "text/plain; charset=utf-8");
    assert_eq!(world.artifact(&artifact.digest), "apart");
    assert_eq!(answer.shown()["artifacts"][0]["digest"], artifact.digest.as_str());
}

#[test]
fn e11_a_search_is_shown_only_what_it_may_read() {
    let world = World::new();
    world.store.with(|state| {
        let notes = ["a", "src/b", ".env", ".env/key"];
        state.notes.extend(notes.map(|path| (path.to_owned(), String::new())));
    });
    let answer = world.call(call("1", "note_search", json!({})));
    assert_eq!(shown_result(&answer)["found"], json!(["a", "src/b"]));
}

fn any_route() -> impl Strategy<Value = Route> {
    prop_oneof![Just(Route::Planner), Just(Route::State), Just(Route::Artifact)]
}

/// A text that holds a mark throughout, alone or deep inside other values.
fn marked(mark: &'static str) -> impl Strategy<Value = Value> {
    (0_u8..3, 1_usize..900).prop_map(move |(shape, times)| {
        let text = mark.repeat(times);
        match shape {
            0 => json!(text),
            1 => json!([1, { "deep": text }]),
            _ => json!({ "a": [[text, true]] }),
        }
    })
}

#[test]
fn e11_a_field_routed_away_from_the_planner_never_reaches_it() {
    const MARKS: [&str; 3] = ["<one>", "<two>", "<three>"];
    let config = ProptestConfig { cases: 128, failure_persistence: None, ..Default::default() };
    proptest!(config, |(
        one in any_route(), two in any_route(), three in any_route(),
        fields in (marked(MARKS[0]), marked(MARKS[1]), marked(MARKS[2])),
        output_bytes in 1_024_u64..9_000,
        fails in any::<bool>(),
    )| {
        let named = [one, two, three];
        let world = world(routes(&[("one", one), ("two", two), ("three", three)]), 8_192);
        let fields = json!({ "one": fields.0, "two": fields.1, "three": fields.2 });
        let mut arguments = json!({ "fields": fields, "output_bytes": output_bytes });
        if fails {
            arguments["error"] = json!("it failed");
        }
        let answer = world.call(call("1", "large", arguments));
        let shown = Value::Object(answer.shown().clone()).to_string();
        let kept = Value::from(answer.receipt().result.clone().unwrap_or_default()).to_string();
        for (mark, route) in MARKS.iter().zip(named) {
            prop_assert!(route == Route::Planner || !shown.contains(mark), "{mark} {route:?}");
            prop_assert!(route != Route::State || kept.contains(mark), "{mark} is not kept");
        }
        for artifact in &answer.receipt().artifacts {
            let content = world.artifact(&artifact.digest);
            for (mark, route) in MARKS.iter().zip(named) {
                let linked = route == Route::State && content.contains(mark);
                prop_assert!(!linked, "{mark} can be fetched from `{}`", artifact.name);
            }
        }
        prop_assert!(size(&answer) <= output_bytes.min(8_192));
    });
}
