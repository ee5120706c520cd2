//! Directories of the host that are shown read-only where they are.
//! It must never let one cover a part of the sandbox.

use super::{CLOSED_DIR, CLOSED_FILE, OWN, Plan, Refusal, TREE, is_plain_absolute, outermost};
use crate::command::Command;
use crate::protocol::{create, from};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// One directory, or one file.
pub(super) struct Toolchain {
    /// As declared, and as the view shows it.
    pub(super) path: PathBuf,
    /// Where its content lies on the host; another place when a link leads there.
    pub(super) real: PathBuf,
    directory: bool,
}

impl Toolchain {
    /// What covers the whole of it.
    pub(super) fn cover(&self) -> &'static str {
        if self.directory { CLOSED_DIR } else { CLOSED_FILE }
    }

    pub(super) fn show(&self, plan: &mut Plan) -> Result<(), Refusal> {
        let make = if self.directory { create::DIR } else { create::FILE };
        plan.bind((from::HOST, &self.real), &self.path, (make, TREE, 0))
            .map_err(|_| ("toolchains", "it contains a NUL byte".to_owned()))
    }
}

/// The declared directories that exist and are not in the view already.
pub(super) fn toolchains(command: &Command) -> Result<Vec<Toolchain>, Refusal> {
    let mut kept = BTreeMap::new();
    for path in &command.toolchains {
        let refuse = |reason: &str| Err(("toolchains", format!("`{}` {reason}", path.display())));
        if !is_plain_absolute(path) {
            return refuse("is not an absolute path without `.` and `..`");
        }
        if let Some(reason) = misplaced(path) {
            return refuse(reason);
        }
        if path.starts_with("/usr") || path.starts_with(&command.workspace) {
            continue;
        }
        let Ok(real) = fs::canonicalize(path) else { continue };
        if let Some(reason) = misplaced(&real) {
            return refuse(reason);
        }
        let directory = real.is_dir();
        kept.insert(path.clone(), Toolchain { path: path.clone(), real, directory });
    }
    outermost(&mut kept);
    Ok(kept.into_values().collect())
}

/// Why nothing of that place is shown as a toolchain, also not under another name.
fn misplaced(path: &Path) -> Option<&'static str> {
    if OWN.iter().any(|own| Path::new(own).starts_with(path) && *own != "/usr") {
        return Some("would cover a part of the sandbox; name the directory itself");
    }
    let kernel = ["/proc", "/sys", "/dev"].iter().any(|own| path.starts_with(own));
    kernel.then_some("is no toolchain")
}
