//! `chancery task`: what a person does for a task.

use clap::{Args, Subcommand};
use engine::ports::Clock;
use ledger::Ledger;
use serde_json::json;

use super::{CommandError, Page};
use crate::clock::SystemClock;
use crate::exit::Exit;
use crate::runtime::{NAME, state_dir};

#[derive(Debug, Args)]
pub(super) struct Task {
    #[command(subcommand)]
    act: Act,
    /// The state directory
    #[arg(long, value_name = "DIR", global = true)]
    state: Option<std::path::PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Act {
    /// Let a task go on that was stopped for repeating refused calls
    Release {
        /// The task's id
        task: String,
    },
    /// What each tool has cost the task's context so far
    Cost {
        /// The task's id
        task: String,
    },
}

impl Task {
    pub(super) fn run(&self, page: &mut Page) -> Result<Exit, CommandError> {
        let ledger = Ledger::open(&state_dir(self.state.as_deref())?, NAME)?;
        match &self.act {
            Act::Release { task } => {
                ledger.look(task, SystemClock.now())?;
                page.line(&format!("released {task}"))?;
            }
            Act::Cost { task } => {
                for cost in ledger.context_cost(task)? {
                    if page.json() {
                        page.document(&json!({
                            "tool": cost.tool,
                            "calls": cost.calls,
                            "planner_bytes": cost.planner_bytes,
                            "planner_tokens": cost.planner_tokens,
                        }))?;
                    } else {
                        page.line(&format!(
                            "{:<20} {:>6} calls {:>10} bytes {:>9} tokens",
                            cost.tool, cost.calls, cost.planner_bytes, cost.planner_tokens
                        ))?;
                    }
                }
            }
        }
        Ok(Exit::Done)
    }
}
