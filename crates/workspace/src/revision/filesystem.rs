//! Whether a file system tells of every change: those that another machine or program can change do not.

use rustix::fs::fstatfs;

use crate::root::Workspace;

/// The numbers by which the kernel knows file systems whose content comes from elsewhere (`statfs(2)`, and
/// `linux/magic.h` for the newer ones).
const REMOTE: [u64; 14] = [
    0x6969,      // NFS
    0x517B,      // SMB
    0xFF53_4D42, // CIFS
    0xFE53_4D42, // SMB2
    0x0102_1997, // 9p
    0x6573_5546, // FUSE, virtiofs with it
    0x00C3_6400, // Ceph
    0x7375_7245, // Coda
    0x5346_414F, // AFS of OpenAFS
    0x6B41_4653, // AFS of the kernel
    0x0BD0_0BD0, // Lustre
    0x0116_1970, // GFS2
    0x7461_636F, // OCFS2
    0x564C,      // NCP
];

/// Whether events can be relied on. A file system that does not say what it is cannot.
pub(super) fn has_events(workspace: &Workspace) -> bool {
    fstatfs(workspace.fd()).is_ok_and(|status| !is_remote(status.f_type.cast_unsigned()))
}

fn is_remote(number: u64) -> bool {
    REMOTE.contains(&(number & 0xFFFF_FFFF))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w1_a_file_system_of_another_machine_is_looked_at() {
        assert!(is_remote(0x6969));
        // The kernel sign-extends numbers of 32 bits.
        assert!(is_remote(0xFFFF_FFFF_FF53_4D42));
        for local in [0xEF53, 0x0102_1994, 0x9123_683E, 0x5846_5342, 0x794C_7630] {
            assert!(!is_remote(local), "{local:x}");
        }
    }
}
