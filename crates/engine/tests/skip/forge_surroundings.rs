//! What a call is decided with and answered with is made by the engine only: the context, the session, the hands
//! that let a tool act, the policy that was checked, the answer that stands for a stored receipt.

use engine::call::Context;
use engine::tool::{Hands, View};
use engine::{Answer, Policy, Registry, Session};

fn any<T>() -> T {
    loop {}
}

fn main() {
    let _ = Context {
        engine: any(),
        session: any(),
        stop: any(),
        progress: any(),
        received: any(),
    };
    let _ = Session { grant: any(), registry: any(), rulings: any() };
    let _ = View { observed: any(), require: any(), now: any(), time_ms: any() };
    let _ = Hands {
        stop: any(),
        deadline: any(),
        clock: any(),
        artifacts: any(),
        progress: any(),
        admits: any(),
    };
    let _ = Policy {
        policies: any(),
        schema: any(),
        version: any(),
        reads_paths: any(),
        path: any(),
        program: any(),
        action: any(),
        task: any(),
    };
    let _ = Registry { entries: any(), revision: any() };
    let _ = Answer { receipt: any(), shown: any() };
}
