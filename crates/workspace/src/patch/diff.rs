//! What differs between two contents, line by line, for the person who approves and the task that goes on.

use std::fmt::{self, Write};

use imara_diff::{
    Algorithm, BasicLineDiffPrinter, Diff, InternedInput, Interner, Token, UnifiedDiffConfig,
    UnifiedDiffPrinter,
};

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
            .unified_diff(&Printer(&input.interner), UnifiedDiffConfig::default(), &input)
            .to_string(),
    }
}

/// Prints lines as they are, and says where the last one has no ending.
struct Printer<'a>(&'a Interner<&'a str>);

impl Printer<'_> {
    fn line(&self, mut to: impl Write, mark: char, token: Token) -> fmt::Result {
        let line = self.0[token];
        write!(to, "{mark}{line}")?;
        if line.ends_with('\n') { Ok(()) } else { to.write_str("\n\\ No newline at end of file\n") }
    }
}

impl UnifiedDiffPrinter for Printer<'_> {
    fn display_header(
        &self,
        to: impl Write,
        start_before: u32,
        start_after: u32,
        len_before: u32,
        len_after: u32,
    ) -> fmt::Result {
        let basic = BasicLineDiffPrinter(self.0);
        basic.display_header(to, start_before, start_after, len_before, len_after)
    }

    fn display_context_token(&self, to: impl Write, token: Token) -> fmt::Result {
        self.line(to, ' ', token)
    }

    fn display_hunk(&self, mut to: impl Write, before: &[Token], after: &[Token]) -> fmt::Result {
        for (mark, tokens) in [('-', before), ('+', after)] {
            tokens.iter().try_for_each(|token| self.line(&mut to, mark, *token))?;
        }
        Ok(())
    }
}
