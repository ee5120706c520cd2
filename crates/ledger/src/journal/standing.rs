//! How often a call with these arguments has failed or was refused since anything changed (F11): since the task had an
//! effect, or was shown a state of a file that it did not know.

use std::sync::LazyLock;

use engine::ports::{Standing, UNCOUNTED};
use rusqlite::{Connection, params};
use wire::Digest;

use crate::failure::Failure;

/// [`UNCOUNTED`] as a JSON list.
static UNCOUNTED_CODES: LazyLock<String> =
    LazyLock::new(|| format!("[{}]", UNCOUNTED.map(|code| format!("\"{code}\"")).join(",")));

/// The counts of a standing; who else is known is not looked up here.
pub(super) fn of_arguments(
    connection: &Connection,
    task_id: &str,
    tool: &str,
    arguments_digest: &Digest,
) -> Result<Standing, Failure> {
    // The receipt id beside the one max() is that of the greatest row (SQLite, "bare columns").
    const COUNT: &str = "SELECT coalesce(sum(status = 'failed'), 0),
            coalesce(sum(status <> 'failed'), 0), receipt_id, max(sequence)
        FROM receipts
        WHERE task_id = ?1 AND tool = ?2 AND arguments_digest = ?3
            AND status IN ('failed', 'denied', 'rejected')
            AND coalesce(error_code, '') NOT IN (SELECT value FROM json_each(?4))
            AND sequence > coalesce((SELECT max(sequence) FROM receipts
                WHERE task_id = ?1 AND status IN ('succeeded', 'partial') AND effect <> 'read'), 0)
            AND sequence > coalesce((SELECT max(since) FROM observed WHERE task_id = ?1), 0)";
    const REPEATS: &str = "SELECT count(*) FROM receipts
        WHERE task_id = ?1 AND error_code = 'repeated_call'
            AND sequence > coalesce(
                (SELECT max(after_sequence) FROM looks WHERE task_id = ?1), 0)";
    let (failed, refused, latest): (u32, u32, Option<String>) =
        connection.prepare_cached(COUNT)?.query_row(
            params![task_id, tool, arguments_digest.as_str(), *UNCOUNTED_CODES],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
    let refused_repeats =
        connection.prepare_cached(REPEATS)?.query_row([task_id], |row| row.get(0))?;
    Ok(Standing {
        same_call_id: None,
        same_key: None,
        failed,
        refused,
        latest: latest.map(Digest::try_from).transpose()?,
        refused_repeats,
    })
}
