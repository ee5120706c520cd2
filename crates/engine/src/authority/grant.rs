//! Grants: what a session was handed (C1). A grant only ever answers whether it covers a demand.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use wire::{Code, Error, Timestamp};

use crate::tool::{Demand, Resource};

/// Everything, or exactly what is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Without limit in this dimension.
    Any,
    /// Only these.
    Only(BTreeSet<String>),
}

impl Scope {
    fn holds(&self, name: &str) -> bool {
        match self {
            Scope::Any => true,
            Scope::Only(names) => names.contains(name),
        }
    }
}

/// One grant, a record with an id (C1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// The id that decisions name.
    pub capability_id: String,
    /// The tenant.
    pub tenant: String,
    /// The person or service that the task works for.
    pub principal: String,
    /// The task; the grant works in no other (C3).
    pub task_id: String,
    /// The attempt; the grant works in no other (C3).
    pub attempt_id: String,
    /// The workspace that paths are meant in, as its absolute path.
    pub workspace: String,
    /// Tools that may be called.
    pub tools: Scope,
    /// Operations that may be done.
    pub operations: Scope,
    /// Directories of the workspace, escaped and relative; everything beneath one is covered. `Any` is the root.
    pub paths: Scope,
    /// When it was issued.
    pub issued: Timestamp,
    /// When it ends.
    pub expires: Timestamp,
}

impl Grant {
    /// Whether the grant covers a demand of a tool, in this task, at this time.
    ///
    /// # Errors
    /// `not_granted`, naming the dimension that does not cover it.
    pub fn covers(
        &self,
        task_id: &str,
        attempt_id: &str,
        tool: &str,
        demand: &Demand,
        now: Timestamp,
    ) -> Result<(), Error> {
        let refuse = |dimension: &str, message: String| {
            Err(Error::new(Code::NotGranted, message)
                .with("capability_id", self.capability_id.as_str())
                .with("dimension", dimension))
        };
        if self.task_id != task_id || self.attempt_id != attempt_id {
            return refuse("task", "the capability belongs to another task or attempt".to_owned());
        }
        if now < self.issued {
            return refuse("time", format!("the capability begins at {}", self.issued));
        }
        if now >= self.expires {
            return refuse("time", format!("the capability ended at {}", self.expires));
        }
        if !self.tools.holds(tool) {
            return refuse("tool", format!("the capability does not cover the tool `{tool}`"));
        }
        if !self.operations.holds(demand.operation) {
            let message = format!("the capability does not cover `{}`", demand.operation);
            return refuse("operation", message);
        }
        match &demand.resource {
            Resource::Path { path, .. } if !self.covers_path(path) => {
                refuse("path", format!("the capability does not cover the path `{path}`"))
            }
            _ => Ok(()),
        }
    }

    fn covers_path(&self, path: &str) -> bool {
        match &self.paths {
            Scope::Any => true,
            Scope::Only(roots) => roots.iter().any(|root| {
                path.strip_prefix(root.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant() -> Grant {
        Grant {
            capability_id: "cap".to_owned(),
            tenant: "local".to_owned(),
            principal: "me".to_owned(),
            task_id: "t".to_owned(),
            attempt_id: "a".to_owned(),
            workspace: "/w".to_owned(),
            tools: Scope::Only(["r".to_owned()].into()),
            operations: Scope::Only(["file.read".to_owned()].into()),
            paths: Scope::Only(["src".to_owned()].into()),
            issued: Timestamp::from_unix_ms(0),
            expires: Timestamp::from_unix_ms(100),
        }
    }

    fn dimension(task: &str, tool: &str, operation: &'static str, path: &str, now: u64) -> String {
        let resource = Resource::Path { path: path.to_owned(), class: "ordinary" };
        let demand = Demand { operation, resource };
        match grant().covers(task, "a", tool, &demand, Timestamp::from_unix_ms(now)) {
            Ok(()) => "covered".to_owned(),
            Err(error) => error.details.get("dimension").unwrap().as_str().unwrap().to_owned(),
        }
    }

    #[test]
    fn c1_every_dimension_of_a_grant_is_held() {
        assert_eq!(dimension("t", "r", "file.read", "src/a.rs", 99), "covered");
        assert_eq!(dimension("t", "r", "file.read", "src", 99), "covered");
        assert_eq!(dimension("u", "r", "file.read", "src/a.rs", 99), "task");
        assert_eq!(dimension("t", "r", "file.read", "src/a.rs", 100), "time");
        assert_eq!(dimension("t", "w", "file.read", "src/a.rs", 99), "tool");
        assert_eq!(dimension("t", "r", "file.write", "src/a.rs", 99), "operation");
        assert_eq!(dimension("t", "r", "file.read", "src2/a.rs", 99), "path");
    }
}
