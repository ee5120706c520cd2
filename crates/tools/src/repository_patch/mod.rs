//! `repository_patch`: changes to files that land whole or not at all (P1–P5, P7, P8).
//!
//! It never guesses where a change belongs, and never writes over a state that the task has not been shown.

mod request;

use std::path::PathBuf;
use std::sync::Arc;

use engine::ports::{Artifacts, Observation};
use engine::tool::{Ended, View};
use engine::{Demand, Hands, Outcome, Plan, Reconciled, Resource, Tool};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use wire::contract::{
    Cancellation, EffectClass, Lifecycle, Operation, Reconciliation, ResourceKind, Reversibility,
    Route,
};
use wire::receipt::{Artifact, Bound, Count, Truncation};
use wire::{Code, Digest, Error, ToolContract};
use workspace::patch::{self, Intended, PatchPlan, Settled, Targets, Touch, TouchKind};
use workspace::{RepoPath, Workspace};

use crate::Place;
use crate::fault;
use crate::limits::json_bytes;
use request::Arguments;

/// Room for what is said of a cut, bytes of JSON.
const CUT_BYTES: u64 = 256;

pub(crate) struct RepositoryPatch {
    workspace: Arc<Workspace>,
    journals: PathBuf,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Changed {
    files: Vec<Value>,
    diff: String,
}

pub(crate) struct Job {
    plan: PatchPlan,
    /// Room for the result, bytes of JSON.
    room: u64,
}

impl RepositoryPatch {
    pub(crate) fn new(place: &Place) -> RepositoryPatch {
        RepositoryPatch {
            workspace: Arc::clone(&place.workspace),
            journals: place.surroundings.journals.clone(),
        }
    }
}

/// Everything that the changes touch, known before any content is looked at.
fn demands(targets: &Targets) -> Vec<Demand> {
    let demand = |target: patch::Target| {
        let operation = match target.operation {
            patch::Operation::Create => "file.create",
            patch::Operation::Modify => "file.modify",
            patch::Operation::Delete => "file.delete",
            patch::Operation::Rename => "file.rename",
        };
        let path = target.path.to_string();
        Demand { operation, resource: Resource::Path { path, class: target.class.as_str() } }
    };
    let mut demands: Vec<Demand> = targets.iter().map(demand).collect();
    demands.sort();
    demands.dedup();
    demands
}

impl Tool for RepositoryPatch {
    type Arguments = Arguments;
    type Job = Job;
    type Result = Changed;

    fn contract(&self) -> ToolContract {
        let operation =
            |name: &str| Operation { name: name.to_owned(), resource: ResourceKind::Path };
        let operations = ["file.create", "file.modify", "file.delete", "file.rename"];
        ToolContract {
            name: "repository_patch".to_owned(),
            version: "1.0.0".to_owned(),
            title: "Change files".to_owned(),
            description: "Change files by exact text, by line numbers, whole, or by a `patch`; all of it lands or none. \
                          Read first: a change is held against what you were last shown, or `base`. `stale`, \
                          `not_read`: read it. `no_match` shows what is near, `ambiguous_match` every place: give more \
                          text around. Line endings, encoding, mode and final newline are kept. Create and rename \
                          never overwrite."
                .to_owned(),
            arguments_schema: Value::Null,
            result_schema: Value::Null,
            effect: EffectClass::WriteFiles,
            reversibility: Reversibility::Reversible,
            operations: operations.map(operation).to_vec(),
            default_timeout_ms: 60_000,
            max_timeout_ms: 600_000,
            max_output_bytes: crate::limits::MAX_OUTPUT_BYTES,
            cancellation: Cancellation::Cooperative,
            reconciliation: Reconciliation::ByResource,
            routes: ["files", "diff"].map(|field| (field.to_owned(), Route::Planner)).into(),
            redacted_arguments: Vec::new(),
            implementation: fault::implementation("repository_patch"),
            owner: "chancery".to_owned(),
            lifecycle: Lifecycle::Current,
        }
    }

    fn plan(&self, arguments: Arguments, view: &View<'_>) -> Result<Plan<Job>, Error> {
        let changes = request::changes(&self.workspace, &arguments)?;
        let refused = |error| fault::patch(&error, &|nth| request::pointer(&arguments, nth));
        let targets = self.workspace.targets(changes).map_err(refused)?;
        let demands = demands(&targets);
        for demand in &demands {
            view.require(demand)?;
        }
        let seen = |path: &RepoPath| {
            view.observed(&path.to_string()).map(|digest| digest.hex().to_owned())
        };
        let plan = targets.plan(&seen).map_err(refused)?;
        let touches: Vec<Value> = plan.touches().map(touch).collect();
        Ok(Plan {
            action: json!({ "touches": touches }),
            demands,
            effect: EffectClass::WriteFiles,
            output_bytes: arguments.limits.output_bytes(),
            job: Job { plan, room: arguments.limits.text_bytes() },
        })
    }

    fn run(&self, job: Job, hands: &Hands<'_>) -> Outcome<Changed> {
        let diff = job.plan.diff();
        match job.plan.apply(&self.workspace, &self.journals, &|| hands.is_over()) {
            Ok(touches) => {
                let files: Vec<Value> = touches.iter().map(touch).collect();
                let room = job.room.saturating_sub(json_bytes(&files));
                let Shown { diff, truncation, artifacts } = shown(diff, room, hands.artifacts());
                Outcome {
                    truncation,
                    artifacts,
                    observed: observations(&touches),
                    ..Outcome::succeeded(Changed { files, diff })
                }
            }
            Err(error) => {
                let error = fault::apply(&error, hands.stop().is_stopped());
                let ended = match error.code {
                    Code::NeedsRepair => Ended::Partial,
                    Code::Cancelled => Ended::Cancelled,
                    _ => Ended::Failed,
                };
                Outcome { ended, ..Outcome::failed(error) }
            }
        }
    }

