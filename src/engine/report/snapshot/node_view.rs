//! One node of a snapshot: its fields, and where each comes from.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::assess::rows::{Row, lost_readiness};
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::cause::Cause;
use crate::engine::model::hold::Hold;
use crate::engine::model::ineligible::Ineligible;
use crate::engine::model::labels::Labels;
use crate::engine::model::node::{Blame, CrashLoopView, DownBy, ImageState, NodeState, RestartKind, RestartsView};
use crate::engine::model::node_details::NodeDetails;
use crate::engine::model::pod_wait::PodWait;
use crate::engine::model::prewarm::PrewarmState;
use crate::engine::model::pull::{ImagePull, PullState, UsualPull};
use crate::engine::model::suspect::SuspectView;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::holds::{HoldEndedBy, HoldKind};
use crate::engine::view::restarts::total;

/// The revision of a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodRevision {
    /// Its hash, as the pod carries it.
    pub hash: Str,
    /// Its number, when its ControllerRevision is there.
    pub number: Option<i64>,
}

/// One node. Fields that few nodes have are boxed, because there are thousands of nodes.
#[derive(Clone, PartialEq, Debug)]
pub struct NodeView {
    /// Its name.
    pub name: Str,
    /// Its state.
    pub state: NodeState,
    /// Why it is not being updated right now; `None` when it is, or has been.
    pub hold: Option<Hold>,
    /// The wait of its pod, when the node is on its way.
    pub pod_wait: Option<Box<PodWait>>,
    /// Why its pod is not healthy, whatever the state.
    pub cause: Option<Box<Cause>>,
    /// Since when it is in trouble for this cause, through all states that the trouble brought it into; by our own clock.
    pub cause_since: Option<Timestamp>,
    /// Whose fault it is that it is unavailable; `None` when it is available.
    pub blame: Option<Blame>,
    /// Who took it down, where it is charged to the rollout and the rollout is not known to have done it.
    pub down_by: Option<DownBy>,
    /// Since when it is in this state, as far as known; by our own clock, the measured skew taken out.
    pub since: Option<Timestamp>,
    /// The revision of its pod.
    pub revision: Option<PodRevision>,
    /// Whether its pod is at the target revision.
    pub at_target: bool,
    /// Whether the target's images are on it.
    pub image: ImageState,
    /// The state of each of the target's images, in the order of the target's containers.
    pub images: Arc<[ImagePull]>,
    /// How long its running pull usually takes, if other nodes have finished theirs.
    pub usual_pull: Option<Box<UsualPull>>,
    /// The progress of pre-warming on the node; `None` where pre-warming does not concern the node.
    pub prewarm: Option<Box<PrewarmState>>,
    /// Its pod's name.
    pub pod: Option<Str>,
    /// When its pod was created.
    pub pod_created_at: Option<Timestamp>,
    /// How often its pod's containers restarted.
    pub restarts: u32,
    /// How many of them do not count: its node was restarted, which says nothing of the revision.
    pub restarts_with_node: u32,
    /// The restarts because of which its pod at the target revision is watched.
    pub restarted: Option<Box<RestartsView>>,
    /// Its pod at the target crashes again and again.
    pub crash_loop: Option<CrashLoopView>,
    /// Its pod at the target was ready, and is not any more: it starts again, or its probes fail.
    pub lost_readiness: bool,
    /// The judgement of the node, if it went down after its update.
    pub suspect: Option<SuspectView>,
    /// It fails, and an operator accepted that by resuming past a halt.
    pub accepted: bool,
    /// Whether the node may run the pod at all.
    pub eligible: bool,
    /// Why it should not run the pod, where it is not eligible and that is known.
    pub ineligible: Option<Box<Ineligible>>,
    /// Whether its pod is Ready on a Ready node.
    pub serves: bool,
    /// Whether it has the new pod, or its pod is going or gone: its update has begun.
    pub committed: bool,
    /// Whether it matches the selector (true without one).
    pub selected: bool,
    /// Its site; empty if it lacks the label that names sites.
    pub site: Str,
    /// Its labels.
    pub labels: Labels,
    /// Its place in the order in which nodes would go, from 0; `None` when it is not in line.
    pub rank: Option<u32>,
    /// Its clock minus the API server's, in milliseconds, once measured.
    pub clock_skew_millis: Option<i64>,
    /// Which pressure its kubelet reports, such as `DiskPressure`: it may evict pods.
    pub pressure: Option<Str>,
    /// Details of the node, as the cluster tells them.
    pub details: NodeDetails,
    /// Until when, by our clock, the DaemonSet controller counts its available pod as unavailable, because the node's clock is ahead: under
    /// `minReadySeconds` the controller compares that clock with its own.
    pub counted_unavailable_until: Option<Timestamp>,
}

