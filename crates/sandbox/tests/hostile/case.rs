//! The case of a specimen: one jail for all, a fresh workspace for each, and ways to look at the host from outside.

use sandbox::{
    Access, Command, Exit, HOME, HeadTail, Jail, Limits, RunError, Stdin, Stop, Streams,
};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Set when the whole list runs a second time as an ordinary user.
const ORDINARY: &str = "SANDBOX_TEST_ORDINARY";
/// Set in a process that runs one test alone.
const ALONE: &str = "SANDBOX_TEST_ALONE";
/// The ordinary user of the second run.
const NOBODY: u32 = 65534;
/// How long the kernel may take to forget a thread or a process that has ended.
const TIDY_BOUND: Duration = Duration::from_secs(30);

/// A workspace and what is run in it.
pub(crate) struct Case {
    dir: TempDir,
}

/// A finished run with both outputs as text.
pub(crate) struct Outcome {
    pub(crate) exit: Exit,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// The jail of this test process.
pub(crate) fn jail() -> &'static Jail {
    static JAIL: OnceLock<Jail> = OnceLock::new();
    JAIL.get_or_init(|| Jail::new().unwrap_or_else(|error| panic!("{error}")))
}

impl Case {
    pub(crate) fn new() -> Self {
        Self { dir: TempDir::new().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a file of the workspace, with the directories above it.
    pub(crate) fn write(&self, path: &str, content: &str) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path().join(path)).unwrap()
    }

    /// A command of these words with tight limits and a plain environment.
    pub(crate) fn command<T: AsRef<OsStr>>(&self, argv: &[T]) -> Command {
        Command {
            argv: argv.iter().map(|word| word.as_ref().to_owned()).collect(),
            workspace: self.path().to_owned(),
            cwd: PathBuf::new(),
            env: vec![
                ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
                ("HOME".into(), HOME.into()),
            ],
            stdin: Stdin::Empty,
            limits: Limits { wall_ms: 120_000, grace_ms: 300, ..Limits::default() },
            toolchains: Vec::new(),
            access: Access::ReadWrite,
            read_only: Vec::new(),
            masked: Vec::new(),
        }
    }

    pub(crate) fn shell(&self, script: &str) -> Command {
        self.command(&["/bin/sh", "-c", script])
    }

    /// Runs a script in the jail to its end.
    pub(crate) fn sh(&self, script: &str) -> Outcome {
        run(&self.shell(script))
    }

    /// The same script without any wall, with this workspace as its directory: the control.
    pub(crate) fn control(&self, script: &str) -> String {
        let mut command = std::process::Command::new("/bin/sh");
        let output = command.args(["-c", script]).current_dir(self.path()).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

pub(crate) fn run(command: &Command) -> Outcome {
    attempt(command, &Stop::new().unwrap()).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn attempt(command: &Command, stop: &Stop) -> Result<Outcome, RunError> {
    let (mut out, mut err) = (HeadTail::new(1 << 16, 1 << 16), HeadTail::new(1 << 16, 1 << 16));
    let exit = jail().run(command, Streams { stdout: &mut out, stderr: &mut err }, stop)?;
    let text = |kept: HeadTail| kept.text().head + &kept.text().tail;
    Ok(Outcome { exit, out: text(out), err: text(err) })
}

/// A word that no other process of this machine has in its arguments.
pub(crate) fn marker(test: &str) -> String {
    format!("marker-{test}-{}", std::process::id())
}

/// Processes of the host whose arguments contain `word`, without this one.
pub(crate) fn processes_with(word: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let arguments = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if pid != std::process::id() && String::from_utf8_lossy(&arguments).contains(word) {
            found.push(pid);
        }
    }
    found
}

/// Waits until the machine shows what it should: what the kernel still tidies up after an end is no fault. Fails
/// after a bound that nothing healthy comes near.
pub(crate) fn until<T: PartialEq + std::fmt::Debug>(expected: T, look: impl Fn() -> T) {
    let begun = Instant::now();
    loop {
        let seen = look();
        if seen == expected {
            return;
        }
        assert!(begun.elapsed() < TIDY_BOUND, "expected {expected:?}, and there is {seen:?}");
        std::thread::yield_now();
    }
}

/// Whether this process is the second run or was never root.
pub(crate) fn is_ordinary() -> bool {
    !rustix::process::geteuid().is_root()
}

/// True in a process of this test alone; otherwise starts one, passes on its verdict and is false.
pub(crate) fn alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let status = itself(test).env(ALONE, "1").status().unwrap();
    assert!(status.success(), "`{test}` failed in its own process");
    false
}

/// This test binary, asked for one test.
pub(crate) fn itself(test: &str) -> std::process::Command {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--test-threads=1", "--nocapture"]);
    command
}

#[test]
fn i1_every_specimen_holds_for_an_ordinary_user_too() {
    if is_ordinary() || std::env::var_os(ORDINARY).is_some() {
        return;
    }
    let dir = TempDir::new().unwrap();
    std::os::unix::fs::chown(dir.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    // Where cargo builds need not be a place that this user may enter.
    let binary = dir.path().join("hostile");
    // Copied by another process: a child that this one starts meanwhile would hold the file open for writing, and
    // it could not be executed.
    let mut copy = std::process::Command::new("cp");
    copy.arg(std::env::current_exe().unwrap()).arg(&binary);
    assert!(copy.status().unwrap().success());
    let ids = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let mut command = std::process::Command::new("setpriv");
    command.args(ids).arg(&binary).arg("--test-threads=2");
    command.env("TMPDIR", dir.path()).env("HOME", dir.path()).env(ORDINARY, "1");
    let output = command.current_dir(dir.path()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "as uid {NOBODY}:\n{told}\n{complaint}");
    assert!(!told.contains(" 0 passed"), "nothing ran as uid {NOBODY}");
}
