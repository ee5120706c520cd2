//! A path beneath the workspace root, normalised by its bytes alone.
//!
//! It never asks the file system anything and never holds `..`, an absolute path or a NUL: what a
//! [`RepoPath`] names lies beneath the root unless a link leads out, and links are the kernel's to judge.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The longest name of one component, in bytes (`NAME_MAX` of Linux file systems).
pub const MAX_COMPONENT_BYTES: usize = 255;

/// The longest path, in bytes (`PATH_MAX` of Linux, without its NUL).
pub const MAX_PATH_BYTES: usize = 4096;

/// A relative path beneath the workspace root, as raw bytes; the empty path is the root itself.
///
/// Components are separated by one `/`; there is no `.`, `..`, NUL, leading or trailing separator in it. It
/// orders by bytes (W6). [`fmt::Display`] and [`FromStr`] use a text form that round-trips: a byte that is
/// no UTF-8, a control character or an invisible formatting character is `\xHH`, a backslash is `\\`, and
/// the root is `.`.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoPath {
    bytes: Vec<u8>,
}

/// Why a text or byte string is no path beneath the root.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The text was empty: the root is written `.`.
    #[error("empty path: write `.` for the workspace root")]
    Empty,
    /// The path is absolute and does not lie beneath the root.
    #[error("`{path}` is absolute: give a path relative to the workspace root")]
    Absolute {
        /// The path as it was asked for.
        path: String,
    },
    /// The path has a `..` component, which is refused wherever it stands.
    #[error("`{path}` has a `..` component: give the path without it")]
    Parent {
        /// The path as it was asked for.
        path: String,
    },
    /// The path has a NUL byte.
    #[error("`{path}` has a NUL byte")]
    Nul {
        /// The path as it was asked for.
        path: String,
    },
    /// One component is longer than [`MAX_COMPONENT_BYTES`].
    #[error("a component of {bytes} bytes: names have at most {MAX_COMPONENT_BYTES} bytes")]
    ComponentTooLong {
        /// How long the component is.
        bytes: usize,
    },
    /// The whole is longer than [`MAX_PATH_BYTES`].
    #[error("a path of {bytes} bytes: paths have at most {MAX_PATH_BYTES} bytes")]
    TooLong {
        /// How long the path is.
        bytes: usize,
    },
    /// A backslash that starts neither `\\` nor `\xHH`.
    #[error("`{path}` has a lone backslash: write `\\\\` for a backslash, `/` between components")]
    BadEscape {
        /// The path as it was asked for.
        path: String,
    },
}

impl RepoPath {
    /// The workspace root.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// Normalises raw bytes: `.` components and repeated separators go.
    ///
    /// # Errors
    /// [`PathError`] when the bytes name nothing beneath the root.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PathError> {
        let shown = || escape(bytes);
        if bytes.is_empty() {
            return Err(PathError::Empty);
        }
        if bytes.len() > MAX_PATH_BYTES {
            return Err(PathError::TooLong { bytes: bytes.len() });
        }
        if bytes.contains(&0) {
            return Err(PathError::Nul { path: shown() });
        }
        if bytes.first() == Some(&b'/') {
            return Err(PathError::Absolute { path: shown() });
        }
        let mut normal = Vec::with_capacity(bytes.len());
        for component in bytes.split(|byte| *byte == b'/') {
            match component {
                b"" | b"." => continue,
                b".." => return Err(PathError::Parent { path: shown() }),
                name if name.len() > MAX_COMPONENT_BYTES => {
                    return Err(PathError::ComponentTooLong { bytes: name.len() });
                }
                name => push(&mut normal, name),
            }
        }
        Ok(Self { bytes: normal })
    }

    /// The raw bytes; empty for the root.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The path for calls that take one, relative to the root; empty for the root itself.
    #[must_use]
    pub fn to_path_buf(&self) -> PathBuf {
        PathBuf::from(OsString::from_vec(self.bytes.clone()))
    }

    /// Whether this is the workspace root.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The components from the root down; none for the root itself.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.bytes.split(|byte| *byte == b'/').filter(|component| !component.is_empty())
    }

    /// The last component; `None` for the root.
    #[must_use]
    pub fn name(&self) -> Option<&[u8]> {
        self.components().next_back()
    }

    /// The folder that this path lies in; `None` for the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let name = self.name()?;
        let end = self.bytes.len().saturating_sub(name.len() + 1);
        let bytes = self.bytes.get(..end)?.to_vec();
        Some(Self { bytes })
    }

    /// This path followed by another one.
    #[must_use]
    pub fn join(&self, below: &Self) -> Self {
        let mut bytes = self.bytes.clone();
        if !below.is_root() {
            push(&mut bytes, &below.bytes);
        }
        Self { bytes }
    }

    /// Whether this path is `folder` or lies beneath it, compared per component.
    #[must_use]
    pub fn is_within(&self, folder: &Self) -> bool {
        self.below(folder).is_some()
    }

    /// What is left of this path beneath `folder`.
    #[must_use]
    pub fn below(&self, folder: &Self) -> Option<Self> {
        if folder.is_root() {
            return Some(self.clone());
        }
        let rest = self.bytes.strip_prefix(folder.bytes.as_slice())?;
        match rest.split_first() {
            None => Some(Self::root()),
            Some((b'/', rest)) => Some(Self { bytes: rest.to_vec() }),
            Some(_) => None,
        }
    }

    /// One name from a directory beneath this path. The name is the kernel's, so it needs no check.
    pub(crate) fn child(&self, name: &[u8]) -> Self {
        let mut bytes = Vec::with_capacity(self.bytes.len() + name.len() + 1);
        bytes.extend_from_slice(&self.bytes);
        push(&mut bytes, name);
        Self { bytes }
    }

    /// What the kernel is given: the root is `.`.
    pub(crate) fn for_kernel(&self) -> &[u8] {
        if self.is_root() { b"." } else { &self.bytes }
    }
}

