//! Plans the view of the files: which directories, links, files and mounts make the root of a sandbox.
//! The plan is data; the helper carries it out. It must never plan a mount that shows more of the host than `/usr`, a
//! short list of harmless configuration, the declared toolchains and the workspace.

mod base;
mod masks;
mod pins;
mod toolchains;

pub(crate) use base::base;

use crate::command::{Access, Command};
use crate::line::{Body, NulByte};
use crate::protocol::{create, flag, from, op};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// The private directory for temporary files, empty at the start of every run and gone at its end.
pub const SCRATCH: &str = "/tmp";
/// A private, empty home directory, to be used as `HOME`.
pub const HOME: &str = "/tmp/home";

const RDONLY: u32 = 1;
const NOSUID: u32 = 2;
const NODEV: u32 = 4;
const NOEXEC: u32 = 8;
const TREE: u32 = RDONLY | NOSUID | NODEV;
/// What covers a masked path. Nobody may read or enter it, because something empty would pass for the content: a
/// commit would record it.
const CLOSED_FILE: &str = "/.masked/file";
const CLOSED_DIR: &str = "/.masked/directory";

/// Where the view has something of its own, so that nothing of the host's may be laid over it.
const OWN: [&str; 6] = ["/usr", "/etc", "/dev", "/proc", "/sys", SCRATCH];

/// Why a view cannot be planned: the field of the command and the reason.
pub(crate) type Refusal = (&'static str, String);

/// The operations in their order, with the path that each is about, for the message when one fails.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    body: Body,
    paths: Vec<PathBuf>,
}

impl Plan {
    /// Count and operations, as the helper reads them.
    pub(crate) fn encode(&self, into: &mut Body) {
        into.u32(u32::try_from(self.paths.len()).unwrap_or(u32::MAX)).append(&self.body);
    }

    /// What the operation at `index` is about.
    pub(crate) fn path(&self, index: u32) -> Option<&Path> {
        self.paths.get(usize::try_from(index).ok()?).map(PathBuf::as_path)
    }

    fn directory(&mut self, path: &str, mode: u32, owned: bool) -> Result<(), NulByte> {
        self.body.u32(op::DIR).u32(mode).u32(owned.into()).text(path)?;
        self.about(path);
        Ok(())
    }

    fn file(&mut self, path: &str, mode: u32, content: &str) -> Result<(), NulByte> {
        self.body.u32(op::FILE).u32(mode).text(path)?.raw(content.as_bytes());
        self.about(path);
        Ok(())
    }

    fn link(&mut self, path: &str, target: impl AsRef<Path>) -> Result<(), NulByte> {
        self.body.u32(op::LINK).text(path)?.text(target.as_ref())?;
        self.about(path);
        Ok(())
    }

    fn scratch(&mut self, path: &str, size_bytes: u64) -> Result<(), NulByte> {
        self.body.u32(op::TMPFS).u64(size_bytes).text(path)?;
        self.about(path);
        Ok(())
    }

    fn bind(
        &mut self,
        (origin, source): (u32, &Path),
        path: &Path,
        (create, attributes, flags): (u32, u32, u32),
    ) -> Result<(), NulByte> {
        self.body.u32(op::BIND).u32(origin).u32(create).u32(attributes).u32(flags);
        self.body.text(source)?.text(path)?;
        self.about(path);
        Ok(())
    }

    fn about(&mut self, path: impl AsRef<Path>) {
        self.paths.push(path.as_ref().to_owned());
    }
}

/// The whole view of one command, and the paths that could not be pinned because they are not there or are links.
pub(crate) fn of(
    base: &Plan,
    command: &Command,
    id_map: bool,
) -> Result<(Plan, Vec<PathBuf>), Refusal> {
    let mut plan = base.clone();
    let nul = |field: &'static str| move |_: NulByte| (field, "it contains a NUL byte".to_owned());
    plan.scratch(SCRATCH, command.limits.scratch_bytes).map_err(nul("limits"))?;
    plan.directory(HOME, 0o700, true).map_err(nul("limits"))?;
    let toolchains = toolchains::toolchains(command)?;
    for toolchain in &toolchains {
        toolchain.show(&mut plan)?;
    }
    let rights = match command.access {
        Access::ReadWrite => NOSUID | NODEV,
        Access::ReadOnly => TREE,
    };
    let flags = if id_map { flag::ID_MAP } else { 0 };
    let source = (from::WORKSPACE, command.workspace.as_path());
    plan.bind(source, &command.workspace, (create::DIR, rights, flags))
        .map_err(nul("workspace"))?;
    let covers = masks::covers(command, &toolchains)?;
    let unpinned = pins::pins(&mut plan, command, covers.keys())?;
    masks::masks(&mut plan, &covers)?;
    Ok((plan, unpinned))
}

/// Whether a workspace may lie there.
pub(crate) fn workspace_is_apart(workspace: &Path) -> Result<(), Refusal> {
    let refuse = |reason: String| Err(("workspace", reason));
    if !is_plain_absolute(workspace) {
        return refuse("it must be an absolute path without `.` and `..`".to_owned());
    }
    if let Some(own) = OWN.iter().find(|own| Path::new(own).starts_with(workspace)) {
        return refuse(format!(
            "it would cover `{own}` of the sandbox; use a directory of its own"
        ));
    }
    let inside = ["/proc", "/sys", "/dev"].iter().find(|own| workspace.starts_with(own));
    if let Some(own) = inside {
        return refuse(format!("it lies in `{own}`; use a directory on a real file system"));
    }
    Ok(())
}

/// Keeps what lies beneath nothing else that is kept.
fn outermost<T>(places: &mut BTreeMap<PathBuf, T>) {
    // In path order a directory comes right before what lies in it.
    let mut outer: Option<PathBuf> = None;
    places.retain(|path, _| {
        let beneath = outer.as_ref().is_some_and(|outer| path.starts_with(outer));
        if !beneath {
            outer = Some(path.clone());
        }
        !beneath
    });
}

fn is_plain_absolute(path: &Path) -> bool {
    let mut parts = path.components();
    parts.next() == Some(Component::RootDir) && parts.all(|p| matches!(p, Component::Normal(_)))
}

/// Whether the path names something strictly beneath where it starts.
pub(crate) fn is_plain_relative(path: &Path) -> bool {
    !path.as_os_str().is_empty() && path.components().all(|p| matches!(p, Component::Normal(_)))
}
