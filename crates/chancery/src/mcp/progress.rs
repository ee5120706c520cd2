//! A running call's progress as notifications: at most ten a second, always increasing.
//!
//! A client that does not read gets fewer of them; a call never waits for one.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use engine::Stop;
use engine::ports::Progress;
use rmcp::model::ProgressToken;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// The least time between two notifications of one call, milliseconds.
const APART_MS: u64 = 100;

/// Tells the client that sent `token`.
pub(super) struct Notifier {
    token: ProgressToken,
    out: mpsc::Sender<String>,
    stop: Stop,
    last: Mutex<Option<(Instant, u64)>>,
}

impl Notifier {
    /// For the call that `stop` stops; a cancelled call reports nothing.
    pub(super) fn new(token: ProgressToken, out: mpsc::Sender<String>, stop: Stop) -> Notifier {
        Notifier { token, out, stop, last: Mutex::default() }
    }
}

impl Progress for Notifier {
    fn report(&self, done: u64, total: Option<u64>, unit: &'static str) {
        if self.stop.is_stopped() {
            return;
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if let Some((at, before)) = *last
            && (done <= before || now.duration_since(at) < Duration::from_millis(APART_MS))
        {
            return;
        }
        let message = match total {
            Some(total) => format!("{done} of {total} {unit}"),
            None => format!("{done} {unit}"),
        };
        let mut params =
            json!({ "progressToken": self.token, "progress": done, "message": message });
        if let (Some(total), Some(params)) = (total, params.as_object_mut()) {
            params.insert("total".to_owned(), json!(total));
        }
        let line =
            json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params });
        if self.out.try_send(line.to_string()).is_ok() {
            *last = Some((now, done));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::NumberOrString;
    use serde_json::Value;

    fn notifier(stop: Stop) -> (Notifier, mpsc::Receiver<String>) {
        let (out, lines) = mpsc::channel(4);
        (Notifier::new(ProgressToken(NumberOrString::Number(7)), out, stop), lines)
    }

    #[test]
    fn notifications_increase_and_keep_their_distance() {
        let (notifier, mut lines) = notifier(Stop::new());
        notifier.report(1, Some(9), "files");
        notifier.report(2, Some(9), "files");
        let first: Value = serde_json::from_str(&lines.try_recv().unwrap()).unwrap();
        assert_eq!(
            first["params"],
            json!({ "progressToken": 7, "progress": 1, "total": 9, "message": "1 of 9 files" })
        );
        assert!(lines.try_recv().is_err(), "the second came too early");
        *notifier.last.lock().unwrap() =
            Some((Instant::now() - Duration::from_millis(2 * APART_MS), 3));
        notifier.report(3, None, "files");
        assert!(lines.try_recv().is_err(), "it does not increase");
        notifier.report(4, None, "files");
        assert!(lines.try_recv().unwrap().contains("\"4 files\""));
    }

    #[test]
    fn f8_a_stopped_call_reports_nothing() {
        let stop = Stop::new();
        let (notifier, mut lines) = notifier(stop.clone());
        stop.stop();
        notifier.report(1, None, "files");
        assert!(lines.try_recv().is_err());
    }
}
