//! A bounded preview of a stream of any length: its first and its last bytes, and exactly what lies between.
//! It must never hold more than its two bounds, nor claim a range that it did not count (X6).

use super::drain::Sink;
use std::collections::VecDeque;
use std::io;

/// Keeps the first and the last bytes of what passes through it.
#[derive(Clone, Debug)]
pub struct HeadTail {
    head_bound: usize,
    tail_bound: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    passed_bytes: u64,
    passed_lines: u64,
}

/// What a [`HeadTail`] shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// The beginning; the whole stream when nothing was dropped. Bytes that are no UTF-8 show as U+FFFD.
    pub head: String,
    /// The end; empty when nothing was dropped.
    pub tail: String,
    /// Bytes of the stream that `head` stands for.
    pub head_bytes: u64,
    /// Bytes between the two that are not shown.
    pub dropped_bytes: u64,
    /// Line ends among them.
    pub dropped_lines: u64,
    /// Bytes of the stream that `tail` stands for.
    pub tail_bytes: u64,
}

impl HeadTail {
    /// Keeps at most `head_bytes` of the beginning and `tail_bytes` of the end.
    #[must_use]
    pub fn new(head_bytes: usize, tail_bytes: usize) -> Self {
        Self {
            head_bound: head_bytes,
            tail_bound: tail_bytes,
            head: Vec::new(),
            tail: VecDeque::new(),
            passed_bytes: 0,
            passed_lines: 0,
        }
    }

    /// Keeps no more than so much from here on; what it held beyond that counts as dropped.
    pub fn shrink(&mut self, head_bytes: usize, tail_bytes: usize) {
        self.head_bound = self.head_bound.min(head_bytes);
        self.tail_bound = self.tail_bound.min(tail_bytes);
        let kept = std::mem::take(&mut self.head);
        let (head, rest) = kept.split_at_checked(self.head_bound).unwrap_or((&kept, &[]));
        self.head = head.to_vec();
        if self.passed_bytes == 0 {
            // Nothing lies between the two yet, so what the head loses is the tail's.
            for byte in rest.iter().rev() {
                self.tail.push_front(*byte);
            }
        } else {
            self.passed_bytes += rest.len() as u64;
            self.passed_lines += count_lines(rest);
        }
        let over = self.tail.len().saturating_sub(self.tail_bound);
        let lines = self.tail.drain(..over).filter(|byte| *byte == b'\n').count();
        self.passed_lines += lines as u64;
        self.passed_bytes += over as u64;
    }

    /// Bytes that passed through.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.head.len() as u64 + self.passed_bytes + self.tail.len() as u64
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        let room = self.head_bound.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        self.head.extend_from_slice(first);
        let (passing, last) = rest
            .split_at_checked(rest.len().saturating_sub(self.tail_bound))
            .unwrap_or((&[], rest));
        let over = (self.tail.len() + rest.len()).saturating_sub(self.tail_bound);
        let evicted = over.min(self.tail.len());
        let (old, old_wrapped) = self.tail.as_slices();
        let from_front = old.get(..evicted).unwrap_or(old);
        let from_wrap = old_wrapped.get(..evicted - from_front.len()).unwrap_or_default();
        let lines = count_lines(from_front) + count_lines(from_wrap) + count_lines(passing);
        self.passed_lines += lines;
        self.passed_bytes += (evicted + passing.len()) as u64;
        self.tail.drain(..evicted);
        self.tail.extend(last);
    }

    /// The preview so far, cut at character boundaries.
    #[must_use]
    pub fn text(&self) -> Preview {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if self.passed_bytes == 0 {
            let whole = [self.head.as_slice(), &tail].concat();
            return Preview {
                head: String::from_utf8_lossy(&whole).into_owned(),
                tail: String::new(),
                head_bytes: whole.len() as u64,
                dropped_bytes: 0,
                dropped_lines: 0,
                tail_bytes: 0,
            };
        }
        let head_length = complete_characters(&self.head);
        let (head, cut) = self.head.split_at_checked(head_length).unwrap_or((&self.head, &[]));
        let skipped = tail.iter().take(3).take_while(|byte| is_continuation(**byte)).count();
        let shown = tail.get(skipped..).unwrap_or_default();
        Preview {
            head: String::from_utf8_lossy(head).into_owned(),
            tail: String::from_utf8_lossy(shown).into_owned(),
            head_bytes: head.len() as u64,
            dropped_bytes: self.passed_bytes + (cut.len() + skipped) as u64,
            dropped_lines: self.passed_lines,
            tail_bytes: shown.len() as u64,
        }
    }
}

