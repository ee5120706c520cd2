//! Points in time as they travel: RFC 3339 in UTC with millisecond precision.
//!
//! It never reads a clock; the engine's clock port does.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A point in time, milliseconds since the Unix epoch, written as RFC 3339 (`2026-12-01T02:18:44.000Z`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    unix_ms: u64,
}

/// A text that is not an RFC 3339 time between 1970 and 9999.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an RFC 3339 time such as `2026-12-01T02:18:44.000Z`")]
pub struct InvalidTimestamp(String);

impl Timestamp {
    /// The last millisecond that RFC 3339 can write (end of the year 9999).
    pub const MAX: Timestamp = Timestamp { unix_ms: 253_402_300_799_999 };

    /// From milliseconds since the Unix epoch; later than year 9999 is held at the end of it.
    #[must_use]
    pub fn from_unix_ms(unix_ms: u64) -> Timestamp {
        Timestamp { unix_ms: unix_ms.min(Timestamp::MAX.unix_ms) }
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub fn unix_ms(self) -> u64 {
        self.unix_ms
    }

    /// This time plus `ms` milliseconds, held at [`Timestamp::MAX`].
    #[must_use]
    pub fn plus_ms(self, ms: u64) -> Timestamp {
        Timestamp::from_unix_ms(self.unix_ms.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to this time; zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Timestamp) -> u64 {
        self.unix_ms.saturating_sub(earlier.unix_ms)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = i64::try_from(self.unix_ms).unwrap_or(i64::MAX);
        match jiff::Timestamp::from_millisecond(ms) {
            Ok(time) => write!(f, "{time:.3}"),
            Err(_) => f.write_str("9999-12-31T23:59:59.999Z"),
        }
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    fn from_str(text: &str) -> Result<Timestamp, InvalidTimestamp> {
        let invalid = || InvalidTimestamp(text.chars().take(64).collect());
        let time: jiff::Timestamp = text.parse().map_err(|_| invalid())?;
        let unix_ms = u64::try_from(time.as_millisecond()).map_err(|_| invalid())?;
        Ok(Timestamp::from_unix_ms(unix_ms))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for Timestamp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "format": "date-time" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_round_trip_with_milliseconds() {
        let time = Timestamp::from_unix_ms(1_796_091_524_007);
        assert_eq!(time.to_string(), "2026-12-01T02:18:44.007Z");
        assert_eq!(time.to_string().parse(), Ok(time));
        assert!("yesterday".parse::<Timestamp>().is_err());
    }
}
