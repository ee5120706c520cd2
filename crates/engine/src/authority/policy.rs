//! Policy in Cedar (C6): loaded strictly against a schema made from the registry, evaluated per demand.
//!
//! A policy that names an unknown operation or attribute does not load. An error while evaluating denies: Cedar
//! would skip a failing `forbid`, and that must not let anything through.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::str::FromStr as _;
use std::sync::{Mutex, PoisonError};

use cedar_policy::{
    Authorizer, Context, Decision, Entities, Entity, EntityId, EntityTypeName, EntityUid, PolicyId,
    PolicySet, Request, RestrictedExpression, Schema, ValidationMode, Validator,
};
use serde_json::{Value, json};
use wire::Digest;
use wire::contract::{EffectClass, Operation, ResourceKind};

use crate::tool::{Demand, Resource};

/// The policy that is used when none is given.
pub const DEFAULT_POLICY: &str = include_str!("default.cedar");

/// A policy text that cannot be enforced as it stands.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// It is not Cedar.
    #[error("the policy cannot be parsed: {0}")]
    Syntax(String),
    /// It speaks of operations or attributes that no registered tool has.
    #[error("the policy does not fit the registry: {0}")]
    Unknown(String),
    /// Two policies have one `@id`.
    #[error("two policies have the id `{0}`; ids must be unique")]
    Twice(String),
    /// The machine-made schema was refused; a defect of ours.
    #[error("the schema of the registry is not valid: {0}")]
    Schema(String),
}

/// A loaded policy set.
pub struct Policy {
    policies: PolicySet,
    schema: Schema,
    version: Digest,
    reads_paths: bool,
    path: EntityTypeName,
    program: EntityTypeName,
    action: EntityTypeName,
    task: EntityTypeName,
}

/// Who asks, in which call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asker<'a> {
    pub(crate) task_id: &'a str,
    pub(crate) tenant: &'a str,
    pub(crate) principal: &'a str,
    pub(crate) tool: &'a str,
    pub(crate) effect: EffectClass,
}

/// What policy says to one demand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ruling {
    /// Allowed by these policies.
    Allow(Vec<String>),
    /// Denied, for these reasons.
    Deny(Vec<String>),
}

/// Tool, operation and class of a path.
type Kind = (String, &'static str, &'static str);

/// The rulings of one session and one policy that do not depend on a path itself. There are at most as many as tools,
/// operations and classes.
#[derive(Debug, Default)]
pub(crate) struct Rulings(Mutex<BTreeMap<Kind, Ruling>>);

impl Rulings {
    /// The ruling on a kind of demand; asked for once.
    pub(crate) fn of(&self, kind: Kind, ask: impl FnOnce() -> Ruling) -> Ruling {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(kind).or_insert_with(ask).clone()
    }
}

impl Policy {
    /// Loads policies for the operations of a registry.
    ///
    /// # Errors
    /// [`PolicyError`] with the place, if anything in the text is not known or not valid.
    pub fn load(text: &str, operations: &[Operation]) -> Result<Policy, PolicyError> {
        let schema = Schema::from_json_value(schema_of(operations))
            .map_err(|error| PolicyError::Schema(error.to_string()))?;
        let parsed = PolicySet::from_str(text).map_err(|e| PolicyError::Syntax(e.to_string()))?;
        let policies = named(&parsed)?;
        let checked = Validator::new(schema.clone()).validate(&policies, ValidationMode::Strict);
        if let Some(fault) = checked.validation_errors().next() {
            return Err(PolicyError::Unknown(fault.to_string()));
        }
        let as_json = policies.clone().to_json().map_err(|e| PolicyError::Syntax(e.to_string()))?;
        let kind = |name: &str| {
            EntityTypeName::from_str(name).map_err(|error| PolicyError::Schema(error.to_string()))
        };
        Ok(Policy {
            policies,
            schema,
            version: Digest::of_bytes(text.as_bytes()),
            reads_paths: speaks_of_paths(&as_json),
            path: kind("Path")?,
            program: kind("Program")?,
            action: kind("Action")?,
            task: kind("Task")?,
        })
    }

