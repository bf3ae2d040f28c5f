//! The scheduler binds pods to nodes a moment after their creation, or records why it cannot.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::facts::{ConditionStatus, PodPhase};
use crate::engine::model::labels::Labels;
use crate::engine::model::time::Timestamp;

use super::super::kind::Kind;
use super::super::object::{Body, Condition, EventType, Object, Pod, conditions};
use super::super::store::{ChangeKind, Store, StoreChange};
use super::super::write::{WriteOptions, WrittenPart};
use super::eligibility::{Unfit, fits};
use super::{Controller, record};

const COMPONENT: &str = "default-scheduler";
/// Pods that fitted no node are tried again this long after a node changed.
const BACK_OFF: Duration = Duration::from_secs(1);

type PodKey = (Str, Str);

/// The scheduler.
#[derive(Debug)]
pub(in crate::sim::world) struct Scheduler {
    queue: BTreeMap<PodKey, Timestamp>,
    /// Pods that fitted no node.
    parked: BTreeSet<PodKey>,
    rng: fastrand::Rng,
}

impl Scheduler {
    pub(in crate::sim::world) fn new(seed: u64) -> Self {
        Self { queue: BTreeMap::new(), parked: BTreeSet::new(), rng: fastrand::Rng::with_seed(seed) }
    }

    fn schedule(&mut self, key: &PodKey, store: &mut Store, now: Timestamp) {
        let Some(object) = store.get(Kind::Pod, &key.0, &key.1).cloned() else { return };
        let Some(pod) = object.pod().filter(|pod| pod.node.is_none() && !object.meta.is_deleting()) else { return };
        match self.place(&key.0, pod, store) {
            Ok(node) => {
                let message = format!("Successfully assigned {}/{} to {node}", key.0, key.1);
                let bound = store.modify(
                    (Kind::Pod, &key.0, &key.1),
                    WrittenPart::Binding,
                    now,
                    WriteOptions::named(COMPONENT),
                    |object| {
                        set_scheduled(object, Some(&node), ConditionStatus::True, None, now);
                    },
                );
                if bound.is_ok() {
                    record(store, COMPONENT, &object, (EventType::Normal, "Scheduled", message), now);
                }
            }
            Err(why) => {
                self.parked.insert(key.clone());
                let known = Condition::find(&pod.status.conditions, conditions::POD_SCHEDULED);
                if known.and_then(|known| known.message.as_deref()) == Some(&*why) {
                    return;
                }
                let failed = (EventType::Warning, "FailedScheduling", why.to_string());
                let _ = store.modify(
                    (Kind::Pod, &key.0, &key.1),
                    WrittenPart::Status,
                    now,
                    WriteOptions::named(COMPONENT),
                    |object| {
                        set_scheduled(object, None, ConditionStatus::False, Some(why), now);
                    },
                );
                record(store, COMPONENT, &object, failed, now);
            }
        }
    }

    /// The node for a pod: the one it is pinned to, else any that fits.
    fn place(&mut self, namespace: &str, pod: &Pod, store: &Store) -> Result<Str, Str> {
        if let Some(node) = pod.pinned.as_ref().and_then(|pinned| store.get(Kind::Node, "", pinned))
            && fits(pod, node).is_ok()
        {
            return Ok(node.meta.name.clone());
        }
        let mut unfit: BTreeMap<Unfit, usize> = BTreeMap::new();
        let mut fit = Vec::new();
        let taken = kept_apart_from(namespace, pod, store);
        for node in store.list(Kind::Node) {
            match fits(pod, node) {
                Ok(()) if taken.contains(&node.meta.name) => *unfit.entry(Unfit::AntiAffinity).or_default() += 1,
                Ok(()) => fit.push(node.meta.name.clone()),
                Err(why) => *unfit.entry(why).or_default() += 1,
            }
        }
        if fit.is_empty() {
            Err(explain(store.count(Kind::Node), &unfit))
        } else {
            Ok(fit.swap_remove(self.rng.usize(..fit.len())))
        }
    }
}

