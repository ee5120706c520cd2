//! Identity, limits, signals and children for the helper: thin, typed system calls.
//! It must never widen what a process may do.

use super::call::{Errno, call, number};
use super::sys::Fd;

pub(crate) const SIGKILL: usize = 9;
pub(crate) const SIGTERM: usize = 15;
pub(crate) const SIGCHLD: usize = 17;
pub(crate) const SIGCONT: usize = 18;

const CLONE_VM: usize = 0x100;
const CLONE_PIDFD: u64 = 0x1000;
const CLONE_VFORK: usize = 0x4000;
pub(crate) const CLONE_NEWNS: u64 = 0x0002_0000;
pub(crate) const CLONE_NEWCGROUP: u64 = 0x0200_0000;
pub(crate) const CLONE_NEWUTS: u64 = 0x0400_0000;
pub(crate) const CLONE_NEWIPC: u64 = 0x0800_0000;
pub(crate) const CLONE_NEWUSER: u64 = 0x1000_0000;
pub(crate) const CLONE_NEWPID: u64 = 0x2000_0000;
pub(crate) const CLONE_NEWNET: u64 = 0x4000_0000;

const PR_SET_PDEATHSIG: usize = 1;
const PR_SET_DUMPABLE: usize = 4;
const PR_CAPBSET_DROP: usize = 24;
const PR_SET_NO_NEW_PRIVS: usize = 38;

/// CPU time and memory of everything that was waited for (getrusage(2), `RUSAGE_CHILDREN`).
#[derive(Clone, Copy)]
pub(crate) struct Usage {
    pub(crate) user_us: u64,
    pub(crate) system_us: u64,
    pub(crate) max_rss_bytes: u64,
}

pub(crate) fn exit(code: usize) -> ! {
    loop {
        // SAFETY: a number; exit_group(2) does not return.
        let _never: Result<usize, Errno> =
            unsafe { call(number::EXIT_GROUP, [code, 0, 0, 0, 0, 0]) };
    }
}

/// A copy of this process in new namespaces: `None` in the child, its pid and pidfd in the parent (clone3(2)).
pub(crate) fn clone_into(namespaces: u64) -> Result<Option<(u32, Fd)>, Errno> {
    let mut pidfd: Fd = -1;
    let mut arguments = [0u64; 11];
    let filled = [namespaces | CLONE_PIDFD, &raw mut pidfd as u64, 0, 0, SIGCHLD as u64];
    for (place, value) in arguments.iter_mut().zip(filled) {
        *place = value;
    }
    // SAFETY: `arguments` is a live `struct clone_args` of 88 bytes whose only pointer is to `pidfd`. Memory is not
    // shared (no CLONE_VM), so the child goes on with its own copy of this stack; there is one thread.
    let pid = unsafe { call(number::CLONE3, [arguments.as_ptr() as usize, 88, 0, 0, 0, 0]) }?;
    // SAFETY: `pidfd` is a live local; the read is volatile because the kernel wrote it behind the compiler's back.
    let pidfd = unsafe { (&raw const pidfd).read_volatile() };
    Ok((pid != 0).then_some((pid as u32, pidfd)))
}

pub(crate) fn unshare(namespaces: u64) -> Result<(), Errno> {
    // SAFETY: numbers only.
    unsafe { call(number::UNSHARE, [namespaces as usize, 0, 0, 0, 0, 0]) }.map(drop)
}

/// Starts `entry(argument)` as a child on `stack_top`; returns when it has executed a program or ended.
///
/// # Safety
/// As [`super::call::vfork`].
pub(crate) unsafe fn vfork(
    stack_top: usize,
    entry: extern "C" fn(usize) -> !,
    argument: usize,
) -> Result<u32, Errno> {
    let flags = CLONE_VM | CLONE_VFORK | SIGCHLD;
    // SAFETY: passed on to the caller.
    Ok(unsafe { super::call::vfork(flags, stack_top, entry, argument) }? as u32)
}

