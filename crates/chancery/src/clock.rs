//! The machine's clock behind the engine's port.

use std::time::{SystemTime, UNIX_EPOCH};

use engine::ports::Clock;
use wire::Timestamp;

/// The time of day of this machine.
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // A clock before 1970 stands at 1970: deadlines then expire at once, which is the closed side.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_unix_ms(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}
