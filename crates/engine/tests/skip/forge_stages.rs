//! A stage is made by its own file only: its fields are private and it has no constructor.

use engine::call::{Approved, Authorized, Begun, Bounded, Executed, Normalized, Parsed, Validated};

fn any<T>() -> T {
    loop {}
}

fn main() {
    let _ = Parsed { draft: any(), proposal: any() };
    let _ = Validated { draft: any(), entry: any(), arguments: any(), deadline: any() };
    let _ = Normalized { draft: any(), entry: any(), prepared: any(), deadline: any() };
    let _ = Authorized { draft: any(), entry: any(), prepared: any(), deadline: any() };
    let _ = Approved { draft: any(), entry: any(), prepared: any(), deadline: any() };
    let _ = Begun {
        draft: any(),
        entry: any(),
        job: any(),
        effect: any(),
        output_bytes: any(),
        deadline: any(),
        pass: any(),
    };
    let _ = Executed { draft: any(), entry: any(), outcome: any(), output_bytes: any() };
    let _ = Bounded { draft: any() };
}
