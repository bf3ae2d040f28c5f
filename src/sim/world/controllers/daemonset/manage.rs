//! Keeps one pod on every node that should have one, and none elsewhere.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::facts::PodPhase;
use crate::engine::model::labels::Labels;
use crate::engine::model::time::Timestamp;

use super::super::super::kind::Kind;
use super::super::super::object::{
    Body, DAEMONSET_TEMPLATE_GENERATION, EventType, Meta, Object, Pod, REVISION_HASH, TEMPLATE_GENERATION,
};
use super::super::super::scenario::ControllerVariant;
use super::super::super::store::{DeleteOptions, Store};
use super::super::eligibility::Verdict;
use super::surge::surplus_of_surge;
use super::{BURST, BY, BackOff, DaemonSets, Expectations, Sync};

/// The back-off after a failed sync: the first, and the longest.
const RETRY: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(1000));
/// The back-off of a failing pod on one node: the first, and the longest.
const FAILED_BACK_OFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(900));

impl DaemonSets {
    /// Creates missing pods at the current revision, and deletes pods that should not exist.
    pub(super) fn manage(&mut self, sync: &Sync<'_>, store: &mut Store, now: Timestamp) {
        let mut wanting: Vec<Str> = Vec::new();
        let mut condemned: Vec<Arc<Object>> = Vec::new();
        for (node, verdict) in &sync.nodes {
            let pods = sync.pods.get(node).map_or(&[][..], Vec::as_slice);
            match verdict {
                Verdict::Run if pods.is_empty() => wanting.push(node.clone()),
                Verdict::Run | Verdict::Stay => {
                    let running = self.spare(sync, node, pods, &mut condemned, store, now);
                    match self.surge(sync) {
                        Some(_) if running.is_empty() && *verdict == Verdict::Run => wanting.push(node.clone()),
                        Some(_) => condemned.extend(surplus_of_surge(sync, &running, now)),
                        // The oldest pod stays.
                        None => condemned.extend(running.into_iter().skip(1).cloned()),
                    }
                }
                Verdict::Leave => condemned.extend(pods.iter().filter(|pod| !pod.meta.is_deleting()).cloned()),
            }
        }
        condemned.extend(self.without_node(&sync.pods));
        self.rng.shuffle(&mut wanting);
        self.carry_out(sync, &wanting, &condemned, store, now);
    }

