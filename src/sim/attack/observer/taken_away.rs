//! P10: a pod that a rolldeck deleted is not said to have been taken away by somebody else.

use std::collections::HashMap;

use super::Observer;
use crate::engine::model::Str;
use crate::engine::model::rollout_event::RolloutEventKind;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::Snapshot;

/// Pods that a rolldeck deleted before anybody else did, by uid, and when.
#[derive(Debug, Default)]
pub(super) struct DeletedByRolldeck(HashMap<Str, Timestamp>);

impl DeletedByRolldeck {
    pub(super) fn insert(&mut self, uid: &Str, at: Timestamp) {
        self.0.insert(uid.clone(), at);
    }
}

impl Observer {
    pub(super) fn check_taken_away(&mut self, by: &Str, snapshot: &Snapshot, now: Timestamp) {
        // Others may have relabelled it before: what is told of that was so. Consoles date it by their own clock, as the snapshot.
        let by_rolldeck = |uid: &Str, told_at: Timestamp| {
            let told_ago = snapshot.at.since(told_at);
            self.deleted_by_rolldeck.0.get(uid).is_some_and(|at| *at <= now - told_ago)
        };
        let blamed = snapshot.timeline.iter().find_map(|event| match &event.kind {
            RolloutEventKind::PodTakenAway { node, uid, .. } if by_rolldeck(uid, event.at) => Some(node),
            _ => None,
        });
        if let Some(node) = blamed {
            self.report_violation(
                "P10",
                now,
                format!("{by} blames others for the pod of {node}, which a rolldeck deleted"),
            );
        }
    }
}
