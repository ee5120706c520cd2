//! The tree: whatever the processes do, nobody is left when the answer arrives, and nobody outside is touched.

use crate::case::{Case, attempt, marker, processes_with, run};
use sandbox::{Command, Ending, RunError, Sink, Stop, Streams};
use std::io;
use std::sync::mpsc::{Sender, channel};

/// Tells when the command has said its first word, and keeps nothing.
struct FirstWord {
    told: Option<Sender<()>>,
}

impl Sink for FirstWord {
    fn chunk(&mut self, _bytes: &[u8]) -> io::Result<()> {
        if let Some(told) = self.told.take() {
            told.send(()).map_err(io::Error::other)?;
        }
        Ok(())
    }
}

/// Runs it, cancels it when it has said its first word, and returns how it ended.
fn cancelled(command: &Command) -> Ending {
    let stop = Stop::new().unwrap();
    let (told, heard) = channel();
    let canceller = stop.clone();
    let waiter = std::thread::spawn(move || {
        heard.recv().unwrap();
        canceller.cancel();
    });
    let (mut out, mut err) = (FirstWord { told: Some(told) }, FirstWord { told: None });
    let streams = Streams { stdout: &mut out, stderr: &mut err };
    let exit = crate::case::jail().run(command, streams, &stop).unwrap();
    waiter.join().unwrap();
    exit.ending
}

#[test]
fn x5_p028_a_background_child_that_holds_the_pipe_does_not_delay_the_answer() {
    let case = Case::new();
    let mark = marker("p028");
    for (script, said) in [
        ("echo hi; sh -c 'sleep 600 # M' &", "hi\n"),
        ("sh -c 'sleep 600 # M' >/dev/null &", ""),
        ("setsid sh -c 'sleep 600 # M' & echo up", "up\n"),
    ] {
        let outcome = case.sh(&script.replace('M', &mark));
        assert_eq!(outcome.exit.ending, Ending::Exited { code: 0 }, "{script}");
        assert_eq!(outcome.out, said, "{script}");
        assert!(outcome.exit.leftover >= 1, "{script}: the survivor is told");
        assert_eq!(processes_with(&mark), Vec::<u32>::new(), "{script}");
    }
    let pid = case.control("sleep 600 >/dev/null 2>&1 & echo $!");
    let alive = case.control(&format!("kill {pid}")).is_empty();
    assert!(alive, "control: without walls the background child lives on");
}

#[test]
fn x4_p029_a_timeout_ends_grandchildren_before_they_act() {
    let case = Case::new();
    let mark = marker("p029");
    let mut command =
        case.shell(&format!("echo a; sh -c 'sleep 4; touch late # {mark}' & sleep 60"));
    command.limits.wall_ms = 2_000;
    let outcome = run(&command);
    assert!(matches!(outcome.exit.ending, Ending::TimedOut { wall_ms: 2_000, .. }));
    assert_eq!(outcome.out, "a\n", "partial output is kept");
    assert_eq!(processes_with(&mark), Vec::<u32>::new());
    assert!(!case.path().join("late").exists());
}

#[test]
fn x4_p029_a_cancellation_ends_grandchildren_too() {
    let case = Case::new();
    let mark = marker("p029c");
    let script = format!("sh -c 'sleep 4; touch late # {mark}' & echo up; sleep 60");
    assert!(matches!(cancelled(&case.shell(&script)), Ending::Cancelled { .. }));
    assert_eq!(processes_with(&mark), Vec::<u32>::new());
}

#[test]
fn x4_p030_ignored_signals_do_not_outlive_the_grace() {
    let case = Case::new();
    let mark = marker("p030");
    let script = format!("trap '' TERM INT HUP; echo up; sh -c 'sleep 600 # {mark}'; sleep 600");
    assert_eq!(cancelled(&case.shell(&script)), Ending::Cancelled { forced: true });
    assert_eq!(processes_with(&mark), Vec::<u32>::new());
}

