//! The waits: of each node that moves, and of the rollout while it is prepared or released.

use std::sync::Arc;

use crate::engine::assess::rows::{Row, Soaks};
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::driver::DriverView;
use crate::engine::model::facts::{ContainerFact, ContainerState, PodFact};
use crate::engine::model::node::NodeState;
use crate::engine::model::pod_wait::{Blocked, PodWait};
use crate::engine::model::record::Intent;
use crate::engine::model::template::ContainerRole;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::pulls::{has_image_of, images_present};
use crate::engine::writes::deletions::SentDeletion;

impl Engine {
    /// The wait of a node that moves; `None` for one that does not.
    pub(super) fn pod_wait_of(&self, row: &Row) -> Option<PodWait> {
        let pod = row.pod.and_then(|pod| self.view.pod(pod));
        let ours = |at: Timestamp| self.view.our_time(at);
        match (row.state, pod) {
            (NodeState::Terminating, Some(pod)) => Some(match self.deletions.get(&pod.fact.uid) {
                Some(_) if pod.fact.deletion_at.is_some() => self.ends(&pod.fact),
                Some(SentDeletion::Sent) => PodWait::DeletionAnswer,
                Some(SentDeletion::Confirmed(since)) => PodWait::DeletionShown { since },
                Some(SentDeletion::Unknown(since)) => PodWait::DeletionLost { since },
                None => self.ends(&pod.fact),
            }),
            (NodeState::NodeDown, Some(pod)) => pod.fact.deletion_at.map(|_| PodWait::NodeBack),
            // No pod will be created: the node's hold says why.
            (NodeState::Creating, None) if self.is_being_deleted() => None,
            (NodeState::Unknown, _) => {
                Some(PodWait::NoPod { why: "pods may not be read: whether it has one is not known".into() })
            }
            (NodeState::Creating, None) if let Some(why) = self.ineligible_because(row.node) => {
                Some(PodWait::NoPod { why: why.to_string().into() })
            }
            (NodeState::Creating, None) => {
                let since = self.view.nodes().get(row.node).and_then(|node| node.missing_since);
                Some(PodWait::Controller { since })
            }
            (NodeState::Creating | NodeState::Pulling | NodeState::PullFailed | NodeState::Starting, Some(pod)) => {
                let fact = &pod.fact;
                let pulling = self.view.pulling_since(fact);
                let since = ours(fact.created_at);
                Some(match (row.state, fact.containers.is_empty()) {
                    (NodeState::Pulling, _) => PodWait::Pull { since: pulling.map(ours) },
                    (_, true) if !fact.bound => PodWait::Scheduler { since },
                    (_, true) => PodWait::KubeletReport { since },
                    (_, false) => container_wait(&fact.containers, ours),
                })
            }
            (NodeState::Soaking, Some(_)) => match row.available_at {
                // Time in which pods are not seen does not count.
                Some(Soaks { secs, since_known: false, .. }) if !self.drives() => {
                    Some(PodWait::SoakSeenByDriver { secs })
                }
                Some(Soaks { secs, ends_at, since_known }) => {
                    let unseen = self.assessment.unseen_for(self.now);
                    Some(PodWait::Soak { secs, ends_at: ends_at + unseen, since_known })
                }
                // A surging controller takes the old pod away once this one is available.
                None if row.old || row.other_goes => Some(PodWait::OldPod),
                None => {
                    let unseen = self.assessment.unseen_for(self.now);
                    row.restarted.as_ref().map(|restarted| PodWait::Watched { until: restarted.until + unseen })
                }
            },
            (NodeState::Outdated, Some(pod)) => self.pull_of_other(row, &pod.fact),
            _ => None,
        }
    }

    /// Whether this process drives and its lease has not run out, so that its own count of the soak time decides.
    fn drives(&self) -> bool {
        matches!(self.driver_view(self.now), DriverView::You { lapsed: false, .. })
    }

    /// The images of an earlier target that the pod of an outdated node still pulls.
    fn pull_of_other(&self, row: &Row, pod: &PodFact) -> Option<PodWait> {
        let since = self.view.pulling_since(pod).map(|at| self.view.our_time(at));
        if pod.ready || images_present(pod) || !(row.pulls || since.is_some()) {
            return None;
        }
        let revision = self.view.revision(pod.revision.as_ref()?)?;
        let missing = revision.template.needed_images().iter().filter(|needed| !has_image_of(pod, &needed.user));
        let images: Vec<Str> =
            missing.map(|needed| needed.image.rsplit('/').next().unwrap_or_default().into()).collect();
        (!images.is_empty()).then(|| PodWait::PullOfOther { images: images.into(), since })
    }

    /// A pod that is on its way out.
    fn ends(&self, pod: &PodFact) -> PodWait {
        let finalizers: Arc<[Str]> = pod.finalizers.clone();
        let ends_at = self.view.our_time(pod.deletion_at.unwrap_or_default());
        let grace = pod.deletion_grace_secs.unwrap_or(0);
        if pod.is_held_by_finalizers() {
            return PodWait::Finalizers(finalizers);
        }
        if ends_at > self.now {
            return PodWait::Grace { secs: grace, ends_at, finalizers };
        }
        PodWait::Kubelet { since: ends_at }
    }

    /// The obstacle that the rollout waits for while it is prepared or released.
    pub(super) fn blocked(&self, intent: &Intent, now: Timestamp) -> Option<Blocked> {
        let by = self.blocker(intent, now)?;
        let since = self.blocked_since.as_ref().filter(|(known, _)| *known == by).map_or(now, |(_, since)| *since);
        Some(Blocked { by, since })
    }
}

/// The wait of the first container that is not ready. A sidecar that has started holds up no other one: it is told of where all others are ready.
fn container_wait(containers: &[ContainerFact], ours: impl Fn(Timestamp) -> Timestamp) -> PodWait {
    let ended_well = |container: &&ContainerFact| {
        matches!(&container.state, ContainerState::Terminated { exit_code: 0, .. })
            && container.role == ContainerRole::Init
    };
    let late = || containers.iter().filter(|container| !container.ready && !ended_well(container));
    let goes_on_beside = |container: &&ContainerFact| container.role == ContainerRole::Sidecar && container.started;
    let first = late().find(|container| !goes_on_beside(container)).or_else(|| late().next());
    let Some(container) = first else { return PodWait::PodReady };
    let name = container.name.clone();
    match (&container.state, container.role) {
        (ContainerState::Waiting { reason, .. }, _) => {
            let reason = if reason.is_empty() { "waiting".into() } else { reason.clone() };
            PodWait::Container { name, reason }
        }
        (ContainerState::Running { since }, ContainerRole::Init) => PodWait::Init { name, since: since.map(ours) },
        (ContainerState::Running { since }, ContainerRole::Sidecar) if !container.started => {
            PodWait::Sidecar { name, since: since.map(ours) }
        }
        (ContainerState::Running { since }, ContainerRole::Sidecar | ContainerRole::Main) => {
            PodWait::Ready { name, since: since.map(ours) }
        }
        (ContainerState::Terminated { reason, .. }, _) => PodWait::Container { name, reason: reason.clone() },
    }
}