/// Executes a program.
///
/// # Safety
/// `path` is NUL-terminated; `argv` and `envp` are null-terminated arrays of NUL-terminated strings; all live.
pub(crate) unsafe fn execve(path: *const u8, argv: *const usize, envp: *const usize) -> Errno {
    // SAFETY: the caller vouches for the three pointers; the kernel only reads them.
    let answer =
        unsafe { call(number::EXECVE, [path as usize, argv as usize, envp as usize, 0, 0, 0]) };
    answer.err().unwrap_or(Errno::INVALID)
}

/// Waits for any child, also one made by clone with another exit signal. `Ok(None)`: none has ended yet (`block` false).
pub(crate) fn wait_any(block: bool) -> Result<Option<(u32, u32)>, Errno> {
    let mut status = 0u32;
    let options = 0x4000_0000 | usize::from(!block);
    // SAFETY: `status` is live and four bytes; 0x40000000 is __WALL, 1 is WNOHANG.
    let pid =
        unsafe { call(number::WAIT4, [usize::MAX, &raw mut status as usize, options, 0, 0, 0]) }?;
    Ok((pid != 0).then_some((pid as u32, status)))
}

/// Sends `signal` to every process of this pid namespace except its init (kill(2) with -1, called by the init).
pub(crate) fn signal_everyone(signal: usize) {
    // SAFETY: numbers only; it fails with ESRCH when nobody is left, which is what is wanted.
    let _nobody: Result<usize, Errno> =
        unsafe { call(number::KILL, [usize::MAX, signal, 0, 0, 0, 0]) };
}

pub(crate) fn usage_of_children() -> Usage {
    let mut usage = [0i64; 18];
    // SAFETY: `usage` is a live `struct rusage` of 144 bytes; -1 is RUSAGE_CHILDREN.
    let _told: Result<usize, Errno> =
        unsafe { call(number::GETRUSAGE, [usize::MAX, usage.as_mut_ptr() as usize, 0, 0, 0, 0]) };
    let [user_s, user_us, system_s, system_us, max_rss_kib, ..] = usage;
    Usage {
        user_us: (user_s * 1_000_000 + user_us) as u64,
        system_us: (system_s * 1_000_000 + system_us) as u64,
        max_rss_bytes: (max_rss_kib * 1024) as u64,
    }
}

pub(crate) fn set_limit(resource: u32, most: u64) -> Result<(), Errno> {
    let mut now = [0u64; 2];
    let place = now.as_mut_ptr() as usize;
    // SAFETY: `now` is a live `struct rlimit64` that the kernel fills.
    unsafe { call(number::PRLIMIT64, [0, resource as usize, 0, place, 0, 0]) }?;
    let [_, ceiling] = now;
    let bound = most.min(ceiling);
    let wanted = [bound, bound];
    let place = wanted.as_ptr() as usize;
    // SAFETY: `wanted` is a live `struct rlimit64`, only read.
    unsafe { call(number::PRLIMIT64, [0, resource as usize, place, 0, 0, 0]) }.map(drop)
}

fn prctl(what: usize, value: usize) -> Result<usize, Errno> {
    // SAFETY: every option used here takes numbers only (prctl(2)).
    unsafe { call(number::PRCTL, [what, value, 0, 0, 0, 0]) }
}

/// Ask the kernel to end this process when its parent ends. Cleared by every change of identity.
pub(crate) fn die_with_parent() -> Result<(), Errno> {
    prctl(PR_SET_PDEATHSIG, SIGKILL).map(drop)
}

/// Others of the same user may not look into this process (`/proc/1/mem`, ptrace, pidfd_getfd).
pub(crate) fn hide_from_peers() -> Result<(), Errno> {
    prctl(PR_SET_DUMPABLE, 0).map(drop)
}

pub(crate) fn no_new_privileges() -> Result<(), Errno> {
    prctl(PR_SET_NO_NEW_PRIVS, 1).map(drop)
}

/// Empties the bounding set, then the permitted, effective and inheritable sets (capabilities(7)).
pub(crate) fn drop_capabilities() -> Result<(), Errno> {
    for capability in 0..64 {
        match prctl(PR_CAPBSET_DROP, capability) {
            Ok(_) => {}
            // The first number that this kernel does not know ends the list.
            Err(Errno::INVALID) => break,
            Err(error) => return Err(error),
        }
    }
    let header = [0x2008_0522u32, 0];
    let none = [0u32; 6];
    // SAFETY: `header` and `none` are a live version 3 header and its two data entries, only read.
    unsafe { call(number::CAPSET, [header.as_ptr() as usize, none.as_ptr() as usize, 0, 0, 0, 0]) }
        .map(drop)
}

