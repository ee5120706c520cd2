//! A query as something that can be compared: with lines of text, or with paths.
//!
//! Matching takes linear time whatever the expression is (P-017), and a query is never anything but a
//! pattern. It must never turn a pattern that cannot be read into one that matches nothing (P-014).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use globset::{GlobBuilder, GlobMatcher};
use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex_syntax::ParserBuilder;

use crate::path::RepoPath;
use crate::search::{Case, SearchError, SearchMode, SearchRequest};

/// How much memory a compiled expression may take.
const COMPILED_BYTES: usize = 32 << 20;

/// How much memory each thread may use to remember states of it; matching goes on slower without.
const STATES_BYTES: usize = 64 << 20;

/// The query as a pattern on lines, for the modes that look into files.
pub(super) fn lines(request: &SearchRequest) -> Result<RegexMatcher, SearchError> {
    let query = &request.query;
    if query.is_empty() {
        return Err(SearchError::EmptyQuery);
    }
    let literal = request.mode == SearchMode::Literal;
    if literal && let Some(position) = query.find('\n') {
        let reason = "a line ending: text is looked for within one line".to_owned();
        return Err(SearchError::InvalidPattern { position, reason });
    }
    let escaped = literal.then(|| regex_syntax::escape(query));
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .crlf(true)
        .size_limit(COMPILED_BYTES)
        .dfa_size_limit(STATES_BYTES)
        .case_insensitive(if literal { folds(request) } else { request.case == Case::Insensitive })
        .case_smart(!literal && request.case == Case::Smart);
    builder.build(escaped.as_deref().unwrap_or(query)).map_err(|error| invalid(query, &error))
}

/// Whether letter case does not count for a query that is text.
fn folds(request: &SearchRequest) -> bool {
    match request.case {
        Case::Sensitive => false,
        Case::Insensitive => true,
        Case::Smart => !request.query.chars().any(char::is_uppercase),
    }
}

/// Says what is wrong and where. Faults that belong to no place (too large) are at the start.
fn invalid(query: &str, error: &grep_regex::Error) -> SearchError {
    let parsed = ParserBuilder::new().multi_line(true).crlf(true).utf8(false).build().parse(query);
    let (position, reason) = match parsed {
        Err(regex_syntax::Error::Parse(error)) => {
            (error.span().start.offset, error.kind().to_string())
        }
        Err(regex_syntax::Error::Translate(error)) => {
            (error.span().start.offset, error.kind().to_string())
        }
        _ => match error.kind() {
            grep_regex::ErrorKind::NotAllowed(_) => {
                let position = query.find('\n').or_else(|| query.find("\\n")).unwrap_or(0);
                (position, "a line ending: lines are matched one by one".to_owned())
            }
            _ => (0, error.to_string()),
        },
    };
    SearchError::InvalidPattern { position, reason }
}

/// The query of filename mode.
pub(super) enum PathPattern {
    Glob(PathGlob),
    /// Text that is part of the path.
    Part(RegexMatcher),
}

impl PathPattern {
    pub(super) fn new(request: &SearchRequest) -> Result<Self, SearchError> {
        let query = &request.query;
        if query.is_empty() {
            return Err(SearchError::EmptyQuery);
        }
        let wrong = |reason| SearchError::InvalidPattern { position: 0, reason };
        if query.contains(['*', '?', '[', '{']) {
            return PathGlob::new(query, folds(request)).map(Self::Glob).map_err(wrong);
        }
        RegexMatcherBuilder::new()
            .case_insensitive(folds(request))
            .build(&regex_syntax::escape(query))
            .map(Self::Part)
            .map_err(|error| wrong(error.to_string()))
    }

    /// Whether the path has the query, in its bytes or in its text form.
    pub(super) fn is_match(&self, path: &RepoPath) -> bool {
        match self {
            Self::Glob(glob) => glob.is_match(path),
            Self::Part(part) => {
                let has = |bytes: &[u8]| part.is_match(bytes).unwrap_or(false);
                has(path.as_bytes()) || has(path.to_string().as_bytes())
            }
        }
    }
}

/// A glob on paths beneath the root; one without `/` is on names. A last `/` means all in that folder.
pub(super) struct PathGlob {
    matcher: GlobMatcher,
    on_name: bool,
}

impl PathGlob {
    pub(super) fn new(glob: &str, fold_case: bool) -> Result<Self, String> {
        let relative = glob.trim_start_matches("./");
        let rooted = relative.starts_with('/');
        let relative = relative.trim_start_matches('/');
        if relative.is_empty() {
            return Err("it is empty".to_owned());
        }
        let whole = match relative.strip_suffix('/') {
            Some(folder) if folder.contains('/') || rooted => format!("{folder}/**"),
            Some(folder) => format!("**/{folder}/**"),
            None => relative.to_owned(),
        };
        let matcher = GlobBuilder::new(&whole)
            .literal_separator(true)
            .backslash_escape(true)
            .case_insensitive(fold_case)
            .build()
            .map_err(|error| error.kind().to_string())?
            .compile_matcher();
        Ok(Self { matcher, on_name: !rooted && !whole.contains('/') })
    }

    pub(super) fn is_match(&self, path: &RepoPath) -> bool {
        let bytes = if self.on_name { path.name().unwrap_or_default() } else { path.as_bytes() };
        self.matcher.is_match(OsStr::from_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(mode: SearchMode, query: &str) -> (usize, String) {
        let request = SearchRequest { mode, ..SearchRequest::new(query) };
        match lines(&request) {
            Err(SearchError::InvalidPattern { position, reason }) => (position, reason),
            other => panic!("{query}: {other:?}"),
        }
    }

    #[test]
    fn w4_p014_a_pattern_that_cannot_be_read_says_where() {
        assert_eq!(fault(SearchMode::Regex, "(").0, 0);
        assert_eq!(fault(SearchMode::Regex, "ab(c").0, 2);
        assert_eq!(fault(SearchMode::Regex, "ab[z-a]").0, 3);
        assert_eq!(fault(SearchMode::Regex, r"a\p{Nope}").0, 1);
        assert_eq!(fault(SearchMode::Regex, r"ab\n").0, 2);
        assert!(fault(SearchMode::Regex, "a{999999999}").1.contains("size limit"));
        assert_eq!(fault(SearchMode::Literal, "ab\nc").0, 2);
    }

    #[test]
    fn w4_a_glob_without_a_slash_is_on_names() {
        let matches = |glob: &str, path: &str| {
            PathGlob::new(glob, false).unwrap().is_match(&path.parse().unwrap())
        };
        assert!(matches("*.rs", "src/a/b.rs"));
        assert!(!matches("*.rs", "src/b.rs/c"));
        assert!(matches("src/*.rs", "src/b.rs"));
        assert!(!matches("src/*.rs", "src/a/b.rs"));
        assert!(!matches("src/*.rs", "x/src/b.rs"));
        assert!(matches("**/*", "a") && matches("**/*", "a/b"));
        assert!(matches("/a.rs", "a.rs") && !matches("/a.rs", "b/a.rs"));
        assert!(matches("target/", "x/target/y/z") && !matches("target/", "target"));
        assert!(matches("./a/", "a/b") && matches("*.{rs,md}", "x.md"));
        assert!(PathGlob::new("a[", false).is_err() && PathGlob::new("/", false).is_err());
    }
}
