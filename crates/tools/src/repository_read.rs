//! `repository_read`: files, ranges of files and directories, with what an edit needs to know (W2, W8, W10).
//!
//! It never follows a link out of the workspace and never shows a file that policy keeps back.

use std::sync::Arc;

use engine::ports::Observation;
use engine::tool::{Ended, View};
use engine::{Demand, Hands, Outcome, Plan, Reconciled, Resource, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use wire::contract::{
    Cancellation, EffectClass, Lifecycle, Operation, Reconciliation, ResourceKind, Reversibility,
    Route,
};
use wire::receipt::{Count, Truncation};
use wire::{Code, Digest, Error, ToolContract};
use workspace::{
    BinaryFile, FileKind, Guard, Listing, PathClass, Range, ReadOutcome, ReadRequest, RepoPath,
    TextPage, Workspace,
};

use crate::Place;
use crate::fault;
use crate::limits::{ReadLimits, json_bytes};

/// The most files in one call.
const FILES: usize = 32;

/// Lines shown of one file when the caller says nothing.
const LINES: u64 = 2_000;

/// The longest line that is shown whole, bytes.
const LINE_BYTES: u64 = 4_096;

/// The largest file that is read, bytes.
const FILE_BYTES: u64 = 64 << 20;

/// The most directory entries in one listing.
const ENTRIES: u64 = 500;

/// What an entry for a file takes beside its text and path, with the note of its cut, bytes of JSON.
const ENTRY_BYTES: u64 = 640;

/// Text for which a file is worth to be shown at all, bytes of JSON.
const LEAST_TEXT_BYTES: u64 = 64;

pub(crate) struct RepositoryRead {
    workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    #[schemars(length(min = 1, max = 32))]
    files: Vec<Wanted>,
    #[serde(default)]
    limits: ReadLimits,
}

/// A file or directory, or a part of it.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    path: String,
    /// From 1.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    start_line: Option<u64>,
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<u64>,
    /// From 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    start_byte: Option<u64>,
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    /// Levels of a directory.
    #[schemars(range(min = 1, max = 8))]
    #[serde(skip_serializing_if = "Option::is_none")]
    depth: Option<u64>,
    /// Directory: entries after this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Shown {
    files: Vec<ShownFile>,
}

/// What was asked for, as it is.
#[derive(Debug, Serialize, JsonSchema)]
struct ShownFile {
    path: String,
    /// text, binary, directory or error
    kind: &'static str,
    #[serde(flatten)]
    facts: serde_json::Map<String, Value>,
}

pub(crate) struct Job {
    requests: Vec<(Wanted, Result<ReadRequest, Error>)>,
    text_bytes: u64,
}

impl RepositoryRead {
    pub(crate) fn new(place: &Place) -> RepositoryRead {
        RepositoryRead { workspace: Arc::clone(&place.workspace) }
    }

    /// One wish as a request on a real path, with the demand that it makes.
    fn request(
        &self,
        wanted: &Wanted,
        limits: &ReadLimits,
    ) -> Result<(ReadRequest, Demand), Error> {
        let path = self.workspace.path(&wanted.path).map_err(|error| fault::path(&error))?;
        let range = range(wanted)?;
        let request = ReadRequest {
            path: path.clone(),
            range,
            max_bytes: limits.size().text_bytes(),
            max_lines: limits.lines.unwrap_or(LINES),
            max_line_bytes: LINE_BYTES,
            max_depth: wanted.depth.unwrap_or(1),
            max_entries: ENTRIES,
            max_file_bytes: FILE_BYTES,
        };
        let resolved = self.workspace.resolve(&path).map_err(|error| fault::access(&error))?;
        let operation = match resolved.kind {
            FileKind::Directory => "file.list",
            _ => "file.read",
        };
        Ok((request, demand(operation, &resolved.real, resolved.class)))
    }
}

impl Tool for RepositoryRead {
    type Arguments = Arguments;
    type Job = Job;
    type Result = Shown;

