//! What the bytes of a file are as text: encoding, line endings, lines.
//!
//! A guess is made once and named. It must never replace a byte that it does not understand: text that does
//! not survive the way back says so ([`Decoded::lossless`]).

use std::borrow::Cow;

use encoding_rs::{UTF_16BE, UTF_16LE, WINDOWS_1252};
use serde::{Deserialize, Serialize};

/// How text is encoded in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Encoding {
    /// UTF-8 without a byte-order mark; ASCII too.
    #[serde(rename = "utf-8")]
    Utf8,
    /// UTF-8 behind a byte-order mark.
    #[serde(rename = "utf-8-bom")]
    Utf8Bom,
    /// UTF-16, little end first, behind a byte-order mark.
    #[serde(rename = "utf-16le")]
    Utf16Le,
    /// UTF-16, big end first, behind a byte-order mark.
    #[serde(rename = "utf-16be")]
    Utf16Be,
    /// Bytes that are no UTF-8 and hold no binary controls, read as the usual single-byte western set.
    #[serde(rename = "windows-1252")]
    Windows1252,
}

impl Encoding {
    /// The name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf8Bom => "utf-8-bom",
            Self::Utf16Le => "utf-16le",
            Self::Utf16Be => "utf-16be",
            Self::Windows1252 => "windows-1252",
        }
    }

    /// The byte-order mark that files in this encoding start with here.
    pub(crate) fn mark(self) -> &'static [u8] {
        match self {
            Self::Utf8 | Self::Windows1252 => b"",
            Self::Utf8Bom => b"\xEF\xBB\xBF",
            Self::Utf16Le => b"\xFF\xFE",
            Self::Utf16Be => b"\xFE\xFF",
        }
    }

    /// The bytes of `text` in this encoding, without a mark; the first character that it cannot hold
    /// otherwise.
    pub(crate) fn encode(self, text: &str) -> Result<Vec<u8>, char> {
        match self {
            Self::Utf8 | Self::Utf8Bom => Ok(text.as_bytes().to_vec()),
            Self::Utf16Le => Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
            Self::Utf16Be => Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
            Self::Windows1252 => {
                let mut bytes = Vec::with_capacity(text.len());
                let mut utf8 = [0; 4];
                for character in text.chars() {
                    let (one, _, unmappable) =
                        WINDOWS_1252.encode(character.encode_utf8(&mut utf8));
                    if unmappable {
                        return Err(character);
                    }
                    bytes.extend_from_slice(&one);
                }
                Ok(bytes)
            }
        }
    }
}

impl std::fmt::Display for Encoding {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}

/// How the lines of a file end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineEnding {
    /// Every line ends with a line feed.
    Lf,
    /// Every line ends with carriage return and line feed.
    Crlf,
    /// Every line ends with a carriage return.
    Cr,
    /// More than one of these.
    Mixed,
    /// There is no line ending at all.
    None,
}

impl LineEnding {
    /// Says how the lines of `text` end.
    #[must_use]
    pub fn of(text: &[u8]) -> Self {
        let crlf = memchr::memmem::find_iter(text, b"\r\n").count();
        let lf = memchr::memchr_iter(b'\n', text).count() - crlf;
        let cr = memchr::memchr_iter(b'\r', text).count() - crlf;
        match (lf > 0, crlf > 0, cr > 0) {
            (false, false, false) => Self::None,
            (true, false, false) => Self::Lf,
            (false, true, false) => Self::Crlf,
            (false, false, true) => Self::Cr,
            _ => Self::Mixed,
        }
    }

    /// The bytes that end a line; `None` where there is no one answer.
    pub(crate) fn bytes(self) -> Option<&'static str> {
        match self {
            Self::Lf => Some("\n"),
            Self::Crlf => Some("\r\n"),
            Self::Cr => Some("\r"),
            Self::Mixed | Self::None => None,
        }
    }

    /// The byte that ends a line when lines are counted.
    pub(crate) fn last_byte(self) -> u8 {
        if self == Self::Cr { b'\r' } else { b'\n' }
    }
}

