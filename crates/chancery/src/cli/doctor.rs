//! `chancery doctor`: what this machine offers, what is missing, and how to mend it (I1).

use clap::Args;
use sandbox::{Jail, State};
use serde_json::json;

use super::{CommandError, Page, Place};
use crate::exit::Exit;
use crate::runtime::{Runtime, state_dir};

#[derive(Debug, Args)]
pub(super) struct Doctor {
    #[command(flatten)]
    place: Place,
}

/// One thing that was looked at.
struct Finding {
    what: String,
    verdict: Verdict,
    detail: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Good,
    /// Work goes on behind the other walls; every receipt of a command says so too.
    Weaker,
    /// Something cannot be done at all.
    Missing,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Verdict::Good => "ok",
            Verdict::Weaker => "weaker",
            Verdict::Missing => "missing",
        }
    }
}

impl Doctor {
    pub(super) fn run(&self, page: &mut Page) -> Result<Exit, CommandError> {
        let mut findings = self.runtime();
        findings.extend(sandbox_findings());
        let missing = findings.iter().any(|finding| finding.verdict == Verdict::Missing);
        for Finding { what, verdict, detail } in &findings {
            let verdict = verdict.name();
            if page.json() {
                page.document(&json!({ "what": what, "verdict": verdict, "detail": detail }))?;
            } else {
                page.line(&format!("{verdict:<7} {what:<32} {detail}"))?;
            }
        }
        Ok(if missing { Exit::Machine } else { Exit::Done })
    }

    fn runtime(&self) -> Vec<Finding> {
        let finding = |what: &str, good: bool, detail: String| {
            let verdict = if good { Verdict::Good } else { Verdict::Missing };
            Finding { what: what.to_owned(), verdict, detail }
        };
        let setup = self.place.setup();
        let state = match state_dir(setup.state.as_deref()) {
            Ok(state) => finding("state directory", true, state.display().to_string()),
            Err(error) => finding("state directory", false, error.to_string()),
        };
        let runtime = match Runtime::open(&setup) {
            Ok(runtime) => runtime,
            Err(error) => return vec![state, finding("runtime", false, error.to_string())],
        };
        let registry = format!(
            "{} tools, {}",
            runtime.registry().contracts().count(),
            runtime.registry().revision()
        );
        let open = runtime.ledger().open_intents().map(|open| open.len());
        let intents = match open {
            Ok(0) => finding("open intents", true, "none".to_owned()),
            Ok(open) => finding("open intents", true, format!("{open}, of running processes")),
            Err(error) => finding("open intents", false, error.to_string()),
        };
        let workspace = runtime.session().grant().workspace.clone();
        vec![
            state,
            finding("workspace", true, workspace),
            finding("registry", true, registry),
            finding("policy", true, runtime.policy_version().to_string()),
            intents,
        ]
    }
}

fn sandbox_findings() -> Vec<Finding> {
    let jail = match Jail::new() {
        Ok(jail) => jail,
        Err(error) => {
            let (what, verdict) = ("sandbox".to_owned(), Verdict::Missing);
            return vec![Finding { what, verdict, detail: error.to_string() }];
        }
    };
    let row = |(layer, state): (sandbox::Layer, &State)| {
        let (verdict, detail) = match state {
            State::Enforced => (Verdict::Good, "enforced".to_owned()),
            State::Missing { reason, remedy } => (Verdict::Weaker, format!("{reason}; {remedy}")),
        };
        Finding { what: format!("sandbox: {layer}"), verdict, detail }
    };
    jail.level().layers().map(row).collect()
}
