//! What people ask of the ledger: receipts by filter, one receipt by the beginning of its id, what a task cost.

use engine::ports::{JournalError, TaskRecord};
use rusqlite::{Connection, OptionalExtension as _, ToSql, params, params_from_iter};
use serde_json::Value;
use wire::{Digest, Receipt, Status, Timestamp};

use crate::failure::Failure;
use crate::{Ledger, runtimes};

/// Which receipts are wanted. An empty filter wants the newest 50.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Of this task.
    pub task: Option<String>,
    /// Of this tool.
    pub tool: Option<String>,
    /// With this status.
    pub status: Option<Status>,
    /// Finished at this time or later.
    pub since: Option<Timestamp>,
    /// Holding this text anywhere in the receipt or its stored arguments; ASCII letters match in either case.
    pub text: Option<String>,
    /// At most so many.
    pub limit: usize,
    /// Only those older than this receipt: the last one of the page before.
    pub before: Option<Digest>,
}

impl Default for Filter {
    fn default() -> Filter {
        Filter {
            task: None,
            tool: None,
            status: None,
            since: None,
            text: None,
            limit: 50,
            before: None,
        }
    }
}

/// What an id, or the beginning of one, stands for.
#[derive(Debug, Clone, PartialEq)]
pub enum Lookup {
    /// This receipt.
    Found(Box<Receipt>),
    /// No receipt.
    None,
    /// Several; the first few of them in the order of their ids.
    Ambiguous(Vec<Digest>),
}

/// What the results of one tool have cost a task in context (E12).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextCost {
    /// The tool.
    pub tool: String,
    /// Answers given: receipts, and calls that were answered with the receipt of another.
    pub calls: u64,
    /// Size of what the planner was shown, bytes of JSON.
    pub planner_bytes: u64,
    /// The same in tokens, as estimated in the receipts.
    pub planner_tokens: u64,
}

/// An effect that was begun and has no receipt yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenIntent {
    /// The task.
    pub task_id: String,
    /// The effect.
    pub logical_effect_id: String,
    /// The planner's id of the call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// When the effect began.
    pub started: Timestamp,
    /// The runtime that answers for it.
    pub runtime_id: String,
    /// What that runtime calls itself.
    pub runtime_name: String,
    /// Whether that runtime has ended, so that the intent waits for someone to take it over.
    pub is_abandoned: bool,
}

impl Ledger {
    /// The receipts that pass the filter, newest first.
    ///
    /// # Errors
    /// [`JournalError`] if the storage does not answer.
    pub fn receipts(&self, filter: &Filter) -> Result<Vec<Receipt>, JournalError> {
        self.readers.read("list receipts", |connection| list(connection, filter))
    }

    /// The receipt with this id. `sha256:` may be left out, and the end of it where the rest is unique.
    ///
    /// # Errors
    /// [`JournalError`] if the storage does not answer.
    pub fn receipt(&self, id: &str) -> Result<Lookup, JournalError> {
        self.readers.read("find a receipt", |connection| find(connection, id))
    }

    /// Whether a content was kept for a call in this workspace, named by its absolute path. One that was kept for
    /// another workspace is nobody's business here.
    ///
    /// # Errors
    /// [`JournalError`] if the storage does not answer.
    pub fn keeps_for(&self, workspace: &str, artifact: &Digest) -> Result<bool, JournalError> {
        const NAMED: &str = "SELECT EXISTS (
            SELECT 1 FROM artifacts
            JOIN receipts ON receipts.sequence = artifacts.receipt
            JOIN attempts ON attempts.task_id = receipts.task_id
                AND attempts.attempt_id = receipts.attempt_id
            WHERE artifacts.digest = ?1
                AND json_extract(attempts.record_json, '$.grant.workspace') = ?2)";
        self.readers.read("find an artifact", |connection| {
            let named = params![artifact.as_str(), workspace];
            Ok(connection.prepare_cached(NAMED)?.query_row(named, |row| row.get(0))?)
        })
    }

    /// The stored arguments of a receipt, redacted; `None` when there are none.
    ///
    /// # Errors
    /// [`JournalError`] if the storage does not answer.
    pub fn arguments(&self, receipt_id: &Digest) -> Result<Option<Value>, JournalError> {
        const FIND: &str = "SELECT arguments_json FROM receipts WHERE receipt_id = ?1";
        self.readers.read("find arguments", |connection| {
            let text: Option<Option<String>> = connection
                .prepare_cached(FIND)?
                .query_row([receipt_id.as_str()], |row| row.get(0))
                .optional()?;
            Ok(text.flatten().map(|text| serde_json::from_str(&text)).transpose()?)
        })
    }

    /// What the results so far have cost the task in context, by tool (E12).
    ///
    /// # Errors
    /// [`JournalError`] if the storage does not answer.
    pub fn context_cost(&self, task_id: &str) -> Result<Vec<ContextCost>, JournalError> {
        self.readers.read("sum the context cost", |connection| cost(connection, task_id))
    }

    /// Every opening of the task, oldest first; the first says what the task pins.
    ///
    /// # Errors
    /// [`JournalError`] if the storage does not answer.
    pub fn attempts(&self, task_id: &str) -> Result<Vec<TaskRecord>, JournalError> {
        const FIND: &str = "SELECT record_json FROM attempts WHERE task_id = ?1 ORDER BY sequence";
        self.readers.read("list attempts", |connection| {
            let mut find = connection.prepare_cached(FIND)?;
            let texts = find.query_map([task_id], |row| row.get::<_, String>(0))?;
            texts.map(|text| Ok(serde_json::from_str(&text?)?)).collect()
        })
    }

    /// Every effect that was begun and has no receipt yet, oldest first.
    ///
    /// # Errors
    /// [`JournalError`] if the storage does not answer.
    pub fn open_intents(&self) -> Result<Vec<OpenIntent>, JournalError> {
        self.readers.read("list open intents", |connection| self.list_open(connection))
    }

    fn list_open(&self, connection: &Connection) -> Result<Vec<OpenIntent>, Failure> {
        const OPEN: &str = "SELECT intents.task_id, logical_effect_id, call_id, tool,
                intents.started_unix_ms, runtime_id, name
            FROM open_intents JOIN intents ON intents.sequence = open_intents.intent
                JOIN runtimes USING (runtime_id)
            ORDER BY intents.sequence";
        let mut open = connection.prepare_cached(OPEN)?;
        let rows = open.query_map([], |row| {
            Ok(OpenIntent {
                task_id: row.get(0)?,
                logical_effect_id: row.get(1)?,
                call_id: row.get(2)?,
                tool: row.get(3)?,
                started: Timestamp::from_unix_ms(unsigned(row.get(4)?)),
                runtime_id: row.get(5)?,
                runtime_name: row.get(6)?,
                is_abandoned: false,
            })
        })?;
        let mut intents = Vec::new();
        for intent in rows {
            let intent = intent?;
            let is_abandoned = runtimes::is_gone(&self.runtimes, &intent.runtime_id)?;
            intents.push(OpenIntent { is_abandoned, ..intent });
        }
        Ok(intents)
    }
}

