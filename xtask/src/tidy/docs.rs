//! Rules about what the documents say: links lead somewhere, and the contract matches the tests.
//!
//! Nothing here may judge whether a promise is kept; it only knows whether a test claims to show it.

use std::collections::{BTreeMap, BTreeSet};

use crate::Finding;
use crate::tree::File;

const CONTRACT: &str = "docs/contract.md";
const STATES: &str = "held, partly, planned";

/// Where a test names a promise.
struct Claim {
    id: String,
    path: String,
    line: usize,
}

pub(super) fn check(files: &[File]) -> Vec<Finding> {
    let paths: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let mut findings = Vec::new();
    let is_page = |file: &&File| file.path.ends_with(".md") && !file.is_specimen();
    for page in files.iter().filter(is_page) {
        findings.extend(dead_links(page, &paths));
    }
    let contract = files.iter().find(|file| file.path == CONTRACT);
    let contract = contract.map_or("", |file| file.text.as_str());
    findings.extend(broken_promises(contract, &claims(files)));
    findings
}

fn dead_links(page: &File, paths: &BTreeSet<&str>) -> Vec<Finding> {
    let (mut findings, mut fenced) = (Vec::new(), false);
    for (number, line) in (1..).zip(page.text.lines()) {
        fenced ^= line.trim_start().starts_with("```");
        // Between back-ticks there is no link.
        let prose: String = line.split('`').step_by(2).collect();
        for target in prose.split("](").skip(1).filter(|_| !fenced) {
            let target = target.split([')', ' ', '#']).next().unwrap_or_default();
            let elsewhere = target.is_empty() || target.contains(':');
            if !elsewhere && !leads_somewhere(&page.path, target, paths) {
                let message = format!("the link to `{target}` leads nowhere");
                findings.push(Finding::new(&page.path, number, message));
            }
        }
    }
    findings
}

fn leads_somewhere(page: &str, target: &str, paths: &BTreeSet<&str>) -> bool {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.pop().is_none() => return false,
            ".." => {}
            name => parts.push(name),
        }
    }
    let path = parts.join("/");
    let folder = format!("{path}/");
    paths.contains(path.as_str()) || paths.iter().any(|file| file.starts_with(&folder))
}

/// A row is `| E1 | promise | state |`: one a promise, with a test when it is not only planned.
fn broken_promises(contract: &str, claims: &[Claim]) -> Vec<Finding> {
    let (mut findings, mut rows) = (Vec::new(), BTreeMap::new());
    for (line, text) in (1..).zip(contract.lines()) {
        let cells: Vec<&str> = text.split('|').map(str::trim).collect();
        let [_, id, .., state, _] = cells.as_slice() else {
            continue;
        };
        if id_of(id).is_none_or(|found| found != *id) {
            continue;
        }
        let mut at = |message| findings.push(Finding::new(CONTRACT, line, message));
        if rows.insert(*id, line).is_some() {
            at(format!("`{id}` has two rows"));
        }
        if !STATES.split(", ").any(|known| known == *state) {
            at(format!("`{id}` is `{state}`; a promise is {STATES}"));
        } else if *state != "planned" && !claims.iter().any(|claim| claim.id == *id) {
            at(format!("`{id}` is `{state}`, no test is named after it"));
        }
    }
    for Claim { id, path, line } in claims.iter().filter(|claim| !rows.contains_key(&*claim.id)) {
        let message = format!("the name promises `{id}`, which {CONTRACT} does not have");
        findings.push(Finding::new(path, *line, message));
    }
    findings
}

/// Test functions of any language, and cases by their folder.
fn claims(files: &[File]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for file in files {
        let mut claim = |name: &str, line| {
            let path = file.path.clone();
            claims.extend(id_of(name).map(|id| Claim { id, path, line }));
        };
        if file.is_rust() && !file.is_specimen() {
            let functions = file.functions();
            let tests = functions.iter().filter(|function| function.test);
            tests.for_each(|test| claim(&test.name, test.first));
        } else if file.is_test() {
            let lines = (1..).zip(file.text.lines());
            lines.for_each(|(line, text)| claim(script_test(text).unwrap_or_default(), line));
        }
        let case = file.names().skip_while(|name| *name != "cases").nth(1);
        claim(case.unwrap_or_default(), 1);
    }
    claims
}

/// The name of a test: `def test_e1_…` in Python, `test("e1 …` in JavaScript.
fn script_test(line: &str) -> Option<&str> {
    let line = line.trim_start().trim_start_matches("async ");
    let script = || line.strip_prefix("test(")?.strip_prefix(['"', '\'']);
    line.strip_prefix("def test_").or_else(script)
}

/// The promise that a name opens with: `E6` for `e6_deadline_survives_retry`.
fn id_of(name: &str) -> Option<String> {
    let id = name.split(['_', '-', ' ']).next()?.to_ascii_uppercase();
    let number = id.strip_prefix(|c: char| c.is_ascii_uppercase())?;
    (!number.is_empty() && number.chars().all(|c| c.is_ascii_digit())).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_somewhere() {
        let paths = BTreeSet::from(["README.md", "docs/a.md", "docs/guide/b.md"]);
        let cases = [
            "README.md | [a](docs/a.md#part) [g](docs/guide/) `[x](y)` [h](#here) => fine",
            "docs/guide/b.md | [`r`](../../README.md) [w](https://a.example) => fine",
            "README.md | ```\n[x](gone.md)\n``` => fine",
            "docs/a.md | text\n[x](README.md) => 2 the link to",
            "docs/a.md | [x](../../README.md) => 1 the link to",
        ];
        crate::cases(&cases, |sample| {
            let (path, text) = sample.split_once(" | ").unwrap();
            dead_links(&File::new(path, text), &paths)
        });
    }

    #[test]
    fn a_promise_has_one_row_one_state_and_a_test() {
        let cases = [
            "| E1 | a | held |\n| E2 | b | planned | => fine",
            "| E1 | a | planned |\n| E2 | b | held | => 2 `E2` is `held`,",
            "| E1 | a | partly |\n| E2 | b | done | => 2 `E2` is `done`;",
            "| E1 | a | held |\n| E1 | b | planned | => 2 `E1` has two",
            "| id | promise | state |\n|---|---|---| => 7 the name promises",
        ];
        let test = Claim { id: "E1".into(), path: "x/tests/y.rs".into(), line: 7 };
        crate::cases(&cases, |contract| broken_promises(contract, std::slice::from_ref(&test)));
    }

    #[test]
    fn tests_of_every_kind_claim_a_promise() {
        let module = "fn e1_a() {}\n#[cfg(test)]\nmod tests {\nfn e2_b() {}\n}";
        let files = [
            File::new("a/src/x.rs", module),
            File::new("cases/e3-title/call.json", "{}"),
            File::new("a/tests/x.py", "async def test_e4_call():\n"),
            File::new("a/tests/x.mjs", "test('e5 call', () => {})\n"),
        ];
        let ids: Vec<_> = claims(&files).into_iter().map(|claim| claim.id).collect();
        assert_eq!(ids, ["E2", "E3", "E4", "E5"]);
    }
}
