//! `cargo xtask NAME`: runs one subcommand, prints what it found, and fails when it found something.
//!
//! Must never decide what is right: that is each subcommand's own file.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a build tool talks to a terminal")]

use std::path::Path;
use std::process::ExitCode;

use xtask::{Error, Report, agents, bench, layers, root, schema, tidy};

type Subcommand = fn(&Path) -> Result<Report, Error>;

const SUBCOMMANDS: &[(&str, &str, Subcommand)] = &[
    ("tidy", "how the files read: headers, lengths, names, links, contract", tidy::run),
    ("layers", "which crate may use which, compared with cargo metadata", layers::run),
    ("schema", "writes docs/schema anew from the types", schema::write),
];

/// Takes options and prints a table, so it is not one of the list.
const BENCH: &str = "bench";
/// Takes options and prints a transcript.
const AGENTS: &str = "agents";

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let name = words.next().unwrap_or_default();
    if name == BENCH {
        return measure(bench::Options::parse(words));
    }
    if name == AGENTS {
        return act(agents::Options::parse(words));
    }
    let Some((_, _, run)) = SUBCOMMANDS.iter().find(|(known, _, _)| *known == name) else {
        eprintln!("usage: cargo xtask NAME");
        for (known, purpose, _) in SUBCOMMANDS {
            eprintln!("  {known:8} {purpose}");
        }
        eprintln!(
            "  {BENCH:8} what the release binary costs, beside its peers; exits 0 when the targets are met"
        );
        eprintln!(
            "  {AGENTS:8} lets a real agent do a task through the server; exits 0 when it did"
        );
        return ExitCode::from(2);
    };
    match run(&root()) {
        Ok(report) => {
            for finding in &report.findings {
                println!("{finding}");
            }
            println!("{name}: {}; {} to change", report.summary, report.findings.len());
            ExitCode::from(u8::from(!report.findings.is_empty()))
        }
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(options: Result<bench::Options, String>) -> ExitCode {
    let options = match options {
        Ok(options) => options,
        Err(word) => {
            eprintln!("{BENCH}: `{word}` is not understood\nusage: {}", bench::USAGE);
            return ExitCode::from(2);
        }
    };
    match bench::run(&root(), &options) {
        Ok(measured) => {
            if options.json {
                println!("{:#}", measured.json());
            } else {
                print!("{measured}");
            }
            ExitCode::from(u8::from(!measured.meets_targets()))
        }
        Err(fault) => {
            eprintln!("{BENCH}: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn act(options: Result<agents::Options, String>) -> ExitCode {
    let options = match options {
        Ok(options) => options,
        Err(word) => {
            eprintln!("{AGENTS}: `{word}` is not understood\nusage: {}", agents::USAGE);
            return ExitCode::from(2);
        }
    };
    match agents::run(&root(), &options) {
        Ok(played) => {
            print!("{played}");
            ExitCode::from(u8::from(!played.is_sound()))
        }
        Err(fault) => {
            eprintln!("{AGENTS}: {fault}");
            ExitCode::FAILURE
        }
    }
}
