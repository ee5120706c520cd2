//! Builds the view of the files: a root in memory, and on it what the request lists, in its order.
//! Objects are handled by descriptor; a mount point is looked up in the new root without following any link.
//! It must never create anything in the workspace, nor mount an object other than the one that was asked for.

use super::call::Errno;
use super::protocol::{Cursor, create, flag, from, missed, mode, op, step};
use super::sys::{self, Fd};
use core::ffi::CStr;

/// Why the view could not be built: the step, the error and the position of the operation.
pub(crate) struct Broken {
    pub(crate) step: u32,
    pub(crate) errno: Errno,
    pub(crate) index: u32,
}

/// What the operations work on.
pub(crate) struct Site {
    /// The root of the view.
    pub(crate) root: Fd,
    /// The workspace as the daemon opened it.
    pub(crate) workspace: Fd,
    /// The user namespace that translates owners; meaningful only when a bind asks for it.
    pub(crate) id_map: Fd,
    /// One of [`mode`].
    pub(crate) mode: u32,
    /// The sandbox's user as the host sees it.
    pub(crate) outside: (u32, u32),
}

struct Bind<'a> {
    from: u32,
    create: u32,
    attributes: u64,
    flags: u32,
    source: &'a CStr,
    path: &'a CStr,
}

const IN_VIEW: u64 = sys::IN_ROOT | sys::NO_SYMLINKS | sys::NO_MAGIC_LINKS;
const TREE: u64 = sys::ATTR_NOSUID | sys::ATTR_NODEV;

/// Makes the empty root and stacks it on the present one, which stays reachable by path until the pivot.
pub(crate) fn root() -> Result<Fd, Errno> {
    let mount = in_memory(c"4194304", c"0755")?;
    let host = sys::openat(sys::AT_FDCWD, c"/", sys::O_PATH | sys::O_DIRECTORY, 0)?;
    sys::attach(mount, host)?;
    sys::close(host);
    Ok(mount)
}

/// Executes the listed operations; returns the bits of what was optional and failed.
pub(crate) fn build(site: &Site, body: &mut Cursor<'_>) -> Result<u32, Broken> {
    let broken = |step, errno, index| Broken { step, errno, index };
    let count = body.u32().ok_or(broken(step::REQUEST, Errno::INVALID, 0))?;
    let mut missing = 0;
    for index in 0..count {
        match operation(site, body) {
            Some(Ok(bits)) => missing |= bits,
            Some(Err((step, errno))) => return Err(broken(step, errno, index)),
            None => return Err(broken(step::REQUEST, Errno::INVALID, index)),
        }
    }
    Ok(missing)
}

fn operation(site: &Site, body: &mut Cursor<'_>) -> Option<Result<u32, (u32, Errno)>> {
    let fine = |result: Result<(), Errno>| Some(result.map(|()| 0).map_err(|e| (step::VIEW, e)));
    match body.u32()? {
        op::DIR => {
            let (mode, owned, path) = (body.u32()?, body.u32()?, body.text()?);
            fine(directory(site, path, mode, owned == 1))
        }
        op::FILE => {
            let (mode, path, content) = (body.u32()?, body.text()?, body.bytes()?);
            fine(file(site.root, path, mode, content))
        }
        op::LINK => {
            let (path, target) = (body.text()?, body.text()?);
            fine(
                parents(site.root, path)
                    .and_then(|()| sys::symlinkat(target, site.root, relative(path)?)),
            )
        }
        op::TMPFS => {
            let (size_bytes, path) = (body.u64()?, body.text()?);
            fine(scratch(site.root, path, size_bytes))
        }
        op::PROC => {
            let path = body.text()?;
            Some(Ok(process_list(site.root, path).map_or(missed::PROC, |()| 0)))
        }
        op::BIND => {
            let (from, create, attributes, flags) =
                (body.u32()?, body.u32()?, body.u32()?, body.u32()?);
            let (source, path) = (body.text()?, body.text()?);
            let attributes = u64::from(attributes);
            let bound = bind(site, &Bind { from, create, attributes, flags, source, path });
            Some(match bound {
                Err(_) if flags & flag::OPTIONAL != 0 => Ok(missed::BIND),
                other => other.map(|()| 0),
            })
        }
        _ => None,
    }
}

