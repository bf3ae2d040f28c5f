//! Instants. The engine never reads a clock: it is handed a [`Timestamp`] and compares it with others.

use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The sign bit of the milliseconds. With it turned over, instants are in the order of the numbers that stand for them.
const SIGN: u64 = 1 << 63;

/// An instant: milliseconds since the Unix epoch, UTC. In the record and on the wire it is RFC 3339.
///
/// The milliseconds are kept with their sign bit turned over, and never as zero, which so stands for `None`: an optional instant takes
/// 8 bytes instead of 16, and there are a dozen of them for each node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(NonZeroU64);

impl Default for Timestamp {
    fn default() -> Self {
        Self::from_millis(0)
    }
}

impl Timestamp {
    /// The instant that is `millis` milliseconds after the Unix epoch. The earliest instant is that of `i64::MIN + 1`.
    pub const fn from_millis(millis: i64) -> Self {
        match NonZeroU64::new(millis.cast_unsigned() ^ SIGN) {
            Some(kept) => Self(kept),
            None => Self(NonZeroU64::MIN),
        }
    }

    /// Milliseconds since the Unix epoch.
    pub const fn millis(self) -> i64 {
        (self.0.get() ^ SIGN).cast_signed()
    }

    /// Whole seconds since the Unix epoch, rounded towards the past.
    pub const fn secs(self) -> i64 {
        self.millis().div_euclid(1000)
    }

    /// Parses RFC 3339 (`2026-11-21T14:30:00Z`, with or without a fraction), as the API server writes it.
    ///
    /// # Errors
    /// The text says what does not parse.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parsed: jiff::Timestamp =
            text.parse().map_err(|error| format!("`{text}` is not an RFC 3339 time: {error}"))?;
        Ok(Self::from_millis(parsed.as_millisecond()))
    }

    /// RFC 3339 with whole seconds, as Kubernetes' `metav1.Time` is written.
    pub fn to_rfc3339(self) -> String {
        self.format("%Y-%m-%dT%H:%M:%SZ")
    }

    /// RFC 3339 with six digits of fraction, as Kubernetes' `metav1.MicroTime` (Lease times) is written.
    pub fn to_rfc3339_micros(self) -> String {
        self.format("%Y-%m-%dT%H:%M:%S.%6fZ")
    }

    fn format(self, pattern: &str) -> String {
        jiff::Timestamp::from_millisecond(self.millis()).unwrap_or_default().strftime(pattern).to_string()
    }

    /// How long ago `earlier` was; zero when it lies in the future.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.millis().saturating_sub(earlier.millis())).unwrap_or(0))
    }
}

impl std::ops::Add<Duration> for Timestamp {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self::from_millis(self.millis().saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    }
}

impl std::ops::Sub<Duration> for Timestamp {
    type Output = Self;
    fn sub(self, span: Duration) -> Self {
        Self::from_millis(self.millis().saturating_sub(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    }
}

/// An instant in a text that is made once and read for a while, in which an age would stand still: `13:57 UTC`. If that is no longer
/// clear, the day is added: `2026-11-20 13:57 UTC`.
#[derive(Clone, Copy, Debug)]
pub struct UtcTime {
    /// The instant.
    pub at: Timestamp,
    /// When the text is made.
    pub now: Timestamp,
}

impl fmt::Display for UtcTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_lately = self.now.since(self.at) < Duration::from_secs(12 * 3600);
        f.write_str(&self.at.format(if is_lately { "%H:%M UTC" } else { "%Y-%m-%d %H:%M UTC" }))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.format("%Y-%m-%dT%H:%M:%S.%3fZ"))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_rfc3339())
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.format("%Y-%m-%dT%H:%M:%S.%3fZ"))
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(de::Error::custom)
    }
}

/// A duration as a person reads it at a glance: `35s`, `4m`, `2h`, `3d`; never more than four characters below 100 days.
///
/// Above a minute the seconds are left out, so that a screen full of ages does not change every second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShortDuration(pub Duration);

impl fmt::Display for ShortDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secs = self.0.as_secs();
        let (value, unit) = match secs {
            0..60 => (secs, 's'),
            60..3_600 => (secs / 60, 'm'),
            3_600..172_800 => (secs / 3_600, 'h'),
            _ => (secs / 86_400, 'd'),
        };
        write!(f, "{value}{unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_what_the_api_server_writes() {
        let at = Timestamp::parse("2026-11-21T14:30:00Z").unwrap();
        assert_eq!(at.to_rfc3339(), "2026-11-21T14:30:00Z");
        assert_eq!(at.to_rfc3339_micros(), "2026-11-21T14:30:00.000000Z");
        assert_eq!(Timestamp::parse("2026-11-21T14:30:00.123456Z").unwrap().millis() - at.millis(), 123);
        assert!(Timestamp::parse("yesterday").unwrap_err().contains("yesterday"));
    }

    #[test]
    fn an_instant_that_may_be_missing_takes_no_more_than_one_that_is_there() {
        assert_eq!(size_of::<Option<Timestamp>>(), 8);
        let ascending = [i64::MIN + 1, -1_500, -1, 0, 1, 1_500, i64::MAX];
        let instants = ascending.map(Timestamp::from_millis);
        assert_eq!(instants.map(Timestamp::millis), ascending);
        assert!(instants.is_sorted() && Timestamp::default().millis() == 0);
        assert_eq!(Timestamp::from_millis(i64::MIN), instants[0], "the earliest");
        assert_eq!((instants[0] - Duration::MAX, instants[6] + Duration::MAX), (instants[0], instants[6]));
    }

    #[test]
    fn short_durations_keep_one_unit() {
        for (secs, want) in [(0, "0s"), (59, "59s"), (61, "1m"), (3_599, "59m"), (7_200, "2h"), (172_800, "2d")] {
            assert_eq!(ShortDuration(Duration::from_secs(secs)).to_string(), want);
        }
    }
}
