//! Whatever the bounds are, following the continuations gives the whole.

use proptest::prelude::*;
use workspace::{Guard, Range, ReadRequest};

use crate::fixture::{Tree, path};
use crate::text;

/// Follows the continuations of a range to their end.
fn follow(tree: &Tree, mut request: ReadRequest) -> String {
    let mut whole = String::new();
    let mut from = None;
    loop {
        let page = text(tree.workspace.read(&request, &Guard::open()).unwrap());
        assert_eq!(page.start_byte, from.unwrap_or(page.start_byte), "a gap");
        assert_eq!(page.end_byte - page.start_byte, page.text.len() as u64);
        whole.push_str(&page.text);
        from = Some(page.end_byte);
        assert_eq!(page.truncation.is_some(), page.continuation.is_some());
        let Some(range) = page.continuation else {
            return whole;
        };
        assert!(!page.text.is_empty(), "no progress");
        request.range = range;
    }
}

fn any_text() -> impl Strategy<Value = String> {
    let piece =
        prop_oneof!["[a-z]{0,9}", "[é日🙂]{0,5}", Just("\n".to_owned()), Just("\r\n".to_owned())];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn w2_continuations_reassemble_the_whole_file(
        all in any_text(),
        max_bytes in 1_u64..40,
        max_lines in 1_u64..6,
        max_line_bytes in 1_u64..20,
        utf16 in any::<bool>(),
    ) {
        let tree = Tree::new();
        if utf16 {
            let units = std::iter::once(0xFEFF).chain(all.encode_utf16());
            tree.file("f", units.flat_map(u16::to_le_bytes).collect::<Vec<u8>>());
        } else {
            tree.file("f", &all);
        }
        let request = ReadRequest { max_bytes, max_lines, max_line_bytes, ..ReadRequest::new(path("f")) };
        let bytes = ReadRequest { range: Range::Bytes { start: 0, count: None }, ..request.clone() };
        prop_assert_eq!(follow(&tree, request), all.clone());
        prop_assert_eq!(follow(&tree, bytes), all);
    }

    #[test]
    fn w2_continuations_reassemble_a_range_and_no_more(
        all in any_text().prop_filter("lines", |text| text.contains('\n')),
        first in 0_usize..8,
        count in 1_usize..6,
        max_bytes in 1_u64..40,
        max_line_bytes in 1_u64..20,
    ) {
        let tree = Tree::new();
        tree.file("f", &all);
        let lines: Vec<&str> = all.split_inclusive('\n').collect();
        let first = first.min(lines.len() - 1);
        let wanted: String = lines.iter().skip(first).take(count).copied().collect();
        let range = Range::Lines { start: first as u64 + 1, count: Some(count as u64) };
        let request = ReadRequest { range, max_bytes, max_line_bytes, ..ReadRequest::new(path("f")) };
        prop_assert_eq!(follow(&tree, request), wanted);
    }
}