/// Text out of a file.
#[derive(Debug)]
pub(crate) struct Decoded<'a> {
    /// The text, without the byte-order mark.
    pub(crate) text: Cow<'a, str>,
    pub(crate) encoding: Encoding,
    /// Whether encoding the text again gives the same bytes.
    pub(crate) lossless: bool,
}

/// Decodes the bytes of a whole file; `None` when they are no text.
pub(crate) fn decode(bytes: &[u8]) -> Option<Decoded<'_>> {
    if has_utf32_mark(bytes) {
        return None;
    }
    if let Some(rest) = bytes.strip_prefix(Encoding::Utf16Le.mark()) {
        return decode_utf16(rest, Encoding::Utf16Le);
    }
    if let Some(rest) = bytes.strip_prefix(Encoding::Utf16Be.mark()) {
        return decode_utf16(rest, Encoding::Utf16Be);
    }
    if memchr::memchr(0, bytes).is_some() {
        return None;
    }
    let (rest, encoding) = match bytes.strip_prefix(Encoding::Utf8Bom.mark()) {
        Some(rest) => (rest, Encoding::Utf8Bom),
        None => (bytes, Encoding::Utf8),
    };
    if let Ok(text) = std::str::from_utf8(rest) {
        let text = Cow::Borrowed(text);
        return Some(Decoded { text, encoding, lossless: true });
    }
    if has_binary_controls(bytes) {
        return None;
    }
    let (text, _) = WINDOWS_1252.decode_without_bom_handling(bytes);
    Some(Decoded {
        text,
        encoding: Encoding::Windows1252,
        // Every byte is one character of this set and back again.
        lossless: true,
    })
}

/// The UTF-32 marks; nothing here decodes them, and the little one looks like UTF-16 at first.
pub(crate) fn has_utf32_mark(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xFF\xFE\0\0") || bytes.starts_with(b"\0\0\xFE\xFF")
}

fn decode_utf16(bytes: &[u8], encoding: Encoding) -> Option<Decoded<'_>> {
    let set = if encoding == Encoding::Utf16Le { UTF_16LE } else { UTF_16BE };
    let (text, broken) = set.decode_without_bom_handling(bytes);
    // A NUL is as little text here as in UTF-8.
    (!text.contains('\0')).then_some(Decoded { text, encoding, lossless: !broken })
}

/// Whether bytes that are no UTF-8 are no text of a single-byte set either.
pub(crate) fn has_binary_controls(bytes: &[u8]) -> bool {
    bytes.iter().any(|byte| is_binary_control(*byte))
}

/// Control bytes that no single-byte text holds. Tab, line feed, form feed, carriage return, backspace
/// and escape do occur.
fn is_binary_control(byte: u8) -> bool {
    matches!(byte, 0..=7 | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f)
}

/// The start of every line, and the end of the text behind them. A final line ending starts no line.
#[derive(Debug)]
pub(crate) struct Lines {
    starts: Vec<usize>,
    end: usize,
}

impl Lines {
    /// Finds the lines of `text`, which end as `ending` says.
    pub(crate) fn of(text: &[u8], ending: LineEnding) -> Self {
        let mut starts = Vec::new();
        if !text.is_empty() {
            starts.push(0);
        }
        let behind = memchr::memchr_iter(ending.last_byte(), text).map(|at| at + 1);
        starts.extend(behind.filter(|start| *start < text.len()));
        Self { starts, end: text.len() }
    }

    pub(crate) fn count(&self) -> usize {
        self.starts.len()
    }

    /// Where line `index`, counted from 0, starts; behind the last line the end of the text.
    pub(crate) fn start(&self, index: usize) -> usize {
        self.starts.get(index).copied().unwrap_or(self.end)
    }

    /// Which line, counted from 0, the byte at `offset` lies in.
    pub(crate) fn at(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset).saturating_sub(1)
    }
}

/// `text` cut before `bytes`, on a character boundary.
pub(crate) fn cut(text: &str, bytes: usize) -> &str {
    let end = floor(text, bytes);
    text.get(..end).unwrap_or(text)
}

/// How many bytes a text takes in a JSON string (RFC 8259, section 7), its quotes left out.
pub(crate) fn json_bytes(text: &str) -> usize {
    text.bytes().map(json_byte).sum()
}

