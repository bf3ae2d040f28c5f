//! How many nodes of a rollout fail, and why, as the driver reports it to the list of all DaemonSets, which watches no pods.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Str;
use super::time::{ShortDuration, Timestamp};

/// Annotation of the Lease: the [`FailingNodes`] that its holder sees, as JSON. No decision reads it. It goes with the holder's other
/// writes of the Lease, so that it is at most as old as the last of them.
pub const FAILING: &str = "rolldeck.io/failing";
/// The most causes for which it has the number of nodes: the most frequent ones.
pub const FAILING_CAUSES: usize = 3;
/// The most revisions besides target and origin that it names.
pub const OTHER_REVISIONS: usize = 8;
/// The most bytes of the annotation that are read. The largest number of causes takes less.
const MOST_BYTES: usize = 2_048;

/// The most characters of a cause that are read.
const LONGEST_CAUSE: usize = 60;

/// The nodes that fail at the revision that is rolled out: failed nodes, and nodes whose pod has a cause for not being available.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailingNodes {
    /// Who reports it: the holder of the Lease. If another process holds the Lease by now, the report says nothing of the present.
    pub by: Str,
    /// When it was reported, by the API server's clock; `None` in reports of an older rolldeck.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Hash of the revision that was the target then; `None` if there was none, and in reports of an older rolldeck.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<Str>,
    /// Since when the rollout to that revision runs, by the API server's clock: since it was let go, or resumed. `None`: it did not run then,
    /// or an older rolldeck reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs_since: Option<Timestamp>,
    /// The rollout is held because the nodes that may be updated need images that cannot be pulled, so that none goes before somebody acts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lacks_images: bool,
    /// Hashes of the revisions that pods run besides the target of the rollout and the revision from which it began, at most
    /// [`OTHER_REVISIONS`]. Empty in reports of an older rolldeck.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_revisions: Vec<Str>,
    /// How many nodes fail.
    pub nodes: u32,
    /// How many of them have failed and were accepted by an operator who resumed.
    #[serde(default)]
    pub accepted: u32,
    /// The causes, the most frequent one first, at most [`FAILING_CAUSES`].
    #[serde(default)]
    pub causes: Vec<FailingCause>,
}

/// On how many nodes a cause is found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailingCause {
    /// The cause in words.
    pub cause: Str,
    /// On how many nodes.
    pub nodes: u32,
}

/// Reads the annotation; a missing or unreadable one gives `None`: not known.
pub fn parse_failing(text: Option<&str>) -> Option<FailingNodes> {
    let mut told: FailingNodes = serde_json::from_str(text.filter(|text| text.len() <= MOST_BYTES)?).ok()?;
    told.causes.truncate(FAILING_CAUSES);
    told.other_revisions.truncate(OTHER_REVISIONS);
    for FailingCause { cause, .. } in &mut told.causes {
        if let Some((end, _)) = cause.char_indices().nth(LONGEST_CAUSE) {
            *cause = cause[..end].into();
        }
    }
    Some(told)
}

/// The text of the annotation; `None`: there is to be none.
pub fn failing_text(failing: Option<&FailingNodes>) -> Option<String> {
    failing.and_then(|failing| serde_json::to_string(failing).ok())
}

impl FailingNodes {
    /// How many fail without having been accepted by an operator who resumed.
    pub fn unaccepted(&self) -> u32 {
        self.nodes.saturating_sub(self.accepted)
    }

    /// Whether the report is about this target. A report of an older rolldeck does not name its target, and is believed.
    pub fn is_about(&self, target: Option<&Str>) -> bool {
        self.revision.is_none() || self.revision.as_ref() == target
    }

    fn words(&self, f: &mut fmt::Formatter<'_>, ago: Option<Duration>) -> fmt::Result {
        // A narrow column cuts off the end, and what is past must not be read as present.
        if let Some(ago) = ago {
            write!(f, "{} ago ", ShortDuration(ago))?;
        }
        write!(f, "{} failing", self.nodes)?;
        match self.accepted {
            0 => {}
            _ if self.unaccepted() == 0 => f.write_str(", accepted")?,
            accepted => write!(f, ", {accepted} accepted")?,
        }
        match self.causes.as_slice() {
            [] => Ok(()),
            [only] => write!(f, ": {}", only.cause),
            [first, ..] => write!(f, ": {} and more", first.cause),
        }
    }
}