/// The nodes of pods that a pod has to keep apart from, by node (`requiredDuringSchedulingIgnoredDuringExecution`, `matchLabels`).
fn kept_apart_from(namespace: &str, pod: &Pod, store: &Store) -> BTreeSet<Str> {
    let apart = &pod.template.json()["spec"]["affinity"]["podAntiAffinity"];
    let terms = apart["requiredDuringSchedulingIgnoredDuringExecution"].as_array();
    let terms: Vec<Labels> = terms
        .into_iter()
        .flatten()
        .map(|term| Labels::from_json(&term["labelSelector"]["matchLabels"]))
        .filter(|wanted| wanted.iter().next().is_some())
        .collect();
    if terms.is_empty() {
        return BTreeSet::new();
    }
    let matches = |object: &Object| {
        let has = |wanted: &Labels| wanted.iter().all(|(key, value)| object.meta.labels.get(key) == Some(value));
        terms.iter().any(has)
    };
    let there = store.list_in(Kind::Pod, namespace).filter(|object| matches(object));
    let runs = |pod: &&Pod| !matches!(pod.status.phase, PodPhase::Failed | PodPhase::Succeeded);
    there.filter_map(|object| object.pod().filter(runs)?.node.clone()).collect()
}

fn set_scheduled(object: &mut Object, node: Option<&Str>, status: ConditionStatus, why: Option<Str>, now: Timestamp) {
    let Body::Pod(pod) = &mut object.body else { return };
    if node.is_some() {
        pod.node = node.cloned();
    }
    let condition = Condition {
        kind: conditions::POD_SCHEDULED.into(),
        status,
        since: now,
        heartbeat_at: None,
        reason: why.is_some().then(|| "Unschedulable".into()),
        message: why,
    };
    pod.status.conditions = condition.replaced_in(&pod.status.conditions);
}

/// The scheduler's message: each reason with the number of nodes that it excludes.
fn explain(nodes: usize, unfit: &BTreeMap<Unfit, usize>) -> Str {
    if nodes == 0 {
        return "no nodes available to schedule pods".into();
    }
    let mut clauses: Vec<String> = unfit
        .iter()
        .map(|(why, count)| match why {
            Unfit::Taint(key, value) => format!("{count} node(s) had untolerated taint {{{key}: {value}}}"),
            Unfit::Affinity => format!("{count} node(s) didn't match Pod's node affinity/selector"),
            Unfit::Unschedulable => format!("{count} node(s) were unschedulable"),
            Unfit::AntiAffinity => format!("{count} node(s) didn't match pod anti-affinity rules"),
        })
        .collect();
    clauses.sort();
    let clauses = clauses.join(", ");
    format!(
        "0/{nodes} nodes are available: {clauses}. preemption: 0/{nodes} nodes are available: {nodes} Preemption is not \
         helpful for scheduling."
    )
    .into()
}

impl Controller for Scheduler {
    fn observe(&mut self, change: &StoreChange, now: Timestamp) {
        match change.object.kind() {
            Kind::Pod => {
                let meta = &change.object.meta;
                let key = (meta.namespace.clone(), meta.name.clone());
                let waits =
                    change.object.pod().is_some_and(|pod| pod.node.is_none() && pod.status.phase == PodPhase::Pending);
                match change.kind {
                    ChangeKind::Added if waits => {
                        let after = Duration::from_millis(self.rng.u64(3..=20));
                        self.queue.insert(key, now + after);
                    }
                    ChangeKind::Deleted => {
                        self.queue.remove(&key);
                        self.parked.remove(&key);
                        // The deleted pod may have kept another one away from its node.
                        let again = std::mem::take(&mut self.parked);
                        self.queue.extend(again.into_iter().map(|key| (key, now + BACK_OFF)));
                    }
                    _ => {}
                }
            }
            Kind::Node if !self.parked.is_empty() => {
                let again = std::mem::take(&mut self.parked);
                self.queue.extend(again.into_iter().map(|key| (key, now + BACK_OFF)));
            }
            _ => {}
        }
    }

    fn next_at(&self) -> Option<Timestamp> {
        self.queue.values().min().copied()
    }

    fn run(&mut self, store: &mut Store, now: Timestamp) {
        let due: Vec<PodKey> = self.queue.iter().filter(|(_, at)| **at <= now).map(|(key, _)| key.clone()).collect();
        for key in due {
            self.queue.remove(&key);
            self.schedule(&key, store, now);
        }
    }
}

#[cfg(test)]
mod tests;
