//! The view: what is not listed is not there, what is pinned stays, what is masked is empty, and the host is as before.

use crate::case::{Case, attempt, is_ordinary, run};
use sandbox::{Access, Ending, Layer, RunError, Stop};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A workspace with a repository's skeleton, hooks and configuration pinned.
fn repository(case: &Case, script: &str) -> sandbox::Command {
    for (path, content) in [
        (".git/config", "[core]\n"),
        (".git/hooks/pre-commit", "#!/bin/sh\n"),
        (".git/HEAD", "ref: refs/heads/main\n"),
        ("src/main.c", "int main;\n"),
    ] {
        case.write(path, content);
    }
    let mut command = case.shell(script);
    command.read_only = vec![".git/hooks".into(), ".git/config".into()];
    command
}

#[test]
fn x3_p007_hooks_and_configuration_stay_whatever_is_tried() {
    for attack in [
        "printf x > .git/hooks/pre-commit",
        "printf x > .git/hooks/post-checkout",
        "printf x > .git/config",
        "rm -rf .git/hooks",
        "mv .git/hooks .git/old",
        "mv .git .got && mkdir -p .git/hooks && printf x > .git/hooks/pre-commit",
        "printf x > c && mv -f c .git/config",
        "ln -sf /tmp/evil .git/config",
        "chmod 777 .git/hooks/pre-commit",
        "mount -o remount,rw .git/hooks || umount .git/hooks",
        "cd .git/hooks && printf x > ../hooks/pre-commit",
    ] {
        let case = Case::new();
        let outcome = run(&repository(&case, attack));
        assert_ne!(outcome.exit.ending, Ending::Exited { code: 0 }, "{attack}");
        assert_eq!(case.read(".git/hooks/pre-commit"), "#!/bin/sh\n", "{attack}");
        assert_eq!(case.read(".git/config"), "[core]\n", "{attack}");
        let hooks = std::fs::read_dir(case.path().join(".git/hooks")).unwrap().count();
        assert_eq!(hooks, 1, "{attack}");
    }
    let case = Case::new();
    repository(&case, "");
    case.control("mv .git .got && mkdir -p .git/hooks && printf x > .git/hooks/pre-commit");
    assert_eq!(case.read(".git/hooks/pre-commit"), "x", "control: it works without walls");
}

#[test]
fn x3_p007_the_rest_of_the_repository_can_be_changed() {
    let case = Case::new();
    let outcome =
        run(&repository(&case, "echo x > .git/HEAD; echo y > src/main.c; mkdir .git/refs"));
    assert_eq!(outcome.exit.ending, Ending::Exited { code: 0 }, "{}", outcome.err);
    assert_eq!((case.read(".git/HEAD"), case.read("src/main.c")), ("x\n".into(), "y\n".into()));
    assert!(outcome.exit.unpinned.is_empty());
}

#[test]
fn x3_p007_pins_may_be_absolute() {
    let case = Case::new();
    let mut command = repository(&case, "printf x > .git/config; printf x > .git/hooks/pre-commit");
    command.read_only = vec![case.path().join(".git/hooks"), case.path().join(".git/none")];
    let outcome = run(&command);
    assert_eq!((case.read(".git/config").as_str(), outcome.exit.unpinned.len()), ("x", 1));
    assert_eq!(outcome.exit.unpinned[0].path, Path::new(".git/none"));
    assert_eq!(case.read(".git/hooks/pre-commit"), "#!/bin/sh\n");
}

#[test]
fn x3_p007_a_pin_behind_a_closed_directory_holds_when_the_command_opens_it() {
    let case = Case::new();
    let mut command = repository(
        &case,
        "chmod 700 .git; printf x > .git/hooks/pre-commit; printf y > .git/config",
    );
    case.control("chmod 000 .git");
    run(&command);
    case.control("chmod 700 .git");
    assert_eq!(case.read(".git/hooks/pre-commit"), "#!/bin/sh\n");
    assert_eq!(case.read(".git/config"), "[core]\n");
    command.read_only.clear();
    run(&command);
    assert_eq!(case.read(".git/config"), "y", "control: it works without pins");
}

