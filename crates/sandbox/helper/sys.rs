//! Files, mounts and descriptors for the helper: each call takes references and gives a value or the error number.
//! It must never build a path, retry with weaker arguments or hide an error.

use super::call::{Errno, call, number};
use core::ffi::CStr;

/// A descriptor number. The helper is short-lived and closes by range, so descriptors are not owned values here.
pub(crate) type Fd = i32;

pub(crate) const AT_FDCWD: Fd = -100;
const AT_EMPTY_PATH: usize = 0x1000;
const AT_RECURSIVE: usize = 0x8000;
const AT_SYMLINK_NOFOLLOW: usize = 0x100;
const O_CLOEXEC: usize = 0o2_000_000;

pub(crate) const O_WRONLY: usize = 1;
pub(crate) const O_CREAT: usize = 0o100;
pub(crate) const O_EXCL: usize = 0o200;
pub(crate) const O_PATH: usize = 0o10_000_000;
#[cfg(target_arch = "x86_64")]
pub(crate) const O_DIRECTORY: usize = 0o200_000;
#[cfg(target_arch = "aarch64")]
pub(crate) const O_DIRECTORY: usize = 0o40_000;
#[cfg(target_arch = "x86_64")]
pub(crate) const O_NOFOLLOW: usize = 0o400_000;
#[cfg(target_arch = "aarch64")]
pub(crate) const O_NOFOLLOW: usize = 0o100_000;

/// openat2(2) `resolve` bits.
pub(crate) const NO_MAGIC_LINKS: u64 = 0x02;
pub(crate) const NO_SYMLINKS: u64 = 0x04;
pub(crate) const BENEATH: u64 = 0x08;
pub(crate) const IN_ROOT: u64 = 0x10;

/// mount_setattr(2) attributes.
pub(crate) const ATTR_RDONLY: u64 = 0x01;
pub(crate) const ATTR_NOSUID: u64 = 0x02;
pub(crate) const ATTR_NODEV: u64 = 0x04;
pub(crate) const ATTR_NOEXEC: u64 = 0x08;
const ATTR_IDMAP: u64 = 0x0010_0000;
const MS_PRIVATE: u64 = 1 << 18;

/// What identifies a file: device and inode.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    device: (u32, u32),
    inode: u64,
    /// True for a directory.
    pub(crate) directory: bool,
}

fn at(path: &CStr) -> usize {
    path.as_ptr() as usize
}

fn fd(number: Fd) -> usize {
    number as isize as usize
}

pub(crate) fn openat(dir: Fd, path: &CStr, flags: usize, mode: usize) -> Result<Fd, Errno> {
    // SAFETY: `path` is a live NUL-terminated string, which openat(2) only reads.
    let answer =
        unsafe { call(number::OPENAT, [fd(dir), at(path), flags | O_CLOEXEC, mode, 0, 0]) }?;
    Ok(answer as Fd)
}

pub(crate) fn openat2(dir: Fd, path: &CStr, flags: usize, resolve: u64) -> Result<Fd, Errno> {
    let how = [(flags | O_CLOEXEC) as u64, 0, resolve];
    // SAFETY: `path` is a live NUL-terminated string and `how` is a live `struct open_how` of 24 bytes; both are only read.
    let answer =
        unsafe { call(number::OPENAT2, [fd(dir), at(path), how.as_ptr() as usize, 24, 0, 0]) }?;
    Ok(answer as Fd)
}

pub(crate) fn close(file: Fd) {
    // SAFETY: close(2) takes a number; nothing in the helper owns it as a Rust value.
    let _ended: Result<usize, Errno> = unsafe { call(number::CLOSE, [fd(file), 0, 0, 0, 0, 0]) };
}

/// Closes every descriptor from `first` on (close_range(2)).
pub(crate) fn close_from(first: Fd) -> Result<(), Errno> {
    // SAFETY: numbers only; nothing in the helper owns a descriptor as a Rust value.
    unsafe { call(number::CLOSE_RANGE, [fd(first), u32::MAX as usize, 0, 0, 0, 0]) }.map(drop)
}

pub(crate) fn dup_onto(from: Fd, onto: Fd) -> Result<(), Errno> {
    // SAFETY: numbers only.
    unsafe { call(number::DUP3, [fd(from), fd(onto), 0, 0, 0, 0]) }.map(drop)
}

