//! `process_run`.

use serde_json::{Value, json};

use crate::support::Bench;

#[test]
fn x1_an_argument_vector_is_not_interpreted() {
    let bench = Bench::new();
    let told = bench.call("process_run", json!({ "argv": ["echo", "$HOME; touch x", "*"] }));
    assert_eq!(told.end(), ("succeeded", ""), "{}", told.all());
    assert_eq!(told.text("/result/stdout/head"), "$HOME; touch x *\n");
    assert!(!bench.at("x").exists());
}

#[test]
fn x6_the_streams_and_the_exit_code_come_apart() {
    let bench = Bench::new();
    let told = bench.sh("echo out; echo err >&2; exit 3");
    assert_eq!(told.end(), ("failed", "command_failed"));
    assert_eq!(told.text("/result/stdout/head"), "out\n");
    assert_eq!(told.text("/result/stderr/head"), "err\n");
    assert_eq!(told.at("/result/exit_code"), json!(3));
}

#[test]
fn x6_p031_a_flood_is_shown_in_part_and_kept_whole() {
    let bench = Bench::new();
    let told = bench.sh("seq 1 300000; exit 3");
    assert_eq!(told.end(), ("failed", "command_failed"));
    let (head, tail) = (told.text("/result/stdout/head"), told.text("/result/stdout/tail"));
    assert!(head.starts_with("1\n2\n") && tail.ends_with("299999\n300000\n"));
    let whole: String = (1..=300_000).map(|line| format!("{line}\n")).collect();
    let artifact = &told.receipt().artifacts[0];
    assert_eq!(bench.artifact(&artifact.digest), whole.as_bytes());
    let left_out = told.at("/truncation/0/left_out/exact").as_u64().unwrap();
    assert_eq!(usize::try_from(left_out).unwrap() + head.len() + tail.len(), whole.len());
    assert_eq!(told.text("/truncation/0/artifact"), artifact.digest.to_string());
}

#[test]
fn x4_p029_a_timeout_ends_the_whole_tree() {
    let bench = Bench::new();
    let script = "sh -c 'sleep 1; touch late' & echo begun; sleep 60";
    let arguments = json!({ "shell": { "script": script }, "timeout_ms": 300 });
    let told = bench.call("process_run", arguments);
    assert_eq!(told.end(), ("failed", "timed_out"), "{}", told.all());
    assert_eq!(told.text("/result/stdout/head"), "begun\n");
    // What could still touch the file is in the sandbox, and the sandbox is gone: a second one has no such process.
    let after = bench.sh("ls /proc | grep -c '^[0-9][0-9]*$'; sleep 1.2; test ! -e late");
    assert_eq!(after.end(), ("succeeded", ""), "{}", after.all());
}

#[test]
fn x4_p028_a_background_process_does_not_hold_the_call() {
    let bench = Bench::new();
    for script in
        ["echo hi; sleep 600 &", "sleep 600 >/dev/null & echo hi", "setsid sleep 600 & echo hi"]
    {
        let told = bench.sh(script);
        assert_eq!(told.end(), ("succeeded", ""), "{script}: {}", told.all());
        assert_eq!(told.text("/result/stdout/head"), "hi\n");
        assert!(told.at("/result/ended_leftovers").as_u64() >= Some(1), "{script}: {}", told.all());
    }
}

#[test]
fn x2_p033_nothing_of_the_environment_is_inherited_and_given_values_are_not_recorded() {
    let bench = Bench::new();
    let arguments = json!({ "argv": ["env"], "env": { "GIVEN": "canary-value-5" } });
    let told = bench.call("process_run", arguments);
    let printed = told.text("/result/stdout/head");
    assert!(printed.contains("GIVEN=canary-value-5"));
    assert!(
        !printed.contains("CARGO_MANIFEST_DIR"),
        "a variable of the tests themselves: {printed}"
    );
    let receipt = told.receipt().clone();
    let without_output = wire::Receipt { result: None, ..receipt };
    let text = serde_json::to_string(&without_output).unwrap();
    assert!(!text.contains("canary-value-5"), "{text}");
}

#[test]
fn x1_standard_input_is_what_was_given_or_empty() {
    let bench = Bench::new();
    let given = bench.call("process_run", json!({ "argv": ["cat"], "stdin": "hello" }));
    assert_eq!(given.text("/result/stdout/head"), "hello");
    let none = bench.call("process_run", json!({ "argv": ["cat"] }));
    assert_eq!(none.text("/result/stdout/head"), "");
}

