//! What differs between two contents, line by line, for the person who approves and the task that goes on.

use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};

use crate::patch::error::LineRange;
use crate::text;

/// The difference of two contents.
#[derive(Debug, Default)]
pub(crate) struct Difference {
    pub(crate) added_lines: u64,
    pub(crate) removed_lines: u64,
    /// The lines that are new or changed, in the new content.
    pub(crate) changed: Vec<LineRange>,
    /// Hunks in unified form, without file headers.
    pub(crate) hunks: String,
}

/// Compares two contents; bytes that are no text are only said to differ.
pub(crate) fn compare(before: &[u8], after: &[u8]) -> Difference {
    let (Some(before), Some(after)) = (text::decode(before), text::decode(after)) else {
        let hunks = "Binary content differs\n".to_owned();
        return Difference { hunks, ..Difference::default() };
    };
    let input = InternedInput::new(before.text.as_ref(), after.text.as_ref());
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let changed = diff.hunks().filter(|hunk| !hunk.after.is_empty()).map(|hunk| LineRange {
        first: u64::from(hunk.after.start) + 1,
        last: u64::from(hunk.after.end),
    });
    Difference {
        added_lines: u64::from(diff.count_additions()),
        removed_lines: u64::from(diff.count_removals()),
        changed: changed.collect(),
        hunks: diff
            .unified_diff(
                &BasicLineDiffPrinter(&input.interner),
                UnifiedDiffConfig::default(),
                &input,
            )
            .to_string(),
    }
}
