//! `repository_search`: text, patterns and file names, in one order, with honest counts (W2, W4–W7).
//!
//! Found, none and failed are three outcomes. A file that policy keeps back is counted and never shown.

use std::sync::Arc;

use engine::tool::View;
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
    Guard, PathClass, RepoPath, SearchMode, SearchOutcome, SearchPosition, SearchRequest, Workspace,
};

use crate::Place;
use crate::fault;
use crate::limits::SearchLimits;

/// Matches shown when the caller says nothing.
const MATCHES: u64 = 100;

/// The most files that one search looks at.
const FILES: u64 = 1_000_000;

/// The deepest directory that is searched, levels.
const DEPTH: u64 = 64;

/// The longest excerpt of a line, bytes of JSON.
const EXCERPT_BYTES: usize = 240;

/// The largest file that is searched, bytes.
const FILE_BYTES: u64 = 16 << 20;

/// What counts and skipped files take beside the results, bytes of JSON.
const COUNTS_BYTES: u64 = 384;

/// What a match takes beside its lines, with a path of usual length, bytes of JSON.
const MATCH_BYTES: u64 = 256;

/// What a line takes beside its text: its number, and that it is clipped; bytes of JSON.
const LINE_BYTES: usize = 28;

pub(crate) struct RepositorySearch {
    workspace: Arc<Workspace>,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    #[schemars(length(min = 1, max = 4096))]
    query: String,
    #[serde(default)]
    mode: Mode,
    #[serde(default)]
    output: Wanted,
    #[serde(default)]
    case: Case,
    /// A directory or file.
    path: Option<String>,
    /// Globs of paths to look at.
    #[serde(default)]
    include: Vec<String>,
    #[serde(default)]
    exclude: Vec<String>,
    #[schemars(range(max = 10))]
    context_lines: Option<usize>,
    #[serde(default)]
    include_ignored: bool,
    /// The continuation of a cut search.
    after: Option<String>,
    #[serde(default)]
    limits: SearchLimits,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mode {
    #[default]
    Literal,
    Regex,
    Filename,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Wanted {
    #[default]
    Matches,
    Paths,
    Count,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Case {
    #[default]
    Sensitive,
    Insensitive,
    Smart,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Hits {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    matches: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    paths: Vec<Value>,
    /// {"exact": n} or {"at_least": n}
    count: Value,
    files_searched: u64,
    /// Files passed over, by reason.
    skipped: Value,
}

pub(crate) struct Job {
    request: SearchRequest,
    query: Digest,
}

impl RepositorySearch {
    pub(crate) fn new(place: &Place) -> RepositorySearch {
        RepositorySearch { workspace: Arc::clone(&place.workspace) }
    }
}

impl Tool for RepositorySearch {
    type Arguments = Arguments;
    type Job = Job;
    type Result = Hits;

    fn contract(&self) -> ToolContract {
        let routes = ["matches", "paths", "count", "files_searched", "skipped"];
        ToolContract {
            name: "repository_search".to_owned(),
            version: "1.0.0".to_owned(),
            title: "Search the repository".to_owned(),
            description: "Find a literal text, a regular expression (Rust syntax, linear time) or file names (glob, or \
                          part of a path). Results come in path order. `output`: matches with line, \
                          column and excerpt; paths alone; or count: paths with matched lines each. `count` is exact or at_least. \
                          Ignored files are left out unless asked for; `skipped` counts what was passed over and why. A cut is in \
                          `truncation`; pass its `continuation` as `after` with the same query. An empty result is \
                          success; `invalid_pattern` says where the pattern is wrong."
                .to_owned(),
            arguments_schema: Value::Null,
            result_schema: Value::Null,
            effect: EffectClass::Read,
            reversibility: Reversibility::NoEffect,
            operations: vec![Operation {
                name: "file.search".to_owned(),
                resource: ResourceKind::Path,
            }],
            default_timeout_ms: 20_000,
            max_timeout_ms: 300_000,
            max_output_bytes: crate::limits::MAX_OUTPUT_BYTES,
            cancellation: Cancellation::Cooperative,
            reconciliation: Reconciliation::NotNeeded,
            routes: routes.map(|field| (field.to_owned(), Route::Planner)).into(),
            redacted_arguments: Vec::new(),
            implementation: fault::implementation("repository_search"),
            owner: "chancery".to_owned(),
            lifecycle: Lifecycle::Current,
        }
    }

    fn plan(&self, arguments: Arguments, _: &View<'_>) -> Result<Plan<Job>, Error> {
        let at_path = |error: Error| error.at("/arguments/path");
        let scope = self
            .workspace
            .path(arguments.path.as_deref().unwrap_or("."))
            .map_err(|error| at_path(fault::path(&error)))?;
        let resolved =
            self.workspace.resolve(&scope).map_err(|error| at_path(fault::access(&error)))?;
        let limits = SearchLimits::default();
        let same_query = Arguments { after: None, limits, ..arguments.clone() };
        let query = Digest::of_json(&same_query)
            .map_err(|error| Error::new(Code::Internal, error.to_string()))?;
        let after = match &arguments.after {
            Some(token) => Some(position(token, &query)?),
            None => None,
        };
        let request = request(&arguments, resolved.real.clone(), after);
        let class = resolved.class.as_str();
        let resource = Resource::Path { path: resolved.real.to_string(), class };
        let action =
            json!({ "query": query, "scope": resolved.real.to_string(), "after": arguments.after });
        Ok(Plan {
            action,
            demands: vec![Demand { operation: "file.search", resource }],
            effect: EffectClass::Read,
            output_bytes: arguments.limits.size().output_bytes(),
            job: Job { request, query },
        })
    }

    fn run(&self, job: Job, hands: &Hands<'_>) -> Outcome<Hits> {
        let is_over = || hands.is_over();
        let admits = |path: &RepoPath, class: PathClass| {
            let resource = Resource::Path { path: path.to_string(), class: class.as_str() };
            hands.admits(&Demand { operation: "file.search", resource })
        };
        let guard = Guard { admit: &admits, stop: &is_over };
        match self.workspace.search(&job.request, &guard) {
            Ok(_) if hands.stop().is_stopped() => {
                Outcome::failed(Error::new(Code::Cancelled, "cancelled; nothing was changed"))
            }
            Ok(found) => hits(found, &job.query),
            Err(error) => Outcome::failed(fault::search(&error)),
        }
    }

    fn reconcile(&self, _: &Value) -> Reconciled {
        Reconciled::DidNotHappen
    }
}

fn request(arguments: &Arguments, scope: RepoPath, after: Option<SearchPosition>) -> SearchRequest {
    let limits = &arguments.limits;
    SearchRequest {
        query: arguments.query.clone(),
        mode: match arguments.mode {
            Mode::Literal => SearchMode::Literal,
            Mode::Regex => SearchMode::Regex,
            Mode::Filename => SearchMode::Filename,
        },
        case: match arguments.case {
            Case::Sensitive => workspace::Case::Sensitive,
            Case::Insensitive => workspace::Case::Insensitive,
            Case::Smart => workspace::Case::Smart,
        },
        output: match arguments.output {
            Wanted::Matches => workspace::Output::Matches,
            Wanted::Paths => workspace::Output::Paths,
            Wanted::Count => workspace::Output::Count,
        },
        scope,
        include: arguments.include.clone(),
        exclude: arguments.exclude.clone(),
        context_lines: arguments.context_lines.unwrap_or(0),
        max_matches: limits.matches.unwrap_or(MATCHES),
        max_output_bytes: limits.size().text_bytes().saturating_sub(COUNTS_BYTES),
        max_depth: DEPTH,
        max_files: FILES,
        excerpt_bytes: excerpt_bytes(limits.size().text_bytes(), arguments.context_lines),
        include_ignored: arguments.include_ignored,
        include_hidden: true,
        include_generated: true,
        max_file_bytes: FILE_BYTES,
        after,
    }
}

/// The longest excerpt, bytes of JSON: one match with all of its context fits an answer.
fn excerpt_bytes(text_bytes: u64, context_lines: Option<usize>) -> usize {
    let room = usize::try_from(text_bytes.saturating_sub(COUNTS_BYTES + MATCH_BYTES)).unwrap_or(0);
    let lines = context_lines.unwrap_or(0).saturating_mul(2).saturating_add(1);
    (room / lines).saturating_sub(LINE_BYTES).clamp(1, EXCERPT_BYTES)
}

fn hits(found: SearchOutcome, query: &Digest) -> Outcome<Hits> {
    let truncation = found.truncation.map(|bound| Truncation {
        field: "/result".to_owned(),
        bound: fault::search_bound(bound),
        left_out: Count::AtLeast(1),
        artifact: None,
        continuation: found.continuation.as_ref().map(|next| Value::String(token(next, query))),
    });
    let result = Hits {
        matches: found.matches.iter().map(shown).collect(),
        paths: found
            .paths
            .iter()
            .map(|hit| match hit.lines {
                Some(lines) => json!({ "path": hit.path, "lines": lines }),
                None => json!({ "path": hit.path }),
            })
            .collect(),
        count: match found.count {
            workspace::Count::Exact(count) => json!({ "exact": count }),
            workspace::Count::AtLeast(count) => json!({ "at_least": count }),
        },
        files_searched: found.files_searched,
        skipped: reasons(&found.skipped),
    };
    Outcome { truncation: truncation.into_iter().collect(), ..Outcome::succeeded(result) }
}

/// One matched line, in as few words as a planner needs.
fn shown(found: &workspace::Match) -> Value {
    let mut facts = json!({ "path": found.path, "line": found.line, "text": found.excerpt });
    let context = |lines: &[workspace::ContextLine]| {
        let shown = |line: &workspace::ContextLine| match line.clipped {
            true => json!([line.line, line.text, "clipped"]),
            false => json!([line.line, line.text]),
        };
        lines.iter().map(shown).collect::<Vec<_>>()
    };
    let optional = [
        ("column", found.hits.first().map(|hit| json!(hit.column))),
        ("hits", (found.hits_on_line > 1).then(|| json!(found.hits_on_line))),
        ("text_from_column", found.clipped.then(|| json!(found.excerpt_column.saturating_add(1)))),
        ("clipped", found.clipped.then(|| json!(true))),
        ("before", (!found.before.is_empty()).then(|| json!(context(&found.before)))),
        ("after", (!found.after.is_empty()).then(|| json!(context(&found.after)))),
    ];
    if let Some(facts) = facts.as_object_mut() {
        for (name, value) in optional {
            facts.extend(value.map(|value| (name.to_owned(), value)));
        }
    }
    facts
}

/// How many were passed over for which reason, without the reasons that did not occur.
fn reasons(skipped: &workspace::Skipped) -> Value {
    match serde_json::to_value(skipped) {
        Ok(Value::Object(mut counts)) => {
            counts.retain(|_, count| count.as_u64() != Some(0));
            Value::Object(counts)
        }
        _ => Value::Null,
    }
}

/// A continuation belongs to one query: it opens with the beginning of the query's digest (W3).
fn token(position: &SearchPosition, query: &Digest) -> String {
    let mark = query.hex().get(..16).unwrap_or_default();
    let line = position.line_start.map(|start| start.to_string()).unwrap_or_default();
    format!("{mark}:{line}:{}", position.path)
}

fn position(token: &str, query: &Digest) -> Result<SearchPosition, Error> {
    let mismatch = || {
        let message = "the continuation belongs to another query; repeat the query that it came from, or leave \
                       `after` out";
        Error::new(Code::ContinuationMismatch, message).at("/arguments/after")
    };
    let (mark, rest) = token.split_once(':').ok_or_else(mismatch)?;
    if query.hex().get(..16) != Some(mark) {
        return Err(mismatch());
    }
    let (line, path) = rest.split_once(':').ok_or_else(mismatch)?;
    let line_start = match line {
        "" => None,
        start => Some(start.parse().map_err(|_| mismatch())?),
    };
    let path = path.parse().map_err(|_| mismatch())?;
    Ok(SearchPosition { path, line_start })
}
