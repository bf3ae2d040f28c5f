//! An independent observer in the world. It knows nothing of the engine: it sees what the API server accepted, what the
//! record said at that time, and what is true on the machines, and holds rolldeck to its promises.
//!
//! Knowledge takes time to travel, and no promise can be about what nobody could know yet. So every judgement allows for
//! `slack`: the longest that a message may be late, and the half second for which a proof of the record is good.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::time::Duration;

use super::author::Deletion;
use crate::engine::Str;
use crate::engine::facts::{ConditionStatus, ContainerState, PodFact};
use crate::engine::labels::Labels;
use crate::engine::quantity::Rounding;
use crate::engine::record::{Direction, Intent, ORIGINAL_STRATEGY, RECORD, Record, lease_name};
use crate::engine::time::Timestamp;
use crate::sim::world::World;
use crate::sim::world::kind::Kind;
use crate::sim::world::object::Object;
use crate::sim::world::store::{Change, ChangeKind};

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which: `P1` to `P9`.
    pub promise: &'static str,
    /// How long after the beginning.
    pub after: Duration,
    /// What happened, in words.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} after {:.3}s: {}", self.promise, self.after.as_secs_f64(), self.what)
    }
}

/// The observer of one DaemonSet.
#[derive(Debug)]
pub struct Observer {
    namespace: Str,
    name: Str,
    slack: Duration,
    began_at: Timestamp,
    cursors: [u64; 4],
    pods: HashMap<Str, PodFact>,
    nodes: BTreeMap<Str, NodeSeen>,
    intents: VecDeque<(Timestamp, Option<Intent>)>,
    original: Option<serde_json::Value>,
    /// Nodes that were serving when rolldeck deleted their pod, and have not served since.
    taken_down: BTreeSet<Str>,
    /// Nodes that must pull since rolldeck deleted their pod.
    pulling: BTreeSet<Str>,
    /// Since when each pod is in an image failure that everybody can see.
    failing: BTreeMap<Str, Timestamp>,
    old_pods: VecDeque<(Timestamp, usize)>,
    record_text: Option<String>,
    violations: Vec<Violation>,
    deletions: u64,
    worst_down: usize,
}

#[derive(Debug)]
struct NodeSeen {
    ready: bool,
    ready_since: Timestamp,
    labels: Labels,
    labels_since: Timestamp,
}

const KINDS: [Kind; 4] = [Kind::Node, Kind::DaemonSet, Kind::Lease, Kind::Pod];

impl Observer {
    /// An observer of `namespace/name`, from now on. `slack`: see the module.
    pub fn new(world: &World, (namespace, name): (&str, &str), slack: Duration) -> Self {
        let mut observer = Self {
            namespace: namespace.into(),
            name: name.into(),
            slack,
            began_at: world.now(),
            cursors: [world.store().revision(); 4],
            pods: HashMap::new(),
            nodes: BTreeMap::new(),
            intents: VecDeque::from([(world.now(), None)]),
            original: None,
            taken_down: BTreeSet::new(),
            pulling: BTreeSet::new(),
            failing: BTreeMap::new(),
            old_pods: VecDeque::new(),
            record_text: None,
            violations: Vec::new(),
            deletions: 0,
            worst_down: 0,
        };
        for node in world.store().list(Kind::Node) {
            observer.node_is(node, world.now());
        }
        for pod in world.store().list_in(Kind::Pod, namespace) {
            observer.pod_is(pod, world.now());
        }
        observer
    }

    /// What was broken so far.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// How many pods rolldeck deleted.
    pub fn deletions(&self) -> u64 {
        self.deletions
    }

    /// The most nodes that rolldeck had taken down at once.
    pub fn worst_down(&self) -> usize {
        self.worst_down
    }

    /// Notes a broken promise that somebody else noticed.
    pub fn accuse(&mut self, promise: &'static str, now: Timestamp, what: String) {
        self.violations.push(Violation { promise, after: now.since(self.began_at), what });
    }

