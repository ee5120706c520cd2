//! Storing an intent, unless its effect is known, running or unresolved (E8).

use engine::ports::{Begin, Intent};
use rusqlite::{Connection, OptionalExtension as _, named_params, params};
use wire::{Code, Error};

use super::integer;
use super::known::{self, Call};
use crate::failure::Failure;
use crate::runtimes::Runtime;

/// An intent as it is stored.
#[derive(Debug)]
pub(super) struct Row {
    task_id: String,
    logical_effect_id: String,
    call_id: String,
    idempotency_key: Option<String>,
    tool: String,
    arguments_digest: String,
    action_digest: String,
    started_unix_ms: i64,
    intent_json: String,
}

impl Row {
    pub(super) fn of(intent: &Intent) -> Result<Row, Failure> {
        let call = &intent.call;
        Ok(Row {
            task_id: call.task_id.clone(),
            logical_effect_id: call.logical_effect_id.clone(),
            call_id: call.call_id.clone(),
            idempotency_key: call.idempotency_key.clone(),
            tool: call.tool.clone(),
            arguments_digest: intent.arguments_digest.to_string(),
            action_digest: intent.action.digest.to_string(),
            started_unix_ms: integer(intent.started.unix_ms()),
            intent_json: serde_json::to_string(intent)?,
        })
    }

    pub(super) fn bytes(&self) -> usize {
        self.intent_json.len()
    }
}

/// What is known decides, in this order: the key, the call id, the effect id, the action.
pub(super) fn begin(
    connection: &Connection,
    row: &Row,
    runtime: &Runtime,
) -> Result<Begin, Failure> {
    if let Some(key) = &row.idempotency_key
        && let Some(call) = known::by_key(connection, &row.task_id, key)?
    {
        let taken = "the idempotency key was used for another action; send another key";
        return Ok(same_or(row, call, Code::IdempotencyConflict, taken));
    }
    if let Some(call) = known::by_call_id(connection, &row.task_id, &row.call_id)? {
        let taken = "the call id was used for another action; send another call id";
        return Ok(same_or(row, call, Code::CallIdReused, taken));
    }
    if let Some(call) = known::by_effect(connection, &row.task_id, &row.logical_effect_id)? {
        let taken = "the logical effect id stands for another action";
        return Ok(same_or(row, call, Code::IdempotencyConflict, taken));
    }
    if let Some(logical_effect_id) = running(connection, row)? {
        return Ok(Begin::Running { logical_effect_id });
    }
    if let Some(receipt) = unresolved(connection, row)? {
        return Ok(Begin::Unresolved(receipt));
    }
    insert(connection, row, runtime)?;
    Ok(Begin::Begun)
}

/// Makes the runtime known to the ledger, which an intent needs to belong to it.
pub(super) fn name_runtime(connection: &Connection, runtime: &Runtime) -> Result<(), Failure> {
    const NAME: &str = "INSERT INTO runtimes (runtime_id, name, started_unix_ms)
        VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
    let named = params![runtime.id, runtime.name, runtime.started_unix_ms];
    connection.prepare_cached(NAME)?.execute(named)?;
    Ok(())
}

fn same_or(row: &Row, call: Call, code: Code, taken: &str) -> Begin {
    if call.action_digest.as_deref() == Some(row.action_digest.as_str()) {
        return match call.receipt {
            Some(receipt) => Begin::Finished(receipt),
            None => Begin::Running { logical_effect_id: call.logical_effect_id },
        };
    }
    let error = Error::new(code, taken).with("logical_effect_id", call.logical_effect_id);
    Begin::Conflict(match call.receipt {
        Some(receipt) => error.with("receipt_id", receipt.receipt_id.as_str()),
        None => error,
    })
}

/// The effect of an open intent of the task with the same action.
fn running(connection: &Connection, row: &Row) -> Result<Option<String>, Failure> {
    const FIND: &str = "SELECT logical_effect_id FROM open_intents
        JOIN intents ON intents.sequence = open_intents.intent
        WHERE open_intents.task_id = ?1 AND open_intents.action_digest = ?2
        ORDER BY sequence LIMIT 1";
    let mut find = connection.prepare_cached(FIND)?;
    Ok(find.query_row([&row.task_id, &row.action_digest], |row| row.get(0)).optional()?)
}

/// The newest receipt of the task that leaves the same action ambiguous and that nothing has settled.
fn unresolved(connection: &Connection, row: &Row) -> Result<Option<Box<wire::Receipt>>, Failure> {
    const FIND: &str = "SELECT receipt_json FROM receipts AS ambiguous
        WHERE task_id = ?1 AND action_digest = ?2 AND status = 'ambiguous'
            AND NOT EXISTS (SELECT 1 FROM receipts WHERE reconciles = ambiguous.receipt_id)
        ORDER BY sequence DESC LIMIT 1";
    known::receipt(connection, FIND, &[&row.task_id, &row.action_digest])
}

fn insert(connection: &Connection, row: &Row, runtime: &Runtime) -> Result<(), Failure> {
    const INTENT: &str = "INSERT INTO intents (task_id, logical_effect_id, call_id,
            idempotency_key, tool, arguments_digest, action_digest, started_unix_ms, intent_json)
        VALUES (:task, :effect, :call, :key, :tool, :arguments, :action, :started, :json)";
    const OPEN: &str = "INSERT INTO open_intents (intent, task_id, action_digest, runtime_id)
        VALUES (?1, ?2, ?3, ?4)";
    name_runtime(connection, runtime)?;
    connection.prepare_cached(INTENT)?.execute(named_params! {
        ":task": row.task_id,
        ":effect": row.logical_effect_id,
        ":call": row.call_id,
        ":key": row.idempotency_key,
        ":tool": row.tool,
        ":arguments": row.arguments_digest,
        ":action": row.action_digest,
        ":started": row.started_unix_ms,
        ":json": row.intent_json,
    })?;
    let intent = connection.last_insert_rowid();
    let named = params![intent, row.task_id, row.action_digest, runtime.id];
    connection.prepare_cached(OPEN)?.execute(named)?;
    Ok(())
}
