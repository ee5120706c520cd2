//! Writes a command down as the helper reads it. It must never add anything that the command does not name.

use crate::command::{Command, Limits};
use crate::error::{ProgramCause, RunError};
use crate::jail::{Identity, Jail, start_body};
use crate::line::Body;
use crate::protocol::MAX_BODY_BYTES;
use crate::view::Plan;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

impl Jail {
    pub(super) fn body(
        &self,
        command: &Command,
        plan: &Plan,
        identity: Identity,
    ) -> Result<Body, RunError> {
        let refuse = |field: &'static str, reason: &str| {
            Err(RunError::Request { field, reason: reason.to_owned() })
        };
        let mut body = start_body(identity);
        plan.encode(&mut body);
        limits(&mut body, &command.limits);
        body.raw(&self.filter);
        if command.argv.is_empty() {
            return refuse("argv", "it is empty; the first argument is the program");
        }
        let cwd = if command.cwd.as_os_str().is_empty() {
            OsStr::new(".")
        } else {
            command.cwd.as_os_str()
        };
        let mut env = Vec::with_capacity(command.env.len());
        let mut search = OsStr::new("");
        for (name, value) in &command.env {
            if name.is_empty() || name.as_bytes().contains(&b'=') {
                return refuse("env", "a name is empty or contains `=`");
            }
            if name == "PATH" {
                search = value;
            }
            let mut entry = name.clone();
            entry.push("=");
            entry.push(value);
            env.push(entry);
        }
        let nul = "it contains a NUL byte";
        let Ok(_) = body.text(&command.workspace) else {
            return refuse("workspace", nul);
        };
        let Ok(_) = body.text(cwd) else {
            return refuse("cwd", nul);
        };
        let Ok(_) = body.text(search) else {
            return refuse("env", nul);
        };
        let Ok(_) = body.texts(&command.argv) else {
            return refuse("argv", nul);
        };
        let Ok(_) = body.texts(&env) else {
            return refuse("env", nul);
        };
        if body.bytes().len() > MAX_BODY_BYTES {
            let cause = ProgramCause::TooLarge;
            return Err(RunError::Program { program: program(command), cause });
        }
        Ok(body)
    }
}

/// Resource limits (setrlimit(2)), count first.
fn limits(body: &mut Body, limits: &Limits) {
    const CPU: u32 = 0;
    const FSIZE: u32 = 1;
    const CORE: u32 = 4;
    const NPROC: u32 = 6;
    const NOFILE: u32 = 7;
    const AS: u32 = 9;
    let mut wanted = vec![
        (CORE, 0),
        // The init is a process of the same user.
        (NPROC, limits.processes.saturating_add(1)),
        (NOFILE, limits.open_files),
        (FSIZE, limits.file_bytes),
    ];
    wanted.extend(limits.memory_bytes.map(|bytes| (AS, bytes)));
    wanted.extend(limits.cpu_s.map(|seconds| (CPU, seconds)));
    body.u32(u32::try_from(wanted.len()).unwrap_or(0));
    for (resource, most) in wanted {
        body.u32(resource).u64(most);
    }
}

pub(super) fn program(command: &Command) -> String {
    command
        .argv
        .first()
        .map(|name: &OsString| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}