    /// Looks at everything that changed since the last look; `deletions` are those that the API server accepted from
    /// consoles meanwhile.
    pub fn look(&mut self, world: &World, deletions: &mut Vec<Deletion>) {
        for (at, kind) in KINDS.into_iter().enumerate() {
            match world.store().changes_since(kind, self.cursors[at]) {
                Ok(changes) => changes.for_each(|change| self.take_in(kind, change, world, deletions)),
                // It looks after every instant, so this cannot be; if it were, whatever was broken meanwhile went unseen.
                Err(gap) => self.accuse("observer", world.now(), gap.message),
            }
            self.cursors[at] = world.store().revision();
        }
        deletions.clear();
        self.count_old(world.now());
    }

    fn take_in(&mut self, kind: Kind, change: &Change, world: &World, deletions: &[Deletion]) {
        let object = &change.object;
        let gone = change.kind == ChangeKind::Deleted;
        let here = object.meta.namespace == self.namespace;
        match kind {
            Kind::Node if gone => {
                self.nodes.remove(&object.meta.name);
                self.taken_down.remove(&object.meta.name);
                self.pulling.remove(&object.meta.name);
            }
            Kind::Node => self.node_is(object, change.at),
            Kind::DaemonSet if here && object.meta.name == self.name => self.daemon_set_is(change),
            Kind::Lease if here && *object.meta.name == *lease_name(&self.name) => {
                self.lease_is(object, gone, change.at);
            }
            Kind::Pod if here => {
                if let Some(deletion) = deletions.iter().find(|deletion| deletion.uid == object.meta.uid)
                    && change.before.as_ref().is_some_and(|before| before.meta.deletion.is_none())
                {
                    self.judge(deletion, change.at, world);
                }
                if gone {
                    self.pods.remove(&object.meta.uid);
                    self.failing.remove(&object.meta.uid);
                } else {
                    self.pod_is(object, change.at);
                }
            }
            _ => {}
        }
    }

    fn node_is(&mut self, object: &Object, at: Timestamp) {
        let Some(fact) = object.node_fact() else { return };
        let ready = fact.ready == ConditionStatus::True;
        let seen = self.nodes.entry(fact.name).or_insert_with(|| NodeSeen {
            ready,
            ready_since: Timestamp::default(),
            labels: fact.labels.clone(),
            labels_since: Timestamp::default(),
        });
        if seen.ready != ready {
            (seen.ready, seen.ready_since) = (ready, at);
        }
        if seen.labels != fact.labels {
            (seen.labels, seen.labels_since) = (fact.labels, at);
        }
    }

    fn pod_is(&mut self, object: &Object, at: Timestamp) {
        let Some(fact) = object.pod_fact() else { return };
        let failing =
            fact.deletion_at.is_none() && fact.containers.iter().any(|container| fails_for_sure(&container.state));
        if failing {
            self.failing.entry(fact.uid.clone()).or_insert(at);
        } else {
            self.failing.remove(&fact.uid);
        }
        if let Some(node) = fact.node.clone()
            && fact.deletion_at.is_none()
        {
            if fact.ready {
                self.taken_down.remove(&node);
            }
            if !fact.containers.is_empty() && fact.containers.iter().all(|container| container.image_present) {
                self.pulling.remove(&node);
            }
        }
        self.pods.insert(fact.uid.clone(), fact);
    }

    fn daemon_set_is(&mut self, change: &Change) {
        let Some(fact) = change.object.daemon_set_fact() else { return };
        let saved = |object: &Object| -> Option<serde_json::Value> {
            serde_json::from_str(object.meta.annotations.get(ORIGINAL_STRATEGY)?).ok()
        };
        let before = change.before.as_deref();
        match (before.and_then(saved), saved(&change.object)) {
            (None, Some(original)) => {
                let was = before.and_then(Object::daemon_set_fact).map(|before| before.strategy.raw);
                if was.as_ref() != Some(&original) {
                    let what = format!("saved {original} as the original strategy, which was {was:?}");
                    self.accuse("P9", change.at, what);
                }
                self.original = Some(original);
            }
            (Some(original), None) if fact.strategy.raw != original => {
                let what = format!("left {} behind, the original strategy was {original}", fact.strategy.raw);
                self.accuse("P9", change.at, what);
            }
            _ => {}
        }
    }

