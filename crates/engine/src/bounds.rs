//! Every limit of the engine in one place, with its unit in its name.

use wire::strict;

/// The greatest size of one message from a planner, and its greatest nesting.
pub const MESSAGE: strict::Bounds = strict::Bounds { bytes: 4 << 20, depth: 32 };

/// The greatest number of demands that one plan may make.
pub const DEMANDS: usize = 512;

/// A call that failed this often unchanged, with no effect in between, is refused.
pub const FAILED_REPEATS: u32 = 2;

/// A call that was denied or rejected this often unchanged is refused.
pub const REFUSED_REPEATS: u32 = 1;

/// After so many refused repeats a task is stopped until a person looks (F11).
pub const REPEATS_PER_TASK: u32 = 25;

/// The greatest number of executions at one time; more wait in the queue.
pub const EXECUTIONS: usize = 64;

/// The longest that a call waits for the receipt of the same call id, milliseconds.
pub const ATTACH_MS: u64 = 600_000;

/// The longest that one wait sleeps before it looks at the clock again, milliseconds.
pub const WAIT_SLICE_MS: u64 = 100;

/// The least planner output that a caller can ask for, bytes of JSON.
pub const MIN_OUTPUT_BYTES: u64 = 512;

/// Bytes of JSON that are counted as one token (an estimate, rounded up).
pub const BYTES_PER_TOKEN: u64 = 4;

/// The most open intents that one start-up settles; more are left for the next look.
pub const RECOVERIES: usize = 10_000;
