//! `process_run`: one program in the sandbox, from its start until nothing of it is left (X1, X4, X6).
//!
//! It never builds a command by pasting strings, never inherits an environment, and is never done again: an
//! interrupted run stays ambiguous.

mod aside;
mod output;
mod report;
mod request;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use engine::{Demand, Hands, Outcome, Plan, Reconciled, Resource, Tool};
use sandbox::{Access, Command, Jail, Stdin, Stop, Streams};
use serde_json::{Map, Value, json};
use wire::contract::{
    Cancellation, EffectClass, Lifecycle, Operation, Reconciliation, ResourceKind, Reversibility,
    Route,
};
use wire::{Code, Digest, Error, ToolContract};
use workspace::{FileKind, Workspace};

use crate::fault;
use crate::{Place, Surroundings};
use aside::Aside;
use output::Spill;
use report::{Ran, ran};
use request::{Arguments, argv};

/// Time between the polite end and the certain one, milliseconds.
const GRACE_MS: u64 = 2_000;

/// How long a command may take when the caller says nothing, milliseconds.
const WALL_MS: u64 = 120_000;

/// How long it may take at most, milliseconds; the deadline of a call lies there when none is stated.
const MAX_WALL_MS: u64 = 3_600_000;

/// Both outputs together, bytes; more ends the command.
const OUTPUT_BYTES: u64 = 1 << 30;

/// Processes and threads of one command.
const PROCESSES: u64 = 512;

pub(crate) struct ProcessRun {
    workspace: Arc<Workspace>,
    jail: Option<Arc<Jail>>,
    surroundings: Surroundings,
}

pub(crate) struct Job {
    jail: Arc<Jail>,
    command: Command,
    text_bytes: u64,
}

impl ProcessRun {
    pub(crate) fn new(place: &Place) -> ProcessRun {
        ProcessRun {
            workspace: Arc::clone(&place.workspace),
            jail: place.jail.clone(),
            surroundings: place.surroundings.clone(),
        }
    }

    fn jail(&self) -> Result<Arc<Jail>, Error> {
        self.jail.clone().ok_or_else(|| {
            let message = "this machine cannot build the sandbox, so no program is run; `chancery doctor` says \
                           what is missing and how to mend it";
            Error::new(Code::IsolationMissing, message)
        })
    }
}

impl Tool for ProcessRun {
    type Arguments = Arguments;
    type Job = Job;
    type Result = Ran;

    fn contract(&self) -> ToolContract {
        let routes = [
            "ending",
            "exit_code",
            "signal",
            "stdout",
            "stderr",
            "ended_leftovers",
            "wall_ms",
            "held",
        ];
        ToolContract {
            name: "process_run".to_owned(),
            version: "1.0.0".to_owned(),
            title: "Run a program".to_owned(),
            description: "Run one program in a sandbox: the workspace is writable, toolchains are \
                          read-only; no network, no terminal, secrets cannot be read. Give `argv` \
                          (no shell interprets it) or `shell` for a script. Returns when the command and every \
                          process that it started are gone; do not background anything. stdout and stderr \
                          come apart, each as head and tail with what was left out counted; the whole is an \
                          artifact. A non-zero exit is status `failed` with code `command_failed`: read the \
                          output, then change something. `timed_out` keeps the partial output. Repeating a failed \
                          command with nothing changed is refused. A new file that would make other programs run \
                          code (hooks, editor tasks, a `.git`) loses its name: `held_back`."
                .to_owned(),
            arguments_schema: Value::Null,
            result_schema: Value::Null,
            effect: EffectClass::Execute,
            reversibility: Reversibility::Irreversible,
            operations: vec![Operation {
                name: "process.run".to_owned(),
                resource: ResourceKind::Program,
            }],
            default_timeout_ms: MAX_WALL_MS,
            max_timeout_ms: MAX_WALL_MS,
            max_output_bytes: crate::limits::MAX_OUTPUT_BYTES,
            cancellation: Cancellation::EndsProcesses,
            reconciliation: Reconciliation::Impossible,
            routes: routes.map(|field| (field.to_owned(), Route::Planner)).into(),
            redacted_arguments: vec!["env".to_owned(), "stdin".to_owned()],
            implementation: fault::implementation("process_run"),
            owner: "chancery".to_owned(),
            lifecycle: Lifecycle::Current,
        }
    }

