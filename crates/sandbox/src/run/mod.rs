//! One run, from request to exit: the one spawn path and the one kill path of every command. Deadline,
//! cancellation and output limit end a tree the same way; which of them it was is typed.
//! It must never return while a process of the tree is alive without saying [`RunError::Lost`], and never wait unbounded.

mod exit;
mod request;
mod supervise;

pub use exit::{Ending, Exit, Unpinned, Usage};

use crate::command::{Command, Stdin};
use crate::error::RunError;
use crate::jail::{Identity, Jail};
use crate::level::{Layer, Level};
use crate::line::{Body, Line, sealed};
use crate::output::{Drain, StreamCount, Streams};
use crate::protocol::{Record, kind, mode, role, step};
use crate::stop::{Bell, Stop};
use crate::view::{self, Plan};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::pipe::PipeFlags;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Instant;
use supervise::{Reason, supervise};

const PIPE_BYTES: usize = 1 << 20;

/// The workspace as it was opened for one run.
struct Workspace {
    file: OwnedFd,
    owner: (u32, u32),
    device: u64,
}

/// Who the sandbox is for this workspace, and how its files are translated.
struct Standing {
    identity: Identity,
    map: Option<Arc<OwnedFd>>,
    level: Level,
}

/// A request that is ready to be handed over.
struct Ready<'a> {
    command: &'a Command,
    workspace: &'a Workspace,
    standing: Standing,
    plan: Plan,
    body: Body,
    unpinned: Vec<PathBuf>,
}

/// What the helper said last, and what was done to the tree.
struct Ended {
    record: Record,
    reason: Option<Reason>,
    stdout: StreamCount,
    stderr: StreamCount,
}

impl Jail {
    /// Runs one command to its end. Blocks until every process of its tree is gone and both outputs are delivered.
    ///
    /// # Errors
    /// No exit exists; [`RunError::ran`] says whether the command can have had an effect.
    pub fn run(
        &self,
        command: &Command,
        streams: Streams<'_>,
        stop: &Stop,
    ) -> Result<Exit, RunError> {
        if stop.is_cancelled() {
            return Err(RunError::NeverStarted);
        }
        view::workspace_is_apart(&command.workspace)
            .map_err(|(field, reason)| RunError::Request { field, reason })?;
        let workspace = open(command)?;
        loop {
            let standing = self.standing(command, &workspace)?;
            let again = Streams { stdout: &mut *streams.stdout, stderr: &mut *streams.stderr };
            let refused = |(field, reason)| RunError::Request { field, reason };
            let (plan, unpinned) =
                view::of(&self.base, command, standing.map.is_some()).map_err(refused)?;
            let body = self.body(command, &plan, standing.identity)?;
            let workspace = &workspace;
            let ready = Ready { command, workspace, standing, plan, body, unpinned };
            let begun = Instant::now();
            let ended = self.attempt(&ready, again, stop, begun)?;
            if ended.record.kind != kind::FAILED || ended.record.step != step::ID_MAP {
                return exit::exit(ready, ended, begun);
            }
            // Nothing ran: the walls could not be built this way, and now it is known.
            let mut known = self.untranslatable.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(workspace.device);
        }
    }

    fn standing(&self, command: &Command, workspace: &Workspace) -> Result<Standing, RunError> {
        let level = self.level().clone();
        if self.identity.mode == mode::ORDINARY {
            return Ok(Standing { identity: self.identity, map: None, level });
        }
        let known = self.untranslatable.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains(&workspace.device) {
            let map = self.maps.of(&self.image, workspace.owner).map_err(RunError::Start)?;
            return Ok(Standing { identity: self.identity, map: Some(map), level });
        }
        if workspace.owner.0 == 0 || workspace.owner.1 == 0 {
            return Err(RunError::Identity { path: command.workspace.clone() });
        }
        let identity = Identity { outside: workspace.owner, ..self.identity };
        let level = level.without(
            Layer::UnprivilegedIdentity,
            "this file system cannot translate owners, so the command runs as the workspace's owner",
            "put the workspace on ext4, xfs, btrfs or tmpfs",
        );
        Ok(Standing { identity, map: None, level })
    }