    fn lease_is(&mut self, object: &Object, gone: bool, at: Timestamp) {
        let text = object.meta.annotations.get(RECORD).filter(|_| !gone).map(ToString::to_string);
        if text == self.record_text {
            return;
        }
        let record = text.as_deref().and_then(|text| Record::parse(text).ok());
        if record.is_none() {
            // Released: what is down is in its controller's hands, as whoever released it early was told and accepted.
            self.taken_down.clear();
            self.pulling.clear();
        }
        self.record_text = text;
        self.intents.push_back((at, record.map(|record| record.intent)));
        while self.intents.len() > 2 && self.intents.get(1).is_some_and(|(next, _)| *next + self.slack < at) {
            self.intents.pop_front();
        }
    }

    /// The intents that were in force within the slack before `at`.
    fn intents_at(&self, at: Timestamp) -> Vec<&Intent> {
        let ended = self.intents.iter().skip(1).map(|(next, _)| *next).chain([at]);
        self.intents
            .iter()
            .zip(ended)
            .filter(|(_, ended)| *ended + self.slack >= at)
            .filter_map(|((_, intent), _)| intent.as_ref())
            .collect()
    }

    /// Holds one deletion against the promises. What is known here is the state just before it.
    fn judge(&mut self, deletion: &Deletion, at: Timestamp, world: &World) {
        self.deletions += 1;
        let Some(pod) = self.pods.get(&deletion.uid).cloned() else { return };
        let serving = pod.ready;
        let Some(node) = pod.node.clone() else { return };
        let intents: Vec<Intent> = self.intents_at(at).into_iter().cloned().collect();
        let desired = self.desired(world);
        let mut broken = Vec::new();
        if intents.iter().all(|intent| intent.paused.is_some()) {
            broken.push(("P3", format!("{} deleted a pod on {node} while paused or without a rollout", deletion.by)));
        }
        let forward: Vec<&Intent> = intents.iter().filter(|intent| intent.direction == Direction::Forward).collect();
        let back = forward.len() < intents.len();
        if !back {
            broken.extend(self.check_selection(&forward, &node, at));
            broken.extend(self.check_partition(&forward, &node, at));
            broken.extend(self.check_failing(&forward, serving, &node, at));
        }
        if let Some(seen) = self.nodes.get(&node)
            && !seen.ready
            && seen.ready_since + self.slack < at
        {
            broken.push(("P5", format!("deleted a pod on {node}, which was not Ready")));
        }
        if serving {
            self.taken_down.insert(node.clone());
        }
        self.worst_down = self.worst_down.max(self.taken_down.len());
        let own = world.store().get(Kind::DaemonSet, &self.namespace, &self.name);
        let own = own.and_then(|object| object.daemon_set_fact()?.strategy.max_unavailable);
        let budget = |intent: &Intent| {
            let setting = intent.budgets.max_unavailable.or(own);
            setting.map_or(1, |setting| setting.of(desired, Rounding::Up).max(1))
        };
        let limit = intents.iter().map(budget).max().unwrap_or(0);
        if self.taken_down.len() > limit as usize {
            let nodes: Vec<&str> = self.taken_down.iter().map(|node| &**node).collect();
            broken.push(("P1", format!("{} down with a budget of {limit}: {}", nodes.len(), nodes.join(" "))));
        }
        broken.extend(self.check_pulls(&intents, &pod, &node, world, limit, desired));
        for (promise, what) in broken {
            self.accuse(promise, at, what);
        }
    }

    fn check_selection(&self, forward: &[&Intent], node: &Str, at: Timestamp) -> Option<(&'static str, String)> {
        let seen = self.nodes.get(node)?;
        let settled = seen.labels_since + self.slack < at;
        let selected =
            forward.iter().any(|intent| intent.selector.as_ref().is_none_or(|selector| selector.matches(&seen.labels)));
        (settled && !selected).then(|| ("P2", format!("{node} is not in the selector")))
    }

    fn check_partition(&self, forward: &[&Intent], node: &Str, at: Timestamp) -> Option<(&'static str, String)> {
        let fleet = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        let keep = forward.iter().map(|intent| intent.partition.of(fleet, Rounding::Down)).min()?;
        // Pods that somebody else took lately may not be known yet.
        let recent = self.old_pods.iter().filter(|(seen, _)| *seen + self.slack >= at).map(|(_, count)| *count).max();
        let left = self.old_count().max(recent.unwrap_or(0)).saturating_sub(1);
        (left < keep as usize)
            .then(|| ("P2", format!("left {left} old pods by deleting on {node}, the partition is {keep}")))
    }

