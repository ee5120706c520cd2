//! Running a search: one walk, files looked into by several threads, results in the order of the walk.
//!
//! The walk is never further ahead of the results than a fixed window, so that neither memory nor work
//! depends on the size of the tree once a bound is hit. It must never let the number of threads show.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use grep_regex::RegexMatcher;

use crate::guard::Guard;
use crate::path::RepoPath;
use crate::root::Workspace;
use crate::search::collect::{Collector, Looked, max_lines};
use crate::search::look::{self, Line, Wanted};
use crate::search::pattern::{self, PathPattern};
use crate::search::skip::Reason;
use crate::search::walk::{Step, Walk};
use crate::search::{
    Match, Output, SearchError, SearchMode, SearchOutcome, SearchRequest, excerpt,
};

/// The most threads of one search.
const THREADS: usize = 8;

/// How many files are looked into before threads are worth their start.
const FIRST_FILES: usize = 8;

/// How many files a thread takes at once.
const CHUNK_FILES: usize = 16;

/// How many chunks per thread the walk may be ahead of the results.
const CHUNKS_AHEAD: usize = 4;

pub(super) fn run(
    workspace: &Workspace,
    request: &SearchRequest,
    guard: &Guard<'_>,
) -> Result<SearchOutcome, SearchError> {
    let query = if request.mode == SearchMode::Filename {
        Query::Path(PathPattern::new(request)?)
    } else {
        Query::Lines(pattern::lines(request)?)
    };
    let search = Search { workspace, request, guard, query };
    let mut source = Chunks { walk: Walk::new(workspace, request, guard)?, next: 0, end: None };
    let mut collector = Collector::new(request);
    let mut buffer = Vec::new();
    // Paths are compared faster than they are handed to a thread.
    let first_files = match search.query {
        Query::Path(_) => usize::MAX,
        Query::Lines(_) => FIRST_FILES,
    };
    while source.next < first_files && !collector.is_full() {
        let Some(chunk) = source.chunk(1) else { break };
        search.look_into(chunk, &mut buffer).merge(&mut collector);
    }
    if source.end.is_none() && !collector.is_full() {
        search.in_parallel(&mut source, &mut collector);
    }
    if let Some(end) = source.end {
        collector.finish(&end.skipped, end.stopped);
    }
    Ok(collector.outcome())
}

/// The query as a pattern.
enum Query {
    Lines(RegexMatcher),
    Path(PathPattern),
}

/// Files to look into, each with what was left out right before it.
struct Chunk {
    number: usize,
    files: Vec<(RepoPath, Vec<Reason>)>,
}

/// A chunk that was looked into.
struct Done {
    number: usize,
    files: Vec<(RepoPath, Vec<Reason>, Looked)>,
}

impl Done {
    fn merge(self, collector: &mut Collector<'_>) {
        for (path, skipped, looked) in self.files {
            collector.take(path, &skipped, looked);
        }
    }
}

/// The walk in chunks.
struct Chunks<'a> {
    walk: Walk<'a>,
    /// The number of the next chunk.
    next: usize,
    /// How the walk ended, once it has.
    end: Option<End>,
}

struct End {
    skipped: Vec<Reason>,
    stopped: bool,
}

impl Chunks<'_> {
    /// The next files, `None` behind the last.
    fn chunk(&mut self, files: usize) -> Option<Chunk> {
        if self.end.is_some() {
            return None;
        }
        let mut chunk = Chunk { number: self.next, files: Vec::with_capacity(files) };
        let mut skipped = Vec::new();
        while chunk.files.len() < files {
            match self.walk.step() {
                Some(Step::File(path)) => chunk.files.push((path, std::mem::take(&mut skipped))),
                Some(Step::Skip(reason)) => skipped.push(reason),
                step @ (Some(Step::Stopped) | None) => {
                    self.end = Some(End { skipped, stopped: step.is_some() });
                    break;
                }
            }
        }
        if chunk.files.is_empty() {
            return None;
        }
        self.next += 1;
        Some(chunk)
    }
}

struct Search<'a> {
    workspace: &'a Workspace,
    request: &'a SearchRequest,
    guard: &'a Guard<'a>,
    query: Query,
}

