//! Extended attributes of a file that an edit carries over to the new content (P7).
//!
//! Kept are `user.*` and the POSIX access list. Dropped is `security.capability`, as the set-id bits are: both lend
//! privilege to the content that was vetted, and that content is gone; the kernel drops it on a plain write too.
//! Labels that the system gives (`security.selinux` and the like) are left to the system, and `trusted.*` to those
//! who may set it.

use std::os::fd::AsFd;

use rustix::fs::XattrFlags;
use rustix::io::Errno;

/// The most that the attributes of one file hold, names and values together, in bytes.
pub(crate) const MAX_ATTRIBUTE_BYTES: usize = 256 << 10;

/// The longest list of names and the longest value that Linux hands out, in bytes.
const MAX_KERNEL_BYTES: usize = 64 << 10;

const ACCESS_LIST: &[u8] = b"system.posix_acl_access";

/// The attributes to keep, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attributes {
    all: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Why the attributes of a file are not known.
pub(crate) enum Unread {
    /// They exceed [`MAX_ATTRIBUTE_BYTES`].
    TooMany,
    /// The system refused.
    Refused(Errno),
}

/// An attribute that could not be set.
#[derive(Debug)]
pub(crate) struct Unset {
    pub(crate) name: String,
    pub(crate) errno: Errno,
}

impl Attributes {
    /// Reads what the file behind an open descriptor has.
    pub(crate) fn of(file: impl AsFd) -> Result<Self, Unread> {
        let mut names = vec![0; MAX_KERNEL_BYTES];
        let length = match rustix::fs::flistxattr(&file, names.as_mut_slice()) {
            Ok(length) => length,
            // No such thing here.
            Err(Errno::OPNOTSUPP) => return Ok(Self::default()),
            Err(errno) => return Err(Unread::Refused(errno)),
        };
        names.truncate(length);
        let mut found = Self::default();
        for name in names.split(|byte| *byte == 0).filter(|name| is_kept(name)) {
            let mut value = vec![0; MAX_KERNEL_BYTES];
            match rustix::fs::fgetxattr(&file, name, value.as_mut_slice()) {
                Ok(length) => value.truncate(length),
                // Removed since it was listed.
                Err(Errno::NODATA) => continue,
                Err(errno) => return Err(Unread::Refused(errno)),
            }
            value.shrink_to_fit();
            found.all.push((name.to_vec(), value));
            if found.bytes() > MAX_ATTRIBUTE_BYTES {
                return Err(Unread::TooMany);
            }
        }
        Ok(found)
    }

    /// How much they hold, names and values together.
    pub(crate) fn bytes(&self) -> usize {
        self.all.iter().map(|(name, value)| name.len() + value.len()).sum()
    }

    /// Gives them to a new file. An access list that it inherited from its folder goes unless it has one here.
    pub(crate) fn set_on(&self, file: impl AsFd) -> Result<(), Unset> {
        let unset = |name: &[u8], errno| {
            Err(Unset { name: String::from_utf8_lossy(name).into_owned(), errno })
        };
        if !self.all.iter().any(|(name, _)| name == ACCESS_LIST) {
            match rustix::fs::fremovexattr(&file, ACCESS_LIST) {
                Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP) => {}
                Err(errno) => return unset(ACCESS_LIST, errno),
            }
        }
        for (name, value) in &self.all {
            if let Err(errno) =
                rustix::fs::fsetxattr(&file, name.as_slice(), value, XattrFlags::empty())
            {
                return unset(name, errno);
            }
        }
        Ok(())
    }

    #[cfg(test)]
    pub(crate) fn one(name: &[u8], value: &[u8]) -> Self {
        Self { all: vec![(name.to_vec(), value.to_vec())] }
    }
}

fn is_kept(name: &[u8]) -> bool {
    name.starts_with(b"user.") || name == ACCESS_LIST
}