    fn check_failing(
        &self,
        forward: &[&Intent],
        serving: bool,
        node: &Str,
        at: Timestamp,
    ) -> Option<(&'static str, String)> {
        let strictest = forward
            .iter()
            .all(|intent| intent.acknowledged_halt == 0 && intent.gates.failure_threshold.of(1, Rounding::Up) <= 1);
        if !serving || !strictest {
            return None;
        }
        let known = self.failing.iter().find(|(uid, since)| {
            // At the target of every intent that was in force: one that was just given up proves nothing.
            let at_target = self.pods.get(*uid).is_some_and(|pod| {
                forward.iter().all(|intent| intent.target.is_some() && pod.revision == intent.target)
            });
            let up =
                self.pods.get(*uid).and_then(|pod| self.nodes.get(pod.node.as_ref()?)).is_some_and(|seen| seen.ready);
            at_target && up && **since + self.slack < at
        });
        known.map(|(uid, _)| {
            let on = self.pods.get(uid).and_then(|pod| pod.node.clone()).unwrap_or_default();
            ("P4", format!("replaced a serving pod on {node} while the image fails on {on}"))
        })
    }

    fn check_pulls(
        &mut self,
        intents: &[Intent],
        pod: &PodFact,
        node: &Str,
        world: &World,
        max_unavailable: u32,
        desired: u32,
    ) -> Option<(&'static str, String)> {
        let daemon_set = world.store().get(Kind::DaemonSet, &self.namespace, &self.name)?.daemon_set_fact()?;
        let images = daemon_set.template.images();
        if images.iter().all(|image| world.fleet().has_image(node, image)) {
            self.pulling.remove(node);
            return None;
        }
        let pulled_already = pod.containers.iter().any(|container| !container.image_present);
        if !self.pulling.insert(node.clone()) || pulled_already {
            // It was at it already, in vain: nothing is added.
            return None;
        }
        let limit = intents
            .iter()
            .map(|intent| intent.budgets.max_pulling.map_or(max_unavailable, |limit| limit.of(desired, Rounding::Up)))
            .max()?;
        (self.pulling.len() > limit as usize).then(|| {
            let nodes: Vec<&str> = self.pulling.iter().map(|node| &**node).collect();
            ("P6", format!("{} must pull with a limit of {limit}: {}", nodes.len(), nodes.join(" ")))
        })
    }

    fn desired(&self, world: &World) -> u32 {
        let daemon_set = world.store().get(Kind::DaemonSet, &self.namespace, &self.name);
        let desired = daemon_set.and_then(|object| Some(object.daemon_set_fact()?.counters.desired));
        desired.unwrap_or(0).max(u32::try_from(self.nodes.len()).unwrap_or(0))
    }

    fn target(&self) -> Option<&Str> {
        self.intents.back()?.1.as_ref()?.target.as_ref()
    }

    /// Nodes with a pod at another revision than the target, that is not about to end.
    fn old_count(&self) -> usize {
        let Some(target) = self.target() else { return self.nodes.len() };
        let old = self.pods.values().filter(|pod| pod.deletion_at.is_none() && pod.revision.as_ref() != Some(target));
        old.filter_map(|pod| pod.node.as_ref()).collect::<BTreeSet<_>>().len()
    }

    fn count_old(&mut self, now: Timestamp) {
        let count = self.old_count();
        if self.old_pods.back().is_none_or(|(_, known)| *known != count) {
            self.old_pods.push_back((now, count));
        }
        while self.old_pods.len() > 1 && self.old_pods.get(1).is_some_and(|(next, _)| *next + self.slack < now) {
            self.old_pods.pop_front();
        }
        // What was true until a moment ago is as recent as that moment.
        if let Some((seen, _)) = self.old_pods.back_mut() {
            *seen = now;
        }
    }
}

/// Image and configuration failures that nothing but a person mends.
fn fails_for_sure(state: &ContainerState) -> bool {
    const SURE: [&str; 5] =
        ["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError", "ErrImageNeverPull"];
    matches!(state, ContainerState::Waiting { reason, .. } if SURE.contains(&&**reason))
}