    fn contract(&self) -> ToolContract {
        let operation =
            |name: &str| Operation { name: name.to_owned(), resource: ResourceKind::Path };
        ToolContract {
            name: "repository_read".to_owned(),
            version: "1.0.0".to_owned(),
            title: "Read files and directories".to_owned(),
            description: "Read up to 32 files, line or byte ranges of files, or directories. Text comes exact, with \
                          first and last line, totals, digest, encoding, line ending and final newline; binary files \
                          come as type, size and digest. A cut is in `truncation` and its `continuation` goes on in \
                          `files`. What you were shown is what `repository_patch` holds an edit against, so \
                          read a file before you change it. One bad path among several gives status `partial`."
                .to_owned(),
            arguments_schema: Value::Null,
            result_schema: Value::Null,
            effect: EffectClass::Read,
            reversibility: Reversibility::NoEffect,
            operations: vec![operation("file.read"), operation("file.list")],
            default_timeout_ms: 30_000,
            max_timeout_ms: 300_000,
            max_output_bytes: crate::limits::MAX_OUTPUT_BYTES,
            cancellation: Cancellation::Cooperative,
            reconciliation: Reconciliation::NotNeeded,
            routes: [("files".to_owned(), Route::Planner)].into(),
            redacted_arguments: Vec::new(),
            implementation: fault::implementation("repository_read"),
            owner: "chancery".to_owned(),
            lifecycle: Lifecycle::Current,
        }
    }

    fn plan(&self, arguments: Arguments, view: &View<'_>) -> Result<Plan<Job>, Error> {
        let mut requests = Vec::new();
        let mut demands = Vec::new();
        let mut first_error = None;
        for (at, wanted) in arguments.files.iter().take(FILES).enumerate() {
            match self.request(wanted, &arguments.limits) {
                Ok((request, demand)) => {
                    demands.push(demand);
                    requests.push((wanted.clone(), Ok(request)));
                }
                Err(error) => {
                    let error = error.at(&format!("/arguments/files/{at}"));
                    first_error.get_or_insert_with(|| error.clone());
                    requests.push((wanted.clone(), Err(error)));
                }
            }
        }
        // With nothing readable there is nothing to decide on, and the first fault is the answer.
        if demands.is_empty()
            && let Some(error) = first_error
        {
            return Err(error);
        }
        for demand in &demands {
            view.require(demand)?;
        }
        let action =
            json!({ "read": demands, "output_bytes": arguments.limits.size().output_bytes() });
        Ok(Plan {
            action,
            demands,
            effect: EffectClass::Read,
            output_bytes: arguments.limits.size().output_bytes(),
            job: Job { requests, text_bytes: arguments.limits.size().text_bytes() },
        })
    }

    fn run(&self, job: Job, hands: &Hands<'_>) -> Outcome<Shown> {
        let mut pages = Pages { left_bytes: job.text_bytes, ..Pages::default() };
        let mut waiting_bytes: u64 =
            job.requests.iter().map(|(wanted, _)| json_bytes(wanted)).sum();
        // The object may have changed since the plan; what is read now is what must be allowed.
        let admit =
            |path: &RepoPath, class: PathClass| hands.admits(&demand("file.read", path, class));
        let guard = Guard { admit: &admit, stop: &|| hands.is_over() };
        let total = u64::try_from(job.requests.len()).ok();
        for (done, (wanted, request)) in job.requests.into_iter().enumerate() {
            // Room for the names of those that may have to wait.
            waiting_bytes = waiting_bytes.saturating_sub(json_bytes(&wanted));
            let Some(room) = pages.room(&wanted, waiting_bytes) else {
                pages.waiting.push(wanted);
                continue;
            };
            hands.progress(u64::try_from(done).unwrap_or(u64::MAX), total, "files");
            if hands.is_over() {
                let message = "the time or the caller's patience ended before this file";
                pages.fault(&wanted, Error::new(Code::TimedOut, message));
                continue;
            }
            let read = request.and_then(|request| {
                let bounded = ReadRequest { max_bytes: request.max_bytes.min(room), ..request };
                self.workspace.read(&bounded, &guard).map_err(|error| fault::read(&error))
            });
            match read {
                Ok(read) => pages.add(&wanted, read),
                Err(error) => pages.fault(&wanted, error),
            }
        }
        pages.outcome()
    }

