//! The pace of a site: how many of its nodes may pull at once if that follows what its link bears, and why.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Str;
use super::site::site_name;

/// Annotation of the Lease: the [`PacedSite`]s of the driver, as JSON, for other processes to show. No decision reads it.
pub const PACE: &str = "rolldeck.io/pace";
/// The most sites for which it is written.
pub const PACED_SITES: usize = 200;

/// How many nodes of a site may pull at once by its pace, and why.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PacedSite {
    /// The site; empty for nodes without the label that names it.
    pub site: Str,
    /// How many nodes may pull. Limits that operators set hold beside it.
    pub limit: u32,
    /// The reason for this number.
    pub why: PaceReason,
}

/// Reads the annotation; an unreadable one counts as an empty one.
pub fn parse_pace(text: Option<&str>) -> Arc<[PacedSite]> {
    text.and_then(|text| serde_json::from_str::<Vec<PacedSite>>(text).ok()).unwrap_or_default().into()
}

/// The text of the annotation; `None`: there is to be none.
pub fn pace_text(sites: &[PacedSite]) -> Option<String> {
    (!sites.is_empty()).then(|| serde_json::to_string(sites).ok()).flatten()
}

impl PacedSite {
    /// The sites in order: first those that were halved last, then the others; each group by name.
    pub fn by_news(sites: &[Self]) -> Vec<&Self> {
        let mut sites: Vec<&Self> = sites.iter().collect();
        sites.sort_by_key(|site| (!site.why.is_halved(), &site.site));
        sites
    }
}

impl PaceReason {
    /// Whether this is a reason for which the limit was halved.
    pub fn is_halved(&self) -> bool {
        match self {
            Self::NoFaster { .. } | Self::Slower { .. } | Self::Flapped { .. } => true,
            Self::Begins | Self::Raised { .. } | Self::AtMost { .. } | Self::Full { .. } => false,
        }
    }
}

/// `hall-a 3 at once, raised: 3 finished, 11 MB/s`.
impl fmt::Display for PacedSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { site, limit, why } = self;
        write!(f, "{} {limit} at once, {why}", site_name(site))
    }
}

/// The reason for a site's present limit.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PaceReason {
    /// Nothing has been measured yet.
    Begins,
    /// The link bore more pulls.
    Raised {
        /// How many pulls showed it.
        finished: u32,
        /// What came over the link.
        throughput: Throughput,
    },
    /// The limit is as high as operators allow.
    AtMost {
        /// What comes over the link.
        throughput: Throughput,
    },
    /// The next higher limit was too high when it was tried lately, and is not tried again yet.
    Full {
        /// The number of pulls that was too high.
        tried: u32,
        /// What comes over the link.
        throughput: Throughput,
    },
    /// More pulls brought no more data over the link.
    NoFaster {
        /// The number of pulls that was no faster.
        tried: u32,
        /// What came over the link.
        throughput: Throughput,
    },
    /// Pulls took clearly longer than those before.
    Slower {
        /// The duration in tenths of the earlier one.
        tenths: u32,
    },
    /// A node of the site went down, or the pod on it, while others pulled.
    Flapped {
        /// Which node.
        node: Str,
        /// What happened to it.
        what: Flap,
    },
}

/// A sign on a node that its link is overloaded, or that its registry is asked too often.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Flap {
    /// The node is not Ready any more.
    NotReady,
    /// The node is Ready, and its pod is not any more.
    LostReadiness,
    /// The registry refused its pull, because there were too many.
    RateLimited,
}

/// What comes over a link in an hour.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Throughput {
    /// Bytes an hour.
    Bytes(u64),
    /// Thousandths of a pull an hour, if kubelets do not report the bytes.
    MilliPulls(u64),
}

const HOUR_MILLIS: u64 = 3_600_000;

