//! Who a sandbox is: the daemon's user, or for a daemon that is root an unprivileged one.
//! It must never let root of the machine be root inside.

use super::mint::OUTSIDE;
use crate::error::JailError;
use crate::line::Body;
use crate::protocol::mode;
use std::fs;
use std::io;

/// What a sandbox of a root daemon sees itself as.
const INSIDE: (u32, u32) = (1000, 1000);
const CAP_SYS_ADMIN: u32 = 21;

/// Who a sandbox is, inside and on the host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    /// One of [`mode`].
    pub(crate) mode: u32,
    pub(crate) inside: (u32, u32),
    pub(crate) outside: (u32, u32),
}

/// Root of the whole machine steps down in each sandbox; everybody else is themselves in there.
pub(super) fn identity() -> Result<Identity, JailError> {
    let user = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let ordinary = Identity { mode: mode::ORDINARY, inside: user, outside: user };
    if user.0 != 0 {
        return Ok(ordinary);
    }
    let map = fs::read_to_string("/proc/self/uid_map").map_err(JailError::Helper)?;
    let whole: Vec<&str> = map.split_ascii_whitespace().collect();
    if whole != ["0", "0", "4294967295"] {
        // Root of a container that is an ordinary user outside.
        return Ok(ordinary);
    }
    let status = fs::read_to_string("/proc/self/status").map_err(JailError::Helper)?;
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    if effective & 1 << CAP_SYS_ADMIN == 0 {
        return Err(JailError::Wall {
            step: "taking an unprivileged identity",
            source: io::ErrorKind::PermissionDenied.into(),
            remedy: "this is root without CAP_SYS_ADMIN, which would stay root inside; run as an ordinary user, or grant it",
        });
    }
    Ok(Identity { mode: mode::ROOT, inside: INSIDE, outside: OUTSIDE })
}

/// Who the sandbox is: the fixed part of every launch request.
pub(crate) fn start_body(identity: Identity) -> Body {
    let mut body = Body::default();
    body.u32(identity.mode).u32(identity.inside.0).u32(identity.inside.1);
    body.u32(identity.outside.0).u32(identity.outside.1);
    body
}
