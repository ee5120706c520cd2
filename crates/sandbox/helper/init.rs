//! Process 1 of the sandbox: builds the walls, steps down, starts the command as its child, reaps everything,
//! and answers when nobody else is left. The answer is the guarantee: `kill(-1)` from here reaches every process of
//! the namespace at once, and `ECHILD` proves that all of them are gone.
//! It must never answer earlier, nor keep a right that the command could use.

use super::call::Errno;
use super::launch::{self, Request};
use super::process::{self, SIGCHLD, SIGCONT, SIGKILL, SIGTERM};
use super::protocol::{Cursor, Record, fd, kind, missed, mode, order, step};
use super::socket::{self, CONTROL, Watch};
use super::sys::{self, Fd};
use super::view::{self, Site};
use core::ffi::CStr;
use core::sync::atomic::{AtomicU32, Ordering};

const STACK_BYTES: usize = 64 << 10;
const SIGCHLD_BIT: u64 = 1 << (SIGCHLD - 1);

/// A step and its error, as [`launch::fail`] wants them.
type Step<T> = Result<T, (u32, Errno)>;

/// What the child needs between vfork and exec; it lives on the init's stack and is shared with the child.
struct Start<'a> {
    files: [Fd; fd::MAX],
    cwd: Fd,
    limits: &'a [(u32, u64)],
    argv: &'a [usize],
    envp: &'a [usize],
    search: &'a CStr,
    /// Why the exec failed; 0 while it has not.
    errno: AtomicU32,
    /// The step before exec that failed; 0 while none has.
    step: AtomicU32,
}

/// The whole life of the init.
pub(crate) fn run(request: &Request, mut body: Cursor<'_>) -> ! {
    let built = match build(request, &mut body) {
        Ok(missing) => missing,
        Err((step, errno, index)) => launch::fail(step, errno, index),
    };
    match command(request, &mut body, built) {
        Ok(()) => process::exit(0),
        Err((step, errno)) => launch::fail(step, errno, 0),
    }
}

/// Walls first: view, root, identity, capabilities. Returns the bits of what was optional and failed.
fn build(request: &Request, body: &mut Cursor<'_>) -> Result<u32, (u32, Errno, u32)> {
    let at = |step| move |errno| (step, errno, 0);
    process::die_with_parent().map_err(at(step::IDENTITY))?;
    if request.mode == mode::ROOT {
        process::leave_groups().map_err(at(step::IDENTITY))?;
    } else {
        launch::write_own_maps(request.inside, request.outside).map_err(at(step::MAPS))?;
    }
    sys::umask(0);
    sys::make_all_private().map_err(at(step::PROPAGATION))?;
    let root = view::root().map_err(at(step::ROOT))?;
    let [.., workspace, id_map] = request.files;
    let site = Site { root, workspace, id_map, mode: request.mode, outside: request.outside };
    let mut missing = view::build(&site, body).map_err(|b| (b.step, b.errno, b.index))?;
    if socket::loopback_up().is_err() {
        missing |= missed::LOOPBACK;
    }
    process::set_host_name(b"sandbox").map_err(at(step::PIVOT))?;
    sys::restrict(root, sys::ATTR_RDONLY, false).map_err(at(step::PIVOT))?;
    sys::fchdir(root).map_err(at(step::PIVOT))?;
    sys::pivot_here().map_err(at(step::PIVOT))?;
    if request.mode == mode::ROOT {
        step_down(request).map_err(at(step::IDENTITY))?;
    }
    process::no_new_privileges().map_err(at(step::CAPABILITIES))?;
    process::drop_capabilities().map_err(at(step::CAPABILITIES))?;
    // The change of identity has cleared both.
    process::die_with_parent().map_err(at(step::IDENTITY))?;
    process::hide_from_peers().map_err(at(step::IDENTITY))?;
    Ok(missing)
}

/// From real root to the unprivileged user: a user namespace that owns nothing, mapped by the launcher.
fn step_down(request: &Request) -> Result<(), Errno> {
    process::unshare(process::CLONE_NEWUSER)?;
    sys::write_all(request.line, b"u")?;
    let mut answer = [0u8; 1];
    if sys::read(request.line, &mut answer)? != 1 {
        return Err(Errno::ACCESS);
    }
    sys::close(request.line);
    let (uid, gid) = request.inside;
    process::become_user(uid, gid)
}

