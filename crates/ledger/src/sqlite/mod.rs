//! The database file: how it is opened, which version it has, and who may use it how.
//!
//! One thread writes ([`Writer`]); reads have their own connections ([`Readers`]). Nothing else may open the
//! file: closing any descriptor of it would let go of every lock that this process holds on it (fcntl(2)).

mod readers;
mod writer;

use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use rustix::fs::{CWD, FileType, Mode, mknodat};

pub(crate) use readers::Readers;
pub(crate) use writer::{Tells, Writer};

use crate::open::OpenError;

/// Name of the database in the state directory.
pub(crate) const FILE: &str = "ledger.sqlite";

/// How long a process waits for its turn to write, milliseconds.
const TURN_WAIT_MS: u64 = 10_000;

/// How much of the database the writing connection keeps in memory, KiB: the indexes of a busy ledger.
const WRITER_CACHE_KIB: i64 = 4 * 1024;

/// The write-ahead log is copied into the database once it holds so many pages, 16 MiB.
const CHECKPOINT_PAGES: i64 = 4000;

/// Each takes the database one version further; the number of a version is its place, from 1.
const MIGRATIONS: &[&str] = &[include_str!("../migrations/001_ledger.sql")];

/// The one connection that writes, with the database in the newest version.
pub(crate) fn open_for_writing(path: &Path) -> Result<Connection, OpenError> {
    // Made without opening it, see the note at the top of this file.
    match mknodat(CWD, path, FileType::RegularFile, Mode::RUSR | Mode::WUSR, 0) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => {}
        Err(error) => return Err(OpenError::files(path)(error.into())),
    }
    let refused = |source| OpenError::Sqlite { path: path.to_owned(), source };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(refused)?;
    connection.busy_timeout(Duration::from_millis(TURN_WAIT_MS)).map_err(refused)?;
    let mode = write_ahead(&connection).map_err(refused)?;
    if mode != "wal" {
        return Err(OpenError::NoWriteAheadLog { path: path.to_owned(), mode });
    }
    connection.pragma_update(None, "synchronous", "FULL").map_err(refused)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(refused)?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB).map_err(refused)?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES).map_err(refused)?;
    keep_plans(&connection).map_err(refused)?;
    migrate(&mut connection, path)?;
    Ok(connection)
}

/// A connection that cannot write.
fn open_for_reading(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(Duration::from_millis(TURN_WAIT_MS))?;
    keep_plans(&connection)?;
    Ok(connection)
}

/// Statements are prepared once. Without the stability guarantee SQLite would plan them anew for other values, which
/// costs more than the statements themselves.
fn keep_plans(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(64);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(|_| ())
}

/// Turns the write-ahead log on; the mode that the database is in afterwards.
fn write_ahead(connection: &Connection) -> rusqlite::Result<String> {
    const PAUSE_MS: u64 = 5;
    let mut waited_ms = 0;
    loop {
        let mode =
            connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0));
        match mode {
            // The change of mode does not wait by itself while another process makes it.
            Err(rusqlite::Error::SqliteFailure(error, _))
                if error.code == ErrorCode::DatabaseBusy && waited_ms < TURN_WAIT_MS =>
            {
                thread::sleep(Duration::from_millis(PAUSE_MS));
                waited_ms += PAUSE_MS;
            }
            mode => return mode,
        }
    }
}

fn migrate(connection: &mut Connection, path: &Path) -> Result<(), OpenError> {
    let refused = |source| OpenError::Sqlite { path: path.to_owned(), source };
    let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    if version(connection).map_err(refused)? == known {
        return Ok(());
    }
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(refused)?;
    // Read again: another process may have been first.
    let found = version(&transaction).map_err(refused)?;
    if found > known {
        return Err(OpenError::Newer { path: path.to_owned(), found, known });
    }
    for (number, sql) in (1..).zip(MIGRATIONS).filter(|(number, _)| *number > found) {
        transaction.execute_batch(sql).map_err(refused)?;
        transaction.pragma_update(None, "user_version", number).map_err(refused)?;
    }
    transaction.commit().map_err(refused)
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_is_private_and_durable_at_every_commit() {
        use std::os::unix::fs::MetadataExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let connection = open_for_writing(&path).unwrap();
        let pragma = |name: &str| -> rusqlite::Result<i64> {
            connection.pragma_query_value(None, name, |row| row.get(0))
        };
        assert_eq!(pragma("synchronous").unwrap(), 2);
        assert_eq!(pragma("foreign_keys").unwrap(), 1);
        assert_eq!(pragma("user_version").unwrap(), 1);
        for suffix in ["", "-wal", "-shm"] {
            let file = folder.path().join(format!("{FILE}{suffix}"));
            assert_eq!(std::fs::metadata(file).unwrap().mode() & 0o777, 0o600, "{suffix}");
        }
    }

    #[test]
    fn a_newer_version_is_refused_and_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        open_for_writing(&path).unwrap().pragma_update(None, "user_version", 7).unwrap();
        let error = open_for_writing(&path).unwrap_err();
        assert!(matches!(error, OpenError::Newer { found: 7, known: 1, .. }), "{error}");
        assert!(error.to_string().ends_with("upgrade chancery"), "{error}");
        let connection = Connection::open(&path).unwrap();
        assert_eq!(version(&connection).unwrap(), 7);
    }

    #[test]
    fn a_file_that_is_no_database_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        std::fs::write(&path, "not a database, but long enough to look at".repeat(9)).unwrap();
        assert!(matches!(open_for_writing(&path), Err(OpenError::Sqlite { .. })));
    }
}