impl Engine {
    /// The view of a row, without [`NodeView::down_by`], which follows from the rest; `numbers` are those of the revisions.
    pub(in crate::engine::report) fn node_view(&self, row: &Row, numbers: &HashMap<&Str, i64>) -> NodeView {
        let entry = self.view.entry(row.node);
        let pod = row.pod.and_then(|pod| self.view.pod(pod));
        let lost_readiness = lost_readiness(row.state, pod);
        let trouble = pod.and_then(|pod| pod.trouble.as_deref());
        let kind = row.cause.as_ref().map(|cause| cause.kind);
        let cause_since = trouble.filter(|trouble| Some(trouble.cause.kind) == kind).and_then(|it| it.cause_since());
        // The row tells since when the node is in trouble, through all of its states.
        let cause_since = cause_since.or_else(|| kind.and(row.since).map(|at| self.view.our_time(at)));
        let pod = pod.map(|pod| &pod.fact);
        let restarts = pod.map_or(row.restarts, total);
        let revision = pod.and_then(|pod| pod.revision.clone());
        let revision = revision.map(|hash| PodRevision { number: numbers.get(&hash).copied(), hash });
        let suspect = self.suspects.judgement().verdicts.get(&row.node).copied();
        NodeView {
            name: entry.name.clone(),
            state: row.state,
            hold: self.plan.hold(row.node).cloned(),
            pod_wait: self.pod_wait_of(row).map(Box::new),
            cause: row.cause.clone(),
            cause_since,
            blame: row.blame,
            // It follows from the rest of the view.
            down_by: None,
            // A suspect node that is back counts from when it went down, because that is what is shown of it.
            since: match (suspect, row.fell_at) {
                (Some(_), Some(fell_at)) if !row.is_down => Some(fell_at),
                _ => self.assessment.in_state_since(row).map(|at| self.view.our_time(at)),
            },
            revision,
            at_target: row.at_target,
            image: match (row.image, row.state, row.since) {
                (ImageState::Pulling { since }, ..) => ImageState::Pulling { since: self.view.our_time(since) },
                // The last pull failed, and the kubelet has begun the next.
                (ImageState::Failed, NodeState::Pulling, Some(since)) => {
                    ImageState::Pulling { since: self.view.our_time(since) }
                }
                _ => self.shown_image(row),
            },
            usual_pull: self.usual_pull(row).map(Box::new),
            images: row.images.clone(),
            prewarm: self.prewarm_state(row.node).map(Box::new),
            pod: pod.map(|pod| pod.name.clone()),
            pod_created_at: pod.map(|pod| self.view.our_time(pod.created_at)),
            restarts,
            restarts_with_node: restarts.saturating_sub(row.restarts),
            restarted: row.restarted.clone(),
            crash_loop: row.crash_loop,
            lost_readiness,
            suspect,
            accepted: !row.available
                && self.recorded_intent().is_some_and(|intent| self.is_accepted(&entry.name, &intent)),
            eligible: row.in_fleet,
            ineligible: if row.in_fleet { None } else { self.ineligible_because(row.node).map(Box::new) },
            serves: row.ready,
            committed: row.committed,
            selected: row.selected,
            site: entry.site.clone(),
            labels: entry.fact.as_ref().map(|fact| fact.labels.clone()).unwrap_or_default(),
            rank: self.plan.rank(row.node),
            clock_skew_millis: entry.fact.as_ref().and_then(|fact| fact.clock_skew_millis),
            pressure: entry.fact.as_ref().and_then(|fact| fact.pressure.clone()),
            details: entry.fact.as_ref().map(|fact| fact.details.clone()).unwrap_or_default(),
            counted_unavailable_until: row.counted_unavailable_until.map(|at| self.view.our_time(at)),
        }
    }