fn list(connection: &Connection, filter: &Filter) -> Result<Vec<Receipt>, Failure> {
    let mut sql = "SELECT receipt_json FROM receipts WHERE 1".to_owned();
    let mut values: Vec<Box<dyn ToSql>> = Vec::new();
    let mut only = |condition: &str, value: Option<Box<dyn ToSql>>| {
        if let Some(value) = value {
            values.push(value);
            sql.push_str(" AND ");
            sql.push_str(&condition.replace('?', &format!("?{}", values.len())));
        }
    };
    only("task_id = ?", filter.task.clone().map(boxed));
    only("tool = ?", filter.tool.clone().map(boxed));
    only("status = ?", filter.status.map(|status| boxed(status.as_str())));
    only("finished_unix_ms >= ?", filter.since.map(|at| boxed(signed(at.unix_ms()))));
    only(
        "sequence < (SELECT sequence FROM receipts WHERE receipt_id = ?)",
        filter.before.clone().map(|id| boxed(String::from(id))),
    );
    only(
        r"(receipt_json LIKE ? ESCAPE '\' OR arguments_json LIKE ? ESCAPE '\')",
        filter.text.as_deref().map(like).transpose()?.map(boxed),
    );
    let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX);
    sql.push_str(&format!(" ORDER BY sequence DESC LIMIT {limit}"));
    let mut find = connection.prepare(&sql)?;
    let texts = find.query_map(params_from_iter(values), |row| row.get::<_, String>(0))?;
    texts.map(|text| Ok(serde_json::from_str(&text?)?)).collect()
}

fn boxed(value: impl ToSql + 'static) -> Box<dyn ToSql> {
    Box::new(value)
}

/// The pattern for a text as it stands inside a JSON string.
fn like(text: &str) -> Result<String, Failure> {
    let quoted = serde_json::to_string(text)?;
    let inner = quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(&quoted);
    let escaped = inner.replace('\\', r"\\").replace('%', r"\%").replace('_', r"\_");
    Ok(format!("%{escaped}%"))
}

fn find(connection: &Connection, id: &str) -> Result<Lookup, Failure> {
    const CANDIDATES: &str = "SELECT receipt_id, receipt_json FROM receipts
        WHERE receipt_id >= ?1 AND receipt_id < ?2 ORDER BY receipt_id LIMIT 5";
    let hex = id.strip_prefix("sha256:").unwrap_or(id).to_ascii_lowercase();
    if hex.is_empty() || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(Lookup::None);
    }
    // `g` follows every hexadecimal digit.
    let (first, past) = (format!("sha256:{hex}"), format!("sha256:{hex}g"));
    let rows: Vec<(String, String)> = connection
        .prepare_cached(CANDIDATES)?
        .query_map(params![first, past], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    match rows.as_slice() {
        [] => Ok(Lookup::None),
        [(_, text)] => Ok(Lookup::Found(serde_json::from_str(text)?)),
        several => {
            let ids = several.iter().map(|(id, _)| Ok(Digest::try_from(id.clone())?));
            Ok(Lookup::Ambiguous(ids.collect::<Result<_, Failure>>()?))
        }
    }
}

fn cost(connection: &Connection, task_id: &str) -> Result<Vec<ContextCost>, Failure> {
    const SUM: &str = "SELECT tool, count(*), sum(planner_bytes), sum(planner_tokens) FROM (
            SELECT tool, planner_bytes, planner_tokens FROM receipts WHERE task_id = ?1
            UNION ALL
            SELECT tool, planner_bytes, planner_tokens
                FROM answered JOIN receipts USING (receipt_id) WHERE answered.task_id = ?1)
        GROUP BY tool ORDER BY tool";
    let mut sum = connection.prepare_cached(SUM)?;
    let rows = sum.query_map([task_id], |row| {
        Ok(ContextCost {
            tool: row.get(0)?,
            calls: unsigned(row.get(1)?),
            planner_bytes: unsigned(row.get(2)?),
            planner_tokens: unsigned(row.get(3)?),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn unsigned(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
