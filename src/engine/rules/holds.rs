//! The consequences of each hold, in one table ([`Hold::consequences`]): a new hold needs an entry, and the compiler asks for it.

use crate::engine::model::hold::Hold;

/// The consequences of a hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HoldConsequences {
    /// Its meaning for the plan.
    pub(crate) kind: HoldKind,
    /// How people are told of it if it holds the whole rollout.
    pub(crate) told_by: HoldToldBy,
    /// Whether the node is updated as soon as there is room, without any action of an operator.
    pub(crate) momentary: bool,
    /// The event that ends it.
    pub(crate) ended_by: HoldEndedBy,
}

/// The meaning of a hold for the plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HoldKind {
    /// Nothing is in the node's way: it is next, whatever it waits for in line.
    Next,
    /// The plan itself: another step lets it go.
    Partition,
    /// No plan is carried out, so the partition has no effect and is not given as the reason.
    WithoutPlan,
    /// The same, and the controller creates no pods either, so a node without a pod is held, too.
    WithoutPods,
    /// An obstacle in a rollout that goes by its plan.
    InTheWay,
}

impl HoldKind {
    /// Whether no plan is carried out under it.
    pub(crate) fn is_without_plan(self) -> bool {
        match self {
            Self::WithoutPlan | Self::WithoutPods => true,
            Self::Next | Self::Partition | Self::InTheWay => false,
        }
    }
}

/// How people are told of a hold that holds the whole rollout, and not only single nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HoldToldBy {
    /// The rollout has a phase of this name.
    Phase,
    /// An alarm says it; the phase stays `running`.
    Alarm,
    /// The rollout counts as held, and this hold is the reason given.
    Held,
    /// It holds single nodes only: each is shown with it.
    Nodes,
}

/// The event that ends a hold, as far as the words for the whole rollout depend on it. The remedies are in `report`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HoldEndedBy {
    /// Somebody drives.
    Driver,
    /// The trouble of the new revision on other nodes is over.
    TroubleOver,
    /// The node is Ready again. It is counted together with the nodes whose state says that they are down.
    NodeReady,
    /// An operator does something to the node itself. Its own words name it, as with [`Self::Itself`].
    NodeOperator,
    /// Nothing is in the node's way, so its state is named instead: it is updated at its turn, or with another step.
    Turn,
    /// The event that the hold's own words name; the hold is counted under these words.
    Itself,
}

impl Hold {
    /// Its consequences.
    pub(crate) fn consequences(&self) -> HoldConsequences {
        let row = |kind, told_by, momentary, ended_by| HoldConsequences { kind, told_by, momentary, ended_by };
        match self {
            Self::Next => row(HoldKind::Next, HoldToldBy::Nodes, true, HoldEndedBy::Turn),
            Self::Waits(_) => row(HoldKind::Next, HoldToldBy::Nodes, true, HoldEndedBy::Itself),
            Self::Partition { .. } => row(HoldKind::Partition, HoldToldBy::Nodes, false, HoldEndedBy::Turn),
            Self::NoRollout | Self::NoRecord | Self::Native => {
                row(HoldKind::WithoutPlan, HoldToldBy::Phase, false, HoldEndedBy::Itself)
            }
            Self::BeingDeleted => row(HoldKind::WithoutPods, HoldToldBy::Phase, false, HoldEndedBy::Itself),
            Self::Preparing | Self::Paused | Self::Halted | Self::NotKnown => {
                row(HoldKind::InTheWay, HoldToldBy::Phase, false, HoldEndedBy::Itself)
            }
            Self::NotSent | Self::ViewStale | Self::NoAnswer | Self::ApiLatencyTooHigh { .. } => {
                row(HoldKind::InTheWay, HoldToldBy::Alarm, false, HoldEndedBy::Itself)
            }
            Self::NobodyDrives | Self::NobodySeenDriving => {
                row(HoldKind::InTheWay, HoldToldBy::Held, false, HoldEndedBy::Driver)
            }
            Self::Unproven { .. } => row(HoldKind::InTheWay, HoldToldBy::Nodes, false, HoldEndedBy::TroubleOver),
            Self::NodeDown => row(HoldKind::InTheWay, HoldToldBy::Nodes, false, HoldEndedBy::NodeReady),
            Self::Budget { .. } | Self::PullLimit { .. } | Self::SitePullLimit { .. } | Self::RecordFull => {
                row(HoldKind::InTheWay, HoldToldBy::Nodes, true, HoldEndedBy::Itself)
            }
            Self::ImageAbsent(wait) => {
                row(HoldKind::InTheWay, HoldToldBy::Nodes, wait.comes_by_itself(), HoldEndedBy::Itself)
            }
            Self::Cordoned => row(HoldKind::InTheWay, HoldToldBy::Nodes, false, HoldEndedBy::NodeOperator),
            Self::Selector
            | Self::OtherPodGoes
            | Self::NoBudget
            | Self::SeveralPods
            | Self::SiteOutage(_)
            | Self::NotProven
            | Self::DeletionRefused { .. } => row(HoldKind::InTheWay, HoldToldBy::Nodes, false, HoldEndedBy::Itself),
        }
    }

    /// Its meaning for the plan.
    pub(crate) fn kind(&self) -> HoldKind {
        self.consequences().kind
    }

    /// How people are told of it if it holds the whole rollout.
    pub(crate) fn told_by(&self) -> HoldToldBy {
        self.consequences().told_by
    }

    /// The event that ends it.
    pub(crate) fn ended_by(&self) -> HoldEndedBy {
        self.consequences().ended_by
    }

    /// Whether it lasts until somebody does something to the node itself, or the node recovers, whatever becomes of the rollout.
    pub(crate) fn is_ended_at_the_node(&self) -> bool {
        match self.ended_by() {
            HoldEndedBy::NodeOperator | HoldEndedBy::NodeReady => true,
            HoldEndedBy::Driver | HoldEndedBy::TroubleOver | HoldEndedBy::Turn | HoldEndedBy::Itself => false,
        }
    }
}
