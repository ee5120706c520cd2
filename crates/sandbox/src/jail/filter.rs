//! The system-call filter: a seccomp program (seccomp(2)) that refuses the few doors which namespaces and dropped
//! capabilities leave open. Made here as data and loaded by the helper.
//! It must never kill, because a refused call is an answer that programs understand.

/// Numbers of the refused calls on this machine, each with the door that it opens.
#[cfg(target_arch = "x86_64")]
mod number {
    pub(super) const ARCHITECTURE: u32 = 0xC000_003E;
    pub(super) const IOCTL: u32 = 16;
    pub(super) const SOCKET: u32 = 41;
    pub(super) const SOCKETPAIR: u32 = 53;
    pub(super) const CLONE: u32 = 56;
    pub(super) const UNSHARE: u32 = 272;
    pub(super) const REFUSED: [u32; 12] = [
        // Mounts, roots and namespaces: only useful to leave the view.
        165, 166, 155, 161, 308, // Keys are not namespaced: add_key, request_key, keyctl.
        248, 249, 250,
        // Kernel surface with a bad record: perf_event_open, bpf, userfaultfd.
        298, 321, 323, // Opens files by number, past every path: open_by_handle_at.
        304,
    ];
}

/// Numbers of the refused calls on this machine, in the same order.
#[cfg(target_arch = "aarch64")]
mod number {
    pub(super) const ARCHITECTURE: u32 = 0xC000_00B7;
    pub(super) const IOCTL: u32 = 29;
    pub(super) const SOCKET: u32 = 198;
    pub(super) const SOCKETPAIR: u32 = 199;
    pub(super) const CLONE: u32 = 220;
    pub(super) const UNSHARE: u32 = 97;
    pub(super) const REFUSED: [u32; 12] = [40, 39, 41, 51, 268, 217, 218, 219, 241, 280, 282, 265];
}

/// The mount calls since 5.2 and io_uring (which does socket and file calls that a filter never sees).
const REFUSED_EVERYWHERE: [u32; 11] = [425, 426, 427, 428, 429, 430, 431, 432, 433, 442, 467];
const CLONE3: u32 = 435;
/// Every namespace flag that clone(2) and unshare(2) share.
const NAMESPACES: u32 = 0x7E02_0000;
/// unix, inet, inet6: what an own network namespace contains. Netlink is allowed for its route protocol alone.
const FAMILIES: [u32; 3] = [1, 2, 10];
const NETLINK: u32 = 16;
/// Writing into a terminal's input: TIOCSTI and TIOCLINUX.
const TERMINAL_INPUT: [u32; 2] = [0x5412, 0x541C];

const EPERM: u32 = 1;
const ENOSYS: u32 = 38;
const EAFNOSUPPORT: u32 = 97;

const LOAD: u16 = 0x20;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_AT_LEAST: u16 = 0x35;
const JUMP_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;
const ALLOW: u32 = 0x7FFF_0000;
const ERRNO: u32 = 0x0005_0000;

const AT_NUMBER: u32 = 0;
const AT_ARCHITECTURE: u32 = 4;
const AT_FIRST: u32 = 16;
const AT_SECOND: u32 = 24;
const AT_THIRD: u32 = 32;

/// Instructions in the kernel's encoding, 8 bytes each.
#[derive(Default)]
struct Program {
    bytes: Vec<u8>,
}

impl Program {
    fn push(&mut self, code: u16, on_true: u8, on_false: u8, operand: u32) {
        self.bytes.extend_from_slice(&code.to_ne_bytes());
        self.bytes.extend_from_slice(&[on_true, on_false]);
        self.bytes.extend_from_slice(&operand.to_ne_bytes());
    }

    fn load(&mut self, at: u32) {
        self.push(LOAD, 0, 0, at);
    }

    fn give(&mut self, verdict: u32) {
        self.push(RETURN, 0, 0, verdict);
    }

    /// Refuses with `errno` when the loaded word passes `test` against `operand`.
    fn refuse_if(&mut self, test: u16, operand: u32, errno: u32) {
        self.push(test, 0, 1, operand);
        self.give(ERRNO | errno);
    }

    /// For the call `number`: what `block` says, and nothing else afterwards. The call number is loaded before and after.
    fn for_call(&mut self, number: u32, block: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        block(&mut inner);
        let length = u8::try_from(inner.bytes.len() / 8).unwrap_or(u8::MAX);
        self.push(JUMP_EQUAL, 0, length, number);
        self.bytes.append(&mut inner.bytes);
    }
}

/// The program as the helper loads it.
pub(crate) fn program() -> Vec<u8> {
    let mut program = Program::default();
    program.load(AT_ARCHITECTURE);
    // A second instruction set has other numbers, so it is refused as a whole.
    program.push(JUMP_EQUAL, 1, 0, number::ARCHITECTURE);
    program.give(ERRNO | ENOSYS);
    program.load(AT_NUMBER);
    if cfg!(target_arch = "x86_64") {
        // The x32 numbers of the same instruction set.
        program.refuse_if(JUMP_AT_LEAST, 0x4000_0000, ENOSYS);
    }
    for refused in number::REFUSED.into_iter().chain(REFUSED_EVERYWHERE) {
        program.refuse_if(JUMP_EQUAL, refused, EPERM);
    }
    // Its flags lie in memory, out of a filter's sight; C libraries fall back to clone.
    program.refuse_if(JUMP_EQUAL, CLONE3, ENOSYS);
    for call in [number::CLONE, number::UNSHARE] {
        program.for_call(call, |block| {
            block.load(AT_FIRST);
            block.refuse_if(JUMP_ANY_BIT, NAMESPACES, EPERM);
            block.give(ALLOW);
        });
    }
    program.for_call(number::IOCTL, |block| {
        // The kernel reads the low half of the command only, and so does this.
        block.load(AT_SECOND);
        for command in TERMINAL_INPUT {
            block.refuse_if(JUMP_EQUAL, command, EPERM);
        }
        block.give(ALLOW);
    });
    for call in [number::SOCKET, number::SOCKETPAIR] {
        program.for_call(call, families);
    }
    program.give(ALLOW);
    program.bytes
}

fn families(block: &mut Program) {
    block.load(AT_FIRST);
    for family in FAMILIES {
        block.push(JUMP_EQUAL, 0, 1, family);
        block.give(ALLOW);
    }
    block.push(JUMP_EQUAL, 1, 0, NETLINK);
    block.give(ERRNO | EAFNOSUPPORT);
    block.load(AT_THIRD);
    block.push(JUMP_EQUAL, 1, 0, 0);
    block.give(ERRNO | EAFNOSUPPORT);
    block.give(ALLOW);
}
