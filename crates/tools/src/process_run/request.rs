//! The arguments of `process_run`, and the argument vector that they stand for (X1).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use wire::{Code, Error};

use crate::limits::Limits;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// Program and arguments.
    pub(super) argv: Option<Vec<String>>,
    /// Instead of `argv`.
    pub(super) shell: Option<Shell>,
    /// In the workspace.
    pub(super) cwd: Option<String>,
    /// Values are not recorded.
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    /// Else it is empty.
    pub(super) stdin: Option<String>,
    /// Default 120000.
    #[schemars(range(min = 1, max = 3_600_000))]
    pub(super) timeout_ms: Option<u64>,
    /// False: the workspace is read-only.
    pub(super) writable: Option<bool>,
    #[serde(default)]
    pub(super) limits: Limits,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Shell {
    script: String,
    /// Default `sh`.
    interpreter: Option<Interpreter>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Interpreter {
    Sh,
    Bash,
}

/// The argument vector, and whether a shell interprets part of it.
pub(super) fn argv(arguments: &Arguments) -> Result<(Vec<String>, bool), Error> {
    let invalid = |message: &str| Err(Error::new(Code::InvalidArguments, message).at("/arguments"));
    let (argv, shell) = match (&arguments.argv, &arguments.shell) {
        (Some(argv), None) => (argv.clone(), false),
        (None, Some(Shell { script, interpreter })) => {
            let program = match interpreter.unwrap_or(Interpreter::Sh) {
                Interpreter::Sh => "sh",
                Interpreter::Bash => "bash",
            };
            (vec![program.to_owned(), "-c".to_owned(), script.clone()], true)
        }
        _ => return invalid("give either `argv` or `shell`"),
    };
    if argv.first().is_none_or(String::is_empty) {
        return invalid("`argv` must begin with a program");
    }
    let environment = arguments.env.iter().flat_map(|(name, value)| [name, value]);
    if argv.iter().chain(environment).any(|text| text.contains('\0')) {
        return invalid("arguments and environment cannot hold a NUL character");
    }
    let misnamed = |name: &String| name.is_empty() || name.contains('=');
    if arguments.env.keys().any(misnamed) {
        return invalid("a variable's name cannot be empty or hold `=`");
    }
    Ok((argv, shell))
}
