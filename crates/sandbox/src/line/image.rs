//! The static helper in a sealed memory file, and the only place that starts a process.
//! It must never fork: `std::process::Command` without a hook spawns the vfork way, whatever the daemon's size.

use super::Line;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::io;
use std::process::{Command, Stdio};
use std::time::Duration;

const HELPER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/helper"));
/// Longest time that handing over a request may take.
const SEND_BOUND: Duration = Duration::from_secs(5);

/// The helper's program, in memory that nobody can change any more.
#[derive(Debug)]
pub(crate) struct Image {
    file: OwnedFd,
}

impl Image {
    pub(crate) fn new() -> io::Result<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let name = "chancery-sandbox";
        let file = match rustix::fs::memfd_create(name, flags | MemfdFlags::EXEC) {
            // Before 6.3 the flag is unknown and every memory file can be executed.
            Err(Errno::INVAL) => rustix::fs::memfd_create(name, flags)?,
            other => other?,
        };
        write_whole(&file, HELPER)?;
        seal(&file)?;
        Ok(Self { file })
    }

    /// A helper process that waits for its request.
    pub(crate) fn start(&self) -> io::Result<Line> {
        let flags = SocketFlags::CLOEXEC;
        let (ours, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        rustix::net::sockopt::set_socket_timeout(
            &ours,
            rustix::net::sockopt::Timeout::Send,
            Some(SEND_BOUND),
        )?;
        let program = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let child = Command::new(program)
            .env_clear()
            .stdin(Stdio::from(theirs))
            // The helper replaces both before it does anything else.
            .stdout(Stdio::inherit())
            .stderr(Stdio::inherit())
            .spawn()?;
        Ok(Line { socket: ours, child, pending: Vec::new(), init: None })
    }
}

/// A memory file with this content, read from its start, that nobody can change.
pub(crate) fn sealed(content: &[u8]) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = match rustix::fs::memfd_create("stdin", flags | MemfdFlags::NOEXEC_SEAL) {
        Err(Errno::INVAL) => rustix::fs::memfd_create("stdin", flags)?,
        other => other?,
    };
    write_whole(&file, content)?;
    seal(&file)?;
    rustix::fs::seek(&file, rustix::fs::SeekFrom::Start(0))?;
    Ok(file)
}

fn seal(file: &OwnedFd) -> io::Result<()> {
    let all = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    Ok(rustix::fs::fcntl_add_seals(file, all)?)
}

fn write_whole(file: &OwnedFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = rustix::io::write(file, bytes)?;
        bytes = bytes.get(written..).unwrap_or_default();
    }
    Ok(())
}
