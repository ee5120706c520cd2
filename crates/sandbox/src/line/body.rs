//! Writes request bodies for the helper: the other side of `protocol::Cursor`.
//! It must never let a NUL byte into a text, because the helper hands texts to the kernel as they are.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// A text contains a NUL byte, so no system call can take it.
#[derive(Debug)]
pub(crate) struct NulByte;

/// A body under construction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Body {
    bytes: Vec<u8>,
}

impl Body {
    pub(crate) fn u32(&mut self, word: u32) -> &mut Self {
        self.bytes.extend_from_slice(&word.to_ne_bytes());
        self
    }

    pub(crate) fn u64(&mut self, word: u64) -> &mut Self {
        self.bytes.extend_from_slice(&word.to_ne_bytes());
        self
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.length(bytes.len());
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// A text, with its final NUL.
    pub(crate) fn text(&mut self, text: impl AsRef<OsStr>) -> Result<&mut Self, NulByte> {
        let text = text.as_ref().as_bytes();
        if text.contains(&0) {
            return Err(NulByte);
        }
        self.length(text.len() + 1);
        self.bytes.extend_from_slice(text);
        self.bytes.push(0);
        Ok(self)
    }

    /// A count, then that many texts.
    pub(crate) fn texts<T: AsRef<OsStr>>(&mut self, texts: &[T]) -> Result<&mut Self, NulByte> {
        self.length(texts.len());
        for text in texts {
            self.text(text)?;
        }
        Ok(self)
    }

    pub(crate) fn append(&mut self, other: &Self) -> &mut Self {
        self.bytes.extend_from_slice(&other.bytes);
        self
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn length(&mut self, length: usize) {
        // What does not fit a word is far over `MAX_BODY_BYTES`, which the sender checks.
        self.u32(u32::try_from(length).unwrap_or(u32::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Cursor, Header, RECORD_BYTES, Record};

    #[test]
    fn what_is_written_is_what_is_read() {
        let mut body = Body::default();
        body.u32(7).u64(1 << 40).raw(b"\0x");
        body.texts(&["a", ""]).unwrap();
        let mut cursor = Cursor::new(body.bytes());
        assert_eq!((cursor.u32(), cursor.u64()), (Some(7), Some(1 << 40)));
        assert_eq!(cursor.bytes(), Some(b"\0x".as_slice()));
        assert_eq!(cursor.u32(), Some(2));
        assert_eq!((cursor.text(), cursor.text()), (Some(c"a"), Some(c"")));
        assert_eq!((cursor.u32(), cursor.text()), (None, None));
    }

    #[test]
    fn nul_bytes_are_refused_in_texts_on_both_sides() {
        assert!(Body::default().text("a\0b").is_err());
        let mut body = Body::default();
        body.raw(b"a\0b\0").raw(b"no end");
        let mut cursor = Cursor::new(body.bytes());
        assert_eq!((cursor.text(), cursor.text()), (None, None));
    }

    #[test]
    fn fixed_parts_survive_the_way() {
        let header = Header { role: 3, body_bytes: 9 };
        assert_eq!(Header::decode(&header.encode()), Some(header));
        assert_eq!(Header::decode(&[0; Header::BYTES]), None);
        let record =
            Record { kind: 5, status: 256, stopped: 1, max_rss_bytes: 4096, ..Record::default() };
        assert_eq!(record.encode().len(), RECORD_BYTES);
        assert_eq!(Record::decode(&record.encode()), Some(record));
        assert_eq!(Record::decode(&[0; RECORD_BYTES - 40]), None);
    }
}