#[test]
fn x3_p007_what_cannot_be_pinned_is_told() {
    let case = Case::new();
    std::os::unix::fs::symlink("/usr", case.path().join("link")).unwrap();
    let mut command = case.shell("mkdir -p .git/hooks");
    command.read_only = vec![".git/hooks".into(), "link".into(), ".git/config".into()];
    let told: Vec<(PathBuf, bool)> =
        run(&command).exit.unpinned.into_iter().map(|u| (u.path, u.exists_now)).collect();
    let expected = [(".git/hooks", true), ("link", true), (".git/config", false)];
    assert_eq!(told, expected.map(|(path, now)| (path.into(), now)));
}

#[test]
fn x3_a_link_that_appears_above_a_pin_is_never_followed() {
    let case = Case::new();
    case.write("real/hooks/a", "");
    std::os::unix::fs::symlink("real", case.path().join("dir")).unwrap();
    let mut command = case.shell("true");
    command.read_only = vec!["dir/hooks".into()];
    assert_eq!(run(&command).exit.unpinned.len(), 1);
}

#[test]
fn x3_files_outside_the_view_are_not_there() {
    let case = Case::new();
    let outside = Case::new();
    outside.write("canary", "canary-outside");
    let canary = outside.path().join("canary");
    std::os::unix::fs::symlink(&canary, case.path().join("link")).unwrap();
    let home = std::env::home_dir().unwrap_or("/root".into());
    for path in [
        Path::new("/etc/shadow"),
        Path::new("/etc/ssh"),
        Path::new("/etc/resolv.conf"),
        Path::new("/root"),
        Path::new("/sys/kernel"),
        Path::new("/var/run"),
        Path::new("/run/docker.sock"),
        Path::new("/dev/sda"),
        Path::new("/dev/vda"),
        Path::new("/dev/kmsg"),
        Path::new("/dev/mem"),
        &home,
        &canary,
    ] {
        // A workspace beneath the home directory makes empty directories of that name; its content is what matters.
        let within = case.path().starts_with(path);
        let outcome = run(&case.command(&[Path::new("/bin/ls"), path]));
        assert!(within || outcome.exit.ending != Ending::Exited { code: 0 }, "{}", path.display());
    }
    let tries =
        "cat link /proc/1/root/etc/shadow /proc/self/root/etc/shadow /../../etc/shadow; ls -A /run";
    assert_eq!(case.sh(tries).out, "");
}

#[test]
fn x3_writes_through_a_link_reach_nothing_outside() {
    let attack = "echo x > file; echo x > dir/new; rm -f dir/canary; chmod 777 file; touch -d 2001-01-01 dir/canary; \
                  cd dir && echo x > canary";
    let look = |outside: &Case| {
        outside.control("find . ! -name . -printf '%p %m %T@ %s\\n' | sort; cat canary")
    };
    let setting = || {
        let (case, outside) = (Case::new(), Case::new());
        outside.write("canary", "before");
        std::os::unix::fs::symlink(outside.path().join("canary"), case.path().join("file"))
            .unwrap();
        std::os::unix::fs::symlink(outside.path(), case.path().join("dir")).unwrap();
        let before = look(&outside);
        (case, outside, before)
    };
    let (case, outside, before) = setting();
    assert_ne!(case.sh(attack).exit.ending, Ending::Exited { code: 0 });
    assert_eq!(look(&outside), before);
    let (case, outside, before) = setting();
    case.control(attack);
    assert_ne!(look(&outside), before, "control: it works without walls");
}

