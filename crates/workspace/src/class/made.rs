//! What makes other programs run code and was not there before, and putting it aside (P11).
//!
//! A sandbox can pin what is there and not what is not; so after a command, what it made under such a name loses the
//! name, and nothing else. It must never remove anything, nor follow a link.

use super::protected::Protected;
use crate::error::AccessError;
use crate::path::RepoPath;
use crate::root::Workspace;
use crate::root::beneath::{self, Links};

use rustix::fs::{OFlags, RenameFlags};
use rustix::io::Errno;

/// Folders of installed packages. All of it is code that whoever uses the package runs anyway.
const PACKAGES: &[&[u8]] = &[b"node_modules", b"site-packages", b"dist-packages"];

/// Put behind the name of what is put aside.
const ASIDE: &str = ".held-by-chancery";

/// The longest part of the name that is kept, in bytes; file systems take names of 255.
const KEPT_NAME_BYTES: usize = 200;

/// How many names are tried before it is given up.
const TRIES: usize = 100;

impl Protected {
    /// Names that can make other programs run code and were not there, or stood for something else, `before`. In
    /// path-byte order; a folder stands for all that lies in it.
    #[must_use]
    pub fn made_since(&self, before: &Self) -> Vec<RepoPath> {
        let is_new = |path: &RepoPath| self.runs.get(path) != before.runs.get(path);
        let is_beneath_new = |path: &RepoPath| {
            std::iter::successors(path.parent(), RepoPath::parent)
                .any(|above| self.runs.contains_key(&above) && is_new(&above))
        };
        let made = self.runs.keys().filter(|path| is_new(path) && !is_beneath_new(path));
        made.filter(|path| !is_of_package(path)).cloned().collect()
    }

    /// Whether the bound on names left nothing out.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }
}

/// Whether a path lies in an installed package, and in no version control store there.
fn is_of_package(path: &RepoPath) -> bool {
    let mut names = path.components();
    names.any(|name| PACKAGES.contains(&name)) && !names.any(super::is_version_control)
}

impl Workspace {
    /// Gives what a real path names a free name beside it that no program looks for; says which.
    ///
    /// # Errors
    /// [`AccessError`] when nothing is there or the system refuses.
    pub fn put_aside(&self, path: &RepoPath) -> Result<RepoPath, AccessError> {
        let refused = |errno| AccessError::from_errno(path, errno);
        let parent = path.parent().unwrap_or_default();
        let name = path.name().ok_or_else(|| refused(Errno::INVAL))?;
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let folder = beneath::open_raw(self.fd(), parent.for_kernel(), flags, Links::Refuse)
            .map_err(refused)?;
        let kept = name.get(..name.len().min(KEPT_NAME_BYTES)).unwrap_or(name);
        for nth in 1..=TRIES {
            let mark = if nth == 1 { ASIDE.to_owned() } else { format!("{ASIDE}-{nth}") };
            let aside = [kept, mark.as_bytes()].concat();
            let from = (&folder, name);
            let to = (&folder, aside.as_slice());
            match rustix::fs::renameat_with(from.0, from.1, to.0, to.1, RenameFlags::NOREPLACE) {
                Ok(()) => return Ok(parent.child(&aside)),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(refused(errno)),
            }
        }
        Err(refused(Errno::EXIST))
    }
}
