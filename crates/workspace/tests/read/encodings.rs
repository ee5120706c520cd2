//! What comes with a text so that an edit can keep it, and what is no text.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use workspace::{Encoding, Guard, LineEnding, Range, ReadError, ReadOutcome, ReadRequest};

use crate::fixture::{Tree, path};
use crate::{page, read, text};

#[test]
fn w10_p012_utf_16_behind_a_mark_is_text() {
    let tree = Tree::new();
    let units = "needle\r\n".encode_utf16();
    let mut bytes = b"\xFF\xFE".to_vec();
    bytes.extend(units.flat_map(u16::to_le_bytes));
    tree.file("u16.txt", &bytes);
    let page = page(&tree.workspace, "u16.txt", Range::All);
    assert_eq!((page.text.as_str(), page.encoding), ("needle\r\n", Encoding::Utf16Le));
    assert_eq!((page.line_ending, page.final_newline), (LineEnding::Crlf, true));
    assert_eq!((page.text_bytes, page.total_bytes), (8, 18));
    assert!(page.lossless);
}

#[test]
fn w10_p008_a_character_on_any_border_is_no_binary() {
    let tree = Tree::new();
    for (name, head, character) in
        [("0", "", "中"), ("1", "a", "中"), ("2", "ab", "中"), ("4", "a", "🙂")]
    {
        let all = format!("{head}{}", character.repeat((64 << 10) / character.len()));
        tree.file(name, &all);
        let page = text(read(&tree.workspace, name).unwrap());
        assert_eq!((page.encoding, page.text_bytes), (Encoding::Utf8, all.len() as u64), "{name}");
    }
}

#[test]
fn w10_encoding_ending_and_final_newline_are_those_of_the_file() {
    let tree = Tree::new();
    let cases: [(&[u8], Encoding, LineEnding, bool, &str); 5] = [
        (b"a\r\nb\r\n", Encoding::Utf8, LineEnding::Crlf, true, "a\r\nb\r\n"),
        (b"a\nb", Encoding::Utf8, LineEnding::Lf, false, "a\nb"),
        (b"\xEF\xBB\xBFa\n", Encoding::Utf8Bom, LineEnding::Lf, true, "a\n"),
        (b"caf\xE9\n", Encoding::Windows1252, LineEnding::Lf, true, "café\n"),
        (b"a\r\nb\n", Encoding::Utf8, LineEnding::Mixed, true, "a\r\nb\n"),
    ];
    for (at, (bytes, encoding, line_ending, final_newline, shown)) in cases.into_iter().enumerate()
    {
        let name = at.to_string();
        tree.file(&name, bytes);
        let page = text(read(&tree.workspace, &name).unwrap());
        assert_eq!(page.text, shown);
        assert_eq!(
            (page.encoding, page.line_ending, page.final_newline),
            (encoding, line_ending, final_newline),
            "{shown:?}"
        );
        assert_eq!(page.total_bytes, bytes.len() as u64);
    }
}

#[test]
fn w10_the_digest_is_over_the_whole_file_whatever_the_range() {
    let tree = Tree::new();
    tree.file("a", "abc");
    let part = page(&tree.workspace, "a", Range::Bytes { start: 1, count: Some(1) });
    assert_eq!(part.text, "b");
    assert_eq!(part.digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

#[test]
fn w10_the_executable_bit_and_further_names_are_told() {
    let tree = Tree::new();
    tree.file("run", "#!/bin/sh\n");
    fs::set_permissions(tree.at("run"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::hard_link(tree.at("run"), tree.at("again")).unwrap();
    let page = text(read(&tree.workspace, "run").unwrap());
    assert!(page.executable);
    assert_eq!(page.links, 2);
}

#[test]
fn w10_a_binary_file_is_described() {
    let tree = Tree::new();
    tree.file("i.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    match read(&tree.workspace, "i.png").unwrap() {
        ReadOutcome::Binary(file) => {
            assert_eq!((file.size_bytes, file.media_type.as_str()), (16, "image/png"));
            assert_eq!(file.digest.len(), 64);
            assert!(!file.executable);
        }
        other => panic!("{other:?}"),
    }
    let range = Range::Lines { start: 1, count: None };
    let request = ReadRequest { range, ..ReadRequest::new(path("i.png")) };
    let fault = tree.workspace.read(&request, &Guard::open()).unwrap_err();
    assert!(matches!(fault, ReadError::WrongRange { unit: "lines", .. }), "{fault}");
}
