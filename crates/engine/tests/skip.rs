//! No stage of a call can be skipped, forged, copied, read back or used twice: each such program is refused by the
//! compiler, for the reason that is pinned beside it (C2, DESIGN "The life of a call").
//!
//! A program that fails for another reason proves nothing, so the compiler's words are pinned.

#[test]
fn c2_a_stage_that_was_not_earned_does_not_compile() {
    let programs = trybuild::TestCases::new();
    programs.compile_fail("tests/skip/*.rs");
}
