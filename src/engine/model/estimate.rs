//! Durations of steps so far, and estimates of how long steps will take. Each estimate is a range, and is called an estimate wherever
//! it is shown.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::time::ShortDuration;

/// The most nodes of a site from which the duration of the next ones is estimated: those that became available last.
pub const MEASURED_OF_SITE: usize = 24;

/// A range of durations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeRange {
    /// The duration if it goes as on the quick nodes.
    pub least: Duration,
    /// The duration if it goes as on the slow nodes.
    pub most: Duration,
}

impl TimeRange {
    /// Rounded to a meaningful precision, so that it does not change all the time: to ten seconds, minutes, five minutes.
    pub fn rounded(self) -> Self {
        let grain: u64 = match self.most.as_secs() {
            0..120 => 10,
            120..5_400 => 60,
            _ => 300,
        };
        let round = |span: Duration| {
            // A bound below a minute is rounded to ten seconds, so that it is not shown as zero beside a bound of hours.
            let grain = if span.as_secs() < 60 { 10 } else { grain };
            Duration::from_secs((span.as_secs() + grain / 2) / grain * grain)
        };
        // A remaining time above zero is never shown as zero.
        let least_said = if self.most.is_zero() { 0 } else { grain };
        Self { least: round(self.least), most: round(self.most).max(Duration::from_secs(least_said)) }
    }
}

/// `~40–70s`, `~12–18m`, `~1h10–1h50`.
impl fmt::Display for TimeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = (self.least.as_secs(), self.most.as_secs());
        let hours = |secs: u64| format!("{}h{:02}", secs / 3_600, secs % 3_600 / 60);
        match most {
            0..120 if least == most => write!(f, "~{most}s"),
            0..120 => write!(f, "~{least}–{most}s"),
            120..5_400 if least / 60 == most / 60 => write!(f, "~{}m", most / 60),
            120..5_400 if (1..60).contains(&least) => write!(f, "~{least}s–{}m", most / 60),
            120..5_400 => write!(f, "~{}–{}m", least / 60, most / 60),
            _ if hours(least) == hours(most) => write!(f, "~{}", hours(most)),
            _ => write!(f, "~{}–{}", hours(least), hours(most)),
        }
    }
}

/// In seconds: `{"leastSeconds": 720, "mostSeconds": 1080}`.
impl Serialize for TimeRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct SecondsJson {
            least_seconds: u64,
            most_seconds: u64,
        }
        SecondsJson { least_seconds: self.least.as_secs(), most_seconds: self.most.as_secs() }.serialize(serializer)
    }
}

/// How long something took on several nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeSpread {
    /// Half of the nodes took at most this long (the median).
    pub p50: Duration,
    /// 19 of 20 nodes took at most this long.
    pub p95: Duration,
    /// How many nodes there are; at least three.
    pub nodes: u32,
}

/// In milliseconds: `{"p50Millis": 18000, "p95Millis": 41000, "nodes": 37}`.
impl Serialize for TimeSpread {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct MillisJson {
            p50_millis: u128,
            p95_millis: u128,
            nodes: u32,
        }
        MillisJson { p50_millis: self.p50.as_millis(), p95_millis: self.p95.as_millis(), nodes: self.nodes }
            .serialize(serializer)
    }
}

/// `p50 18s p95 41s`
impl fmt::Display for TimeSpread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Both are in one unit, so that they can be compared.
        let longest = whole_secs(self.p95.max(self.p50));
        let words = |took: Duration| match longest.as_secs() {
            0..600 => format!("{}s", whole_secs(took).as_secs()),
            _ => ShortDuration(whole_secs(took)).to_string(),
        };
        write!(f, "p50 {} p95 {}", words(self.p50), words(self.p95))
    }
}

/// Rounded to the nearest second; a duration above zero is at least 1 s.
pub(crate) fn whole_secs(took: Duration) -> Duration {
    let least = u64::from(!took.is_zero());
    Duration::from_secs((took + Duration::from_millis(500)).as_secs().max(least))
}