impl Throughput {
    /// The throughput of one pull.
    pub fn of(bytes: Option<u64>, took: Duration) -> Self {
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX).max(1);
        match bytes {
            Some(bytes) => Self::Bytes(bytes.saturating_mul(HOUR_MILLIS) / millis),
            None => Self::MilliPulls(HOUR_MILLIS * 1_000 / millis),
        }
    }

    /// The amount, in the unit of the variant.
    pub fn amount(self) -> u64 {
        match self {
            Self::Bytes(amount) | Self::MilliPulls(amount) => amount,
        }
    }

    /// The throughput of so many pulls at once.
    #[must_use]
    pub fn times(self, pulls: u32) -> Self {
        match self {
            Self::Bytes(amount) => Self::Bytes(amount.saturating_mul(pulls.into())),
            Self::MilliPulls(amount) => Self::MilliPulls(amount.saturating_mul(pulls.into())),
        }
    }

    /// Whether both have the same unit.
    pub fn is_like(self, other: Self) -> bool {
        matches!((self, other), (Self::Bytes(_), Self::Bytes(_)) | (Self::MilliPulls(_), Self::MilliPulls(_)))
    }
}

/// `11 MB/s`, `1.2 MB/s`, `40 kB/s`, `4.2 pulls a minute`.
impl fmt::Display for Throughput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(hourly) => {
                let tenths = hourly / 3_600 / 100_000;
                match tenths {
                    0 => write!(f, "{} kB/s", hourly / 3_600 / 1_000),
                    1..100 => write!(f, "{}.{} MB/s", tenths / 10, tenths % 10),
                    _ => write!(f, "{} MB/s", tenths / 10),
                }
            }
            Self::MilliPulls(hourly) => {
                let tenths = hourly / 60 / 100;
                write!(f, "{}.{} pulls a minute", tenths / 10, tenths % 10)
            }
        }
    }
}

impl fmt::Display for Flap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotReady => "is not Ready",
            Self::LostReadiness => "lost readiness",
            Self::RateLimited => "met the rate limit of its registry",
        })
    }
}

/// `raised: 3 finished, 11 MB/s`, `halved: ipc-017 lost readiness`.
impl fmt::Display for PaceReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begins => f.write_str("begins with one"),
            Self::Raised { finished, throughput } => write!(f, "raised: {finished} finished, {throughput}"),
            Self::AtMost { throughput } => write!(f, "as many as are allowed, {throughput}"),
            Self::Full { tried, throughput } => write!(f, "{tried} at once were too many, {throughput}"),
            Self::NoFaster { tried, throughput } => write!(f, "halved: {tried} at once are no faster, {throughput}"),
            Self::Slower { tenths } => {
                write!(f, "halved: pulls take {}.{} times as long", tenths / 10, tenths % 10)
            }
            Self::Flapped { node, what } => write!(f, "halved: {node} {what}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_pull_brings_is_told_in_bytes_or_pulls() {
        let secs = Duration::from_secs;
        for (bytes, took, pulls, want) in [
            (Some(400_000_000), secs(80), 1, "5.0 MB/s"),
            (Some(400_000_000), secs(80), 3, "15 MB/s"),
            (Some(400_000), secs(10), 1, "40 kB/s"),
            (None, secs(60), 1, "1.0 pulls a minute"),
            (None, secs(80), 4, "3.0 pulls a minute"),
            (Some(1), Duration::ZERO, 1, "1 kB/s"),
        ] {
            assert_eq!(Throughput::of(bytes, took).times(pulls).to_string(), want);
        }
    }

    #[test]
    fn why_is_told_in_a_few_words() {
        let throughput = Throughput::of(Some(11_000_000), Duration::from_secs(1));
        for (why, want) in [
            (PaceReason::Raised { finished: 3, throughput }, "raised: 3 finished, 11 MB/s"),
            (PaceReason::NoFaster { tried: 4, throughput }, "halved: 4 at once are no faster, 11 MB/s"),
            (PaceReason::Slower { tenths: 24 }, "halved: pulls take 2.4 times as long"),
            (
                PaceReason::Flapped { node: "ipc-017".into(), what: Flap::LostReadiness },
                "halved: ipc-017 lost readiness",
            ),
            (
                PaceReason::Flapped { node: "ipc-017".into(), what: Flap::RateLimited },
                "halved: ipc-017 met the rate limit of its registry",
            ),
        ] {
            assert_eq!(why.to_string(), want);
            let json = serde_json::to_string(&why).unwrap();
            assert_eq!(serde_json::from_str::<PaceReason>(&json).unwrap(), why);
        }
    }
}