/// Reads what to run, loads the filter, runs it and reports.
fn command(request: &Request, body: &mut Cursor<'_>, mut missing: u32) -> Step<()> {
    let short = (step::REQUEST, Errno::INVALID);
    let mut limits = [(0u32, 0u64); 16];
    let count = body.u32().ok_or(short)? as usize;
    let limits = limits.get_mut(..count).ok_or(short)?;
    for place in limits.iter_mut() {
        *place = (body.u32().ok_or(short)?, body.u64().ok_or(short)?);
    }
    let filter = body.bytes().ok_or(short)?;
    let (workspace, cwd) = (body.text().ok_or(short)?, body.text().ok_or(short)?);
    let search = body.text().ok_or(short)?;
    let argv = strings(body)?;
    let envp = strings(body)?;
    let probe = argv.len() < 2;
    if !filter.is_empty() {
        match process::load_filter(filter) {
            Ok(()) => {}
            // The probe asks whether it can be had; a command is promised it.
            Err(_) if probe => missing |= missed::FILTER,
            Err(errno) => return Err((step::FILTER, errno)),
        }
    }
    if probe {
        socket::report(&Record { kind: kind::READY, missed: missing, ..Record::default() });
        return Ok(());
    }
    let cwd = working_directory(workspace, cwd).map_err(|errno| (step::CWD, errno))?;
    let start = Start {
        files: request.files,
        cwd,
        limits,
        argv,
        envp,
        search,
        errno: AtomicU32::new(0),
        step: AtomicU32::new(0),
    };
    process::block_signals(SIGCHLD_BIT).map_err(|errno| (step::SPAWN, errno))?;
    let signals = process::signal_fd(SIGCHLD_BIT).map_err(|errno| (step::SPAWN, errno))?;
    let leader = spawn(&start)?;
    let step = start.step.load(Ordering::Relaxed);
    let errno = start.errno.load(Ordering::Relaxed);
    if step != 0 {
        return Err((step, Errno(errno)));
    }
    for file in request.files.into_iter().chain([cwd]) {
        sys::close(file);
    }
    if errno != 0 {
        end_everyone();
        socket::report(&Record {
            kind: kind::NOT_EXECUTED,
            errno,
            missed: missing,
            ..Record::default()
        });
        return Ok(());
    }
    attend(leader, signals, missing);
    Ok(())
}

