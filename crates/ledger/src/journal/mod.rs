//! The engine's journal port on SQLite: every change is one transaction, and what is returned is durable.
//!
//! What is decided here is only whether an effect is known already (E8); whether it may happen is the engine's.

mod begin;
mod known;
mod record;
mod standing;

use engine::ports::{Begin, Entry, Intent, Journal, JournalError, Recorded, Standing, TaskRecord};
use rusqlite::{Connection, OptionalExtension as _, params};
use wire::{Digest, Receipt, Timestamp};

use crate::Ledger;
use crate::failure::Failure;
use crate::runtimes::{self, Runtime};
use crate::sqlite::Tells;

impl Ledger {
    /// Notes that a person has looked at the task: repeats refused before now no longer count against it (F11).
    ///
    /// # Errors
    /// [`JournalError`] if it may not have been stored.
    pub fn look(&self, task_id: &str, at: Timestamp) -> Result<(), JournalError> {
        let task_id = task_id.to_owned();
        self.writer.run("note a look", 0, Tells::Nothing, move |connection| {
            const NOTE: &str = "INSERT INTO looks (task_id, after_sequence, at_unix_ms)
                SELECT ?1, coalesce(max(sequence), 0), ?2 FROM receipts";
            connection.prepare_cached(NOTE)?.execute(params![task_id, integer(at.unix_ms())])?;
            Ok(())
        })
    }
}

impl Journal for Ledger {
    fn open_task(&self, record: &TaskRecord) -> Result<TaskRecord, JournalError> {
        const DOING: &str = "remember an attempt";
        let record = record.clone();
        let text = serde_json::to_string(&record)
            .map_err(|error| Failure::from(error).while_doing(DOING))?;
        self.writer.run(DOING, text.len(), Tells::Nothing, move |connection| {
            const ADD: &str = "INSERT INTO attempts
                    (task_id, attempt_id, registry_revision, opened_unix_ms, record_json)
                VALUES (?1, ?2, ?3, ?4, ?5)";
            const FIRST: &str = "SELECT record_json FROM attempts
                WHERE task_id = ?1 ORDER BY sequence LIMIT 1";
            connection.prepare_cached(ADD)?.execute(params![
                record.task_id,
                record.attempt_id,
                record.registry_revision.as_str(),
                integer(record.opened.unix_ms()),
                text,
            ])?;
            let mut first = connection.prepare_cached(FIRST)?;
            let first: String = first.query_row([&record.task_id], |row| row.get(0))?;
            Ok(serde_json::from_str(&first)?)
        })
    }

    fn standing(
        &self,
        task_id: &str,
        call_id: &str,
        idempotency_key: Option<&str>,
        tool: &str,
        arguments_digest: &Digest,
    ) -> Result<Standing, JournalError> {
        self.readers.read("look up a call", |connection| {
            Ok(Standing {
                same_call_id: known::by_call_id(connection, task_id, call_id)?.map(Into::into),
                same_key: match idempotency_key {
                    Some(key) => known::by_key(connection, task_id, key)?.map(Into::into),
                    None => None,
                },
                ..standing::of_arguments(connection, task_id, tool, arguments_digest)?
            })
        })
    }

    fn begin(&self, intent: &Intent) -> Result<Begin, JournalError> {
        const DOING: &str = "store an intent";
        let row = begin::Row::of(intent).map_err(|failure| failure.while_doing(DOING))?;
        let runtime = self.runtime.clone();
        self.writer.run(DOING, row.bytes(), Tells::Nothing, move |connection| {
            begin::begin(connection, &row, &runtime)
        })
    }

    fn record(&self, entry: &Entry) -> Result<Recorded, JournalError> {
        const DOING: &str = "store a receipt";
        let row = record::Row::of(entry).map_err(|failure| failure.while_doing(DOING))?;
        self.writer.run(DOING, row.bytes(), Tells::News, move |connection| {
            record::record(connection, &row)
        })
    }

