//! The headers of one file of a unified diff, held against each other.
//!
//! Every fact that is stated twice must be the same fact.

use super::Lines;
use super::name::Name;
use crate::patch::change::{Change, DiffHunk, HunkLine, ModeChange, Then};
use crate::patch::text::error::{DiffCause, DiffError};
use crate::path::RepoPath;

/// What the lines before the hunks of one file say.
#[derive(Debug, Default)]
pub(super) struct Headers {
    /// The line that they start at.
    number: usize,
    /// Both names of `diff --git`, where it is there and they can be told apart.
    git: Option<(Name, Name)>,
    old_mode: Option<bool>,
    new_mode: Option<bool>,
    created: Option<bool>,
    deleted: Option<bool>,
    rename_from: Option<Name>,
    rename_to: Option<Name>,
    /// The names of `---` and `+++`.
    sides: Option<(Name, Name)>,
}

/// Reads the headers that the next line opens.
pub(super) fn read(lines: &mut Lines<'_>) -> Result<Headers, DiffError> {
    let mut headers = Headers { number: lines.number(), ..Headers::default() };
    if let Some(names) = lines.take("diff --git ") {
        headers.git = Name::read_pair(names);
        while headers.extended(lines)? {}
    } else if !lines.peek().is_some_and(|line| line.starts_with("--- ")) {
        return Err(lines.expected("`diff --git `, `--- ` or `@@ `"));
    }
    if let Some(old) = side(lines, "--- ")? {
        let new = side(lines, "+++ ")?;
        let new = new.ok_or_else(|| lines.expected("`+++ ` behind `--- `"))?;
        headers.sides = Some((old, new));
        if !lines.peek().is_some_and(super::hunk::is_header) {
            return Err(lines.expected("`@@ ` behind `+++ `"));
        }
    }
    Ok(headers)
}

fn side(lines: &mut Lines<'_>, mark: &str) -> Result<Option<Name>, DiffError> {
    let Some(text) = lines.peek().and_then(|line| line.strip_prefix(mark)) else { return Ok(None) };
    let name = Name::read(text).map_err(|cause| lines.error(cause))?;
    lines.skip();
    Ok(Some(name))
}

impl Headers {
    /// Takes one line of those that only `git` writes; `false` at the first other one.
    fn extended(&mut self, lines: &mut Lines<'_>) -> Result<bool, DiffError> {
        let Some(line) = lines.peek() else { return Ok(false) };
        let known = |mark: &str| line.strip_prefix(mark);
        let executable = |text: &str| executable(text).map_err(|cause| lines.error(cause));
        let name = |text: &str| Name::read(text).map_err(|cause| lines.error(cause));
        if let Some(mode) = known("old mode ") {
            self.old_mode = Some(executable(mode)?);
        } else if let Some(mode) = known("new mode ") {
            self.new_mode = Some(executable(mode)?);
        } else if let Some(mode) = known("new file mode ") {
            self.created = Some(executable(mode)?);
        } else if let Some(mode) = known("deleted file mode ") {
            self.deleted = Some(executable(mode)?);
        } else if let Some(text) = known("rename from ") {
            self.rename_from = Some(name(text)?);
        } else if let Some(text) = known("rename to ") {
            self.rename_to = Some(name(text)?);
        } else if let Some(blobs) = known("index ") {
            // Digests of blobs say nothing that the file's own digest does not say; a mode does.
            if let Some((_, mode)) = blobs.split_once(' ') {
                executable(mode)?;
            }
        } else if line.starts_with("copy from ") || line.starts_with("copy to ") {
            return Err(lines.error(DiffCause::Copy));
        } else if line.starts_with("Binary files ") || line.starts_with("GIT binary patch") {
            return Err(lines.error(DiffCause::Binary));
        } else if !line.starts_with("similarity index ")
            && !line.starts_with("dissimilarity index ")
        {
            return Ok(false);
        }
        lines.skip();
        Ok(true)
    }

    /// The change that these headers and `hunks` are.
    pub(super) fn change(self, hunks: Vec<DiffHunk>) -> Result<Change, DiffError> {
        let number = self.number;
        let at = |cause| DiffError::new(number, cause);
        self.agree().map_err(at)?;
        let (old, new) = self.names().map_err(at)?;
        match (old, new) {
            (None, Some(path)) => self.create(path, &hunks).map_err(at),
            (Some(path), None) => {
                let mode = ModeChange { before: self.deleted, after: None };
                Ok(Change::Diff { path, hunks, mode, then: Then::Goes, base: None })
            }
            (Some(from), Some(to)) => self.update(from, to, hunks).map_err(at),
            (None, None) => Err(at(DiffCause::Expected { expected: "a file beside `/dev/null`" })),
        }
    }