fn push(bytes: &mut Vec<u8>, name: &[u8]) {
    if !bytes.is_empty() {
        bytes.push(b'/');
    }
    bytes.extend_from_slice(name);
}

/// The text form of raw bytes, see [`RepoPath`].
pub(crate) fn escape(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\\' => text.push_str("\\\\"),
                hidden if is_hidden(hidden) => {
                    let mut utf8 = [0; 4];
                    escape_bytes(hidden.encode_utf8(&mut utf8).as_bytes(), &mut text);
                }
                shown => text.push(shown),
            }
        }
        escape_bytes(chunk.invalid(), &mut text);
    }
    text
}

fn escape_bytes(bytes: &[u8], text: &mut String) {
    for byte in bytes {
        text.push_str(&format!("\\x{byte:02X}"));
    }
}

/// Characters that would let one name look like another: controls, direction marks, zero-width ones.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{ad}' | '\u{61c}' | '\u{feff}')
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
}

/// Undoes [`escape`]; `None` when a backslash starts no known escape.
pub(crate) fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, tail)) = rest.split_first() {
        rest = tail;
        if *byte != b'\\' {
            bytes.push(*byte);
            continue;
        }
        match tail {
            [b'\\', tail @ ..] => {
                bytes.push(b'\\');
                rest = tail;
            }
            [b'x', high, low, tail @ ..] => {
                bytes.push(hex(*high)? << 4 | hex(*low)?);
                rest = tail;
            }
            _ => return None,
        }
    }
    Some(bytes)
}

fn hex(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}

impl FromStr for RepoPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        let bytes = unescape(text).ok_or_else(|| PathError::BadEscape { path: text.to_owned() })?;
        Self::from_bytes(&bytes)
    }
}

impl fmt::Display for RepoPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            formatter.write_str(".")
        } else {
            formatter.write_str(&escape(&self.bytes))
        }
    }
}

impl fmt::Debug for RepoPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "RepoPath(`{self}`)")
    }
}

impl Serialize for RepoPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RepoPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<String, PathError> {
        text.parse::<RepoPath>().map(|path| path.to_string())
    }

    #[test]
    fn p4_a_path_is_normalised_by_its_text() {
        for (given, normal) in [
            (".", "."),
            ("./", "."),
            ("a", "a"),
            ("./a//b/./c/", "a/b/c"),
            ("a b", "a b"),
            ("..a/b..", "..a/b.."),
            ("caf\\xE9", "caf\\xE9"),
            ("a\\\\b", "a\\\\b"),
            ("caf\\xC3\\xA9", "café"),
            ("x\\x0Ay", "x\\x0Ay"),
        ] {
            assert_eq!(parse(given).unwrap(), normal, "{given}");
        }
    }

    #[test]
    fn p8_what_could_leave_the_root_is_no_path() {
        assert_eq!(parse(""), Err(PathError::Empty));
        assert!(matches!(parse("/etc"), Err(PathError::Absolute { .. })));
        for given in ["..", "a/../b", "a/..", "\\x2E\\x2E/b", "a/.\\x2E"] {
            assert!(matches!(parse(given), Err(PathError::Parent { .. })), "{given}");
        }
        assert!(matches!(parse("a\\x00b"), Err(PathError::Nul { .. })));
        assert!(matches!(parse("a\\b"), Err(PathError::BadEscape { .. })));
        assert_eq!(parse(&"n".repeat(256)), Err(PathError::ComponentTooLong { bytes: 256 }));
        assert_eq!(parse(&"n/".repeat(2049)), Err(PathError::TooLong { bytes: 4098 }));
    }

    #[test]
    fn p8_being_within_a_folder_is_decided_per_component() {
        let path: RepoPath = "src/lib.rs".parse().unwrap();
        assert!(path.is_within(&"src".parse().unwrap()));
        assert!(path.is_within(&RepoPath::root()));
        assert!(!path.is_within(&"sr".parse().unwrap()));
        assert_eq!(path.parent().unwrap().to_string(), "src");
        assert_eq!(path.parent().unwrap().parent(), Some(RepoPath::root()));
        assert_eq!(RepoPath::root().parent(), None);
    }

    proptest! {
        #[test]
        fn v2_every_path_survives_its_text_form(bytes in proptest::collection::vec(any::<u8>(), 1..64)) {
            if let Ok(path) = RepoPath::from_bytes(&bytes) {
                let again: RepoPath = path.to_string().parse().unwrap();
                prop_assert_eq!(&again, &path);
                let json = serde_json::to_string(&path).unwrap();
                prop_assert_eq!(serde_json::from_str::<RepoPath>(&json).unwrap(), path);
            }
        }
    }
}
