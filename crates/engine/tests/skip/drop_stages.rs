//! A stage that is left lying is told: an open intent without an execution, an outcome without a receipt.

#![deny(unused_must_use)]

use engine::call::{Begun, Bounded, Context, Executed, Refused};

fn begun() -> Begun<'static> {
    loop {}
}

fn bounded() -> Bounded {
    loop {}
}

fn refused() -> Refused {
    loop {}
}

fn forgotten(executed: Executed, cx: &Context<'_>) {
    begun();
    executed.bound(cx);
    bounded();
    refused();
}

fn main() {}