#[test]
fn x3_the_workspace_can_be_made_read_only() {
    let bench = Bench::with(&[("a", b"a\n")]);
    let arguments = json!({ "shell": { "script": "echo x > a" }, "writable": false });
    assert_eq!(bench.call("process_run", arguments).end(), ("failed", "command_failed"));
    assert_eq!(bench.text("a"), "a\n");
    assert_eq!(bench.sh("echo x > a").end(), ("succeeded", ""));
    assert_eq!(bench.text("a"), "x\n");
}

#[test]
fn w9_a_secret_is_not_in_a_commands_view() {
    let bench = Bench::with(&[(".env", b"TOKEN=canary-3\n")]);
    let told = bench.sh("cat .env; cat ./.env; od -c .env");
    assert!(!told.all().contains("canary-3"), "{}", told.all());
}

#[test]
fn w9_a_tracked_secret_is_not_recorded_as_empty() {
    let bench = Bench::with(&[(".env", b"TOKEN=canary-3\n"), ("a", b"one\n")]);
    let git = "git -c user.name=a -c user.email=a@b";
    let begin = std::process::Command::new("sh")
        .args(["-c", &format!("git init -q . && {git} add . && {git} commit -qm one")])
        .current_dir(bench.at(""))
        .status();
    assert!(begin.unwrap().success());
    let told = bench.sh(&format!("echo two > a; {git} commit -qam two"));
    assert_eq!(told.end(), ("failed", "command_failed"), "{}", told.all());
    assert!(told.text("/result/stderr/head").contains(".env"), "{}", told.all());
    let told = bench.sh(&format!("{git} commit -qm two a && git show --stat HEAD"));
    assert_eq!(told.end(), ("succeeded", ""), "{}", told.all());
    assert!(!told.text("/result/stdout/head").contains(".env"), "{}", told.all());
}

#[test]
fn p11_p007_a_command_cannot_write_what_runs_code_later() {
    let bench = Bench::with(&[(".git/config", b"[core]\n"), (".git/hooks/x.sample", b"#\n")]);
    let told = bench.sh("echo evil >> .git/config; echo evil > .git/hooks/pre-commit; true");
    assert_eq!(told.end(), ("succeeded", ""), "{}", told.all());
    assert_eq!(bench.text(".git/config"), "[core]\n");
    assert!(!bench.at(".git/hooks/pre-commit").exists());
}

/// What `script` made that would make other programs run code, by the names that it is held under.
fn held(bench: &Bench, script: &str) -> Vec<String> {
    let told = bench.sh(script);
    let held = told.at("/result/held");
    let held: Vec<String> =
        held.as_array().into_iter().flatten().map(|name| name.as_str().unwrap().into()).collect();
    let end = if held.is_empty() { ("succeeded", "") } else { ("partial", "held_back") };
    assert_eq!(told.end(), end, "{script}: {}", told.all());
    for name in &held {
        let (made, _) = name.split_once(".held-by-chancery").unwrap();
        assert!(bench.at(made).symlink_metadata().is_err(), "{script}: `{made}` is still there");
        assert!(bench.at(name).symlink_metadata().is_ok(), "{script}: `{name}` is lost");
    }
    held
}

#[test]
fn p11_p007_what_runs_code_later_cannot_be_made_where_it_was_not() {
    let git = "-c core.fsmonitor=false -c init.defaultBranch=main";
    let cases = [
        ("mkdir .vscode && echo evil > .vscode/tasks.json", ".vscode/tasks.json"),
        ("mkdir -p a/.claude && echo evil > a/.claude/settings.json", "a/.claude"),
        ("mkdir .husky && echo evil > .husky/pre-commit", ".husky"),
        ("echo evil > .envrc", ".envrc"),
        ("echo evil > .mcp.json", ".mcp.json"),
        ("echo evil > .git/config.worktree", ".git/config.worktree"),
        ("echo ../evil > .git/commondir", ".git/commondir"),
        ("mkdir .git/hooks && echo evil > .git/hooks/pre-commit", ".git/hooks"),
        (
            "mkdir -p .git/modules/a/b && echo evil > .git/modules/a/b/config",
            ".git/modules/a/b/config",
        ),
        ("mkdir sub && echo 'gitdir: ../evil' > sub/.git", "sub/.git"),
        (&format!("git {git} init -q sub && git -C sub config core.fsmonitor evil"), "sub/.git"),
        ("mkdir conf && echo evil > conf/settings.json && ln -s conf .claude", ".claude"),
        (
            "mkdir -p node_modules/x/.git && echo evil > node_modules/x/.git/config",
            "node_modules/x/.git",
        ),
        ("mkdir t && cd t && echo evil > .envrc && ln .envrc ../.envrc && rm .envrc", ".envrc"),
    ];
    for (script, made) in cases {
        let bench = Bench::with(&[(".git/HEAD", b"ref: refs/heads/main\n"), (".git/config", b"")]);
        let held = held(&bench, script);
        assert_eq!(held, [format!("{made}.held-by-chancery")], "{script}");
    }
}

