//! P10: no console says that somebody else took a pod away that a rolldeck deleted.

use std::collections::HashMap;

use super::Observer;
use crate::engine::model::Str;
use crate::engine::model::rollout_event::RolloutEventKind;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::Snapshot;
use crate::sim::attack::api_client::Deletion;

/// The pods, by uid, that a rolldeck deleted before anybody else did: the identity of that process and the time.
#[derive(Debug, Default)]
pub(super) struct DeletedByRolldeck(HashMap<Str, (Str, Timestamp)>);

impl DeletedByRolldeck {
    pub(super) fn insert(&mut self, deletion: &Deletion, at: Timestamp) {
        self.0.insert(deletion.uid.clone(), (deletion.by.clone(), at));
    }
}

impl Observer {
    pub(super) fn check_taken_away(&mut self, by: &Str, snapshot: &Snapshot, now: Timestamp) {
        // An event before the deletion may be about a changed label and is true. Events have the console's own time, as the snapshot has.
        let by_rolldeck = |uid: &Str, told_at: Timestamp| {
            let told_at = now - snapshot.at.since(told_at);
            // A console that does not hold the Lease may take another rolldeck for somebody else.
            let drives = self.drives(by);
            let theirs = self.deleted_by_rolldeck.0.get(uid).filter(|(deleted_by, _)| deleted_by == by || drives);
            theirs.is_some_and(|(_, at)| *at <= told_at)
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
