//! Reading files and directories through the public interface.

#![expect(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test makes its own tree, and fails by a panic"
)]

#[path = "../fixture/mod.rs"]
mod fixture;

mod pages;
mod reassembly;
mod encodings;
mod confinement;
mod listing;
mod protection;

use workspace::{Guard, Range, ReadError, ReadOutcome, ReadRequest, TextPage, Workspace};

/// Reads the whole of a path under the usual bounds.
fn read(workspace: &Workspace, path: &str) -> Result<ReadOutcome, ReadError> {
    workspace.read(&ReadRequest::new(fixture::path(path)), &Guard::open())
}

/// Reads a range that must be text.
fn page(workspace: &Workspace, path: &str, range: Range) -> TextPage {
    let request = ReadRequest { range, ..ReadRequest::new(fixture::path(path)) };
    text(workspace.read(&request, &Guard::open()).unwrap())
}

fn text(outcome: ReadOutcome) -> TextPage {
    match outcome {
        ReadOutcome::Text(page) => page,
        other => panic!("not text: {other:?}"),
    }
}
