//! Storing a receipt with all that belongs to it, and closing its intent. Nothing stored is ever edited (E7).

use engine::ports::{Entry, Observation, Recorded};
use rusqlite::{Connection, OptionalExtension as _, named_params, params};
use wire::{Receipt, Status};

use super::integer;
use super::known;
use crate::failure::Failure;

/// An entry as it is stored.
#[derive(Debug)]
pub(super) struct Row {
    receipt: Receipt,
    receipt_json: String,
    arguments_json: Option<String>,
    observed: Vec<Observation>,
    owns_call_id: bool,
}

impl Row {
    pub(super) fn of(entry: &Entry) -> Result<Row, Failure> {
        let receipt_json = canonical_text(&entry.receipt)?;
        Ok(Row {
            receipt: entry.receipt.clone(),
            receipt_json,
            arguments_json: entry.arguments.as_ref().map(canonical_text).transpose()?,
            observed: entry.observed.clone(),
            // A reconciliation speaks of a call that has its receipt already.
            owns_call_id: entry.owns_call_id && entry.receipt.reconciles.is_none(),
        })
    }

    pub(super) fn bytes(&self) -> usize {
        self.receipt_json.len() + self.arguments_json.as_ref().map_or(0, String::len)
    }

    fn action_digest(&self) -> Option<&str> {
        self.receipt.normalized_action.as_ref().map(|action| action.digest.as_str())
    }
}

/// Stores the entry, unless its place is taken: then the receipt that stands there is the answer.
pub(super) fn record(connection: &Connection, row: &Row) -> Result<Recorded, Failure> {
    if let Some(standing) = standing_in_its_place(connection, row)? {
        return Ok(Recorded::Existing(standing));
    }
    let (owns_call_id, intent) = match intent_of(connection, row)? {
        _ if !row.owns_call_id => (false, None),
        // The call id belongs to a running effect, whose receipt must find its place free.
        Some((_, effect)) if effect != row.receipt.logical_effect_id => (false, None),
        Some((intent, _)) => (true, Some(intent)),
        None => (true, None),
    };
    let owns_key = owns_call_id && may_own_key(connection, row, intent)?;
    insert(connection, row, owns_call_id, owns_key)?;
    let receipt = connection.last_insert_rowid();
    name_artifacts(connection, row, receipt)?;
    observe(connection, row, receipt)?;
    if let Some(intent) = intent {
        const CLOSE: &str = "DELETE FROM open_intents WHERE intent = ?1";
        connection.prepare_cached(CLOSE)?.execute([intent])?;
    }
    Ok(Recorded::Stored)
}

fn canonical_text<T: serde::Serialize>(value: &T) -> Result<String, Failure> {
    let bytes = wire::digest::canonical(value)?;
    String::from_utf8(bytes).map_err(|error| Failure::Files(std::io::Error::other(error)))
}

fn standing_in_its_place(
    connection: &Connection,
    row: &Row,
) -> Result<Option<Box<Receipt>>, Failure> {
    const SAME: &str = "SELECT receipt_json FROM receipts WHERE receipt_id = ?1";
    const RECONCILED: &str = "SELECT receipt_json FROM receipts WHERE reconciles = ?1";
    let receipt = &row.receipt;
    if let Some(same) = known::receipt(connection, SAME, &[&receipt.receipt_id.as_str()])? {
        return Ok(Some(same));
    }
    if let Some(settled) = &receipt.reconciles {
        return known::newest(connection, RECONCILED, &[&settled.as_str()]);
    }
    if row.owns_call_id {
        let call = known::by_call_id(connection, &receipt.task_id, &receipt.call_id)?;
        return Ok(call.and_then(|call| call.receipt));
    }
    Ok(None)
}

