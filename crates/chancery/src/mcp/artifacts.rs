//! Artifacts as MCP resources: `chancery://artifact/sha256/HEX`, read in bounded pieces with `?start=BYTE`.
//!
//! An address is a digest; the door never turns it into anything else.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::ErrorData;
use rmcp::model::{ContentBlock, MetaObject, Resource, ResourceContents, ResourceTemplate};
use serde_json::{Map, json};
use wire::receipt::Artifact;
use wire::{Code, Digest, Error};

use super::message;

/// The greatest piece of an artifact that one read returns, bytes.
pub(super) const PIECE_BYTES: usize = 256 << 10;

const SCHEME: &str = "chancery://artifact/sha256/";

/// The one template that every artifact's address fits.
pub(super) fn template() -> ResourceTemplate {
    ResourceTemplate::new(format!("{SCHEME}{{hex}}{{?start}}"), "artifact")
        .with_title("Artifact of a call")
        .with_description(format!(
            "Content that a call's receipt names by digest, in pieces of up to {PIECE_BYTES} bytes; \
             `start` is the first byte of the piece"
        ))
}

/// The link to an artifact in a call's result.
pub(super) fn link(artifact: &Artifact) -> ContentBlock {
    ContentBlock::ResourceLink(
        Resource::new(format!("{SCHEME}{}", artifact.digest.hex()), artifact.name.clone())
            .with_mime_type(artifact.media_type.clone())
            .with_size(artifact.size_bytes),
    )
}

/// What an address asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asked {
    /// The artifact.
    pub(super) digest: Digest,
    /// The first byte.
    pub(super) start_byte: u64,
}

/// Reads an address.
///
/// # Errors
/// Invalid params, naming the form that is understood.
pub(super) fn asked(uri: &str) -> Result<Asked, ErrorData> {
    let parse = || {
        let rest = uri.strip_prefix(SCHEME)?;
        let (hex, start_byte) = match rest.split_once("?start=") {
            Some((hex, start)) if start.bytes().all(|b| b.is_ascii_digit()) => {
                (hex, start.parse().ok()?)
            }
            Some(_) => return None,
            None => (rest, 0),
        };
        let digest = Digest::try_from(format!("sha256:{hex}")).ok()?;
        Some(Asked { digest, start_byte })
    };
    parse().ok_or_else(|| {
        let message =
            format!("the address is not of the form `{SCHEME}HEX` with an optional `?start=BYTE`");
        let error = Error::new(Code::InvalidField, message).at("/params/uri");
        ErrorData::invalid_params(error.message.clone(), Some(message::data(&error)))
    })
}

/// One piece as it is returned. `found` may hold one byte more than a piece, which says that there is more.
pub(super) fn piece(uri: &str, asked: &Asked, mut found: Vec<u8>) -> ResourceContents {
    let more = found.len() > PIECE_BYTES;
    found.truncate(PIECE_BYTES);
    let mut meta = Map::new();
    meta.insert("chancery/start_byte".to_owned(), json!(asked.start_byte));
    let (contents, bytes) = match text_of(found, more) {
        Ok(text) => {
            let bytes = text.len();
            (ResourceContents::text(text, uri), bytes)
        }
        Err(found) => {
            let blob = ResourceContents::blob(STANDARD.encode(&found), uri);
            (blob.with_mime_type("application/octet-stream"), found.len())
        }
    };
    if more {
        let next = asked.start_byte.saturating_add(bytes as u64);
        let uri = format!("{SCHEME}{}?start={next}", asked.digest.hex());
        meta.insert("chancery/next".to_owned(), json!(uri));
    }
    contents.with_meta(MetaObject(meta))
}

/// The bytes as text, without a character that the end of the piece cuts in two.
fn text_of(bytes: Vec<u8>, cut: bool) -> Result<String, Vec<u8>> {
    String::from_utf8(bytes).or_else(|error| {
        let found = error.utf8_error();
        let mut bytes = error.into_bytes();
        if !cut || found.error_len().is_some() || found.valid_up_to() == 0 {
            return Err(bytes);
        }
        bytes.truncate(found.valid_up_to());
        String::from_utf8(bytes).map_err(std::string::FromUtf8Error::into_bytes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn read(found: Vec<u8>) -> Value {
        let digest = Digest::of_bytes(b"x");
        serde_json::to_value(piece("uri", &Asked { digest, start_byte: 10 }, found)).unwrap()
    }

    #[test]
    fn e7_an_address_is_a_digest_and_a_start_and_nothing_else() {
        let digest = Digest::of_bytes(b"x");
        let uri = format!("{SCHEME}{}", digest.hex());
        assert_eq!(asked(&uri).unwrap(), Asked { digest: digest.clone(), start_byte: 0 });
        assert_eq!(asked(&format!("{uri}?start=7")).unwrap(), Asked { digest, start_byte: 7 });
        for wrong in [
            "file:///etc/passwd",
            "chancery://artifact/sha256/../../x",
            &uri.to_uppercase(),
            &format!("{uri}?start=-1"),
            &format!("{uri}?start=+1"),
            &format!("{uri}?start="),
            &format!("{uri}?start=99999999999999999999999"),
            &format!("{uri}/x"),
        ] {
            assert!(asked(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn f7_a_piece_says_where_to_go_on() {
        let whole = read(b"text".to_vec());
        assert_eq!(
            (whole["text"].as_str(), &whole["_meta"]["chancery/next"]),
            (Some("text"), &Value::Null)
        );
        let part = read(vec![b'x'; PIECE_BYTES + 1]);
        assert_eq!(part["text"].as_str().unwrap().len(), PIECE_BYTES);
        let next = format!("?start={}", 10 + PIECE_BYTES);
        assert!(part["_meta"]["chancery/next"].as_str().unwrap().ends_with(&next));
    }

    #[test]
    fn f7_a_piece_never_cuts_a_character() {
        let mut found = vec![b'x'; PIECE_BYTES - 1];
        found.extend_from_slice("é".as_bytes());
        let part = read(found);
        assert_eq!(part["text"].as_str().unwrap().len(), PIECE_BYTES - 1);
        let next = format!("?start={}", 10 + PIECE_BYTES - 1);
        assert!(part["_meta"]["chancery/next"].as_str().unwrap().ends_with(&next));
    }

    #[test]
    fn w10_what_is_no_text_is_returned_as_bytes() {
        let part = read(vec![0xff, 0x00, 0x01]);
        assert_eq!(part["blob"], "/wAB");
        assert_eq!(part["mimeType"], "application/octet-stream");
    }
}
