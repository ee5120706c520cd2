//! The static helper: a few kilobytes without a C library that become launcher and init of a sandbox.
//! Built by `build.rs`, embedded in the library, executed from a sealed memory file. It must never depend on
//! anything of the host's files, and has no state of its own.

#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "system calls and process entry; every block carries its proof")]

mod call;
mod init;
mod launch;
mod memory;
mod process;
#[allow(dead_code, reason = "shared with the daemon, and each side uses its half")]
#[path = "../src/protocol.rs"]
mod protocol;
mod socket;
mod sys;
mod view;

#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".globl _start",
    "_start:",
    "xor ebp, ebp",
    "and rsp, -16",
    "call {main}",
    "ud2",
    main = sym main,
);

#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(
    ".globl _start",
    "_start:",
    "mov x29, xzr",
    "mov x30, xzr",
    "bl {main}",
    "brk 1",
    main = sym main,
);

extern "C" fn main() -> ! {
    launch::run()
}

/// There is nobody to tell and nothing to save: the closed socket tells the daemon, who calls it lost.
#[panic_handler]
fn panic(_why: &core::panic::PanicInfo<'_>) -> ! {
    process::exit(101)
}