    /// The digest of the policy text; every decision names it.
    #[must_use]
    pub fn version(&self) -> &Digest {
        &self.version
    }

    /// Whether a ruling can depend on a path itself, not only on its class.
    pub(crate) fn reads_paths(&self) -> bool {
        self.reads_paths
    }

    /// Rules on one demand.
    pub(crate) fn rule(&self, asker: Asker<'_>, demand: &Demand) -> Ruling {
        match self.evaluate(asker, demand) {
            Ok(ruling) => ruling,
            Err(reason) => {
                Ruling::Deny(vec![format!("the policy could not be evaluated: {reason}")])
            }
        }
    }

    fn evaluate(&self, asker: Asker<'_>, demand: &Demand) -> Result<Ruling, String> {
        let uid = |kind: &EntityTypeName, id: &str| {
            EntityUid::from_type_name_and_id(kind.clone(), EntityId::new(id))
        };
        let text = |text: &str| RestrictedExpression::new_string(text.to_owned());
        let task = uid(&self.task, asker.task_id);
        let (resource, attributes) = match &demand.resource {
            Resource::Path { path, class } => {
                (uid(&self.path, path), vec![("path", text(path)), ("class", text(class))])
            }
            Resource::Program { name, shell } => (
                uid(&self.program, name),
                vec![("name", text(name)), ("shell", RestrictedExpression::new_bool(*shell))],
            ),
        };
        let entity = |uid: &EntityUid, attributes: Vec<(&str, RestrictedExpression)>| {
            let attributes: HashMap<_, _> =
                attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            Entity::new(uid.clone(), attributes, HashSet::new()).map_err(|e| e.to_string())
        };
        let who = vec![("tenant", text(asker.tenant)), ("principal", text(asker.principal))];
        let entities = [entity(&task, who)?, entity(&resource, attributes)?];
        let entities = Entities::from_entities(entities, None).map_err(|e| e.to_string())?;
        let context = [
            ("tool".to_owned(), text(asker.tool)),
            ("effect".to_owned(), text(asker.effect.as_str())),
        ];
        let context = Context::from_pairs(context).map_err(|e| e.to_string())?;
        let action = uid(&self.action, demand.operation);
        let request = Request::new(task, action, resource, context, Some(&self.schema))
            .map_err(|e| e.to_string())?;
        let response = Authorizer::new().is_authorized(&request, &self.policies, &entities);
        if let Some(error) = response.diagnostics().errors().next() {
            return Err(error.to_string());
        }
        let mut reasons: Vec<String> =
            response.diagnostics().reason().map(ToString::to_string).collect();
        reasons.sort();
        Ok(match response.decision() {
            Decision::Allow => Ruling::Allow(reasons),
            Decision::Deny if reasons.is_empty() => {
                Ruling::Deny(vec![format!("no policy permits `{}` here", demand.operation)])
            }
            Decision::Deny => Ruling::Deny(reasons),
        })
    }
}

impl std::fmt::Debug for Policy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Policy").field("version", &self.version).finish_non_exhaustive()
    }
}

/// The same policies under their `@id` annotations.
fn named(parsed: &PolicySet) -> Result<PolicySet, PolicyError> {
    let mut policies = PolicySet::new();
    for policy in parsed.policies() {
        let name = policy.annotation("id").map_or_else(|| policy.id().to_string(), str::to_owned);
        let renamed = policy.new_id(PolicyId::new(&name));
        policies.add(renamed).map_err(|_| PolicyError::Twice(name))?;
    }
    Ok(policies)
}