fn bind(site: &Site, bind: &Bind<'_>) -> Result<(), (u32, Errno)> {
    let view = |errno| (step::VIEW, errno);
    let source = match bind.from {
        from::HOST => sys::openat(sys::AT_FDCWD, bind.source, sys::O_PATH, 0),
        from::INSIDE => sys::openat2(site.root, bind.source, sys::O_PATH, IN_VIEW),
        from::WORKSPACE => {
            let flags = sys::O_PATH | sys::O_DIRECTORY | sys::O_NOFOLLOW;
            sys::openat2(sys::AT_FDCWD, bind.source, flags, sys::NO_SYMLINKS)
        }
        _ => Err(Errno::INVALID),
    }
    .map_err(view)?;
    if bind.from == from::WORKSPACE {
        let moved = |errno| (step::WORKSPACE_MOVED, errno);
        let expected = sys::identity(site.workspace).map_err(moved)?;
        if sys::identity(source).map_err(moved)? != expected {
            return Err((step::WORKSPACE_MOVED, Errno::STALE));
        }
    }
    let tree = sys::clone_tree(source).map_err(view)?;
    if bind.flags & flag::ID_MAP != 0 {
        sys::map_ids(tree, site.id_map).map_err(|errno| (step::ID_MAP, errno))?;
    }
    sys::restrict(tree, bind.attributes, true).map_err(view)?;
    let target = match bind.create {
        create::DIR => directory(site, bind.path, 0o755, false),
        create::FILE => {
            parents(site.root, bind.path).and_then(|()| placeholder(site.root, bind.path))
        }
        _ => Ok(()),
    }
    .and_then(|()| sys::openat2(site.root, bind.path, sys::O_PATH, IN_VIEW))
    .map_err(view)?;
    sys::attach(tree, target).map_err(view)?;
    for used in [source, tree, target] {
        sys::close(used);
    }
    Ok(())
}

fn directory(site: &Site, path: &CStr, mode: u32, owned: bool) -> Result<(), Errno> {
    parents(site.root, path)?;
    let name = relative(path)?;
    match sys::mkdirat(site.root, name, mode as usize) {
        Ok(()) | Err(Errno::EXISTS) => {}
        Err(error) => return Err(error),
    }
    if owned && site.mode == mode::ROOT {
        let (uid, gid) = site.outside;
        sys::chown(site.root, name, uid, gid)?;
    }
    Ok(())
}

fn file(root: Fd, path: &CStr, mode: u32, content: &[u8]) -> Result<(), Errno> {
    parents(root, path)?;
    let flags = sys::O_WRONLY | sys::O_CREAT | sys::O_EXCL;
    let file = sys::openat(root, relative(path)?, flags, mode as usize)?;
    let written = sys::write_all(file, content);
    sys::close(file);
    written
}

fn placeholder(root: Fd, path: &CStr) -> Result<(), Errno> {
    match file(root, path, 0o444, b"") {
        Err(Errno::EXISTS) => Ok(()),
        other => other,
    }
}

fn scratch(root: Fd, path: &CStr, size_bytes: u64) -> Result<(), Errno> {
    let mut digits = [0u8; 21];
    let mount = in_memory(decimal(size_bytes, &mut digits)?, c"1777")?;
    mount_on(root, path, mount)
}

fn process_list(root: Fd, path: &CStr) -> Result<(), Errno> {
    let context = sys::fsopen(c"proc")?;
    let mount = sys::fsmount(context, TREE | sys::ATTR_NOEXEC | sys::ATTR_RDONLY)?;
    mount_on(root, path, mount)
}

fn in_memory(size_bytes: &CStr, mode: &CStr) -> Result<Fd, Errno> {
    let context = sys::fsopen(c"tmpfs")?;
    sys::fsconfig(context, c"size", size_bytes)?;
    sys::fsconfig(context, c"mode", mode)?;
    sys::fsconfig(context, c"nr_inodes", c"262144")?;
    sys::fsmount(context, TREE)
}

fn mount_on(root: Fd, path: &CStr, mount: Fd) -> Result<(), Errno> {
    parents(root, path)?;
    match sys::mkdirat(root, relative(path)?, 0o755) {
        Ok(()) | Err(Errno::EXISTS) => {}
        Err(error) => return Err(error),
    }
    let target = sys::openat2(root, path, sys::O_PATH, IN_VIEW)?;
    sys::attach(mount, target)?;
    sys::close(target);
    sys::close(mount);
    Ok(())
}

/// Makes the directories above `path` in the new root.
fn parents(root: Fd, path: &CStr) -> Result<(), Errno> {
    let mut prefix = [0u8; 4096];
    let bytes = relative(path)?.to_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        if *byte == b'/' {
            let whole = prefix.get(..=at).ok_or(Errno::NAME_TOO_LONG)?;
            let name = CStr::from_bytes_with_nul(whole).map_err(|_| Errno::INVALID)?;
            match sys::mkdirat(root, name, 0o755) {
                Ok(()) | Err(Errno::EXISTS) => {}
                Err(error) => return Err(error),
            }
        }
        *prefix.get_mut(at).ok_or(Errno::NAME_TOO_LONG)? = *byte;
    }
    Ok(())
}

/// The path without its leading slash, as the calls relative to the new root want it.
fn relative(path: &CStr) -> Result<&CStr, Errno> {
    let bytes = path.to_bytes_with_nul();
    let rest = bytes.strip_prefix(b"/").ok_or(Errno::INVALID)?;
    CStr::from_bytes_with_nul(rest).map_err(|_| Errno::INVALID)
}

fn decimal(mut value: u64, digits: &mut [u8; 21]) -> Result<&CStr, Errno> {
    let mut first = 20;
    loop {
        first -= 1;
        *digits.get_mut(first).ok_or(Errno::INVALID)? = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 || first == 0 {
            break;
        }
    }
    let text = digits.get(first..).ok_or(Errno::INVALID)?;
    CStr::from_bytes_with_nul(text).map_err(|_| Errno::INVALID)
}