    /// Refuses headers that do not go together.
    fn agree(&self) -> Result<(), DiffCause> {
        let is_nothing = |side: Option<&Name>| side.map(Name::is_nothing);
        let old = is_nothing(self.sides.as_ref().map(|(old, _)| old));
        let new = is_nothing(self.sides.as_ref().map(|(_, new)| new));
        let renamed = self.rename_from.is_some() || self.rename_to.is_some();
        let modes = self.old_mode.is_some() || self.new_mode.is_some();
        let wrong = [
            (
                self.rename_from.is_some() != self.rename_to.is_some(),
                "`rename` needs `from` and `to`",
            ),
            (
                self.old_mode.is_some() != self.new_mode.is_some(),
                "`old mode` and `new mode` go together",
            ),
            (self.created.is_some() && self.deleted.is_some(), "a file is created and deleted"),
            (
                self.created.is_some() && old == Some(false),
                "a new file has `/dev/null` on its old side",
            ),
            (
                self.deleted.is_some() && new == Some(false),
                "a deleted file has `/dev/null` on its new side",
            ),
            (self.created.is_some() && new == Some(true), "a new file has a name on its new side"),
            (
                self.deleted.is_some() && old == Some(true),
                "a deleted file has a name on its old side",
            ),
            (
                (renamed || modes) && (self.created.is_some() || self.deleted.is_some()),
                "a file that is created or deleted has no other name or mode",
            ),
            (
                (renamed || modes) && (old == Some(true) || new == Some(true)),
                "a file with another name or mode has two sides",
            ),
        ];
        match wrong.into_iter().find(|(wrong, _)| *wrong) {
            Some((_, what)) => Err(DiffCause::Contradiction { what }),
            None => Ok(()),
        }
    }

    /// The paths before and after; `None` where nothing is.
    fn names(&self) -> Result<(Option<RepoPath>, Option<RepoPath>), DiffCause> {
        if let (Some(from), Some(to)) = (&self.rename_from, &self.rename_to) {
            if let Some((old, new)) = &self.sides {
                let is = |side: &Name, prefix: &str, name: &Name| {
                    side.is(name) || side.without(prefix).is_some_and(|side| side.is(name))
                };
                if !is(old, "a/", from) || !is(new, "b/", to) {
                    return Err(sides(old, new));
                }
            }
            return Ok((Some(from.path()?), Some(to.path()?)));
        }
        let path = self.one_name()?.path()?;
        let old = self.sides.as_ref().is_some_and(|(old, _)| old.is_nothing());
        let new = self.sides.as_ref().is_some_and(|(_, new)| new.is_nothing());
        Ok((
            (self.created.is_none() && !old).then(|| path.clone()),
            (self.deleted.is_none() && !new).then_some(path),
        ))
    }

    /// The one name of a file that keeps it.
    fn one_name(&self) -> Result<Name, DiffCause> {
        let of_git = self.git.as_ref().map(|(old, new)| one_of(old, new)).transpose()?;
        let Some((old, new)) = &self.sides else {
            let expected = "`diff --git a/PATH b/PATH` with one path, or `--- ` and `+++ `";
            return of_git.ok_or(DiffCause::Expected { expected });
        };
        let (shown, prefix) = match (old.is_nothing(), new.is_nothing()) {
            (true, true) => return Err(sides(old, new)),
            (true, false) => (new, "b/"),
            (false, true) => (old, "a/"),
            (false, false) => {
                let name = one_of(old, new)?;
                return match of_git {
                    Some(of_git) if !of_git.is(&name) => Err(sides(old, new)),
                    _ => Ok(name),
                };
            }
        };
        // With one side alone, `diff --git` says whether its first folder is only the letter that `git` puts there.
        let stripped = shown.without(prefix);
        match (of_git, stripped) {
            (Some(of_git), Some(name)) if of_git.is(&name) => Ok(name),
            (Some(of_git), _) if of_git.is(shown) => Ok(of_git),
            (Some(_), _) => Err(sides(old, new)),
            (None, Some(name)) => Ok(name),
            (None, None) => Ok(shown.clone()),
        }
    }

    fn create(&self, path: RepoPath, hunks: &[DiffHunk]) -> Result<Change, DiffCause> {
        let wrong = DiffCause::Contradiction { what: "a new file has one hunk that only adds" };
        let hunk = match hunks {
            [] => None,
            [one] => Some(one),
            _ => return Err(wrong),
        };
        let mut content = String::new();
        for line in hunk.iter().flat_map(|hunk| &hunk.lines) {
            let HunkLine::Add(line) = line else { return Err(wrong) };
            content.push_str(line);
            content.push('\n');
        }
        if hunk.is_some_and(|hunk| hunk.unended_after) {
            content.pop();
        }
        Ok(Change::Create { path, content, executable: self.created == Some(true) })
    }

    fn update(
        &self,
        from: RepoPath,
        to: RepoPath,
        hunks: Vec<DiffHunk>,
    ) -> Result<Change, DiffCause> {
        let mode = ModeChange { before: self.old_mode, after: self.new_mode };
        let renamed = self.rename_from.is_some();
        if hunks.is_empty() && mode.after == mode.before {
            return match renamed {
                true => Ok(Change::Rename { from, to, base: None }),
                false => Err(DiffCause::NothingDone),
            };
        }
        let then = if renamed { Then::Moves(to) } else { Then::Stays };
        Ok(Change::Diff { path: from, hunks, mode, then, base: None })
    }
}

/// The name that two sides stand for: the same with `a/` and `b/` in front, or the same as it is.
fn one_of(old: &Name, new: &Name) -> Result<Name, DiffCause> {
    match (old.without("a/"), new.without("b/")) {
        (Some(name), Some(other)) if name.is(&other) => Ok(name),
        _ if old.is(new) => Ok(old.clone()),
        _ => Err(sides(old, new)),
    }
}

fn sides(old: &Name, new: &Name) -> DiffCause {
    DiffCause::Sides { old: old.shown.clone(), new: new.shown.clone() }
}

/// Whether a mode is that of an executable file.
fn executable(mode: &str) -> Result<bool, DiffCause> {
    match mode.trim_end() {
        "100644" => Ok(false),
        "100755" => Ok(true),
        "120000" => Err(DiffCause::SymbolicLink),
        "160000" => Err(DiffCause::Submodule),
        other => Err(DiffCause::Mode { mode: other.to_owned() }),
    }
}
