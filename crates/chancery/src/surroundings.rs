//! What a command finds around it: programs, toolchains and environment, read once from this machine.
//!
//! Nothing of the runtime's own environment is passed on but what is named here (X2).

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};

use tools::Surroundings;

/// Directories that every sandbox shows anyway.
const SYSTEM: [&str; 6] = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc"];

/// Variables that are passed on as they are: they say how, never who.
const PASSED_ON: [&str; 4] = ["LANG", "LC_ALL", "TZ", "RUSTUP_TOOLCHAIN"];

/// A place of its own for each thing that wants to write outside the workspace; gone with the command.
const PRIVATE: [(&str, &str); 5] = [
    ("HOME", "/tmp/home"),
    ("TMPDIR", "/tmp"),
    ("XDG_CACHE_HOME", "/tmp/home/.cache"),
    ("CARGO_HOME", "/tmp/home/.cargo"),
    ("npm_config_cache", "/tmp/home/.npm"),
];

/// Reads the surroundings for a workspace.
pub(crate) fn read(root: &Path, journals: &Path) -> Surroundings {
    let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let path = env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let programs: Vec<PathBuf> = env::split_paths(&path).filter(|dir| dir.is_absolute()).collect();
    let mut toolchains: BTreeSet<PathBuf> =
        programs.iter().filter_map(|dir| toolchain(dir, &home)).collect();
    let mut environment: Vec<(String, String)> =
        PRIVATE.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let rustup = env::var_os("RUSTUP_HOME").map_or_else(|| home.join(".rustup"), PathBuf::from);
    if rustup.is_dir() {
        environment.push(("RUSTUP_HOME".to_owned(), rustup.display().to_string()));
        toolchains.insert(rustup);
    }
    for name in PASSED_ON {
        if let Ok(value) = env::var(name) {
            environment.push((name.to_owned(), value));
        }
    }
    environment.push(("PATH".to_owned(), path.to_string_lossy().into_owned()));
    for (name, value) in
        [("TERM", "dumb"), ("PAGER", "cat"), ("GIT_PAGER", "cat"), ("NO_COLOR", "1")]
    {
        environment.push((name.to_owned(), value.to_owned()));
    }
    for (name, value) in [("GIT_TERMINAL_PROMPT", "0"), ("GIT_EDITOR", "false"), ("CI", "true")] {
        environment.push((name.to_owned(), value.to_owned()));
    }
    Surroundings {
        root: root.to_owned(),
        journals: journals.to_owned(),
        toolchains: toolchains.into_iter().collect(),
        environment,
    }
}

/// What has to be seen for the programs of a directory to run: `X` for `X/bin` and `X/shims`, but never a home.
fn toolchain(programs: &Path, home: &Path) -> Option<PathBuf> {
    if SYSTEM.iter().any(|system| programs.starts_with(system)) || !programs.is_dir() {
        return None;
    }
    let real = programs.canonicalize().ok()?;
    let parent = real.parent()?;
    let whole = real.ends_with("bin") || real.ends_with("shims");
    // `~/.cargo` holds credentials beside its programs, and a home or the root holds everything.
    let too_much = parent == home
        || parent == Path::new("/")
        || parent.ends_with(".cargo")
        || parent.ends_with(".local");
    Some(if whole && !too_much { parent.to_owned() } else { real })
}
