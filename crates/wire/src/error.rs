//! The published error codes, and what a planner may do after each.
//!
//! A code is stable: its meaning never changes and no code is reused. Nothing may match on a message.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a planner may do next (E9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Next {
    /// The call can never succeed; do not send it again.
    Never,
    /// Send another call with the arguments corrected as the error says.
    ChangeArguments,
    /// The same call may be sent again unchanged.
    RetrySame,
    /// What became of the effect must be settled before anything like it is tried again.
    ReconcileFirst,
    /// A person has to act first.
    AskHuman,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident $text:literal $next:ident;)+) => {
        /// A stable error code (E9). The wire form is the snake-case name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum Code {
            $($(#[doc = $doc])+ #[serde(rename = $text)] $name,)+
        }

        impl Code {
            /// Every code, in the order of the published list.
            pub const ALL: &'static [Code] = &[$(Code::$name,)+];

            /// The wire form.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$name => $text,)+ }
            }

            /// What a planner may do after it.
            #[must_use]
            pub fn next(self) -> Next {
                match self { $(Code::$name => Next::$next,)+ }
            }

            /// What the code means, one sentence.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self { $(Code::$name => concat!($($doc),+),)+ }
            }
        }
    };
}

codes! {
    /// The message is not JSON.
    MalformedJson "malformed_json" ChangeArguments;
    /// The message is larger than the runtime reads.
    MessageTooLarge "message_too_large" ChangeArguments;
    /// The message nests deeper than the runtime reads.
    MessageTooDeep "message_too_deep" ChangeArguments;
    /// One object holds the same member twice.
    DuplicateField "duplicate_field" ChangeArguments;
    /// The message holds text that is not Unicode.
    InvalidUnicode "invalid_unicode" ChangeArguments;
    /// A number would lose digits on its way (past 2^53 − 1).
    NumberOutOfRange "number_out_of_range" ChangeArguments;
    /// A member of the message is not known.
    UnknownField "unknown_field" ChangeArguments;
    /// A required member of the message is missing.
    MissingField "missing_field" ChangeArguments;
    /// A member of the message has the wrong type or form.
    InvalidField "invalid_field" ChangeArguments;
    /// The planner sent a member that only the authenticated session supplies.
    IdentityRefused "identity_refused" ChangeArguments;
    /// The protocol version is not supported.
    UnsupportedProtocolVersion "unsupported_protocol_version" ChangeArguments;
    /// The task's registry has no tool of this name.
    UnknownTool "unknown_tool" ChangeArguments;
    /// The task's registry has the tool, but not in this version.
    UnsupportedToolVersion "unsupported_tool_version" ChangeArguments;
    /// The arguments do not fit the tool's schema.
    InvalidArguments "invalid_arguments" ChangeArguments;
    /// Another call of the task has the same call id.
    CallIdReused "call_id_reused" ChangeArguments;
    /// The idempotency key was used for another action.
    IdempotencyConflict "idempotency_conflict" ChangeArguments;
    /// The call repeats one that failed or was denied, and nothing has changed since.
    RepeatedCall "repeated_call" ChangeArguments;
    /// The task has repeated refused calls too often and is stopped until a person looks.
    RetryStorm "retry_storm" AskHuman;
    /// A path is not one that the workspace can hold.
    InvalidPath "invalid_path" ChangeArguments;
    /// A path leads out of the workspace.
    OutsideWorkspace "outside_workspace" Never;
    /// There is no such file or directory.
    NotFound "not_found" ChangeArguments;
    /// The target exists already.
    AlreadyExists "already_exists" ChangeArguments;
    /// The target is a device, pipe, socket or another kind that the operation does not take.
    WrongKind "wrong_kind" ChangeArguments;
    /// The file shares its content with another name, maybe outside the workspace.
    HardLinked "hard_linked" AskHuman;
    /// The range lies outside the file, or is empty.
    InvalidRange "invalid_range" ChangeArguments;
    /// The search pattern is not valid.
    InvalidPattern "invalid_pattern" ChangeArguments;
    /// The continuation belongs to another request or another state of the workspace.
    ContinuationMismatch "continuation_mismatch" ChangeArguments;
    /// The task has not read the file that it wants to change.
    NotRead "not_read" ChangeArguments;
    /// The file has changed since the state that the change is based on.
    Stale "stale" ChangeArguments;
    /// The text to replace does not occur.
    NoMatch "no_match" ChangeArguments;
    /// The text to replace occurs more often than the change says.
    AmbiguousMatch "ambiguous_match" ChangeArguments;
    /// The change would change nothing.
    NoChange "no_change" ChangeArguments;
    /// The patch text is not in the stated format.
    InvalidPatch "invalid_patch" ChangeArguments;
    /// The file is larger than the operation takes.
    FileTooLarge "file_too_large" ChangeArguments;
    /// Another writer changed the file at the moment of the change; everything was put back.
    Conflict "conflict" RetrySame;
    /// A change could neither be finished nor undone; the workspace needs repair.
    NeedsRepair "needs_repair" AskHuman;
    /// Policy does not allow the action.
    Denied "denied" Never;
    /// The session's capability does not cover the action.
    NotGranted "not_granted" AskHuman;
    /// Policy wants a person's approval, and there is none.
    ApprovalRequired "approval_required" AskHuman;
    /// The deadline passed before the effect began.
    DeadlineExpired "deadline_expired" ChangeArguments;
    /// The program could not be started.
    CannotStart "cannot_start" ChangeArguments;
    /// The command ended with an exit code other than zero.
    CommandFailed "command_failed" ChangeArguments;
    /// The command made what would make other programs run code; it was kept under another name.
    HeldBack "held_back" AskHuman;
    /// The command was ended by a signal that the runtime did not send.
    CommandSignaled "command_signaled" ChangeArguments;
    /// The execution reached its time limit and was ended.
    TimedOut "timed_out" ChangeArguments;
    /// The execution was ended because its output passed the hard bound.
    OutputLimit "output_limit" ChangeArguments;
    /// The caller cancelled the call.
    Cancelled "cancelled" RetrySame;
    /// The machine cannot enforce the isolation that the action needs.
    IsolationMissing "isolation_missing" AskHuman;
    /// Whether the effect happened is not known.
    Ambiguous "ambiguous" ReconcileFirst;
    /// The runtime ended before the effect happened; nothing was changed.
    Interrupted "interrupted" RetrySame;
    /// Part of what was asked could not be done.
    Partial "partial" ChangeArguments;
    /// The machine refused an operation, such as a full disk or missing permission.
    Machine "machine" AskHuman;
    /// The ledger cannot record, so nothing was done.
    LedgerUnavailable "ledger_unavailable" AskHuman;
    /// The runtime has a defect; the effect, if one had begun, is ambiguous.
    Internal "internal" AskHuman;
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An error as it travels (E9): a stable code, one sentence for a person, what may be done next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(deny_unknown_fields)]
#[error("{message} ({code})")]
pub struct Error {
    /// The stable code.
    pub code: Code,
    /// One sentence for a person; never parsed.
    pub message: String,
    /// What a planner may do next.
    pub next: Next,
    /// Where in the message, as a JSON Pointer (RFC 6901).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// Facts that help to correct the call, such as candidates or the current digest.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
}

impl Error {
    /// An error with the code's own advice.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Error {
        Error {
            code,
            message: message.into(),
            next: code.next(),
            pointer: None,
            details: Map::new(),
        }
    }

    /// The same error, placed at a JSON Pointer.
    #[must_use]
    pub fn at(self, pointer: &str) -> Error {
        Error { pointer: Some(pointer.to_owned()), ..self }
    }

    /// The same error with one more fact.
    #[must_use]
    pub fn with(mut self, name: &str, fact: impl Into<Value>) -> Error {
        self.details.insert(name.to_owned(), fact.into());
        self
    }

    /// The same error with other advice than its code's own.
    #[must_use]
    pub fn advise(self, next: Next) -> Error {
        Error { next, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e9_every_code_has_one_wire_name_and_advice() {
        let names: std::collections::BTreeSet<_> = Code::ALL.iter().map(|c| c.as_str()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        for code in Code::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
            assert!(code.meaning().ends_with('.'), "{code} has no sentence");
        }
    }
}
