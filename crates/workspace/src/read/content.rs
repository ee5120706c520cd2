//! The whole content of one file, with the object it came from.
//!
//! It is read from one descriptor that was identified before, and only counts when nothing moved meanwhile.
//! It must never open anything but a regular file, nor load more than the caller's bound.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;

use sha2::{Digest, Sha256};

use crate::error::AccessError;
use crate::guard::Guard;
use crate::path::RepoPath;
use crate::read::ReadError;
use crate::root::beneath::{self, FileKind, Status};
use crate::root::{Resolved, Workspace};

/// How often a file is read again that changed while it was read.
const CHANGED_RETRIES: usize = 4;

/// How many bytes are read between two questions whether to stop.
const STEP_BYTES: usize = 1 << 20;

/// A whole file at one moment.
#[derive(Debug)]
pub(crate) struct Content {
    /// Which object it is and where it lies.
    pub(crate) resolved: Resolved,
    /// What the kernel said about it when its bytes had been read.
    pub(crate) status: Status,
    /// Its raw bytes.
    pub(crate) bytes: Vec<u8>,
    /// SHA-256 over them, in lower-case hexadecimal.
    pub(crate) digest: String,
}

/// Loads one regular file that the guard admits.
pub(crate) fn load(
    workspace: &Workspace,
    path: &RepoPath,
    max_file_bytes: u64,
    guard: &Guard<'_>,
) -> Result<Content, ReadError> {
    for _ in 0..CHANGED_RETRIES {
        if let Some(content) = attempt(workspace, path, max_file_bytes, guard)? {
            return Ok(content);
        }
    }
    Err(ReadError::ChangedWhileReading { path: path.clone() })
}

/// One try; `None` when the file changed under it.
fn attempt(
    workspace: &Workspace,
    path: &RepoPath,
    max_file_bytes: u64,
    guard: &Guard<'_>,
) -> Result<Option<Content>, ReadError> {
    let reached = workspace.reach(path)?;
    let resolved = reached.resolved;
    if resolved.kind != FileKind::File {
        let refused = AccessError::NotRegular { path: path.clone(), kind: resolved.kind };
        return Err(refused.into());
    }
    if !(guard.admit)(&resolved.real, resolved.class) {
        return Err(ReadError::NotAdmitted { path: path.clone(), class: resolved.class });
    }
    let too_large =
        |size_bytes| ReadError::TooLarge { path: path.clone(), size_bytes, max_file_bytes };
    if resolved.size_bytes > max_file_bytes {
        return Err(too_large(resolved.size_bytes));
    }
    let refused = |errno| ReadError::from(AccessError::from_errno(path, errno));
    let file = beneath::reopen(reached.fd.as_fd()).map_err(refused)?;
    let before = Status::of(&file).map_err(refused)?;
    let bytes = take(&file, before.size_bytes, max_file_bytes, path, guard)?;
    let after = Status::of(&file).map_err(refused)?;
    let size_bytes = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if before != after || after.size_bytes != size_bytes {
        return Ok(None);
    }
    let digest = digest(&bytes);
    Ok(Some(Content { resolved, status: after, bytes, digest }))
}

/// Reads to the end, or one byte past the bound: the caller sees that as a change of size.
fn take(
    file: &File,
    size_bytes: u64,
    max_file_bytes: u64,
    path: &RepoPath,
    guard: &Guard<'_>,
) -> Result<Vec<u8>, ReadError> {
    let expected = usize::try_from(size_bytes.min(max_file_bytes)).unwrap_or(0);
    let mut bytes = Vec::with_capacity(expected.saturating_add(1));
    let mut left = max_file_bytes.saturating_add(1);
    loop {
        if (guard.stop)() {
            return Err(ReadError::Stopped { path: path.clone() });
        }
        let step = left.min(STEP_BYTES as u64);
        let read = file
            .take(step)
            .read_to_end(&mut bytes)
            .map_err(|error| AccessError::from_io(path, error))?;
        let read = u64::try_from(read).unwrap_or(step);
        left = left.saturating_sub(read);
        if read < step || left == 0 {
            return Ok(bytes);
        }
    }
}

/// SHA-256 in lower-case hexadecimal.
fn digest(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        text.push(nibble(byte >> 4));
        text.push(nibble(byte & 15));
    }
    text
}

fn nibble(value: u8) -> char {
    char::from_digit(u32::from(value), 16).unwrap_or('0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w10_the_digest_is_sha_256_in_lower_case() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(digest(b""), empty);
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest(b"abc"), abc);
    }
}
