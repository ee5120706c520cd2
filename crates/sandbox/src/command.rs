//! What a caller asks for: a program with its arguments, where it stands, what it may see and how much it may use.
//! Plain values; nothing is built by pasting strings (X1, X2). It must never read anything from the daemon's surroundings.

use std::ffi::OsString;
use std::path::PathBuf;

/// One command, complete: what is not in here the process does not get.
#[derive(Clone, Debug)]
pub struct Command {
    /// Argument vector; the first is the program. Without a slash it is looked up along `PATH` of [`Command::env`],
    /// inside the sandbox.
    pub argv: Vec<OsString>,
    /// The workspace: absolute, canonical (no link in it). It appears at the same path inside.
    pub workspace: PathBuf,
    /// Where the command starts, relative to the workspace; empty means the workspace itself.
    pub cwd: PathBuf,
    /// The whole environment. Nothing is inherited or added.
    pub env: Vec<(OsString, OsString)>,
    /// What the command reads from standard input.
    pub stdin: Stdin,
    /// Bounds of the run.
    pub limits: Limits,
    /// Directories of the host that are shown read-only at the same absolute path, beside `/usr`. What does not
    /// exist is left out.
    pub toolchains: Vec<PathBuf>,
    /// Whether the command may change the workspace.
    pub access: Access,
    /// Paths beneath the workspace, relative to it or absolute, that the command may read and not change, replace or
    /// move. One that does not exist cannot be pinned; the exit says so ([`crate::Exit::unpinned`]).
    pub read_only: Vec<PathBuf>,
    /// Paths, relative to the workspace or absolute, whose content the command must not see. They cannot be read, and
    /// neither they nor the directories of the workspace above them can be moved.
    pub masked: Vec<PathBuf>,
}

/// Standard input of a command. There is never a terminal.
#[derive(Clone, Debug, Default)]
pub enum Stdin {
    /// End of file at once.
    #[default]
    Empty,
    /// These bytes, then end of file.
    Bytes(Vec<u8>),
}

/// Rights on the workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Read and change, except what is pinned.
    #[default]
    ReadWrite,
    /// Read only; every write fails with `EROFS`.
    ReadOnly,
}

/// Bounds of one run. Every one is enforced by the kernel or by the daemon, none by the command's good will.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time from the request to the polite stop, milliseconds.
    pub wall_ms: u64,
    /// Time between the polite stop (SIGTERM) and the certain one (SIGKILL), milliseconds.
    pub grace_ms: u64,
    /// Processes and threads alive at the same time.
    pub processes: u64,
    /// Open files of one process.
    pub open_files: u64,
    /// Largest file that one process may write, bytes.
    pub file_bytes: u64,
    /// Address space of one process, bytes: weak, because it counts reservations and not use, and counts each process alone.
    pub memory_bytes: Option<u64>,
    /// CPU time of one process, seconds.
    pub cpu_s: Option<u64>,
    /// Both outputs together, bytes. What is beyond is not delivered, and the tree is killed.
    pub output_bytes: u64,
    /// Size of the private `/tmp`, bytes.
    pub scratch_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall_ms: 120_000,
            grace_ms: 2_000,
            processes: 512,
            open_files: 4_096,
            file_bytes: 8 << 30,
            memory_bytes: None,
            cpu_s: None,
            output_bytes: 1 << 30,
            scratch_bytes: 2 << 30,
        }
    }
}
