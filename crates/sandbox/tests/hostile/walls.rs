//! The walls themselves: no right, no descriptor, no door of the kernel that was not meant.

use crate::case::{Case, is_ordinary, jail, run};
use rustix::fd::AsRawFd;
use sandbox::{Ending, Layer, State};

#[test]
fn i1_every_layer_says_whether_it_is_enforced() {
    let level = jail().level();
    for layer in [
        Layer::UserNamespace,
        Layer::UnprivilegedIdentity,
        Layer::WorkspaceOwner,
        Layer::FileView,
        Layer::Processes,
        Layer::ProcessList,
        Layer::Network,
        Layer::Ipc,
        Layer::Privileges,
        Layer::Limits,
        Layer::SystemCalls,
    ] {
        assert!(level.enforces(layer), "{layer:?}");
    }
    for (layer, state) in level.layers() {
        if let State::Missing { reason, remedy } = state {
            assert!(!reason.is_empty() && !remedy.is_empty(), "{layer:?}");
        }
    }
    assert!(!level.enforces(Layer::FileRules), "nothing is claimed that is not there");
    assert_eq!(&Case::new().sh("true").exit.enforced, level);
}

#[test]
fn x3_no_capability_and_no_way_to_get_one() {
    let case = Case::new();
    let status =
        case.sh("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status; id -u; id -G").out;
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert!(status.contains(&format!("{set}:\t0000000000000000")), "{status}");
    }
    assert!(status.contains("NoNewPrivs:\t1") && status.contains("Seccomp:\t2"), "{status}");
    if !is_ordinary() {
        assert!(status.ends_with("1000\n1000\n"), "{status}");
    }
    let outside = case.sh("cat /proc/self/uid_map").out;
    let ids: Vec<&str> = outside.split_ascii_whitespace().collect();
    assert_eq!(ids.len(), 3, "{outside}");
    assert!(ids[1] != "0" && ids[2] == "1", "one user who is not root on the host: {outside}");
}

#[test]
fn x3_every_namespace_is_its_own() {
    let case = Case::new();
    for kind in ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"] {
        let inside = case.sh(&format!("readlink /proc/self/ns/{kind}")).out;
        let outside = case.control(&format!("readlink /proc/self/ns/{kind}"));
        assert!(inside.starts_with(&format!("{kind}:[")), "{inside}");
        assert_ne!(inside, outside);
    }
}

#[test]
fn x3_no_process_of_the_host_is_listed() {
    let case = Case::new();
    let listed = case.sh("echo /proc/[0-9]*; echo $$ $PPID").out;
    let (paths, pids) = listed.trim_end().split_once('\n').unwrap();
    let mut pids: Vec<&str> = pids.split(' ').collect();
    pids.sort_unstable();
    let paths: Vec<&str> = paths.split(' ').collect();
    assert_eq!(pids[0], "1", "the parent is process 1 of the sandbox");
    assert_eq!(paths, pids.iter().map(|pid| format!("/proc/{pid}")).collect::<Vec<_>>());
}

#[test]
fn x3_no_descriptor_is_inherited() {
    let case = Case::new();
    let file = std::fs::File::open("/dev/null").unwrap();
    let leaked = rustix::io::fcntl_dupfd_cloexec(&file, 50).unwrap();
    rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).unwrap();
    let number = leaked.as_raw_fd();
    let control = case.control(&format!("test -e /proc/self/fd/{number} && echo leaks"));
    assert_eq!(control, "leaks\n", "control");
    let outcome = run(&case.command(&["ls", "/proc/self/fd"]));
    assert_eq!(outcome.out, "0\n1\n2\n3\n", "three streams, and the directory that ls reads");
}

#[test]
fn x3_kernel_settings_cannot_be_written() {
    let case = Case::new();
    for path in ["/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/vm/drop_caches"]
    {
        let outcome = case.sh(&format!("echo x > {path}"));
        assert_ne!(outcome.exit.ending, Ending::Exited { code: 0 }, "{path}");
    }
    let outcome = case.sh("cat /proc/kcore | head -c 1; cat /proc/1/environ /proc/1/maps; ls /proc/1/fd; cat /proc/1/mem");
    assert_eq!(outcome.out, "", "{}", outcome.err);
}

#[test]
fn x3_namespaces_and_mounts_cannot_be_made() {
    let case = Case::new();
    for attempt in [
        "unshare -U true",
        "unshare -r -m true",
        "unshare -n true",
        "mount -t tmpfs none /tmp",
        "mount --bind /usr .",
        "umount /proc",
        "umount -l /usr",
        "chroot . true",
        "nsenter -t 1 -m true",
        "nsenter -t 1 -U true",
        "mknod disk b 8 0",
        "chown 0 .",
        "chmod u+s /usr/bin/env",
    ] {
        let outcome = case.sh(attempt);
        let ending = outcome.exit.ending;
        assert!(
            matches!(ending, Ending::Exited { code: 1.. }),
            "`{attempt}`: {ending:?} {}",
            outcome.out
        );
    }
}

#[test]
fn x3_dangerous_calls_are_refused() {
    let case = Case::new();
    // Numbers of x86-64 and of aarch64: keyctl, bpf, perf_event_open, userfaultfd, io_uring_setup, open_tree, fsopen.
    let calls = if cfg!(target_arch = "x86_64") {
        [250, 321, 298, 323, 425, 428, 430]
    } else {
        [219, 280, 241, 282, 425, 428, 430]
    };
    for call in calls {
        let program = format!("print syscall({call}, 0, 0, 0, 0, 0) == -1 ? \"$!\" : 'done'");
        let outcome = run(&case.command(&["perl", "-e", &program]));
        assert_eq!(outcome.out, "Operation not permitted", "call {call}");
    }
    for request in ["0x5412", "0x541C", "0x5412 + (1 << 32)"] {
        let program = format!("my $c = 'x'; print ioctl(STDIN, {request}, $c) ? 'done' : \"$!\"");
        let outcome = run(&case.command(&["perl", "-e", &program]));
        assert_eq!(outcome.out, "Operation not permitted", "ioctl {request}");
    }
}

#[test]
fn x3_set_user_id_programs_gain_nothing() {
    let case = Case::new();
    let outcome = case.sh("cp /usr/bin/id id && chmod 4755 id && ./id -u; id -u");
    let ids: Vec<&str> = outcome.out.lines().collect();
    assert!(ids.windows(2).all(|pair| pair[0] == pair[1]), "{}", outcome.out);
    assert!(case.sh("mount | grep -v nosuid | grep -vE '^(none|devtmpfs|udev)'").out.is_empty());
}

#[test]
fn x3_ipc_objects_of_the_host_are_not_seen() {
    let case = Case::new();
    assert_eq!(
        case.sh("tail -n +2 /proc/sysvipc/shm; tail -n +2 /proc/sysvipc/msg; hostname").out,
        "sandbox\n"
    );
}
