//! The alarms: conditions that need the operator's attention now.

use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::record::{By, HaltingGate};
use crate::engine::model::released_strategy::ChangedLimit;
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
        /// Who changed it, if managedFields tell, with the tool behind the name.
        by: Option<Str>,
        /// The `maxUnavailable` that its controller follows, where it is another than in the original strategy.
        limit: Option<ChangedLimit>,
        /// How often `OnDelete` was set again lately.
        enforced: u32,
        /// How to keep them from doing so again, if that is known.
        suspend_hint: Option<Str>,
    },
    /// Somebody has changed the DaemonSet's `maxUnavailable` under `OnDelete`: it does not raise the rollout's budget, and a release does not keep it.
    OwnLimitChanged {
        /// Who changed it, if managedFields tell, with the tool behind the name.
        by: Option<Str>,
        /// The value now, and the value that a release restores.
        limit: ChangedLimit,
        /// How many nodes of this rollout may be down.
        max_unavailable: u32,
    },
    /// Strategy drift, and `OnDelete` was set again at once.
    OnDeleteEnforced {
        /// Who changed it, if managedFields tell, with the tool behind the name.
        by: Option<Str>,
        /// How often `OnDelete` was set again lately.
        times: u32,
        /// How to keep them from doing so again, if that is known.
        suspend_hint: Option<Str>,
    },
    /// No living driver is seen, and the next one will halt the rollout at once.
    HaltWaits {
        /// The gate that will halt it.
        gate: HaltingGate,
        /// The reason in words, with up to three nodes.
        why: Str,
    },
    /// Somebody changed the template in the middle of the rollout.
    TemplateChanged {
        /// Who changed it, if managedFields tell, with the tool behind the name.
        by: Option<Str>,
        /// The change, in words that follow on the sentence before: `: agent v2 → v1, where the rollout came from`. Empty where it is not known.
        change: Str,
        /// How to keep them from doing so again, if that is known.
        suspend_hint: Option<Str>,
        /// The revisions, by their hashes, whose template is placed elsewhere: what putting it back makes the controller do.
        elsewhere: Vec<(Str, AtOnce)>,
    },
    /// The revision taken for that of the template is stored in a form that does not compare equal, and no pod was made from it yet. The rollout does
    /// not complete on such a guess.
    TargetUncertain {
        /// Its number, or its hash.
        revision: Str,
    },
    /// Nodes that are down use up the budget, and none of them is on its way back: the nodes left wait for good.
    BudgetUsedUp {
        /// How many nodes are charged.
        used: u32,
        /// How many nodes may be charged.
        limit: u32,
        /// How many nodes wait for the budget.
        waiting: u32,
        /// How many of the nodes that are down have failed at the new revision. 0 on the way back, where a larger budget takes that revision away from
        /// more nodes.
        failed: u32,
    },
    /// The API server refuses to delete the pods of some nodes, which therefore stay at the old revision.
    DeletionRefused {
        /// One of the nodes.
        node: Str,
        /// The number of nodes.
        count: u32,
        /// The server's message for that node.
        why: Str,
        /// Whether other nodes can still be updated.
        others: bool,
    },
    /// The API server refused to delete the pods of several different nodes in a row, so that the refusal is not about one pod. One of them is tried again
    /// every half minute.
    DeletionsRefused {
        /// The last deletion and the server's message.
        why: Str,
    },
    /// The DaemonSet's controller has had work for 40 s and has neither done anything nor said why.
    ControllerIdle {
        /// Since when, by our clock.
        since: Timestamp,
        /// On how many nodes a pod is missing.
        missing: u32,
        /// The DaemonSet's spec is not observed.
        unobserved: bool,
    },
    /// A site is down, updated nodes and others together: no serving pod is taken down there until they are back.
    SiteOutage(SiteOutage),
    /// Every node is at the target, and the DaemonSet is not handed back: its controller would delete pods that serve on
    /// nodes that should not run them any more.
    ReleaseWaits {
        /// The number of pods, in words.
        pods: Str,
        /// The nodes, and why they should not run the pods.
        nodes: Str,
    },
    /// The rollout halted.
    Halted {
        /// Which gate halted it.
        gate: HaltingGate,
        /// The reason.
        why: Str,
    },
    /// A view that is needed is missing or too old: nothing is started.
    ViewStale {
        /// The watch concerned, and since when.
        why: Str,
    },
    /// Something that is needed may not be read: what is said of nodes is without it.
    ViewForbidden {
        /// What, and the server's message.
        why: Str,
    },
    /// A write was refused or keeps failing.
    WriteFailing {
        /// The attempted write and the server's message.
        why: Str,
        /// The API server refuses to have the Lease written: who drives cannot renew it, and drives no more once it has run out.
        lease_refused: bool,
    },
    /// The API server refused a write of another driver, as that one recorded it. Where it has ended, nobody tries again.
    WriteRefused {
        /// Since when, by that driver's clock.
        since: Timestamp,
        /// The attempted write and the server's message.
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
    ForeignRecord {
        /// Who had paused that rollout. The pause does not hold for the present DaemonSet.
        paused_by: Option<Str>,
        /// The update strategy of the present DaemonSet.
        strategy: StrategyKind,
    },
    /// Rolldeck has set `OnDelete`, and no record says for which rollout: limits, soak time, partition and selector are not known.
    RecordMissing,
    /// The record was begun anew after an earlier one was lost, and nobody has set its limits since: the earlier limits are not known.
    LimitsLost {
        /// Who began it, and when.
        begun: By,
        /// What was known of the lost record then, in words.
        before: Option<Str>,
        /// How many nodes may be down at once.
        max_unavailable: u32,
        /// For how long a new pod soaks.
        soak: Duration,
    },
    /// The DaemonSet is being deleted: its controller makes no more pods.
    BeingDeleted,
    /// The cluster went back to an earlier state, as after a restore from a backup, and nobody has asked this process to drive since.
    StateRestored {
        /// When that was noticed.
        at: Timestamp,
    },
}

