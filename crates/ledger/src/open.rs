//! Opening a state directory: the folders, the database, this runtime's claim to be alive.
//!
//! It never changes the rights of a directory that existed before, and never opens one that is writable for its group
//! or for all.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::artifacts::Store;
use crate::runtimes::{self, Runtime};
use crate::{Ledger, sqlite};

/// Why a ledger cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A directory or file of the state cannot be made or used.
    #[error("`{}` cannot be used for the ledger: {source}", path.display())]
    Files {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Other users could replace the ledger.
    #[error("`{}` can be written by other users (mode {mode:o}); run `chmod 700` on it", path.display())]
    Exposed {
        /// The directory.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// A newer chancery has written it.
    #[error(
        "`{}` has version {found} and this chancery knows versions up to {known}; upgrade chancery",
        path.display()
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version that is known here.
        known: i64,
    },
    /// The file system cannot hold a write-ahead log.
    #[error(
        "`{}` lies on a file system without shared memory for a write-ahead log (journal mode stays `{mode}`); \
         choose a state directory on a local disk",
        path.display()
    )]
    NoWriteAheadLog {
        /// The database.
        path: PathBuf,
        /// The mode that SQLite stays in.
        mode: String,
    },
    /// SQLite refused.
    #[error("`{}` cannot be opened: {source}", path.display())]
    Sqlite {
        /// The database.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
}

impl OpenError {
    pub(crate) fn files(path: &Path) -> impl FnOnce(io::Error) -> OpenError {
        let path = path.to_owned();
        move |source| OpenError::Files { path, source }
    }
}

impl Ledger {
    /// Opens the ledger in a state directory and makes what is missing of it. `runtime_name` is for people, such
    /// as `chancery/0.1.0`.
    ///
    /// # Errors
    /// [`OpenError`]; nothing was begun then.
    pub fn open(state_dir: &Path, runtime_name: &str) -> Result<Ledger, OpenError> {
        make_directory(state_dir)?;
        refuse_exposed(state_dir)?;
        let [artifacts, staging, runtimes] =
            ["artifacts", "artifacts/staging", "runtimes"].map(|name| state_dir.join(name));
        for directory in [&artifacts, &staging, &runtimes] {
            make_directory(directory)?;
        }
        let database = state_dir.join(sqlite::FILE);
        let connection = sqlite::open_for_writing(&database)?;
        let runtime = Runtime::start(&runtimes, &staging, runtime_name)
            .map_err(OpenError::files(&runtimes))?;
        let runtime = Arc::new(runtime);
        runtimes::sweep(&runtimes, &staging).map_err(OpenError::files(&runtimes))?;
        Ok(Ledger {
            artifacts: Store::open(&artifacts, Arc::clone(&runtime))
                .map_err(OpenError::files(&artifacts))?,
            writer: sqlite::Writer::start(connection).map_err(OpenError::files(&database))?,
            readers: sqlite::Readers::new(database),
            runtimes,
            runtime,
        })
    }
}

/// Makes a directory and those above it that are missing, so that they outlive a loss of power.
fn make_directory(path: &Path) -> Result<(), OpenError> {
    let missing: Vec<&Path> = path.ancestors().take_while(|above| !above.exists()).collect();
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(OpenError::files(path))?;
    for parent in missing.into_iter().filter_map(Path::parent) {
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        fs::File::open(parent)
            .and_then(|directory| directory.sync_all())
            .map_err(OpenError::files(parent))?;
    }
    Ok(())
}

fn refuse_exposed(path: &Path) -> Result<(), OpenError> {
    let mode = fs::metadata(path).map_err(OpenError::files(path))?.mode() & 0o7777;
    if mode & 0o022 == 0 { Ok(()) } else { Err(OpenError::Exposed { path: path.to_owned(), mode }) }
}
