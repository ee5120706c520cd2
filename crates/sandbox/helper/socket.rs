//! The helper's end of the control socket: one request with descriptors in, fixed records out, one loopback
//! interface up. It must never block on anything but the daemon.

use super::call::{Errno, call, number};
use super::protocol::{self, Record};
use super::sys::Fd;

/// Where the control socket sits once [`super::main`] has tidied the descriptors.
pub(crate) const CONTROL: Fd = 3;

const SOL_SOCKET: usize = 1;
const SCM_RIGHTS: usize = 1;
const MSG_NOSIGNAL: usize = 0x4000;
const MSG_CMSG_CLOEXEC: usize = 0x4000_0000;

/// Something to wait for, as ppoll(2) wants it.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Watch {
    file: Fd,
    events: u16,
    pub(crate) seen: u16,
}

impl Watch {
    /// Readable, or the other end is gone.
    pub(crate) fn input(file: Fd) -> Self {
        Self { file, events: 1, seen: 0 }
    }
}

/// A control message that carries descriptors: `struct cmsghdr` and its data.
#[repr(C, align(8))]
struct Rights {
    bytes: usize,
    level: i32,
    kind: i32,
    files: [Fd; 8],
}

/// Receives the header and its descriptors; returns how many bytes and descriptors came.
pub(crate) fn receive(
    into: &mut [u8],
    files: &mut [Fd; protocol::fd::MAX],
) -> Result<(usize, usize), Errno> {
    let mut rights = Rights { bytes: 0, level: 0, kind: 0, files: [-1; 8] };
    let part = [into.as_mut_ptr() as usize, into.len()];
    let mut message = [0usize; 7];
    let filled = [0, 0, part.as_ptr() as usize, 1, &raw mut rights as usize, size_of::<Rights>()];
    for (place, value) in message.iter_mut().zip(filled) {
        *place = value;
    }
    let place = message.as_mut_ptr() as usize;
    // SAFETY: `message` has the layout of `struct msghdr` on 64-bit machines; its one part is `into`, its control
    // buffer is `rights`, both live and borrowed mutably for the call.
    let received =
        unsafe { call(number::RECVMSG, [CONTROL as usize, place, MSG_CMSG_CLOEXEC, 0, 0, 0]) }?;
    let header_bytes = 16;
    let mut count = 0;
    if rights.level as usize == SOL_SOCKET && rights.kind as usize == SCM_RIGHTS {
        count = (rights.bytes.saturating_sub(header_bytes) / 4).min(files.len());
        for (place, file) in files.iter_mut().zip(rights.files).take(count) {
            *place = file;
        }
    }
    Ok((received, count))
}

/// Reads until `into` is full.
pub(crate) fn receive_exactly(mut into: &mut [u8]) -> Result<(), Errno> {
    while !into.is_empty() {
        match super::sys::read(CONTROL, into) {
            Ok(0) => return Err(Errno::STALE),
            Ok(got) => into = into.get_mut(got..).unwrap_or_default(),
            Err(Errno::INTERRUPTED) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Tells the daemon; when it is gone there is nobody to tell, and the closed socket ends this tree anyway.
pub(crate) fn report(record: &Record) {
    let _gone: Result<(), Errno> = super::sys::write_all(CONTROL, &record.encode());
}

/// Tells the daemon and hands it a descriptor.
pub(crate) fn report_with(record: &Record, file: Fd) -> Result<(), Errno> {
    let bytes = record.encode();
    let mut files = [-1; 8];
    if let Some(first) = files.first_mut() {
        *first = file;
    }
    let rights = Rights { bytes: 20, level: SOL_SOCKET as i32, kind: SCM_RIGHTS as i32, files };
    let part = [bytes.as_ptr() as usize, bytes.len()];
    let message = [0, 0, part.as_ptr() as usize, 1, &raw const rights as usize, 24, 0usize];
    let place = message.as_ptr() as usize;
    // SAFETY: `message` has the layout of `struct msghdr`; its part and control buffer are live and only read.
    unsafe { call(number::SENDMSG, [CONTROL as usize, place, MSG_NOSIGNAL, 0, 0, 0]) }.map(drop)
}

/// Waits until one of them is readable or closed.
pub(crate) fn wait_for(watched: &mut [Watch; 2]) -> Result<(), Errno> {
    let place = watched.as_mut_ptr() as usize;
    // SAFETY: `watched` is two live `struct pollfd`; no timeout, no mask.
    match unsafe { call(number::PPOLL, [place, watched.len(), 0, 0, 8, 0]) } {
        Ok(_) | Err(Errno::INTERRUPTED) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Two connected ends, closed on exec, for the one question between launcher and init.
pub(crate) fn pair() -> Result<(Fd, Fd), Errno> {
    let mut ends = [-1; 2];
    let place = ends.as_mut_ptr() as usize;
    // SAFETY: `ends` is two live ints; 1 is AF_UNIX, 0o2000005 is SOCK_SEQPACKET | SOCK_CLOEXEC.
    unsafe { call(number::SOCKETPAIR, [1, 0o2_000_005, 0, place, 0, 0]) }?;
    let [left, right] = ends;
    Ok((left, right))
}

/// Switches the loopback interface of a fresh network namespace on (netdevice(7)).
pub(crate) fn loopback_up() -> Result<(), Errno> {
    // SAFETY: numbers only; 2 is AF_INET, 0o2000002 is SOCK_DGRAM | SOCK_CLOEXEC.
    let socket = unsafe { call(number::SOCKET, [2, 0o2_000_002, 0, 0, 0, 0]) }? as Fd;
    let mut request = [0u8; 40];
    // The name in 16 bytes, then the flags IFF_UP | IFF_RUNNING.
    for (place, byte) in request.iter_mut().zip(*b"lo\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x41") {
        *place = byte;
    }
    let place = request.as_mut_ptr() as usize;
    // SAFETY: `request` is a live `struct ifreq` of 40 bytes; 0x8914 is SIOCSIFFLAGS.
    let raised = unsafe { call(number::IOCTL, [socket as usize, 0x8914, place, 0, 0, 0]) };
    super::sys::close(socket);
    raised.map(drop)
}
