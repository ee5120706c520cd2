//! A stage is not copied: one decision, one effect.

use engine::call::{Approved, Authorized, Begun, Bounded, Executed, Normalized, Parsed, Validated};

fn copied<T: Clone>() {}

fn main() {
    copied::<Parsed>();
    copied::<Validated>();
    copied::<Normalized>();
    copied::<Authorized>();
    copied::<Approved>();
    copied::<Begun<'_>>();
    copied::<Executed>();
    copied::<Bounded>();
}