    /// How long the running pull of a node usually takes.
    fn usual_pull(&self, row: &Row) -> Option<UsualPull> {
        let pulling = row.images.iter().find(|pull| matches!(pull.state, PullState::Pulling { .. }))?;
        self.view.pull_summary().usual(&pulling.image, &self.view.entry(row.node).site)
    }
}

/// See [`NodeView::keeps_restarting`].
pub(in crate::engine::report) fn keeps_restarting(state: NodeState, at_target: bool, restarts: u32) -> bool {
    state == NodeState::Starting && at_target && restarts > 0
}

impl NodeView {
    /// Whether it counts as failed: its pod failed, or its node went down after the update in a way that counts, even if it is back since.
    pub fn counts_as_failed(&self) -> bool {
        self.state == NodeState::Failed || self.suspect.is_some_and(SuspectView::has_failed)
    }

    /// Whether its pod is at the target revision and available, and nothing of its node counts as failed.
    pub fn is_updated_and_well(&self) -> bool {
        self.state == NodeState::Updated && !self.counts_as_failed()
    }

    /// How many restarts of its pod count: all but those with its node, and the evictions of the pods before it.
    pub fn counted_restarts(&self) -> u32 {
        self.restarts.saturating_sub(self.restarts_with_node) + self.evictions()
    }

    /// How many pods of its revision its kubelet evicted before this one, as far as that is watched.
    pub fn evictions(&self) -> u32 {
        self.restarted.as_ref().map_or(0, |restarted| restarted.evictions.into())
    }

    /// What those are.
    pub(crate) fn restart_kind(&self) -> RestartKind {
        RestartKind::of(self.counted_restarts(), self.evictions())
    }

    /// Whether its new pod has never been ready and its containers restart. Between two crashes they run, and nothing else tells of the restarts.
    pub fn keeps_restarting(&self) -> bool {
        keeps_restarting(self.state, self.at_target, self.counted_restarts())
    }

    /// Whether it is next to be updated, whatever it waits for in line.
    pub fn is_next(&self) -> bool {
        self.hold.as_ref().is_some_and(|hold| hold.kind() == HoldKind::Next)
    }

    /// Whether it waits until an operator does something to the node itself, such as to uncordon it: that is no place in the line of the others.
    pub fn waits_for_an_operator_at_it(&self) -> bool {
        self.hold.as_ref().is_some_and(|hold| hold.ended_by() == HoldEndedBy::NodeOperator)
    }

    /// Whether it is updated as soon as there is room, without any action of an operator.
    pub fn goes_by_itself(&self) -> bool {
        self.hold.as_ref().is_some_and(|hold| hold.consequences().momentary)
    }

    /// The hash of its pod's revision.
    pub fn revision_hash(&self) -> Option<&Str> {
        self.revision.as_ref().map(|revision| &revision.hash)
    }

    /// The number of its pod's revision, when its ControllerRevision is there.
    pub fn revision_number(&self) -> Option<i64> {
        self.revision.as_ref().and_then(|revision| revision.number)
    }

    /// How long it is in its state, as of `now`.
    pub fn age(&self, now: Timestamp) -> Option<Duration> {
        self.since.map(|since| now.since(since))
    }
}

#[cfg(test)]
mod fixtures {
    use super::*;
    use crate::engine::model::cause::CauseKind;
    use crate::engine::model::node::RunEnd;
    use crate::engine::model::pull::PeerScope;
    use crate::engine::model::pull::fixtures::{a_minute, image};
    use crate::engine::model::template::ImageUse;

    /// The names of the fields, of which the compiler asks for each, and each of them from another view.
    macro_rules! fields {
        ($($field:ident),+ $(,)?) => {
            /// Copies of this view, each with one field as in `other`, with the name of that field.
            pub(crate) fn with_each_field_of(&self, other: &Self) -> Vec<(&'static str, Self)> {
                let Self { $($field),+ } = other;
                vec![$((stringify!($field), Self { $field: $field.clone(), ..self.clone() })),+]
            }
        };
    }

