//! Eviction by taint: pods that do not tolerate a `NoExecute` taint of their node have to go.
//!
//! Pods of DaemonSets tolerate the taints of a node that is down without a limit. Admission gives all other pods five minutes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::disruption::DISRUPTION_TARGET;
use crate::engine::model::facts::{ConditionStatus, Taint};
use crate::engine::model::template::TaintEffect;
use crate::engine::model::time::Timestamp;

use super::super::kind::Kind;
use super::super::object::{Body, Condition, EventType, Node, Object, Pod};
use super::super::store::{ChangeKind, DeleteOptions, Store, StoreChange};
use super::super::write::{WriteOptions, WrittenPart};
use super::eligibility::{DOWN, tolerated};
use super::{Controller, record};

const COMPONENT: &str = "taint-eviction-controller";
const BY: WriteOptions<'static> = WriteOptions::named("kube-controller-manager");
/// How long a pod without a toleration of its own may stay on a node that is down (`DefaultTolerationSeconds`).
const PATIENCE: Duration = Duration::from_secs(300);
/// The time from a change of taints until the controller acts.
const REACTION: Duration = Duration::from_millis(100);

/// The taint eviction controller.
#[derive(Debug, Default)]
pub(in crate::sim::world) struct TaintEviction {
    /// The nodes with `NoExecute` taints, with the time since which each taint is there.
    tainted: BTreeMap<Str, BTreeMap<Str, Timestamp>>,
    /// The nodes to look at, with the time of the look.
    due: BTreeMap<Str, Timestamp>,
}

impl TaintEviction {
    fn look_at(&mut self, name: &Str, store: &mut Store, now: Timestamp) {
        let (Some(since), Some(node)) = (self.tainted.get(name), store.get(Kind::Node, "", name)) else { return };
        let Some(body) = node.node().cloned() else { return };
        let mut next: Option<Timestamp> = None;
        let mut leaving: Vec<Arc<Object>> = Vec::new();
        for object in store.list(Kind::Pod).filter(|object| !object.meta.is_deleting()) {
            let Some(pod) = object.pod().filter(|pod| pod.node.as_ref() == Some(name)) else { continue };
            match leaves_at(pod, &body, since) {
                Some(at) if at <= now => leaving.push(Arc::clone(object)),
                Some(at) => next = Some(next.map_or(at, |next| next.min(at))),
                None => {}
            }
        }
        if let Some(next) = next {
            self.due.insert(name.clone(), next);
        }
        for object in leaving {
            let meta = &object.meta;
            let words = format!("Marking for deletion Pod {}/{}", meta.namespace, meta.name);
            record(store, COMPONENT, &object, (EventType::Normal, "TaintManagerEviction", words), now);
            let _ = store.modify((Kind::Pod, &meta.namespace, &meta.name), WrittenPart::Status, now, BY, |object| {
                let Body::Pod(pod) = &mut object.body else { return };
                let target = Condition {
                    kind: DISRUPTION_TARGET.into(),
                    status: ConditionStatus::True,
                    since: now,
                    heartbeat_at: None,
                    reason: Some("DeletionByTaintManager".into()),
                    message: Some("Taint manager: deleting due to NoExecute taint".into()),
                };
                pod.status.conditions = target.replaced_in(&pod.status.conditions);
            });
            let options = DeleteOptions { uid: Some(meta.uid.clone()), ..DeleteOptions::default() };
            let _ = store.delete(Kind::Pod, &meta.namespace, &meta.name, &options, now, BY);
        }
    }
}

/// The time at which a pod has to leave its node; `None` when it may stay.
fn leaves_at(pod: &Pod, node: &Node, since: &BTreeMap<Str, Timestamp>) -> Option<Timestamp> {
    let expelling = node.taints.iter().filter(|taint| taint.effect == TaintEffect::NoExecute && !tolerated(pod, taint));
    let at = |taint: &Taint| {
        let since = since.get(&taint.key).copied().unwrap_or_default();
        if DOWN.contains(&&*taint.key) { since + PATIENCE } else { since }
    };
    expelling.map(at).min()
}

impl Controller for TaintEviction {
    fn observe(&mut self, change: &StoreChange, now: Timestamp) {
        match change.object.kind() {
            Kind::Node => {
                let name = &change.object.meta.name;
                let node = change.object.node().filter(|_| change.kind != ChangeKind::Deleted);
                let known = self.tainted.remove(name).unwrap_or_default();
                let expelling = node.into_iter().flat_map(|node| node.taints.iter());
                let expelling = expelling.filter(|taint| taint.effect == TaintEffect::NoExecute);
                let since: BTreeMap<Str, Timestamp> =
                    expelling.map(|taint| (taint.key.clone(), known.get(&taint.key).copied().unwrap_or(now))).collect();
                if since.is_empty() {
                    self.due.remove(name);
                    return;
                }
                if since != known {
                    self.due.insert(name.clone(), now + REACTION);
                }
                self.tainted.insert(name.clone(), since);
            }
            Kind::Pod if change.kind != ChangeKind::Deleted && !self.tainted.is_empty() => {
                let bound = |object: &Arc<Object>| object.pod().and_then(|pod| pod.node.clone());
                let node = bound(&change.object);
                let newly = node != change.before.as_ref().and_then(bound);
                if let Some(node) = node.filter(|node| newly && self.tainted.contains_key(node)) {
                    self.due.insert(node, now + REACTION);
                }
            }
            _ => {}
        }
    }

    fn next_at(&self) -> Option<Timestamp> {
        self.due.values().min().copied()
    }

    fn run(&mut self, store: &mut Store, now: Timestamp) {
        let due: Vec<Str> = self.due.iter().filter(|(_, at)| **at <= now).map(|(name, _)| name.clone()).collect();
        for name in due {
            self.due.remove(&name);
            self.look_at(&name, store, now);
        }
    }
}

#[cfg(test)]
mod tests;