pub(crate) fn read(file: Fd, into: &mut [u8]) -> Result<usize, Errno> {
    // SAFETY: the kernel writes at most `into.len()` bytes into `into`, which is borrowed mutably for the call.
    unsafe { call(number::READ, [fd(file), into.as_mut_ptr() as usize, into.len(), 0, 0, 0]) }
}

pub(crate) fn write(file: Fd, bytes: &[u8]) -> Result<usize, Errno> {
    // SAFETY: the kernel reads at most `bytes.len()` bytes from a live slice.
    unsafe { call(number::WRITE, [fd(file), bytes.as_ptr() as usize, bytes.len(), 0, 0, 0]) }
}

/// Writes all of it; a short write without progress is an error.
pub(crate) fn write_all(file: Fd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        let written = write(file, bytes)?;
        let Some((_, rest)) = bytes.split_at_checked(written) else {
            return Err(Errno::INVALID);
        };
        if written == 0 {
            return Err(Errno::INVALID);
        }
        bytes = rest;
    }
    Ok(())
}

pub(crate) fn identity(file: Fd) -> Result<Identity, Errno> {
    let mut stat = [0u32; 64];
    let basic = 0x7ff;
    // SAFETY: `stat` is the 256 bytes of `struct statx`, aligned for its 8-byte members by the array's use as
    // plain words (the kernel copies bytes); the empty path is a live string.
    unsafe {
        let place = stat.as_mut_ptr() as usize;
        call(number::STATX, [fd(file), at(c""), AT_EMPTY_PATH, basic, place, 0])
    }?;
    let word = |index: usize| stat.get(index).copied().unwrap_or(0);
    let inode = if cfg!(target_endian = "little") {
        u64::from(word(8)) | u64::from(word(9)) << 32
    } else {
        u64::from(word(9)) | u64::from(word(8)) << 32
    };
    let mode = if cfg!(target_endian = "little") { word(7) & 0xffff } else { word(7) >> 16 };
    Ok(Identity { device: (word(34), word(35)), inode, directory: mode & 0o170_000 == 0o040_000 })
}

pub(crate) fn mkdirat(dir: Fd, path: &CStr, mode: usize) -> Result<(), Errno> {
    // SAFETY: `path` is a live NUL-terminated string, only read.
    unsafe { call(number::MKDIRAT, [fd(dir), at(path), mode, 0, 0, 0]) }.map(drop)
}

pub(crate) fn symlinkat(target: &CStr, dir: Fd, path: &CStr) -> Result<(), Errno> {
    // SAFETY: both are live NUL-terminated strings, only read.
    unsafe { call(number::SYMLINKAT, [at(target), fd(dir), at(path), 0, 0, 0]) }.map(drop)
}

pub(crate) fn chown(dir: Fd, path: &CStr, uid: u32, gid: u32) -> Result<(), Errno> {
    let arguments = [fd(dir), at(path), uid as usize, gid as usize, AT_SYMLINK_NOFOLLOW, 0];
    // SAFETY: `path` is a live NUL-terminated string, only read.
    unsafe { call(number::FCHOWNAT, arguments) }.map(drop)
}

pub(crate) fn umask(mask: usize) {
    // SAFETY: a number; umask(2) cannot fail.
    let _before: Result<usize, Errno> = unsafe { call(number::UMASK, [mask, 0, 0, 0, 0, 0]) };
}

pub(crate) fn chdir(path: &CStr) -> Result<(), Errno> {
    // SAFETY: `path` is a live NUL-terminated string, only read.
    unsafe { call(number::CHDIR, [at(path), 0, 0, 0, 0, 0]) }.map(drop)
}

pub(crate) fn fchdir(dir: Fd) -> Result<(), Errno> {
    // SAFETY: numbers only.
    unsafe { call(number::FCHDIR, [fd(dir), 0, 0, 0, 0, 0]) }.map(drop)
}

/// A configuration context for a new file system (fsopen(2)).
pub(crate) fn fsopen(kind: &CStr) -> Result<Fd, Errno> {
    // SAFETY: `kind` is a live NUL-terminated string; 1 is FSOPEN_CLOEXEC.
    Ok(unsafe { call(number::FSOPEN, [at(kind), 1, 0, 0, 0, 0]) }? as Fd)
}