    fn reconcile(&self, _: &Value) -> Reconciled {
        Reconciled::DidNotHappen
    }
}

fn demand(operation: &'static str, path: &RepoPath, class: PathClass) -> Demand {
    let resource = Resource::Path { path: path.to_string(), class: class.as_str() };
    Demand { operation, resource }
}

fn range(wanted: &Wanted) -> Result<Range, Error> {
    let by_line = wanted.start_line.is_some() || wanted.lines.is_some();
    let by_byte = wanted.start_byte.is_some() || wanted.bytes.is_some();
    match (by_line, by_byte, &wanted.after) {
        (true, false, None) => {
            Ok(Range::Lines { start: wanted.start_line.unwrap_or(1), count: wanted.lines })
        }
        (false, true, None) => {
            Ok(Range::Bytes { start: wanted.start_byte.unwrap_or(0), count: wanted.bytes })
        }
        (false, false, Some(entry)) => {
            entry.parse().map(|entry| Range::After { entry }).map_err(|error| fault::path(&error))
        }
        (false, false, None) => Ok(Range::All),
        _ => {
            let message =
                "give a range in lines or in bytes, or the entry to go on after, not two of them";
            Err(Error::new(Code::InvalidRange, message))
        }
    }
}

/// The answer while it grows.
#[derive(Default)]
struct Pages {
    files: Vec<ShownFile>,
    truncation: Vec<Truncation>,
    observed: Vec<Observation>,
    /// Bytes of JSON that are left.
    left_bytes: u64,
    /// What found no room.
    waiting: Vec<Wanted>,
    faults: Vec<Error>,
}

impl Pages {
    /// The room for the text of one more file; `None` when it is for a later call. The first has some always.
    fn room(&self, wanted: &Wanted, waiting_bytes: u64) -> Option<u64> {
        let entry = ENTRY_BYTES.saturating_add(json_bytes(&wanted.path).saturating_mul(2));
        let left = self.left_bytes.saturating_sub(entry);
        let room = left.saturating_sub(waiting_bytes.min(left / 2));
        let is_enough = self.waiting.is_empty() && room >= LEAST_TEXT_BYTES;
        (is_enough || self.files.is_empty()).then_some(room.max(LEAST_TEXT_BYTES))
    }

    fn add(&mut self, wanted: &Wanted, read: ReadOutcome) {
        match read {
            ReadOutcome::Text(text) => self.add_text(wanted, text),
            ReadOutcome::Binary(binary) => self.add_binary(wanted, binary),
            ReadOutcome::Directory(listing) => self.add_listing(wanted, listing),
        }
    }

    fn add_text(&mut self, wanted: &Wanted, text: TextPage) {
        self.observe(&text.real, &text.digest);
        self.cut("text", wanted, text.truncation.as_ref(), text.continuation.as_ref());
        let facts = json!({
            "text": text.text,
            "first_line": text.first_line,
            "last_line": text.last_line,
            "total_lines": text.total_lines,
            "total_bytes": text.total_bytes,
            "digest": fault::digest(&text.digest),
            "encoding": text.encoding,
            "line_ending": text.line_ending,
            "final_newline": text.final_newline,
            "executable": text.executable,
        });
        self.push(wanted, "text", facts);
    }

    fn add_binary(&mut self, wanted: &Wanted, binary: BinaryFile) {
        self.observe(&binary.real, &binary.digest);
        let facts = json!({
            "total_bytes": binary.size_bytes,
            "digest": fault::digest(&binary.digest),
            "media_type": binary.media_type,
        });
        self.push(wanted, "binary", facts);
    }

    fn add_listing(&mut self, wanted: &Wanted, listing: Listing) {
        self.cut("entries", wanted, listing.truncation.as_ref(), listing.continuation.as_ref());
        let entry = |entry: &workspace::Entry| json!({ "path": entry.path, "kind": entry.kind, "bytes": entry.size_bytes });
        let entries: Vec<Value> = listing.entries.iter().map(entry).collect();
        self.push(wanted, "directory", json!({ "entries": entries }));
    }

