//! The launcher: takes the request, makes the namespaces, hands the daemon a pidfd of the init, translates its
//! identity when the daemon is root, and stays as its parent until it is gone.
//! It must never run anything of the command's, nor enter the sandbox itself.

use super::call::Errno;
use super::init;
use super::process::{self, CLONE_NEWCGROUP, CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWNS};
use super::process::{CLONE_NEWPID, CLONE_NEWUSER, CLONE_NEWUTS};
use super::protocol::{self, Cursor, Header, Record, fd, kind, mode, role, step};
use super::socket::{self, CONTROL};
use super::sys::{self, Fd};

/// A launch request whose fixed part is understood.
pub(crate) struct Request {
    /// One of [`mode`].
    pub(crate) mode: u32,
    /// The user and group that the command sees itself as.
    pub(crate) inside: (u32, u32),
    /// The same as the host sees them.
    pub(crate) outside: (u32, u32),
    /// The received descriptors, by [`fd`].
    pub(crate) files: [Fd; fd::MAX],
    /// In root mode: the init's end of the line to the launcher.
    pub(crate) line: Fd,
}

/// What a helper process does with its life.
pub(crate) fn run() -> ! {
    process::default_signals();
    if tidy_descriptors().is_err() {
        process::exit(1);
    }
    // When the daemon is already gone the socket says so at the first read.
    if process::die_with_parent().is_err() {
        process::exit(1);
    }
    let mut header = [0u8; Header::BYTES];
    let mut files = [-1; fd::MAX];
    let Ok((received, _)) = socket::receive(&mut header, &mut files) else { process::exit(1) };
    let rest = header.get_mut(received..).unwrap_or_default();
    if received == 0 || socket::receive_exactly(rest).is_err() {
        process::exit(1);
    }
    match Header::decode(&header) {
        Some(header) if header.role == role::LAUNCH => launch(header, files),
        Some(header) if header.role == role::MINT => mint(),
        _ => process::exit(1),
    }
}

/// Control socket on 3 and, as harmless fillers, on 0 to 2; nothing else open.
fn tidy_descriptors() -> Result<(), Errno> {
    for place in 1..=CONTROL {
        sys::dup_onto(0, place)?;
    }
    sys::close_from(CONTROL + 1)
}

/// Enters a user namespace and waits; the daemon writes its maps and opens it meanwhile.
fn mint() -> ! {
    match process::unshare(CLONE_NEWUSER) {
        Ok(()) => socket::report(&Record { kind: kind::READY, ..Record::default() }),
        Err(errno) => fail(step::CLONE, errno, 0),
    }
    let _end: Result<usize, Errno> = sys::read(CONTROL, &mut [0u8; 1]);
    process::exit(0)
}

/// Tells which step failed, and ends this process.
pub(crate) fn fail(step: u32, errno: Errno, index: u32) -> ! {
    socket::report(&Record {
        kind: kind::FAILED,
        step,
        errno: errno.0,
        index,
        ..Record::default()
    });
    process::exit(1)
}

fn launch(header: Header, files: [Fd; fd::MAX]) -> ! {
    let bytes = header.body_bytes as usize;
    if bytes > protocol::MAX_BODY_BYTES {
        fail(step::REQUEST, Errno::INVALID, 0);
    }
    let body = match process::memory(bytes.max(1)) {
        Ok(memory) => memory.get_mut(..bytes).unwrap_or_default(),
        Err(errno) => fail(step::REQUEST, errno, 0),
    };
    if socket::receive_exactly(body).is_err() {
        process::exit(1);
    }
    let mut body = Cursor::new(body);
    let Some(mut request) = parse(&mut body, files) else { fail(step::REQUEST, Errno::INVALID, 0) };
    let mut ours = -1;
    let mut namespaces = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC;
    namespaces |= CLONE_NEWUTS | CLONE_NEWCGROUP;
    if request.mode == mode::ROOT {
        match socket::pair() {
            Ok((left, right)) => (ours, request.line) = (left, right),
            Err(errno) => fail(step::CLONE, errno, 0),
        }
    } else {
        namespaces |= CLONE_NEWUSER;
    }
    match process::clone_into(namespaces) {
        Ok(None) => init::run(&request, body),
        Ok(Some((pid, pidfd))) => attend(&request, ours, pid, pidfd),
        Err(errno) => fail(step::CLONE, errno, 0),
    }
}

