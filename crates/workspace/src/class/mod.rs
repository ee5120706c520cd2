//! What kind of path a path is, from its name alone (W9, P11).
//!
//! One table, a reason beside each entry. It errs towards the stricter class, and letter case, trailing
//! dots or spaces and characters that some file systems ignore do not change the answer. It never reads a
//! file: a secret in an ordinary file is found by redaction, not here.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::path::RepoPath;

mod table;
mod protected;
mod made;

pub use protected::Protected;
use table::{Entry, PUBLIC, TABLE};

/// What policy needs to know about a path before its content moves.
///
/// When two classes meet (a link and its target, two entries of the table) the stricter one counts, see
/// [`PathClass::stricter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathClass {
    /// Nothing special.
    Ordinary,
    /// Keys, credentials, environment stores, browser profiles (W9): content is denied or redacted.
    Secret,
    /// Files that make later commands or tools run code (P11): writing needs its own grant.
    ExecutableConfiguration,
    /// The version control store, at any depth: search never enters it, writing needs its own grant.
    VersionControl,
}

impl PathClass {
    /// The name that policies and receipts use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ordinary => "ordinary",
            Self::Secret => "secret",
            Self::ExecutableConfiguration => "executable_configuration",
            Self::VersionControl => "version_control",
        }
    }

    /// The stricter of two: secret, then executable configuration, then version control, then ordinary.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        if self.rank() >= other.rank() { self } else { other }
    }

    fn rank(self) -> u8 {
        match self {
            Self::Ordinary => 0,
            Self::VersionControl => 1,
            Self::ExecutableConfiguration => 2,
            Self::Secret => 3,
        }
    }
}

/// Classes a path by the table below; entries match at any depth.
#[must_use]
pub fn classify(path: &RepoPath) -> PathClass {
    let folded: Vec<Vec<u8>> = path.components().map(fold).collect();
    let names: Vec<&[u8]> = folded.iter().map(Vec::as_slice).collect();
    let class = if runs_from_store(&names) {
        PathClass::ExecutableConfiguration
    } else {
        PathClass::Ordinary
    };
    COMPILED
        .iter()
        .filter(|rule| rule.covers(&names))
        .fold(class, |class, rule| class.stricter(rule.class))
}

/// Whether a path lies in a store of git, its submodules and worktrees included, and decides what git runs:
/// configuration, where that is looked for, and hooks.
fn runs_from_store(names: &[&[u8]]) -> bool {
    let is_store = |name: &&[u8]| matches!(*name, b".git" | b"git~1");
    let Some(store) = names.iter().position(is_store) else { return false };
    let beneath = names.get(store + 1..).unwrap_or_default();
    matches!(beneath.last(), Some(&(b"config" | b"config.worktree" | b"commondir")))
        || beneath.contains(&b"hooks".as_slice())
}

/// Whether a path could have a class for its last name. Where this is `false` and the path's folder is ordinary, so is
/// the path: it saves the comparison of whole paths for nearly every file of a tree.
pub(crate) fn has_telling_name(name: &[u8]) -> bool {
    let name = fold(name);
    LAST_NAMES.exact.contains(name.as_slice())
        || LAST_NAMES.patterns.iter().any(|pattern| star(pattern, &name))
}

/// The last names of all entries.
struct LastNames {
    exact: HashSet<&'static [u8]>,
    patterns: Vec<&'static [u8]>,
}

static LAST_NAMES: LazyLock<LastNames> = LazyLock::new(|| {
    let last = COMPILED.iter().filter_map(|rule| rule.names.last().copied());
    let (patterns, exact): (Vec<_>, Vec<_>) = last.partition(|name| name.contains(&b'*'));
    LastNames { exact: exact.into_iter().collect(), patterns }
});

/// Whether one name of a directory is a version control store.
pub(crate) fn is_version_control(name: &[u8]) -> bool {
    // Almost every name is decided by its first byte; the fold is for the few that are left.
    matches!(name.first(), Some(b'.' | b'g' | b'G' | 0x80..)) && {
        let name = fold(name);
        VERSION_CONTROL.iter().any(|store| *store == name)
    }
}

/// Folders and pointer files that are a version control store; `git~1` is how FAT and NTFS spell `.git`.
const VERSION_CONTROL: &[&[u8]] = &[b".git", b"git~1", b".hg", b".svn", b".jj", b".bzr"];

/// An entry of the table in the form that paths are compared with.
struct Rule {
    names: Vec<&'static [u8]>,
    is_folder: bool,
    class: PathClass,
}

static COMPILED: LazyLock<Vec<Rule>> = LazyLock::new(|| TABLE.iter().map(Rule::of).collect());

impl Rule {
    fn of(entry: &Entry) -> Self {
        let (pattern, is_folder) = match entry.pattern.strip_suffix('/') {
            Some(pattern) => (pattern, true),
            None => (entry.pattern, false),
        };
        let names = pattern.split('/').map(str::as_bytes).collect();
        Self { names, is_folder, class: entry.class }
    }

    fn covers(&self, names: &[&[u8]]) -> bool {
        if self.is_folder {
            return names.windows(self.names.len()).any(|window| self.is_same(window));
        }
        let last = names.len().checked_sub(self.names.len()).and_then(|at| names.get(at..));
        last.is_some_and(|last| self.is_same(last) && !is_public(last))
    }

    fn is_same(&self, names: &[&[u8]]) -> bool {
        self.names.iter().zip(names).all(|(pattern, name)| star(pattern, name))
    }
}