/// The Cedar schema of a registry's operations.
fn schema_of(operations: &[Operation]) -> Value {
    let string = || json!({ "type": "String", "required": true });
    let record =
        |attributes: Value| json!({ "shape": { "type": "Record", "attributes": attributes } });
    let mut actions = serde_json::Map::new();
    for operation in operations {
        let resource = match operation.resource {
            ResourceKind::Path => "Path",
            ResourceKind::Program => "Program",
        };
        let context =
            json!({ "type": "Record", "attributes": { "tool": string(), "effect": string() } });
        let applies =
            json!({ "principalTypes": ["Task"], "resourceTypes": [resource], "context": context });
        actions.insert(operation.name.clone(), json!({ "appliesTo": applies }));
    }
    json!({ "": {
        "entityTypes": {
            "Task": record(json!({ "tenant": string(), "principal": string() })),
            "Path": record(json!({ "path": string(), "class": string() })),
            "Program": record(json!({
                "name": string(),
                "shell": { "type": "Boolean", "required": true },
            })),
        },
        "actions": actions,
    } })
}

/// Whether some policy looks at a path: by its attribute, or by naming one.
fn speaks_of_paths(policy: &Value) -> bool {
    match policy {
        Value::Object(members) => {
            members.get("attr").is_some_and(|attr| attr == "path")
                || (members.get("type").is_some_and(|kind| kind == "Path")
                    && members.contains_key("id"))
                || members.values().any(speaks_of_paths)
        }
        Value::Array(items) => items.iter().any(speaks_of_paths),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operations() -> Vec<Operation> {
        let path = |name: &str| Operation { name: name.to_owned(), resource: ResourceKind::Path };
        let names = ["read", "list", "search", "create", "modify", "delete", "rename"];
        let mut all: Vec<_> = names.iter().map(|name| path(&format!("file.{name}"))).collect();
        all.push(Operation { name: "process.run".to_owned(), resource: ResourceKind::Program });
        all
    }

    fn ruling(policy: &Policy, operation: &'static str, path: &str, class: &'static str) -> Ruling {
        let asker = Asker {
            task_id: "t",
            tenant: "local",
            principal: "me",
            tool: "x",
            effect: EffectClass::Read,
        };
        let resource = Resource::Path { path: path.to_owned(), class };
        policy.rule(asker, &Demand { operation, resource })
    }

    fn deny(reason: &str) -> Ruling {
        Ruling::Deny(vec![reason.to_owned()])
    }

    #[test]
    fn c6_a_denial_names_the_policy() {
        let policy = Policy::load(DEFAULT_POLICY, &operations()).unwrap();
        assert_eq!(ruling(&policy, "file.read", ".env", "secret"), deny("no-secrets"));
        assert_eq!(
            ruling(&policy, "file.modify", ".git/config", "executable_configuration"),
            deny("no-code-that-runs-later")
        );
        let allowed = Ruling::Allow(vec!["workspace-read".to_owned()]);
        assert_eq!(ruling(&policy, "file.read", "src/lib.rs", "ordinary"), allowed);
        assert!(!policy.reads_paths());
    }

    #[test]
    fn c6_what_no_policy_permits_is_denied_with_a_reason() {
        let policy = Policy::load("", &operations()).unwrap();
        let expected = deny("no policy permits `file.read` here");
        assert_eq!(ruling(&policy, "file.read", "a", "ordinary"), expected);
    }

    #[test]
    fn c6_a_policy_that_names_the_unknown_does_not_load() {
        let load = |text: &str| Policy::load(text, &operations()).unwrap_err();
        let unknown_operation = r#"permit(principal, action == Action::"file.burn", resource);"#;
        assert!(matches!(load(unknown_operation), PolicyError::Unknown(_)));
        let unknown_attribute =
            "permit(principal, action, resource is Path) when { resource.colour == 1 };";
        assert!(matches!(load(unknown_attribute), PolicyError::Unknown(_)));
        assert!(matches!(load("permit("), PolicyError::Syntax(_)));
        let twice = r#"@id("a") permit(principal, action, resource); @id("a") forbid(principal, action, resource);"#;
        assert!(matches!(load(twice), PolicyError::Twice(_)));
    }

    #[test]
    fn c6_a_policy_on_paths_is_known_to_be_one() {
        for text in [
            r#"permit(principal, action, resource is Path) when { resource.path like "src/*" };"#,
            r#"permit(principal, action, resource == Path::"a");"#,
        ] {
            assert!(Policy::load(text, &operations()).unwrap().reads_paths(), "{text}");
        }
    }
}
