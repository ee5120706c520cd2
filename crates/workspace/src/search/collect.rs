//! Putting results together in the order of the walk, up to the first bound.
//!
//! What is counted belongs to the part of the walk that the answer covers, and the continuation starts where
//! that part ends: pages add up to the one answer without bounds (W2, W6).

use crate::path::RepoPath;
use crate::search::skip::Reason;
use crate::search::{
    Count, Match, Output, PathHit, SearchMode, SearchOutcome, SearchPosition, SearchRequest,
    SearchTruncation, Skipped, Verdict, excerpt,
};

/// What became of one file.
#[derive(Debug)]
pub(super) enum Looked {
    /// Its matched lines, as many as an answer can take and one more.
    Matches(Vec<Match>),
    /// How many of its lines match.
    Lines(u64),
    /// Its path matches, or does not.
    Path(bool),
    /// It was left out.
    Skip(Reason),
    /// It went away.
    Gone,
    /// [`crate::Guard::stop`] said so.
    Stopped,
}

/// An answer while it grows.
pub(super) struct Collector<'a> {
    request: &'a SearchRequest,
    matches: Vec<Match>,
    paths: Vec<PathHit>,
    total: u64,
    opened: u64,
    files_searched: u64,
    output_bytes: u64,
    skipped: Skipped,
    truncation: Option<SearchTruncation>,
    /// The end of what the answer covers.
    done: Option<SearchPosition>,
}

impl<'a> Collector<'a> {
    pub(super) fn new(request: &'a SearchRequest) -> Self {
        Self {
            request,
            matches: Vec::new(),
            paths: Vec::new(),
            total: 0,
            opened: 0,
            files_searched: 0,
            output_bytes: 0,
            skipped: Skipped::default(),
            truncation: None,
            done: request.after.clone(),
        }
    }

    /// Whether a bound was hit: nothing more is taken.
    pub(super) fn is_full(&self) -> bool {
        self.truncation.is_some()
    }

    /// Takes the next file, and what was left out right before it.
    pub(super) fn take(&mut self, path: RepoPath, skipped: &[Reason], looked: Looked) {
        if self.is_full() {
            return;
        }
        if self.opened >= self.request.max_files {
            return self.end(SearchTruncation::Files);
        }
        let taken = match looked {
            Looked::Stopped => return self.end(SearchTruncation::Deadline),
            Looked::Matches(found) => return self.take_matches(path, skipped, found),
            Looked::Lines(0) | Looked::Path(false) | Looked::Skip(_) | Looked::Gone => true,
            Looked::Lines(lines) => self.take_path(&path, Some(lines)),
            Looked::Path(true) => self.take_path(&path, None),
        };
        if taken {
            self.pass(skipped);
            match looked {
                Looked::Skip(reason) => self.skipped.count(reason),
                Looked::Gone => {}
                _ => self.files_searched += 1,
            }
            self.opened += u64::from(!matches!(looked, Looked::Gone));
            self.done = Some(SearchPosition { path, line_start: None });
        }
    }

    /// Takes what was left out behind the last file.
    pub(super) fn finish(&mut self, skipped: &[Reason], stopped: bool) {
        if self.is_full() {
            return;
        }
        if stopped {
            // What was left out after the last file is met again.
            return self.end(SearchTruncation::Deadline);
        }
        self.pass(skipped);
    }

    fn pass(&mut self, skipped: &[Reason]) {
        for reason in skipped {
            self.skipped.count(*reason);
        }
    }

    fn take_path(&mut self, path: &RepoPath, lines: Option<u64>) -> bool {
        self.total += lines.unwrap_or(1);
        let size_bytes = excerpt::path_bytes(path);
        if !self.has_room(self.paths.len(), size_bytes) {
            return false;
        }
        self.output_bytes += size_bytes;
        self.paths.push(PathHit { path: path.clone(), lines });
        true
    }

    fn take_matches(&mut self, path: RepoPath, skipped: &[Reason], found: Vec<Match>) {
        let after = self.request.after.as_ref();
        let again = after.is_some_and(|after| after.path == path && after.line_start.is_some());
        let mut passed = false;
        for one in found {
            self.total += 1;
            let size_bytes = excerpt::size_bytes(&one);
            if !self.has_room(self.matches.len(), size_bytes) {
                return;
            }
            if !passed {
                passed = true;
                self.pass(skipped);
                self.opened += 1;
                self.files_searched += u64::from(!again);
            }
            self.output_bytes += size_bytes;
            self.done =
                Some(SearchPosition { path: path.clone(), line_start: Some(one.line_start) });
            self.matches.push(one);
        }
        if !passed {
            self.pass(skipped);
            self.opened += 1;
            self.files_searched += u64::from(!again);
        }
        self.done = Some(SearchPosition { path, line_start: None });
    }

    /// Whether one more result fits. One always does, so that every page gets on.
    fn has_room(&mut self, results: usize, size_bytes: u64) -> bool {
        if results as u64 >= self.request.max_matches {
            self.end(SearchTruncation::Matches);
        } else if results > 0
            && self.output_bytes.saturating_add(size_bytes) > self.request.max_output_bytes
        {
            self.end(SearchTruncation::Bytes);
        }
        !self.is_full()
    }

    fn end(&mut self, bound: SearchTruncation) {
        self.truncation = Some(bound);
    }

    /// The answer.
    pub(super) fn outcome(self) -> SearchOutcome {
        let found = !self.matches.is_empty() || !self.paths.is_empty();
        let verdict = match (found, self.truncation) {
            (true, _) => Verdict::Found,
            (false, None) => Verdict::None,
            (false, Some(_)) => Verdict::NoneSoFar,
        };
        let count = if self.truncation.is_none() {
            Count::Exact(self.total)
        } else {
            Count::AtLeast(self.total)
        };
        SearchOutcome {
            verdict,
            matches: self.matches,
            paths: self.paths,
            count,
            files_searched: self.files_searched,
            skipped: self.skipped,
            continuation: self.done.filter(|_| self.truncation.is_some()),
            truncation: self.truncation,
        }
    }
}

/// The most matches of one file that an answer can take, and one more to know that there is more.
pub(super) fn max_lines(request: &SearchRequest) -> usize {
    let one = request.mode == SearchMode::Filename || request.output == Output::Paths;
    if one {
        return 1;
    }
    match request.output {
        Output::Count => usize::MAX,
        Output::Paths | Output::Matches => {
            usize::try_from(request.max_matches.saturating_add(1)).unwrap_or(usize::MAX)
        }
    }
}
