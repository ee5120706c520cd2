//! One stream of a command: a bounded preview for the planner, the whole as an artifact when it is longer (X6).

use std::io;

use engine::ports::{ArtifactWriter, Artifacts};
use sandbox::{HeadTail, Sink};
use serde::Serialize;
use wire::receipt::Artifact;

use crate::limits::json_bytes;

/// How often a preview is made smaller before it is given up.
const SHRINKS: usize = 16;

#[derive(Debug, Serialize)]
pub(crate) struct Output {
    /// The whole, if nothing was left out.
    pub(super) head: String,

    #[serde(skip_serializing_if = "String::is_empty")]
    tail: String,
    total_bytes: u64,
    pub(super) left_out_bytes: u64,
    left_out_lines: u64,
}

/// Takes a stream and keeps what is needed of it; memory stays at twice the preview.
pub(super) struct Spill<'a> {
    name: &'static str,
    preview: HeadTail,
    preview_bytes: u64,
    artifacts: &'a dyn Artifacts,
    held: Vec<u8>,
    whole: Whole,
}

enum Whole {
    /// Everything so far fits the preview.
    Held,
    Spilling(Box<dyn ArtifactWriter>),
    /// The storage refused; the preview goes on.
    Lost(io::Error),
}

impl<'a> Spill<'a> {
    /// A stream of which at most `preview_bytes` are shown, a quarter of them from the beginning.
    pub(super) fn new(
        name: &'static str,
        preview_bytes: u64,
        artifacts: &'a dyn Artifacts,
    ) -> Spill<'a> {
        let (head, tail) = parts(preview_bytes);
        let preview = HeadTail::new(head, tail);
        Spill { name, preview, preview_bytes, artifacts, held: Vec::new(), whole: Whole::Held }
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// What showing it costs, bytes of JSON.
    pub(super) fn cost(&self) -> u64 {
        let shown = self.preview.text();
        json_bytes(&shown.head).saturating_add(json_bytes(&shown.tail))
    }

    /// The preview in `room` bytes of JSON, and the artifact if there was more than it shows.
    pub(super) fn finish(mut self, room: u64) -> (Output, io::Result<Option<Artifact>>) {
        let mut bytes = self.preview_bytes;
        for _ in 0..SHRINKS {
            let cost = self.cost();
            if cost <= room {
                break;
            }
            // Text that needs no escapes fits at once; of any other, the rest needs the same escapes about.
            bytes = bytes.min(cost).saturating_mul(room).checked_div(cost).unwrap_or(0);
            let (head, tail) = parts(bytes);
            self.preview.shrink(head, tail);
        }
        if self.cost() > room {
            self.preview.shrink(0, 0);
        }
        let shown = self.preview.text();
        if shown.dropped_bytes > 0 && matches!(self.whole, Whole::Held) {
            self.whole = self.spill().map_or_else(Whole::Lost, Whole::Spilling);
        }
        let output = Output {
            head: shown.head,
            tail: shown.tail,
            total_bytes: self.preview.total_bytes(),
            left_out_bytes: shown.dropped_bytes,
            left_out_lines: shown.dropped_lines,
        };
        let kept = match self.whole {
            Whole::Held => Ok(None),
            Whole::Spilling(writer) => writer.finish(self.name, "text/plain").map(Some),
            Whole::Lost(error) => Err(error),
        };
        (output, kept)
    }

    fn spill(&mut self) -> io::Result<Box<dyn ArtifactWriter>> {
        let mut writer = self.artifacts.create()?;
        writer.write(&std::mem::take(&mut self.held))?;
        Ok(writer)
    }
}

/// How much of a preview is the beginning of a stream, and how much its end.
fn parts(bytes: u64) -> (usize, usize) {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    (bytes / 4, bytes - bytes / 4)
}

/// What two streams get of the room: each what it needs if it can be had, and otherwise no less than half.
pub(super) fn shares(room: u64, first: u64, second: u64) -> (u64, u64) {
    let half = room / 2;
    let first = first.min(room.saturating_sub(second.min(half)));
    (first, room.saturating_sub(first))
}

impl Sink for Spill<'_> {
    fn chunk(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.preview.push(bytes);
        if let Whole::Held = self.whole {
            self.held.extend_from_slice(bytes);
            if self.preview.total_bytes() <= self.preview_bytes {
                return Ok(());
            }
            self.whole = self.spill().map_or_else(Whole::Lost, Whole::Spilling);
            return Ok(());
        }
        if let Whole::Spilling(writer) = &mut self.whole
            && let Err(error) = writer.write(bytes)
        {
            self.whole = Whole::Lost(error);
        }
        Ok(())
    }
}
