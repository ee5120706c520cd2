//! The system call instruction, the numbers and the way to start a child, for x86-64 and aarch64.
//! The only file that knows a processor. It must never hold state or decide anything.

use core::arch::asm;

/// An error number of the kernel (errno(3)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) u32);

impl Errno {
    pub(crate) const NO_ENTRY: Self = Self(2);
    pub(crate) const INTERRUPTED: Self = Self(4);
    pub(crate) const ACCESS: Self = Self(13);
    pub(crate) const EXISTS: Self = Self(17);
    pub(crate) const NOT_DIRECTORY: Self = Self(20);
    pub(crate) const INVALID: Self = Self(22);
    pub(crate) const NAME_TOO_LONG: Self = Self(36);
    pub(crate) const STALE: Self = Self(116);
}

/// Turns the kernel's answer into a value or an error number (syscalls(2)).
fn outcome(answer: isize) -> Result<usize, Errno> {
    if (-4095..0).contains(&answer) {
        Err(Errno(answer.unsigned_abs() as u32))
    } else {
        Ok(answer.unsigned_abs())
    }
}

/// One system call.
///
/// # Safety
/// `arguments` must be valid for call `number`: pointers live and large enough for what the kernel reads or writes there.
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe fn call(number: usize, arguments: [usize; 6]) -> Result<usize, Errno> {
    let [a, b, c, d, e, f] = arguments;
    let answer: isize;
    // SAFETY: the x86-64 convention of syscall(2); rcx and r11 are clobbered as declared, and the caller
    // vouches for the arguments.
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => answer, in("rdi") a, in("rsi") b, in("rdx") c,
            in("r10") d, in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    outcome(answer)
}

/// One system call.
///
/// # Safety
/// `arguments` must be valid for call `number`: pointers live and large enough for what the kernel reads or writes there.
#[cfg(target_arch = "aarch64")]
pub(crate) unsafe fn call(number: usize, arguments: [usize; 6]) -> Result<usize, Errno> {
    let [a, b, c, d, e, f] = arguments;
    let answer: isize;
    // SAFETY: the aarch64 convention of syscall(2); the caller vouches for the arguments.
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") a as isize => answer, in("x1") b, in("x2") c,
            in("x3") d, in("x4") e, in("x5") f, options(nostack));
    }
    outcome(answer)
}

/// Starts a child that shares this memory and holds its parent still until it executes or exits
/// (`CLONE_VM | CLONE_VFORK`), on a stack of its own.
///
/// # Safety
/// `stack_top` must be 16-byte aligned with room below that nothing else uses; `entry` must not return; both
/// must tolerate that memory is shared.
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe fn vfork(
    flags: usize,
    stack_top: usize,
    entry: extern "C" fn(usize) -> !,
    argument: usize,
) -> Result<usize, Errno> {
    let answer: isize;
    // SAFETY: the child wakes with rax = 0 on `stack_top` and only calls `entry`; the parent's registers are
    // preserved by the kernel. The caller vouches for the stack and for `entry`.
    unsafe {
        asm!("syscall", "test rax, rax", "jnz 2f", "xor ebp, ebp", "mov rdi, r13", "call r12", "ud2", "2:",
            inlateout("rax") number::CLONE as isize => answer, in("rdi") flags, in("rsi") stack_top,
            in("rdx") 0usize, in("r10") 0usize, in("r8") 0usize, in("r12") entry as usize, in("r13") argument,
            lateout("rcx") _, lateout("r11") _);
    }
    outcome(answer)
}

/// Starts a child that shares this memory and holds its parent still until it executes or exits
/// (`CLONE_VM | CLONE_VFORK`), on a stack of its own.
///
/// # Safety
/// `stack_top` must be 16-byte aligned with room below that nothing else uses; `entry` must not return; both
/// must tolerate that memory is shared.
#[cfg(target_arch = "aarch64")]
pub(crate) unsafe fn vfork(
    flags: usize,
    stack_top: usize,
    entry: extern "C" fn(usize) -> !,
    argument: usize,
) -> Result<usize, Errno> {
    let answer: isize;
    // SAFETY: the child wakes with x0 = 0 on `stack_top` and only calls `entry`; the parent's registers are
    // preserved by the kernel. The caller vouches for the stack and for `entry`.
    unsafe {
        asm!("svc 0", "cbnz x0, 2f", "mov x29, xzr", "mov x0, x21", "blr x20", "brk 1", "2:",
            in("x8") number::CLONE, inlateout("x0") flags as isize => answer, in("x1") stack_top,
            in("x2") 0usize, in("x3") 0usize, in("x4") 0usize, in("x20") entry as usize, in("x21") argument,
            lateout("x30") _);
    }
    outcome(answer)
}