/// The intent with the call id, and its effect.
fn intent_of(connection: &Connection, row: &Row) -> Result<Option<(i64, String)>, Failure> {
    const FIND: &str =
        "SELECT sequence, logical_effect_id FROM intents WHERE task_id = ?1 AND call_id = ?2";
    let named = [&row.receipt.task_id, &row.receipt.call_id];
    let mut find = connection.prepare_cached(FIND)?;
    Ok(find.query_row(named, |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
}

/// A key is held by the call that ran first under it. A refusal does not hold its key: nothing happened, and the
/// corrected or approved call may come with the same one.
fn may_own_key(connection: &Connection, row: &Row, intent: Option<i64>) -> Result<bool, Failure> {
    let receipt = &row.receipt;
    let (Some(key), Some(_)) = (&receipt.idempotency_key, row.action_digest()) else {
        return Ok(false);
    };
    let ran = match receipt.status {
        Status::Rejected | Status::Denied | Status::Expired | Status::Cancelled => intent.is_some(),
        Status::Succeeded
        | Status::Failed
        | Status::Partial
        | Status::Ambiguous
        | Status::Accepted => true,
    };
    if !ran {
        return Ok(false);
    }
    let holder = known::by_key(connection, &receipt.task_id, key)?;
    Ok(holder
        .is_none_or(|call| intent.is_some() && call.logical_effect_id == receipt.logical_effect_id))
}

fn insert(
    connection: &Connection,
    row: &Row,
    owns_call_id: bool,
    owns_key: bool,
) -> Result<(), Failure> {
    const INSERT: &str = "INSERT INTO receipts (receipt_id, task_id, call_id, attempt_id,
            logical_effect_id, idempotency_key, tool, tool_version, status, error_code, effect,
            arguments_digest, action_digest, received_unix_ms, finished_unix_ms, planner_bytes,
            planner_tokens, owns_call_id, owns_key, reconciles, arguments_json, receipt_json)
        VALUES (:id, :task, :call, :attempt, :effect_id, :key, :tool, :version, :status, :error,
            :effect, :arguments, :action, :received, :finished, :bytes, :tokens, :owns_call_id,
            :owns_key, :reconciles, :arguments_json, :receipt_json)";
    let receipt = &row.receipt;
    connection.prepare_cached(INSERT)?.execute(named_params! {
        ":id": receipt.receipt_id.as_str(),
        ":task": receipt.task_id,
        ":call": receipt.call_id,
        ":attempt": receipt.attempt_id,
        ":effect_id": receipt.logical_effect_id,
        ":key": receipt.idempotency_key,
        ":tool": receipt.tool,
        ":version": receipt.tool_version,
        ":status": receipt.status.as_str(),
        ":error": receipt.error.as_ref().map(|error| error.code.as_str()),
        ":effect": receipt.normalized_action.as_ref().map(|action| action.effect.as_str()),
        ":arguments": receipt.arguments_digest.as_str(),
        ":action": row.action_digest(),
        ":received": integer(receipt.times.received.unix_ms()),
        ":finished": integer(receipt.times.finished.unix_ms()),
        ":bytes": integer(receipt.usage.planner_bytes),
        ":tokens": integer(receipt.usage.planner_tokens),
        ":owns_call_id": owns_call_id,
        ":owns_key": owns_key,
        ":reconciles": receipt.reconciles.as_ref().map(wire::Digest::as_str),
        ":arguments_json": row.arguments_json,
        ":receipt_json": row.receipt_json,
    })?;
    Ok(())
}

fn name_artifacts(connection: &Connection, row: &Row, receipt: i64) -> Result<(), Failure> {
    const NAME: &str = "INSERT INTO artifacts (digest, receipt, name, size_bytes, media_type)
        VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING";
    for artifact in &row.receipt.artifacts {
        connection.prepare_cached(NAME)?.execute(params![
            artifact.digest.as_str(),
            receipt,
            artifact.name,
            integer(artifact.size_bytes),
            artifact.media_type,
        ])?;
    }
    Ok(())
}

fn observe(connection: &Connection, row: &Row, receipt: i64) -> Result<(), Failure> {
    const OBSERVE: &str = "INSERT INTO observed (task_id, path, digest, since)
        VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (task_id, path) DO UPDATE SET digest = excluded.digest, since = excluded.since
            WHERE digest IS NOT excluded.digest";
    for observation in &row.observed {
        let digest = observation.digest.as_ref().map(wire::Digest::as_str);
        let named = params![row.receipt.task_id, observation.path, digest, receipt];
        connection.prepare_cached(OBSERVE)?.execute(named)?;
    }
    Ok(())
}
