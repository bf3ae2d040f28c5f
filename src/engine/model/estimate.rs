//! Estimates of how long something will take. Each is a range, and is called an estimate wherever it is shown.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

/// Between so long and so long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeRange {
    /// If it goes as it does where it goes quickly.
    pub least: Duration,
    /// If it goes as it does where it goes slowly.
    pub most: Duration,
}

impl TimeRange {
    /// Rounded to what can be told of it, so that it does not change all the time: to ten seconds, minutes, five minutes.
    pub fn rounded(self) -> Self {
        let grain: u64 = match self.most.as_secs() {
            0..120 => 10,
            120..5_400 => 60,
            _ => 300,
        };
        let round = |span: Duration| Duration::from_secs((span.as_secs() + grain / 2) / grain * grain);
        Self { least: round(self.least), most: round(self.most) }
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

/// When the nodes of a rollout will be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase", tag = "is", rename_all_fields = "camelCase")]
pub enum RolloutEstimate {
    /// There is nothing to compute it from, or nothing is left.
    #[default]
    None,
    /// The rollout does not move, so nothing can be said.
    Blocked {
        /// By what.
        by: EstimateBlocker,
    },
    /// As long as it goes on as it went so far.
    Known {
        /// What the step lets go; `None` where that is all.
        step: Option<TimeRange>,
        /// All nodes that can be updated; holds between steps come on top.
        rollout: TimeRange,
        /// From how many nodes that is computed.
        nodes: u32,
    },
}

/// Why a rollout that has begun does not move.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum EstimateBlocker {
    /// Somebody paused it.
    Paused,
    /// It halted.
    Halted,
    /// Nothing more may go under the present partition and selector, or nobody lets it go.
    Held,
    /// As many nodes are down for good as may be down.
    BudgetUsedUp,
}

/// `~12–18m this step, ~1h10–1h50 all`; `no estimate while it is paused`; empty where there is nothing to say.
impl fmt::Display for RolloutEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Blocked { by } => write!(f, "no estimate while {by}"),
            Self::Known { step: Some(step), rollout, .. } => write!(f, "{step} this step, {rollout} all"),
            Self::Known { step: None, rollout, .. } => write!(f, "{rollout} left"),
        }
    }
}

impl fmt::Display for EstimateBlocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Paused => "it is paused",
            Self::Halted => "it is halted",
            Self::Held => "it is held",
            Self::BudgetUsedUp => "the budget is used up",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_as_fine_as_they_are_short() {
        for (least, most, want) in [
            (0, 4, "~0s"),
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
