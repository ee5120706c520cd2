//! Paths whose content the command must not see: covered wherever the view would show them.
//! It must never leave one open because a link leads to it or a right to look at it is missing now.

use super::toolchains::Toolchain;
use super::{CLOSED_DIR, CLOSED_FILE, NOEXEC, Plan, Refusal, TREE, outermost};
use crate::command::Command;
use crate::protocol::{create, from};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const SYSTEM: &str = "/usr";
const ELOOP: i32 = 40;

/// Places of the view that have to be covered, each with what covers it. None lies beneath another.
pub(super) type Covers = BTreeMap<PathBuf, &'static str>;

/// Where the view would show something that is masked.
pub(super) fn covers(command: &Command, toolchains: &[Toolchain]) -> Result<Covers, Refusal> {
    let workspace = command.workspace.as_path();
    let mut covers = Covers::new();
    for path in &command.masked {
        let Some(real) = content(&workspace.join(path), workspace)? else { continue };
        if workspace.starts_with(&real) {
            return Err(("masked", "the workspace itself cannot be masked".to_owned()));
        }
        let cover = if real.is_dir() { CLOSED_DIR } else { CLOSED_FILE };
        for shown in [workspace, Path::new(SYSTEM)] {
            if real.starts_with(shown) {
                covers.insert(real.clone(), cover);
            }
        }
        for toolchain in toolchains {
            if let Ok(rest) = real.strip_prefix(&toolchain.real) {
                // Joining nothing would end the path with a slash, and a file is no directory.
                let whole = rest.as_os_str().is_empty();
                let place = if whole { toolchain.path.clone() } else { toolchain.path.join(rest) };
                covers.insert(place, cover);
            } else if toolchain.real.starts_with(&real) {
                covers.insert(toolchain.path.clone(), toolchain.cover());
            }
        }
    }
    outermost(&mut covers);
    Ok(covers)
}

/// The object that holds the content of `path`: a link is followed, because its target is what would be read. What may
/// not be looked at now is stood for by the directory that forbids it, because the command may own that one and
/// change its mind. `None` when there is nothing.
fn content(path: &Path, workspace: &Path) -> Result<Option<PathBuf>, Refusal> {
    for part in path.ancestors() {
        match fs::canonicalize(part) {
            Ok(real) => return Ok(Some(real)),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && part != workspace => {}
            Err(error) => {
                let nothing =
                    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
                if nothing || error.raw_os_error() == Some(ELOOP) {
                    return Ok(None);
                }
                return Err(("masked", format!("`{}` cannot be found: {error}", path.display())));
            }
        }
    }
    Ok(None)
}

/// Covers them.
pub(super) fn masks(plan: &mut Plan, covers: &Covers) -> Result<(), Refusal> {
    for (place, cover) in covers {
        let source = (from::INSIDE, Path::new(cover));
        plan.bind(source, place, (create::NOTHING, TREE | NOEXEC, 0))
            .map_err(|_| ("masked", "it contains a NUL byte".to_owned()))?;
    }
    Ok(())
}
