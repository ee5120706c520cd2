//! Output: apart, whole, bounded in memory, and never a reason to hang.

use crate::case::{Case, alone, attempt, jail, run};
use sandbox::{Ending, HeadTail, Sink, Stop, Streams};
use std::io;

/// Counts and forgets.
#[derive(Default)]
struct Count(u64);

impl Sink for Count {
    fn chunk(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0 += bytes.len() as u64;
        Ok(())
    }
}

/// Takes one chunk and then fails.
#[derive(Default)]
struct Full(bool);

impl Sink for Full {
    fn chunk(&mut self, _bytes: &[u8]) -> io::Result<()> {
        if self.0 {
            return Err(io::Error::other("no space"));
        }
        self.0 = true;
        Ok(())
    }
}

fn peak_rss_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn x6_both_streams_arrive_whole_and_apart() {
    let case = Case::new();
    let outcome = case.sh("for i in 1 2 3; do echo out $i; echo err $i >&2; done");
    assert_eq!(outcome.out, "out 1\nout 2\nout 3\n");
    assert_eq!(outcome.err, "err 1\nerr 2\nerr 3\n");
    assert_eq!((outcome.exit.stdout.bytes, outcome.exit.stderr.delivered_bytes), (18, 18));
}

#[test]
fn x6_p031_endless_output_ends_at_the_wall_limit() {
    let case = Case::new();
    let mut command = case.command(&["yes"]);
    command.limits.wall_ms = 2_000;
    let (mut out, mut err) = (HeadTail::new(1024, 1024), Count::default());
    let streams = Streams { stdout: &mut out, stderr: &mut err };
    let exit = jail().run(&command, streams, &Stop::new().unwrap()).unwrap();
    assert!(matches!(exit.ending, Ending::TimedOut { wall_ms: 2_000, .. }));
    assert!(exit.stdout.bytes > 1 << 20, "it wrote only {} bytes", exit.stdout.bytes);
    let shown = out.text();
    assert!(shown.head.starts_with("y\ny\n"));
    assert_eq!(shown.head_bytes + shown.dropped_bytes + shown.tail_bytes, exit.stdout.bytes);
}

#[test]
fn x6_p031_three_hundred_megabytes_cost_no_memory_and_no_exit_code() {
    let name = "output::x6_p031_three_hundred_megabytes_cost_no_memory_and_no_exit_code";
    if !alone(name) {
        return;
    }
    let case = Case::new();
    assert_eq!(case.sh("exit 0").exit.ending, Ending::Exited { code: 0 });
    let before = peak_rss_kib();
    let half = "head -c 150000000 /dev/zero | tr '\\0' a";
    let command = case.shell(&format!("{half} & {half} >&2; wait; exit 3"));
    let (mut out, mut err) = (HeadTail::new(1 << 16, 1 << 16), Count::default());
    let streams = Streams { stdout: &mut out, stderr: &mut err };
    let exit = jail().run(&command, streams, &Stop::new().unwrap()).unwrap();
    assert_eq!(exit.ending, Ending::Exited { code: 3 });
    assert_eq!((exit.stdout.bytes, err.0), (150_000_000, 150_000_000));
    let grown = peak_rss_kib() - before;
    assert!(grown < 16 << 10, "the runtime grew by {grown} KiB");
}

#[test]
fn x6_p031_more_than_the_output_limit_is_a_kill_of_its_own_kind() {
    let case = Case::new();
    let mut command = case.command(&["yes"]);
    command.limits.output_bytes = 100_000;
    let (mut out, mut err) = (Count::default(), Count::default());
    let streams = Streams { stdout: &mut out, stderr: &mut err };
    let exit = jail().run(&command, streams, &Stop::new().unwrap()).unwrap();
    assert_eq!(exit.ending, Ending::OutputLimit { output_bytes: 100_000 });
    assert_eq!((out.0, exit.stdout.delivered_bytes), (100_000, 100_000));
    assert!(exit.stdout.bytes > 100_000);
}

#[test]
fn x6_a_failing_sink_is_told_and_blocks_nobody() {
    let case = Case::new();
    let command = case.shell("echo one; head -c 5000000 /dev/zero; exit 4");
    let (mut out, mut err) = (Full::default(), Count::default());
    let streams = Streams { stdout: &mut out, stderr: &mut err };
    let exit = jail().run(&command, streams, &Stop::new().unwrap()).unwrap();
    assert_eq!(exit.ending, Ending::Exited { code: 4 });
    assert_eq!(exit.stdout.bytes, 5_000_004);
    let failure = exit.stdout.failure.unwrap();
    assert_eq!(
        (failure.at_bytes, failure.error.to_string().as_str()),
        (exit.stdout.delivered_bytes, "no space")
    );
}

#[test]
fn x6_nul_bytes_and_one_long_line_are_only_bytes() {
    let case = Case::new();
    let outcome = case.sh("head -c 40000 /dev/zero; printf 'end'");
    assert_eq!(outcome.exit.stdout.bytes, 40_003);
    assert!(outcome.out.ends_with("\0end"));
}

#[test]
fn x5_closed_outputs_do_not_end_the_wait() {
    let case = Case::new();
    let outcome = run(&case.shell(
        "exec >&- 2>&-; head -c 50000000 /dev/zero | cksum >/dev/null; echo x > done; exit 6",
    ));
    assert_eq!(outcome.exit.ending, Ending::Exited { code: 6 });
    assert_eq!(case.read("done"), "x\n");
    assert!(attempt(&case.shell("exit 0"), &Stop::new().unwrap()).is_ok());
}
