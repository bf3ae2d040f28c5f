//! What needs the operator's attention now.

use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::record::{By, HaltingGate};
use crate::engine::model::suspect::SiteOutage;
use crate::engine::model::time::Timestamp;

/// Something that needs the operator's attention now.
#[derive(Clone, PartialEq, Debug)]
pub enum Alarm {
    /// The native controller replaces old pods while they are unready, outside the budget: the cascade.
    Cascade {
        /// Nodes down.
        down: u32,
        /// The DaemonSet's own `maxUnavailable`.
        max_unavailable: u32,
        /// Old pods seen replaced while unready.
        replaced_unready: u32,
    },
    /// Strategy drift: somebody changed the strategy back while the rollout runs, and the native controller replaces pods.
    StrategyDrifted {
        /// Who, if managedFields tell, with the tool behind the name.
        by: Option<Str>,
        /// How often `OnDelete` was set again lately.
        enforced: u32,
        /// How to hold them, where that is known.
        suspend_hint: Option<Str>,
    },
    /// Strategy drift, and `OnDelete` was set again at once.
    OnDeleteEnforced {
        /// Who, if managedFields tell, with the tool behind the name.
        by: Option<Str>,
        /// How often lately.
        times: u32,
        /// How to hold them, where that is known.
        suspend_hint: Option<Str>,
    },
    /// Nobody is seen alive who drives, and whoever drives next halts at once.
    HaltWaits {
        /// What halts it.
        gate: HaltingGate,
        /// In words, with up to three nodes.
        why: Str,
    },
    /// Somebody changed the template in the middle of the rollout.
    TemplateChanged {
        /// Who, if managedFields tell, with the tool behind the name.
        by: Option<Str>,
        /// How, as the words follow on those before them: `: agent v2 → v1, where the rollout came from`. Empty where that is not known.
        change: Str,
        /// How to hold them, where that is known.
        suspend_hint: Option<Str>,
    },
    /// The revision that is taken for that of the template is stored in a form that does not compare equal, and no pod was
    /// made from it yet: the rollout does not end on a guess.
    TargetUncertain {
        /// Its number, or its hash.
        revision: Str,
    },
    /// Nodes that are down use up the budget, and none of them is on its way back: what is left waits for good.
    BudgetUsedUp {
        /// How many are charged.
        used: u32,
        /// How many may be.
        limit: u32,
        /// How many nodes wait for it.
        waiting: u32,
        /// How many of those that are down have failed at the new revision.
        failed: u32,
    },
    /// The API server refuses to delete the pods of some nodes: they stay at the old revision.
    DeletionRefused {
        /// One of them.
        node: Str,
        /// How many.
        count: u32,
        /// What the server said of that one.
        why: Str,
        /// Whether anything else is left to update.
        others: bool,
    },
    /// The DaemonSet's controller has something to do and has not done anything for 40 s, nor said why.
    ControllerIdle {
        /// Since when, by our clock.
        since: Timestamp,
        /// On how many nodes a pod is missing.
        missing: u32,
        /// The DaemonSet's spec is not observed.
        unobserved: bool,
    },
    /// A site is down, updated nodes and others together: nothing serving is taken there until they are back.
    SiteOutage(SiteOutage),
    /// Every node is at the target, and the DaemonSet is not handed back: its controller would delete pods that serve on
    /// nodes that should not run them any more.
    ReleaseWaits {
        /// How many, in words.
        pods: Str,
        /// Where, and why their nodes should not run them.
        nodes: Str,
    },
    /// The rollout halted.
    Halted {
        /// Which gate halted it.
        gate: HaltingGate,
        /// What happened.
        why: Str,
    },
    /// What must be seen cannot be seen, or is too old: nothing is started.
    ViewStale {
        /// What, and since when.
        why: Str,
    },
    /// A write was refused or keeps failing.
    WriteFailing {
        /// What was attempted and what the server said.
        why: Str,
    },
    /// The API server is too far away to drive from here: nothing is started.
    ApiLatencyTooHigh {
        /// How long it takes to answer.
        round_trip: Duration,
    },
    /// The API server did not answer the last writes of this driver: nothing is started.
    NoAnswer,
    /// The record on the Lease cannot be read.
    RecordUnreadable {
        /// Why.
        why: Str,
    },
    /// The record on the Lease is of an earlier DaemonSet of the same name: nothing is driven by it.
    ForeignRecord,
    /// Rolldeck has set `OnDelete`, and no record says for which rollout: its limits, soak time, partition and selector are not known.
    RecordMissing,
    /// The record was begun anew after an earlier one was lost, and nobody has set its limits since: those of the earlier one are not known.
    LimitsLost {
        /// Who began it, and when.
        begun: By,
        /// How many nodes may be down at once.
        max_unavailable: u32,
        /// For how long a new pod soaks.
        soak: Duration,
    },
    /// The DaemonSet is being deleted: its controller makes no pod any more.
    BeingDeleted,
    /// The state of the cluster went back to an earlier one, as after a restore from a backup, and nobody has asked from here to drive since.
    StateRestored {
        /// When that was found.
        at: Timestamp,
    },
}

impl Alarm {
    /// How to keep the tool that is behind it from acting, where that is known.
    pub fn suspend_hint(&self) -> Option<&str> {
        match self {
            Self::StrategyDrifted { suspend_hint, .. }
            | Self::OnDeleteEnforced { suspend_hint, .. }
            | Self::TemplateChanged { suspend_hint, .. } => suspend_hint.as_deref(),
            Self::Cascade { .. }
            | Self::TargetUncertain { .. }
            | Self::BudgetUsedUp { .. }
            | Self::DeletionRefused { .. }
            | Self::ControllerIdle { .. }
            | Self::SiteOutage(_)
            | Self::ReleaseWaits { .. }
            | Self::Halted { .. }
            | Self::HaltWaits { .. }
            | Self::ViewStale { .. }
            | Self::WriteFailing { .. }
            | Self::NoAnswer
            | Self::ApiLatencyTooHigh { .. }
            | Self::RecordUnreadable { .. }
            | Self::ForeignRecord
            | Self::RecordMissing
            | Self::LimitsLost { .. }
            | Self::BeingDeleted
            | Self::StateRestored { .. } => None,
        }
    }

    /// The least budget that lets the next node go, where that is what it waits for.
    pub fn enough(&self) -> Option<u32> {
        match self {
            Self::BudgetUsedUp { used, .. } => Some(used + 1),
            _ => None,
        }
    }
}
