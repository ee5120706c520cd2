//! There is one way in, `Engine::drive`: no stage's file can be called, and no tool's job can be named.

use engine::call::approve::Approved;
use engine::call::parse::parse;
use engine::call::record::record;
use engine::registry::{Entry, Job, Prepared};

fn main() {
    let _ = engine::call::attempt;
    let _ = engine::call::execute::await_receipt;
}