pub(crate) fn fsconfig(context: Fd, key: &CStr, value: &CStr) -> Result<(), Errno> {
    // SAFETY: both are live NUL-terminated strings; 1 is FSCONFIG_SET_STRING.
    unsafe { call(number::FSCONFIG, [fd(context), 1, at(key), at(value), 0, 0]) }.map(drop)
}

/// Makes the file system and a detached mount of it (fsmount(2)); the context is closed.
pub(crate) fn fsmount(context: Fd, attributes: u64) -> Result<Fd, Errno> {
    // SAFETY: numbers only; 6 is FSCONFIG_CMD_CREATE.
    let made = unsafe { call(number::FSCONFIG, [fd(context), 6, 0, 0, 0, 0]) };
    let mounted = made.and_then(|_| {
        // SAFETY: numbers only; 1 is FSMOUNT_CLOEXEC.
        unsafe { call(number::FSMOUNT, [fd(context), 1, attributes as usize, 0, 0, 0]) }
    });
    close(context);
    Ok(mounted? as Fd)
}

/// A detached copy of the mount tree at `file`, with what is mounted below it (open_tree(2)).
pub(crate) fn clone_tree(file: Fd) -> Result<Fd, Errno> {
    let flags = AT_EMPTY_PATH | AT_RECURSIVE | O_CLOEXEC | 1;
    // SAFETY: the empty path is a live string; 1 is OPEN_TREE_CLONE.
    Ok(unsafe { call(number::OPEN_TREE, [fd(file), at(c""), flags, 0, 0, 0]) }? as Fd)
}

/// Puts a detached mount onto the object `target` (move_mount(2)).
pub(crate) fn attach(mount: Fd, target: Fd) -> Result<(), Errno> {
    // SAFETY: the empty paths are live strings; 0x44 is F_EMPTY_PATH | T_EMPTY_PATH.
    unsafe { call(number::MOVE_MOUNT, [fd(mount), at(c""), fd(target), at(c""), 0x44, 0]) }
        .map(drop)
}

fn set_attributes(mount: Fd, path: &CStr, how: usize, attributes: [u64; 4]) -> Result<(), Errno> {
    let place = attributes.as_ptr() as usize;
    // SAFETY: `path` is a live string and `attributes` a live `struct mount_attr` of 32 bytes, both only read.
    unsafe { call(number::MOUNT_SETATTR, [fd(mount), at(path), how, place, 32, 0]) }.map(drop)
}

/// Adds restrictions to a mount; `deep` includes what is mounted below it.
pub(crate) fn restrict(mount: Fd, attributes: u64, deep: bool) -> Result<(), Errno> {
    let how = AT_EMPTY_PATH | if deep { AT_RECURSIVE } else { 0 };
    set_attributes(mount, c"", how, [attributes, 0, 0, 0])
}

/// Translates owners of a detached mount by the map of `user_namespace`.
pub(crate) fn map_ids(mount: Fd, user_namespace: Fd) -> Result<(), Errno> {
    let how = AT_EMPTY_PATH | AT_RECURSIVE;
    set_attributes(mount, c"", how, [ATTR_IDMAP, 0, 0, user_namespace as u64])
}

/// Cuts every mount of this namespace off from the host's: no event travels either way.
pub(crate) fn make_all_private() -> Result<(), Errno> {
    set_attributes(AT_FDCWD, c"/", AT_RECURSIVE, [0, 0, MS_PRIVATE, 0])
}

/// Makes the mount at the working directory the root, and lets go of the old one.
pub(crate) fn pivot_here() -> Result<(), Errno> {
    // SAFETY: live strings, only read. `.` twice stacks the old root on the new one (pivot_root(2), notes).
    unsafe { call(number::PIVOT_ROOT, [at(c"."), at(c"."), 0, 0, 0, 0]) }?;
    // SAFETY: a live string; 2 is MNT_DETACH.
    unsafe { call(number::UMOUNT2, [at(c"."), 2, 0, 0, 0, 0]) }?;
    chdir(c"/")
}