#[test]
fn p11_what_was_there_or_runs_nothing_keeps_its_name() {
    let bench = Bench::with(&[
        (".git/HEAD", b"ref: refs/heads/main\n"),
        (".git/config", b""),
        (".husky/pre-commit", b"mine\n"),
        (".envrc", b"mine\n"),
    ]);
    let script = "mkdir -p node_modules/x/.github/workflows lib/site-packages src && echo a > src/a.rs \
                  && echo a > node_modules/x/.github/workflows/ci.yml && echo a > lib/site-packages/x.pth \
                  && mkdir -p .git/refs/heads .git/logs && echo a > .git/refs/heads/hooks && echo b > .git/index";
    assert!(held(&bench, script).is_empty());
    assert_eq!(bench.text("lib/site-packages/x.pth"), "a\n");
    assert_eq!(bench.text(".git/refs/heads/hooks"), "a\n");
    assert_eq!(
        (bench.text(".envrc"), bench.text(".husky/pre-commit")),
        ("mine\n".into(), "mine\n".into())
    );
}

#[test]
fn p11_a_worktrees_pointer_cannot_be_turned() {
    let bench = Bench::with(&[(".git", b"gitdir: ../main/.git/worktrees/a\n")]);
    let script = "echo 'gitdir: evil' > .git; rm -f .git; mv .git x; mkdir .git; \
                  mkdir e && echo 'gitdir: evil' > e/x && mv -f e/x .git; ln -sf e .git; true";
    assert!(held(&bench, script).is_empty());
    assert_eq!(bench.text(".git"), "gitdir: ../main/.git/worktrees/a\n");
}

#[test]
fn p11_a_link_under_such_a_name_cannot_be_turned() {
    for script in [
        "mkdir evil && rm .claude && ln -s evil .claude",
        "rm .claude && mkdir .claude && echo evil > .claude/settings.json",
    ] {
        let bench = Bench::with(&[("conf/settings.json", b"mine\n")]);
        std::os::unix::fs::symlink("conf", bench.at(".claude")).unwrap();
        let held = held(&bench, script);
        assert_eq!(held, [".claude.held-by-chancery"]);
        assert_eq!(bench.text("conf/settings.json"), "mine\n");
    }
    let bench = Bench::new();
    std::os::unix::fs::symlink("later", bench.at(".envrc")).unwrap();
    let held = held(&bench, "echo evil > later");
    assert_eq!(held.len(), 1, "a link that led nowhere: {held:?}");
}

#[test]
fn p11_a_second_thing_put_aside_does_not_replace_the_first() {
    let bench = Bench::new();
    let first = held(&bench, "echo one > .envrc");
    let second = held(&bench, "echo two > .envrc");
    assert_eq!(bench.text(&first[0]), "one\n");
    assert_eq!(bench.text(&second[0]), "two\n");
    let many = bench.sh("for i in $(seq 40); do mkdir d$i; echo evil > d$i/.envrc; done; exit 3");
    assert_eq!(many.end(), ("failed", "command_failed"), "{}", many.all());
    assert_eq!(many.at("/result/held").as_array().unwrap().len(), 16);
    assert!(!(1..=40).any(|at| bench.at(&format!("d{at}/.envrc")).exists()));
}

#[test]
fn x1_a_program_that_is_not_there_is_told_apart() {
    let bench = Bench::new();
    let told = bench.call("process_run", json!({ "argv": ["no-such-program-here"] }));
    assert_eq!(told.end(), ("failed", "cannot_start"), "{}", told.all());
    assert_eq!(told.at("/result"), Value::Null);
}

#[test]
fn f11_a_failing_command_is_not_run_a_third_time() {
    let bench = Bench::new();
    let run = || bench.call("process_run", json!({ "argv": ["false"] }));
    assert_eq!(run().end(), ("failed", "command_failed"));
    assert_eq!(run().end(), ("failed", "command_failed"));
    assert_eq!(run().end(), ("rejected", "repeated_call"));
}

#[test]
fn i1_a_receipt_says_which_walls_stood_and_what_was_used() {
    let bench = Bench::new();
    let told = bench.sh("true");
    let usage = serde_json::to_value(&told.receipt().usage).unwrap();
    let isolation = serde_json::to_value(&told.receipt().runtime).unwrap();
    assert_eq!(isolation["isolation"]["network"], "enforced", "{isolation}");
    assert!(usage["cpu_ms"].is_u64() && usage["peak_memory_bytes"].is_u64(), "{usage}");
}
