//! Tools that a runtime must survive: answers of any size, panics, and plans beyond the contract.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::tool::View;
use engine::{Demand, Hands, Outcome, Plan, Reconciled, Resource, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use wire::contract::{EffectClass, Route};
use wire::receipt::{Bound, Count, Truncation};
use wire::{Code, Error, ToolContract};

use super::Store;
use super::notes::{Text, contract, demand};

/// Answers with whatever it is asked to, of any size, in fields with routes of their own.
pub(crate) struct Large {
    /// Where its fields go.
    pub(crate) routes: BTreeMap<String, Route>,
    /// The greatest answer, bytes.
    pub(crate) max_output_bytes: u64,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    fields: BTreeMap<String, Value>,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    output_bytes: Option<u64>,
    /// How often it says that it cut something itself, each time with a way to go on.
    #[serde(default)]
    cuts: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Fields {
    one: Option<Value>,
    two: Option<Value>,
    three: Option<Value>,
}

impl Tool for Large {
    type Arguments = Wanted;
    type Job = Wanted;
    type Result = Fields;

    fn contract(&self) -> ToolContract {
        ToolContract {
            routes: self.routes.clone(),
            max_output_bytes: self.max_output_bytes,
            ..contract("large", EffectClass::Read, &["note.read"])
        }
    }

    fn plan(&self, wanted: Wanted, _: &View<'_>) -> Result<Plan<Wanted>, Error> {
        let (action, effect) = (json!({ "large": wanted.fields }), EffectClass::Read);
        let output_bytes = wanted.output_bytes.unwrap_or(u64::MAX);
        let demands = vec![demand("note.read", "")];
        Ok(Plan { action, demands, effect, output_bytes, job: wanted })
    }

    fn run(&self, mut wanted: Wanted, _: &Hands<'_>) -> Outcome<Fields> {
        let mut field = |name: &str| wanted.fields.remove(name);
        let fields = Fields { one: field("one"), two: field("two"), three: field("three") };
        let cut = |at| Truncation {
            field: format!("/result/one/{at}"),
            bound: Bound::Lines,
            left_out: Count::Exact(1),
            artifact: None,
            continuation: Some(json!({ "after": at })),
        };
        let truncation = (0..wanted.cuts).map(cut).collect();
        match wanted.error {
            None => Outcome { truncation, ..Outcome::succeeded(fields) },
            Some(text) => {
                let error = Error::new(Code::CommandFailed, text.clone()).with("more", text);
                Outcome { result: Some(fields), ..Outcome::failed(error) }
            }
        }
    }

    fn reconcile(&self, _: &Value) -> Reconciled {
        Reconciled::Unknown("nobody asks".to_owned())
    }
}

/// Where a tool breaks.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Defect {
    Plan,
    Read,
    Write,
    Result,
}

/// A tool with defects: it panics.
pub(crate) struct Defective(pub(crate) Arc<Store>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Broken {
    at: Defect,
}

#[derive(Debug, JsonSchema)]
pub(crate) struct Unwritable {
    #[expect(dead_code, reason = "the field is there for the schema; writing it panics")]
    text: String,
}

impl Serialize for Unwritable {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("a result that cannot be written")
    }
}

impl Tool for Defective {
    type Arguments = Broken;
    type Job = Defect;
    type Result = Unwritable;

    fn contract(&self) -> ToolContract {
        contract("defective", EffectClass::WriteFiles, &["note.read", "note.write"])
    }

    fn plan(&self, broken: Broken, _: &View<'_>) -> Result<Plan<Defect>, Error> {
        assert_ne!(broken.at, Defect::Plan, "a defect while planning");
        let (operation, effect) = match broken.at {
            Defect::Read => ("note.read", EffectClass::Read),
            _ => ("note.write", EffectClass::WriteFiles),
        };
        let action = json!({ "defect": format!("{:?}", broken.at) });
        let demands = vec![demand(operation, "a")];
        Ok(Plan { action, demands, effect, output_bytes: 4_096, job: broken.at })
    }

    fn run(&self, defect: Defect, _: &Hands<'_>) -> Outcome<Unwritable> {
        self.0.with(|state| state.runs += 1);
        assert_eq!(defect, Defect::Result, "a defect while running");
        Outcome::succeeded(Unwritable { text: String::new() })
    }

    fn reconcile(&self, _: &Value) -> Reconciled {
        panic!("a defect while looking")
    }
}

/// How a plan goes beyond its contract.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Excess {
    Operation,
    ResourceKind,
    Effect,
    NoDemand,
    ManyDemands,
}

/// A tool whose contract only reads; its plans want more.
pub(crate) struct Greedy(pub(crate) Arc<Store>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct More {
    excess: Excess,
}

impl Tool for Greedy {
    type Arguments = More;
    type Job = ();
    type Result = Text;

    fn contract(&self) -> ToolContract {
        contract("greedy", EffectClass::Read, &["note.read"])
    }

    fn plan(&self, more: More, _: &View<'_>) -> Result<Plan<()>, Error> {
        let program = Resource::Program { name: "sh".to_owned(), shell: true };
        let demands = match more.excess {
            Excess::Operation => vec![demand("note.read", "a"), demand("note.write", "a")],
            Excess::ResourceKind => vec![Demand { operation: "note.read", resource: program }],
            Excess::Effect => vec![demand("note.read", "a")],
            Excess::NoDemand => Vec::new(),
            Excess::ManyDemands => {
                let many = 0..=engine::bounds::DEMANDS;
                many.map(|n| demand("note.read", &n.to_string())).collect()
            }
        };
        let effect = match more.excess {
            Excess::Effect => EffectClass::WriteFiles,
            _ => EffectClass::Read,
        };
        Ok(Plan { action: json!({}), demands, effect, output_bytes: 4_096, job: () })
    }

    fn run(&self, (): (), _: &Hands<'_>) -> Outcome<Text> {
        self.0.with(|state| {
            state.runs += 1;
            state.effects += 1;
        });
        Outcome::succeeded(Text { text: String::new() })
    }

    fn reconcile(&self, _: &Value) -> Reconciled {
        Reconciled::DidNotHappen
    }
}
