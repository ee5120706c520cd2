//! What the probe's answer means: the state of every layer, or the wall that cannot be built and its remedy.
//! It must never call a layer enforced that the probe did not build.

use super::identity::Identity;
use crate::error::JailError;
use crate::level::{Layer, Level, State};
use crate::protocol::{Record, missed, step};
use std::io;

const NO_PROCESS_LIST: (&str, &str) = (
    "a new process list cannot be mounted here, so `/proc` is empty inside",
    "run outside a container that covers parts of `/proc`, or let it show all of it",
);

/// What one run enforced: what was promised for it, without what its helper had to leave out. The list of processes is
/// the only such layer, and an empty `/proc` shows nothing; every other one fails the run.
pub(crate) fn after_run(promised: Level, missing: u32) -> Level {
    if missing & missed::PROC == 0 || !promised.enforces(Layer::ProcessList) {
        return promised;
    }
    promised.without(Layer::ProcessList, NO_PROCESS_LIST.0, NO_PROCESS_LIST.1)
}

/// The layers of this machine, by what the probe had to leave out.
pub(super) fn level(identity: Identity, missing: u32) -> Level {
    let lacks = |bit: u32, reason: &str, remedy: &str| {
        if missing & bit == 0 {
            State::Enforced
        } else {
            State::Missing { reason: reason.to_owned(), remedy: remedy.to_owned() }
        }
    };
    let later = |reason: &str, remedy: &str| State::Missing {
        reason: reason.to_owned(),
        remedy: remedy.to_owned(),
    };
    let unprivileged = if identity.outside.0 == 0 {
        later("the daemon is root of a container", "run it as an ordinary user of the container")
    } else {
        State::Enforced
    };
    Level::new(vec![
        (Layer::UserNamespace, State::Enforced),
        (Layer::UnprivilegedIdentity, unprivileged),
        (Layer::WorkspaceOwner, State::Enforced),
        (Layer::FileView, State::Enforced),
        (Layer::Processes, State::Enforced),
        (Layer::ProcessList, lacks(missed::PROC, NO_PROCESS_LIST.0, NO_PROCESS_LIST.1)),
        (Layer::Network, State::Enforced),
        (Layer::Ipc, State::Enforced),
        (Layer::Privileges, State::Enforced),
        (Layer::Limits, State::Enforced),
        (
            Layer::TreeLimits,
            later("limits of memory and CPU hold for each process alone", "none in this version"),
        ),
        (
            Layer::SystemCalls,
            lacks(
                missed::FILTER,
                "the kernel refused the filter",
                "use a kernel with CONFIG_SECCOMP_FILTER",
            ),
        ),
        (Layer::FileRules, later("Landlock rules are not used", "none in this version")),
    ])
}

/// The wall that the probe could not build.
pub(super) fn wall(record: &Record) -> JailError {
    let remedy = match record.step {
        step::CLONE | step::MAPS => {
            "allow user namespaces for this user: look at `user.max_user_namespaces`, \
             `kernel.unprivileged_userns_clone`, an AppArmor profile with `userns,`, or the seccomp profile of the container"
        }
        step::PROPAGATION | step::ROOT | step::VIEW | step::PIVOT => {
            "allow mounts in user namespaces: an AppArmor profile with `userns,` or a container without a seccomp profile; \
             the kernel must be 5.12 or newer"
        }
        _ => "look for a security module or a container that forbids it",
    };
    JailError::Wall {
        step: step_name(record.step),
        source: io::Error::from_raw_os_error(record.errno.cast_signed()),
        remedy,
    }
}

/// What a step is called in an error.
pub(crate) fn step_name(number: u32) -> &'static str {
    match number {
        step::CLONE => "making namespaces",
        step::MAPS => "mapping the user",
        step::PROPAGATION => "cutting mounts off from the host",
        step::ROOT => "making an empty root",
        step::VIEW => "showing a path",
        step::ID_MAP => "translating the workspace's owner",
        step::WORKSPACE_MOVED => "finding the workspace again",
        step::PIVOT => "entering the new root",
        step::IDENTITY => "taking an unprivileged identity",
        step::CAPABILITIES => "dropping capabilities",
        step::CWD => "entering the working directory",
        step::FILTER => "loading the filter of system calls",
        step::LIMITS => "setting limits",
        step::SPAWN => "starting the process",
        _ => "reading the request",
    }
}
