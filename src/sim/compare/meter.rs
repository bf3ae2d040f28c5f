//! Measures a run: reads every change of pods and nodes, and the links.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::figures::Figures;
use super::method::Method;
use crate::engine::model::Str;
use crate::engine::model::facts::ConditionStatus;
use crate::engine::model::time::Timestamp;
use crate::sim::world::World;
use crate::sim::world::kind::Kind;
use crate::sim::world::object::{Condition, Object, Pod, conditions};
use crate::sim::world::scenario::RolloutPlan;
use crate::sim::world::store::{ChangeKind, StoreChange};

/// The state of a measurement.
#[derive(Debug)]
pub(super) struct Meter {
    /// The DaemonSet's uid.
    owner: Str,
    rollout: RolloutPlan,
    /// The nodes that run the DaemonSet.
    nodes: BTreeSet<Str>,
    /// The ready pods that are not being deleted, by uid.
    serving: BTreeMap<Str, Serving>,
    /// How many nodes have a ready pod with the new images.
    updated: usize,
    /// The resource version up to which changes are read.
    known: u64,
    began_at: Timestamp,
    /// The instant up to which offline time is counted.
    counted_to: Timestamp,
    offline_now: usize,
    offline: Duration,
    peak_offline: usize,
    lease_losses: usize,
    peak_pulls: BTreeMap<Str, usize>,
}

#[derive(Debug)]
struct Serving {
    node: Str,
    /// Whether the pod has the new images.
    updated: bool,
}

impl Meter {
    /// Begins to measure now; the nodes that have a ready pod now count.
    pub(super) fn new(world: &World, rollout: &RolloutPlan) -> Self {
        let (namespace, name) = &rollout.daemon_set;
        let owner = world.store().get(Kind::DaemonSet, namespace, name).map(|set| set.meta.uid.clone());
        let now = world.now();
        let mut meter = Self {
            owner: owner.unwrap_or_default(),
            rollout: rollout.clone(),
            nodes: BTreeSet::new(),
            serving: BTreeMap::new(),
            updated: 0,
            known: world.store().revision(),
            began_at: now,
            counted_to: now,
            offline_now: 0,
            offline: Duration::ZERO,
            peak_offline: 0,
            lease_losses: 0,
            peak_pulls: BTreeMap::new(),
        };
        for pod in world.store().list_in(Kind::Pod, namespace) {
            meter.enter(pod);
        }
        meter.nodes = meter.serving.values().map(|serving| serving.node.clone()).collect();
        meter
    }

    /// The nodes that run the DaemonSet.
    pub(super) fn nodes(&self) -> &BTreeSet<Str> {
        &self.nodes
    }

    /// Whether a node serves the new images.
    pub(super) fn is_updated(&self, node: &Str) -> bool {
        self.serving.values().any(|serving| serving.updated && serving.node == *node)
    }

    /// Whether every node serves the new images.
    pub(super) fn is_done(&self) -> bool {
        self.updated == self.nodes.len()
    }

    /// Takes in the changes since the last call.
    pub(super) fn follow(&mut self, world: &World) {
        for (site, pulls) in world.fleet().pulls_by_site() {
            match self.peak_pulls.get_mut(site) {
                Some(peak) => *peak = pulls.max(*peak),
                None => drop(self.peak_pulls.insert(site.clone(), pulls)),
            }
        }
        let store = world.store();
        if store.revision() == self.known {
            return;
        }
        // A meter that is called at every step is never behind the log.
        let nodes = store.changes_since(Kind::Node, self.known).into_iter().flatten();
        self.lease_losses += nodes.filter(|change| is_lease_loss(change)).count();
        for change in store.changes_since(Kind::Pod, self.known).into_iter().flatten() {
            if change.object.meta.controller() != Some(&self.owner) {
                continue;
            }
            self.count_to(change.at);
            match change.kind {
                ChangeKind::Deleted => drop(self.serving.remove(&change.object.meta.uid)),
                ChangeKind::Added | ChangeKind::Modified => self.enter(&change.object),
            }
            self.offline_now = self.nodes.len().saturating_sub(self.nodes_that(|_| true));
            self.updated = self.nodes_that(|serving| serving.updated);
            self.peak_offline = self.peak_offline.max(self.offline_now);
        }
        self.known = store.revision();
    }

    /// The figures up to `now`.
    pub(super) fn figures(mut self, method: Method, halts: Vec<String>, now: Timestamp) -> Figures {
        self.count_to(now);
        Figures {
            method,
            total: self.is_done().then(|| now.since(self.began_at)),
            peak_offline: self.peak_offline,
            offline: self.offline,
            lease_losses: self.lease_losses,
            peak_pulls: self.peak_pulls,
            halts,
        }
    }

    fn enter(&mut self, object: &Object) {
        let Some(pod) = object.pod().filter(|_| object.meta.controller() == Some(&self.owner)) else { return };
        let node = pod.target().filter(|_| pod.ready().is_some() && !object.meta.is_deleting());
        match node {
            Some(node) => {
                let updated = has_images(pod, &self.rollout);
                self.serving.insert(object.meta.uid.clone(), Serving { node: node.clone(), updated });
            }
            None => drop(self.serving.remove(&object.meta.uid)),
        }
    }

    /// How many nodes have a pod for which `is_such` is true.
    fn nodes_that(&self, is_such: impl Fn(&Serving) -> bool) -> usize {
        let nodes: BTreeSet<&Str> =
            self.serving.values().filter(|serving| is_such(serving)).map(|serving| &serving.node).collect();
        nodes.len()
    }

    fn count_to(&mut self, at: Timestamp) {
        let nodes = u32::try_from(self.offline_now).unwrap_or(u32::MAX);
        self.offline += at.since(self.counted_to) * nodes;
        self.counted_to = at;
    }
}

/// Whether a pod has the images of the rollout.
pub(super) fn has_images(pod: &Pod, rollout: &RolloutPlan) -> bool {
    let has = |image: &String| pod.template.containers().iter().any(|container| *container.image == **image);
    rollout.images.values().all(has)
}

/// Whether a node was ready and is not known to be ready any more, because its Lease was silent for longer than its grace.
fn is_lease_loss(change: &StoreChange) -> bool {
    let ready = |object: &Object| object.node().map(|node| Condition::status(&node.conditions, conditions::READY));
    change.before.as_deref().and_then(ready) == Some(ConditionStatus::True)
        && ready(&change.object) == Some(ConditionStatus::Unknown)
}
