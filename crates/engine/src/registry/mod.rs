//! The registry: which tools there are, in which version, under which contract.
//!
//! A revision is the digest over all contracts (R2). A task keeps the registry that it started with (R3); a
//! registry is never changed, only replaced for new tasks.

mod entry;
mod schema;

use std::collections::BTreeMap;
use std::sync::Arc;

use wire::contract::{Lifecycle, Operation};
use wire::{Code, Digest, Error, ToolContract};

pub(crate) use entry::{AnyOutcome, Job, Prepared};
use entry::{AnyTool, Typed};

use crate::tool::Tool;

/// A contract that cannot be enforced.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// Two tools have one name.
    #[error("the tool `{0}` is registered twice; give one of them another name")]
    Twice(String),
    /// The contract contradicts itself or the types.
    #[error("the contract of `{tool}` is not sound: {reason}")]
    Contract {
        /// The tool.
        tool: String,
        /// What is wrong.
        reason: String,
    },
}

/// One tool as it is registered: contract, compiled schema, implementation.
pub(crate) struct Entry {
    pub(crate) contract: ToolContract,
    arguments: schema::Compiled,
    tool: Box<dyn AnyTool>,
}

/// A set of tools, immutable.
pub struct Registry {
    entries: BTreeMap<String, Arc<Entry>>,
    revision: Digest,
}

/// Collects the tools of a registry.
#[derive(Default)]
pub struct Builder {
    entries: BTreeMap<String, Arc<Entry>>,
}

impl Builder {
    /// Adds a tool.
    ///
    /// # Errors
    /// [`RegistryError`] if the name is taken or the contract is not sound.
    pub fn with<T: Tool>(mut self, tool: T) -> Result<Builder, RegistryError> {
        let mut contract = tool.contract();
        contract.arguments_schema = schema::of::<T::Arguments>();
        contract.result_schema = schema::planner_part(&schema::of::<T::Result>(), &contract.routes);
        let unsound =
            |reason: String| RegistryError::Contract { tool: contract.name.clone(), reason };
        schema::check_contract(&contract, &schema::of::<T::Result>()).map_err(unsound)?;
        let arguments = schema::Compiled::new(&contract.arguments_schema).map_err(unsound)?;
        let name = contract.name.clone();
        let entry = Entry { contract, arguments, tool: Box::new(Typed(tool)) };
        match self.entries.insert(name.clone(), Arc::new(entry)) {
            None => Ok(self),
            Some(_) => Err(RegistryError::Twice(name)),
        }
    }

    /// The finished registry.
    ///
    /// # Errors
    /// [`RegistryError`] if a contract has no canonical form.
    pub fn build(self) -> Result<Registry, RegistryError> {
        let mut digests = Vec::new();
        for entry in self.entries.values() {
            let tool = entry.contract.name.clone();
            let digest = entry.contract.digest();
            digests
                .push(digest.map_err(|e| RegistryError::Contract { tool, reason: e.to_string() })?);
        }
        let list: Vec<&str> = digests.iter().map(Digest::as_str).collect();
        Ok(Registry {
            revision: Digest::of_bytes(list.join("\n").as_bytes()),
            entries: self.entries,
        })
    }
}

impl Registry {
    /// An empty collection of tools.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The digest over all contracts.
    #[must_use]
    pub fn revision(&self) -> &Digest {
        &self.revision
    }

    /// The contracts, by name.
    pub fn contracts(&self) -> impl Iterator<Item = &ToolContract> {
        self.entries.values().map(|entry| &entry.contract)
    }

    /// Every operation that some tool can demand; the policy schema is made from it (C6).
    #[must_use]
    pub fn operations(&self) -> Vec<Operation> {
        let mut all: Vec<_> =
            self.contracts().flat_map(|contract| contract.operations.iter().cloned()).collect();
        all.sort();
        all.dedup();
        all
    }

    /// The entry of a tool in a version.
    ///
    /// # Errors
    /// `unknown_tool` or `unsupported_tool_version`, with what is supported (E5).
    pub(crate) fn find(&self, tool: &str, version: Option<&str>) -> Result<Arc<Entry>, Error> {
        let Some(entry) = self.entries.get(tool) else {
            let shown: String = tool.chars().take(64).collect();
            let known: Vec<&str> = self.entries.keys().map(String::as_str).collect();
            let message = format!("there is no tool `{shown}`");
            return Err(Error::new(Code::UnknownTool, message)
                .at("/tool")
                .with("supported", known));
        };
        let pinned = &entry.contract.version;
        if entry.contract.lifecycle == Lifecycle::Retired {
            let message =
                format!("version `{pinned}` of `{tool}` is retired; new tasks go without");
            return Err(Error::new(Code::UnsupportedToolVersion, message)
                .at("/tool_version")
                .with("supported", Vec::<String>::new()));
        }
        if version.is_some_and(|version| version != pinned) {
            let message = format!("the task pins version `{pinned}` of `{tool}`");
            return Err(Error::new(Code::UnsupportedToolVersion, message)
                .at("/tool_version")
                .with("supported", vec![pinned.as_str()]));
        }
        Ok(Arc::clone(entry))
    }
}

impl Entry {
    /// Checks arguments against the pinned schema.
    ///
    /// # Errors
    /// `invalid_arguments` or `unknown_field` with the pointer of the first fault.
    pub(crate) fn check_arguments(&self, arguments: &serde_json::Value) -> Result<(), Error> {
        self.arguments.check(arguments)
    }

    /// The implementation behind the contract.
    pub(crate) fn tool(&self) -> &dyn AnyTool {
        self.tool.as_ref()
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entry").field("contract", &self.contract).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry").field("revision", &self.revision).finish_non_exhaustive()
    }
}
