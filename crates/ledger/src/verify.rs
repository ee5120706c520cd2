//! Looking for damage: every receipt id is derived again from the content, and the database is checked.
//!
//! It repairs nothing. It finds a receipt that was changed, and one that was removed from between others; it cannot
//! find that the newest ones were removed, nor a receipt that was replaced together with its id.

use engine::ports::JournalError;
use rusqlite::{Connection, Row};
use wire::{Digest, Receipt};

use crate::Ledger;
use crate::failure::Failure;

/// What was looked at, and what was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// Receipts that were looked at.
    pub receipts: u64,
    /// Receipts that are not what was stored.
    pub broken: Vec<Broken>,
    /// What SQLite says about the file; empty when it is sound.
    pub storage: Vec<String>,
}

impl Report {
    /// Whether nothing was found.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.broken.is_empty() && self.storage.is_empty()
    }
}

/// A receipt that is not what was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// Its place in the order of storing, from 1.
    pub sequence: i64,
    /// Its id as stored; empty when the row is missing.
    pub receipt_id: String,
    /// What does not fit, one sentence.
    pub reason: String,
}

impl Ledger {
    /// Checks every receipt against its id and the database file against itself. Reads all of both.
    ///
    /// # Errors
    /// [`JournalError`] if the storage does not answer.
    pub fn verify(&self) -> Result<Report, JournalError> {
        self.readers.read("verify the receipts", |connection| {
            let mut report = Report { storage: quick_check(connection)?, ..Report::default() };
            check_receipts(connection, &mut report)?;
            Ok(report)
        })
    }
}

fn quick_check(connection: &Connection) -> Result<Vec<String>, Failure> {
    let mut check = connection.prepare("PRAGMA quick_check")?;
    let said: Vec<String> = check.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(said.into_iter().filter(|line| line != "ok").collect())
}

fn check_receipts(connection: &Connection, report: &mut Report) -> Result<(), Failure> {
    const ALL: &str = "SELECT sequence, receipt_id, receipt_json, arguments_digest, task_id,
            call_id, logical_effect_id, tool, status, action_digest, reconciles
        FROM receipts ORDER BY sequence";
    let mut all = connection.prepare(ALL)?;
    let mut rows = all.query([])?;
    let mut expected = 1;
    while let Some(row) = rows.next()? {
        let sequence: i64 = row.get(0)?;
        if sequence != expected {
            let reason = match sequence - expected {
                1 => "a receipt was removed here".to_owned(),
                count => format!("{count} receipts were removed from here on"),
            };
            report.broken.push(Broken { sequence: expected, receipt_id: String::new(), reason });
        }
        expected = sequence.saturating_add(1);
        report.receipts += 1;
        if let Some(reason) = fault(row)? {
            report.broken.push(Broken { sequence, receipt_id: row.get(1)?, reason });
        }
    }
    Ok(())
}

/// Why a row is not what was stored, if it is not.
fn fault(row: &Row<'_>) -> Result<Option<String>, Failure> {
    let text: String = row.get(2)?;
    let receipt: Receipt = match serde_json::from_str(&text) {
        Ok(receipt) => receipt,
        Err(error) => return Ok(Some(format!("the receipt cannot be read: {error}"))),
    };
    if wire::digest::canonical(&receipt)? != text.as_bytes() || !receipt.is_intact()? {
        return Ok(Some("the content does not fit the receipt id".to_owned()));
    }
    let action = receipt.normalized_action.as_ref().map(|action| action.digest.as_str());
    let columns = [
        (1, "receipt_id", Some(receipt.receipt_id.as_str())),
        (3, "arguments_digest", Some(receipt.arguments_digest.as_str())),
        (4, "task_id", Some(receipt.task_id.as_str())),
        (5, "call_id", Some(receipt.call_id.as_str())),
        (6, "logical_effect_id", Some(receipt.logical_effect_id.as_str())),
        (7, "tool", Some(receipt.tool.as_str())),
        (8, "status", Some(receipt.status.as_str())),
        (9, "action_digest", action),
        (10, "reconciles", receipt.reconciles.as_ref().map(Digest::as_str)),
    ];
    for (at, name, content) in columns {
        let column: Option<String> = row.get(at)?;
        if column.as_deref() != content {
            return Ok(Some(format!("the column `{name}` says something else than the receipt")));
        }
    }
    Ok(None)
}