    fn cut(
        &mut self,
        member: &str,
        wanted: &Wanted,
        truncation: Option<&workspace::Truncation>,
        next: Option<&Range>,
    ) {
        let Some(truncation) = truncation else { return };
        let left_out = match truncation.bound {
            workspace::Bound::Lines => Count::Exact(truncation.remaining_lines),
            workspace::Bound::Entries => Count::AtLeast(truncation.remaining_lines.max(1)),
            workspace::Bound::Bytes if member == "entries" => Count::AtLeast(1),
            workspace::Bound::Bytes | workspace::Bound::LineBytes => {
                Count::Exact(truncation.remaining_bytes)
            }
        };
        let cut = Truncation {
            field: format!("/result/files/{}/{member}", self.files.len()),
            bound: fault::read_bound(truncation.bound),
            left_out,
            artifact: None,
            continuation: next.map(|range| go_on(wanted, range)),
        };
        self.left_bytes = self.left_bytes.saturating_sub(json_bytes(&cut));
        self.truncation.push(cut);
    }

    /// Says which files found no room, and the entries that ask for them.
    fn tell_waiting(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let entries = serde_json::to_value(&self.waiting).unwrap_or_default();
        let has_room = json_bytes(&entries) <= self.left_bytes;
        self.truncation.push(Truncation {
            field: "/result/files".to_owned(),
            bound: wire::receipt::Bound::Files,
            left_out: Count::Exact(u64::try_from(self.waiting.len()).unwrap_or(u64::MAX)),
            artifact: None,
            continuation: has_room.then_some(entries),
        });
    }

    fn observe(&mut self, path: &RepoPath, hex: &str) {
        let digest = Digest::try_from(fault::digest(hex)).ok();
        self.observed.push(Observation { path: path.to_string(), digest });
    }

    fn push(&mut self, wanted: &Wanted, kind: &'static str, facts: Value) {
        let facts = match facts {
            Value::Object(facts) => facts,
            _ => serde_json::Map::new(),
        };
        let file = ShownFile { path: wanted.path.clone(), kind, facts };
        self.left_bytes = self.left_bytes.saturating_sub(json_bytes(&file));
        self.files.push(file);
    }

    fn fault(&mut self, wanted: &Wanted, error: Error) {
        let facts = json!({ "error": { "code": error.code, "message": error.message } });
        self.push(wanted, "error", facts);
        self.faults.push(error);
    }

    fn outcome(mut self) -> Outcome<Shown> {
        self.tell_waiting();
        let (ended, error) = match self.faults.first() {
            None => (Ended::Succeeded, None),
            Some(first) if self.faults.len() == self.files.len() => {
                (Ended::Failed, Some(first.clone()))
            }
            Some(_) => {
                let message = format!(
                    "{} of {} could not be read; each says why",
                    self.faults.len(),
                    self.files.len()
                );
                (Ended::Partial, Some(Error::new(Code::Partial, message)))
            }
        };
        Outcome {
            ended,
            error,
            truncation: self.truncation,
            observed: self.observed,
            ..Outcome::succeeded(Shown { files: self.files })
        }
    }
}

/// The entry for `files` that goes on where an answer was cut.
fn go_on(wanted: &Wanted, range: &Range) -> Value {
    let plain = Wanted {
        path: wanted.path.clone(),
        start_line: None,
        lines: None,
        start_byte: None,
        bytes: None,
        depth: None,
        after: None,
    };
    let next = match range {
        Range::All => plain,
        Range::Lines { start, count } => {
            Wanted { start_line: Some(*start), lines: *count, ..plain }
        }
        Range::Bytes { start, count } => {
            Wanted { start_byte: Some(*start), bytes: *count, ..plain }
        }
        Range::After { entry } => {
            Wanted { after: Some(entry.to_string()), depth: wanted.depth, ..plain }
        }
    };
    serde_json::to_value(next).unwrap_or(Value::Null)
}
