//! What the daemon and the static helper say to each other: numbers, layouts, a cursor and one fixed record.
//! Compiled into both, so it uses `core` only. It must never allocate, and never read past what it was given.
//!
//! Daemon to helper: one [`Header`] with the descriptors attached (`SCM_RIGHTS`), the request body, later single
//! command bytes. Helper to daemon: [`Record`]s of one size. Both ends are the same build of the same
//! crate, so there is no version to negotiate; [`MAGIC`] only catches a stranger on the socket.

use core::ffi::CStr;

/// First word of every request.
pub(crate) const MAGIC: u32 = 0x4A41_494C;
/// Largest request body that the helper accepts, in bytes.
pub(crate) const MAX_BODY_BYTES: usize = 8 << 20;
/// Bytes of an encoded [`Record`].
pub(crate) const RECORD_BYTES: usize = 64;

/// What a helper process is asked to be.
pub(crate) mod role {
    /// Build the walls, run the command in them, report, end.
    pub(crate) const LAUNCH: u32 = 1;
    /// Enter a fresh user namespace and wait until the daemon has taken a handle of it.
    pub(crate) const MINT: u32 = 2;
}

/// Who the daemon is, and therefore how the user namespace is made.
pub(crate) mod mode {
    /// An ordinary user: the namespace comes first and gives the right to build the rest.
    pub(crate) const ORDINARY: u32 = 0;
    /// Real root: the view is built first, then the process steps down to an unprivileged identity.
    pub(crate) const ROOT: u32 = 1;
}

/// Positions in the list of descriptors that travel with a launch request.
pub(crate) mod fd {
    pub(crate) const STDIN: usize = 0;
    pub(crate) const STDOUT: usize = 1;
    pub(crate) const STDERR: usize = 2;
    /// The workspace directory as the daemon opened it; the helper proves that it mounts this object.
    pub(crate) const WORKSPACE: usize = 3;
    /// The user namespace whose map translates the workspace's owner; present when the workspace is id-mapped.
    pub(crate) const ID_MAP: usize = 4;
    /// Longest list.
    pub(crate) const MAX: usize = 5;
}

/// Commands to a running init, one byte each.
pub(crate) mod order {
    /// Ask every process to end (SIGTERM, then SIGCONT for the stopped ones).
    pub(crate) const SOFT: u8 = b'T';
    /// End every process now (SIGKILL) and report.
    pub(crate) const HARD: u8 = b'K';
}

/// Kinds of [`Record`].
pub(crate) mod kind {
    /// From the launcher: the init exists; its pidfd is attached.
    pub(crate) const STARTED: u32 = 1;
    /// The walls stand and no command was asked for (the probe).
    pub(crate) const READY: u32 = 2;
    /// A step of building the walls failed; nothing was executed.
    pub(crate) const FAILED: u32 = 3;
    /// The program could not be executed; nothing ran.
    pub(crate) const NOT_EXECUTED: u32 = 4;
    /// The command ended and no process of the tree is left.
    pub(crate) const ENDED: u32 = 5;
}

/// Steps of building the walls, for the error that names the one that failed.
pub(crate) mod step {
    pub(crate) const REQUEST: u32 = 1;
    pub(crate) const CLONE: u32 = 2;
    pub(crate) const MAPS: u32 = 3;
    pub(crate) const PROPAGATION: u32 = 4;
    pub(crate) const ROOT: u32 = 5;
    pub(crate) const VIEW: u32 = 6;
    pub(crate) const ID_MAP: u32 = 7;
    pub(crate) const WORKSPACE_MOVED: u32 = 8;
    pub(crate) const PIVOT: u32 = 9;
    pub(crate) const IDENTITY: u32 = 10;
    pub(crate) const CAPABILITIES: u32 = 11;
    pub(crate) const CWD: u32 = 12;
    pub(crate) const FILTER: u32 = 13;
    pub(crate) const LIMITS: u32 = 14;
    pub(crate) const SPAWN: u32 = 15;
}

/// Operations that make the view of the files, executed in the order given.
pub(crate) mod op {
    /// `mode`, `owned` (1 = belongs to the sandbox's user), path.
    pub(crate) const DIR: u32 = 1;
    /// `mode`, path, content.
    pub(crate) const FILE: u32 = 2;
    /// Path of the link, its target.
    pub(crate) const LINK: u32 = 3;
    /// `size_bytes` (u64), path: a fresh writable file system in memory, mode 1777.
    pub(crate) const TMPFS: u32 = 4;
    /// Path: the process list of the new pid namespace, read-only.
    pub(crate) const PROC: u32 = 5;
    /// `from`, `create`, `attributes`, `flags`, source path, path.
    pub(crate) const BIND: u32 = 6;
}

