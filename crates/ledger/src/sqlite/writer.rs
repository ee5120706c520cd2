//! The one thread that writes. It takes whatever is queued and commits it together, so that a slow disk is
//! waited for once per batch and not once per caller.
//!
//! Nobody is answered before the commit. A request that fails takes back only itself.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use engine::ports::JournalError;
use rusqlite::Connection;

use crate::failure::Failure;

/// At most so many requests wait; further callers wait for room.
const QUEUE_REQUESTS: usize = 1024;
/// At most so many requests are committed together.
const BATCH_REQUESTS: usize = 256;
/// A batch takes no further request once it holds so many bytes.
const BATCH_BYTES: usize = 4 << 20;

/// Whether those who wait for news are woken when a request is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tells {
    /// It stores a receipt.
    News,
    /// Nobody waits for it.
    Nothing,
}

/// The writing thread, and the way to it.
#[derive(Debug)]
pub(crate) struct Writer {
    queue: Option<SyncSender<Box<dyn Request>>>,
    thread: Option<JoinHandle<()>>,
    news: Arc<News>,
}

/// Counts commits that stored receipts.
#[derive(Debug, Default)]
struct News {
    count: Mutex<u64>,
    changed: Condvar,
}

/// Something to be done inside the transaction of a batch.
trait Request: Send {
    fn bytes(&self) -> usize;
    fn tells(&self) -> Tells;
    /// Does it; whether its changes may stay.
    fn run(&mut self, connection: &Connection) -> bool;
    /// Tells the caller what came of it, and why the commit failed if it did.
    fn answer(self: Box<Self>, commit_failed: Option<&str>);
}

struct Job<T, W> {
    doing: &'static str,
    bytes: usize,
    tells: Tells,
    work: Option<W>,
    came: Option<Result<T, Failure>>,
    caller: SyncSender<Result<T, JournalError>>,
}

impl<T, W> Request for Job<T, W>
where
    T: Send,
    W: FnOnce(&Connection) -> Result<T, Failure> + Send,
{
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn tells(&self) -> Tells {
        self.tells
    }

    fn run(&mut self, connection: &Connection) -> bool {
        let Some(work) = self.work.take() else {
            return false;
        };
        let came =
            catch_unwind(AssertUnwindSafe(|| work(connection))).unwrap_or(Err(Failure::Panicked));
        self.came.insert(came).is_ok()
    }

    fn answer(self: Box<Self>, commit_failed: Option<&str>) {
        let answer = match (self.came, commit_failed) {
            (Some(Err(failure)), _) => Err(failure.while_doing(self.doing)),
            (Some(Ok(value)), None) => Ok(value),
            (None, None) => Err(Failure::Panicked.while_doing(self.doing)),
            (_, Some(reason)) => Err(JournalError { doing: self.doing, reason: reason.to_owned() }),
        };
        // A caller that has gone away wants no answer.
        drop(self.caller.send(answer));
    }
}

impl Writer {
    /// Starts the thread; it owns the connection.
    pub(crate) fn start(connection: Connection) -> std::io::Result<Writer> {
        let (queue, requests) = mpsc::sync_channel(QUEUE_REQUESTS);
        let news = Arc::new(News::default());
        let told = Arc::clone(&news);
        let thread = thread::Builder::new()
            .name("ledger-writer".to_owned())
            .spawn(move || write_until_closed(&connection, &requests, &told))?;
        Ok(Writer { queue: Some(queue), thread: Some(thread), news })
    }

    /// Runs `work` inside a transaction and returns once that is committed. `bytes` is about how much it stores.
    pub(crate) fn run<T, W>(
        &self,
        doing: &'static str,
        bytes: usize,
        tells: Tells,
        work: W,
    ) -> Result<T, JournalError>
    where
        T: Send + 'static,
        W: FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    {
        let gone = || JournalError { doing, reason: "the writing thread has ended".to_owned() };
        let (caller, answer) = mpsc::sync_channel(1);
        let job = Job { doing, bytes, tells, work: Some(work), came: None, caller };
        self.queue.as_ref().ok_or_else(gone)?.send(Box::new(job)).map_err(|_| gone())?;
        answer.recv().map_err(|_| gone())?
    }

    /// Sleeps until a receipt is committed from now on, or `ms` have passed.
    pub(crate) fn wait_for_news(&self, ms: u64) {
        let count = self.news.count.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = *count;
        drop(
            self.news
                .changed
                .wait_timeout_while(count, Duration::from_millis(ms), |count| *count == seen),
        );
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was answered to its callers already.
            drop(thread.join());
        }
    }
}

fn write_until_closed(connection: &Connection, requests: &Receiver<Box<dyn Request>>, news: &News) {
    while let Ok(first) = requests.recv() {
        let mut bytes = first.bytes();
        let mut batch = vec![first];
        while batch.len() < BATCH_REQUESTS && bytes < BATCH_BYTES {
            let Ok(next) = requests.try_recv() else { break };
            bytes = bytes.saturating_add(next.bytes());
            batch.push(next);
        }
        let commit = commit(connection, &mut batch);
        let has_news = batch.iter().any(|request| request.tells() == Tells::News);
        if commit.is_err() && !connection.is_autocommit() {
            // Were it to fail, the next batch could not begin, and would say so.
            drop(connection.execute_batch("ROLLBACK"));
        }
        for request in batch {
            request.answer(commit.as_ref().err().map(String::as_str));
        }
        if has_news && commit.is_ok() {
            *news.count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
            news.changed.notify_all();
        }
    }
}

