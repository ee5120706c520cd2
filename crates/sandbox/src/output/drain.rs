//! Takes both outputs off their pipes while the command runs, so that it never blocks on a full pipe, and passes every
//! byte on once. Memory is one buffer whatever the amount (X6). It must never merge the two streams, stop reading because
//! a sink failed, or wait for a writer after the tree is gone.

use crate::stop::Bell;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use std::io;

/// Size of one read, bytes.
const BUFFER_BYTES: usize = 256 << 10;

/// Where one whole stream goes. Called from the draining thread of the run; a slow sink slows the command down, not
/// its deadline.
pub trait Sink: Send {
    /// The next bytes of the stream, in order.
    ///
    /// # Errors
    /// Whatever the sink meets; it is then not called again, and the failure is in [`StreamCount::failure`].
    fn chunk(&mut self, bytes: &[u8]) -> io::Result<()>;
}

/// The two sinks of a run.
pub struct Streams<'a> {
    /// Standard output.
    pub stdout: &'a mut dyn Sink,
    /// Standard error.
    pub stderr: &'a mut dyn Sink,
}

/// What became of one stream.
#[derive(Debug, Default)]
pub struct StreamCount {
    /// Bytes that the command wrote.
    pub bytes: u64,
    /// Bytes that the sink took; fewer when it failed or the output limit was reached.
    pub delivered_bytes: u64,
    /// Set when the sink failed.
    pub failure: Option<SinkFailure>,
}

/// A sink that failed.
#[derive(Debug, thiserror::Error)]
#[error("output could not be passed on after {at_bytes} bytes: {error}")]
pub struct SinkFailure {
    /// Bytes it had taken.
    pub at_bytes: u64,
    /// What it said.
    #[source]
    pub error: io::Error,
}

/// The reading ends and how much may be passed on.
pub(crate) struct Drain<'a> {
    /// Reading ends, non-blocking.
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    /// Bytes that may be delivered, of both together.
    pub(crate) output_bytes: u64,
    /// Rung when more was written.
    pub(crate) overflow: &'a Bell,
    /// Rung by the supervisor when the tree is gone: take what is left and return.
    pub(crate) finish: &'a Bell,
}

struct Stream<'a> {
    file: Option<OwnedFd>,
    sink: &'a mut dyn Sink,
    count: StreamCount,
}

impl Drain<'_> {
    /// Reads until both streams have ended, or `finish` was rung and nothing is left.
    pub(crate) fn run(self, streams: Streams<'_>) -> (StreamCount, StreamCount) {
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut room_bytes = self.output_bytes;
        let open = |file, sink| Stream { file: Some(file), sink, count: StreamCount::default() };
        let mut both = [open(self.stdout, streams.stdout), open(self.stderr, streams.stderr)];
        loop {
            let finished = wait(&both, self.finish);
            for stream in &mut both {
                let rounds = if finished { usize::MAX } else { 1 };
                for _ in 0..rounds {
                    if !stream.read(&mut buffer, &mut room_bytes, self.overflow) {
                        break;
                    }
                }
            }
            if finished || both.iter().all(|stream| stream.file.is_none()) {
                let [stdout, stderr] = both;
                return (stdout.count, stderr.count);
            }
        }
    }
}

/// Waits for bytes, an end, or the finish; true for the finish.
fn wait(both: &[Stream<'_>; 2], finish: &Bell) -> bool {
    let mut watched = vec![PollFd::new(finish, PollFlags::IN)];
    for stream in both {
        watched.extend(stream.file.as_ref().map(|file| PollFd::new(file, PollFlags::IN)));
    }
    // An interrupted wait reads nothing and waits again.
    let _woken = poll(&mut watched, None);
    watched.first().is_some_and(|bell| !bell.revents().is_empty())
}

impl Stream<'_> {
    /// Reads once; true when there may be more at once.
    fn read(&mut self, buffer: &mut [u8], room_bytes: &mut u64, overflow: &Bell) -> bool {
        let Some(file) = &self.file else { return false };
        match rustix::io::read(file.as_fd(), &mut *buffer) {
            Ok(0) => {
                self.file = None;
                false
            }
            Ok(length) => {
                let bytes = buffer.get(..length).unwrap_or_default();
                self.deliver(bytes, room_bytes, overflow);
                true
            }
            Err(Errno::INTR) => true,
            Err(Errno::AGAIN) => false,
            Err(_) => {
                self.file = None;
                false
            }
        }
    }

    fn deliver(&mut self, bytes: &[u8], room_bytes: &mut u64, overflow: &Bell) {
        self.count.bytes += bytes.len() as u64;
        let room = usize::try_from(*room_bytes).unwrap_or(usize::MAX).min(bytes.len());
        let (passed, beyond) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        *room_bytes -= passed.len() as u64;
        if !beyond.is_empty() {
            overflow.ring();
        }
        if passed.is_empty() || self.count.failure.is_some() {
            return;
        }
        match self.sink.chunk(passed) {
            Ok(()) => self.count.delivered_bytes += passed.len() as u64,
            Err(error) => {
                let at_bytes = self.count.delivered_bytes;
                self.count.failure = Some(SinkFailure { at_bytes, error });
            }
        }
    }
}