impl Search<'_> {
    fn in_parallel(&self, source: &mut Chunks<'_>, collector: &mut Collector<'_>) {
        let wanted = thread::available_parallelism().map_or(1, usize::from).min(THREADS);
        let (to_threads, chunks) = mpsc::channel::<Chunk>();
        let chunks = Mutex::new(chunks);
        let (to_here, results) = mpsc::channel::<Done>();
        let is_over = AtomicBool::new(false);
        let work = |to_here: mpsc::Sender<Done>| {
            let mut buffer = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                let chunk = chunks.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok(chunk) = chunk else { return };
                if to_here.send(self.look_into(chunk, &mut buffer)).is_err() {
                    return;
                }
            }
        };
        thread::scope(|scope| {
            let start = |_| {
                let (to_here, work) = (to_here.clone(), &work);
                thread::Builder::new().spawn_scoped(scope, move || work(to_here)).is_ok()
            };
            let threads = (0..wanted).map(start).filter(|started| *started).count();
            drop(to_here);
            if threads == 0 {
                self.alone(source, collector);
            } else {
                let ahead = threads * CHUNKS_AHEAD;
                in_order(source, collector, ahead, &to_threads, &results);
            }
            is_over.store(true, Ordering::Relaxed);
            drop(to_threads);
        });
    }

    /// The same without threads, where none can be had.
    fn alone(&self, source: &mut Chunks<'_>, collector: &mut Collector<'_>) {
        let mut buffer = Vec::new();
        while let Some(chunk) = source.chunk(1).filter(|_| !collector.is_full()) {
            self.look_into(chunk, &mut buffer).merge(collector);
        }
    }

    fn look_into(&self, chunk: Chunk, buffer: &mut Vec<u8>) -> Done {
        let mut files = Vec::with_capacity(chunk.files.len());
        for (path, skipped) in chunk.files {
            let looked =
                if (self.guard.stop)() { Looked::Stopped } else { self.file(&path, buffer) };
            let stopped = matches!(looked, Looked::Stopped);
            files.push((path, skipped, looked));
            if stopped {
                break;
            }
        }
        Done { number: chunk.number, files }
    }

    fn file(&self, path: &RepoPath, buffer: &mut Vec<u8>) -> Looked {
        let matcher = match &self.query {
            Query::Path(pattern) => return Looked::Path(pattern.is_match(path)),
            Query::Lines(matcher) => matcher,
        };
        match look::load(self.workspace, path, self.request, buffer) {
            Err(Some(reason)) => return Looked::Skip(reason),
            Err(None) => return Looked::Gone,
            Ok(()) => {}
        }
        let source = match look::source(buffer) {
            Err(reason) => return Looked::Skip(reason),
            Ok(source) => source,
        };
        let after = self.request.after.as_ref().filter(|after| after.path == *path);
        let wanted = Wanted {
            matcher,
            behind: after.and_then(|after| after.line_start),
            max_lines: max_lines(self.request),
            locate: self.request.output == Output::Matches,
            stop: self.guard.stop,
        };
        let looked = match self.request.output {
            Output::Paths => {
                look::lines(&source, &wanted).map(|lines| Looked::Path(!lines.is_empty()))
            }
            Output::Count => look::count(&source, &wanted).map(Looked::Lines),
            Output::Matches => look::lines(&source, &wanted)
                .map(|lines| Looked::Matches(self.show(path, &source.text, &lines))),
        };
        looked.unwrap_or(Looked::Stopped)
    }

    fn show(&self, path: &RepoPath, text: &str, lines: &[Line]) -> Vec<Match> {
        let mut bytes = 0;
        let mut matches = Vec::new();
        for line in lines {
            // Once more than fits is there, the rest is for another page.
            if matches.len() > 1 && bytes > self.request.max_output_bytes {
                break;
            }
            let shown = excerpt::show(path, text, line, self.request);
            bytes += excerpt::size_bytes(&shown);
            matches.push(shown);
        }
        matches
    }
}

/// Keeps the threads busy and merges what they found, chunk by chunk in the order of the walk.
fn in_order(
    source: &mut Chunks<'_>,
    collector: &mut Collector<'_>,
    ahead: usize,
    to_threads: &mpsc::Sender<Chunk>,
    results: &mpsc::Receiver<Done>,
) {
    let mut pending = BTreeMap::new();
    let mut merged = source.next;
    while !collector.is_full() {
        while source.next < merged + ahead {
            let Some(chunk) = source.chunk(CHUNK_FILES) else { break };
            if to_threads.send(chunk).is_err() {
                return;
            }
        }
        if source.end.is_some() && merged == source.next {
            return;
        }
        let Ok(done) = results.recv() else { return };
        pending.insert(done.number, done);
        while let Some(done) = pending.remove(&merged) {
            done.merge(collector);
            merged += 1;
        }
    }
}
