//! Hygiene: nothing stays behind, not in the workspace, not in the runtime, not on the machine, whoever dies first.

use crate::case::{Case, alone, itself, jail, marker, processes_with, run, until};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use sandbox::{Ending, HeadTail, Jail, Stop, Streams};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

/// Every path under `root` with its size and mode.
fn tree(root: &Path) -> Vec<String> {
    let script = "find . -printf '%p %s %m %U %G\\n' | sort";
    let mut command = std::process::Command::new("/bin/sh");
    let output = command.args(["-c", script]).current_dir(root).output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn count(path: &str) -> usize {
    std::fs::read_dir(path).unwrap().count()
}

fn children() -> String {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    tasks
        .map(|task| std::fs::read_to_string(task.path().join("children")).unwrap_or_default())
        .collect()
}

#[test]
fn x3_the_workspace_is_as_it_was() {
    let case = Case::new();
    for path in [".git/config", ".git/hooks/a", ".env", "src/deep/er/file"] {
        case.write(path, "x");
    }
    let before = tree(case.path());
    let mut command = case.shell("cat .env; ls -R > /dev/null; exit 9");
    command.read_only =
        vec![".git/hooks".into(), ".git/config".into(), "src/deep/er".into(), "none".into()];
    command.masked = vec![".env".into(), "src/deep/er/file".into(), "absent".into()];
    assert_eq!(run(&command).exit.ending, Ending::Exited { code: 9 });
    command.limits.wall_ms = 50;
    command.argv = ["sleep", "600"].map(Into::into).to_vec();
    assert!(matches!(run(&command).exit.ending, Ending::TimedOut { .. }));
    assert_eq!(tree(case.path()), before);
}

#[test]
fn x4_two_hundred_runs_leave_nothing_behind() {
    if !alone("hygiene::x4_two_hundred_runs_leave_nothing_behind") {
        return;
    }
    let case = Case::new();
    let mark = marker("hygiene");
    let look = || {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        (count("/proc/self/fd"), count("/proc/self/task"), mounts)
    };
    let mut command = case.shell(&format!("sleep 600 & setsid sleep 600 & : {mark}"));
    let before = look();
    let own = Jail::new().unwrap();
    for round in 0..200 {
        if round % 10 == 9 {
            command.argv = ["no-such-program"].map(Into::into).to_vec();
        } else {
            command.argv = case.shell(&format!("sleep 600 & setsid sleep 600 & : {mark}")).argv;
        }
        let (mut out, mut err) = (HeadTail::new(9, 9), HeadTail::new(9, 9));
        let streams = Streams { stdout: &mut out, stderr: &mut err };
        let result = own.run(&command, streams, &Stop::new().unwrap());
        assert_eq!(result.is_ok(), round % 10 != 9);
        assert_eq!(processes_with(&mark), Vec::<u32>::new());
    }
    drop(own);
    // A thread that was joined can be listed a moment longer.
    until(before, look);
    assert_eq!(children(), "", "no helper is left, not even as a zombie");
    assert_eq!(count(case.path().to_str().unwrap()), 0);
}

#[test]
fn x4_sixteen_runs_at_once_do_not_mix() {
    let jail = jail();
    std::thread::scope(|scope| {
        for n in 0..16 {
            scope.spawn(move || {
                let case = Case::new();
                for round in 0..5 {
                    let command = case.shell(&format!("echo {n}.{round}; echo {n} >&2; exit {n}"));
                    let (mut out, mut err) = (HeadTail::new(99, 9), HeadTail::new(99, 9));
                    let streams = Streams { stdout: &mut out, stderr: &mut err };
                    let exit = jail.run(&command, streams, &Stop::new().unwrap()).unwrap();
                    assert_eq!(exit.ending, Ending::Exited { code: n });
                    assert_eq!(out.text().head, format!("{n}.{round}\n"));
                    assert_eq!(err.text().head, format!("{n}\n"));
                }
            });
        }
    });
}

/// The part of the next test that is killed: a runtime with a running command.
#[test]
fn daemon_that_is_killed() {
    let Some(mark) = std::env::var_os("SANDBOX_TEST_DAEMON") else { return };
    let case = Case::new();
    let mark = mark.into_string().unwrap();
    let script = format!(
        "trap '' TERM HUP; setsid sh -c 'trap \"\" HUP; echo up; sleep 600; : {mark}' & sleep 600; : {mark}"
    );
    let mut forward = Forward;
    let mut quiet = HeadTail::new(9, 9);
    let streams = Streams { stdout: &mut forward, stderr: &mut quiet };
    jail().run(&case.shell(&script), streams, &Stop::new().unwrap()).unwrap();
}

/// Passes the command's words on to this process's output.
struct Forward;

impl sandbox::Sink for Forward {
    fn chunk(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        use std::io::Write;
        std::io::stdout().write_all(b"\nsaid ")?;
        std::io::stdout().write_all(bytes)?;
        std::io::stdout().flush()
    }
}

#[test]
fn x4_when_the_runtime_is_killed_the_tree_dies_with_it() {
    let mark = marker("orphans");
    let mut command = itself("hygiene::daemon_that_is_killed");
    // Who is killed does not tidy up, so what it leaves lies in a directory of this test.
    let left = Case::new();
    command.env("SANDBOX_TEST_DAEMON", &mark).env("TMPDIR", left.path()).stdout(Stdio::piped());
    let mut daemon = command.spawn().unwrap();
    let lines = BufReader::new(daemon.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "said up"));
    let pids = processes_with(&mark);
    assert!(pids.len() >= 2, "{pids:?}");
    let open = |pid: &u32| {
        let pid = Pid::from_raw(i32::try_from(*pid).unwrap()).unwrap();
        pidfd_open(pid, PidfdFlags::empty()).ok()
    };
    let watched: Vec<_> = pids.iter().filter_map(open).collect();
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    for process in &watched {
        let mut ended = [PollFd::new(process, PollFlags::IN)];
        let bound = Timespec { tv_sec: 30, tv_nsec: 0 };
        assert_eq!(poll(&mut ended, Some(&bound)).unwrap(), 1, "it outlived the runtime");
    }
    // Also one that was started after the look above.
    until(Vec::new(), || processes_with(&mark));
}
