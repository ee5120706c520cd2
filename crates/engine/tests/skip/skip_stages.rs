//! Every stage has one next step; none can be jumped over.

use engine::call::{Approved, Authorized, Begun, Context, Normalized, Parsed, Validated};

fn validation(stage: Parsed, cx: &Context<'_>) {
    let _ = stage.normalize(cx);
}

fn normalization(stage: Validated, cx: &Context<'_>) {
    let _ = stage.authorize(cx);
}

fn authorization(stage: Normalized, cx: &Context<'_>) {
    let _ = stage.approve(cx);
}

fn approval(stage: Authorized, cx: &Context<'_>) {
    let _ = stage.begin(cx);
}

fn intent(stage: Approved, cx: &Context<'_>) {
    let _ = stage.execute(cx);
}

fn execution(stage: Begun<'_>, cx: &Context<'_>) {
    let _ = stage.bound(cx);
}

fn main() {}