    /// One run, from the helper's start to its last record.
    fn attempt(
        &self,
        ready: &Ready<'_>,
        streams: Streams<'_>,
        stop: &Stop,
        begun: Instant,
    ) -> Result<Ended, RunError> {
        let limits = &ready.command.limits;
        let (stdout, stdout_inside) = pipe().map_err(RunError::Start)?;
        let (stderr, stderr_inside) = pipe().map_err(RunError::Start)?;
        let overflow = &Bell::new().map_err(RunError::Start)?;
        let finish = &Bell::new().map_err(RunError::Start)?;
        let drain = Drain { stdout, stderr, output_bytes: limits.output_bytes, overflow, finish };
        std::thread::scope(|scope| {
            // The reader comes first: once the request is out, nothing of ours can fail any more.
            let reader = std::thread::Builder::new().name("sandbox-drain".to_owned());
            let reader =
                reader.spawn_scoped(scope, move || drain.run(streams)).map_err(RunError::Start)?;
            let outcome = self.begin(ready, [stdout_inside, stderr_inside]).and_then(|mut line| {
                let outcome = supervise(&mut line, limits, stop, overflow, begun);
                self.reap(line.into_child());
                outcome
            });
            finish.ring();
            // A sink that panicked leaves nothing to count; the run itself is known.
            let (stdout, stderr) = reader.join().unwrap_or_default();
            let (record, reason) = outcome?;
            Ok(Ended { record, reason, stdout, stderr })
        })
    }

    /// Starts the helper and hands it the request with its descriptors. Only the sandbox keeps the writing ends
    /// afterwards, so their end is its end.
    fn begin(&self, ready: &Ready<'_>, writing: [OwnedFd; 2]) -> Result<Line, RunError> {
        let input = match &ready.command.stdin {
            Stdin::Empty => None,
            Stdin::Bytes(bytes) => Some(sealed(bytes).map_err(RunError::Start)?),
        };
        let mut files = vec![input.as_ref().unwrap_or(&self.null).as_fd()];
        files.extend(writing.iter().map(AsFd::as_fd));
        files.push(ready.workspace.file.as_fd());
        files.extend(ready.standing.map.iter().map(|map| map.as_fd()));
        let mut line = self.image.start().map_err(RunError::Start)?;
        match line.request(role::LAUNCH, &ready.body, &files) {
            Ok(()) => Ok(line),
            Err(error) => {
                line.destroy();
                self.reap(line.into_child());
                Err(RunError::Start(error))
            }
        }
    }
}

fn open(command: &Command) -> Result<Workspace, RunError> {
    let refuse =
        |source: io::Error| RunError::Workspace { path: command.workspace.clone(), source };
    if !command.cwd.as_os_str().is_empty() && !view::is_plain_relative(&command.cwd) {
        let reason =
            format!("`{}` is not a plain path relative to the workspace", command.cwd.display());
        return Err(RunError::Request { field: "cwd", reason });
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file =
        rustix::fs::open(&command.workspace, flags, Mode::empty()).map_err(|e| refuse(e.into()))?;
    let stat = rustix::fs::fstat(&file).map_err(|e| refuse(e.into()))?;
    Ok(Workspace { file, owner: (stat.st_uid, stat.st_gid), device: stat.st_dev })
}

/// A pipe whose reading end never blocks. A small one (the user's quota is used up) only costs speed.
fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reading, writing) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let _small = rustix::pipe::fcntl_setpipe_size(&writing, PIPE_BYTES);
    rustix::fs::fcntl_setfl(&reading, OFlags::NONBLOCK)?;
    Ok((reading, writing))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Access, Limits};
    use crate::error::Ran;
    use crate::output::HeadTail;

    /// Runs `touch ran` in a fresh workspace of this jail; whether it left its file.
    fn touches(jail: &Jail) -> (Result<Exit, RunError>, bool) {
        let workspace = tempfile::tempdir().unwrap();
        let command = Command {
            argv: vec!["/usr/bin/touch".into(), "ran".into()],
            workspace: workspace.path().to_owned(),
            cwd: PathBuf::new(),
            env: Vec::new(),
            stdin: Stdin::Empty,
            limits: Limits::default(),
            toolchains: Vec::new(),
            access: Access::ReadWrite,
            read_only: Vec::new(),
            masked: Vec::new(),
        };
        let (mut out, mut err) = (HeadTail::new(9, 9), HeadTail::new(9, 9));
        let streams = Streams { stdout: &mut out, stderr: &mut err };
        let result = jail.run(&command, streams, &Stop::new().unwrap());
        (result, workspace.path().join("ran").exists())
    }

    #[test]
    fn i1_a_filter_that_was_promised_and_does_not_load_ends_the_run_before_it_began() {
        let mut jail = Jail::new().unwrap();
        let (result, ran) = touches(&jail);
        assert!(result.is_ok() && ran, "control: {result:?}");
        jail.filter.truncate(8);
        let (result, ran) = touches(&jail);
        let error = result.unwrap_err();
        assert!(
            matches!(&error, RunError::Wall { step, .. } if step.contains("filter")),
            "{error}"
        );
        assert!(error.ran() == Ran::No && !ran);
    }

    #[test]
    fn i1_a_run_without_what_was_promised_says_so() {
        let jail = Jail::new().unwrap();
        let promised = jail.level().clone();
        assert_eq!(crate::jail::after_run(promised.clone(), 0), promised);
        let less = crate::jail::after_run(promised, crate::protocol::missed::PROC);
        assert!(!less.enforces(Layer::ProcessList) && less.enforces(Layer::Processes));
    }
}
