//! rmcp's end of the connection: messages in from the input thread, lines out to the writer.
//!
//! It also ends the connection: when the client goes, what runs is stopped and waited for, within bounds.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::flight::Flight;

/// How long calls may go on after the end of the input before they are stopped, milliseconds. A client that
/// writes its requests and closes its end at once still gets the answers that are near.
const GRACE_MS: u64 = 500;

/// How long stopped calls are waited for, milliseconds. rmcp adds 5,000 and the flush its own: 10,000 in all.
const STOP_MS: u64 = 3500;

/// One connection.
pub(super) struct Channel {
    heard: mpsc::Receiver<ClientJsonRpcMessage>,
    out: mpsc::Sender<String>,
    flight: Arc<Flight>,
    /// From when on calls are stopped, once the client is gone.
    stop_at: Option<Instant>,
}

impl Channel {
    /// A connection between the input thread, the writer and rmcp.
    pub(super) fn new(
        heard: mpsc::Receiver<ClientJsonRpcMessage>,
        out: mpsc::Sender<String>,
        flight: Arc<Flight>,
    ) -> Channel {
        Channel { heard, out, flight, stop_at: None }
    }

    /// Waits for the calls in flight, stops them, waits again. May be dropped and begun anew at any point.
    async fn wind_up(&self, stop_at: Instant) {
        if timeout_at(stop_at, self.flight.emptied()).await.is_err() {
            self.flight.close();
            let given_up_at = stop_at + Duration::from_millis(STOP_MS);
            // What has not ended by then is left to the end of the process.
            drop(timeout_at(given_up_at, self.flight.emptied()).await);
        }
    }
}

impl Transport<RoleServer> for Channel {
    type Error = io::Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let line = serde_json::to_string(&item);
        let out = (!self.flight.is_closed()).then(|| self.out.clone());
        async move {
            let Some(out) = out else { return Ok(()) };
            let gone = || io::Error::new(ErrorKind::BrokenPipe, "the client is gone");
            out.send(line?).await.map_err(|_| gone())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let stop_at = match self.stop_at {
            Some(stop_at) => stop_at,
            None => {
                let (heard, out) = (&mut self.heard, &self.out);
                // Nothing more is taken in while the client does not read what it was answered.
                let next = async {
                    drop(out.reserve().await.ok()?);
                    heard.recv().await
                };
                let (message, broken) = tokio::select! {
                    message = next => (message, out.is_closed()),
                    () = out.closed() => (None, true),
                };
                if message.is_some() {
                    return message;
                }
                let grace_ms = if broken { 0 } else { GRACE_MS };
                *self.stop_at.insert(Instant::now() + Duration::from_millis(grace_ms))
            }
        };
        self.wind_up(stop_at).await;
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        self.heard.close();
        Ok(())
    }
}
