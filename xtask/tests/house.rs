//! The house is in order, checked by whoever runs the tests: the same checks as `cargo xtask`.
//!
//! Must never hold a rule of its own; the rules and their tests are in `src`.

use xtask::{Report, layers, root, schema, tidy};

#[test]
fn tidy_finds_nothing_to_change() {
    in_order(&tidy::run(&root()).unwrap());
}

#[test]
fn layers_finds_nothing_to_change() {
    in_order(&layers::run(&root()).unwrap());
}

#[test]
fn e1_the_published_schemas_are_those_of_the_types() {
    in_order(&schema::check(&root()).unwrap());
}

#[track_caller]
fn in_order(report: &Report) {
    let findings: Vec<_> = report.findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{}\n{}", report.summary, findings.join("\n"));
}
