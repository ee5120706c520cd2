//! The part of the view that is the same for every command: system directories, a short list of configuration,
//! devices, the process list. It must never show an account, a secret or a socket of the host's.

use super::{CLOSED_DIR, CLOSED_FILE, HOME, NOEXEC, NOSUID, Plan, RDONLY, SCRATCH, TREE};
use crate::line::NulByte;
use crate::protocol::{create, flag, from, op};
use std::fs;
use std::path::Path;

const SHM_BYTES: u64 = 512 << 20;
/// Parts of `/etc` that programs need to start or to speak TLS and that tell nothing about accounts or secrets.
const CONFIGURATION: [&str; 12] = [
    "/etc/alternatives",
    "/etc/crypto-policies",
    "/etc/fonts",
    "/etc/java-17-openjdk",
    "/etc/java-21-openjdk",
    "/etc/ld.so.cache",
    "/etc/mime.types",
    "/etc/pki",
    "/etc/protocols",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
];
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
const DEVICE_LINKS: [(&str, &str); 4] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
];
/// The part that is the same for every command: system directories, configuration, devices, process list.
///
/// `user` is what the command sees itself as.
pub(crate) fn base(user: (u32, u32)) -> Result<Plan, NulByte> {
    let mut plan = Plan::default();
    let host = |path: &'static str| (from::HOST, Path::new(path));
    plan.bind(host("/usr"), Path::new("/usr"), (create::DIR, TREE, 0))?;
    for path in ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"] {
        match fs::read_link(path) {
            Ok(target) => plan.link(path, target)?,
            Err(_) if Path::new(path).is_dir() => {
                plan.bind(host(path), Path::new(path), (create::DIR, TREE, 0))?;
            }
            Err(_) => {}
        }
    }
    for path in CONFIGURATION {
        let Ok(metadata) = fs::metadata(path) else {
            continue;
        };
        let make = if metadata.is_dir() { create::DIR } else { create::FILE };
        let attributes = TREE | NOEXEC;
        plan.bind(host(path), Path::new(path), (make, attributes, flag::OPTIONAL))?;
    }
    accounts(&mut plan, user)?;
    for path in ["/etc/localtime", "/etc/os-release"] {
        // Copied as links only where they lead to what the view has.
        let target =
            fs::read_link(path).ok().filter(|t| t.components().any(|c| c.as_os_str() == "usr"));
        if let Some(target) = target {
            plan.link(path, target)?;
        }
    }
    for path in DEVICES {
        plan.bind(host(path), Path::new(path), (create::FILE, RDONLY | NOSUID | NOEXEC, 0))?;
    }
    for (path, target) in DEVICE_LINKS {
        plan.link(path, target)?;
    }
    plan.scratch("/dev/shm", SHM_BYTES)?;
    plan.body.u32(op::PROC).text("/proc")?;
    plan.about("/proc");
    plan.directory("/run", 0o755, false)?;
    plan.link("/var/tmp", SCRATCH)?;
    plan.file(CLOSED_FILE, 0, "")?;
    plan.directory(CLOSED_DIR, 0, false)?;
    Ok(plan)
}

/// Accounts and names of the sandbox itself; nothing of the host's.
fn accounts(plan: &mut Plan, (uid, gid): (u32, u32)) -> Result<(), NulByte> {
    let root = if uid == 0 { "" } else { "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n" };
    let nobody = if uid == 65534 {
        ""
    } else {
        "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
    };
    let passwd = format!("{root}sandbox:x:{uid}:{gid}:sandbox:{HOME}:/bin/sh\n{nobody}");
    let root = if gid == 0 { "" } else { "root:x:0:\n" };
    plan.file("/etc/passwd", 0o444, &passwd)?;
    plan.file("/etc/group", 0o444, &format!("{root}sandbox:x:{gid}:\nnogroup:x:65534:\n"))?;
    plan.file("/etc/hosts", 0o444, "127.0.0.1 localhost sandbox\n::1 localhost\n")?;
    plan.file("/etc/hostname", 0o444, "sandbox\n")?;
    plan.file("/etc/nsswitch.conf", 0o444, "passwd: files\ngroup: files\nhosts: files\n")
}