    fn plan(&self, arguments: Arguments, _: &engine::tool::View<'_>) -> Result<Plan<Job>, Error> {
        let jail = self.jail()?;
        let (argv, shell) = argv(&arguments)?;
        let cwd = self.cwd(arguments.cwd.as_deref().unwrap_or("."))?;
        // The digest of the action must not depend on when it was asked for; the deadline is held when it runs.
        let wall_ms = arguments.timeout_ms.unwrap_or(WALL_MS);
        let writable = arguments.writable.unwrap_or(true);
        let digest_of = |text: &str| Digest::of_bytes(text.as_bytes()).to_string();
        let env: Map<String, Value> = arguments
            .env
            .iter()
            .map(|(name, value)| (name.clone(), Value::String(digest_of(value))))
            .collect();
        let action = json!({
            "argv": argv,
            "shell": shell,
            "cwd": cwd.display().to_string(),
            "environment": env,
            "stdin": arguments.stdin.as_deref().map(digest_of),
            "wall_ms": wall_ms,
            "workspace": if writable { "read_write" } else { "read_only" },
            "network": "none",
        });
        let name = argv.first().cloned().unwrap_or_default();
        let demand =
            Demand { operation: "process.run", resource: Resource::Program { name, shell } };
        let command = self.command(&arguments, argv, cwd, wall_ms, writable);
        let text_bytes = arguments.limits.text_bytes();
        Ok(Plan {
            action,
            demands: vec![demand],
            effect: EffectClass::Execute,
            output_bytes: arguments.limits.output_bytes(),
            job: Job { jail, command, text_bytes },
        })
    }

    fn run(&self, job: Job, hands: &Hands<'_>) -> Outcome<Ran> {
        let stop = match Stop::new() {
            Ok(stop) => stop,
            Err(error) => {
                return Outcome::failed(fault::machine("prepare to stop the command", &error));
            }
        };
        let cancel = stop.clone();
        hands.stop().on_stop(Box::new(move || cancel.cancel()));
        let mut command = job.command;
        let before = self.workspace.protected();
        command.read_only.clone_from(&before.executable_configuration);
        command.masked.clone_from(&before.secrets);
        command.limits.wall_ms = command.limits.wall_ms.min(hands.remaining_ms()).max(1);
        let mut stdout = Spill::new("stdout", job.text_bytes, hands.artifacts());
        let mut stderr = Spill::new("stderr", job.text_bytes, hands.artifacts());
        let streams = Streams { stdout: &mut stdout, stderr: &mut stderr };
        match job.jail.run(&command, streams, &stop) {
            Ok(exit) => {
                let aside = match command.access {
                    Access::ReadWrite => Aside::put(&self.workspace, &before),
                    Access::ReadOnly => Aside::default(),
                };
                ran(&exit, (stdout, stderr), aside, job.text_bytes)
            }
            Err(error) => Outcome::failed(fault::run(&error)),
        }
    }

    fn reconcile(&self, _: &Value) -> Reconciled {
        let why = "the command was ended with the runtime, and what it had done by then is not recorded; look \
                   at the workspace before anything like it is run again";
        Reconciled::Unknown(why.to_owned())
    }
}

impl ProcessRun {
    /// The working directory, beneath the workspace.
    fn cwd(&self, text: &str) -> Result<PathBuf, Error> {
        let path =
            self.workspace.path(text).map_err(|error| fault::path(&error).at("/arguments/cwd"))?;
        let resolved = self
            .workspace
            .resolve(&path)
            .map_err(|error| fault::access(&error).at("/arguments/cwd"))?;
        if resolved.kind != FileKind::Directory {
            let message = format!("`{path}` is not a directory");
            return Err(Error::new(Code::WrongKind, message).at("/arguments/cwd"));
        }
        Ok(resolved.real.to_path_buf())
    }

    fn command(
        &self,
        arguments: &Arguments,
        argv: Vec<String>,
        cwd: PathBuf,
        wall_ms: u64,
        writable: bool,
    ) -> Command {
        let fixed = self.surroundings.environment.iter();
        let stated = arguments.env.iter();
        let environment: std::collections::BTreeMap<&String, &String> =
            fixed.map(|(name, value)| (name, value)).chain(stated).collect();
        let os = |text: &String| OsString::from(text);
        Command {
            argv: argv.iter().map(os).collect(),
            workspace: self.surroundings.root.clone(),
            cwd,
            env: environment.into_iter().map(|(name, value)| (os(name), os(value))).collect(),
            stdin: match &arguments.stdin {
                Some(text) => Stdin::Bytes(text.clone().into_bytes()),
                None => Stdin::Empty,
            },
            limits: sandbox::Limits {
                wall_ms,
                grace_ms: GRACE_MS,
                processes: PROCESSES,
                output_bytes: OUTPUT_BYTES,
                ..sandbox::Limits::default()
            },
            toolchains: self.surroundings.toolchains.clone(),
            access: if writable { Access::ReadWrite } else { Access::ReadOnly },
            // Known when it starts.
            read_only: Vec::new(),
            masked: Vec::new(),
        }
    }
}
