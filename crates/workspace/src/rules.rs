//! The ignore rules of the workspace: `.rgignore`, `.ignore`, `.gitignore` and git's own exclude file.
//!
//! They mean what they mean to `rg`: git's rules count beneath a repository only, and those of an outer
//! repository end at an inner one. Nothing outside of the root is ever consulted, and a rule file that is a
//! link, a pipe or a device is none.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::OFlags;

use crate::path::RepoPath;
use crate::root::Workspace;
use crate::root::beneath::{self, FileKind, Links, Status};
use crate::root::directory::Name;

/// The largest rule file that is read.
const RULE_FILE_BYTES: u64 = 4 << 20;

/// The rule files of one folder, the strongest first. The last two are git's.
const FILES: [&str; 4] = [".rgignore", ".ignore", ".gitignore", ".git/info/exclude"];

/// Which of [`FILES`] belong to git.
const GIT_FROM: usize = 2;

/// Whether a name is that of a rule file in its folder.
pub(crate) fn is_rule_file(name: &[u8]) -> bool {
    FILES.iter().any(|file| file.as_bytes() == name)
}

/// What the rules say about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ruling {
    Nothing,
    Ignored,
    /// Wanted in so many words; it is then not left out for its leading dot either.
    Wanted,
}

/// The rules of a folder and of all folders above it.
#[derive(Default)]
pub(crate) struct Rules {
    levels: Vec<Level>,
}

struct Level {
    /// How many bytes of a path lie before what these rules are relative to.
    prefix_bytes: usize,
    files: [Option<Gitignore>; FILES.len()],
    is_repository: bool,
}

impl Rules {
    /// Loads what counts in `folder` because of the folders above it.
    pub(crate) fn above(workspace: &Workspace, folder: &RepoPath) -> Self {
        let mut rules = Self::default();
        let mut above: Vec<RepoPath> =
            std::iter::successors(folder.parent(), RepoPath::parent).collect();
        above.reverse();
        for path in above {
            rules.enter_unread(workspace, &path);
        }
        rules
    }

    /// Goes down into a folder whose names are not known.
    pub(crate) fn enter_unread(&mut self, workspace: &Workspace, folder: &RepoPath) {
        self.levels.push(Level::load(workspace, folder, |_| true));
    }

    /// Goes down into a folder with these names in it.
    pub(crate) fn enter(&mut self, workspace: &Workspace, folder: &RepoPath, names: &[Name]) {
        let has = |wanted: &str| names.iter().any(|name| name.bytes == wanted.as_bytes());
        self.levels.push(Level::load(workspace, folder, has));
    }

    /// Goes up again.
    pub(crate) fn leave(&mut self) {
        self.levels.pop();
    }

    /// What the rules say about one path in the folder entered last.
    pub(crate) fn ruling(&self, path: &RepoPath, is_folder: bool) -> Ruling {
        let mut said = [Ruling::Nothing; FILES.len()];
        let in_repository = self.levels.iter().any(|level| level.is_repository);
        let mut git_counts = in_repository;
        for level in self.levels.iter().rev() {
            for (at, (file, said)) in level.files.iter().zip(&mut said).enumerate() {
                if *said == Ruling::Nothing
                    && (at < GIT_FROM || git_counts)
                    && let Some(file) = file
                {
                    *said = ruling(file, path, level.prefix_bytes, is_folder);
                }
            }
            git_counts &= !level.is_repository;
        }
        said.into_iter().find(|said| *said != Ruling::Nothing).unwrap_or(Ruling::Nothing)
    }
}

fn ruling(rules: &Gitignore, path: &RepoPath, prefix_bytes: usize, is_folder: bool) -> Ruling {
    let relative = path.as_bytes().get(prefix_bytes..).unwrap_or_default();
    match rules.matched(Path::new(OsStr::from_bytes(relative)), is_folder) {
        Match::None => Ruling::Nothing,
        Match::Ignore(_) => Ruling::Ignored,
        Match::Whitelist(_) => Ruling::Wanted,
    }
}

impl Level {
    fn load(workspace: &Workspace, folder: &RepoPath, has: impl Fn(&str) -> bool) -> Self {
        let exists =
            |name: &str| has(name) && workspace.reach(&folder.child(name.as_bytes())).is_ok();
        let load = |file: &str| {
            let first = file.split('/').next().unwrap_or(file);
            if has(first) { rule_file(workspace, folder, file) } else { None }
        };
        Self {
            prefix_bytes: if folder.is_root() { 0 } else { folder.as_bytes().len() + 1 },
            files: FILES.map(load),
            is_repository: exists(".git") || exists(".jj"),
        }
    }
}

/// One rule file; `None` without rules. A line that is no rule is passed over, as git does.
fn rule_file(workspace: &Workspace, folder: &RepoPath, file: &str) -> Option<Gitignore> {
    let path = folder.join(&RepoPath::from_bytes(file.as_bytes()).ok()?);
    // A link is none: what it leads to could change without a word here, and git does not follow it either.
    let opened =
        beneath::open_raw(workspace.fd(), path.as_bytes(), OFlags::RDONLY, Links::Refuse).ok()?;
    if Status::of(&opened).ok()?.kind != FileKind::File {
        return None;
    }
    let mut bytes = Vec::new();
    File::from(opened).take(RULE_FILE_BYTES).read_to_end(&mut bytes).ok()?;
    let mut builder = GitignoreBuilder::new(".");
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
    for line in bytes.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // A line that is no UTF-8 or no glob does not count; the others do.
        if let Ok(line) = std::str::from_utf8(line) {
            builder.add_line(None, line).ok();
        }
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}