/// `2 failing: crash loop`, `3 failing, 1 accepted: image not found and more`, `1 failing, accepted: crash loop`.
impl fmt::Display for FailingNodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.words(f, None)
    }
}

/// The nodes that failed when a driver reported for the last time. Nobody reports any more, so whether they still fail is not known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LastFailing {
    /// The last report.
    pub report: FailingNodes,
    /// How long ago it was made, rounded down to what [`ShortDuration`] shows, and to ten seconds.
    pub ago: Duration,
}

impl LastFailing {
    /// The last report as of `now`, by the API server's clock; `None` if it does not say when it was made.
    pub fn new(report: FailingNodes, now: Timestamp) -> Option<Self> {
        let ago = now.since(report.at?);
        let unit = Self::unit(ago).as_secs();
        Some(Self { report, ago: Duration::from_secs(ago.as_secs() / unit * unit) })
    }

    /// When the words for a report that was made at `at` change after `now`.
    pub fn next_change(at: Timestamp, now: Timestamp) -> Timestamp {
        let ago = now.since(at);
        let unit = Self::unit(ago).as_secs();
        at + Duration::from_secs((ago.as_secs() / unit + 1) * unit)
    }

    fn unit(ago: Duration) -> Duration {
        Duration::from_secs(match ago.as_secs() {
            0..60 => 10,
            60..3_600 => 60,
            3_600..172_800 => 3_600,
            _ => 86_400,
        })
    }
}

/// `5m ago 2 failing: crash loop`.
impl fmt::Display for LastFailing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.report.words(f, Some(self.ago))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failing(nodes: u32, accepted: u32, causes: &[&str]) -> FailingNodes {
        let causes = causes.iter().map(|cause| FailingCause { cause: (*cause).into(), nodes: 1 }).collect();
        FailingNodes { by: "ada@host/1".into(), nodes, accepted, causes, ..FailingNodes::default() }
    }

    #[test]
    fn it_says_how_many_and_why() {
        for (told, words) in [
            (failing(2, 0, &["crash loop"]), "2 failing: crash loop"),
            (failing(1, 1, &["crash loop"]), "1 failing, accepted: crash loop"),
            (failing(3, 1, &["image not found", "crash loop"]), "3 failing, 1 accepted: image not found and more"),
            (failing(1, 0, &[]), "1 failing"),
        ] {
            assert_eq!(told.to_string(), words);
            assert_eq!(parse_failing(failing_text(Some(&told)).as_deref()), Some(told));
        }
    }

    #[test]
    fn the_last_report_says_how_long_ago_it_was_made_and_when_that_changes() {
        let at = Timestamp::from_millis(1_000);
        let report = FailingNodes { at: Some(at), ..failing(2, 0, &["crash loop"]) };
        for (secs, words, next) in
            [(0, "0s", 10), (9, "0s", 10), (59, "50s", 60), (330, "5m", 360), (7_300, "2h", 10_800)]
        {
            let now = at + Duration::from_secs(secs);
            let last = LastFailing::new(report.clone(), now).unwrap();
            assert_eq!(last.to_string(), format!("{words} ago 2 failing: crash loop"));
            assert_eq!(LastFailing::next_change(at, now), at + Duration::from_secs(next));
        }
        assert_eq!(LastFailing::new(failing(2, 0, &[]), at), None, "an older rolldeck does not say when");
    }

    #[test]
    fn what_is_missing_or_cannot_be_read_is_not_known() {
        let long = format!(r#"{{"by":"{}","nodes":1}}"#, "x".repeat(MOST_BYTES));
        for text in [None, Some(""), Some("{"), Some(r#"{"nodes":2}"#), Some(&long)] {
            assert_eq!(parse_failing(text), None, "{text:?}");
        }
    }
}
