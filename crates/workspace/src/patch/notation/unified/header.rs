//! What stands before the hunks of one file: git's header lines, `---` and `+++`.
//!
//! It must settle on one name, or one name before and one after, and refuse lines that disagree.

use crate::patch::notation::unified::name::{self, Side};
use crate::patch::notation::unified::Lines;
use crate::patch::notation::{NotationError, NotationFault};

pub(super) const GIT: &str = "diff --git ";
pub(super) const OLD: &str = "--- ";
pub(super) const NEW: &str = "+++ ";

/// The header of one file.
pub(super) struct Header {
    /// The line of the patch that errors about the file name.
    pub(super) number: usize,
    pub(super) name: Name,
    /// The executable bit that the file gets, when the header says one.
    pub(super) executable: Option<bool>,
}

/// What the header says of the file's name, without `a/` and `b/`.
pub(super) enum Name {
    New(String),
    Gone(String),
    Kept(String),
    Moved { from: String, to: String },
}

/// git's header lines, as they are read.
#[derive(Default)]
struct Git {
    /// The one name of `diff --git`; `None` when it has two, or cannot be told apart.
    name: Option<String>,
    new: bool,
    gone: bool,
    executable: Option<bool>,
    from: Option<String>,
    to: Option<String>,
}

impl Header {
    /// Reads up to the first hunk, or to the end of a file that has none.
    pub(super) fn read(lines: &mut Lines<'_>) -> Result<Self, NotationError> {
        let number = lines.peek().map_or(0, |(number, _)| number);
        let git = match lines.peek().and_then(|(_, line)| line.strip_prefix(GIT)) {
            Some(names) => {
                lines.take();
                Git::read(lines, name::of_git(names).map_err(|fault| at(number, fault))?)?
            }
            None => Git::default(),
        };
        let sides = sides(lines)?;
        let executable = git.executable;
        let name = git.settle(sides).map_err(|fault| at(number, fault))?;
        Ok(Self { number, name, executable })
    }
}

fn at(number: usize, fault: NotationFault) -> NotationError {
    NotationError::new(number, fault)
}

/// `---` and `+++` when they are there; `None` within for `/dev/null`.
fn sides(lines: &mut Lines<'_>) -> Result<Option<[Side; 2]>, NotationError> {
    let Some((number, old)) = lines.peek() else { return Ok(None) };
    let Some(old) = old.strip_prefix(OLD) else { return Ok(None) };
    lines.take();
    let old = name::side(old).map_err(|fault| at(number, fault))?;
    let expected = || NotationError::expected(number + 1, "`+++ ` follows on `--- `");
    let (number, new) = lines.take().ok_or_else(expected)?;
    let new = new.strip_prefix(NEW).ok_or_else(expected)?;
    let new = name::side(new).map_err(|fault| at(number, fault))?;
    if !lines.peek().is_some_and(|(_, line)| line.starts_with("@@")) {
        let expected = "a hunk follows on `+++ `: `@@ -l,c +l,c @@`";
        return Err(NotationError::expected(number + 1, expected));
    }
    Ok(Some([old, new]))
}

impl Git {
    fn read(lines: &mut Lines<'_>, name: Option<String>) -> Result<Self, NotationError> {
        let mut git = Self { name, ..Self::default() };
        while let Some((number, line)) = lines.peek() {
            if line.trim().is_empty() || line.starts_with(OLD) || line.starts_with(GIT) {
                break;
            }
            git.line(line).map_err(|fault| at(number, fault))?;
            lines.take();
        }
        Ok(git)
    }

    fn line(&mut self, line: &str) -> Result<(), NotationFault> {
        let lone = |text: &str| name::lone(text).map(Some);
        match split(line) {
            ("old mode", mode) => executable(mode).map(|_| ())?,
            ("new mode", mode) => self.executable = Some(executable(mode)?),
            ("new file mode", mode) => {
                (self.new, self.executable) = (true, Some(executable(mode)?));
            }
            ("deleted file mode", mode) => {
                executable(mode)?;
                self.gone = true;
            }
            ("rename from", from) => self.from = lone(from)?,
            ("rename to", to) => self.to = lone(to)?,
            ("copy from" | "copy to", _) => return Err(NotationFault::Copy),
            ("similarity index" | "dissimilarity index", _) => {}
            ("index", digests) => {
                if let Some((_, mode)) = digests.split_once(' ') {
                    executable(mode)?;
                }
            }
            ("GIT binary patch" | "Binary files", _) => return Err(NotationFault::Binary),
            _ => {
                let expected = "this is no header line of git: `--- ` was expected, or the next file";
                return Err(NotationFault::Expected(expected));
            }
        }
        Ok(())
    }

    /// The name that all lines agree on.
    fn settle(self, sides: Option<[Side; 2]>) -> Result<Name, NotationFault> {
        let expected = |what| Err(NotationFault::Expected(what));
        let [old, new] = match (sides, &self.name) {
            (Some(sides), _) => sides,
            (None, _) if self.from.is_some() => [Side::Unsaid, Side::Unsaid],
            (None, Some(_)) => [Side::Unsaid, Side::Unsaid],
            (None, None) => return expected("two names without `rename from` and `rename to`"),
        };
        let is_new = self.new || old == Side::Nothing;
        let is_gone = self.gone || new == Side::Nothing;
        if is_new && is_gone {
            return expected("a file is new or deleted, not both");
        }
        match (self.from, self.to) {
            (Some(from), Some(to)) if !is_new && !is_gone => {
                if self.name.is_some_and(|name| name != from || name != to) {
                    return Err(NotationFault::Names { one: from, other: to });
                }
                old.must_be(&from, "a/")?;
                new.must_be(&to, "b/")?;
                Ok(Name::Moved { from, to })
            }
            (None, None) if is_new => {
                if matches!(old, Side::Named(_)) {
                    return expected("a new file has `--- /dev/null`");
                }
                new.one_name(self.name, "b/").map(Name::New)
            }
            (None, None) if is_gone => {
                if matches!(new, Side::Named(_)) {
                    return expected("a deleted file has `+++ /dev/null`");
                }
                old.one_name(self.name, "a/").map(Name::Gone)
            }
            (None, None) => name::kept(self.name, old, new).map(Name::Kept),
            _ => expected("`rename from` and `rename to` go together, on a file that stays"),
        }
    }
}

/// The words of a header line and what they are about.
fn split(line: &str) -> (&str, &str) {
    const WORDS: [&str; 13] = [
        "old mode",
        "new mode",
        "new file mode",
        "deleted file mode",
        "rename from",
        "rename to",
        "copy from",
        "copy to",
        "similarity index",
        "dissimilarity index",
        "index",
        "GIT binary patch",
        "Binary files",
    ];
    let found = WORDS.iter().find_map(|words| {
        let rest = line.strip_prefix(words)?;
        Some((*words, rest.strip_prefix(' ').or(rest.is_empty().then_some(rest))?))
    });
    found.unwrap_or(("", line))
}

/// Whether a file of this mode is executable.
fn executable(mode: &str) -> Result<bool, NotationFault> {
    match mode.trim_end() {
        "100644" => Ok(false),
        "100755" => Ok(true),
        "120000" => Err(NotationFault::SymbolicLink),
        "160000" => Err(NotationFault::Submodule),
        other => Err(NotationFault::Mode { mode: other.to_owned() }),
    }
}
