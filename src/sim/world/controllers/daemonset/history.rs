//! ControllerRevisions: one for each template that the DaemonSet had; the current one is found by its content.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::engine::model::Str;
use crate::engine::model::labels::Labels;
use crate::engine::model::template::Template;
use crate::engine::model::time::Timestamp;

use super::super::super::error::Reason;
use super::super::super::kind::Kind;
use super::super::super::object::{Body, ControllerRevision, DaemonSet, Meta, Object, REVISION_HASH};
use super::super::super::store::{DeleteOptions, SAFE, Store};
use super::super::super::write::WrittenPart;
use super::{BY, DaemonSets, Sync};

/// A DaemonSet's revisions.
pub(super) struct History {
    /// The hash of the current revision.
    pub(super) hash: Str,
    /// The other revisions.
    pub(super) old: Vec<Arc<Object>>,
}

impl DaemonSets {
    /// Finds or creates the revision of the present template, and raises its number above all others.
    ///
    /// `None` when a revision with another template has the name: the collision is counted, and the next sync tries another name.
    pub(super) fn history(
        &mut self,
        object: &Arc<Object>,
        set: &DaemonSet,
        store: &mut Store,
        now: Timestamp,
    ) -> Option<History> {
        let all = self.claim_revisions(object, set, store, now);
        let same = |revision: &Arc<Object>| revision.revision().is_some_and(|body| body.template == set.spec.template);
        let number = |revision: &Arc<Object>| revision.revision().map_or(0, |body| body.number);
        let current = all.iter().filter(|revision| same(revision)).max_by_key(|revision| number(revision)).cloned();
        let is_current =
            |revision: &Arc<Object>| current.as_ref().is_some_and(|current| current.meta.uid == revision.meta.uid);
        let old: Vec<Arc<Object>> = all.iter().filter(|revision| !is_current(revision)).cloned().collect();
        let next = old.iter().map(number).max().unwrap_or(0) + 1;
        let current = match current {
            Some(current) if number(&current) < next => {
                let at = (Kind::ControllerRevision, &*current.meta.namespace, &*current.meta.name);
                let raised = store.modify(at, WrittenPart::Main, now, BY, |object| {
                    if let Body::ControllerRevision(revision) = &mut object.body {
                        revision.number = next;
                    }
                });
                raised.unwrap_or(current)
            }
            Some(current) => current,
            None => Self::new_revision(object, set, next, store, now)?,
        };
        let hash = current.meta.revision_hash().unwrap_or(&current.meta.name).clone();
        Some(History { hash, old })
    }

    fn new_revision(
        object: &Arc<Object>,
        set: &DaemonSet,
        number: i64,
        store: &mut Store,
        now: Timestamp,
    ) -> Option<Arc<Object>> {
        let hash = hash_of(&set.spec.template, set.status.collision_count);
        let name: Str = format!("{}-{hash}", object.meta.name).into();
        let template_labels = Labels::from_json(&set.spec.template.json()["metadata"]["labels"]);
        let labels = template_labels.iter().map(|(key, value)| (key.clone(), value.clone()));
        let meta = Meta {
            namespace: object.meta.namespace.clone(),
            name: name.clone(),
            labels: labels.chain([(REVISION_HASH.into(), hash.into())]).collect(),
            // The annotations are copied from the DaemonSet once, at creation: so a change-cause is stale after a roll back.
            annotations: object.meta.annotations.clone(),
            owners: [object.as_controller()].into(),
            ..Meta::default()
        };
        let body = ControllerRevision { number, template: set.spec.template.clone() };
        match store.create(Object { meta, body: Body::ControllerRevision(body) }, now, BY) {
            Ok(created) => Some(created),
            Err(refused) if refused.reason == Reason::AlreadyExists => {
                let taken = store.get(Kind::ControllerRevision, &object.meta.namespace, &name)?.clone();
                // The controller created this revision itself; the cache does not have it yet.
                if taken.revision().is_some_and(|taken| taken.template == set.spec.template) {
                    return Some(taken);
                }
                let at = (Kind::DaemonSet, &*object.meta.namespace, &*object.meta.name);
                let _ = store.modify(at, WrittenPart::Status, now, BY, |object| {
                    if let Body::DaemonSet(set) = &mut object.body {
                        set.status.collision_count = Some(set.status.collision_count.unwrap_or(0) + 1);
                    }
                });
                None
            }
            Err(_) => None,
        }
    }

    /// Deletes the oldest revisions beyond the limit, but none at which a pod still is.
    pub(super) fn clean_up(&mut self, sync: &mut Sync<'_>, store: &mut Store, now: Timestamp) {
        let limit = usize::try_from(sync.set.spec.history_limit).unwrap_or(usize::MAX);
        let mut excess = sync.history.old.len().saturating_sub(limit);
        if excess == 0 {
            return;
        }
        let live: BTreeSet<&Str> = sync.pods.values().flatten().filter_map(|pod| pod.meta.revision_hash()).collect();
        sync.history.old.sort_by_key(|revision| revision.revision().map_or(0, |body| body.number));
        for revision in &sync.history.old {
            if excess == 0 {
                break;
            }
            if revision.meta.revision_hash().is_some_and(|hash| live.contains(hash)) {
                continue;
            }
            let options = DeleteOptions::default();
            let _ = store.delete(
                Kind::ControllerRevision,
                &revision.meta.namespace,
                &revision.meta.name,
                &options,
                now,
                BY,
            );
            excess -= 1;
        }
    }
}

/// A hash of the template's content in Kubernetes' alphabet. (A real one depends on the server's own Go structs, so
/// nothing may rely on its value.)
fn hash_of(template: &Template, collisions: Option<u32>) -> String {
    let mut hash: u32 = 2_166_136_261;
    let salt = collisions.map(|count| count.to_le_bytes()).unwrap_or_default();
    for byte in template.json().to_string().bytes().chain(salt) {
        hash = (hash ^ u32::from(byte)).wrapping_mul(16_777_619);
    }
    hash.to_string().bytes().map(|digit| char::from(SAFE[usize::from(digit) % SAFE.len()])).collect()
}
