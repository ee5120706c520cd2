//! Masks: the content of what is masked has no name in the sandbox, whatever leads to it or is moved.

use crate::case::{Case, run};
use sandbox::Access;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

/// Runs `script` with these paths masked, and returns both outputs.
fn masked(case: &Case, script: &str, paths: &[&str]) -> String {
    let mut command = case.shell(script);
    command.masked = paths.iter().map(PathBuf::from).collect();
    let outcome = run(&command);
    outcome.out + &outcome.err
}

#[test]
fn x3_masked_paths_are_closed_inside_and_untouched_outside() {
    let case = Case::new();
    for path in [".env", "secrets/key", "src/a"] {
        case.write(path, "canary");
    }
    std::os::unix::fs::symlink("../.env", case.path().join("src/link")).unwrap();
    let script = "cat .env src/link; ls secrets; cat secrets/key; mv .env e; mv secrets s; rm -rf secrets; \
                  ln .env hard; echo x > .env; cat src/a";
    let mut command = case.shell(script);
    command.masked = vec![".env".into(), "secrets".into(), "missing".into(), "/etc/shadow".into()];
    let outcome = run(&command);
    assert_eq!(outcome.out, "canary", "only the file that is not masked: {}", outcome.err);
    assert_eq!((case.read(".env"), case.read("secrets/key")), ("canary".into(), "canary".into()));
    for path in [".env", "src/link", "secrets"] {
        let closed =
            outcome.err.lines().any(|line| line.contains(path) && line.contains("ermission"));
        assert!(closed, "`{path}` is no empty one: {}", outcome.err);
    }
}

#[test]
fn x3_p033_a_masked_link_hides_what_it_leads_to() {
    let case = Case::new();
    case.write("vault/deep/key", "canary");
    symlink("vault/deep/key", case.path().join(".env")).unwrap();
    symlink(".env", case.path().join("second")).unwrap();
    symlink("vault/deep", case.path().join("way")).unwrap();
    let read = "cat .env second vault/deep/key way/key; grep -r canary .";
    assert!(masked(&case, read, &[]).contains("canary"), "control");
    for path in [".env", "second", "way/key", "vault/deep/key", "vault", "way", "vault/deep"] {
        let said = masked(&case, read, &[path]);
        assert!(!said.contains("canary"), "{path}: {said}");
    }
}

#[test]
fn x3_p033_links_made_by_the_command_open_nothing() {
    let case = Case::new();
    case.write("vault/key", "canary");
    case.write(".env", "canary");
    let tricks = "ln -s .env a; ln -s vault b; ln .env c; ln vault/key d; cp -r vault e; cp .env f; mv .env g; \
                  rm -f .env; ln -sf /proc/self/cwd/.env h; mkdir i && mount --bind . i; umount .env; \
                  cat a b/key c d e/key f g h i/.env /proc/self/cwd/.env /proc/self/root$PWD/.env; grep -rs canary .";
    let said = masked(&case, tricks, &[".env", "vault"]);
    assert!(!said.contains("canary"), "{said}");
    assert_eq!((case.read(".env"), case.read("vault/key")), ("canary".into(), "canary".into()));
    assert!(masked(&case, "cat .env a", &[]).contains("canarycanary"), "control");
}

#[test]
fn x3_p033_moving_a_parent_does_not_unmask_the_next_run() {
    let case = Case::new();
    case.write("app/config/key", "canary");
    let move_away =
        "mv app/config app/other; mv app else; mkdir -p app/config && echo > app/config/key";
    masked(&case, move_away, &["app/config/key"]);
    let said = masked(&case, "grep -rs canary .", &["app/config/key"]);
    assert!(!said.contains("canary"), "{said}");
    masked(&case, move_away, &[]);
    let said = masked(&case, "grep -rs canary .", &["app/config/key"]);
    assert!(said.contains("canary"), "control: without a hold it moves");
}

#[test]
fn x3_p033_a_closed_directory_that_the_command_opens_shows_nothing() {
    let case = Case::new();
    case.write("vault/key", "canary");
    let open = "chmod 755 vault; cat vault/key";
    case.control("chmod 000 vault");
    let said = masked(&case, open, &["vault/key"]);
    assert!(!said.contains("canary"), "{said}");
    assert!(masked(&case, open, &[]).contains("canary"), "control");
}

#[test]
fn x3_p033_a_toolchain_shows_no_masked_content_under_another_name() {
    let (case, tools) = (Case::new(), Case::new());
    tools.write("real/token", "canary");
    tools.write("real/tool", "tool");
    tools.control("chmod -R a+rX .; ln -s real link");
    let mut command =
        case.shell(&format!("cat {0}/token; cat {0}/tool", tools.path().join("link").display()));
    command.toolchains = vec![tools.path().join("link")];
    assert_eq!(run(&command).out, "canarytool", "control");
    command.masked = vec![tools.path().join("real/token")];
    assert_eq!(run(&command).out, "tool");
    command.masked = vec![tools.path().join("link/token")];
    assert_eq!(run(&command).out, "tool");
    command.masked = vec![tools.path().to_owned()];
    assert_eq!(run(&command).out, "", "what lies above a toolchain hides all of it");
}

#[test]
fn x3_p033_masks_within_masks_and_loops_are_no_error() {
    let case = Case::new();
    case.write("vault/key", "canary");
    symlink("loop", case.path().join("loop")).unwrap();
    symlink("nowhere", case.path().join("dangling")).unwrap();
    let paths = ["vault/key", "vault", "loop", "dangling", "vault/key/below", "absent"];
    assert_eq!(
        masked(&case, "{ ls vault; cat vault/key; } 2>/dev/null; echo ends", &paths),
        "ends\n"
    );
    let mut command = case.shell("ls vault; cat vault/key; echo ends");
    command.masked = paths.map(PathBuf::from).to_vec();
    command.access = Access::ReadOnly;
    assert_eq!(run(&command).out, "ends\n");
}
