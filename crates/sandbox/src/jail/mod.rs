//! The jail: made once, it holds the helper's image, the part of the view that never changes, and what this machine was
//! proved to enforce. The proof is a probe that builds every wall once. It must never assume a wall from a version
//! number or a file that exists.

mod filter;
mod identity;
mod mint;
mod reaper;
mod report;

pub(crate) use identity::{Identity, start_body};
pub(crate) use report::{after_run, step_name};

use crate::error::JailError;
use crate::level::Level;
use crate::line::{Body, Image, Line};
use crate::protocol::{Record, kind, missed, role};
use crate::view::{self, Plan};
use mint::Maps;
use reaper::Reaper;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use std::collections::BTreeSet;
use std::io;
use std::process::Child;
use std::sync::Mutex;
use std::time::Duration;

const PROBE_BOUND: Duration = Duration::from_secs(10);

/// A machine's ability to run commands in sandboxes. Usable from many threads at once.
#[derive(Debug)]
pub struct Jail {
    pub(crate) image: Image,
    pub(crate) null: OwnedFd,
    pub(crate) identity: Identity,
    pub(crate) base: Plan,
    pub(crate) filter: Vec<u8>,
    pub(crate) maps: Maps,
    /// Devices whose file system cannot translate owners.
    pub(crate) untranslatable: Mutex<BTreeSet<u64>>,
    level: Level,
    reaper: Reaper,
}

impl Jail {
    /// Places the helper in memory and builds every wall once, without a command.
    ///
    /// # Errors
    /// A wall that nothing works without cannot be built here; the error says which and what to do.
    pub fn new() -> Result<Self, JailError> {
        let image = Image::new().map_err(JailError::Helper)?;
        let null = rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|error| JailError::Helper(error.into()))?;
        let identity = identity::identity()?;
        let base = view::base(identity.inside)
            .map_err(|_| JailError::Helper(io::ErrorKind::InvalidInput.into()))?;
        let mut filter = filter::program();
        let reaper = Reaper::new().map_err(JailError::Helper)?;
        let mut line = image.start().map_err(JailError::Helper)?;
        let body = probe(identity, &base, &filter);
        let files = [null.as_fd(); 4];
        let answer = line
            .request(role::LAUNCH, &body, &files)
            .map(|()| final_record(&mut line))
            .map_err(JailError::Helper);
        if !matches!(answer, Ok(Some(_))) {
            line.destroy();
        }
        reaper.take(line.into_child());
        let level = match answer? {
            Some(record) if record.kind == kind::READY => {
                if record.missed & missed::FILTER != 0 {
                    filter.clear();
                }
                report::level(identity, record.missed)
            }
            Some(record) => return Err(report::wall(&record)),
            None => return Err(JailError::Silent),
        };
        let (maps, untranslatable) = (Maps::default(), Mutex::default());
        Ok(Self { image, null, identity, base, filter, maps, untranslatable, level, reaper })
    }

    /// What is enforced for every command on this machine. A single run can be less, and says so in its exit.
    #[must_use]
    pub fn level(&self) -> &Level {
        &self.level
    }

    /// Reaps a helper whose answer has arrived, off the path of the call.
    pub(crate) fn reap(&self, child: Child) {
        self.reaper.take(child);
    }
}

fn final_record(line: &mut Line) -> Option<Record> {
    loop {
        let record = line.wait(PROBE_BOUND)?;
        if record.kind != kind::STARTED {
            return Some(record);
        }
    }
}

fn probe(identity: Identity, base: &Plan, filter: &[u8]) -> Body {
    let mut body = start_body(identity);
    base.encode(&mut body);
    // No limits, the filter, three empty texts, no arguments, no environment.
    body.u32(0).raw(filter).raw(b"\0").raw(b"\0").raw(b"\0").u32(0).u32(0);
    body
}
