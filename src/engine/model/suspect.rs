//! Nodes that went down after their update, and sites that went down.

use std::fmt;

use serde::Serialize;

use super::Str;
use super::comparison::Comparison;
use super::time::{ShortDuration, Timestamp};

/// The state of a node that went down after its update.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SuspectView {
    /// It is down, and does not count as failed before its grace is over.
    Waits {
        /// When its grace is over, by our clock.
        until: Timestamp,
    },
    /// It went down in the course of its update, and its kubelet says so itself, as where the new pod restarts the container runtime or sets up the network of
    /// its node. It does not count as failed before its grace is over, and is not compared with others.
    InUpdate {
        /// When its grace is over, by our clock.
        until: Timestamp,
    },
    /// Other nodes of its site, not updated, went down with it and still are down.
    Outage,
    /// Nodes with old pods went down with it all over the fleet and still are down: the control plane was out of reach.
    AllOver,
    /// Failed: it stayed down past the grace.
    Stays,
    /// Failed: it went down again after it had come back.
    Again,
    /// Failed: updated nodes of its site go down clearly more often than others.
    Compared,
}

impl SuspectView {
    /// Whether it counts as failed.
    pub fn has_failed(self) -> bool {
        match self {
            Self::Stays | Self::Again | Self::Compared => true,
            Self::Waits { .. } | Self::InUpdate { .. } | Self::Outage | Self::AllOver => false,
        }
    }

    /// Whether it is down for more than its update: its kubelet has fallen silent, or it counts as failed. Not so while others are down with it.
    pub fn goes_beyond_its_update(self) -> bool {
        match self {
            Self::Waits { .. } | Self::Stays | Self::Again | Self::Compared => true,
            Self::InUpdate { .. } | Self::Outage | Self::AllOver => false,
        }
    }

    /// Whether its kubelet says that it is not Ready in the course of its update.
    pub fn is_in_update(self) -> bool {
        matches!(self, Self::InUpdate { .. })
    }

    /// Its failure in words, if it counts as failed. The comparison of updated nodes with others of their site is added only where the verdict rests on
    /// it: a node that is judged by itself does not count as updated while it is down.
    pub(crate) fn failure_in_words(self, compared: Option<&Comparison>) -> Option<String> {
        match self {
            Self::Stays => Some("node stays down with the new pod".to_owned()),
            Self::Again => Some("node went down again with the new pod".to_owned()),
            Self::Compared => {
                let compared = compared.map(|compared| format!(" ({compared})")).unwrap_or_default();
                Some(format!("updated nodes go down{compared}"))
            }
            Self::Waits { .. } | Self::InUpdate { .. } | Self::Outage | Self::AllOver => None,
        }
    }

    /// The state in words, as of `now`: `counts as failed in 4m`, `with others of its site`, `failed: it went down again`.
    pub fn words(self, now: Timestamp) -> SuspectWords {
        SuspectWords { view: self, now }
    }
}

/// See [`SuspectView::words`].
#[derive(Clone, Copy, Debug)]
pub struct SuspectWords {
    view: SuspectView,
    now: Timestamp,
}

impl fmt::Display for SuspectWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.view {
            SuspectView::Waits { until } | SuspectView::InUpdate { until } => {
                write!(f, "counts as failed in {}", ShortDuration(until.since(self.now)))
            }
            SuspectView::Outage => f.write_str("with others of its site"),
            SuspectView::AllOver => f.write_str("with others all over the fleet"),
            SuspectView::Stays => f.write_str("failed: it stays down"),
            SuspectView::Again => f.write_str("failed: it went down again"),
            SuspectView::Compared => f.write_str("failed: updated nodes go down more often"),
        }
    }
}

/// A site that is down at large: updated nodes and others together.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SiteOutage {
    /// The site; empty where the whole fleet is one.
    pub site: Str,
    /// How many of its nodes went down together and still are.
    pub down: u32,
    /// How many nodes it has.
    pub nodes: u32,
}

/// `5 of 30 nodes of hall-a are down`.
impl fmt::Display for SiteOutage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { site, down, nodes } = self;
        let of = if site.is_empty() { String::new() } else { format!(" of {site}") };
        write!(f, "{down} of {nodes} nodes{of} are down")
    }
}
