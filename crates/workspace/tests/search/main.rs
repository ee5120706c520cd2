//! Searching through the public interface.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test makes its own tree, and fails by a panic"
)]

#[path = "../fixture/mod.rs"]
mod fixture;

mod matching;
mod bounds;
mod policy;
mod confinement;
mod filenames;
mod pages;
mod parity;

use workspace::{Guard, SearchMode, SearchOutcome, SearchRequest};

/// Searches under the usual bounds.
fn search(tree: &fixture::Tree, request: &SearchRequest) -> SearchOutcome {
    tree.workspace.search(request, &Guard::open()).unwrap()
}

fn literal(query: &str) -> SearchRequest {
    SearchRequest::new(query)
}

fn regex(query: &str) -> SearchRequest {
    SearchRequest { mode: SearchMode::Regex, ..SearchRequest::new(query) }
}

/// The matched lines as `path:line`.
fn places(outcome: &SearchOutcome) -> Vec<String> {
    outcome.matches.iter().map(|found| format!("{}:{}", found.path, found.line)).collect()
}

/// The matched paths.
fn paths(outcome: &SearchOutcome) -> Vec<String> {
    outcome.paths.iter().map(|hit| hit.path.to_string()).collect()
}
