//! A stage is consumed by the next: no decision is spent twice and no effect is begun twice.

use engine::call::{Approved, Authorized, Begun, Context, Executed, Normalized, Parsed, Validated};

fn parsed(stage: Parsed, cx: &Context<'_>) {
    let _ = stage.validate(cx);
    let _ = stage.validate(cx);
}

fn validated(stage: Validated, cx: &Context<'_>) {
    let _ = stage.normalize(cx);
    let _ = stage.normalize(cx);
}

fn normalized(stage: Normalized, cx: &Context<'_>) {
    let _ = stage.authorize(cx);
    let _ = stage.authorize(cx);
}

fn authorized(stage: Authorized, cx: &Context<'_>) {
    let _ = stage.approve(cx);
    let _ = stage.approve(cx);
}

fn approved<'a>(stage: Approved, cx: &Context<'a>) {
    let _ = stage.begin(cx);
    let _ = stage.begin(cx);
}

fn begun(stage: Begun<'_>, cx: &Context<'_>) {
    let _ = stage.execute(cx);
    let _ = stage.execute(cx);
}

fn executed(stage: Executed, cx: &Context<'_>) {
    let _ = stage.bound(cx);
    let _ = stage.bound(cx);
}

fn main() {}
