//! The pods of one node: which one counts, which one is going, which one is coming.

use super::Assessor;
use crate::engine::model::facts::PodPhase;
use crate::engine::model::node::NodeIx;
use crate::engine::view::{PodEntry, PodIx};

/// The pods of one node, sorted out.
pub(super) struct OnNode<'a> {
    pub(super) live: Option<&'a PodEntry>,
    pub(super) going: Option<&'a PodEntry>,
    /// A new pod beside the live one, while a controller that surges waits until the new pod is available (docs/kubernetes.md,
    /// *RollingUpdate*).
    pub(super) coming: Option<&'a PodEntry>,
    /// There is more than one live pod: the controller deletes all but one.
    pub(super) surplus: bool,
    /// The pod that counts: the live one, or else the one that is going.
    pub(super) counts: Option<PodIx>,
    pub(super) being_deleted: bool,
}

impl<'a> Assessor<'a> {
    /// Of several live pods the newest counts. While the newest is not available, the oldest available one counts, because it serves.
    pub(super) fn sort_out(&mut self, ix: NodeIx, clock: Option<i64>) -> OnNode<'a> {
        let view = self.view;
        let mut live: Option<(PodIx, &PodEntry)> = None;
        let mut going = live;
        let mut alive = 0;
        for (at, pod) in view.pods_on(ix) {
            let slot = if pod.fact.deletion_at.is_none() { &mut live } else { &mut going };
            // Pods that have ended do not count as surplus: the controller creates new ones beside them.
            let ended = matches!(pod.fact.phase, PodPhase::Failed | PodPhase::Succeeded);
            alive += u32::from(pod.fact.deletion_at.is_none() && !ended);
            let newer =
                |known: &PodEntry| (known.fact.created_at, &known.fact.uid) < (pod.fact.created_at, &pod.fact.uid);
            if slot.is_none_or(|(_, known)| newer(known)) {
                *slot = Some((at, pod));
            }
        }
        let mut coming = None;
        if let Some((_, newest)) = live.filter(|_| alive > 1) {
            let at_target = self.is_at_target(newest);
            if !self.is_available(newest, at_target, clock)
                && let Some(serving) = self.oldest_available(ix, clock)
            {
                coming = Some(newest).filter(|_| at_target);
                live = Some(serving);
            }
        }
        let being_deleted = live.is_some_and(|(_, pod)| (self.question.deleting)(&pod.fact.uid));
        OnNode {
            counts: live.or(going).map(|(at, _)| at),
            live: live.map(|(_, pod)| pod),
            going: going.map(|(_, pod)| pod),
            coming,
            surplus: alive > 1,
            being_deleted,
        }
    }
}
