//! Why a file was not searched, and the counters of it.

use crate::search::Skipped;

/// The first reason that applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    Ignored,
    Hidden,
    VersionControl,
    Binary,
    Generated,
    Oversized,
    Denied,
    Link,
    Special,
    Unreadable,
    Undecodable,
    TooDeep,
}

impl Skipped {
    pub(super) fn count(&mut self, reason: Reason) {
        let counter = match reason {
            Reason::Ignored => &mut self.ignored,
            Reason::Hidden => &mut self.hidden,
            Reason::VersionControl => &mut self.version_control,
            Reason::Binary => &mut self.binary,
            Reason::Generated => &mut self.generated,
            Reason::Oversized => &mut self.oversized,
            Reason::Denied => &mut self.denied,
            Reason::Link => &mut self.links,
            Reason::Special => &mut self.special,
            Reason::Unreadable => &mut self.unreadable,
            Reason::Undecodable => &mut self.undecodable,
            Reason::TooDeep => &mut self.too_deep,
        };
        *counter += 1;
    }
}
