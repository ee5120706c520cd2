//! A few connections for reading, lent out one caller at a time. They cannot write.

use std::path::PathBuf;
use std::sync::{Condvar, Mutex, PoisonError};

use engine::ports::JournalError;
use rusqlite::Connection;

use crate::failure::Failure;

/// At most so many connections; further callers wait for one to come back.
const MOST: usize = 4;

/// The connections that are not in use, and how many there are in all.
#[derive(Debug)]
pub(crate) struct Readers {
    path: PathBuf,
    shelf: Mutex<Shelf>,
    came_back: Condvar,
}

#[derive(Debug, Default)]
struct Shelf {
    free: Vec<Connection>,
    made: usize,
}

/// One connection while it is lent out. Dropped, it goes back.
struct Lent<'a> {
    readers: &'a Readers,
    connection: Option<Connection>,
}

impl Readers {
    /// No connection yet; they are made when they are needed.
    pub(crate) fn new(path: PathBuf) -> Readers {
        Readers { path, shelf: Mutex::default(), came_back: Condvar::new() }
    }

    /// Runs `work` on one consistent state of the database.
    pub(crate) fn read<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<T, JournalError> {
        let mut lent = Lent { readers: self, connection: self.take() };
        let answer = (|| {
            let connection = match lent.connection.take() {
                Some(connection) => connection,
                None => super::open_for_reading(&self.path)?,
            };
            let state = lent.connection.insert(connection).unchecked_transaction()?;
            work(&state)
        })();
        answer.map_err(|failure: Failure| failure.while_doing(doing))
    }

    /// A free connection, or `None` when the caller may make one.
    fn take(&self) -> Option<Connection> {
        let shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        let mut shelf = self
            .came_back
            .wait_while(shelf, |shelf| shelf.free.is_empty() && shelf.made >= MOST)
            .unwrap_or_else(PoisonError::into_inner);
        let free = shelf.free.pop();
        if free.is_none() {
            shelf.made += 1;
        }
        free
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut shelf = self.readers.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        match self.connection.take() {
            Some(connection) => shelf.free.push(connection),
            None => shelf.made = shelf.made.saturating_sub(1),
        }
        self.readers.came_back.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_are_bounded_and_cannot_write() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(super::super::FILE);
        let writer = super::super::open_for_writing(&path).unwrap();
        let readers = Readers::new(path);
        std::thread::scope(|scope| {
            for _ in 0..24 {
                scope.spawn(|| {
                    let refused = readers.read("write", |connection| {
                        Ok(connection.execute("DELETE FROM runtimes", [])?)
                    });
                    assert!(refused.unwrap_err().reason.contains("readonly"));
                });
            }
        });
        let shelf = readers.shelf.lock().unwrap();
        assert!(shelf.made <= MOST && shelf.free.len() == shelf.made);
        drop(writer);
    }
}