    impl NodeView {
        /// A node of which nothing is known but its name. Fixtures say beside it what they are about.
        pub(crate) fn unknown(name: &str) -> Self {
            Self {
                name: name.into(),
                state: NodeState::Outdated,
                hold: None,
                pod_wait: None,
                cause: None,
                cause_since: None,
                blame: None,
                down_by: None,
                since: None,
                revision: None,
                at_target: false,
                image: ImageState::Unknown,
                images: Arc::default(),
                usual_pull: None,
                prewarm: None,
                pod: None,
                pod_created_at: None,
                restarts: 0,
                restarts_with_node: 0,
                restarted: None,
                crash_loop: None,
                lost_readiness: false,
                suspect: None,
                accepted: false,
                eligible: false,
                ineligible: None,
                serves: false,
                committed: false,
                selected: false,
                site: Str::default(),
                labels: Labels::default(),
                rank: None,
                clock_skew_millis: None,
                counted_unavailable_until: None,
                pressure: None,
                details: NodeDetails::default(),
            }
        }

        /// A node of which all is known: in each field a value of its own, with this number wherever it has one. Texts are no wider than a
        /// column of the usual width.
        pub(crate) fn known(number: u32) -> Self {
            let nth = i64::from(number);
            let before_noon = |minutes: i64| Timestamp::from_millis(1_795_262_400_000 - (minutes * 60 + nth) * 1000);
            let cause = |kind| Cause { kind, container: None, message: Some("manifest unknown".into()) };
            let failed = PrewarmState::Failed { cause: cause(CauseKind::ImageDisk), times: number, again_at: None };
            Self {
                name: format!("ipc-{number}").into(),
                state: NodeState::Failed,
                hold: Some(Hold::Partition { keep: number }),
                pod_wait: Some(Box::new(PodWait::Scheduler { since: before_noon(1) })),
                cause: Some(Box::new(cause(CauseKind::ImageNotFound))),
                cause_since: Some(before_noon(2)),
                blame: Some(Blame::Rollout),
                down_by: Some(DownBy::Others),
                since: Some(before_noon(3)),
                revision: Some(PodRevision { hash: format!("hash{number}").into(), number: Some(nth) }),
                at_target: true,
                image: ImageState::Failed,
                images: [image(ImageUse::Main, PullState::Pulling { since: before_noon(4) })].into(),
                usual_pull: Some(Box::new(a_minute(number, PeerScope::Fleet))),
                prewarm: Some(Box::new(failed)),
                pod: Some(format!("ipc-agent-{number}").into()),
                pod_created_at: Some(before_noon(5)),
                restarts: number,
                restarts_with_node: (number / 2).max(1),
                restarted: Some(Box::new(RestartsView {
                    times: number.try_into().unwrap(),
                    evictions: 0,
                    end: Some(RunEnd::Exit(7)),
                    until: Timestamp::default(),
                })),
                crash_loop: Some(CrashLoopView { cause: CauseKind::CrashLoop, since: before_noon(6) }),
                lost_readiness: true,
                suspect: Some(SuspectView::Again),
                accepted: true,
                eligible: true,
                ineligible: Some(Box::new(Ineligible::OtherNode { name: format!("ipc-{}", number + 1).into() })),
                serves: true,
                committed: true,
                selected: true,
                site: format!("munich-{number}").into(),
                labels: [("line", &*format!("line{number}"))].into_iter().collect(),
                rank: Some(number),
                clock_skew_millis: Some(nth * 60_000),
                counted_unavailable_until: Some(before_noon(7)),
                pressure: Some(format!("DiskPressure{number}").into()),
                details: NodeDetails::known(number),
            }
        }

        fields! {
            name, state, hold, pod_wait, cause, cause_since, blame, down_by, since, revision, at_target, image, images,
            usual_pull, prewarm, pod, pod_created_at, restarts, restarts_with_node, restarted, crash_loop, lost_readiness, suspect, accepted, eligible,
            ineligible, serves, committed, selected, site, labels, rank, clock_skew_millis, counted_unavailable_until, pressure, details,
        }
    }

    /// Otherwise what is left out of an output, or told under another name, would not be found.
    #[test]
    fn a_node_of_which_all_is_known_shares_no_value_with_one_of_which_nothing_is() {
        let known = NodeView::known(1);
        for (field, changed) in known.with_each_field_of(&NodeView::unknown("ipc")) {
            assert_ne!(changed, known, "{field}");
        }
    }
}
