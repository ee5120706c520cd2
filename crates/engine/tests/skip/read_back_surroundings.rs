//! What the engine vouches for is not read back from a text, and does not come from nothing.

use engine::call::Context;
use engine::tool::{Hands, View};
use engine::{Answer, Engine, Policy, Registry, Session};

fn read_back<T: serde::de::DeserializeOwned>() {}

fn from_nothing<T: Default>() {}

fn main() {
    read_back::<Session>();
    read_back::<Answer>();
    read_back::<Policy>();
    read_back::<Registry>();
    from_nothing::<Context<'_>>();
    from_nothing::<Session>();
    from_nothing::<View<'_>>();
    from_nothing::<Hands<'_>>();
    from_nothing::<Answer>();
    from_nothing::<Engine>();
    from_nothing::<Policy>();
    from_nothing::<Registry>();
}