pub(crate) fn leave_groups() -> Result<(), Errno> {
    // SAFETY: a count of zero; the pointer is not read.
    unsafe { call(number::SETGROUPS, [0, 0, 0, 0, 0, 0]) }.map(drop)
}

/// Becomes `uid` and `gid`, real, effective and saved.
pub(crate) fn become_user(uid: u32, gid: u32) -> Result<(), Errno> {
    let (uid, gid) = (uid as usize, gid as usize);
    // SAFETY: numbers only. The group goes first, while there is still the right to change it.
    unsafe { call(number::SETRESGID, [gid, gid, gid, 0, 0, 0]) }?;
    // SAFETY: numbers only.
    unsafe { call(number::SETRESUID, [uid, uid, uid, 0, 0, 0]) }.map(drop)
}

/// A session of its own: no controlling terminal.
pub(crate) fn new_session() -> Result<(), Errno> {
    // SAFETY: no arguments.
    unsafe { call(number::SETSID, [0; 6]) }.map(drop)
}

/// Every signal does what it does by default, whatever the daemon ignored.
pub(crate) fn default_signals() {
    let action = [0usize; 4];
    for signal in 1..=64 {
        // SAFETY: `action` is a live, all-zero `struct sigaction` (SIG_DFL), only read; refused for the two
        // signals that cannot be changed, which is fine.
        let _kept: Result<usize, Errno> =
            unsafe { call(number::RT_SIGACTION, [signal, action.as_ptr() as usize, 0, 8, 0, 0]) };
    }
}

/// Replaces the mask of blocked signals.
pub(crate) fn block_signals(mask: u64) -> Result<(), Errno> {
    let place = &raw const mask as usize;
    // SAFETY: `mask` is live and eight bytes; 2 is SIG_SETMASK.
    unsafe { call(number::RT_SIGPROCMASK, [2, place, 0, 8, 0, 0]) }.map(drop)
}

/// A descriptor that is readable when one of `mask` is pending (signalfd(2)).
pub(crate) fn signal_fd(mask: u64) -> Result<Fd, Errno> {
    let place = &raw const mask as usize;
    // SAFETY: `mask` is live and eight bytes; 0o2004000 is SFD_CLOEXEC | SFD_NONBLOCK.
    Ok(unsafe { call(number::SIGNALFD4, [usize::MAX, place, 8, 0o2_004_000, 0, 0]) }? as Fd)
}

/// Loads a seccomp program made by the daemon: `program` is an array of `struct sock_filter` (seccomp(2)).
pub(crate) fn load_filter(program: &[u8]) -> Result<(), Errno> {
    let program_header = [program.len() / 8, program.as_ptr() as usize];
    let place = program_header.as_ptr() as usize;
    // SAFETY: `program_header` has the layout of `struct sock_fprog` on 64-bit machines and points to a live slice;
    // 1 is SECCOMP_SET_MODE_FILTER.
    unsafe { call(number::SECCOMP, [1, 0, place, 0, 0, 0]) }.map(drop)
}

pub(crate) fn set_host_name(name: &[u8]) -> Result<(), Errno> {
    // SAFETY: a live slice and its length, only read.
    unsafe { call(number::SETHOSTNAME, [name.as_ptr() as usize, name.len(), 0, 0, 0, 0]) }.map(drop)
}

/// Fresh zeroed memory, never given back.
pub(crate) fn memory(bytes: usize) -> Result<&'static mut [u8], Errno> {
    let private_anonymous = 0x22;
    // SAFETY: a new mapping at an address of the kernel's choice, readable and writable.
    let place = unsafe { call(number::MMAP, [0, bytes, 3, private_anonymous, usize::MAX, 0]) }?;
    // SAFETY: the mapping is `bytes` long, zeroed, page-aligned, never unmapped, and this is the only reference to it.
    Ok(unsafe { core::slice::from_raw_parts_mut(place as *mut u8, bytes) })
}
