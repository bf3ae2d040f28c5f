//! What each hold means for the plan, in one table: whoever adds a hold decides it here, and the compiler asks for it.

use crate::engine::model::hold::Hold;

/// What a hold means for the plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HoldKind {
    /// Nothing is in the node's way: it goes next, whatever it waits for in line.
    Next,
    /// The plan itself: another step lets it go.
    Partition,
    /// No plan is carried out, so the partition has no effect and is not given as the reason.
    WithoutPlan,
    /// The same, and the controller creates no pods either, so a node without a pod is held, too.
    WithoutPods,
    /// Something in its way, in a rollout that goes by its plan.
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
    /// Nothing else does: the rollout counts as held, and this is what it waits for.
    Held,
    /// It holds single nodes only: each is shown with it.
    Nodes,
}

impl Hold {
    /// How people are told of it where it holds the whole rollout.
    pub(crate) fn told_by(&self) -> HoldToldBy {
        match self {
            Self::NoRollout
            | Self::NoRecord
            | Self::Native
            | Self::Preparing
            | Self::BeingDeleted
            | Self::Paused
            | Self::Halted => HoldToldBy::Phase,
            Self::NotSent | Self::ViewStale | Self::NoAnswer | Self::ApiLatencyTooHigh { .. } => HoldToldBy::Alarm,
            Self::NobodyDrives => HoldToldBy::Held,
            Self::Partition { .. }
            | Self::Selector
            | Self::NodeDown
            | Self::Cordoned
            | Self::OtherPodGoes
            | Self::Budget { .. }
            | Self::NoBudget
            | Self::SeveralPods
            | Self::PullLimit { .. }
            | Self::SitePullLimit { .. }
            | Self::ImageAbsent
            | Self::Unproven { .. }
            | Self::RecordFull
            | Self::SiteOutage(_)
            | Self::NotProven
            | Self::DeletionRefused { .. }
            | Self::Waits(_)
            | Self::Next => HoldToldBy::Nodes,
        }
    }

    /// What it means for the plan.
    pub(crate) fn kind(&self) -> HoldKind {
        match self {
            Self::Next | Self::Waits(_) => HoldKind::Next,
            Self::Partition { .. } => HoldKind::Partition,
            Self::NoRollout | Self::NoRecord | Self::Native => HoldKind::WithoutPlan,
            Self::BeingDeleted => HoldKind::WithoutPods,
            Self::Preparing
            | Self::NobodyDrives
            | Self::NotSent
            | Self::Paused
            | Self::Halted
            | Self::ViewStale
            | Self::Selector
            | Self::NodeDown
            | Self::Cordoned
            | Self::OtherPodGoes
            | Self::Budget { .. }
            | Self::NoBudget
            | Self::SeveralPods
            | Self::PullLimit { .. }
            | Self::SitePullLimit { .. }
            | Self::ImageAbsent
            | Self::Unproven { .. }
            | Self::RecordFull
            | Self::SiteOutage(_)
            | Self::NotProven
            | Self::DeletionRefused { .. }
            | Self::NoAnswer
            | Self::ApiLatencyTooHigh { .. } => HoldKind::InTheWay,
        }
    }
}
