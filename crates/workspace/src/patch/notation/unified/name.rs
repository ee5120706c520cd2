//! Paths as diffs write them: `a/` and `b/` before them, a time behind them, C escapes within.
//!
//! A name that comes out is in the text form of [`crate::RepoPath`], not yet judged.

use crate::patch::notation::NotationFault;
use crate::path;

/// What `---` or `+++` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// There is no such line.
    Unsaid,
    /// `/dev/null`.
    Nothing,
    /// A name, with whatever stands before it.
    Named(String),
}

/// Reads what stands behind `--- ` or `+++ `.
pub(super) fn side(text: &str) -> Result<Side, NotationFault> {
    // Behind a tab stands a time, or nothing where git marks the end of a name with spaces.
    let plain = text.split('\t').next().unwrap_or(text);
    match plain.trim_end() {
        "/dev/null" => Ok(Side::Nothing),
        "" => Err(NotationFault::Expected("a path is missing")),
        _ => lone(if text.starts_with('"') { text } else { plain }).map(Side::Named),
    }
}

/// Reads a name that stands alone to the end of its line.
pub(super) fn lone(text: &str) -> Result<String, NotationFault> {
    let text = text.strip_suffix('\r').unwrap_or(text);
    if !text.starts_with('"') {
        return Ok(text.to_owned());
    }
    match quoted(text)? {
        (name, rest) if rest.is_empty() || rest.starts_with('\t') => Ok(name),
        _ => Err(NotationFault::Quoting { quoted: text.to_owned() }),
    }
}

/// The one name that `diff --git` gives twice; `None` when the two are not the same.
pub(super) fn of_git(names: &str) -> Result<Option<String>, NotationFault> {
    let (old, new) = if names.starts_with('"') {
        let (old, rest) = quoted(names)?;
        let Some(rest) = rest.strip_prefix(' ') else {
            return Err(NotationFault::Quoting { quoted: names.to_owned() });
        };
        (old, lone(rest)?)
    } else {
        // A space may belong to the name, but the middle one does not when the halves are the same.
        let middle = names.len() / 2;
        match (names.get(..middle), names.get(middle..).and_then(|rest| rest.strip_prefix(' '))) {
            (Some(old), Some(new)) => (old.to_owned(), new.to_owned()),
            _ => return Ok(None),
        }
    };
    Ok(same(&old, &new).map(str::to_owned))
}

/// The one name of a file that stays where it is.
pub(super) fn kept(git: Option<String>, old: Side, new: Side) -> Result<String, NotationFault> {
    let disagree = |one: &str, other: &str| {
        Err(NotationFault::Names { one: one.to_owned(), other: other.to_owned() })
    };
    match (git, old, new) {
        (Some(git), Side::Unsaid, Side::Unsaid) => Ok(git),
        (git, Side::Named(old), Side::Named(new)) => match (same(&old, &new), git) {
            (None, _) => disagree(&old, &new),
            (Some(name), Some(git)) if git != name => disagree(&git, name),
            (Some(name), _) => Ok(name.to_owned()),
        },
        _ => Err(NotationFault::Expected("a file has `--- ` and `+++ `")),
    }
}

/// The name that two sides mean: the same with `a/` and `b/` before it, or without.
fn same<'a>(old: &'a str, new: &str) -> Option<&'a str> {
    match (old.strip_prefix("a/"), new.strip_prefix("b/")) {
        (Some(old), Some(new)) => (old == new).then_some(old),
        _ => (old == new).then_some(old),
    }
}

impl Side {
    /// Refuses a side that names another file than `name`, with or without its prefix.
    pub(super) fn must_be(&self, name: &str, prefix: &str) -> Result<(), NotationFault> {
        match self {
            Self::Named(said) if said != name && said.strip_prefix(prefix) != Some(name) => {
                Err(NotationFault::Names { one: name.to_owned(), other: said.clone() })
            }
            _ => Ok(()),
        }
    }

    /// The name of a file that only this side has; `git` is what `diff --git` says.
    pub(super) fn one_name(
        self,
        git: Option<String>,
        prefix: &str,
    ) -> Result<String, NotationFault> {
        match (self, git) {
            (side, Some(git)) => side.must_be(&git, prefix).map(|()| git),
            (Self::Named(said), None) => {
                Ok(said.strip_prefix(prefix).map(str::to_owned).unwrap_or(said))
            }
            (Self::Unsaid | Self::Nothing, None) => {
                Err(NotationFault::Expected("the file has no name"))
            }
        }
    }
}

/// Reads a name in quotes with C escapes, which git writes for names that need them; what stands behind it.
fn quoted(text: &str) -> Result<(String, &str), NotationFault> {
    let broken = || NotationFault::Quoting { quoted: text.to_owned() };
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes().get(1..).unwrap_or_default();
    loop {
        let (byte, behind) = match rest {
            [b'"', behind @ ..] => {
                let behind = text.get(text.len() - behind.len()..).unwrap_or_default();
                return Ok((path::escape(&bytes), behind));
            }
            [b'\\', high @ b'0'..=b'3', mid @ b'0'..=b'7', low @ b'0'..=b'7', behind @ ..] => {
                ((high - b'0') << 6 | (mid - b'0') << 3 | (low - b'0'), behind)
            }
            [b'\\', letter, behind @ ..] => (escaped(*letter).ok_or_else(broken)?, behind),
            [b'\\'] | [] => return Err(broken()),
            [byte, behind @ ..] => (*byte, behind),
        };
        bytes.push(byte);
        rest = behind;
    }
}

fn escaped(letter: u8) -> Option<u8> {
    Some(match letter {
        b'a' => 7,
        b'b' => 8,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 11,
        b'f' => 12,
        b'r' => b'\r',
        b'"' | b'\\' => letter,
        _ => return None,
    })
}
