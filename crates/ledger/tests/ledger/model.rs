//! Any sequence of calls, against a model that fits on a screen (E8).

use std::sync::atomic::{AtomicU64, Ordering};

use engine::ports::{Begin, Journal as _};
use ledger::Ledger;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use wire::Status;

use crate::calls::{Call, call, ledger};

#[derive(Debug, Clone)]
enum Step {
    /// A call with one of a few ids, keys and actions.
    Begin { id: u8, key: Option<u8>, action: u8 },
    /// The running effect at this place of the list ends.
    End { place: usize, status: Status },
    /// The ambiguous effect at this place of the list is settled.
    Settle { place: usize },
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Running,
    Ended,
    Ambiguous,
}

/// The effects that were begun, in order, each with its state.
#[derive(Default)]
struct Model(Vec<(Call, State)>);

impl Model {
    /// What the journal has to say, and what the model becomes.
    fn begin(&mut self, new: &Call) -> String {
        let by_key = |old: &&(Call, State)| new.key.is_some() && old.0.key == new.key;
        let by_id = |old: &&(Call, State)| old.0.call_id == new.call_id;
        let by_action =
            |state| move |old: &&(Call, State)| old.0.action == new.action && old.1 == state;
        let known = self.0.iter().find(by_key).or_else(|| self.0.iter().find(by_id));
        if let Some((old, state)) = known {
            return match state {
                _ if old.action != new.action => "conflict".to_owned(),
                State::Running => format!("running {}", old.effect_id),
                State::Ended | State::Ambiguous => format!("finished {}", old.effect_id),
            };
        }
        if let Some((old, _)) = self.0.iter().find(by_action(State::Running)) {
            return format!("running {}", old.effect_id);
        }
        if let Some((old, _)) = self.0.iter().rev().find(by_action(State::Ambiguous)) {
            return format!("unresolved {}", old.effect_id);
        }
        self.0.push((new.clone(), State::Running));
        "begun".to_owned()
    }

    fn nth(&mut self, wanted: State, place: usize) -> Option<&mut (Call, State)> {
        let mut found: Vec<_> = self.0.iter_mut().filter(|(_, state)| *state == wanted).collect();
        if found.is_empty() { None } else { Some(found.swap_remove(place % found.len())) }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let ends = prop_oneof![
        Just(Status::Succeeded),
        Just(Status::Failed),
        Just(Status::Cancelled),
        Just(Status::Ambiguous)
    ];
    let step = prop_oneof![
        4 => (0..6_u8, prop::option::of(0..3_u8), 0..3_u8)
            .prop_map(|(id, key, action)| Step::Begin { id, key, action }),
        2 => (any::<usize>(), ends).prop_map(|(place, status)| Step::End { place, status }),
        1 => any::<usize>().prop_map(|place| Step::Settle { place }),
    ];
    prop::collection::vec(step, 1..24)
}

/// Takes one step in both; what the journal says and what the model says.
fn take(ledger: &Ledger, model: &mut Model, task_id: &str, at: usize, step: Step) -> [String; 2] {
    match step {
        Step::Begin { id, key, action } => {
            let new = Call {
                task_id: task_id.to_owned(),
                effect_id: format!("effect {at}"),
                key: key.map(|key| format!("key {key}")),
                ..call(&format!("call {id}")).action(&format!("action {action}"))
            };
            let said = match ledger.begin(&new.intent()).unwrap() {
                Begin::Begun => "begun".to_owned(),
                Begin::Conflict(_) => "conflict".to_owned(),
                Begin::Running { logical_effect_id } => format!("running {logical_effect_id}"),
                Begin::Finished(found) => format!("finished {}", found.logical_effect_id),
                Begin::Unresolved(found) => format!("unresolved {}", found.logical_effect_id),
            };
            return [said, model.begin(&new)];
        }
        Step::End { place, status } => {
            if let Some((call, state)) = model.nth(State::Running, place) {
                ledger.record(&call.entry(status)).unwrap();
                let is_ambiguous = status == Status::Ambiguous;
                *state = if is_ambiguous { State::Ambiguous } else { State::Ended };
            }
        }
        Step::Settle { place } => {
            if let Some((call, state)) = model.nth(State::Ambiguous, place) {
                let ambiguous = call.receipt(Status::Ambiguous).receipt_id;
                let settled = Call { reconciles: Some(ambiguous), ..call.clone() };
                ledger.record(&settled.entry(Status::Succeeded)).unwrap();
                *state = State::Ended;
            }
        }
    }
    Default::default()
}

#[test]
fn e8_any_sequence_of_calls_is_answered_as_the_model_says() {
    let (_folder, ledger) = ledger();
    let tasks = AtomicU64::new(0);
    let config = ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() };
    let ran = TestRunner::new(config).run(&steps(), |steps| {
        let task_id = format!("task {}", tasks.fetch_add(1, Ordering::Relaxed));
        let mut model = Model::default();
        for (at, step) in steps.into_iter().enumerate() {
            let [said, expected] = take(&ledger, &mut model, &task_id, at, step);
            prop_assert_eq!(said, expected, "step {}", at);
        }
        let running = model.0.iter().filter(|(_, state)| *state == State::Running).count();
        let open = ledger.open_intents().unwrap();
        prop_assert_eq!(open.iter().filter(|open| open.task_id == task_id).count(), running);
        Ok(())
    });
    ran.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(ledger.verify().unwrap().is_sound());
}