#[test]
fn x3_the_scratch_of_the_host_is_not_seen() {
    let case = Case::new();
    let outside = tempfile::NamedTempFile::new_in("/tmp").unwrap();
    let name = outside.path().file_name().unwrap().to_str().unwrap();
    let listed = case.sh("ls -A /tmp /var/tmp /dev/shm").out;
    assert!(listed.contains("home"), "{listed}");
    assert!(!listed.contains(name), "{listed}");
    case.sh(&format!("echo x > /tmp/{name}; echo x > /tmp/of-the-sandbox"));
    assert_eq!(std::fs::metadata(outside.path()).unwrap().len(), 0);
    assert!(!Path::new("/tmp/of-the-sandbox").exists());
}

#[test]
fn x3_nothing_but_workspace_and_scratch_can_be_written() {
    let case = Case::new();
    for path in [
        "/x",
        "/usr/x",
        "/usr/bin/x",
        "/etc/x",
        "/etc/passwd",
        "/dev/x",
        "/proc/self/comm",
        "/run/x",
        "/var/x",
    ] {
        let outcome = case.sh(&format!("echo x > {path}"));
        assert!(outcome.err.contains("Read-only file system"), "{path}: {}", outcome.err);
    }
    let fine = "echo x > /tmp/x; echo x > $HOME/x; echo x > /dev/shm/x; echo x > /var/tmp/y; echo x > w; ls /tmp";
    let outcome = case.sh(fine);
    assert_eq!(outcome.err, "");
    let again = case.sh("ls -A /tmp/x /dev/shm $HOME");
    assert!(!again.out.contains('x'), "scratch does not survive: {}", again.out);
}

#[test]
fn x3_a_read_only_workspace_cannot_be_changed() {
    let case = Case::new();
    case.write("a", "before");
    let mut command =
        case.shell("cat a; echo x > a; echo x > b; rm a; chmod 777 a; mkdir d; touch a");
    command.access = Access::ReadOnly;
    command.read_only = vec!["a".into()];
    let outcome = run(&command);
    assert_eq!(outcome.out, "before");
    assert_eq!(outcome.err.matches("Read-only file system").count(), 6, "{}", outcome.err);
    assert_eq!(std::fs::read_dir(case.path()).unwrap().count(), 1);
}

#[test]
fn x3_files_belong_to_the_owner_of_the_workspace() {
    let case = Case::new();
    case.write("theirs", "x");
    let outcome = case
        .sh("echo x > made; mkdir dir; echo y >> theirs; stat -c %u made theirs . | uniq | wc -l");
    assert_eq!(outcome.out, "1\n", "inside they are one user's: {}", outcome.err);
    let owner = std::fs::metadata(case.path()).unwrap();
    for name in ["made", "dir", "theirs"] {
        let made = std::fs::metadata(case.path().join(name)).unwrap();
        assert_eq!((made.uid(), made.gid()), (owner.uid(), owner.gid()), "{name}");
    }
}

#[test]
fn x3_a_workspace_of_another_owner_works_for_root() {
    if is_ordinary() {
        return;
    }
    let case = Case::new();
    case.write("theirs", "x");
    for path in [case.path().to_owned(), case.path().join("theirs")] {
        std::os::unix::fs::chown(path, Some(4321), Some(1234)).unwrap();
    }
    case.write("of_root", "x");
    let outcome = case.sh("echo y > theirs; echo x > made; echo z > of_root");
    assert!(outcome.err.contains("of_root"), "a file of somebody else is not the sandbox's");
    assert_eq!((case.read("theirs"), case.read("of_root")), ("y\n".into(), "x".into()));
    let made = std::fs::metadata(case.path().join("made")).unwrap();
    assert_eq!((made.uid(), made.gid()), (4321, 1234));
}