#[test]
fn x4_p030_a_timeout_does_not_wait_for_the_deaf() {
    let case = Case::new();
    let mark = marker("p030t");
    let mut command = case.shell(&format!(
        "trap '' TERM INT HUP; echo up; sh -c 'sleep 600 # {mark}' & sleep 600; echo late"
    ));
    command.limits.wall_ms = 2_000;
    let outcome = run(&command);
    assert_eq!(outcome.exit.ending, Ending::TimedOut { wall_ms: 2_000, forced: true });
    assert_eq!(outcome.out, "up\n", "partial output is kept");
    assert_eq!(processes_with(&mark), Vec::<u32>::new());
}

#[test]
fn x4_p030_a_polite_command_is_not_forced() {
    let case = Case::new();
    let mut command = case
        .shell("trap 'echo bye > said; exit 7' TERM; sleep 600 & echo up; while :; do wait; done");
    command.limits.grace_ms = 20_000;
    assert_eq!(cancelled(&command), Ending::Cancelled { forced: false });
    assert_eq!(case.read("said"), "bye\n", "it had its grace");
}

#[test]
fn x4_p030_stopped_and_daemonised_processes_are_ended() {
    let case = Case::new();
    let mark = marker("p030d");
    let daemon = format!(
        "(setsid sh -c 'trap \"\" TERM HUP; exec >/dev/null 2>&1 </dev/null; sleep 600; : {mark}' &)"
    );
    let stopped = format!("sh -c 'kill -STOP $$; : {mark}' &");
    let many = format!("for i in 1 2 3 4 5 6 7 8 9 10; do {daemon}; done");
    let outcome = case.sh(&format!("{many}; {stopped} echo up"));
    assert_eq!(outcome.exit.ending, Ending::Exited { code: 0 });
    assert!(outcome.exit.leftover >= 11, "{} were ended", outcome.exit.leftover);
    assert_eq!(processes_with(&mark), Vec::<u32>::new());
    let ending = cancelled(&case.shell(&format!("{many}; {stopped} echo up; sleep 600")));
    assert!(matches!(ending, Ending::Cancelled { .. }));
    assert_eq!(processes_with(&mark), Vec::<u32>::new());
}

#[test]
fn x6_p035_a_signal_is_no_success() {
    let case = Case::new();
    let ending = |script: &str| case.sh(script).exit.ending;
    let by = |signal, name| Ending::Signaled { signal, name };
    assert_eq!(ending("echo start; kill -9 $$"), by(9, "SIGKILL"));
    assert_eq!(ending("kill -TERM $$"), by(15, "SIGTERM"));
    assert_eq!(ending("kill -SEGV $$"), by(11, "SIGSEGV"));
    assert_eq!(ending("sh -c 'kill -9 $$'; exit $?"), Ending::Exited { code: 137 });
    assert_eq!(ending("exit 255"), Ending::Exited { code: 255 });
}

#[test]
fn x4_p037_signals_reach_nobody_outside() {
    let case = Case::new();
    let mut bystander = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let pid = bystander.id();
    for script in [
        "kill $PPID; kill -9 $PPID; echo lives",
        "exec sh -c 'kill -9 $PPID; kill -KILL 1; kill -STOP 1; echo lives'",
        "kill -9 -1; echo lives",
        &format!("kill -9 {pid} || echo lives"),
        &format!("kill -9 {} || echo lives", std::process::id()),
    ] {
        let outcome = case.sh(script);
        assert_eq!(outcome.out, "lives\n", "{script}: {}", outcome.err);
    }
    assert!(bystander.try_wait().unwrap().is_none(), "a process of the host was signalled");
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[test]
fn x4_a_stop_that_came_first_starts_nothing() {
    let case = Case::new();
    let stop = Stop::new().unwrap();
    stop.cancel();
    let refused = attempt(&case.shell("touch ran"), &stop);
    assert!(matches!(refused, Err(RunError::NeverStarted)));
    assert!(!case.path().join("ran").exists());
}

#[test]
fn x4_a_command_that_ended_by_itself_was_not_timed_out() {
    let case = Case::new();
    let mut command = case.shell("exit 5");
    command.limits.wall_ms = u64::MAX;
    assert_eq!(run(&command).exit.ending, Ending::Exited { code: 5 });
}
