//! What a wall costs: the medians of starting `true` plainly, in the jail, and under bubblewrap when it is installed.
//! The three take turns, so that a busy machine slows all of them. It measures and must never judge.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement starts processes, reads the clock, prints, and ends at the first failure"
)]

use sandbox::{Access, Command, Ending, HOME, HeadTail, Jail, Limits, Stdin, Stop, Streams};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

const ROUNDS: usize = 300;
const WARM_UP: usize = 20;
const PROGRAM: &str = "/usr/bin/true";
const BUBBLEWRAP: [&str; 5] = ["--unshare-all", "--ro-bind", "/", "/", PROGRAM];

/// One way to start the program and to see it end.
struct Way<'a> {
    name: &'static str,
    start: Box<dyn Fn() -> io::Result<()> + 'a>,
    took: Vec<Duration>,
}

impl<'a> Way<'a> {
    fn new(name: &'static str, start: impl Fn() -> io::Result<()> + 'a) -> Self {
        Self { name, start: Box::new(start), took: Vec::with_capacity(ROUNDS) }
    }

    /// The duration that this share of the rounds stayed under.
    fn at(&self, percent: usize) -> Duration {
        let mut sorted = self.took.clone();
        sorted.sort_unstable();
        let place = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
        sorted.get(place).copied().unwrap_or_default()
    }
}

fn main() {
    let workspace = tempfile::tempdir().unwrap();
    let jail = Jail::new().unwrap();
    let command = command(workspace.path());
    let mut ways = vec![
        Way::new("plain", || plain(PROGRAM, &[])),
        Way::new("jail", || jailed(&jail, &command)),
        Way::new("bwrap", || plain("bwrap", &BUBBLEWRAP)),
    ];
    // What cannot be started at all is not measured.
    ways.retain(|way| match (way.start)() {
        Ok(()) => true,
        Err(error) => {
            println!("{:<6} is left out: {error}", way.name);
            false
        }
    });
    for round in 0..WARM_UP + ROUNDS {
        for way in &mut ways {
            let begun = Instant::now();
            (way.start)().unwrap();
            if round >= WARM_UP {
                way.took.push(begun.elapsed());
            }
        }
    }
    print(&ways);
}

fn print(ways: &[Way<'_>]) {
    println!("{ROUNDS} rounds, microseconds");
    println!("{:<6} {:>8} {:>8} {:>8} {:>8}", "", "p10", "median", "p90", "ratio");
    let floor = ways.first().map_or(Duration::ZERO, |way| way.at(50));
    for way in ways {
        let [p10, median, p90] = [10, 50, 90].map(|percent| way.at(percent));
        let ratio = median.as_secs_f64() / floor.as_secs_f64();
        let [p10, median, p90] = [p10, median, p90].map(|took| took.as_micros());
        println!("{:<6} {p10:>8} {median:>8} {p90:>8} {ratio:>8.2}", way.name);
    }
}

fn plain(program: &str, arguments: &[&str]) -> io::Result<()> {
    let mut command = std::process::Command::new(program);
    let status = command.args(arguments).stdin(Stdio::null()).status()?;
    status.success().then_some(()).ok_or(io::Error::other(status.to_string()))
}

fn jailed(jail: &Jail, command: &Command) -> io::Result<()> {
    let (mut out, mut err) = (HeadTail::new(64, 64), HeadTail::new(64, 64));
    let streams = Streams { stdout: &mut out, stderr: &mut err };
    let exit = jail.run(command, streams, &Stop::new()?).map_err(io::Error::other)?;
    let fine = exit.ending == Ending::Exited { code: 0 };
    fine.then_some(()).ok_or(io::Error::other(format!("{:?}", exit.ending)))
}

fn command(workspace: &Path) -> Command {
    Command {
        argv: vec![PROGRAM.into()],
        workspace: workspace.to_owned(),
        cwd: PathBuf::new(),
        env: vec![("PATH".into(), "/usr/bin".into()), ("HOME".into(), HOME.into())],
        stdin: Stdin::Empty,
        limits: Limits::default(),
        toolchains: Vec::new(),
        access: Access::ReadWrite,
        read_only: Vec::new(),
        masked: Vec::new(),
    }
}
