//! Which files the caller wants at all: the globs of a request.
//!
//! What falls outside of them is not part of the search and is not counted as skipped.

use crate::path::RepoPath;
use crate::search::pattern::PathGlob;
use crate::search::{SearchError, SearchRequest};

/// The include and exclude globs of a request.
pub(super) struct Selection {
    include: Vec<PathGlob>,
    exclude: Vec<PathGlob>,
}

impl Selection {
    pub(super) fn new(request: &SearchRequest) -> Result<Self, SearchError> {
        Ok(Self { include: globs(&request.include)?, exclude: globs(&request.exclude)? })
    }

    /// Whether a file is wanted.
    pub(super) fn has_file(&self, path: &RepoPath) -> bool {
        let included =
            self.include.is_empty() || self.include.iter().any(|glob| glob.is_match(path));
        included && !self.exclude.iter().any(|glob| glob.is_match(path))
    }

    /// Whether something in a folder can be wanted.
    pub(super) fn has_folder(&self, path: &RepoPath) -> bool {
        !self.exclude.iter().any(|glob| glob.is_match(path))
    }
}

fn globs(given: &[String]) -> Result<Vec<PathGlob>, SearchError> {
    let read = |glob: &String| {
        let wrong = |reason| SearchError::InvalidGlob { glob: glob.clone(), reason };
        if glob.starts_with('!') {
            return Err(wrong(
                "it starts with `!`: name what is not wanted in `exclude`".to_owned(),
            ));
        }
        PathGlob::new(glob, false).map_err(wrong)
    };
    given.iter().map(read).collect()
}
