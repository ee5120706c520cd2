//! Waits for helpers that have answered already, off the path of the call.
//! It must never leave a process unreaped, nor end one.

use std::io;
use std::process::Child;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// A thread that waits for helpers which have answered already, so that no call pays for the end of its namespaces and
/// no process is left unreaped.
#[derive(Debug)]
pub(super) struct Reaper {
    queue: Option<Sender<Child>>,
    thread: Option<JoinHandle<()>>,
}

impl Reaper {
    pub(super) fn new() -> io::Result<Self> {
        let (queue, ended) = channel::<Child>();
        let thread =
            std::thread::Builder::new().name("sandbox-reaper".to_owned()).spawn(move || {
                for mut child in ended {
                    // It fails only for a process that was reaped already.
                    let _status = child.wait();
                }
            })?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    pub(super) fn take(&self, child: Child) {
        if let Some(queue) = &self.queue {
            // The other end lives as long as this value.
            let _kept = queue.send(child);
        }
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // A panic in there would have been a bug of `wait`; there is nothing left to do about it here.
            let _ended = thread.join();
        }
    }
}