/// Where the source of a bind is looked up.
pub(crate) mod from {
    /// A path of the host, links followed.
    pub(crate) const HOST: u32 = 0;
    /// A path of the view built so far, no link followed.
    pub(crate) const INSIDE: u32 = 1;
    /// The workspace: a path of the host, no link followed, and the same object as the descriptor.
    pub(crate) const WORKSPACE: u32 = 2;
}

/// What a bind makes when its mount point is not there.
pub(crate) mod create {
    pub(crate) const NOTHING: u32 = 0;
    pub(crate) const DIR: u32 = 1;
    pub(crate) const FILE: u32 = 2;
}

/// Flags of an operation.
pub(crate) mod flag {
    /// Failing is not fatal; it is counted in [`super::Record::missed`].
    pub(crate) const OPTIONAL: u32 = 1;
    /// Apply the id map to this mount.
    pub(crate) const ID_MAP: u32 = 2;
}

/// Bits of [`Record::missed`].
pub(crate) mod missed {
    pub(crate) const PROC: u32 = 1;
    pub(crate) const BIND: u32 = 2;
    pub(crate) const LOOPBACK: u32 = 4;
    pub(crate) const FILTER: u32 = 8;
}

/// The fixed start of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) role: u32,
    pub(crate) body_bytes: u32,
}

impl Header {
    /// Bytes of an encoded header.
    pub(crate) const BYTES: usize = 12;

    pub(crate) fn encode(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        put(&mut bytes, 0, &MAGIC.to_ne_bytes());
        put(&mut bytes, 4, &self.role.to_ne_bytes());
        put(&mut bytes, 8, &self.body_bytes.to_ne_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut cursor = Cursor::new(bytes);
        if cursor.u32()? != MAGIC {
            return None;
        }
        Some(Self { role: cursor.u32()?, body_bytes: cursor.u32()? })
    }
}

/// What the helper tells the daemon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// One of [`kind`].
    pub(crate) kind: u32,
    /// One of [`step`], for `FAILED`.
    pub(crate) step: u32,
    /// The error number, for `FAILED` and `NOT_EXECUTED`.
    pub(crate) errno: u32,
    /// Which operation of the view, for `FAILED` at `VIEW`.
    pub(crate) index: u32,
    /// The wait status (wait(2)) of the command's leader, for `ENDED`.
    pub(crate) status: u32,
    /// Processes that were still alive when the leader had ended.
    pub(crate) leftover: u32,
    /// Bits of [`missed`].
    pub(crate) missed: u32,
    /// 1 if an order to stop arrived before the leader ended.
    pub(crate) stopped: u32,
    /// User and system time of the whole tree, microseconds.
    pub(crate) user_us: u64,
    pub(crate) system_us: u64,
    /// Largest resident set of one process of the tree, bytes.
    pub(crate) max_rss_bytes: u64,
}

impl Record {
    pub(crate) fn encode(&self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        let words = [
            self.kind,
            self.step,
            self.errno,
            self.index,
            self.status,
            self.leftover,
            self.missed,
            self.stopped,
        ];
        for (at, word) in words.iter().enumerate() {
            put(&mut bytes, at * 4, &word.to_ne_bytes());
        }
        for (at, word) in [self.user_us, self.system_us, self.max_rss_bytes].iter().enumerate() {
            put(&mut bytes, 32 + at * 8, &word.to_ne_bytes());
        }
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut cursor = Cursor::new(bytes);
        Some(Self {
            kind: cursor.u32()?,
            step: cursor.u32()?,
            errno: cursor.u32()?,
            index: cursor.u32()?,
            status: cursor.u32()?,
            leftover: cursor.u32()?,
            missed: cursor.u32()?,
            stopped: cursor.u32()?,
            user_us: cursor.u64()?,
            system_us: cursor.u64()?,
            max_rss_bytes: cursor.u64()?,
        })
    }
}

/// Reads a request body front to back; `None` means that it ends too early.
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        let (word, rest) = self.rest.split_first_chunk::<4>()?;
        self.rest = rest;
        Some(u32::from_ne_bytes(*word))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        let (word, rest) = self.rest.split_first_chunk::<8>()?;
        self.rest = rest;
        Some(u64::from_ne_bytes(*word))
    }

    /// A length, then that many bytes.
    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()? as usize;
        let (bytes, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(bytes)
    }

    /// A length, then that many bytes of which exactly the last one is NUL.
    pub(crate) fn text(&mut self) -> Option<&'a CStr> {
        CStr::from_bytes_with_nul(self.bytes()?).ok()
    }
}

fn put(into: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = into.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}
