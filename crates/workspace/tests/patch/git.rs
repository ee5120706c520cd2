//! What `git diff` writes, applied here, gives the file that `git` compared with.

use std::process::{Command, Stdio};

use proptest::prelude::*;
use workspace::patch::parse_diff;

use crate::support::*;

/// The difference of two contents as `git` writes it, both sides under the name `f`.
fn git_diff(before: &[u8], after: &[u8], context: u8) -> String {
    let folder = tempfile::tempdir().unwrap();
    for (side, content) in [("a", before), ("b", after)] {
        std::fs::create_dir(folder.path().join(side)).unwrap();
        std::fs::write(folder.path().join(side).join("f"), content).unwrap();
    }
    let told = Command::new("git")
        .args(["diff", "--no-index", "--no-prefix", "--no-color", "--no-ext-diff", "--text"])
        .arg(format!("-U{context}"))
        .args(["a/f", "b/f"])
        .current_dir(folder.path())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CEILING_DIRECTORIES", folder.path())
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert_eq!(told.status.code(), Some(1), "the contents differ");
    String::from_utf8(told.stdout).unwrap()
}

/// Lines that are often the same, with any ending, as text.
fn lines() -> impl Strategy<Value = Vec<(String, &'static str)>> {
    let line = prop_oneof![
        4 => "[abc]{1,2}",
        1 => Just(String::new()),
        1 => Just("-- a".to_owned()),
        1 => Just("++ b".to_owned()),
        1 => Just("é\\ \u{feff}".to_owned()),
    ];
    let ending = prop_oneof![Just("\n"), Just("\r\n"), Just("\r")];
    let one = ending
        .clone()
        .prop_flat_map(move |ending| prop::collection::vec((line.clone(), Just(ending)), 0..14));
    let mixed = prop::collection::vec(("[abc]", ending), 0..14);
    prop_oneof![3 => one, 1 => mixed]
}

fn text(lines: &[(String, &str)], has_mark: bool, is_ended: bool) -> String {
    let mark = if has_mark { "\u{feff}" } else { "" };
    let mut text: String = lines.iter().map(|(line, ending)| format!("{line}{ending}")).collect();
    if !is_ended {
        let kept = text.trim_end_matches(['\n', '\r']).len();
        text.truncate(kept);
    }
    format!("{mark}{text}")
}

/// Two texts, the second often the first with some lines changed.
fn pairs() -> impl Strategy<Value = (String, String)> {
    let edits = prop::collection::vec((any::<prop::sample::Index>(), "[abx]", 0..3_u8), 1..4);
    let ends = any::<(bool, bool)>();
    let marks =
        prop_oneof![4 => Just((false, false)), 2 => Just((true, true)), 1 => any::<(bool, bool)>()];
    let edited = (lines(), edits, ends, marks).prop_map(|(before, edits, ends, marks)| {
        let mut after = before.clone();
        for (at, line, kind) in edits {
            let at = at.index(after.len() + 1);
            let ending = before.first().map_or("\n", |(_, ending)| ending);
            match (kind, after.get_mut(at)) {
                (0, Some(there)) => there.0 = line,
                (1, Some(_)) => drop(after.remove(at)),
                _ => after.insert(at, (line, ending)),
            }
        }
        (text(&before, marks.0, ends.0), text(&after, marks.1, ends.1))
    });
    let apart = (lines(), lines(), ends).prop_map(|(before, after, ends)| {
        (text(&before, false, ends.0), text(&after, false, ends.1))
    });
    prop_oneof![3 => edited, 1 => apart]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn p1_what_git_says_of_two_texts_makes_one_of_the_other((before, after) in pairs(), context in 1..4_u8) {
        prop_assume!(before != after);
        let diff = git_diff(before.as_bytes(), after.as_bytes(), context);
        let scratch = Scratch::with(&[("f", before.as_bytes())]);
        if let Err(error) = scratch.diff(&diff) {
            return Err(TestCaseError::fail(format!("{error:?}\n{before:?}\n{after:?}\n{diff}")));
        }
        let made = scratch.text("f");
        prop_assert_eq!(made, after, "{}", diff);
    }
}

#[test]
fn p1_one_diff_of_git_creates_deletes_renames_and_changes_modes() {
    let folder = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let told = Command::new("git")
            .args([
                "-c",
                "user.name=t",
                "-c",
                "user.email=t@example.org",
                "-c",
                "init.defaultBranch=m",
            ])
            .args(["-c", "safe.directory=*"])
            .args(arguments)
            .current_dir(folder.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CEILING_DIRECTORIES", folder.path())
            .output()
            .unwrap();
        assert!(told.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&told.stderr));
        String::from_utf8(told.stdout).unwrap()
    };
    let at = |name: &str| folder.path().join(name);
    let long: String = (0..30).map(|line| format!("line {line}\n")).collect();
    let scratch = Scratch::new();
    git(&["init", "-q"]);
    for (name, content) in [
        ("gone é", "bye\n"),
        ("empty gone", ""),
        ("old/name", &long),
        ("run", "x\n"),
        ("moved", &long),
    ] {
        let path = at(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        scratch.write(name, content.as_bytes());
    }
    git(&["add", "-A"]);
    git(&["commit", "-qm", "before"]);
    std::fs::remove_file(at("gone é")).unwrap();
    std::fs::remove_file(at("empty gone")).unwrap();
    std::fs::create_dir(at("new")).unwrap();
    std::fs::rename(at("old/name"), at("new/name")).unwrap();
    std::fs::write(at("new/name"), long.replace("line 7\n", "seven\n")).unwrap();
    std::fs::rename(at("moved"), at("new/moved")).unwrap();
    std::fs::write(at("made\ttab"), "made").unwrap();
    std::fs::write(at("made empty"), "").unwrap();
    make_executable(&at("run"));
    make_executable(&at("made empty"));
    git(&["add", "-A"]);
    let diff = git(&["diff", "--cached", "-M", "--no-rename-empty", "--no-color"]);

    let touches = scratch.patch(parse_diff(&diff).unwrap()).unwrap();
    assert_eq!(touches.len(), 7, "{touches:?}");
    git(&["commit", "-qm", "after"]);
    let names = git(&["ls-files", "-z"]);
    let mut names: Vec<&str> = names.split_terminator('\0').collect();
    names.sort_unstable();
    let files: Vec<_> =
        scratch.tree().into_iter().filter(|(name, ..)| !name.ends_with('/')).collect();
    let found: Vec<&str> = files.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(found, names);
    for (name, mode, content) in &files {
        assert_eq!(&std::fs::read(at(name)).unwrap(), content, "{name}");
        let executable = ["run", "made empty"].contains(&name.as_str());
        assert_eq!(mode & 0o100 != 0, executable, "{name}");
    }
}

fn make_executable(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}