    fn reconcile(&self, action: &Value) -> Reconciled {
        let Some(intended) = intended(action) else {
            return Reconciled::Unknown("the recorded action cannot be read".to_owned());
        };
        match patch::settle(&self.workspace, &intended) {
            Settled::New => {
                let mut facts = Map::new();
                let files = action.get("touches").cloned().unwrap_or_default();
                facts.insert("files".to_owned(), files);
                Reconciled::Happened(facts)
            }
            Settled::Old => Reconciled::DidNotHappen,
            Settled::Mixed => {
                let why = "some of the files are neither as before nor as intended; compare them with the digests in \
                           the receipt";
                Reconciled::Unknown(why.to_owned())
            }
        }
    }
}

/// A diff as far as there is room for it.
#[derive(Default)]
struct Shown {
    diff: String,
    truncation: Vec<Truncation>,
    artifacts: Vec<Artifact>,
}

/// Cuts a diff at a line before `room` bytes of JSON; the whole is kept apart then (F7).
fn shown(mut diff: String, room: u64, artifacts: &dyn Artifacts) -> Shown {
    if json_bytes(&diff) <= room {
        return Shown { diff, ..Shown::default() };
    }
    let room = room.saturating_sub(CUT_BYTES);
    let mut taken = 0_u64;
    let fits = |line: &&str| {
        taken = taken.saturating_add(json_bytes(line));
        taken <= room
    };
    let kept: usize = diff.split_inclusive('\n').take_while(fits).map(str::len).sum();
    let write = || {
        let mut writer = artifacts.create()?;
        writer.write(diff.as_bytes())?;
        writer.finish("diff", "text/x-diff")
    };
    // The change has landed, and what it was can be seen in the files: a store that refuses does not undo it.
    let whole = write().ok();
    let cut = Truncation {
        field: "/result/diff".to_owned(),
        bound: Bound::Bytes,
        left_out: Count::Exact(u64::try_from(diff.len() - kept).unwrap_or(u64::MAX)),
        artifact: whole.as_ref().map(|artifact| artifact.digest.clone()),
        continuation: None,
    };
    diff.truncate(kept);
    Shown { diff, truncation: vec![cut], artifacts: whole.into_iter().collect() }
}

/// One changed file, as the planner sees it and as recovery reads it again.
fn touch(touch: &Touch) -> Value {
    let mut facts = json!({
        "path": touch.path.to_string(),
        "change": match &touch.kind {
            TouchKind::Created => "created",
            TouchKind::Modified => "modified",
            TouchKind::Deleted => "deleted",
            TouchKind::Renamed { .. } => "renamed",
        },
        "added_lines": touch.added_lines,
        "removed_lines": touch.removed_lines,
        "changed_lines": touch.changed,
    });
    let from = match &touch.kind {
        TouchKind::Renamed { from } => Some(from.to_string()),
        _ => None,
    };
    let (before, after) = (wire_digest(&touch.before), wire_digest(&touch.after));
    let more = [("from", &from), ("before", &before), ("after", &after)];
    if let Some(facts) = facts.as_object_mut() {
        if let Some(executable) = touch.executable {
            facts.insert("executable".to_owned(), executable.into());
        }
        if !touch.offset_lines.is_empty() {
            facts.insert("offset_lines".to_owned(), touch.offset_lines.clone().into());
        }
        for (name, value) in more {
            if let Some(value) = value {
                facts.insert(name.to_owned(), value.as_str().into());
            }
        }
    }
    facts
}

fn wire_digest(hex: &Option<String>) -> Option<String> {
    hex.as_deref().map(fault::digest)
}

/// Path, content before and content after, of everything that an action touches.
fn intended(action: &Value) -> Option<Vec<Intended>> {
    let mut all = Vec::new();
    for touch in action.get("touches")?.as_array()? {
        let text = |name: &str| touch.get(name).and_then(Value::as_str).map(str::to_owned);
        let path: RepoPath = text("path")?.parse().ok()?;
        let hex = |name: &str| {
            let digest = text(name).map(Digest::try_from).transpose().ok()?;
            Some(digest.map(|digest| digest.hex().to_owned()))
        };
        let (before, after) = (hex("before")?, hex("after")?);
        // Where the content tells before and after apart, it alone decides.
        let bit = touch.get("executable").and_then(Value::as_bool);
        let executable = bit.filter(|_| before == after);
        match text("from") {
            Some(from) => {
                let path = from.parse().ok()?;
                all.push(Intended { path, before, after: None, executable: None });
                all.push(Intended {
                    path: text("path")?.parse().ok()?,
                    before: None,
                    after,
                    executable,
                });
            }
            None => all.push(Intended { path, before, after, executable }),
        }
    }
    Some(all)
}

/// What the planner now knows of the files.
fn observations(touches: &[Touch]) -> Vec<Observation> {
    let mut all = Vec::new();
    for touch in touches {
        if let TouchKind::Renamed { from } = &touch.kind {
            all.push(Observation { path: from.to_string(), digest: None });
        }
        let digest = wire_digest(&touch.after).and_then(|digest| Digest::try_from(digest).ok());
        all.push(Observation { path: touch.path.to_string(), digest });
    }
    all
}
