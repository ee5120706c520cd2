//! A file as it is before a patch: its content, and what else of it an edit has to keep (P7).
//!
//! It only reads, and only from the object that was located.

use std::io::Read;
use std::os::fd::AsFd;

use crate::error::AccessError;
use crate::patch::MAX_FILE_BYTES;
use crate::patch::apply::attributes::{Attributes, MAX_ATTRIBUTE_BYTES, Unread};
use crate::patch::apply::folder::digest;
use crate::patch::error::ChangeError;
use crate::path::RepoPath;
use crate::root::Reached;
use crate::root::beneath::{self, FileKind, Identity, Status};

/// How often a file is read again that changed while it was read.
const READ_TRIES: usize = 3;

/// What a file is.
pub(crate) struct Preimage {
    pub(crate) bytes: Vec<u8>,
    /// SHA-256 of `bytes`.
    pub(crate) digest: String,
    pub(crate) identity: Identity,
    /// Permission bits, set-id and sticky bits included.
    pub(crate) mode: u32,
    pub(crate) attributes: Attributes,
}

impl Preimage {
    /// Reads a located file whole; `path` is only for the refusal.
    pub(crate) fn load(found: &Reached, path: &RepoPath) -> Result<Self, ChangeError> {
        let refused = |error| ChangeError::Access(AccessError::from_io(path, error));
        for _ in 0..READ_TRIES {
            let file = beneath::reopen(found.fd.as_fd()).map_err(|errno| refused(errno.into()))?;
            let before = Status::of(&file).map_err(|errno| refused(errno.into()))?;
            if before.kind != FileKind::File {
                let kind = before.kind;
                return Err(AccessError::NotRegular { path: path.clone(), kind }.into());
            }
            let mut bytes = Vec::new();
            (&file).take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(refused)?;
            let read = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            if read > MAX_FILE_BYTES {
                return Err(ChangeError::TooLarge {
                    path: path.clone(),
                    size_bytes: before.size_bytes.max(read),
                    max_bytes: MAX_FILE_BYTES,
                });
            }
            let attributes = Attributes::of(&file).map_err(|unread| match unread {
                Unread::TooMany => {
                    let max_bytes = MAX_ATTRIBUTE_BYTES;
                    ChangeError::TooManyAttributes { path: path.clone(), max_bytes }
                }
                Unread::Refused(errno) => refused(errno.into()),
            })?;
            let after = Status::of(&file).map_err(|errno| refused(errno.into()))?;
            if before == after && read == after.size_bytes {
                let digest = digest(&bytes);
                let (identity, mode) = (after.identity, after.mode);
                return Ok(Self { bytes, digest, identity, mode, attributes });
            }
        }
        Err(ChangeError::ChangedWhileReading { path: path.clone() })
    }

    pub(crate) fn is_executable(&self) -> bool {
        self.mode & 0o111 != 0
    }
}
