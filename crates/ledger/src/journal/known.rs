//! Finding a call that is known already, by its id, its key or its effect.
//!
//! Wherever a receipt was reconciled, the reconciliation is what is found: it is the newest word on the effect.

use engine::ports::Known;
use rusqlite::{Connection, OptionalExtension as _, Row, ToSql};
use wire::{Digest, Receipt};

use crate::failure::Failure;

/// A call that was received before, with its receipt unless its effect is still open.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) arguments_digest: Digest,
    /// `None` when the call was refused before its action was known.
    pub(super) action_digest: Option<String>,
    pub(super) logical_effect_id: String,
    pub(super) receipt: Option<Box<Receipt>>,
}

impl From<Call> for Known {
    fn from(call: Call) -> Known {
        Known {
            tool: call.tool,
            arguments_digest: call.arguments_digest,
            logical_effect_id: call.logical_effect_id,
            receipt: call.receipt,
        }
    }
}

/// The call of the task with this call id, or the one whose receipt it was answered with.
pub(super) fn by_call_id(
    connection: &Connection,
    task_id: &str,
    call_id: &str,
) -> Result<Option<Call>, Failure> {
    const RECEIPT: &str = "SELECT receipt_json FROM receipts
        WHERE task_id = ?1 AND call_id = ?2 AND owns_call_id = 1";
    const INTENT: &str = "SELECT tool, arguments_digest, action_digest, logical_effect_id, call_id
        FROM intents WHERE task_id = ?1 AND call_id = ?2";
    const ANSWERED: &str = "SELECT receipt_json FROM answered JOIN receipts USING (receipt_id)
        WHERE answered.task_id = ?1 AND answered.call_id = ?2";
    let named: &[&dyn ToSql] = &[&task_id, &call_id];
    if let Some(call) = finished(connection, RECEIPT, named)? {
        return Ok(Some(call));
    }
    match begun(connection, INTENT, named)? {
        Some((call, _)) => Ok(Some(call)),
        None => finished(connection, ANSWERED, named),
    }
}

/// The call of the task that holds this idempotency key: one whose effect was begun, or that ran without an intent.
pub(super) fn by_key(
    connection: &Connection,
    task_id: &str,
    key: &str,
) -> Result<Option<Call>, Failure> {
    const RECEIPT: &str = "SELECT receipt_json FROM receipts
        WHERE task_id = ?1 AND idempotency_key = ?2 AND owns_key = 1";
    const INTENT: &str = "SELECT tool, arguments_digest, action_digest, logical_effect_id, call_id
        FROM intents WHERE task_id = ?1 AND idempotency_key = ?2";
    let named: &[&dyn ToSql] = &[&task_id, &key];
    match begun(connection, INTENT, named)? {
        Some(found) => of_intent(connection, task_id, found).map(Some),
        None => finished(connection, RECEIPT, named),
    }
}

/// The call of the task whose intent has this effect.
pub(super) fn by_effect(
    connection: &Connection,
    task_id: &str,
    logical_effect_id: &str,
) -> Result<Option<Call>, Failure> {
    const INTENT: &str = "SELECT tool, arguments_digest, action_digest, logical_effect_id, call_id
        FROM intents WHERE task_id = ?1 AND logical_effect_id = ?2";
    begun(connection, INTENT, &[&task_id, &logical_effect_id])?
        .map(|found| of_intent(connection, task_id, found))
        .transpose()
}

/// The newest receipt of an effect. Refusals of calls that only collided with it do not count.
pub(super) fn receipt_of_effect(
    connection: &Connection,
    task_id: &str,
    logical_effect_id: &str,
) -> Result<Option<Box<Receipt>>, Failure> {
    const FIND: &str = "SELECT receipt_json FROM receipts
        WHERE task_id = ?1 AND logical_effect_id = ?2
            AND (owns_call_id = 1 OR reconciles IS NOT NULL)
        ORDER BY sequence DESC LIMIT 1";
    receipt(connection, FIND, &[&task_id, &logical_effect_id])
}

/// The receipt that the statement finds, or the one that reconciles it.
pub(super) fn newest(
    connection: &Connection,
    sql: &str,
    named: &[&dyn ToSql],
) -> Result<Option<Box<Receipt>>, Failure> {
    const RECONCILED: &str = "SELECT receipt_json FROM receipts WHERE reconciles = ?1";
    let mut found = receipt(connection, sql, named)?;
    while let Some(older) = &found {
        match receipt(connection, RECONCILED, &[&older.receipt_id.as_str()])? {
            Some(newer) => found = Some(newer),
            None => break,
        }
    }
    Ok(found)
}

/// The receipt that the statement finds.
pub(super) fn receipt(
    connection: &Connection,
    sql: &str,
    named: &[&dyn ToSql],
) -> Result<Option<Box<Receipt>>, Failure> {
    let text: Option<String> =
        connection.prepare_cached(sql)?.query_row(named, |row| row.get(0)).optional()?;
    Ok(text.map(|text| serde_json::from_str(&text)).transpose()?)
}

fn finished(
    connection: &Connection,
    sql: &str,
    named: &[&dyn ToSql],
) -> Result<Option<Call>, Failure> {
    let found = newest(connection, sql, named)?;
    Ok(found.map(|receipt| Call {
        tool: receipt.tool.clone(),
        arguments_digest: receipt.arguments_digest.clone(),
        action_digest: receipt.normalized_action.as_ref().map(|action| action.digest.to_string()),
        logical_effect_id: receipt.logical_effect_id.clone(),
        receipt: Some(receipt),
    }))
}

/// A begun call and its call id.
fn begun(
    connection: &Connection,
    sql: &str,
    named: &[&dyn ToSql],
) -> Result<Option<(Call, String)>, Failure> {
    let columns = |row: &Row<'_>| {
        let texts: [String; 5] = [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?];
        Ok(texts)
    };
    let found = connection.prepare_cached(sql)?.query_row(named, columns).optional()?;
    let Some([tool, arguments_digest, action_digest, logical_effect_id, call_id]) = found else {
        return Ok(None);
    };
    let arguments_digest = Digest::try_from(arguments_digest)?;
    let action_digest = Some(action_digest);
    let call = Call { tool, arguments_digest, action_digest, logical_effect_id, receipt: None };
    Ok(Some((call, call_id)))
}

fn of_intent(
    connection: &Connection,
    task_id: &str,
    (call, call_id): (Call, String),
) -> Result<Call, Failure> {
    // The receipt of an intent is the one that owns its call id.
    const RECEIPT: &str = "SELECT receipt_json FROM receipts
        WHERE task_id = ?1 AND call_id = ?2 AND owns_call_id = 1";
    let receipt = newest(connection, RECEIPT, &[&task_id, &call_id])?;
    Ok(Call { receipt, ..call })
}