#[test]
fn x3_toolchains_are_shown_where_they_are_and_read_only() {
    let case = Case::new();
    let tools = Case::new();
    tools.write("text", "#!/bin/sh\necho works\n");
    tools.control("mkdir bin && cp text bin/tool && chmod -R a+rX . && chmod +x bin/tool");
    let tool = tools.path().join("bin/tool");
    let mut command = case.shell(&format!("{0}; echo x > {0}; rm {0}; touch {0}2", tool.display()));
    command.toolchains = vec![
        tools.path().to_owned(),
        tools.path().join("bin"),
        "/no/such".into(),
        "/usr/lib".into(),
    ];
    let outcome = run(&command);
    assert_eq!(outcome.out, "works\n", "{}", outcome.err);
    assert_eq!(outcome.err.matches("Read-only file system").count(), 3, "{}", outcome.err);
}

#[test]
fn x3_paths_that_would_cover_or_leave_the_sandbox_are_refused() {
    let case = Case::new();
    let field = |change: &dyn Fn(&mut sandbox::Command)| {
        let mut command = case.shell("true");
        change(&mut command);
        match attempt(&command, &Stop::new().unwrap()) {
            Err(RunError::Request { field, .. }) => field,
            Err(RunError::Workspace { .. }) => "opening",
            Err(other) => panic!("{other}"),
            Ok(_) => "nothing",
        }
    };
    for workspace in ["/", "/usr", "/tmp", "/proc/self", "/dev/shm", "/usr/../tmp"] {
        assert_eq!(field(&|c| c.workspace = workspace.into()), "workspace", "{workspace}");
    }
    assert_eq!(field(&|c| c.workspace = "relative".into()), "workspace");
    assert_eq!(field(&|c| c.workspace = "/no/such/place".into()), "opening");
    for toolchain in ["/", "/proc", "relative", "/tmp"] {
        assert_eq!(field(&|c| c.toolchains = vec![toolchain.into()]), "toolchains", "{toolchain}");
    }
    for pin in ["/usr", "../x", "", "a/../.."] {
        assert_eq!(field(&|c| c.read_only = vec![pin.into()]), "read_only", "{pin}");
    }
    assert_eq!(field(&|c| c.masked = vec![c.workspace.clone()]), "masked");
    let link = Case::new();
    let alias = link.path().join("alias");
    std::os::unix::fs::symlink(case.path(), &alias).unwrap();
    assert_eq!(field(&|c| c.workspace.clone_from(&alias)), "opening", "a link is not canonical");
}

/// Set to a directory on a file system that cannot translate owners.
const UNTRANSLATED: &str = "SANDBOX_TEST_UNTRANSLATED";

#[test]
fn i1_where_owners_cannot_be_translated_root_is_refused_and_others_are_told() {
    if is_ordinary() {
        return;
    }
    let Some(place) = std::env::var_os(UNTRANSLATED) else {
        let place = Case::new();
        let name = "view::i1_where_owners_cannot_be_translated_root_is_refused_and_others_are_told";
        let mut command = std::process::Command::new("unshare");
        let script = "mount -t ramfs none \"$0\" && exec \"$@\"";
        command.args(["--mount", "/bin/sh", "-c", script]).arg(place.path());
        command.arg(std::env::current_exe().unwrap()).args([name, "--exact"]);
        let output = command.env(UNTRANSLATED, place.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    };
    let case = Case::new();
    let mut command = case.shell("echo x > made; id -u");
    command.workspace = PathBuf::from(place);
    let error = attempt(&command, &Stop::new().unwrap()).err();
    assert!(matches!(&error, Some(RunError::Identity { .. })), "{error:?}");
    let made = command.workspace.join("made");
    assert!(!made.exists());
    std::os::unix::fs::chown(&command.workspace, Some(4321), Some(1234)).unwrap();
    let outcome = run(&command);
    assert_eq!(outcome.out, "1000\n", "{}", outcome.err);
    assert!(!outcome.exit.enforced.enforces(Layer::UnprivilegedIdentity));
    assert!(outcome.exit.enforced.enforces(Layer::FileView));
    assert_eq!(std::fs::metadata(made).unwrap().uid(), 4321);
}
