//! A deterministic model of a Kubernetes cluster under a virtual clock.
//!
//! It is pure: it reads no clock and does no IO. The same scenario with the same seed and the same calls gives the same
//! changes at the same instants.
//!
//! ```text
//!   callers ──create / update / delete──→ store ──changes──→ controllers ──writes──→ store …
//!                                           │ ▲
//!                                   pods,   ▼ │ actions
//!                                   nodes  kubelets (links, registry, faults)
//! ```
//!
//! [`World::advance`] lets time pass; between calls the world stands still, so a caller sees one consistent state. At one instant the order of actors
//! is fixed: faults, kubelets, DaemonSet and StatefulSet controllers, scheduler, node lifecycle, eviction, collector.

mod admission;
mod apply;
mod controllers;
pub mod error;
pub mod kind;
pub mod kubelet;
pub mod object;
pub mod policy;
pub mod scenario;
mod setup;
pub mod store;
pub mod write;

pub use controllers::eligibility;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::facts::ConditionStatus;
use crate::engine::model::time::Timestamp;

use controllers::Controller;
use controllers::collector::Collector;
use controllers::daemonset::DaemonSets;
use controllers::eviction::TaintEviction;
use controllers::lifecycle::NodeLifecycle;
use controllers::scheduler::Scheduler;
use controllers::statefulset::StatefulSets;
use error::ApiError;
use kind::Kind;
use kubelet::{AssignedPod, Kubelets};
use object::{Condition, Object, conditions};
use scenario::{Fault, FleetFault, NodeSetup, Scenario};
use store::{ChangeKind, DeleteOptions, Deleted, Store, StoreChange};
use write::{WriteOptions, WrittenPart};

/// A simulated cluster.
#[derive(Debug)]
pub struct World {
    now: Timestamp,
    began_at: Timestamp,
    store: Store,
    fleet: Kubelets,
    daemon_sets: DaemonSets,
    stateful_sets: StatefulSets,
    scheduler: Scheduler,
    lifecycle: NodeLifecycle,
    eviction: TaintEviction,
    collector: Collector,
    faults: VecDeque<(Timestamp, Fault)>,
    /// An empty buffer for changes, kept so that its memory is used again.
    spare: Vec<StoreChange>,
}

/// The actors, in the order in which they act at one instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Actor {
    Faults,
    Fleet,
    DaemonSets,
    StatefulSets,
    Scheduler,
    Lifecycle,
    Eviction,
    Collector,
}

impl World {
    /// A scenario's cluster at the scenario's beginning: the scenario's objects have existed for a few minutes.
    pub fn new(scenario: &Scenario, seed: u64) -> Self {
        Self::with_uids_of_its_own(scenario, seed, 0)
    }

    /// The same cluster in which everything goes the same way, and for each `uid_mark` the uids of its objects are others.
    pub fn with_uids_of_its_own(scenario: &Scenario, seed: u64, uid_mark: u128) -> Self {
        setup::build(scenario, seed, uid_mark)
    }

    /// Whether admission gives every new pod the pull policy `Always`.
    pub fn always_pulls_images(&self) -> bool {
        self.store.policies.always_pull_images
    }

    /// The world's clock.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// When the scenario began.
    pub fn began_at(&self) -> Timestamp {
        self.began_at
    }

    /// The next instant at which an actor acts.
    pub fn next_at(&self) -> Option<Timestamp> {
        self.next_actor().map(|(at, _)| at)
    }

    /// Lets time pass until `to`; the actors act when they are due. Time never goes back.
    pub fn advance(&mut self, to: Timestamp) {
        while let Some((at, actor)) = self.next_actor().filter(|(at, _)| *at <= to) {
            self.now = self.now.max(at);
            self.act(actor);
            self.settle();
        }
        self.now = self.now.max(to);
    }

    /// Lets that much time pass.
    pub fn advance_by(&mut self, span: Duration) {
        self.advance(self.now + span);
    }

    /// Lets time pass until `done` is true, at most for `limit`; returns whether `done` was true.
    pub fn advance_until(&mut self, limit: Duration, mut done: impl FnMut(&Self) -> bool) -> bool {
        let end = self.now + limit;
        while !done(self) {
            match self.next_at().filter(|at| *at <= end) {
                Some(at) => self.advance(at),
                None => {
                    self.advance(end);
                    return done(self);
                }
            }
        }
        true
    }

    /// All objects, for reading: gets, lists, and changes for watches.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The kubelets, which tell the state of the machines, whatever the API server believes.
    pub fn fleet(&self) -> &Kubelets {
        &self.fleet
    }

    /// Creates an object.
    ///
    /// # Errors
    /// As [`Store::create`].
    pub fn create(&mut self, object: Object, by: WriteOptions<'_>) -> Result<Arc<Object>, ApiError> {
        let created = self.store.create(object, self.now, by)?;
        self.settle();
        Ok(created)
    }

    /// Replaces one part of an object.
    ///
    /// # Errors
    /// As [`Store::update`].
    pub fn update(&mut self, object: Object, part: WrittenPart, by: WriteOptions<'_>) -> Result<Arc<Object>, ApiError> {
        let updated = self.store.update(object, part, self.now, by)?;
        self.settle();
        Ok(updated)
    }

    /// Reads an object, lets `edit` change it, and writes one part of it back.
    ///
    /// # Errors
    /// As [`Store::update`].
    pub fn modify(
        &mut self,
        at: (Kind, &str, &str),
        part: WrittenPart,
        by: WriteOptions<'_>,
        edit: impl FnOnce(&mut Object),
    ) -> Result<Arc<Object>, ApiError> {
        let updated = self.store.modify(at, part, self.now, by, edit)?;
        self.settle();
        Ok(updated)
    }

