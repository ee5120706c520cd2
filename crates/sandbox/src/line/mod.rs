//! The line to a helper process: one request with descriptors out, orders out, records in.
//! It must never block without a bound, nor take a helper that is silent for one that is gone.

mod body;
mod image;

pub(crate) use body::{Body, NulByte};
pub(crate) use image::{Image, sealed};

use crate::protocol::{Header, RECORD_BYTES, Record, fd};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::process::Child;
use std::time::{Duration, Instant};

/// A running helper and the socket to it.
#[derive(Debug)]
pub(crate) struct Line {
    socket: OwnedFd,
    child: Child,
    pending: Vec<u8>,
    init: Option<OwnedFd>,
}

/// What was heard on a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// A whole record.
    Record(Record),
    /// Nothing that is complete yet.
    Nothing,
    /// The helper is gone, and so is every process that it kept.
    End,
}

impl Line {
    /// Sends a request with its descriptors.
    pub(crate) fn request(
        &self,
        role: u32,
        body: &Body,
        files: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let body = body.bytes();
        let body_bytes = u32::try_from(body.len()).map_err(|_| Errno::TOOBIG)?;
        let header = Header { role, body_bytes }.encode();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(fd::MAX))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() && !control.push(SendAncillaryMessage::ScmRights(files)) {
            return Err(Errno::TOOBIG.into());
        }
        let parts = [IoSlice::new(&header), IoSlice::new(body)];
        let sent = rustix::net::sendmsg(&self.socket, &parts, &mut control, SendFlags::NOSIGNAL)?;
        let mut rest = body.get(sent.saturating_sub(header.len())..).unwrap_or_default();
        while !rest.is_empty() {
            let sent = rustix::net::send(&self.socket, rest, SendFlags::NOSIGNAL)?;
            rest = rest.get(sent..).unwrap_or_default();
        }
        Ok(())
    }

    /// Sends one order byte. A helper that is gone is noticed when listening.
    pub(crate) fn order(&self, order: u8) {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let _gone = rustix::net::send(&self.socket, &[order], flags);
    }

    /// Takes what has arrived, without waiting.
    pub(crate) fn hear(&mut self) -> Heard {
        if let Some(record) = self.take() {
            return Heard::Record(record);
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut bytes = [0; 4 * RECORD_BYTES];
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let mut parts = [IoSliceMut::new(&mut bytes)];
        let received = match rustix::net::recvmsg(&self.socket, &mut parts, &mut control, flags) {
            Ok(received) => received.bytes,
            Err(Errno::AGAIN | Errno::INTR) => return Heard::Nothing,
            Err(_) => return Heard::End,
        };
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(files) = message {
                self.init = files.into_iter().next().or(self.init.take());
            }
        }
        if received == 0 {
            return Heard::End;
        }
        self.pending.extend_from_slice(bytes.get(..received).unwrap_or_default());
        self.take().map_or(Heard::Nothing, Heard::Record)
    }

    fn take(&mut self) -> Option<Record> {
        let record = Record::decode(self.pending.get(..RECORD_BYTES)?)?;
        self.pending.drain(..RECORD_BYTES);
        Some(record)
    }

    /// Waits for the next record, at most `bound`; `None` when the helper ends or is too late.
    pub(crate) fn wait(&mut self, bound: Duration) -> Option<Record> {
        let deadline = Instant::now() + bound;
        loop {
            match self.hear() {
                Heard::Record(record) => return Some(record),
                Heard::End => return None,
                Heard::Nothing => {}
            }
            let left = deadline.checked_duration_since(Instant::now())?;
            let mut watched = [PollFd::new(&self.socket, PollFlags::IN)];
            let _woken = poll(&mut watched, Some(&timespec(left)));
        }
    }

    /// The socket, to be waited on together with others.
    pub(crate) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Number of the helper process, valid while this line lives.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills init and launcher without asking; the kernel then empties the namespace.
    pub(crate) fn destroy(&mut self) {
        if let Some(init) = &self.init {
            let _gone = rustix::process::pidfd_send_signal(init, rustix::process::Signal::KILL);
        }
        let _gone = self.child.kill();
    }

    /// Waits until the init is gone, and every process of its namespace with it; false when that takes too long.
    pub(crate) fn is_empty_within(&self, bound: Duration) -> bool {
        let Some(init) = &self.init else { return false };
        let mut watched = [PollFd::new(init, PollFlags::IN)];
        matches!(poll(&mut watched, Some(&timespec(bound))), Ok(1..))
    }

    /// Gives the helper up for reaping; the closed socket ends it.
    pub(crate) fn into_child(self) -> Child {
        self.child
    }
}

/// A duration as poll(2) wants it.
pub(crate) fn timespec(duration: Duration) -> Timespec {
    let seconds = i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
    Timespec { tv_sec: seconds, tv_nsec: duration.subsec_nanos().into() }
}
