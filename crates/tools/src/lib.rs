//! The acts: one file per tool, each a contract, a plan, a run and a way to find out what happened.
//!
//! A tool names neither storage nor protocol, and never decides about its own permission.

mod fault;
mod limits;
mod process_run;
mod repository_patch;
mod repository_read;
mod repository_search;

use std::path::PathBuf;
use std::sync::Arc;

use engine::Registry;
use engine::registry::RegistryError;
use sandbox::Jail;
use workspace::Workspace;

/// What the tools of one workspace work on.
#[derive(Clone)]
pub struct Place {
    /// The files.
    pub workspace: Arc<Workspace>,
    /// The walls; `None` when this machine cannot build them, and then no program runs.
    pub jail: Option<Arc<Jail>>,
    /// What a program can reach and is told.
    pub surroundings: Surroundings,
}

/// What a program finds around it, read once from the machine by the binary.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The workspace's absolute path.
    pub root: PathBuf,
    /// The state directory for the journals of file changes, outside the workspace.
    pub journals: PathBuf,
    /// Directories with programs and their toolchains, to be shown read-only.
    pub toolchains: Vec<PathBuf>,
    /// The environment that every command starts with.
    pub environment: Vec<(String, String)>,
}

/// The registry of everything that Chancery can do in a place.
///
/// # Errors
/// [`RegistryError`] if a contract is not sound, which is a defect of ours.
pub fn registry(place: &Place) -> Result<Registry, RegistryError> {
    Registry::builder()
        .with(repository_read::RepositoryRead::new(place))?
        .with(repository_search::RepositorySearch::new(place))?
        .with(repository_patch::RepositoryPatch::new(place))?
        .with(process_run::ProcessRun::new(place))?
        .build()
}

/// Finishes or undoes file changes that an earlier process left half done (P6).
///
/// # Errors
/// A sentence, when a journal cannot be read or a file cannot be put right.
pub fn recover_files(place: &Place) -> Result<(), String> {
    workspace::patch::recover(&place.workspace, &place.surroundings.journals)
        .map(|_| ())
        .map_err(|error| error.to_string())
}