/// System call numbers: `asm/unistd_64.h`.
#[cfg(target_arch = "x86_64")]
pub(crate) mod number {
    pub(crate) const READ: usize = 0;
    pub(crate) const WRITE: usize = 1;
    pub(crate) const CLOSE: usize = 3;
    pub(crate) const MMAP: usize = 9;
    pub(crate) const RT_SIGACTION: usize = 13;
    pub(crate) const RT_SIGPROCMASK: usize = 14;
    pub(crate) const IOCTL: usize = 16;
    pub(crate) const SOCKET: usize = 41;
    pub(crate) const SENDMSG: usize = 46;
    pub(crate) const RECVMSG: usize = 47;
    pub(crate) const SOCKETPAIR: usize = 53;
    pub(crate) const CLONE: usize = 56;
    pub(crate) const EXECVE: usize = 59;
    pub(crate) const WAIT4: usize = 61;
    pub(crate) const KILL: usize = 62;
    pub(crate) const CHDIR: usize = 80;
    pub(crate) const FCHDIR: usize = 81;
    pub(crate) const UMASK: usize = 95;
    pub(crate) const GETRUSAGE: usize = 98;
    pub(crate) const SETSID: usize = 112;
    pub(crate) const SETGROUPS: usize = 116;
    pub(crate) const SETRESUID: usize = 117;
    pub(crate) const SETRESGID: usize = 119;
    pub(crate) const CAPSET: usize = 126;
    pub(crate) const PIVOT_ROOT: usize = 155;
    pub(crate) const PRCTL: usize = 157;
    pub(crate) const UMOUNT2: usize = 166;
    pub(crate) const SETHOSTNAME: usize = 170;
    pub(crate) const EXIT_GROUP: usize = 231;
    pub(crate) const OPENAT: usize = 257;
    pub(crate) const MKDIRAT: usize = 258;
    pub(crate) const FCHOWNAT: usize = 260;
    pub(crate) const SYMLINKAT: usize = 266;
    pub(crate) const PPOLL: usize = 271;
    pub(crate) const UNSHARE: usize = 272;
    pub(crate) const SIGNALFD4: usize = 289;
    pub(crate) const DUP3: usize = 292;
    pub(crate) const PRLIMIT64: usize = 302;
    pub(crate) const SECCOMP: usize = 317;
    pub(crate) const STATX: usize = 332;
    pub(crate) use super::unified::*;
}

/// System call numbers: `asm-generic/unistd.h`.
#[cfg(target_arch = "aarch64")]
pub(crate) mod number {
    pub(crate) const READ: usize = 63;
    pub(crate) const WRITE: usize = 64;
    pub(crate) const CLOSE: usize = 57;
    pub(crate) const MMAP: usize = 222;
    pub(crate) const RT_SIGACTION: usize = 134;
    pub(crate) const RT_SIGPROCMASK: usize = 135;
    pub(crate) const IOCTL: usize = 29;
    pub(crate) const SOCKET: usize = 198;
    pub(crate) const SENDMSG: usize = 211;
    pub(crate) const RECVMSG: usize = 212;
    pub(crate) const SOCKETPAIR: usize = 199;
    pub(crate) const CLONE: usize = 220;
    pub(crate) const EXECVE: usize = 221;
    pub(crate) const WAIT4: usize = 260;
    pub(crate) const KILL: usize = 129;
    pub(crate) const CHDIR: usize = 49;
    pub(crate) const FCHDIR: usize = 50;
    pub(crate) const UMASK: usize = 166;
    pub(crate) const GETRUSAGE: usize = 165;
    pub(crate) const SETSID: usize = 157;
    pub(crate) const SETGROUPS: usize = 159;
    pub(crate) const SETRESUID: usize = 147;
    pub(crate) const SETRESGID: usize = 149;
    pub(crate) const CAPSET: usize = 91;
    pub(crate) const PIVOT_ROOT: usize = 41;
    pub(crate) const PRCTL: usize = 167;
    pub(crate) const UMOUNT2: usize = 39;
    pub(crate) const SETHOSTNAME: usize = 161;
    pub(crate) const EXIT_GROUP: usize = 94;
    pub(crate) const OPENAT: usize = 56;
    pub(crate) const MKDIRAT: usize = 34;
    pub(crate) const FCHOWNAT: usize = 54;
    pub(crate) const SYMLINKAT: usize = 36;
    pub(crate) const PPOLL: usize = 73;
    pub(crate) const UNSHARE: usize = 97;
    pub(crate) const SIGNALFD4: usize = 74;
    pub(crate) const DUP3: usize = 24;
    pub(crate) const PRLIMIT64: usize = 261;
    pub(crate) const SECCOMP: usize = 277;
    pub(crate) const STATX: usize = 291;
    pub(crate) use super::unified::*;
}

/// Numbers since 5.1 are the same everywhere.
mod unified {
    pub(crate) const OPEN_TREE: usize = 428;
    pub(crate) const MOVE_MOUNT: usize = 429;
    pub(crate) const FSOPEN: usize = 430;
    pub(crate) const FSCONFIG: usize = 431;
    pub(crate) const FSMOUNT: usize = 432;
    pub(crate) const CLONE3: usize = 435;
    pub(crate) const CLOSE_RANGE: usize = 436;
    pub(crate) const OPENAT2: usize = 437;
    pub(crate) const MOUNT_SETATTR: usize = 442;
}
