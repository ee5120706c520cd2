//! A stage does not come from nothing.

use engine::call::{Approved, Authorized, Begun, Bounded, Executed, Normalized, Parsed, Validated};

fn from_nothing<T: Default>() {}

fn main() {
    from_nothing::<Parsed>();
    from_nothing::<Validated>();
    from_nothing::<Normalized>();
    from_nothing::<Authorized>();
    from_nothing::<Approved>();
    from_nothing::<Begun<'_>>();
    from_nothing::<Executed>();
    from_nothing::<Bounded>();
}
