//! The four memory functions that compiled code may call, because there is no C library to have them.
//! They must never be written as loops that a compiler would turn into calls of themselves.

#[cfg(target_arch = "x86_64")]
use core::arch::asm;

/// memcpy(3).
///
/// # Safety
/// As memcpy(3): both regions are `count` bytes, live, and do not overlap.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(into: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: copies `count` bytes upwards between the regions that the caller vouches for.
    unsafe {
        asm!("rep movsb", inout("rcx") count => _, inout("rdi") into => _, inout("rsi") from => _,
            options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "x86_64"))]
    for at in 0..count {
        // SAFETY: within the regions that the caller vouches for; volatile, so that it stays a loop.
        unsafe { into.add(at).write_volatile(from.add(at).read_volatile()) };
    }
    into
}

/// memmove(3).
///
/// # Safety
/// As memmove(3): both regions are `count` bytes and live.
#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(into: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    if (into as usize) <= (from as usize) || (into as usize) >= (from as usize) + count {
        for at in 0..count {
            // SAFETY: within the regions; upwards never overwrites what is still to be read here.
            unsafe { into.add(at).write_volatile(from.add(at).read_volatile()) };
        }
    } else {
        for at in (0..count).rev() {
            // SAFETY: within the regions; downwards never overwrites what is still to be read here.
            unsafe { into.add(at).write_volatile(from.add(at).read_volatile()) };
        }
    }
    into
}

/// memset(3).
///
/// # Safety
/// As memset(3): the region is `count` bytes and live.
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(into: *mut u8, byte: i32, count: usize) -> *mut u8 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: fills `count` bytes upwards of the region that the caller vouches for.
    unsafe {
        asm!("rep stosb", inout("rcx") count => _, inout("rdi") into => _, in("al") byte as u8,
            options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "x86_64"))]
    for at in 0..count {
        // SAFETY: within the region that the caller vouches for; volatile, so that it stays a loop.
        unsafe { into.add(at).write_volatile(byte as u8) };
    }
    into
}

/// memcmp(3).
///
/// # Safety
/// As memcmp(3): both regions are `count` bytes and live.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(left: *const u8, right: *const u8, count: usize) -> i32 {
    for at in 0..count {
        // SAFETY: within the regions that the caller vouches for; volatile, so that it stays a loop.
        let (a, b) = unsafe { (left.add(at).read_volatile(), right.add(at).read_volatile()) };
        if a != b {
            return i32::from(a) - i32::from(b);
        }
    }
    0
}

/// bcmp(3).
///
/// # Safety
/// As [`memcmp`].
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(left: *const u8, right: *const u8, count: usize) -> i32 {
    // SAFETY: passed on to the caller.
    unsafe { memcmp(left, right, count) }
}

/// strlen(3), which `CStr` uses.
///
/// # Safety
/// As strlen(3): `text` is live and NUL-terminated.
#[unsafe(no_mangle)]
unsafe extern "C" fn strlen(text: *const u8) -> usize {
    let mut length = 0;
    // SAFETY: within the text that the caller vouches for; volatile, so that it stays a loop.
    while unsafe { text.add(length).read_volatile() } != 0 {
        length += 1;
    }
    length
}
