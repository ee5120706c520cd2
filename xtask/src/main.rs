//! `cargo xtask NAME`: runs one subcommand, prints what it found, and fails when it found something.
//!
//! Must never decide what is right: that is each subcommand's own file.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a build tool talks to a terminal")]

use std::path::Path;
use std::process::ExitCode;

use xtask::{Error, Report, layers, root, schema, tidy};

type Subcommand = fn(&Path) -> Result<Report, Error>;

const SUBCOMMANDS: &[(&str, &str, Subcommand)] = &[
    ("tidy", "how the files read: headers, lengths, names, links, contract", tidy::run),
    ("layers", "which crate may use which, compared with cargo metadata", layers::run),
    ("schema", "writes docs/schema anew from the types", schema::write),
];

fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_default();
    let Some((_, _, run)) = SUBCOMMANDS.iter().find(|(known, _, _)| *known == name) else {
        eprintln!("usage: cargo xtask NAME");
        for (known, purpose, _) in SUBCOMMANDS {
            eprintln!("  {known:8} {purpose}");
        }
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
