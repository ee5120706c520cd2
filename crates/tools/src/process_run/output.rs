//! One stream of a command: a bounded preview for the planner, the whole as an artifact when it is longer (X6).

use std::io;

use engine::ports::{ArtifactWriter, Artifacts};
use sandbox::{HeadTail, Sink};
use serde::Serialize;
use wire::receipt::Artifact;

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
    /// A stream whose preview has at most `preview_bytes`, a quarter of them for the beginning.
    pub(super) fn new(
        name: &'static str,
        preview_bytes: u64,
        artifacts: &'a dyn Artifacts,
    ) -> Spill<'a> {
        let bytes = usize::try_from(preview_bytes).unwrap_or(usize::MAX);
        let preview = HeadTail::new(bytes / 4, bytes - bytes / 4);
        Spill { name, preview, preview_bytes, artifacts, held: Vec::new(), whole: Whole::Held }
    }

    /// The preview, and the artifact if there was more than it shows.
    pub(super) fn finish(self) -> (Output, io::Result<Option<Artifact>>) {
        let shown = self.preview.text();
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

impl Sink for Spill<'_> {
    fn chunk(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.preview.push(bytes);
        if let Whole::Held = self.whole {
            self.held.extend_from_slice(bytes);
            if self.preview.total_bytes() <= self.preview_bytes {
                return Ok(());
            }
            self.whole = match self.spill() {
                Ok(writer) => Whole::Spilling(writer),
                Err(error) => Whole::Lost(error),
            };
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
