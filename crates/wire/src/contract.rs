//! A tool's contract as data (R1): everything about a tool that can be known without running it.
//!
//! Enforced independently of the description's text (R2).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest::{Digest, NotCanonical};

/// What kind of effect an action has; decides how it is recovered (E8, K1).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// Changes nothing; may be repeated freely.
    Read,
    /// Changes files of the workspace through a transaction that can be checked by digest.
    WriteFiles,
    /// Runs a program, whose effects only the sandbox bounds.
    Execute,
}

impl EffectClass {
    /// The wire form.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            EffectClass::Read => "read",
            EffectClass::WriteFiles => "write_files",
            EffectClass::Execute => "execute",
        }
    }
}

/// Whether an effect can be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reversibility {
    /// There is nothing to take back.
    NoEffect,
    /// Can be taken back while the result is still in place.
    Reversible,
    /// Cannot be taken back by the runtime.
    Irreversible,
}

/// How a running execution is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cancellation {
    /// Between steps; what was begun is finished or undone first.
    Cooperative,
    /// The process tree is ended, whatever it does.
    EndsProcesses,
}

/// How a repeated or interrupted effect is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reconciliation {
    /// No effect, nothing to settle.
    NotNeeded,
    /// The tool can find out by looking at the resource.
    ByResource,
    /// Nothing can be asked; an interrupted effect stays ambiguous.
    Impossible,
}

/// Where a field of the result goes (E11). A field that is not listed goes nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// Into the receipt, and shown to the planner.
    Planner,
    /// Into the receipt only.
    State,
    /// Stored as an artifact; the receipt and the planner get its reference.
    Artifact,
}

/// Something that a call can demand, such as `file.read` on a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// The operation's name; policies speak of it as `Action::"file.read"`.
    pub name: String,
    /// What it is done to.
    pub resource: ResourceKind,
}

/// The kinds of resource that a policy can speak of.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ResourceKind {
    /// A path of the workspace, with its class.
    Path,
    /// A program that is started.
    Program,
}

/// How long a tool's name and version will be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lifecycle {
    /// Served.
    Current,
    /// Served, but a newer version should be used.
    Deprecated,
    /// Served to tasks that already pin it.
    Retired,
}

/// The contract of one tool in one version (R1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolContract {
    /// The tool's name, `[a-z][a-z0-9_]{0,63}`.
    pub name: String,
    /// Semantic version.
    pub version: String,
    /// A few words for a person.
    pub title: String,
    /// What a planner needs to know: when to use it, its bounds, what its errors mean.
    pub description: String,
    /// JSON Schema 2020-12 of the arguments.
    pub arguments_schema: Value,
    /// JSON Schema 2020-12 of the result's planner part.
    pub result_schema: Value,
    /// The greatest effect that a call can have.
    pub effect: EffectClass,
    /// Whether that effect can be taken back.
    pub reversibility: Reversibility,
    /// The operations that a call can demand (the capability dimensions).
    pub operations: Vec<Operation>,
    /// Time limit when the call states no deadline, milliseconds.
    pub default_timeout_ms: u64,
    /// The longest time that a call can ask for, milliseconds.
    pub max_timeout_ms: u64,
    /// The greatest size of what the planner is shown, bytes of JSON.
    pub max_output_bytes: u64,
    /// How a running call is stopped.
    pub cancellation: Cancellation,
    /// How an interrupted effect is settled.
    pub reconciliation: Reconciliation,
    /// Where each field of the result goes.
    pub routes: BTreeMap<String, Route>,
    /// Members of the arguments whose values are replaced by their digest before anything durable.
    pub redacted_arguments: Vec<String>,
    /// Digest that stands for the implementation.
    pub implementation: Digest,
    /// Who answers for it.
    pub owner: String,
    /// Whether it is still served.
    pub lifecycle: Lifecycle,
}

impl ToolContract {
    /// The digest over the whole contract, description included (R2).
    ///
    /// # Errors
    /// [`NotCanonical`] if a schema in it has no canonical JSON.
    pub fn digest(&self) -> Result<Digest, NotCanonical> {
        Digest::of_json(self)
    }
}