    /// The pods of a node that have not ended, oldest first; a failed pod is condemned after its back-off.
    fn spare<'a>(
        &mut self,
        sync: &Sync<'_>,
        node: &Str,
        pods: &'a [Arc<Object>],
        condemned: &mut Vec<Arc<Object>>,
        store: &mut Store,
        now: Timestamp,
    ) -> Vec<&'a Arc<Object>> {
        let mut running = Vec::new();
        for object in pods.iter().filter(|pod| !pod.meta.is_deleting()) {
            let phase = object.pod().map(|pod| pod.status.phase).unwrap_or_default();
            let over = phase == PodPhase::Failed
                || (phase == PodPhase::Succeeded && self.variant == ControllerVariant::Current);
            if !over {
                running.push(object);
            } else if self.may_retry(sync.object, node, now) {
                let message = format!(
                    "Found failed daemon pod {}/{} on node {node}, will try to kill it",
                    object.meta.namespace, object.meta.name
                );
                self.record(store, sync.object, (EventType::Warning, "FailedDaemonPod", message), now);
                condemned.push(Arc::clone(object));
            }
        }
        running
    }

    /// Whether the back-off of a failing pod on this node is over; if it is, a longer one begins.
    fn may_retry(&mut self, set: &Object, node: &Str, now: Timestamp) -> bool {
        let key = (set.meta.uid.clone(), node.clone());
        let generation = set.daemon_set().map_or(0, |set| set.status.observed_generation);
        let last = self.failed_pods.get(&key).filter(|last| last.generation == generation).copied();
        if let Some(last) = last.filter(|last| now < last.until) {
            self.enqueue_at(&set.meta.uid, last.until);
            return false;
        }
        let delay = last.map_or(FAILED_BACK_OFF.0, |last| (last.delay * 2).min(FAILED_BACK_OFF.1));
        self.failed_pods.insert(key, BackOff { delay, until: now + delay, generation });
        true
    }

    /// Unbound pods for a node that does not exist any more. (Bound ones are left to pod garbage collection.)
    fn without_node(&self, pods: &BTreeMap<Str, Vec<Arc<Object>>>) -> Vec<Arc<Object>> {
        let lost = pods.iter().filter(|(node, _)| !self.cache.nodes.contains_key(*node));
        let unbound =
            |object: &&Arc<Object>| object.pod().is_some_and(|pod| pod.node.is_none()) && !object.meta.is_deleting();
        lost.flat_map(|(_, pods)| pods.iter().filter(unbound).cloned()).collect()
    }

    /// Creates and deletes pods, at most [`BURST`] of each, and remembers how many of both the cache has to show.
    pub(super) fn carry_out(
        &mut self,
        sync: &Sync<'_>,
        wanting: &[Str],
        condemned: &[Arc<Object>],
        store: &mut Store,
        now: Timestamp,
    ) {
        if wanting.is_empty() && condemned.is_empty() {
            return;
        }
        let mut expected = Expectations { creations: 0, deletions: 0, since: now };
        if !wanting.is_empty() {
            let pattern = pod_pattern(sync);
            for node in wanting.iter().take(BURST) {
                match store.create(pod_for(&pattern, sync, node), now, BY) {
                    Ok(created) => {
                        expected.creations += 1;
                        let message = format!("Created pod: {}", created.meta.name);
                        self.record(store, sync.object, (EventType::Normal, "SuccessfulCreate", message), now);
                    }
                    Err(refused) => {
                        let message = format!("Error creating: {refused}");
                        self.record(store, sync.object, (EventType::Warning, "FailedCreate", message), now);
                        self.try_again(&sync.object.meta.uid, now);
                        break;
                    }
                }
            }
            if expected.creations > 0 {
                self.refusals.remove(&sync.object.meta.uid);
            }
        }
        for pod in condemned.iter().take(BURST) {
            let options = DeleteOptions::default();
            if store.delete(Kind::Pod, &pod.meta.namespace, &pod.meta.name, &options, now, BY).is_ok() {
                expected.deletions += 1;
                let message = format!("Deleted pod: {}", pod.meta.name);
                self.record(store, sync.object, (EventType::Normal, "SuccessfulDelete", message), now);
            }
        }
        if wanting.len() > BURST || condemned.len() > BURST {
            self.enqueue(&sync.object.meta.uid, now);
        }
        self.expectations.insert(sync.object.meta.uid.clone(), expected);
    }
}

impl DaemonSets {
    /// Requests a sync after the work queue's back-off for failed syncs: a few milliseconds, doubled each time.
    fn try_again(&mut self, uid: &Str, now: Timestamp) {
        let failures = self.refusals.entry(uid.clone()).or_default();
        let wait = RETRY.0.saturating_mul(1 << (*failures).min(20)).min(RETRY.1);
        *failures += 1;
        self.enqueue_at(uid, now + wait);
    }
}

/// The metadata that all pods of one sync share.
fn pod_pattern(sync: &Sync<'_>) -> Meta {
    let template = &sync.set.spec.template.json()["metadata"];
    let labels = Labels::from_json(&template["labels"]);
    let generation = sync.object.meta.annotations.get(DAEMONSET_TEMPLATE_GENERATION).cloned().unwrap_or_default();
    let own = [(Str::from(REVISION_HASH), sync.history.hash.clone()), (Str::from(TEMPLATE_GENERATION), generation)];
    Meta {
        namespace: sync.object.meta.namespace.clone(),
        generate_name: Some(format!("{}-", sync.object.meta.name).into()),
        labels: labels.iter().map(|(key, value)| (key.clone(), value.clone())).chain(own).collect(),
        annotations: Labels::from_json(&template["annotations"]),
        owners: [sync.object.as_controller()].into(),
        ..Meta::default()
    }
}

fn pod_for(pattern: &Meta, sync: &Sync<'_>, node: &Str) -> Object {
    let pod = Pod { template: sync.set.spec.template.clone(), pinned: Some(node.clone()), ..Pod::default() };
    Object { meta: pattern.clone(), body: Body::Pod(pod) }
}