    fn answered_with(
        &self,
        task_id: &str,
        call_id: &str,
        receipt: &Digest,
    ) -> Result<(), JournalError> {
        let [task_id, call_id, receipt] = [task_id, call_id, receipt.as_str()].map(str::to_owned);
        self.writer.run("note an answer", 0, Tells::Nothing, move |connection| {
            const NOTE: &str = "INSERT INTO answered (task_id, call_id, receipt_id)
                VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
            connection.prepare_cached(NOTE)?.execute([task_id, call_id, receipt])?;
            Ok(())
        })
    }

    fn receipt_of_effect(
        &self,
        task_id: &str,
        logical_effect_id: &str,
    ) -> Result<Option<Box<Receipt>>, JournalError> {
        self.readers.read("look up an effect", |connection| {
            known::receipt_of_effect(connection, task_id, logical_effect_id)
        })
    }

    fn wait_for_news(&self, ms: u64) {
        self.writer.wait_for_news(ms);
    }

    fn observed(&self, task_id: &str, path: &str) -> Result<Option<Digest>, JournalError> {
        self.readers.read("look up what was read", |connection| {
            const FIND: &str = "SELECT digest FROM observed WHERE task_id = ?1 AND path = ?2";
            let digest: Option<Option<String>> = connection
                .prepare_cached(FIND)?
                .query_row([task_id, path], |row| row.get(0))
                .optional()?;
            Ok(digest.flatten().map(Digest::try_from).transpose()?)
        })
    }

    fn take_abandoned(&self, limit: usize) -> Result<Vec<Intent>, JournalError> {
        const DOING: &str = "take over abandoned intents";
        let us = self.runtime.clone();
        let mut gone = self.readers.read(DOING, |connection| owners(connection, &us))?;
        let mut unsure = None;
        gone.retain(|id| {
            runtimes::is_gone(&self.runtimes, id).unwrap_or_else(|error| {
                unsure = Some(error);
                false
            })
        });
        match unsure {
            Some(error) if gone.is_empty() => return Err(Failure::from(error).while_doing(DOING)),
            _ if gone.is_empty() => return Ok(Vec::new()),
            _ => {}
        }
        self.writer
            .run(DOING, 0, Tells::Nothing, move |connection| take(connection, &gone, &us, limit))
    }
}

/// The other runtimes that have open intents.
fn owners(connection: &Connection, us: &Runtime) -> Result<Vec<String>, Failure> {
    const OWNERS: &str = "SELECT DISTINCT runtime_id FROM open_intents WHERE runtime_id <> ?1";
    let mut owners = connection.prepare_cached(OWNERS)?;
    Ok(owners.query_map([&us.id], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

/// Makes us the owner of intents of runtimes that are gone. Nobody else can be doing the same: only one
/// transaction writes at a time, and the next one finds them ours.
fn take(
    connection: &Connection,
    gone: &[String],
    us: &Runtime,
    limit: usize,
) -> Result<Vec<Intent>, Failure> {
    const FIND: &str = "SELECT sequence, intent_json FROM open_intents
        JOIN intents ON intents.sequence = open_intents.intent
        WHERE runtime_id = ?1 ORDER BY sequence LIMIT ?2";
    const TAKE: &str = "UPDATE open_intents SET runtime_id = ?2 WHERE intent = ?1";
    begin::name_runtime(connection, us)?;
    let mut taken = Vec::new();
    for id in gone {
        let left = i64::try_from(limit - taken.len()).unwrap_or(i64::MAX);
        let rows: Vec<(i64, String)> = connection
            .prepare_cached(FIND)?
            .query_map(params![id, left], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        for (sequence, text) in rows {
            connection.prepare_cached(TAKE)?.execute(params![sequence, us.id])?;
            taken.push(serde_json::from_str(&text)?);
        }
    }
    Ok(taken)
}

/// As SQLite holds it; what does not fit is held at the greatest number.
fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
