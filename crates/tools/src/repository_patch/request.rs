//! The arguments of `repository_patch`, and the changes that they stand for (P1).

use schemars::JsonSchema;
use serde::Deserialize;
use wire::{Code, Digest, Error};
use workspace::patch::{Change, Occurrences, parse_patch};
use workspace::{RepoPath, Workspace};

use crate::fault;
use crate::limits::Limits;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// Done in order.
    #[serde(default)]
    #[schemars(length(max = 256))]
    changes: Vec<Wanted>,
    /// Instead of `changes`: V4A (`*** Begin Patch`) or a unified diff.
    patch: Option<String>,
    #[serde(default)]
    pub(super) limits: Limits,
}

// One change. Its members beside `action`, `path` and `base` belong to one action each.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    action: Action,
    path: String,
    /// replace: exact text that occurs once.
    old: Option<String>,
    /// replace, lines
    new: Option<String>,
    /// replace: how often `old` occurs.
    #[schemars(range(min = 1))]
    count: Option<u64>,
    /// lines: from this one, as numbered before the call.
    #[schemars(range(min = 1))]
    first: Option<u64>,
    /// lines: to this one; `first` - 1 inserts before `first`.
    last: Option<u64>,
    /// create, write: the whole content.
    content: Option<String>,
    /// create
    executable: Option<bool>,
    /// rename
    to: Option<String>,
    /// Digest that it is made on, if not the one last shown.
    base: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    #[default]
    Replace,
    Lines,
    Create,
    Write,
    Delete,
    Rename,
}

impl Action {
    fn name(self) -> &'static str {
        match self {
            Action::Replace => "replace",
            Action::Lines => "lines",
            Action::Create => "create",
            Action::Write => "write",
            Action::Delete => "delete",
            Action::Rename => "rename",
        }
    }

    /// The members that it takes beside `action`, `path` and `base`, and whether each must be there.
    fn members(self) -> &'static [(&'static str, bool)] {
        match self {
            Action::Replace => &[("old", true), ("new", true), ("count", false)],
            Action::Lines => &[("first", true), ("last", true), ("new", true)],
            Action::Create => &[("content", true), ("executable", false)],
            Action::Write => &[("content", true)],
            Action::Delete => &[],
            Action::Rename => &[("to", true)],
        }
    }
}

/// The changes that a caller asks for, on paths of the workspace.
pub(super) fn changes(workspace: &Workspace, arguments: &Arguments) -> Result<Vec<Change>, Error> {
    match (&arguments.patch, arguments.changes.as_slice()) {
        (Some(text), []) => parse_patch(text, &|path| workspace.path(path)).map_err(|error| {
            Error::new(Code::InvalidPatch, error.to_string())
                .at("/arguments/patch")
                .with("line", error.line())
        }),
        (None, wanted @ [_, ..]) => wanted
            .iter()
            .enumerate()
            .map(|(at, wanted)| wanted.change(workspace, &format!("/arguments/changes/{at}")))
            .collect(),
        _ => {
            let message = "give either `changes` or `patch`";
            Err(Error::new(Code::InvalidArguments, message).at("/arguments"))
        }
    }
}

/// Where a change stands in the arguments.
pub(super) fn pointer(arguments: &Arguments, change: usize) -> String {
    match arguments.patch {
        Some(_) => "/arguments/patch".to_owned(),
        None => format!("/arguments/changes/{change}"),
    }
}

impl Wanted {
    fn change(&self, workspace: &Workspace, at: &str) -> Result<Change, Error> {
        self.check_members(at)?;
        let path = path_of(workspace, &self.path, &format!("{at}/path"))?;
        let base = self.base(at)?;
        let text = |member: &Option<String>| member.clone().unwrap_or_default();
        Ok(match self.action {
            Action::Replace => Change::Replace {
                path,
                old: text(&self.old),
                new: text(&self.new),
                occurrences: match self.count {
                    None | Some(1) => Occurrences::Once,
                    Some(count) => Occurrences::Exactly(count),
                },
                base,
            },
            Action::Lines => Change::Lines {
                path,
                first: self.first.unwrap_or_default(),
                last: self.last.unwrap_or_default(),
                new: text(&self.new),
                base,
            },
            Action::Create => Change::Create {
                path,
                content: text(&self.content),
                executable: self.executable == Some(true),
            },
            Action::Write => Change::Write { path, content: text(&self.content), base },
            Action::Delete => Change::Delete { path, base },
            Action::Rename => {
                let to = path_of(workspace, &text(&self.to), &format!("{at}/to"))?;
                Change::Rename { from: path, to, base }
            }
        })
    }

    /// Holds the members against the action: a wrong one would otherwise be lost in silence.
    fn check_members(&self, at: &str) -> Result<(), Error> {
        let given = [
            ("old", self.old.is_some()),
            ("new", self.new.is_some()),
            ("count", self.count.is_some()),
            ("first", self.first.is_some()),
            ("last", self.last.is_some()),
            ("content", self.content.is_some()),
            ("executable", self.executable.is_some()),
            ("to", self.to.is_some()),
            ("base", self.base.is_some() && self.action == Action::Create),
        ];
        let action = self.action.name();
        let wrong = |member: &str, message: String| {
            Err(Error::new(Code::InvalidArguments, message).at(&format!("{at}/{member}")))
        };
        for (member, is_given) in given {
            let taken = self.action.members().iter().find(|(name, _)| *name == member);
            match (taken, is_given) {
                (None, true) => return wrong(member, format!("`{action}` takes no `{member}`")),
                (Some((_, true)), false) => {
                    return wrong(member, format!("`{action}` needs `{member}`"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The digest as the workspace knows it.
    fn base(&self, at: &str) -> Result<Option<String>, Error> {
        let Some(text) = &self.base else { return Ok(None) };
        let digest = Digest::try_from(text.clone()).map_err(|_| {
            let message =
                "`base` is a digest as a read shows it: `sha256:` and 64 hexadecimal digits";
            Error::new(Code::InvalidArguments, message).at(&format!("{at}/base"))
        })?;
        Ok(Some(digest.hex().to_owned()))
    }
}

fn path_of(workspace: &Workspace, text: &str, at: &str) -> Result<RepoPath, Error> {
    workspace.path(text).map_err(|error| fault::path(&error).at(at))
}