fn commit(connection: &Connection, batch: &mut [Box<dyn Request>]) -> Result<(), String> {
    let say = |sql: &str| {
        let said = connection.prepare_cached(sql).and_then(|mut sql| sql.execute([]));
        said.map(|_| ()).map_err(|error| error.to_string())
    };
    say("BEGIN IMMEDIATE")?;
    for request in batch {
        say("SAVEPOINT request")?;
        let stays = request.run(connection);
        if connection.is_autocommit() {
            return Err(
                "the storage took the whole batch back, as it does when the disk is full".into()
            );
        }
        if !stays {
            say("ROLLBACK TO request")?;
        }
        say("RELEASE request")?;
    }
    say("COMMIT")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer() -> (tempfile::TempDir, Writer) {
        let folder = tempfile::tempdir().unwrap();
        let connection = super::super::open_for_writing(&folder.path().join("x")).unwrap();
        connection.execute_batch("CREATE TABLE kept (n INTEGER PRIMARY KEY)").unwrap();
        (folder, Writer::start(connection).unwrap())
    }

    fn keep(writer: &Writer, n: i64) -> Result<usize, JournalError> {
        writer.run("keep", 8, Tells::News, move |connection| {
            Ok(connection.execute("INSERT INTO kept VALUES (?1)", [n])?)
        })
    }

    fn kept(writer: &Writer) -> i64 {
        let count = |connection: &Connection| {
            Ok(connection.query_row("SELECT count(*) FROM kept", [], |row| row.get(0))?)
        };
        writer.run("count", 0, Tells::Nothing, count).unwrap()
    }

    /// Holds the writing thread until the returned sender is used, so that what follows is one batch.
    fn held<'scope, 'env>(
        scope: &'scope thread::Scope<'scope, 'env>,
        writer: &'env Writer,
    ) -> mpsc::Sender<()> {
        let (go, wait) = mpsc::channel();
        let (running, is_running) = mpsc::channel();
        scope.spawn(move || {
            writer.run("hold", 0, Tells::Nothing, move |_| {
                running.send(()).unwrap();
                wait.recv().unwrap();
                Ok(())
            })
        });
        is_running.recv().unwrap();
        go
    }

    #[test]
    fn a_request_that_fails_or_panics_takes_back_only_itself() {
        let (_folder, writer) = writer();
        thread::scope(|scope| {
            let go = held(scope, &writer);
            let good: Vec<_> = (0..8)
                .map(|n| {
                    scope.spawn({
                        let w = &writer;
                        move || keep(w, n)
                    })
                })
                .collect();
            let bad = scope.spawn(|| {
                writer.run("panic", 0, Tells::Nothing, |connection| -> Result<(), Failure> {
                    connection.execute("INSERT INTO kept VALUES (100)", [])?;
                    std::panic::resume_unwind(Box::new("a defect"));
                })
            });
            let twice = scope.spawn(|| {
                writer.run("insert twice", 0, Tells::Nothing, |connection| {
                    connection.execute("INSERT INTO kept VALUES (200)", [])?;
                    Ok(connection.execute("INSERT INTO kept VALUES (200)", [])?)
                })
            });
            go.send(()).unwrap();
            assert!(good.into_iter().all(|caller| caller.join().unwrap().is_ok()));
            assert!(bad.join().unwrap().unwrap_err().reason.contains("defect"));
            assert!(twice.join().unwrap().unwrap_err().reason.contains("UNIQUE"));
        });
        assert_eq!(kept(&writer), 8);
    }

    #[test]
    fn a_commit_that_fails_fails_the_whole_batch_and_the_next_one_works() {
        let (_folder, writer) = writer();
        writer
            .run("prepare", 0, Tells::Nothing, |connection| {
                Ok(connection.execute_batch(
                    "CREATE TABLE child (n INTEGER REFERENCES kept (n) DEFERRABLE INITIALLY DEFERRED)",
                )?)
            })
            .unwrap();
        thread::scope(|scope| {
            let go = held(scope, &writer);
            let fails_at_commit = scope.spawn(|| {
                writer.run("orphan", 0, Tells::Nothing, |connection| {
                    Ok(connection.execute("INSERT INTO child VALUES (77)", [])?)
                })
            });
            go.send(()).unwrap();
            assert!(fails_at_commit.join().unwrap().unwrap_err().reason.contains("FOREIGN KEY"));
        });
        assert!(keep(&writer, 1).is_ok());
        assert_eq!(kept(&writer), 1);
    }

    #[test]
    fn what_was_queued_is_stored_before_the_writer_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let connection = super::super::open_for_writing(&path).unwrap();
        connection.execute_batch("CREATE TABLE kept (n INTEGER PRIMARY KEY)").unwrap();
        let writer = Writer::start(connection).unwrap();
        assert!((0..20).all(|n| keep(&writer, n).is_ok()));
        drop(writer);
        let connection = super::super::open_for_writing(&path).unwrap();
        let count: i64 =
            connection.query_row("SELECT count(*) FROM kept", [], |row| row.get(0)).unwrap();
        assert_eq!(count, 20);
    }

    #[test]
    fn news_wakes_those_who_wait() {
        let (_folder, writer) = writer();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| writer.wait_for_news(60_000));
            let mut n = 0;
            while !waiting.is_finished() {
                keep(&writer, n).unwrap();
                n += 1;
            }
        });
        writer.wait_for_news(0);
    }
}
