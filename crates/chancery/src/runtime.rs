//! [`Runtime`]: everything put together for one workspace, ready to take calls.
//!
//! The way to embed Chancery: open it, drive calls, read receipts. It keeps no state but the ledger's.

use std::env;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::call::OpenError;
use engine::ports::{Clock as _, JournalError, Progress, Silent};
use engine::registry::RegistryError;
use engine::{Answer, Engine, Message, Policy, Registry, Session, Stop, Unrecorded};
use ledger::Ledger;
use sandbox::Jail;
use tools::Place;
use wire::Receipt;
use workspace::Workspace;

use crate::clock::SystemClock;
use crate::{session, surroundings};

/// Where a runtime works and what it obeys.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// The workspace's root; `None` is the working directory.
    pub workspace: Option<PathBuf>,
    /// The state directory; `None` is `$CHANCERY_STATE`, `$XDG_STATE_HOME/chancery` or `~/.local/state/chancery`.
    pub state: Option<PathBuf>,
    /// A Cedar policy file; `None` is the policy that Chancery brings.
    pub policy: Option<PathBuf>,
    /// The task to go on with; `None` starts a new one.
    pub task: Option<String>,
}

/// A runtime that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The workspace cannot be used.
    #[error(
        "workspace `{path}` cannot be opened: {reason}; name an existing directory with --workspace"
    )]
    Workspace {
        /// As given.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// There is no place for state.
    #[error("there is no home directory for state; set CHANCERY_STATE to a directory of yours")]
    NoState,
    /// The state directory lies inside the workspace, where a tool could change it.
    #[error(
        "the state directory `{0}` lies inside the workspace; choose one outside with CHANCERY_STATE"
    )]
    StateInside(PathBuf),
    /// The policy cannot be enforced.
    #[error("policy `{path}`: {reason}")]
    Policy {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The ledger cannot be opened.
    #[error(transparent)]
    Ledger(#[from] ledger::OpenError),
    /// The ledger does not answer.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A file change of an earlier process could not be settled.
    #[error("changes of an earlier process cannot be settled: {0}")]
    Recovery(String),
    /// A contract is not sound.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The task cannot be opened.
    #[error(transparent)]
    Task(#[from] OpenError),
}

/// A runtime on one workspace.
pub struct Runtime {
    engine: Engine,
    session: Session,
    registry: Arc<Registry>,
    ledger: Arc<Ledger>,
    recovered: Vec<Receipt>,
}

/// How this build names itself in receipts.
pub(crate) const NAME: &str = concat!("chancery/", env!("CARGO_PKG_VERSION"));

impl Runtime {
    /// Opens a workspace, settles what earlier processes left open, and begins a session.
    ///
    /// # Errors
    /// [`StartError`], which says what to change.
    pub fn open(setup: &Setup) -> Result<Runtime, StartError> {
        let root = root(setup.workspace.as_deref())?;
        let state = state_dir(setup.state.as_deref())?;
        if state.starts_with(&root) {
            return Err(StartError::StateInside(state));
        }
        let ledger = Arc::new(Ledger::open(&state, NAME)?);
        let unusable = |reason: String| StartError::Workspace { path: root.clone(), reason };
        let workspace =
            Arc::new(Workspace::open(&root).map_err(|error| unusable(error.to_string()))?);
        let journals = state.join("changes");
        DirBuilder::new()
            .mode(0o700)
            .recursive(true)
            .create(&journals)
            .map_err(|error| StartError::Recovery(error.to_string()))?;
        let place = Place {
            surroundings: surroundings::read(&root, &journals),
            jail: Jail::new().ok().map(Arc::new),
            workspace: Arc::clone(&workspace),
        };
        tools::recover_files(&place).map_err(StartError::Recovery)?;
        let registry = Arc::new(tools::registry(&place)?);
        let policy = policy(setup.policy.as_deref(), &registry)?;
        let engine = Engine::new(
            Arc::new(SystemClock),
            Arc::clone(&ledger) as _,
            Arc::clone(&ledger) as _,
            Arc::new(policy),
            NAME.to_owned(),
        );
        let recovered = engine.recover(&registry)?;
        let root = root.to_string_lossy();
        let grant = session::local_grant(setup.task.clone(), &root, SystemClock.now());
        let session = engine.open(grant, Arc::clone(&registry))?;
        Ok(Runtime { engine, session, registry, ledger, recovered })
    }

    /// Takes one call to its answer.
    ///
    /// # Errors
    /// [`Unrecorded`] if no receipt could be stored.
    pub fn drive(&self, message: Message<'_>) -> Result<Answer, Unrecorded> {
        self.drive_with(message, &Stop::new(), &Silent)
    }

    /// Takes one call to its answer, with a way to stop it and someone to tell about progress.
    ///
    /// # Errors
    /// [`Unrecorded`] if no receipt could be stored.
    pub fn drive_with(
        &self,
        message: Message<'_>,
        stop: &Stop,
        progress: &dyn Progress,
    ) -> Result<Answer, Unrecorded> {
        self.engine.drive(&self.session, message, stop, progress)
    }

    /// The session: its grant and the registry that its task pins.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The tools of this runtime.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The ledger: receipts and artifacts.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The digest of the policy that decides.
    #[must_use]
    pub fn policy_version(&self) -> &wire::Digest {
        self.engine.policy_version()
    }

    /// The receipts that were written at the start for what earlier processes left open.
    #[must_use]
    pub fn recovered(&self) -> &[Receipt] {
        &self.recovered
    }
}

fn root(stated: Option<&Path>) -> Result<PathBuf, StartError> {
    let path = match stated {
        Some(path) => path.to_owned(),
        None => env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
    };
    path.canonicalize().map_err(|error| StartError::Workspace { reason: error.to_string(), path })
}

/// The state directory, absolute; its deepest existing ancestor is resolved so that a link cannot hide where it is.
pub(crate) fn state_dir(stated: Option<&Path>) -> Result<PathBuf, StartError> {
    let from_environment = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    let chosen = stated
        .map(Path::to_owned)
        .or_else(|| from_environment("CHANCERY_STATE").map(PathBuf::from))
        .or_else(|| {
            from_environment("XDG_STATE_HOME").map(|home| PathBuf::from(home).join("chancery"))
        })
        .or_else(|| {
            from_environment("HOME").map(|home| PathBuf::from(home).join(".local/state/chancery"))
        })
        .ok_or(StartError::NoState)?;
    let absolute = std::path::absolute(&chosen).map_err(|_| StartError::NoState)?;
    let existing = absolute.ancestors().find(|path| path.exists());
    let real = existing.and_then(|path| Some((path, path.canonicalize().ok()?)));
    Ok(match real {
        Some((existing, real)) => match absolute.strip_prefix(existing) {
            Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
            _ => real,
        },
        None => absolute,
    })
}

fn policy(file: Option<&Path>, registry: &Registry) -> Result<Policy, StartError> {
    let (path, text) = match file {
        None => (PathBuf::from("built-in"), engine::authority::DEFAULT_POLICY.to_owned()),
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|error| StartError::Policy {
                path: path.to_owned(),
                reason: error.to_string(),
            })?;
            (path.to_owned(), text)
        }
    };
    Policy::load(&text, &registry.operations())
        .map_err(|error| StartError::Policy { path, reason: error.to_string() })
}