/// How long the steps of an update took on the nodes that have finished them; `None` if these nodes are too few to tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdateTimes {
    /// Pulls of the target's image; of several images, the one that takes longest. The time for which a pull waited for others of its
    /// node is included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull: Option<TimeSpread>,
    /// From the start of the last container until the pod was ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<TimeSpread>,
}

/// `pull p50 18s p95 41s   start p50 4s p95 9s`; empty if neither is known.
impl fmt::Display for UpdateTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Pods without a probe are ready when they run; a start time that short is left out.
        match (self.pull, self.start.filter(|start| start.p95 >= Duration::from_secs(1))) {
            (Some(pull), Some(start)) => write!(f, "pull {pull}   start {start}"),
            (Some(pull), None) => write!(f, "pull {pull}"),
            (None, Some(start)) => write!(f, "start {start}"),
            (None, None) => Ok(()),
        }
    }
}

/// When the nodes of a rollout will be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase", tag = "is", rename_all_fields = "camelCase")]
pub enum RolloutEstimate {
    /// There is nothing to compute it from, or nothing is left.
    #[default]
    None,
    /// The rollout does not move, so nothing can be said.
    Blocked {
        /// The reason.
        by: EstimateBlocker,
    },
    /// How long it takes if it goes on as it went so far.
    Known {
        /// The time for the nodes that the step lets go; `None` if these are all nodes.
        step: Option<TimeRange>,
        /// The time for all nodes that can be updated, under a selector for those that it matches; holds between steps come on top.
        rollout: TimeRange,
        /// Whether `rollout` is about the nodes of a selector only: the others do not go before it is lifted.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        of_selector: bool,
        /// From how many nodes this is computed.
        nodes: u32,
        /// In how many sites nodes are left and none is done yet. How long these take is not known, and they are not counted.
        #[serde(skip_serializing_if = "is_zero")]
        unmeasured_sites: u32,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Why a rollout that has begun does not move.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum EstimateBlocker {
    /// Somebody paused it.
    Paused,
    /// It halted.
    Halted,
    /// No further node may go under the present partition and selector, or nobody lets it go.
    Held,
    /// Nobody drives.
    Undriven,
    /// Who drives is not seen: its driver has not renewed its lease for longer than that lasts, or Leases may not be read.
    DriverUnseen,
    /// As many nodes are down for good as may be down.
    BudgetUsedUp,
    /// The new revision is in trouble somewhere, and no serving pod is replaced until that is over.
    Trouble,
    /// Nodes that may be updated need images that nothing brings.
    Images,
}

/// `step in ~12–18m, all in ~1h10–1h50`; `all in ~12–18m or more` where that is the least that can be told; `all canaries in ~12–18m` under a selector; `no estimate while it is paused`; empty where there is nothing to say.
impl fmt::Display for RolloutEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Blocked { by } => write!(f, "no estimate while {by}"),
            Self::Known { step, rollout, of_selector, unmeasured_sites, .. } => {
                let more = if *unmeasured_sites > 0 { " or more" } else { "" };
                if let Some(step) = step {
                    write!(f, "step in {step}{more}, ")?;
                }
                let all = if *of_selector { "all canaries" } else { "all" };
                write!(f, "{all} in {rollout}{more}")
            }
        }
    }
}

impl fmt::Display for EstimateBlocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Paused => "it is paused",
            Self::Halted => "it is halted",
            Self::Held => "it is held",
            Self::Undriven => "nobody drives",
            Self::DriverUnseen => "nobody is seen driving",
            Self::BudgetUsedUp => "the budget is used up",
            Self::Trouble => "nodes are in trouble",
            Self::Images => "nothing brings the images",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_as_fine_as_they_are_short() {
        for (least, most, want) in [
            (0, 0, "~0s"),
            (0, 4, "~0–10s"),
            (43, 68, "~40–70s"),
            (61, 62, "~60s"),
            (90, 200, "~2–3m"),
            (720, 1_080, "~12–18m"),
            (700, 710, "~12m"),
            (4_200, 6_600, "~1h10–1h50"),
            (7_190, 7_210, "~2h00"),
        ] {
            let range = TimeRange { least: Duration::from_secs(least), most: Duration::from_secs(most) };
            assert_eq!(range.rounded().to_string(), want, "{least} {most}");
        }
    }
}
