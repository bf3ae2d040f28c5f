//! Why a node is not being updated right now.

use std::time::Duration;

use super::Str;
use super::cause::CauseKind;
use super::suspect::SiteOutage;
use super::wait::Wait;

/// Why a node is not being updated right now.
#[derive(Clone, PartialEq, Debug)]
pub enum Hold {
    /// No rollout is recorded, and the strategy is `OnDelete`: nothing moves by itself.
    NoRollout,
    /// Rolldeck has set `OnDelete`, and the record of the rollout for which it did so is gone.
    NoRecord,
    /// The native controller decides; rolldeck has not adopted the DaemonSet.
    Native,
    /// The DaemonSet is being adopted or handed back, or its template changed.
    Preparing,
    /// The DaemonSet is being deleted: a pod that is taken away does not come back.
    BeingDeleted,
    /// Nobody drives.
    NobodyDrives,
    /// Somebody else holds the lease whom this process has not seen renew it, and whose lease has run out by their own clock.
    NobodySeenDriving,
    /// A command given here does not reach the cluster; until it does, this console starts no update.
    NotSent,
    /// Paused.
    Paused,
    /// Halted.
    Halted,
    /// Facts that an update needs cannot be seen.
    ViewStale,
    /// The record or the revisions may not be read, so that what holds it is not known.
    NotKnown,
    /// The partition keeps this many pods at the old revision.
    Partition {
        /// How many stay.
        keep: u32,
    },
    /// It does not match the selector.
    Selector,
    /// Its node is not Ready.
    NodeDown,
    /// Its node is cordoned.
    Cordoned,
    /// The node has two pods, and one of them is going. The pod to replace is known once that one is gone.
    OtherPodGoes,
    /// The budget is used up.
    Budget {
        /// How many nodes are charged, as [`super::budget::BudgetView::charged`] says.
        used: u32,
        /// How many nodes are next, and take the rest of it.
        next: u32,
        /// How many nodes may be charged.
        limit: u32,
    },
    /// The DaemonSet surges, and nobody has set how many of its nodes may be down instead.
    NoBudget,
    /// The node has several pods after a surge: its controller keeps one and deletes the others before the node is updated.
    SeveralPods,
    /// All pull slots are taken.
    PullLimit {
        /// How many are.
        used: u32,
        /// How many nodes are next, and take the others.
        next: u32,
        /// How many may be.
        limit: u32,
    },
    /// All pull slots of its site are taken.
    SitePullLimit {
        /// The site; empty: the nodes that belong to none.
        site: Str,
        /// How many are.
        used: u32,
        /// How many may be.
        limit: u32,
    },
    /// The node's images have to be present before its update, and are not known to be.
    ImageAbsent(ImageWait),
    /// The new revision is in trouble on another node: no serving pod is replaced until that trouble is cleared up.
    Unproven {
        /// Where.
        node: Str,
        /// What is wrong there, if that is known.
        cause: Option<CauseKind>,
    },
    /// The record has no room for another name of a node in progress: this node is updated when others are done.
    RecordFull,
    /// Its site is down at large, updated nodes and others together.
    SiteOutage(SiteOutage),
    /// Its old pod is down by itself: the node waits until the new revision is available somewhere.
    NotProven,
    /// The API server refuses to delete its pod. The driver tries again by itself, ever more seldom.
    DeletionRefused {
        /// What the server said.
        why: Str,
    },
    /// The API server is too far away to drive from here.
    ApiLatencyTooHigh {
        /// How long it takes to answer.
        round_trip: Duration,
    },
    /// The API server did not answer the last writes of this driver.
    NoAnswer,
    /// Nothing is in its way: it waits in line, or for the result of its deletion.
    Waits(Wait),
    /// It is next.
    Next,
}

/// What becomes of the images that a node needs before its update.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ImageWait {
    /// Pre-warming brings them, now or at the node's turn.
    Coming,
    /// Pre-warming pulled them on the node, and the pull failed.
    Failed {
        /// Why.
        cause: CauseKind,
        /// Whether they are pulled again without any action of an operator.
        retried: bool,
    },
    /// The registry refused them on other nodes, so pre-warming does not try this one.
    NotTried {
        /// The registry's answer.
        cause: CauseKind,
    },
    /// An operator's request for pre-warming does not bring them to the node. One request is carried out at a time, so the rollout's own does not
    /// begin before it is cancelled or replaced.
    NotRequested {
        /// Who asked for it.
        by: Str,
        /// Whether that request has nothing left to do.
        done: bool,
    },
    /// Pre-warming is paused.
    Paused,
}

impl ImageWait {
    /// Whether the images arrive without any action of an operator, as far as is known.
    pub fn comes_by_itself(&self) -> bool {
        match self {
            Self::Coming | Self::Failed { retried: true, .. } => true,
            Self::Failed { retried: false, .. } | Self::NotTried { .. } | Self::NotRequested { .. } | Self::Paused => {
                false
            }
        }
    }

    /// Whether nothing but an operator makes them arrive: their pull failed and is not tried again by itself, pre-warming is paused, or what is
    /// pre-warmed instead has nothing left to do.
    pub fn needs_an_operator(&self) -> bool {
        matches!(self, Self::Paused | Self::NotRequested { done: true, .. }) || self.failure().is_some()
    }

    /// Why the images do not arrive, where their pull failed and is not tried again by itself.
    pub fn failure(&self) -> Option<CauseKind> {
        match self {
            Self::Failed { cause, retried: false } | Self::NotTried { cause } => Some(*cause),
            Self::Coming | Self::Failed { retried: true, .. } | Self::NotRequested { .. } | Self::Paused => None,
        }
    }
}
