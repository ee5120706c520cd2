//! Rules about one Rust file: how it opens, how long it and its functions are, what it may say.
//!
//! Nothing here may look at a second file.

use super::{SLEEPS, TABLES, excepted};
use crate::Finding;
use crate::tree::{File, Line, words};

const FILE_LINES: usize = 600;
const FUNCTION_LINES: usize = 70;
const TEST_FUNCTION_LINES: usize = 120;

/// Endings of type names that say nothing about the type.
const EMPTY: &[&str] = &["Manager", "Helper", "Helpers", "Util", "Utils", "Info", "Data"];

/// Reminders that belong into the tracker. In pieces, so that this file does not hold them itself.
const REMINDERS: &[&str] = &[concat!("FIX", "ME"), concat!("XX", "X")];

pub(super) fn check(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut at = |line, message| findings.push(Finding::new(&file.path, line, message));
    if !file.text.starts_with("//!") {
        at(1, "does not open with `//!`: what it is for, what it must never do".to_owned());
    }
    let lines = file.lines();
    if lines.len() > FILE_LINES && !excepted(TABLES, &file.path) {
        at(FILE_LINES, format!("{} lines; past {FILE_LINES} it is two files", lines.len()));
    }
    for function in file.functions() {
        let (name, lines) = (&function.name, function.last - function.first + 1);
        let limit = if function.test { TEST_FUNCTION_LINES } else { FUNCTION_LINES };
        if lines > limit {
            at(
                function.first,
                format!("`{name}` has {lines} lines; past {limit} it is two functions"),
            );
        }
    }
    for line in &lines {
        let rules =
            [empty_name(line), misplaced_unsafe(file, line), unfinished(line), sleep(file, line)];
        rules.into_iter().flatten().for_each(|message| at(line.number, message));
    }
    findings
}

fn empty_name(line: &Line<'_>) -> Option<String> {
    let pairs = words(&line.code).zip(words(&line.code).skip(1));
    let mut types =
        pairs.filter(|(keyword, _)| matches!(*keyword, "struct" | "enum" | "trait" | "type"));
    let (_, name) = types.find(|(_, name)| EMPTY.iter().any(|ending| name.ends_with(ending)))?;
    Some(format!("`{name}` ends in a word that says nothing; use the field's own"))
}

fn misplaced_unsafe(file: &File, line: &Line<'_>) -> Option<String> {
    let found = words(&line.code).any(|word| word == "unsafe");
    let misplaced = found && !file.path.starts_with("crates/sandbox/");
    misplaced.then(|| "`unsafe` outside the sandbox crate; move the call there".to_owned())
}

fn unfinished(line: &Line<'_>) -> Option<String> {
    if let Some(found) =
        ["todo!(", "unimplemented!("].iter().find(|call| line.code.contains(**call))
    {
        return Some(format!("`{found}…)` promises what is not there; leave the function out"));
    }
    if let Some(found) = words(line.raw).find(|word| REMINDERS.contains(word)) {
        return Some(format!("`{found}` is lost here; do it now or open an issue"));
    }
    let code = line.code.replace(' ', "");
    let silent = code.contains("#[ignore]") || code.contains(",ignore)]");
    silent.then(|| {
        "a test is ignored without a reason; write `#[ignore = \"why\"]` or run it".to_owned()
    })
}

fn sleep(file: &File, line: &Line<'_>) -> Option<String> {
    let named = ["thread::sleep", "time::sleep"].iter().any(|path| line.code.contains(path));
    // Not a method, which may be a clock's own, nor the end of a longer name.
    let inner = |c: char| c.is_alphanumeric() || "_.:".contains(c);
    let mut calls = line.code.match_indices("sleep(").filter_map(|(at, _)| line.code.get(..at));
    let called = calls.any(|before| !before.ends_with(inner) && !before.ends_with("fn "));
    (line.test && (named || called) && !excepted(SLEEPS, &file.path))
        .then(|| "a test that sleeps is slow or flaky; wait on the event".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `path | text`
    fn found(sample: &str) -> Vec<Finding> {
        let (path, text) = sample.split_once(" | ").unwrap();
        check(&File::new(path, text))
    }

    #[test]
    fn a_line_says_nothing_forbidden() {
        let cases = [
            "x.rs | //! A.\nfn main() {} => fine",
            "x.rs | fn main() {} => 1 does not open",
            "x.rs | //!\npub struct CallManager; => 2 `CallManager` ends in",
            "x.rs | //!\nenum Info {} => 2 `Info` ends in",
            "x.rs | //!\n// struct Utils\nstruct Informed; => fine",
            "crates/engine/src/x.rs | //!\nfn f() { unsafe { g() } } => 2 `unsafe` outside the",
            "crates/sandbox/src/x.rs | //!\nfn f() { unsafe { g() } } => fine",
            "x.rs | //! unsafe\n#![forbid(unsafe_code)] => fine",
            "x.rs | //!\nfn f() { todo!() } => 2 `todo!(…)` promises what",
            "x.rs | //!\nfn f() { unimplemented!() } => 2 `unimplemented!(…)` promises what",
            "x.rs | //!\n#[ignore] => 2 a test is",
            "x.rs | //!\n#[cfg_attr(unix, ignore)] => 2 a test is",
            "x.rs | //!\n#[ignore = \"needs a kernel\"] => fine",
            "x.rs | //!\nstd::thread::sleep(d); => fine",
            "x/tests/y.rs | //!\nstd::thread::sleep(d); => 2 a test that",
            "x.rs | //!\n#[cfg(test)]\nmod tests {\nsleep(d).await;\n} => 4 a test that",
            "x/tests/y.rs | //!\nclock.sleep(d); fn sleep(d) => fine",
        ];
        crate::cases(&cases, found);
    }

    #[test]
    fn reminders_are_found_in_comments_and_only_as_whole_words() {
        for word in REMINDERS {
            assert_eq!(found(&format!("x.rs | //!\n// {word}: later")).len(), 1);
            assert_eq!(found(&format!("x.rs | //!\n// {word}{word}")).len(), 0);
        }
    }

    #[test]
    fn files_and_functions_have_a_length() {
        let function = |path, lines: usize| {
            let body = "\n".repeat(lines - 1);
            found(&format!("{path} | //!\nfn long() {{{body}}}")).len()
        };
        assert_eq!((function("x.rs", 70), function("x.rs", 71)), (0, 1));
        assert_eq!((function("tests/x.rs", 120), function("tests/x.rs", 121)), (0, 1));
        let file = |lines| found(&format!("x.rs | //!{}", "\n".repeat(lines))).len();
        assert_eq!((file(600), file(601)), (0, 1));
    }
}