    /// Deletes an object, or begins to.
    ///
    /// # Errors
    /// As [`Store::delete`].
    pub fn delete(
        &mut self,
        (kind, namespace, name): (Kind, &str, &str),
        options: &DeleteOptions,
        by: WriteOptions<'_>,
    ) -> Result<Deleted, ApiError> {
        let deleted = self.store.delete(kind, namespace, name, options, self.now, by)?;
        self.settle();
        Ok(deleted)
    }

    /// Makes a fault happen now.
    pub fn inject(&mut self, fault: &Fault) {
        self.strike(fault);
        self.settle();
    }

    /// Makes a fault happen at `at`, or now if `at` is past.
    pub fn inject_at(&mut self, at: Timestamp, fault: impl Into<Fault>) {
        let place = self.faults.partition_point(|(other, _)| *other <= at);
        self.faults.insert(place, (at, fault.into()));
    }

    /// A machine joins.
    pub fn join(&mut self, setup: &NodeSetup) {
        self.inject(&FleetFault::Join(Box::new(setup.clone())).into());
    }

    /// From now on the DaemonSet controller sees changes only after this lag: its decisions are stale.
    pub fn set_controller_lag(&mut self, lag: Duration) {
        self.daemon_sets.set_lag(lag);
    }

    /// At most this many changes of each kind are kept for watches; with 0 every watch that lags behind expires.
    pub fn keep_changes(&mut self, changes: usize) {
        self.store.keep(changes);
    }

    /// A digest of every change so far: the same for the same scenario, seed and calls.
    pub fn digest(&self) -> u64 {
        self.store.digest()
    }

    /// The pods that a DaemonSet controls, by the node they are for; terminating ones included.
    pub fn pods_of(&self, namespace: &str, daemon_set: &str) -> BTreeMap<Str, Vec<Arc<Object>>> {
        let mut by_node: BTreeMap<Str, Vec<Arc<Object>>> = BTreeMap::new();
        let Some(set) = self.store.get(Kind::DaemonSet, namespace, daemon_set) else { return by_node };
        for object in self.store.list_in(Kind::Pod, namespace) {
            if object.meta.controller() != Some(&set.meta.uid) {
                continue;
            }
            if let Some(node) = object.pod().and_then(|pod| pod.target()) {
                by_node.entry(node.clone()).or_default().push(Arc::clone(object));
            }
        }
        by_node
    }

    /// The number of nodes on which a DaemonSet's pod is ready, as the API server has it, and is not being deleted.
    pub fn serving(&self, namespace: &str, daemon_set: &str) -> usize {
        let serves =
            |object: &Arc<Object>| !object.meta.is_deleting() && object.pod().is_some_and(|pod| pod.ready().is_some());
        self.pods_of(namespace, daemon_set).values().filter(|pods| pods.iter().any(serves)).count()
    }

    fn next_actor(&self) -> Option<(Timestamp, Actor)> {
        [
            (self.faults.front().map(|(at, _)| *at), Actor::Faults),
            (self.fleet.next_at(), Actor::Fleet),
            (self.daemon_sets.next_at(), Actor::DaemonSets),
            (self.stateful_sets.next_at(), Actor::StatefulSets),
            (self.scheduler.next_at(), Actor::Scheduler),
            (self.lifecycle.next_at(), Actor::Lifecycle),
            (self.eviction.next_at(), Actor::Eviction),
            (self.collector.next_at(), Actor::Collector),
        ]
        .into_iter()
        .filter_map(|(at, actor)| Some((at?, actor)))
        .min()
    }

    fn act(&mut self, actor: Actor) {
        let now = self.now;
        match actor {
            Actor::Faults => {
                if let Some((_, fault)) = self.faults.pop_front() {
                    self.strike(&fault);
                }
            }
            Actor::Fleet => self.fleet.advance(now),
            Actor::DaemonSets => self.daemon_sets.run(&mut self.store, now),
            Actor::StatefulSets => self.stateful_sets.run(&mut self.store, now),
            Actor::Scheduler => self.scheduler.run(&mut self.store, now),
            Actor::Lifecycle => self.lifecycle.run(&mut self.store, now),
            Actor::Eviction => self.eviction.run(&mut self.store, now),
            Actor::Collector => self.collector.run(&mut self.store, now),
        }
    }

    /// Carries out the kubelets' actions and passes changes on to all controllers, until there are no more.
    fn settle(&mut self) {
        loop {
            for action in self.fleet.take_actions() {
                self.apply(action);
            }
            let mut fresh = self.store.take_fresh(std::mem::take(&mut self.spare));
            for change in &fresh {
                self.tell(change);
            }
            let quiet = fresh.is_empty();
            fresh.clear();
            self.spare = fresh;
            if quiet {
                return;
            }
        }
    }

    fn tell(&mut self, change: &StoreChange) {
        let now = self.now;
        self.daemon_sets.observe(change, now);
        self.stateful_sets.observe(change, now);
        self.scheduler.observe(change, now);
        self.lifecycle.observe(change, now);
        self.eviction.observe(change, now);
        self.collector.observe(change, now);
        let meta = &change.object.meta;
        match change.object.kind() {
            Kind::Pod => {
                let Some(seen) = AssignedPod::of(&change.object) else { return };
                if change.kind == ChangeKind::Deleted {
                    self.fleet.pod_gone(&seen.node, &meta.uid, now);
                } else {
                    self.fleet.pod_changed(seen, now);
                }
            }
            Kind::Node => {
                let ready = change
                    .object
                    .node()
                    .map_or(ConditionStatus::Unknown, |node| Condition::status(&node.conditions, conditions::READY));
                if change.kind != ChangeKind::Deleted {
                    self.fleet.node_seen(&meta.name, ready);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
