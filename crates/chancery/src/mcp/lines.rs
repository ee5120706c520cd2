//! Bounded lines out of a byte stream.
//!
//! A line past the bound is drained, never held; its two ends are kept, for the id may stand there.

use std::io::{self, BufRead, BufReader, Read};

/// How much is kept of either end of a line past the bound, bytes.
const KEPT: usize = 4096;

/// What is read from the stream at once, bytes.
const CHUNK: usize = 64 * 1024;

/// One line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// All of it.
    Whole(Vec<u8>),
    /// Longer than the bound.
    Oversized {
        /// Its first bytes.
        head: Vec<u8>,
        /// Its last bytes.
        tail: Vec<u8>,
        /// Its length, bytes.
        bytes: u64,
    },
}

/// The lines of a stream.
pub(super) struct Lines<R> {
    input: BufReader<R>,
    limit: usize,
}

impl<R: Read> Lines<R> {
    /// Lines of up to `limit` bytes.
    pub(super) fn new(input: R, limit: usize) -> Lines<R> {
        Lines { input: BufReader::with_capacity(CHUNK, input), limit }
    }

    /// The next line that is not blank; `None` at the end of the stream. What stands after the last line
    /// end counts as a line: a JSON object that is closed cannot be half a message.
    ///
    /// # Errors
    /// When the stream breaks.
    pub(super) fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let Some(line) = self.any()? else {
                return Ok(None);
            };
            match line {
                Line::Whole(bytes) if bytes.trim_ascii().is_empty() => {}
                line => return Ok(Some(line)),
            }
        }
    }

    fn any(&mut self) -> io::Result<Option<Line>> {
        let mut line = Vec::new();
        // The bound, and one byte for the line's end.
        let most = self.limit as u64 + 1;
        let read = self.input.by_ref().take(most).read_until(b'\n', &mut line)?;
        if line.last() == Some(&b'\n') {
            line.pop();
        } else if read as u64 == most {
            return self.drain(line).map(Some);
        }
        Ok((read > 0).then_some(Line::Whole(line)))
    }

    /// Reads on to the line's end and keeps only the two ends of the line.
    fn drain(&mut self, start: Vec<u8>) -> io::Result<Line> {
        let mut bytes = start.len() as u64;
        let mut tail = last_of(&start).to_vec();
        let mut head = start;
        head.truncate(KEPT);
        head.shrink_to_fit();
        let mut chunk = Vec::new();
        loop {
            chunk.clear();
            let read = self.input.by_ref().take(CHUNK as u64).read_until(b'\n', &mut chunk)?;
            let ended = chunk.last() == Some(&b'\n');
            if ended {
                chunk.pop();
            }
            bytes += chunk.len() as u64;
            tail.extend_from_slice(last_of(&chunk));
            tail.drain(..tail.len().saturating_sub(KEPT));
            if ended || read == 0 {
                return Ok(Line::Oversized { head, tail, bytes });
            }
        }
    }
}

fn last_of(bytes: &[u8]) -> &[u8] {
    bytes.split_at_checked(bytes.len().saturating_sub(KEPT)).map_or(bytes, |(_, last)| last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(input: &[u8], limit: usize) -> Vec<Line> {
        let mut lines = Lines::new(input, limit);
        std::iter::from_fn(|| lines.next().unwrap()).collect()
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_end_at_line_ends_and_blank_ones_are_nothing() {
        assert_eq!(all(b"a\n\n \r\nb\nc", 9), [whole("a"), whole("b"), whole("c")]);
        assert_eq!(all(b"", 9), []);
        assert_eq!(all(b"123456789\n", 9), [whole("123456789")]);
    }

    #[test]
    fn v2_a_line_past_the_bound_is_drained_and_the_next_one_is_read() {
        let mut input = vec![b'x'; 3 * CHUNK + 7];
        input.splice(..4, *b"HEAD");
        input.splice(input.len() - 4.., *b"TAIL");
        let length = input.len() as u64;
        input.extend_from_slice(b"\nnext\n");
        let lines = all(&input, CHUNK + 1);
        let Some(Line::Oversized { head, tail, bytes }) = lines.first() else {
            panic!("expected an oversized line");
        };
        assert_eq!((*bytes, head.len(), tail.len()), (length, KEPT, KEPT));
        assert!(head.starts_with(b"HEAD") && tail.ends_with(b"TAIL"));
        assert_eq!(lines.get(1), Some(&whole("next")));
    }

    #[test]
    fn v2_an_endless_line_is_held_to_the_bound() {
        let lines = all(&[b'x'; 2000], 1000);
        assert!(matches!(lines.as_slice(), [Line::Oversized { bytes: 2000, .. }]));
    }
}