/// A null-terminated array of pointers to the strings that follow in the body, which outlives the exec.
fn strings(body: &mut Cursor<'_>) -> Step<&'static [usize]> {
    let short = (step::REQUEST, Errno::INVALID);
    let count = body.u32().ok_or(short)? as usize;
    let bytes = count.checked_add(1).and_then(|slots| slots.checked_mul(size_of::<usize>()));
    let memory = process::memory(bytes.ok_or(short)?).map_err(|errno| (step::REQUEST, errno))?;
    // SAFETY: the memory is zeroed, page-aligned, `count + 1` words long and referenced only here.
    let slots =
        unsafe { core::slice::from_raw_parts_mut(memory.as_mut_ptr().cast::<usize>(), count + 1) };
    for place in slots.iter_mut().take(count) {
        *place = body.text().ok_or(short)?.as_ptr() as usize;
    }
    Ok(slots)
}

/// The declared directory, which must lie beneath the workspace whatever links it goes through.
fn working_directory(workspace: &CStr, cwd: &CStr) -> Result<Fd, Errno> {
    let flags = sys::O_PATH | sys::O_DIRECTORY;
    let root = sys::openat2(sys::AT_FDCWD, workspace, flags, sys::NO_SYMLINKS)?;
    let resolve = sys::BENEATH | sys::NO_MAGIC_LINKS;
    let directory = sys::openat2(root, cwd, flags, resolve);
    sys::close(root);
    directory
}

fn spawn(start: &Start<'_>) -> Step<u32> {
    let at = |errno| (step::SPAWN, errno);
    let stack = process::memory(STACK_BYTES).map_err(at)?;
    let top = stack.as_mut_ptr() as usize + STACK_BYTES;
    // SAFETY: the stack is fresh, page-aligned and used by nobody else; `child` does not return, and what it
    // writes outside its stack are the two atomics that are read after it has executed or ended.
    unsafe { process::vfork(top, child, core::ptr::from_ref(start) as usize) }.map_err(at)
}

/// Runs as the child, in shared memory: prepares the process and executes the program.
extern "C" fn child(argument: usize) -> ! {
    // SAFETY: `spawn` passes a `Start` that lives on the stack of the init, which stands still until this
    // process has executed or ended.
    let start = unsafe { &*(argument as *const Start<'_>) };
    if let Err((step, errno)) = prepare(start) {
        start.errno.store(errno.0, Ordering::Relaxed);
        start.step.store(step, Ordering::Relaxed);
        process::exit(126);
    }
    start.errno.store(execute(start).0, Ordering::Relaxed);
    process::exit(127)
}

fn prepare(start: &Start<'_>) -> Step<()> {
    let at = |step| move |errno| (step, errno);
    process::new_session().map_err(at(step::SPAWN))?;
    process::block_signals(0).map_err(at(step::SPAWN))?;
    sys::umask(0o022);
    sys::fchdir(start.cwd).map_err(at(step::CWD))?;
    let [stdin, stdout, stderr, ..] = start.files;
    for (file, place) in [(stdin, 0), (stdout, 1), (stderr, 2)] {
        sys::dup_onto(file, place).map_err(at(step::SPAWN))?;
    }
    sys::close_from(3).map_err(at(step::SPAWN))?;
    for (resource, most) in start.limits {
        process::set_limit(*resource, *most).map_err(at(step::LIMITS))?;
    }
    Ok(())
}

/// Finds the program as execvp(3) does, along the search path of the command's own environment, and executes it.
fn execute(start: &Start<'_>) -> Errno {
    let Some(program) = start.argv.first() else {
        return Errno::NO_ENTRY;
    };
    // SAFETY: `strings` took the pointer from a live NUL-terminated string of the body.
    let program = unsafe { CStr::from_ptr(*program as *const core::ffi::c_char) };
    let name = program.to_bytes();
    let run = |path: &CStr| {
        // SAFETY: a live string, and two arrays that `strings` ended with a null pointer.
        unsafe { process::execve(path.as_ptr().cast(), start.argv.as_ptr(), start.envp.as_ptr()) }
    };
    if name.contains(&b'/') {
        return run(program);
    }
    if name.is_empty() {
        return Errno::NO_ENTRY;
    }
    let mut told = Errno::NO_ENTRY;
    for directory in start.search.to_bytes().split(|byte| *byte == b':') {
        // A relative entry would make the choice of program depend on where the command stands.
        if directory.first() != Some(&b'/') {
            continue;
        }
        let mut path = [0u8; 4096];
        let parts = directory.iter().chain(b"/").chain(name);
        let length = directory.len() + 1 + name.len();
        if length >= path.len() {
            continue;
        }
        for (place, byte) in path.iter_mut().zip(parts) {
            *place = *byte;
        }
        let Ok(path) = CStr::from_bytes_until_nul(&path) else {
            continue;
        };
        match run(path) {
            Errno::NO_ENTRY | Errno::NOT_DIRECTORY => {}
            // Something of that name is there but may not be run: look on, and say so if nothing better is found.
            Errno::ACCESS => told = Errno::ACCESS,
            other => return other,
        }
    }
    told
}

/// Serves orders and reaps until the leader has ended, then ends and reaps the rest, then reports.
fn attend(leader: u32, signals: Fd, missing: u32) {
    let mut stopped = false;
    let status = loop {
        if let Some(status) = reap(leader) {
            break status;
        }
        let mut watched = [Watch::input(CONTROL), Watch::input(signals)];
        if socket::wait_for(&mut watched).is_err() {
            process::exit(1);
        }
        let [control, child] = watched;
        if control.seen != 0 {
            stopped = true;
            obey();
        }
        if child.seen != 0 {
            let mut drained = [0u8; 128];
            let _emptied: Result<usize, Errno> = sys::read(signals, &mut drained);
        }
    };
    let leftover = end_everyone();
    let usage = process::usage_of_children();
    socket::report(&Record {
        kind: kind::ENDED,
        status,
        leftover,
        missed: missing,
        stopped: u32::from(stopped),
        user_us: usage.user_us,
        system_us: usage.system_us,
        max_rss_bytes: usage.max_rss_bytes,
        ..Record::default()
    });
}

/// Reaps what has ended; the leader's status if it is among them.
fn reap(leader: u32) -> Option<u32> {
    let mut found = None;
    while let Ok(Some((pid, status))) = process::wait_any(false) {
        if pid == leader {
            found = Some(status);
        }
    }
    found
}

/// Carries out one order; without a daemon there is no reason to live, and process 1 takes everyone along.
fn obey() {
    let mut byte = [0u8; 1];
    match (sys::read(CONTROL, &mut byte), byte) {
        (Ok(1), [order::SOFT]) => {
            process::signal_everyone(SIGTERM);
            process::signal_everyone(SIGCONT);
        }
        (Ok(1), [order::HARD]) => process::signal_everyone(SIGKILL),
        (Err(Errno::INTERRUPTED), _) => {}
        _ => process::exit(1),
    }
}

/// Kills every other process of the namespace and waits until none is left; returns how many there were.
fn end_everyone() -> u32 {
    process::signal_everyone(SIGKILL);
    let mut count = 0;
    while let Ok(Some(_)) = process::wait_any(true) {
        count += 1;
    }
    count
}
