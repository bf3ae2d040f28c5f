//! The node lifecycle controller: it marks a node whose Lease is silent as unknown, taints it, and marks its pods as not ready.
//!
//! ```text
//!   Lease silent for the grace ──→ Ready=Unknown ──→ taints unreachable:NoSchedule and :NoExecute
//!                                        └──→ every pod on it Ready=False
//!   Ready=True again (its kubelet says so) ──→ taints go; the kubelet sets its pods right
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::facts::{ConditionStatus, Taint};
use crate::engine::model::template::TaintEffect;
use crate::engine::model::time::Timestamp;

use super::super::kind::Kind;
use super::super::kubelet::LEASE_NAMESPACE;
use super::super::object::{Body, Condition, EventType, Node, Object, conditions};
use super::super::store::{ChangeKind, Store, StoreChange};
use super::super::write::{WriteOptions, WrittenPart};
use super::{Controller, record};

const COMPONENT: &str = "node-controller";
const BY: WriteOptions<'static> = WriteOptions::named("kube-controller-manager");
/// How often the controller looks at all nodes (`--node-monitor-period`).
const PERIOD: Duration = Duration::from_secs(5);
const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";
/// Conditions with the taint that each causes while it is true.
const PRESSURES: [(&str, &str); 3] = [
    (conditions::DISK_PRESSURE, "node.kubernetes.io/disk-pressure"),
    (conditions::MEMORY_PRESSURE, "node.kubernetes.io/memory-pressure"),
    (conditions::PID_PRESSURE, "node.kubernetes.io/pid-pressure"),
];

/// The node lifecycle controller.
#[derive(Debug)]
pub(in crate::sim::world) struct NodeLifecycle {
    grace: Duration,
    /// When each node was last heard of, by this controller's clock.
    heard: BTreeMap<Str, Timestamp>,
    /// The nodes whose taints may have to change, with the time of the change.
    due: BTreeMap<Str, Timestamp>,
    next_round_at: Timestamp,
    rng: fastrand::Rng,
}

impl NodeLifecycle {
    pub(in crate::sim::world) fn new(grace: Duration, seed: u64, now: Timestamp) -> Self {
        Self {
            grace,
            heard: BTreeMap::new(),
            due: BTreeMap::new(),
            next_round_at: now + PERIOD,
            rng: fastrand::Rng::with_seed(seed),
        }
    }

    /// Looks at all nodes.
    fn round(&mut self, store: &mut Store, now: Timestamp) {
        let silent: Vec<Arc<Object>> =
            store.list(Kind::Node).filter(|node| self.is_silent(node, now)).cloned().collect();
        for node in silent {
            let was_ready = ready(&node) == ConditionStatus::True;
            let _ = store.modify((Kind::Node, "", &node.meta.name), WrittenPart::Status, now, BY, |object| {
                forget_conditions(object, now);
            });
            if was_ready {
                let message = format!("Node {} status is now: NodeNotReady", node.meta.name);
                record(store, COMPONENT, &node, (EventType::Normal, "NodeNotReady", message), now);
                mark_pods_not_ready(&node.meta.name, store, now);
            }
        }
    }

    fn is_silent(&self, node: &Object, now: Timestamp) -> bool {
        let heard_at = self.heard.get(&node.meta.name).copied().unwrap_or(node.meta.created_at);
        now.since(heard_at) > self.grace && ready(node) != ConditionStatus::Unknown
    }
}

fn ready(node: &Object) -> ConditionStatus {
    node.node().map_or(ConditionStatus::Unknown, |node| Condition::status(&node.conditions, conditions::READY))
}

fn forget_conditions(object: &mut Object, now: Timestamp) {
    let Body::Node(node) = &mut object.body else { return };
    let unknown = |condition: &Condition| {
        let since = if condition.status == ConditionStatus::Unknown { condition.since } else { now };
        Condition {
            status: ConditionStatus::Unknown,
            since,
            reason: Some("NodeStatusUnknown".into()),
            message: Some("Kubelet stopped posting node status.".into()),
            ..condition.clone()
        }
    };
    node.conditions = node.conditions.iter().map(unknown).collect();
}

