//! Content digests and the canonical form that they are taken over.
//!
//! Canonical JSON is RFC 8785; the hash is SHA-256. Nothing here compares secrets.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::Digest as _;

/// A SHA-256 digest, written `sha256:` and 64 lower-case hexadecimal digits.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

/// A text that is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a digest: `sha256:` and 64 lower-case hexadecimal digits")]
pub struct InvalidDigest(String);

/// A value that canonical JSON cannot write, such as a number that is not finite.
#[derive(Debug, thiserror::Error)]
#[error("the value has no canonical JSON form: {0}")]
pub struct NotCanonical(#[from] serde_json::Error);

const PREFIX: &str = "sha256:";

impl Digest {
    /// The digest of these bytes.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Digest {
        Digest::from_hash(sha2::Sha256::digest(bytes).as_slice())
    }

    /// The digest of a value's canonical JSON (RFC 8785).
    ///
    /// # Errors
    /// [`NotCanonical`] if the value cannot be written as JSON.
    pub fn of_json<T: Serialize>(value: &T) -> Result<Digest, NotCanonical> {
        Ok(Digest::of_bytes(&canonical(value)?))
    }

    /// From the 32 raw bytes of a finished SHA-256.
    #[must_use]
    pub fn from_hash(hash: &[u8]) -> Digest {
        let mut text = String::with_capacity(PREFIX.len() + hash.len() * 2);
        text.push_str(PREFIX);
        for byte in hash {
            for nibble in [byte >> 4, byte & 0x0f] {
                text.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
            }
        }
        Digest(text)
    }

    /// The text form, `sha256:…`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The 64 hexadecimal digits without the prefix.
    #[must_use]
    pub fn hex(&self) -> &str {
        self.0.strip_prefix(PREFIX).unwrap_or(&self.0)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Digest {
    type Error = InvalidDigest;

    fn try_from(text: String) -> Result<Digest, InvalidDigest> {
        let valid = text.strip_prefix(PREFIX).is_some_and(|hex| {
            hex.len() == 64 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        });
        if valid { Ok(Digest(text)) } else { Err(InvalidDigest(text.chars().take(80).collect())) }
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        digest.0
    }
}

/// The canonical JSON bytes of a value (RFC 8785).
///
/// # Errors
/// [`NotCanonical`] if the value cannot be written as JSON.
pub fn canonical<T: Serialize>(value: &T) -> Result<Vec<u8>, NotCanonical> {
    Ok(serde_json_canonicalizer::to_vec(value)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn member_order_does_not_change_a_digest() {
        let one: serde_json::Value = serde_json::from_str(r#"{"a":1,"b":[true,null]}"#).unwrap();
        let two: serde_json::Value = serde_json::from_str(r#"{"b":[true,null],"a":1}"#).unwrap();
        assert_eq!(Digest::of_json(&one).unwrap(), Digest::of_json(&two).unwrap());
    }

    #[test]
    fn a_digest_has_one_spelling() {
        let digest = Digest::of_bytes(b"");
        assert_eq!(
            digest.as_str(),
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert!(Digest::try_from(digest.as_str().to_uppercase()).is_err());
        assert!(Digest::try_from(digest.hex().to_owned()).is_err());
    }
}