fn is_public(names: &[&[u8]]) -> bool {
    names.last().is_some_and(|name| PUBLIC.iter().any(|glob| star(glob.as_bytes(), name)))
}

/// Matches one name against a pattern in which `*` stands for any bytes.
fn star(pattern: &[u8], name: &[u8]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some((b'*', rest)) if !rest.contains(&b'*') => name.ends_with(rest),
        Some((b'*', rest)) => {
            let ends = (0..=name.len()).rev();
            ends.filter_map(|at| name.get(at..)).any(|tail| star(rest, tail))
        }
        Some((byte, rest)) => {
            name.split_first().is_some_and(|(first, tail)| first == byte && star(rest, tail))
        }
    }
}

/// The spelling that counts: one letter case, no ignorable characters, no trailing dots or spaces.
fn fold(name: &[u8]) -> Vec<u8> {
    let mut folded = Vec::with_capacity(name.len());
    if name.is_ascii() {
        // The usual case, and the same answer.
        folded.extend(name.iter().map(u8::to_ascii_lowercase));
    }
    for chunk in name.utf8_chunks().filter(|_| !name.is_ascii()) {
        let kept = chunk.valid().chars().filter(|c| !is_ignorable(*c));
        // Up and down again also joins letters that share only one of the cases (long s, Kelvin sign).
        let cased = kept.flat_map(char::to_uppercase).flat_map(char::to_lowercase);
        folded.extend(cased.collect::<String>().into_bytes());
        folded.extend_from_slice(chunk.invalid());
    }
    let trimmed =
        folded.iter().rposition(|byte| !matches!(byte, b'.' | b' ')).map_or(0, |last| last + 1);
    folded.truncate(trimmed);
    folded
}

/// Code points that HFS+ ignores in names.
fn is_ignorable(character: char) -> bool {
    matches!(character, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(text: &str) -> PathClass {
        classify(&text.parse().unwrap())
    }

    #[test]
    fn w9_keys_and_credentials_are_secret_at_any_depth() {
        for path in [
            ".env",
            "deploy/.env.production",
            "a/b/server.PEM",
            "home/.ssh/known_hosts",
            ".ssh",
            ".aws/credentials",
            ".netrc",
            "web/.npmrc",
            ".cargo/credentials.toml",
            "x/credentials.json",
            "Default/Login Data",
            "prod-service-account-1.json",
            "terraform.tfstate",
            ".config/gh/hosts.yml",
            "id_ed25519",
        ] {
            assert_eq!(class(path), PathClass::Secret, "{path}");
        }
    }

    #[test]
    fn w9_published_examples_and_look_alikes_are_ordinary() {
        for path in [
            ".env.example",
            ".env.sample",
            ".env.template",
            "src/env.rs",
            "id_rsa.pub",
            "keys.rs",
            ".environment",
            "aws/credentials",
            "docs/cookies.md",
            ".gitignore",
            ".gitattributes",
            "src/github/workflows/x.yml",
        ] {
            assert_eq!(class(path), PathClass::Ordinary, "{path}");
        }
    }

    #[test]
    fn w9_spelling_does_not_evade_the_class() {
        for path in [
            ".ENV",
            ".env.",
            ".env ",
            ".Env. . ",
            ".e\\xE2\\x80\\x8Cnv",
            ".\u{212a}ube/config",
            ".\u{17f}\u{17f}h/id",
        ] {
            assert_eq!(class(path), PathClass::Secret, "{path}");
        }
        for path in [".GIT/index", "vendor/.git./x", ".g\\xE2\\x80\\x8Cit/x", "GIT~1/x"] {
            assert_eq!(class(path), PathClass::VersionControl, "{path}");
            let first = path.parse::<RepoPath>().unwrap();
            assert!(first.components().any(is_version_control), "{path}");
        }
    }

    #[test]
    fn p11_files_that_run_later_are_executable_configuration() {
        for path in [
            ".git/config",
            "sub/.git/hooks/pre-commit",
            ".git/modules/x/hooks/post-checkout",
            ".husky/pre-push",
            ".vscode/tasks.json",
            ".idea/runConfigurations/a.xml",
            ".claude/settings.json",
            ".github/workflows/ci.yml",
            ".github/hooks/x.json",
            ".envrc",
            ".cargo/config.toml",
            ".mcp.json",
        ] {
            assert_eq!(class(path), PathClass::ExecutableConfiguration, "{path}");
        }
    }

    #[test]
    fn p11_the_version_control_store_is_its_own_class() {
        for path in [".git", ".git/HEAD", "vendor/x/.git/objects/aa", ".hg/store"] {
            assert_eq!(class(path), PathClass::VersionControl, "{path}");
        }
        assert_eq!(class(".git/id_rsa"), PathClass::Secret, "secret wins");
    }

    proptest::proptest! {
        #[test]
        fn w9_in_an_ordinary_folder_only_a_telling_name_has_a_class(
            name in "[.a-zA-Z_]{0,3}(env|git|pem|key|config|hooks|ssh|npmrc|tasks.json|Cookies)?[.a-z ]{0,4}",
        ) {
            if let Ok(path) = format!("src/{name}").parse::<RepoPath>()
                && let Some(last) = path.name()
                && path.parent().is_some_and(|parent| !parent.is_root())
                && !has_telling_name(last)
            {
                proptest::prop_assert_eq!(classify(&path), PathClass::Ordinary);
            }
        }
    }
}
