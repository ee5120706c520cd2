//! The requests that have been read and not answered, and the word to stop for each.
//!
//! It bounds them, and it never lets one id stand for two requests at a time.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use engine::Stop;
use rmcp::model::RequestId;
use tokio::sync::Notify;
use wire::{Code, Error, Next};

/// The greatest number of requests that may be unanswered at one time.
pub(super) const REQUESTS: usize = 1024;

/// The greatest size of all unanswered requests together, bytes.
pub(super) const REQUEST_BYTES: usize = 64 << 20;

/// What is in flight on one connection.
#[derive(Default)]
pub(super) struct Flight {
    inner: Mutex<Inner>,
    emptied: Notify,
}

#[derive(Default)]
struct Inner {
    requests: HashMap<RequestId, Request>,
    bytes: usize,
    closed: bool,
}

struct Request {
    stop: Stop,
    bytes: usize,
}

impl Flight {
    /// Takes in a request of `bytes` bytes.
    ///
    /// # Errors
    /// When its id is in use, or there is no more room.
    pub(super) fn enter(&self, id: &RequestId, bytes: usize) -> Result<(), Error> {
        let mut inner = self.lock();
        if inner.requests.contains_key(id) {
            let message = "a request with the same id has not been answered yet";
            return Err(Error::new(Code::InvalidField, message).at("/id"));
        }
        if inner.requests.len() >= REQUESTS || inner.bytes.saturating_add(bytes) > REQUEST_BYTES {
            let message = format!(
                "{} requests are unanswered; wait for an answer before sending more",
                inner.requests.len()
            );
            return Err(Error::new(Code::Machine, message).advise(Next::RetrySame));
        }
        inner.bytes += bytes;
        inner.requests.insert(id.clone(), Request { stop: Stop::new(), bytes });
        Ok(())
    }

    /// Lets a request go, answered or cancelled.
    pub(super) fn leave(&self, id: &RequestId) {
        let mut inner = self.lock();
        if let Some(request) = inner.requests.remove(id) {
            inner.bytes = inner.bytes.saturating_sub(request.bytes);
        }
        if inner.requests.is_empty() {
            self.emptied.notify_waiters();
        }
    }

    /// The word to stop for a request.
    pub(super) fn stop_of(&self, id: &RequestId) -> Stop {
        self.lock().requests.get(id).map(|request| request.stop.clone()).unwrap_or_default()
    }

    /// Waits until nothing is in flight.
    pub(super) async fn emptied(&self) {
        loop {
            let emptied = self.emptied.notified();
            if self.lock().requests.is_empty() {
                return;
            }
            emptied.await;
        }
    }

    /// Stops everything; from now on nothing is answered.
    pub(super) fn close(&self) {
        let stops: Vec<Stop> = {
            let mut inner = self.lock();
            inner.closed = true;
            inner.requests.values().map(|request| request.stop.clone()).collect()
        };
        for stop in stops {
            stop.stop();
        }
    }

    /// Whether nothing is answered any more.
    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e10_an_id_in_use_is_refused_and_free_again_afterwards() {
        let flight = Flight::default();
        flight.enter(&RequestId::Number(1), 10).unwrap();
        assert_eq!(flight.enter(&RequestId::Number(1), 10).unwrap_err().code, Code::InvalidField);
        flight.enter(&RequestId::String("1".into()), 10).unwrap();
        flight.leave(&RequestId::Number(1));
        flight.enter(&RequestId::Number(1), 10).unwrap();
    }

    #[test]
    fn v2_count_and_bytes_are_bounded() {
        let flight = Flight::default();
        for n in 0..REQUESTS {
            flight.enter(&RequestId::Number(n as i64), 1).unwrap();
        }
        assert_eq!(flight.enter(&RequestId::Number(-1), 1).unwrap_err().next, Next::RetrySame);
        let flight = Flight::default();
        flight.enter(&RequestId::Number(1), REQUEST_BYTES).unwrap();
        assert_eq!(flight.enter(&RequestId::Number(2), 1).unwrap_err().next, Next::RetrySame);
        flight.leave(&RequestId::Number(1));
        flight.enter(&RequestId::Number(2), 1).unwrap();
    }

    #[test]
    fn f8_closing_stops_everything_in_flight() {
        let flight = Flight::default();
        flight.enter(&RequestId::Number(1), 1).unwrap();
        let stop = flight.stop_of(&RequestId::Number(1));
        flight.close();
        assert!(stop.is_stopped() && flight.is_closed());
    }
}