/// The longest beginning of a text that takes at most `bytes` in a JSON string.
pub(crate) fn cut_json(text: &str, bytes: usize) -> &str {
    cut(text, fitting(text.bytes(), bytes))
}

/// Where the longest end of a text starts that takes at most `bytes` in a JSON string.
pub(crate) fn cut_json_back(text: &str, bytes: usize) -> usize {
    ceil(text, text.len().saturating_sub(fitting(text.bytes().rev(), bytes)))
}

/// How many of these bytes take at most `room` in a JSON string.
fn fitting(bytes: impl Iterator<Item = u8>, mut room: usize) -> usize {
    let fits = bytes.take_while(|byte| {
        let left = room.checked_sub(json_byte(*byte));
        room = left.unwrap_or(0);
        left.is_some()
    });
    fits.count()
}

/// What one byte of a text takes in a JSON string.
fn json_byte(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0C => 2,
        0..=0x1F => 6,
        _ => 1,
    }
}

/// The last character boundary at or before `offset`.
pub(crate) fn floor(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// The first character boundary at or behind `offset`.
pub(crate) fn ceil(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset += 1;
    }
    offset
}

/// Text for people out of any bytes: UTF-8, or else the western single-byte set.
pub(crate) fn shown(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => WINDOWS_1252.decode_without_bom_handling(bytes).0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w10_encodings_are_told_apart() {
        let name = |bytes: &[u8]| decode(bytes).map(|text| text.encoding.name());
        assert_eq!(name(b""), Some("utf-8"));
        assert_eq!(name("héllo".as_bytes()), Some("utf-8"));
        assert_eq!(name(b"\xEF\xBB\xBFx"), Some("utf-8-bom"));
        assert_eq!(name(b"\xFF\xFEx\0"), Some("utf-16le"));
        assert_eq!(name(b"\xFE\xFF\0x"), Some("utf-16be"));
        assert_eq!(name(b"caf\xE9\n"), Some("windows-1252"));
        assert_eq!(name(b"a\0b"), None);
        assert_eq!(name(b"\xFF\xFE\0\0x\0\0\0"), None);
        assert_eq!(name(b"\x89PNG\r\n\x1a\n\xFF"), None);
    }

    #[test]
    fn p7_what_was_decoded_encodes_back_to_the_same_bytes() {
        for bytes in [
            &b"caf\xE9 \x81\x8D\n"[..],
            b"\xFF\xFEx\0\n\0",
            b"\xFE\xFF\0x\xD8\x3D\xDE\x00",
            "\u{feff}a€".as_bytes(),
        ] {
            let decoded = decode(bytes).unwrap();
            let mut again = decoded.encoding.mark().to_vec();
            again.extend(decoded.encoding.encode(&decoded.text).unwrap());
            assert_eq!(again, bytes);
        }
        assert!(!decode(b"\xFF\xFE\x00\xD8").unwrap().lossless);
        assert_eq!(Encoding::Windows1252.encode("a€"), Ok(b"a\x80".to_vec()));
        assert_eq!(Encoding::Windows1252.encode("日"), Err('日'));
    }

    #[test]
    fn w10_line_endings_are_told_apart() {
        assert_eq!(LineEnding::of(b"a"), LineEnding::None);
        assert_eq!(LineEnding::of(b"a\nb\n"), LineEnding::Lf);
        assert_eq!(LineEnding::of(b"a\r\nb"), LineEnding::Crlf);
        assert_eq!(LineEnding::of(b"a\rb"), LineEnding::Cr);
        assert_eq!(LineEnding::of(b"a\r\nb\n"), LineEnding::Mixed);
    }

    #[test]
    fn w2_p011_a_final_line_ending_starts_no_line() {
        let count = |text: &[u8]| Lines::of(text, LineEnding::of(text)).count();
        assert_eq!(count(b""), 0);
        assert_eq!(count(b"a"), 1);
        assert_eq!(count(b"a\n"), 1);
        assert_eq!(count(b"a\n\n"), 2);
        assert_eq!(count(b"a\rb\r"), 2);
    }
}
