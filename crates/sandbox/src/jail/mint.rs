//! Makes the user namespaces that translate a workspace's owner for a daemon that is root, and keeps them: one
//! for each owner, without a process, as a handle. It must never map root to root.

use crate::line::{Body, Image};
use crate::protocol::{kind, role};
use rustix::fd::OwnedFd;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The identity of every sandbox of a root daemon as the host sees it: in the range that systemd's list of user
/// ids leaves unused, so that no account and no container owns files under it.
pub(crate) const OUTSIDE: (u32, u32) = (1_900_000_000, 1_900_000_000);
const BOUND: Duration = Duration::from_secs(5);

/// Handles by (uid, gid) of the workspace's owner.
#[derive(Debug, Default)]
pub(crate) struct Maps {
    made: Mutex<BTreeMap<(u32, u32), Arc<OwnedFd>>>,
}

impl Maps {
    /// The namespace in which `owner` on the disk is [`OUTSIDE`] for the kernel.
    pub(crate) fn of(&self, image: &Image, owner: (u32, u32)) -> io::Result<Arc<OwnedFd>> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = made.get(&owner) {
            return Ok(Arc::clone(known));
        }
        let fresh = Arc::new(mint(image, owner)?);
        made.insert(owner, Arc::clone(&fresh));
        Ok(fresh)
    }
}

fn mint(image: &Image, (uid, gid): (u32, u32)) -> io::Result<OwnedFd> {
    let mut line = image.start()?;
    let namespace = line.request(role::MINT, &Body::default(), &[]).and_then(|()| {
        match line.wait(BOUND) {
            Some(record) if record.kind == kind::READY => {}
            Some(record) => {
                return Err(io::Error::from_raw_os_error(record.errno.cast_signed()));
            }
            None => return Err(io::ErrorKind::TimedOut.into()),
        }
        let process = format!("/proc/{}", line.pid());
        fs::write(format!("{process}/uid_map"), format!("{uid} {} 1\n", OUTSIDE.0))?;
        fs::write(format!("{process}/gid_map"), format!("{gid} {} 1\n", OUTSIDE.1))?;
        Ok(OwnedFd::from(fs::File::open(format!("{process}/ns/user"))?))
    });
    if namespace.is_err() {
        line.destroy();
    }
    // The closed socket ends the helper, and a killed one ends anyway.
    line.into_child().wait()?;
    namespace
}