/// What the DaemonSet's controller does at once when it is given a template that is placed elsewhere: no budget limits that.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AtOnce {
    /// On how many nodes it makes a pod.
    pub makes: u32,
    /// On how many nodes it deletes the pod.
    pub deletes: u32,
}

impl Alarm {
    /// How to keep the tool behind the alarm from acting, if that is known.
    pub fn suspend_hint(&self) -> Option<&str> {
        match self {
            Self::StrategyDrifted { suspend_hint, .. }
            | Self::OnDeleteEnforced { suspend_hint, .. }
            | Self::TemplateChanged { suspend_hint, .. } => suspend_hint.as_deref(),
            Self::Cascade { .. }
            | Self::OwnLimitChanged { .. }
            | Self::TargetUncertain { .. }
            | Self::BudgetUsedUp { .. }
            | Self::DeletionRefused { .. }
            | Self::DeletionsRefused { .. }
            | Self::ControllerIdle { .. }
            | Self::SiteOutage(_)
            | Self::ReleaseWaits { .. }
            | Self::Halted { .. }
            | Self::HaltWaits { .. }
            | Self::ViewStale { .. }
            | Self::ViewForbidden { .. }
            | Self::WriteFailing { .. }
            | Self::WriteRefused { .. }
            | Self::NoAnswer
            | Self::ApiLatencyTooHigh { .. }
            | Self::RecordUnreadable { .. }
            | Self::ForeignRecord { .. }
            | Self::RecordMissing
            | Self::LimitsLost { .. }
            | Self::BeingDeleted
            | Self::StateRestored { .. } => None,
        }
    }

    /// The smallest budget that lets the next node be updated, if that node waits for the budget.
    pub fn enough(&self) -> Option<u32> {
        match self {
            Self::BudgetUsedUp { used, .. } => Some(used + 1),
            _ => None,
        }
    }
}
