//! Input, program, directory, environment: exactly what was declared, and typed when it cannot be had.

use crate::case::{Case, attempt, run};
use sandbox::{Ending, ProgramCause, Ran, RunError, Stdin, Stop};
use std::os::unix::fs::PermissionsExt;

fn refused(command: &sandbox::Command) -> RunError {
    match attempt(command, &Stop::new().unwrap()) {
        Err(error) => error,
        Ok(outcome) => panic!("it ran: {:?}", outcome.exit.ending),
    }
}

#[test]
fn x2_p032_a_prompt_gets_end_of_file() {
    let case = Case::new();
    let outcome = case.sh("read x; echo \"read $?\"; cat; test -t 0 || echo no terminal");
    assert_eq!(outcome.out, "read 1\nno terminal\n");
    assert_eq!(outcome.exit.ending, Ending::Exited { code: 0 });
}

#[test]
fn x2_p032_there_is_no_controlling_terminal() {
    let case = Case::new();
    let outcome = case.sh("(exec 3</dev/tty) || echo none; (exec 3</dev/console) || echo none");
    assert_eq!(outcome.out, "none\nnone\n");
    let session = case.sh("cut -d' ' -f6,7 /proc/self/stat");
    let mut numbers = session.out.split_ascii_whitespace();
    assert_ne!(numbers.next(), Some("0"), "it has a session");
    assert_eq!(numbers.next(), Some("0"), "its session has no terminal");
}

#[test]
fn x2_given_bytes_are_the_input_and_cannot_be_changed() {
    let case = Case::new();
    let mut command = case.shell("cat; echo x >&0 || echo refused");
    command.stdin = Stdin::Bytes(b"one\ntwo\n".repeat(100_000));
    let outcome = run(&command);
    assert_eq!(outcome.exit.stdout.bytes, 800_008);
    assert!(outcome.out.ends_with("two\nrefused\n"));
}

#[test]
fn x3_p033_the_environment_is_what_was_given() {
    let case = Case::new();
    let canary = "CARGO_MANIFEST_DIR";
    let mut command = case.command(&["env"]);
    command.env.push(("GIVEN".into(), "a b=c".into()));
    let outcome = run(&command);
    let given = "PATH=/usr/local/bin:/usr/bin:/bin\nHOME=/tmp/home\nGIVEN=a b=c\n";
    assert_eq!(outcome.out, given);
    let mut control = std::process::Command::new("env");
    let control = control.env(canary, "canary-9d").output().unwrap();
    assert!(String::from_utf8_lossy(&control.stdout).contains("canary-9d"), "control");
}

#[test]
fn x3_p033_no_environment_of_the_runtime_can_be_read() {
    let case = Case::new();
    let outcome = case.sh("cat /proc/$PPID/environ /proc/*/environ | tr '\\0' '\\n'; ls /proc");
    let ours: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
    for line in outcome.out.lines() {
        let name = line.split('=').next().unwrap();
        let given = ["PATH", "HOME", "PWD"].contains(&name);
        assert!(given || !line.contains('=') || !ours.iter().any(|our| our == name), "{line}");
    }
    let pids = outcome.out.lines().filter_map(|line| line.parse::<u32>().ok()).count();
    assert!((2..8).contains(&pids), "{pids} processes are visible");
}

#[test]
fn x2_p034_a_removed_directory_is_told_and_the_next_call_works() {
    let case = Case::new();
    case.sh("mkdir t");
    let mut command = case.shell("rm -rf ../t; echo still; pwd >/dev/null");
    command.cwd = "t".into();
    assert_eq!(run(&command).out, "still\n");
    let error = refused(&command);
    assert!(matches!(&error, RunError::Cwd { path, .. } if path.as_os_str() == "t"), "{error}");
    assert_eq!(error.ran(), Ran::No);
    let outcome = case.sh("pwd");
    assert_eq!(outcome.out.trim_end(), case.path().to_str().unwrap());
}

#[test]
fn x2_a_working_directory_never_leaves_the_workspace() {
    let case = Case::new();
    std::os::unix::fs::symlink("/usr", case.path().join("out")).unwrap();
    case.write("in/x", "");
    std::os::unix::fs::symlink("in", case.path().join("link")).unwrap();
    let mut command = case.command(&["pwd"]);
    command.cwd = "out".into();
    assert!(matches!(refused(&command), RunError::Cwd { .. }));
    for outside in ["../x", "/usr", "in/../.."] {
        command.cwd = outside.into();
        assert!(matches!(refused(&command), RunError::Request { field: "cwd", .. }), "{outside}");
    }
    command.cwd = "link".into();
    assert_eq!(run(&command).exit.ending, Ending::Exited { code: 0 });
}

#[test]
fn x1_programs_are_found_inside_and_typed_when_not() {
    let case = Case::new();
    case.write("plain", "echo no\n");
    case.write("text", "\u{1}\u{2}");
    case.control("cp text garbage");
    let set = |name: &str, mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(case.path().join(name), mode).unwrap();
    };
    set("garbage", 0o755);
    let cause = |argv: &[&str]| match refused(&case.command(argv)) {
        error if error.ran() != Ran::No => panic!("it may have run: {error}"),
        RunError::Program { cause, program } if program == argv[0] => cause,
        other => panic!("{other}"),
    };
    assert_eq!(cause(&["no-such-program"]), ProgramCause::NotFound);
    assert_eq!(cause(&["./missing"]), ProgramCause::NotFound);
    assert_eq!(cause(&["./plain"]), ProgramCause::PermissionDenied);
    assert_eq!(cause(&["./garbage"]), ProgramCause::NotExecutable);
    assert_eq!(cause(&["true", &"x".repeat(200_000)]), ProgramCause::TooLarge);
    let mut command = case.command(&["true"]);
    command.env.clear();
    assert!(matches!(refused(&command), RunError::Program { cause: ProgramCause::NotFound, .. }));
    command.env = vec![("PATH".into(), ".:relative:/usr/bin".into())];
    assert_eq!(run(&command).exit.ending, Ending::Exited { code: 0 });
}

#[test]
fn x1_words_stay_words() {
    let case = Case::new();
    let words = ["printf", "%s|", "a b", "$(touch pwned)", "", "'\"", "\u{4e2d}\n"];
    assert_eq!(run(&case.command(&words)).out, "a b|$(touch pwned)||'\"|\u{4e2d}\n|");
    let big: Vec<String> = std::iter::once("printf".to_owned())
        .chain(std::iter::once("%s".to_owned()))
        .chain((0..2000).map(|n| format!("{n:0200}")))
        .collect();
    assert_eq!(run(&case.command(&big)).exit.stdout.bytes, 400_000);
    for bad in [vec!["true", "a\0b"], vec![]] {
        let error = refused(&case.command(&bad));
        assert!(matches!(error, RunError::Request { field: "argv", .. }), "{error}");
    }
}
