//! What a caller says that it can take (E12), the same for every tool.

use schemars::JsonSchema;
use serde::Deserialize;

/// The greatest planner output of a call, bytes of JSON.
pub(crate) const MAX_OUTPUT_BYTES: u64 = 64 << 10;

/// Planner output when the caller says nothing, bytes of JSON: about 6,000 tokens.
pub(crate) const DEFAULT_OUTPUT_BYTES: u64 = 24 << 10;

/// Room in the output that is kept for what stands around the text, bytes.
const FRAME_BYTES: u64 = 1 << 10;

/// Bounds on the answer.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    #[schemars(range(min = 512, max = 65536))]
    pub(crate) bytes: Option<u64>,
    #[schemars(range(min = 128, max = 16384))]
    pub(crate) tokens: Option<u64>,
    #[schemars(range(min = 1, max = 10000))]
    pub(crate) lines: Option<u64>,
    #[schemars(range(min = 1, max = 1000))]
    pub(crate) matches: Option<u64>,
}

impl Limits {
    /// The bound on the whole answer, bytes of JSON.
    pub(crate) fn output_bytes(&self) -> u64 {
        let by_tokens = self.tokens.map(|tokens| tokens.saturating_mul(4));
        let stated = self.bytes.into_iter().chain(by_tokens).min();
        stated.unwrap_or(DEFAULT_OUTPUT_BYTES).min(MAX_OUTPUT_BYTES)
    }

    /// The part of it that text can fill.
    pub(crate) fn text_bytes(&self) -> u64 {
        let whole = self.output_bytes();
        whole.saturating_sub(FRAME_BYTES).max(whole / 4)
    }

    /// The bound on lines, or `default`.
    pub(crate) fn lines(&self, default: u64) -> u64 {
        self.lines.unwrap_or(default)
    }

    /// The bound on matches, or `default`.
    pub(crate) fn matches(&self, default: u64) -> u64 {
        self.matches.unwrap_or(default)
    }
}
