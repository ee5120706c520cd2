//! What a caller says that it can take (E12), the same for every tool.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The greatest planner output of a call, bytes of JSON.
pub(crate) const MAX_OUTPUT_BYTES: u64 = 64 << 10;

/// Planner output when the caller says nothing, bytes of JSON: about 6,000 tokens.
pub(crate) const DEFAULT_OUTPUT_BYTES: u64 = 24 << 10;

/// Room in the output that is kept for what stands around a tool's own part: status, receipt, cuts; bytes of JSON.
const FRAME_BYTES: u64 = 1 << 10;

// A bound on the answer; its name says it, so the schema spends no words on it.
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    #[schemars(range(min = 2048, max = 65536))]
    bytes: Option<u64>,
    #[schemars(range(min = 512, max = 16384))]
    tokens: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadLimits {
    #[schemars(range(min = 2048, max = 65536))]
    bytes: Option<u64>,
    #[schemars(range(min = 512, max = 16384))]
    tokens: Option<u64>,
    #[schemars(range(min = 1, max = 10000))]
    pub(crate) lines: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchLimits {
    #[schemars(range(min = 2048, max = 65536))]
    bytes: Option<u64>,
    #[schemars(range(min = 512, max = 16384))]
    tokens: Option<u64>,
    #[schemars(range(min = 1, max = 1000))]
    pub(crate) matches: Option<u64>,
}

impl ReadLimits {
    /// The bounds on size.
    pub(crate) fn size(&self) -> Limits {
        Limits { bytes: self.bytes, tokens: self.tokens }
    }
}

impl SearchLimits {
    /// The bounds on size.
    pub(crate) fn size(&self) -> Limits {
        Limits { bytes: self.bytes, tokens: self.tokens }
    }
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
        whole.saturating_sub(FRAME_BYTES)
    }
}

/// What a value takes in an answer, bytes of JSON.
pub(crate) fn json_bytes(value: &impl Serialize) -> u64 {
    serde_json::to_string(value).map_or(u64::MAX, |text| text.len().try_into().unwrap_or(u64::MAX))
}
