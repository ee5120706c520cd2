//! Paths of the workspace that the command may read and not change, replace or move.
//! It must never follow a link to a pin, nor leave one out without saying so.
//!
//! Every directory above a pin is bound onto itself, because a mount point cannot be renamed: without that, moving
//! the parent away and making a new one would get round the pin. The same holds directories above a mask, whose
//! content would else have another name at the next run.

use super::{NODEV, NOSUID, Plan, Refusal, TREE, is_plain_relative};
use crate::command::{Access, Command};
use crate::protocol::{create, from};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Relative places by depth, so that what is above comes first; true for the pinned ones, false for those above.
type Places = BTreeMap<(usize, PathBuf), bool>;

/// Pins what can be pinned, holds what is above `covered`, and returns what could not be pinned.
pub(super) fn pins<'a>(
    plan: &mut Plan,
    command: &Command,
    covered: impl Iterator<Item = &'a PathBuf>,
) -> Result<Vec<PathBuf>, Refusal> {
    let mut unpinned = Vec::new();
    let mut places = Places::new();
    for path in &command.read_only {
        let path = relative(path, &command.workspace)?;
        if command.access == Access::ReadOnly {
            continue;
        }
        match sound(path, &command.workspace) {
            Some(pin) => hold(&mut places, pin, true),
            None => unpinned.push(path.to_owned()),
        }
    }
    if command.access == Access::ReadOnly {
        return Ok(unpinned);
    }
    for path in covered.filter_map(|path| path.strip_prefix(&command.workspace).ok()) {
        if let Some(above) = path.parent() {
            hold(&mut places, above, false);
        }
    }
    bind(plan, &command.workspace, places)?;
    Ok(unpinned)
}

/// The path as it is beneath the workspace.
fn relative<'a>(path: &'a Path, workspace: &Path) -> Result<&'a Path, Refusal> {
    let beneath = path.strip_prefix(workspace).unwrap_or(path);
    if is_plain_relative(beneath) {
        return Ok(beneath);
    }
    Err(("read_only", format!("`{}` is no plain path beneath the workspace", path.display())))
}

/// The path that pins this one: itself, or the directory above it that does not let itself be looked into, because
/// the command may own that one. `None` when something on the way is not there or is a link.
fn sound<'a>(path: &'a Path, workspace: &Path) -> Option<&'a Path> {
    let mut parts: Vec<&Path> = path.ancestors().filter(|p| !p.as_os_str().is_empty()).collect();
    parts.reverse();
    let mut seen = None;
    for part in parts {
        match fs::symlink_metadata(workspace.join(part)) {
            Ok(metadata) if !metadata.is_symlink() => seen = Some(part),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return seen,
            _ => return None,
        }
    }
    seen
}

fn hold(places: &mut Places, path: &Path, pinned: bool) {
    for part in path.ancestors().filter(|part| !part.as_os_str().is_empty()) {
        let place = places.entry((part.components().count(), part.to_owned())).or_default();
        *place |= pinned && part == path;
    }
}

fn bind(plan: &mut Plan, workspace: &Path, places: Places) -> Result<(), Refusal> {
    let pinned: Vec<PathBuf> =
        places.iter().filter(|(_, pinned)| **pinned).map(|((_, path), _)| path.clone()).collect();
    for ((_, path), read_only) in places {
        if pinned.iter().any(|above| *above != path && path.starts_with(above)) {
            continue;
        }
        let place = workspace.join(path);
        let attributes = if read_only { TREE } else { NOSUID | NODEV };
        plan.bind((from::INSIDE, &place), &place, (create::NOTHING, attributes, 0))
            .map_err(|_| ("read_only", "it contains a NUL byte".to_owned()))?;
    }
    Ok(())
}