fn parse(body: &mut Cursor<'_>, files: [Fd; fd::MAX]) -> Option<Request> {
    Some(Request {
        mode: body.u32()?,
        inside: (body.u32()?, body.u32()?),
        outside: (body.u32()?, body.u32()?),
        files,
        line: -1,
    })
}

/// Parent of the init: answers its one question, then only waits.
fn attend(request: &Request, ours: Fd, pid: u32, pidfd: Fd) -> ! {
    let started = Record { kind: kind::STARTED, ..Record::default() };
    if socket::report_with(&started, pidfd).is_err() {
        process::exit(1);
    }
    if request.mode == mode::ROOT {
        sys::close(request.line);
        let mut asked = [0u8; 1];
        if sys::read(ours, &mut asked) == Ok(1) {
            // The init sees the closed line and reports the failed step when this does not work.
            if write_maps(pid, request.inside, request.outside).is_ok() {
                let _gone: Result<usize, Errno> = sys::write(ours, b"m");
            }
        }
    }
    // From here on the init alone holds the control socket and the pipes, so their end is its end.
    let _closed: Result<(), Errno> = sys::close_from(0);
    while process::wait_any(true).is_ok_and(|ended| ended.is_some()) {}
    process::exit(0)
}

fn write_maps(pid: u32, inside: (u32, u32), outside: (u32, u32)) -> Result<(), Errno> {
    let mut path = Text::new();
    path.push(b"/proc/").number(pid).push(b"/uid_map\0");
    write_map(&path, inside.0, outside.0)?;
    let mut path = Text::new();
    path.push(b"/proc/").number(pid).push(b"/gid_map\0");
    write_map(&path, inside.1, outside.1)
}

/// Writes the maps of this process's own fresh user namespace: itself to itself.
pub(crate) fn write_own_maps(inside: (u32, u32), outside: (u32, u32)) -> Result<(), Errno> {
    let file = sys::openat(sys::AT_FDCWD, c"/proc/self/setgroups", sys::O_WRONLY, 0)?;
    sys::write_all(file, b"deny")?;
    sys::close(file);
    let mut path = Text::new();
    path.push(b"/proc/self/uid_map\0");
    write_map(&path, inside.0, outside.0)?;
    let mut path = Text::new();
    path.push(b"/proc/self/gid_map\0");
    write_map(&path, inside.1, outside.1)
}

fn write_map(path: &Text, inside: u32, outside: u32) -> Result<(), Errno> {
    let mut line = Text::new();
    line.number(inside).push(b" ").number(outside).push(b" 1\n");
    let name = core::ffi::CStr::from_bytes_with_nul(path.bytes()).map_err(|_| Errno::INVALID)?;
    let file = sys::openat(sys::AT_FDCWD, name, sys::O_WRONLY, 0)?;
    let written = sys::write_all(file, line.bytes());
    sys::close(file);
    written
}

/// A short text on the stack; what does not fit is dropped, and the kernel then refuses the cut text.
struct Text {
    bytes: [u8; 64],
    length: usize,
}

impl Text {
    fn new() -> Self {
        Self { bytes: [0; 64], length: 0 }
    }

    fn push(&mut self, bytes: &[u8]) -> &mut Self {
        for byte in bytes {
            if let Some(place) = self.bytes.get_mut(self.length) {
                *place = *byte;
                self.length += 1;
            }
        }
        self
    }

    fn number(&mut self, mut value: u32) -> &mut Self {
        let mut digits = [0u8; 10];
        let mut count = 0;
        for place in digits.iter_mut().rev() {
            *place = b'0' + (value % 10) as u8;
            value /= 10;
            count += 1;
            if value == 0 {
                break;
            }
        }
        self.push(digits.get(10 - count..).unwrap_or_default())
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}