impl Sink for HeadTail {
    fn chunk(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.push(bytes);
        Ok(())
    }
}

fn count_lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// Length of `bytes` without a character that is cut off at its end.
fn complete_characters(bytes: &[u8]) -> usize {
    for back in 1..=3.min(bytes.len()) {
        let at = bytes.len() - back;
        let Some(byte) = bytes.get(at).copied() else {
            break;
        };
        if is_continuation(byte) {
            continue;
        }
        let needed = match byte {
            0xC0..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF7 => 4,
            _ => 1,
        };
        return if needed > back { at } else { bytes.len() };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stream in pieces of `piece` bytes through a preview of `bounds`.
    fn check(bounds: (usize, usize), stream: &[u8], piece: usize) -> Preview {
        let mut kept = HeadTail::new(bounds.0, bounds.1);
        for chunk in stream.chunks(piece) {
            kept.push(chunk);
        }
        let shown = kept.text();
        assert_eq!(kept.total_bytes(), stream.len() as u64);
        let told = shown.head_bytes + shown.dropped_bytes + shown.tail_bytes;
        assert_eq!(told, stream.len() as u64, "every byte is shown or told as dropped");
        shown
    }

    #[test]
    fn x6_short_streams_are_shown_whole() {
        let shown = check((4, 4), "a\u{4e2d}b".as_bytes(), 1);
        assert_eq!((shown.head.as_str(), shown.tail.as_str()), ("a\u{4e2d}b", ""));
    }

    #[test]
    fn x6_the_dropped_middle_is_counted_whatever_the_pieces() {
        let stream: Vec<u8> = (0..1000).flat_map(|n| format!("line {n}\n").into_bytes()).collect();
        let whole = check((64, 100), &stream, stream.len());
        for piece in [1, 7, 99, 100, 101, 4096] {
            assert_eq!(check((64, 100), &stream, piece), whole);
        }
        let shown_lines = whole.head.matches('\n').count() + whole.tail.matches('\n').count();
        assert_eq!(whole.dropped_lines + shown_lines as u64, 1000);
        assert!(stream.ends_with(whole.tail.as_bytes()));
    }

    #[test]
    fn x6_cuts_never_split_a_character() {
        let stream = "\u{4e2d}".repeat(100);
        for head in 1..9 {
            for tail in 1..9 {
                let shown = check((head, tail), stream.as_bytes(), 5);
                assert!(!shown.head.contains('\u{fffd}') && !shown.tail.contains('\u{fffd}'));
            }
        }
    }

    #[test]
    fn x6_what_is_shrunk_shows_what_it_would_have_kept_from_the_start() {
        let stream: Vec<u8> = (0..200).flat_map(|n| format!("line {n}\n").into_bytes()).collect();
        for (before, after) in [((64, 100), (7, 30)), ((4096, 4096), (64, 100)), ((9, 9), (99, 0))]
        {
            let mut kept = HeadTail::new(before.0, before.1);
            kept.push(&stream);
            kept.shrink(after.0, after.1);
            let bounds = (before.0.min(after.0), before.1.min(after.1));
            assert_eq!(kept.text(), check(bounds, &stream, 64));
            kept.push(b"more\n");
            let more = [stream.as_slice(), b"more\n"].concat();
            assert_eq!(kept.text(), check(bounds, &more, 64));
        }
    }

    #[test]
    fn x6_no_bounds_keep_nothing_and_still_count() {
        let shown = check((0, 0), b"one\ntwo\n", 3);
        assert_eq!((shown.dropped_bytes, shown.dropped_lines), (8, 2));
    }
}
