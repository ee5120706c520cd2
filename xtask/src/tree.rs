//! The files of the repository as git sees them, and the little of Rust that the rules need.
//!
//! A scanner, not a parser: it trusts rustfmt for the shape of functions. Must never write, and never
//! follow a link, since a fixture may point anywhere.

use std::fs;
use std::path::Path;

use crate::{Error, ask};

/// One file that is tracked, or new and not ignored.
#[derive(Debug, Clone)]
pub(crate) struct File {
    /// Path from the root, with `/` between components.
    pub(crate) path: String,
    /// The content; empty when it is not UTF-8, as a fixture may be.
    pub(crate) text: String,
}

/// One line, counted from 1.
pub(crate) struct Line<'a> {
    pub(crate) number: usize,
    pub(crate) raw: &'a str,
    /// The line without comments and without what is in quotes. A string over several lines is not seen.
    pub(crate) code: String,
    /// In a `tests` folder, or at or below the `cfg(test)` module, which is a file's last item.
    pub(crate) test: bool,
}

/// A function with a body, from the line of its name to the line of its last brace.
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) first: usize,
    pub(crate) last: usize,
    pub(crate) test: bool,
}

impl File {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let (path, text) = (path.to_owned(), text.to_owned());
        Self { path, text }
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The folders on the way and the file, without the ending `.rs`.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let parts = self.path.split('/');
        parts.map(|name| name.strip_suffix(".rs").unwrap_or(name))
    }

    /// Test code, where samples of what is forbidden elsewhere are at home.
    pub(crate) fn is_test(&self) -> bool {
        self.names().any(|name| name == "tests")
    }

    /// Material that tests work on. It is not ours to keep tidy: a case may need a bad file.
    pub(crate) fn is_specimen(&self) -> bool {
        let mut names = self.names();
        names.any(|name| matches!(name, "cases" | "fixtures"))
    }

    pub(crate) fn lines(&self) -> Vec<Line<'_>> {
        let (mut test, mut marked, mut lines) = (self.is_test(), false, Vec::new());
        for (number, raw) in (1..).zip(self.text.lines()) {
            test |= marked && self.is_rust() && raw.starts_with("mod ") && raw.ends_with('{');
            marked = raw == "#[cfg(test)]" || (marked && raw.starts_with("#["));
            let code = code(raw);
            lines.push(Line { number, raw, code, test });
        }
        lines
    }

    pub(crate) fn functions(&self) -> Vec<Function> {
        let (lines, mut functions) = (self.lines(), Vec::new());
        for (index, line) in lines.iter().enumerate() {
            let Some((before, after)) = line.code.split_once("fn ") else {
                continue;
            };
            let name = words(after).next().unwrap_or_default().to_owned();
            if !before.is_empty() && !before.ends_with(' ') {
                continue;
            }
            // rustfmt closes a function on the first line that is indented like its opening one.
            let indent = |raw: &str| raw.len() - raw.trim_start().len();
            let level = |other: &&Line<'_>| indent(other.raw) == indent(line.raw);
            let mut whole = lines.get(index..).unwrap_or_default().iter().filter(level);
            let end = whole.find(|end| end.code.ends_with(['}', ';']));
            if let Some(end) = end.filter(|end| end.code.ends_with('}')) {
                let (first, last, test) = (line.number, end.number, line.test);
                functions.push(Function { name, first, last, test });
            }
        }
        functions
    }
}

/// Every regular file below `root`, sorted by path.
pub(crate) fn read(root: &Path) -> Result<Vec<File>, Error> {
    // A checkout may belong to another user than the one that tests it, as in CI containers.
    let list = "git -c safe.directory=* ls-files -z --cached --others --exclude-standard";
    let listed = String::from_utf8_lossy(&ask(root, list)?).into_owned();
    let mut files = Vec::new();
    for path in listed.split_terminator('\0') {
        let full = root.join(path);
        // Left out: links, and files that are deleted but still in the index.
        if fs::symlink_metadata(&full).is_ok_and(|found| found.is_file()) {
            let bytes = fs::read(&full).map_err(|error| Error::new(path, error))?;
            let text = std::str::from_utf8(&bytes).unwrap_or_default();
            files.push(File::new(path, text));
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.dedup_by(|a, b| a.path == b.path);
    Ok(files)
}

/// The words of a line: identifiers, keywords and numbers.
pub(crate) fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

fn code(raw: &str) -> String {
    let escaped = ["'\"'", "\\\\", "\\\""];
    let raw = escaped.iter().fold(raw.to_owned(), |raw, quote| raw.replace(quote, ""));
    let mut code = String::new();
    for part in raw.split('"').step_by(2) {
        let (before, comment) = part.split_once("//").unzip();
        code.push_str(before.unwrap_or(part));
        if comment.is_some() {
            break;
        }
    }
    code.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_what_is_left_without_comments_and_quotes() {
        assert_eq!(code(r#"f("a // \" {", '"') // "b""#), "f(, )");
        assert_eq!(code("//! unsafe"), "");
    }

    #[test]
    fn functions_and_the_test_module_are_found() {
        let text = "trait T {\n    fn a(f: fn(u8));\n    fn b(\n    ) -> u8;\n    fn c() {\n        1;\n    }\n}\n\
                    const fn d() {} // d\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn e1_x() {\n    }\n}\n";
        let file = File::new("x.rs", text);
        let brief = |f: &Function| format!("{} {}-{} {}", f.name, f.first, f.last, f.test);
        let found: Vec<_> = file.functions().iter().map(brief).collect();
        assert_eq!(found, ["c 5-7 false", "d 9-9 false", "e1_x 13-14 true"]);
        assert_eq!(file.lines().iter().filter(|line| line.test).count(), 5);
    }
}