fn mark_pods_not_ready(node: &Str, store: &mut Store, now: Timestamp) {
    let on_node = |object: &&Arc<Object>| {
        object.pod().is_some_and(|pod| pod.node.as_ref() == Some(node) && pod.ready().is_some())
    };
    let pods: Vec<Arc<Object>> = store.list(Kind::Pod).filter(on_node).cloned().collect();
    for object in pods {
        let meta = &object.meta;
        let _ = store.modify((Kind::Pod, &meta.namespace, &meta.name), WrittenPart::Status, now, BY, |object| {
            let Body::Pod(pod) = &mut object.body else { return };
            if let Some(ready) = Condition::find(&pod.status.conditions, conditions::READY) {
                let unready = Condition { status: ConditionStatus::False, since: now, ..ready.clone() };
                pod.status.conditions = unready.replaced_in(&pod.status.conditions);
            }
        });
        let event = (EventType::Warning, "NodeNotReady", "Node is not ready".to_owned());
        record(store, COMPONENT, &object, event, now);
    }
}

/// The node's taints with those that its conditions require, instead of those that this controller set before.
fn wanted_taints(node: &Node) -> Vec<Taint> {
    let ours = |key: &str| {
        [NOT_READY, UNREACHABLE, UNSCHEDULABLE].contains(&key) || PRESSURES.iter().any(|(_, taint)| *taint == key)
    };
    let taint = |key: &str, effect: TaintEffect| Taint { key: key.into(), value: "".into(), effect };
    let mut taints: Vec<Taint> = node.taints.iter().filter(|taint| !ours(&taint.key)).cloned().collect();
    let down = match Condition::status(&node.conditions, conditions::READY) {
        ConditionStatus::True => None,
        ConditionStatus::False => Some(NOT_READY),
        ConditionStatus::Unknown => Some(UNREACHABLE),
    };
    if let Some(key) = down {
        taints.extend([taint(key, TaintEffect::NoSchedule), taint(key, TaintEffect::NoExecute)]);
    }
    for (condition, key) in PRESSURES {
        if Condition::status(&node.conditions, condition) == ConditionStatus::True {
            taints.push(taint(key, TaintEffect::NoSchedule));
        }
    }
    if node.unschedulable {
        taints.push(taint(UNSCHEDULABLE, TaintEffect::NoSchedule));
    }
    taints
}

fn same_taints(one: &[Taint], other: &[Taint]) -> bool {
    one.len() == other.len() && one.iter().all(|taint| other.contains(taint))
}

impl Controller for NodeLifecycle {
    fn observe(&mut self, change: &StoreChange, now: Timestamp) {
        let meta = &change.object.meta;
        match &change.object.body {
            Body::Lease(_) if &*meta.namespace == LEASE_NAMESPACE && change.kind != ChangeKind::Deleted => {
                self.heard.insert(meta.name.clone(), now);
            }
            Body::Node(node) => {
                if change.kind == ChangeKind::Deleted {
                    self.heard.remove(&meta.name);
                    self.due.remove(&meta.name);
                    return;
                }
                if change.kind == ChangeKind::Added
                    || Condition::status(&node.conditions, conditions::READY) == ConditionStatus::True
                {
                    let posted =
                        Condition::find(&node.conditions, conditions::READY).and_then(|ready| ready.heartbeat_at);
                    let before = change.before.as_ref().and_then(|before| {
                        Condition::find(&before.node()?.conditions, conditions::READY)?.heartbeat_at
                    });
                    if posted != before || change.kind == ChangeKind::Added {
                        self.heard.insert(meta.name.clone(), now);
                    }
                }
                if !same_taints(&wanted_taints(node), &node.taints) {
                    let after = Duration::from_millis(self.rng.u64(10..=60));
                    self.due.entry(meta.name.clone()).or_insert(now + after);
                }
            }
            _ => {}
        }
    }

    fn next_at(&self) -> Option<Timestamp> {
        self.due.values().min().copied().into_iter().chain([self.next_round_at]).min()
    }

    fn run(&mut self, store: &mut Store, now: Timestamp) {
        if now >= self.next_round_at {
            self.next_round_at = now + PERIOD;
            self.round(store, now);
        }
        let due: Vec<Str> = self.due.iter().filter(|(_, at)| **at <= now).map(|(name, _)| name.clone()).collect();
        for name in due {
            self.due.remove(&name);
            let _ = store.modify((Kind::Node, "", &name), WrittenPart::Main, now, BY, |object| {
                if let Body::Node(node) = &mut object.body {
                    let wanted = wanted_taints(node);
                    if !same_taints(&wanted, &node.taints) {
                        node.taints = wanted.into();
                    }
                }
            });
        }
    }
}

#[cfg(test)]
mod tests;
