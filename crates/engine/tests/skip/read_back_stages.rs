//! A stage is not read back from storage: a restart drives the stored request again from the start.

use engine::call::{Approved, Authorized, Begun, Bounded, Executed, Normalized, Parsed, Validated};

fn read_back<T: serde::de::DeserializeOwned>() {}

fn main() {
    read_back::<Parsed>();
    read_back::<Validated>();
    read_back::<Normalized>();
    read_back::<Authorized>();
    read_back::<Approved>();
    read_back::<Begun<'static>>();
    read_back::<Executed>();
    read_back::<Bounded>();
}
