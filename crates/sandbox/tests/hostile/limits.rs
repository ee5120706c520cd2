//! Limits: the one who asks for too much is refused, and nobody else notices.

use crate::case::{Case, jail, marker, processes_with, run, until};
use sandbox::{Ending, Sink, Stop, Streams};
use std::io;
use std::sync::mpsc::{Sender, channel};

struct Tell(Option<Sender<()>>);

impl Sink for Tell {
    fn chunk(&mut self, _bytes: &[u8]) -> io::Result<()> {
        if let Some(told) = self.0.take() {
            told.send(()).map_err(io::Error::other)?;
        }
        Ok(())
    }
}

#[test]
fn v4_p036_a_fork_bomb_meets_its_limit_and_disturbs_no_other_call() {
    let case = Case::new();
    let mark = marker("p036");
    // The leader forks once, before the bomb goes off, so that it cannot fall victim to the limit itself.
    let script =
        format!("(f() {{ f | f & }}; f; : {mark}) >/dev/null 2>&1 & echo up; exec sleep 600");
    let mut command = case.command(&["/bin/bash", "-c", &script]);
    command.limits.processes = 64;
    let (told, heard) = channel();
    let stop = Stop::new().unwrap();
    std::thread::scope(|scope| {
        let bomb = scope.spawn(|| {
            let (mut out, mut err) = (Tell(Some(told)), Tell(None));
            let streams = Streams { stdout: &mut out, stderr: &mut err };
            jail().run(&command, streams, &stop).unwrap()
        });
        heard.recv().unwrap();
        until(true, || processes_with(&mark).len() >= 16);
        for _ in 0..5 {
            let other = Case::new().sh("true & true & true & wait; echo fine");
            assert_eq!(
                (other.out.as_str(), other.exit.ending),
                ("fine\n", Ending::Exited { code: 0 })
            );
        }
        stop.cancel();
        let exit = bomb.join().unwrap();
        assert!(matches!(exit.ending, Ending::Cancelled { .. }), "{:?}", exit.ending);
    });
    assert_eq!(processes_with(&mark), Vec::<u32>::new());
}

#[test]
fn x2_the_process_limit_is_exact() {
    let case = Case::new();
    let script = "echo $$; sleep 600 & sleep 600 & sleep 600 & sleep 600 & echo five";
    let mut command = case.shell(script);
    command.limits.processes = 5;
    assert!(run(&command).out.ends_with("five\n"), "the limit itself is allowed");
    command.limits.processes = 4;
    let outcome = run(&command);
    assert!(!outcome.out.ends_with("five\n"));
    assert!(outcome.err.contains("fork"), "{}", outcome.err);
}

#[test]
fn x2_files_memory_and_time_have_their_limits() {
    let case = Case::new();
    let mut command = case.shell("head -c 3000000 /dev/zero > big");
    command.limits.file_bytes = 1_000_000;
    run(&command);
    assert_eq!(std::fs::metadata(case.path().join("big")).unwrap().len(), 1_000_000);

    let mut command = case.shell("ulimit -n; ulimit -c; exec 77</dev/null");
    command.limits.open_files = 32;
    let outcome = run(&command);
    assert!(outcome.out.starts_with("32\n0\n"), "{}", outcome.out);

    let mut command = case.shell("while :; do :; done");
    command.limits.cpu_s = Some(1);
    let outcome = run(&command);
    let by_limit = matches!(outcome.exit.ending, Ending::Signaled { signal: 9 | 24, .. });
    assert!(by_limit, "{:?}", outcome.exit.ending);
    assert!(outcome.exit.usage.user_ms + outcome.exit.usage.system_ms > 0);

    let mut command = case.command(&["perl", "-e", "my $x = 'a' x 300_000_000; print 'held'"]);
    assert_eq!(run(&command).out, "held", "control");
    command.limits.memory_bytes = Some(200 << 20);
    assert!(!run(&command).out.contains("held"));
}

#[test]
fn x2_the_private_scratch_is_bounded() {
    let case = Case::new();
    let mut command = case.shell("head -c 9000000 /dev/zero > /tmp/fill; stat -c %s /tmp/fill");
    command.limits.scratch_bytes = 4 << 20;
    assert_eq!(run(&command).out, format!("{}\n", 4 << 20));
}

#[test]
fn x6_usage_counts_the_whole_tree() {
    let case = Case::new();
    let script = "perl -e 'my $x = q(a) x 60_000_000; my $n = 0; $n++ while $n < 3_000_000' & wait";
    let usage = case.sh(script).exit.usage;
    assert!(usage.max_rss_bytes > 60_000_000, "{usage:?}");
    assert!(usage.user_ms + usage.system_ms > 0, "{usage:?}");
}
