//! What a file that is no text looks like, from its first bytes alone.
//!
//! A hint for people. It must never decide whether something is text or may be read.

/// Signatures at the start of a file, and what they say.
const SIGNATURES: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xFF\xD8\xFF", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"\0\0\x01\0", "image/x-icon"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\x1F\x8B", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xFD7zXZ\0", "application/x-xz"),
    (b"\x28\xB5\x2F\xFD", "application/zstd"),
    (b"7z\xBC\xAF\x27\x1C", "application/x-7z-compressed"),
    (b"\x7FELF", "application/x-elf"),
    (b"\0asm", "application/wasm"),
    (b"\xCA\xFE\xBA\xBE", "application/java-vm"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"),
    (b"OggS", "application/ogg"),
    (b"fLaC", "audio/flac"),
    (b"ID3", "audio/mpeg"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"\0\x01\0\0\0", "font/ttf"),
    (b"OTTO", "font/otf"),
    (b"!<arch>\n", "application/x-archive"),
];

/// The media type that the first bytes suggest.
pub(super) fn of(bytes: &[u8]) -> &'static str {
    if bytes.starts_with(b"RIFF") {
        return match bytes.get(8..12) {
            Some(b"WEBP") => "image/webp",
            Some(b"WAVE") => "audio/wav",
            _ => "application/octet-stream",
        };
    }
    if bytes.get(4..8) == Some(b"ftyp") {
        return "video/mp4";
    }
    if bytes.get(257..262) == Some(b"ustar") {
        return "application/x-tar";
    }
    SIGNATURES
        .iter()
        .find(|(signature, _)| bytes.starts_with(signature))
        .map_or("application/octet-stream", |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn w10_a_binary_file_is_named_by_its_signature() {
        assert_eq!(of(b"\x89PNG\r\n\x1a\n...."), "image/png");
        assert_eq!(of(b"RIFF\x01\0\0\0WEBP"), "image/webp");
        assert_eq!(of(b"\x7FELF\x02"), "application/x-elf");
        assert_eq!(of(b"\0\0\0"), "application/octet-stream");
        assert_eq!(of(b""), "application/octet-stream");
    }
}
