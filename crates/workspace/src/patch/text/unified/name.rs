//! The names that the headers of a unified diff hold.
//!
//! A name in double quotes is read as `git` quotes it; any other is read as every path of a request is.

use crate::patch::text::error::DiffCause;
use crate::path::{self, RepoPath};

/// The name that stands for no file.
const NOTHING: &str = "/dev/null";

/// A name as its bytes, with what stands there for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) shown: String,
    bytes: Vec<u8>,
}

impl Name {
    /// Reads the name that a header consists of; a tab and a time may follow.
    pub(super) fn read(text: &str) -> Result<Self, DiffCause> {
        if text.starts_with('"') {
            let quoting = || DiffCause::Quoting { text: text.to_owned() };
            let (bytes, rest) = unquote(text).ok_or_else(quoting)?;
            let is_end = rest.is_empty() || rest.starts_with('\t');
            return is_end.then(|| Self { shown: text.to_owned(), bytes }).ok_or_else(quoting);
        }
        let text = text.split_once('\t').map_or(text, |(name, _)| name);
        let escape = || path::PathError::BadEscape { path: text.to_owned() };
        let bytes = path::unescape(text).ok_or_else(escape)?;
        Ok(Self { shown: text.to_owned(), bytes })
    }

    /// Reads the two names behind `diff --git `, where they can be told apart: both in quotes, or the same but for
    /// `a/` and `b/`.
    pub(super) fn read_pair(text: &str) -> Option<(Self, Self)> {
        if text.starts_with('"') {
            let (first, rest) = unquote(text)?;
            let (second, rest) = unquote(rest.strip_prefix(' ')?)?;
            let name = |bytes| Self { shown: text.to_owned(), bytes };
            return rest.is_empty().then(|| (name(first), name(second)));
        }
        // Two halves of the same length, with one space between.
        let middle = text.len().checked_sub(1)? / 2;
        let (old, rest) = text.split_at_checked(middle)?;
        let new = rest.strip_prefix(' ')?;
        let is_pair = old == new
            || old.strip_prefix("a/").is_some_and(|name| new.strip_prefix("b/") == Some(name));
        is_pair.then(|| Some((Self::read(old).ok()?, Self::read(new).ok()?))).flatten()
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.shown == NOTHING
    }

    /// The name without the letter that `git` puts before it.
    pub(super) fn without(&self, prefix: &str) -> Option<Self> {
        let bytes = self.bytes.strip_prefix(prefix.as_bytes())?.to_vec();
        Some(Self { shown: self.shown.clone(), bytes })
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }

    pub(super) fn path(&self) -> Result<RepoPath, DiffCause> {
        Ok(RepoPath::from_bytes(&self.bytes)?)
    }
}

/// The bytes between double quotes at the start of `text`, and what follows.
fn unquote(text: &str) -> Option<(Vec<u8>, &str)> {
    let mut rest = text.strip_prefix('"')?;
    let mut bytes = Vec::new();
    loop {
        let end = rest.find(['"', '\\'])?;
        let (plain, behind) = rest.split_at_checked(end)?;
        bytes.extend_from_slice(plain.as_bytes());
        let Some(escape) = behind.strip_prefix('\\') else {
            return Some((bytes, behind.strip_prefix('"')?));
        };
        let (byte, length) = unescape(escape.as_bytes())?;
        bytes.push(byte);
        rest = escape.get(length..)?;
    }
}

/// The byte that an escape stands for, and how long it is without its backslash.
fn unescape(text: &[u8]) -> Option<(u8, usize)> {
    let byte = match text {
        [high @ b'0'..=b'3', middle @ b'0'..=b'7', low @ b'0'..=b'7', ..] => {
            return Some((((high - b'0') << 6) | ((middle - b'0') << 3) | (low - b'0'), 3));
        }
        [b'a', ..] => 7,
        [b'b', ..] => 8,
        [b't', ..] => b'\t',
        [b'n', ..] => b'\n',
        [b'v', ..] => 11,
        [b'f', ..] => 12,
        [b'r', ..] => b'\r',
        [same @ (b'"' | b'\\'), ..] => *same,
        _ => return None,
    };
    Some((byte, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p1_a_quoted_name_is_read_as_git_writes_it() {
        let path = |text: &str| Name::read(text).ok()?.path().ok().map(|path| path.to_string());
        assert_eq!(path("\"caf\\303\\251\""), Some("café".to_owned()));
        assert_eq!(path("\"a\\tb\\\"c\\\\d\""), Some("a\\x09b\"c\\\\d".to_owned()));
        assert_eq!(path("\"latin\\351\""), Some("latin\\xE9".to_owned()));
        assert_eq!(path("with space\t2026-01-01"), Some("with space".to_owned()));
        for broken in ["\"a", "\"a\\q\"", "\"a\\9\"", "\"a\\400\"", "\"a\" b", "a\\q", "/a", "../a"]
        {
            assert_eq!(path(broken), None, "{broken}");
        }
    }

    #[test]
    fn p1_two_names_on_one_line_are_told_apart_or_not_at_all() {
        let same = |text: &str| Name::read_pair(text).map(|(old, _)| old.shown);
        assert_eq!(same("a/x b/x"), Some("a/x".to_owned()));
        assert_eq!(same("a/x b/x b/x b/x"), Some("a/x b/x".to_owned()));
        assert_eq!(same("x x"), Some("x".to_owned()));
        assert_eq!(same("a/x b/y"), None);
        assert_eq!(same("a/é b/é"), Some("a/é".to_owned()));
        assert_eq!(same(""), None);
    }
}
