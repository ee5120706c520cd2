//! `chancery tools`: the contracts, and the eight questions about a tool (D1).

use clap::{Args, Subcommand};
use serde_json::Value;
use wire::ToolContract;
use wire::contract::{
    Cancellation, EffectClass, Reconciliation, ResourceKind, Reversibility, Route,
};

use super::{CommandError, Page, Place};
use crate::exit::Exit;
use crate::runtime::Runtime;

#[derive(Debug, Args)]
pub(super) struct Tools {
    #[command(subcommand)]
    act: Option<Act>,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Subcommand)]
enum Act {
    /// Answer the eight questions about one tool
    Explain {
        /// The tool's name
        name: String,
    },
}

impl Tools {
    pub(super) fn run(&self, page: &mut Page) -> Result<Exit, CommandError> {
        let runtime = Runtime::open(&self.place.setup())?;
        let registry = runtime.registry();
        match &self.act {
            None => {
                for contract in registry.contracts() {
                    if page.json() {
                        page.document(&as_json(contract)?)?;
                    } else {
                        let effect = contract.effect.as_str();
                        let (name, version) = (&contract.name, &contract.version);
                        page.line(&format!(
                            "{name:<20} {version:<8} {effect:<12} {}",
                            contract.title
                        ))?;
                    }
                }
                if !page.json() {
                    page.line(&format!("registry {}", registry.revision()))?;
                }
                Ok(Exit::Done)
            }
            Some(Act::Explain { name }) => {
                let Some(contract) = registry.contracts().find(|contract| &contract.name == name)
                else {
                    let known: Vec<&str> = registry.contracts().map(|c| c.name.as_str()).collect();
                    let known = known.join("`, `");
                    return Err(CommandError::NotFound(format!(
                        "there is no tool `{name}`; there are `{known}`"
                    )));
                };
                if page.json() {
                    page.document(&as_json(contract)?)?;
                    return Ok(Exit::Done);
                }
                page.line(&format!("{} {} — {}", contract.name, contract.version, contract.title))?;
                page.line(&contract.description)?;
                for (question, answer) in eight_questions(contract) {
                    page.line(&format!("\n{question}\n  {answer}"))?;
                }
                Ok(Exit::Done)
            }
        }
    }
}

fn as_json(contract: &ToolContract) -> Result<Value, CommandError> {
    serde_json::to_value(contract).map_err(|error| CommandError::Machine(error.to_string()))
}

fn eight_questions(contract: &ToolContract) -> [(&'static str, String); 8] {
    [
        ("How exact is its schema?", exactness(contract)),
        ("What can it read or change?", effect(contract)),
        ("Which paths, commands and resources?", resources(contract)),
        ("Which fresh state does it need?", freshness(contract)),
        (
            "Who decides allow or deny?",
            "The session's grant and the Cedar policy, both, over every resource of the planned action and before \
             anything happens. `chancery doctor` names the policy version."
                .to_owned(),
        ),
        ("What evidence returns?", evidence(contract)),
        ("What durable state changes?", durable(contract)),
        (
            "How are call and result paired?",
            "By (task, call id). The same id with the same arguments is answered with the first receipt, with others it \
             is refused. Two calls with one idempotency key are one effect."
                .to_owned(),
        ),
    ]
}

fn exactness(contract: &ToolContract) -> String {
    let properties = contract.arguments_schema.get("properties").and_then(Value::as_object);
    let names: Vec<&str> =
        properties.into_iter().flat_map(|map| map.keys().map(String::as_str)).collect();
    format!(
        "JSON Schema 2020-12, unknown members refused, enforced on every call. Arguments: {}.",
        names.join(", ")
    )
}

fn effect(contract: &ToolContract) -> String {
    let what = match contract.effect {
        EffectClass::Read => "It reads the workspace and changes nothing",
        EffectClass::WriteFiles => "It changes files of the workspace, whole or not at all",
        EffectClass::Execute => "It runs a program that can change the workspace",
    };
    let back = match contract.reversibility {
        Reversibility::NoEffect => "there is nothing to take back",
        Reversibility::Reversible => "the change can be taken back while it is in place",
        Reversibility::Irreversible => "the runtime cannot take it back",
    };
    format!("{what}; {back}.")
}

fn resources(contract: &ToolContract) -> String {
    let operations = contract.operations.iter().map(|operation| match operation.resource {
        ResourceKind::Path => format!("`{}` on paths beneath the workspace root", operation.name),
        ResourceKind::Program => format!("`{}` on programs in the sandbox's view", operation.name),
    });
    let list: Vec<String> = operations.collect();
    format!("It can demand {}. Nothing outside its demands is reachable.", list.join(", "))
}

fn freshness(contract: &ToolContract) -> String {
    match contract.effect {
        EffectClass::WriteFiles => {
            "The digest of every file that it changes, as the task was last shown it or as the call states it; a file \
             that was not read, or has changed since, is refused."
        }
        EffectClass::Read | EffectClass::Execute => "None.",
    }
    .to_owned()
}

fn evidence(contract: &ToolContract) -> String {
    let to = |route: Route| {
        let fields = contract.routes.iter().filter(|(_, to)| **to == route);
        let names: Vec<&str> = fields.map(|(name, _)| name.as_str()).collect();
        if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
    };
    format!(
        "A receipt with status, times, normalized action, decision and usage. To the planner: {}. Only in the receipt: \
         {}. Only as an artifact: {}.",
        to(Route::Planner),
        to(Route::State),
        to(Route::Artifact)
    )
}

fn durable(contract: &ToolContract) -> String {
    let settled = match contract.reconciliation {
        Reconciliation::NotNeeded => "There is no effect to settle",
        Reconciliation::ByResource => {
            "An intent is stored before the effect; after a crash the tool looks at the files and settles it"
        }
        Reconciliation::Impossible => {
            "An intent is stored before the effect; after a crash it is reported as ambiguous"
        }
    };
    let stopped = match contract.cancellation {
        Cancellation::Cooperative => "a cancelled call stops between steps",
        Cancellation::EndsProcesses => "a cancelled call ends every process that it started",
    };
    format!("The receipt, in the ledger. {settled}; {stopped}.")
}
