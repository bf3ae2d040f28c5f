//! Reasons for which a roll back is refused if its operator names no revision.

use std::fmt;

use super::Str;

/// Whether a roll back has to be agreed to before it is made: it lifts a pause of somebody else, leads to a revision at which the rollout is known to
/// have halted, or has its controller delete pods at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RollBackAsks {
    /// The one that names no revision.
    pub usual: bool,
    /// The one to the target of the rollout.
    pub to_target: bool,
}

/// Why a roll back that names no revision is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoRollBack {
    /// The DaemonSet, or its revisions, are not loaded.
    NotLoaded,
    /// The rollout goes back already, to the revision with this number, or this hash if the number is not known. An operator who asks
    /// twice does not mean the revision before that.
    GoesBackAlready {
        /// The revision that it goes back to.
        to: Str,
    },
    /// The rollout leads to the revision that it came from, because somebody put that template back in the middle of the rollout.
    LeadsToOrigin {
        /// The revision's number, or its hash if the number is not known.
        to: Str,
    },
    /// The cluster does not keep the revision any more that the rollout came from: somebody deleted it, or its controller did where the history is short.
    /// Any other revision would be a guess.
    OriginNotKept {
        /// Its hash.
        hash: Str,
        /// The number of nodes whose pods are still at it.
        nodes: u32,
    },
    /// Somebody else changed the template while the rollout went back, and the cluster does not keep the revision any more to which it did.
    GoalNotKept {
        /// Its hash.
        hash: Str,
        /// The number of nodes whose pods are at it.
        nodes: u32,
    },
    /// Every node runs an older revision than the newest other one, because that one was rolled back from.
    RolledBackFrom {
        /// Its number.
        number: i64,
    },
    /// A rollout halted at each other revision.
    OnlyHalted {
        /// The number of the newest of them.
        number: i64,
    },
    /// There is no other revision.
    NoneKept,
}

impl NoRollBack {
    /// Whether the roll back goes on once a revision is named.
    pub fn asks_for_a_revision(&self) -> bool {
        match self {
            Self::GoesBackAlready { .. }
            | Self::LeadsToOrigin { .. }
            | Self::OriginNotKept { .. }
            | Self::GoalNotKept { .. }
            | Self::RolledBackFrom { .. }
            | Self::OnlyHalted { .. } => true,
            Self::NotLoaded | Self::NoneKept => false,
        }
    }
}

/// What is said of a revision without which a roll back has no goal.
const NOT_KEPT: &str = "which the cluster does not keep any more";

/// ` (2 nodes still run it)`; empty where none does.
fn still_at_it(nodes: u32) -> String {
    match nodes {
        0 => String::new(),
        1 => " (1 node still runs it)".to_owned(),
        nodes => format!(" ({nodes} nodes still run it)"),
    }
}

impl fmt::Display for NoRollBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLoaded => f.write_str("the DaemonSet is not loaded yet"),
            Self::GoesBackAlready { to } => write!(f, "it goes back to revision {to} already"),
            Self::LeadsToOrigin { to } => write!(f, "the rollout leads to where it came from, revision {to}"),
            Self::OriginNotKept { hash, nodes } => {
                write!(f, "the rollout came from revision {hash}, {NOT_KEPT}{}", still_at_it(*nodes))
            }
            Self::GoalNotKept { hash, nodes } => {
                write!(f, "it went back to revision {hash}, {NOT_KEPT}{}", still_at_it(*nodes))
            }
            Self::RolledBackFrom { number } => {
                write!(f, "revision {number} is the one that was rolled back from")
            }
            Self::OnlyHalted { number } => {
                write!(f, "a rollout halted at revision {number}, and at every other one that the cluster keeps")
            }
            Self::NoneKept => f.write_str("the cluster keeps no earlier revision to roll back to"),
        }
    }
}
