//! Durations in JSON: a number of seconds, exact to the millisecond.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Writes a duration.
pub(crate) fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    Seconds(*span).serialize(serializer)
}

/// Reads a duration.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    Seconds::deserialize(deserializer).map(|seconds| seconds.0)
}

struct Seconds(Duration);

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.subsec_millis() == 0 {
            return serializer.serialize_u64(self.0.as_secs());
        }
        serializer.serialize_f64(self.0.as_secs_f64())
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        let span = Duration::try_from_secs_f64(seconds).map_err(de::Error::custom)?;
        // Rounded to the nearest millisecond: a written decimal fraction comes back as it was.
        Ok(Self(Duration::from_millis(u64::try_from((span + HALF).as_millis()).unwrap_or(u64::MAX))))
    }
}

const HALF: Duration = Duration::from_micros(500);

/// A duration that may be absent.
pub(crate) mod option {
    use super::{Deserialize, Deserializer, Duration, Seconds, Serialize, Serializer};

    /// Writes a duration, or null.
    pub(crate) fn serialize<S: Serializer>(span: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        span.map(Seconds).serialize(serializer)
    }

    /// Reads a duration, or null.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<Seconds>::deserialize(deserializer)?.map(|seconds| seconds.0))
    }
}

/// A list of entries, each with its time: `[[12.5, …], [13, …]]`.
pub(crate) mod timeline {
    use super::{Deserialize, Deserializer, Duration, Seconds, Serialize, Serializer};

    /// Writes the list.
    pub(crate) fn serialize<T: Serialize, S: Serializer>(
        timeline: &[(Duration, T)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(timeline.iter().map(|(at, what)| (Seconds(*at), what)))
    }

    /// Reads the list.
    pub(crate) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(Duration, T)>, D::Error> {
        let timeline = Vec::<(Seconds, T)>::deserialize(deserializer)?;
        Ok(timeline.into_iter().map(|(at, what)| (at.0, what)).collect())
    }
}
