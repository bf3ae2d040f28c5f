//! A fake cluster for unit tests: nodes, one DaemonSet, its revisions and one Lease. It applies the effects of any number of
//! engines. What takes time in a real cluster happens when a test says so.

mod console;
mod crashes;
mod effects;
pub(crate) mod far;
#[cfg(feature = "console")]
mod halt_without_nodes;
#[cfg(feature = "console")]
mod hostile;
mod warm_pods;
mod warm_sets;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use serde_json::{Value, json};

pub(crate) use self::console::FakeConsole;
#[cfg(feature = "console")]
pub(crate) use self::halt_without_nodes::{HALTED, halted_without_nodes};
#[cfg(feature = "console")]
pub(crate) use self::hostile::{PLACES, hostile_snapshots};
use self::warm_sets::FakeSet;
use super::model::Str;
use super::model::effect::EffectErrorKind;
use super::model::event::Event;
use super::model::facts::*;
use super::model::prewarm::{PREWARM, PREWARM_ATTEMPT, PREWARM_IMAGES, PREWARM_SET};
use super::model::record::ORIGINAL_STRATEGY;
use super::model::settings::Tuning;
use super::model::settings::value::Secs;
use super::model::template::{TaintEffect, Template};
use super::model::time::Timestamp;
use super::rules::eligibility::eligibility;

/// The cluster.
pub(crate) struct FakeCluster {
    pub(crate) now: Timestamp,
    version: u64,
    pub(crate) daemonset: DaemonSetFact,
    pub(crate) revisions: Vec<RevisionFact>,
    pub(crate) nodes: BTreeMap<Str, NodeFact>,
    pub(crate) pods: BTreeMap<Str, PodFact>,
    pub(crate) lease: Option<LeaseFact>,
    serial: u32,
    /// Images that cannot be pulled.
    pub(crate) broken: Vec<Str>,
    /// Images that admission refuses in a template.
    pub(crate) refused_images: Vec<Str>,
    /// Admission rewrites tags to digests.
    pub(crate) pins_images: bool,
    /// New pods become ready only when told to.
    pub(crate) slow: bool,
    /// Admission refuses to delete pods for pre-warming.
    pub(crate) keeps_warm_pods: bool,
    /// The controller's words about pods that it cannot create, repeated for each pod that goes.
    pub(crate) refuses: Option<Str>,
    /// Nodes whose kubelet does not take pods up.
    pub(crate) rejecting: BTreeSet<Str>,
    /// The controller does nothing.
    pub(crate) idle: bool,
    /// Kubelets do not end pods.
    pub(crate) hung: bool,
    /// Nodes whose pod may not be deleted, each with the answer to a deletion.
    pub(crate) undeletable: BTreeMap<Str, EffectErrorKind>,
    /// Deletions that were refused, in order: node names and times.
    pub(crate) denied: Vec<(Str, Timestamp)>,
    events: Vec<ClusterEvent>,
    /// The writes that were sent, as a preview calls them.
    pub(crate) sent: Vec<&'static str>,
    /// Pods made for pre-warming, by uid.
    pub(crate) warm: BTreeMap<Str, WarmPodFact>,
    /// StatefulSets for pre-warming, by name.
    pub(crate) sets: BTreeMap<Str, FakeSet>,
    /// StatefulSets for pre-warming are refused with these words.
    pub(crate) refuses_sets: Option<Str>,
    /// How many StatefulSets were made in all, and how often they were listed.
    pub(crate) sets_made: usize,
    pub(crate) sets_listed: usize,
    /// Pods for pre-warming are refused with these words.
    pub(crate) refuses_warm: Option<Str>,
    /// The server's answer to the trial of a pod that would not be admitted.
    pub(crate) admits_no_pod: Option<Str>,
    /// Admission removes labels of rolldeck.io from the pods for pre-warming, which no watch shows therefore.
    pub(crate) strips_warm_labels: bool,
    /// Uids of pods for pre-warming without labels.
    pub(crate) unlabelled: BTreeSet<Str>,
    /// Writes of the Lease are refused with these words.
    pub(crate) refuses_lease: Option<Str>,
    /// Admission removes annotations of rolldeck.io from the DaemonSet in every write.
    pub(crate) strips_annotations: bool,
    /// Admission sets `RollingUpdate` in whatever write sets another strategy.
    pub(crate) rolling_only: bool,
    /// How many pods for pre-warming were made in all.
    pub(crate) warm_made: usize,
    /// New pods find their image on their node; else they are still to pull it.
    pub(crate) holds_images: bool,
    /// The defaults for new rollouts in the configuration files of new consoles: no soak.
    pub(crate) defaults: Tuning,
    /// The controller does not follow changes of the DaemonSet.
    pub(crate) lazy: bool,
    /// Deletions, in order: node names.
    pub(crate) deleted: Vec<Str>,
    /// The most bytes that a record took.
    pub(crate) largest_record: usize,
    /// The most nodes that were without an available pod at once.
    pub(crate) worst_down: usize,
    log: Vec<Event>,
}

pub(crate) fn template(image: &str) -> Template {
    Template::from_json(json!({"spec": {"containers": [{"name": "agent", "image": image}]}}))
}

impl FakeCluster {
    /// `count` nodes `n1`…, all running `agent:v1` as revision 1, with this strategy.
    pub(crate) fn new(count: usize, strategy: Value) -> Self {
        let mut fake = Self {
            now: Timestamp::from_millis(1_800_000_000_000),
            version: 1,
            daemonset: DaemonSetFact {
                namespace: "edge".into(),
                name: "agent".into(),
                uid: "ds".into(),
                template: template("agent:v1"),
                ..DaemonSetFact::default()
            },
            revisions: Vec::new(),
            nodes: BTreeMap::new(),
            pods: BTreeMap::new(),
            lease: None,
            serial: 0,
            broken: Vec::new(),
            refused_images: Vec::new(),
            pins_images: false,
            slow: false,
            keeps_warm_pods: false,
            refuses: None,
            rejecting: BTreeSet::new(),
            idle: false,
            hung: false,
            undeletable: BTreeMap::new(),
            denied: Vec::new(),
            events: Vec::new(),
            sent: Vec::new(),
            warm: BTreeMap::new(),
            sets: BTreeMap::new(),
            refuses_sets: None,
            sets_made: 0,
            sets_listed: 0,
            refuses_warm: None,
            admits_no_pod: None,
            strips_warm_labels: false,
            unlabelled: BTreeSet::new(),
            refuses_lease: None,
            strips_annotations: false,
            rolling_only: false,
            warm_made: 0,
            holds_images: true,
            defaults: Tuning { soak_secs: Some(Secs(0)), ..Tuning::default() },
            lazy: false,
            deleted: Vec::new(),
            largest_record: 0,
            worst_down: 0,
            log: Vec::new(),
        };
        fake.set_strategy(strategy);
        fake.reconcile();
        fake.add_nodes((1..=count).map(|nth| Str::from(format!("n{nth}"))));
        fake.worst_down = 0;
        fake
    }

    /// Adds nodes of these names, each with its pod.
    pub(crate) fn add_nodes(&mut self, names: impl IntoIterator<Item = Str>) {
        for (nth, name) in (1..).zip(names) {
            let labels = [("zone", if nth <= 3 { "canary" } else { "rest" })].into_iter().collect();
            let node = NodeFact {
                name: name.clone(),
                created_at: Some(self.now),
                labels,
                ready: ConditionStatus::True,
                ..NodeFact::default()
            };
            self.nodes.insert(name.clone(), node);
            self.create_pod(&name);
        }
    }

    pub(crate) fn rolling(count: usize, max_unavailable: u32) -> Self {
        Self::new(
            count,
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": max_unavailable}}),
        )
    }

    /// The same with another template than that of `agent:v1`.
    #[cfg(feature = "console")]
    pub(crate) fn rolling_with(count: usize, max_unavailable: u32, template: Template) -> Self {
        let mut fake = Self::rolling(0, max_unavailable);
        fake.daemonset.template = template;
        fake.revisions.clear();
        fake.reconcile();
        fake.add_nodes((1..=count).map(|nth| Str::from(format!("n{nth}"))));
        fake.worst_down = 0;
        fake
    }

    pub(crate) fn set_strategy(&mut self, raw: Value) {
        self.daemonset.strategy = UpdateStrategy::from_json(raw);
        self.touch_daemonset();
    }

    /// Saves the original strategy in its annotation, or drops it; others stay.
    pub(crate) fn set_original(&mut self, original: Option<String>) {
        self.set_annotation(ORIGINAL_STRATEGY, original);
    }

    fn set_annotation(&mut self, key: &str, value: Option<String>) {
        let annotations = &self.daemonset.annotations;
        let others = annotations.iter().filter(|(other, _)| &***other != key);
        let others = others.map(|(key, value)| (key.to_string(), value.to_string()));
        let value = value.map(|value| (key.to_owned(), value)).filter(|_| !self.strips_annotations);
        self.daemonset.annotations = others.chain(value).collect();
    }

    /// A change that does not touch the spec.
    pub(crate) fn touch_metadata(&mut self) {
        self.version += 1;
        self.daemonset.resource_version = self.version.to_string().into();
        self.log.push(Event::DaemonSet(Box::new(self.daemonset.clone())));
    }

    pub(crate) fn set_template(&mut self, template: Template) {
        self.daemonset.template = template;
        self.touch_daemonset();
    }

    fn touch_daemonset(&mut self) {
        self.version += 1;
        self.daemonset.generation += 1;
        self.daemonset.resource_version = self.version.to_string().into();
        self.log.push(Event::DaemonSet(Box::new(self.daemonset.clone())));
    }

    /// The controller follows: it records the template as a revision.
    pub(crate) fn reconcile(&mut self) {
        if self.idle {
            return;
        }
        if self.lazy {
            return;
        }
        let newest = self.revisions.iter().map(|revision| revision.number).max().unwrap_or(0);
        let template = self.daemonset.template.clone();
        let at = self.revisions.iter().position(|revision| revision.template == template).unwrap_or_else(|| {
            let hash = Str::from(format!("hash{}", newest + 1));
            self.revisions.push(RevisionFact {
                name: format!("agent-{hash}").into(),
                hash,
                owner: Some(self.daemonset.uid.clone()),
                template,
                created_at: self.now,
                ..RevisionFact::default()
            });
            self.revisions.len() - 1
        });
        if self.revisions[at].number < newest.max(1) || self.revisions[at].number == 0 {
            self.revisions[at].number = newest + 1;
            self.log.push(Event::Revision(Box::new(self.revisions[at].clone())));
        }
        if self.daemonset.observed_generation != self.daemonset.generation {
            self.version += 1;
            self.daemonset.observed_generation = self.daemonset.generation;
            self.daemonset.resource_version = self.version.to_string().into();
            self.log.push(Event::DaemonSet(Box::new(self.daemonset.clone())));
        }
    }

    /// Somebody deletes the ControllerRevision with this image, which is returned.
    pub(crate) fn delete_revision(&mut self, image: &str) -> RevisionFact {
        let at = self.revisions.iter().position(|revision| &*revision.template.images()[0] == image).unwrap();
        let gone = self.revisions.remove(at);
        self.log.push(Event::RevisionGone(gone.name.clone()));
        gone
    }

    /// The controller makes a ControllerRevision anew that was deleted, because somebody sets its template for a moment, before that of the present one.
    pub(crate) fn make_revision_anew(&mut self, gone: RevisionFact) {
        let newest = self.revisions.iter().map(|revision| revision.number).max().unwrap_or(0);
        self.revisions.push(RevisionFact { number: newest + 1, created_at: self.now, ..gone });
        self.log.push(Event::Revision(Box::new(self.revisions.last().unwrap().clone())));
        self.touch_daemonset();
        self.reconcile();
    }

    pub(crate) fn current(&self) -> RevisionFact {
        self.revisions.iter().find(|revision| revision.template == self.daemonset.template).cloned().unwrap()
    }

    pub(crate) fn create_pod(&mut self, node: &str) {
        let revision = self.current();
        let image = revision.template.images()[0].clone();
        let broken = self.broken.contains(&image);
        self.serial += 1;
        self.version += 1;
        let state = if broken {
            ContainerState::Waiting { reason: "ErrImagePull".into(), message: Some("not found".into()) }
        } else {
            ContainerState::Running { since: Some(self.now) }
        };
        let rejected = self.rejecting.contains(node);
        let ready = !broken && !self.slow && !rejected;
        let mut pod = PodFact {
            uid: format!("uid{}", self.serial).into(),
            name: format!("agent-{}", self.serial).into(),
            resource_version: self.version.to_string().into(),
            node: Some(node.into()),
            owner: Some(self.daemonset.uid.clone()),
            revision: Some(revision.hash),
            created_at: self.now,
            phase: if broken { PodPhase::Pending } else { PodPhase::Running },
            ready,
            ready_since: ready.then_some(self.now),
            containers: vec![ContainerFact {
                image_present: !broken && self.holds_images,
                ready,
                ..ContainerFact::in_state(state)
            }],
            ..PodFact::default()
        };
        if rejected {
            pod.phase = PodPhase::Pending;
            pod.containers.clear();
        }
        self.pods.insert(pod.uid.clone(), pod.clone());
        self.log.push(Event::Pod(Box::new(pod)));
    }

    /// A pod is gone, and nothing has taken its place.
    pub(crate) fn take_pod(&mut self, uid: &Str) {
        self.pods.remove(uid);
        self.log.push(Event::PodGone(uid.clone(), None));
    }

    pub(crate) fn change_pod(&mut self, node: &str, change: impl FnOnce(&mut PodFact)) {
        self.version += 1;
        let version = self.version;
        let pod = self.pods.values_mut().find(|pod| pod.node.as_deref() == Some(node)).unwrap();
        change(pod);
        pod.resource_version = version.to_string().into();
        let pod = pod.clone();
        self.log.push(Event::Pod(Box::new(pod)));
        self.measure();
    }

    /// Somebody deletes the DaemonSet, and something still holds it.
    pub(crate) fn begin_deletion(&mut self) {
        self.daemonset.deleting = true;
        self.touch_daemonset();
    }

    /// The DaemonSet goes and leaves its pods behind (`--cascade=orphan`), and the same manifest is applied again: another
    /// object of that name, which adopts them.
    pub(crate) fn recreate(&mut self, strategy: Value) {
        self.version += 1;
        self.log.push(Event::DaemonSetGone(None));
        self.daemonset.uid = format!("ds{}", self.version).into();
        self.daemonset.deleting = false;
        self.daemonset.generation = 0;
        self.daemonset.observed_generation = 0;
        self.set_original(None);
        self.set_strategy(strategy);
        let uid = self.daemonset.uid.clone();
        for revision in &mut self.revisions {
            revision.owner = Some(uid.clone());
            self.log.push(Event::Revision(Box::new(revision.clone())));
        }
        let nodes: Vec<Str> = self.pods.values().filter_map(|pod| pod.node.clone()).collect();
        for node in nodes {
            self.change_pod(&node, |pod| pod.owner = Some(uid.clone()));
        }
        self.reconcile();
    }

    /// The pod with this uid changes.
    pub(crate) fn tell_pod(&mut self, uid: &str, change: impl FnOnce(&mut PodFact)) {
        self.version += 1;
        let version = self.version.to_string().into();
        let pod = self.pods.get_mut(uid).unwrap();
        change(pod);
        pod.resource_version = version;
        let pod = pod.clone();
        self.log.push(Event::Pod(Box::new(pod)));
    }

    pub(crate) fn set_ready(&mut self, node: &str, ready: bool) {
        let now = self.now;
        self.change_pod(node, |pod| {
            pod.ready = ready;
            pod.ready_since = Some(now);
            pod.containers[0].ready = ready;
        });
    }

    /// The cluster loses the node, or hears from it again. A lost node's pods stay as their kubelet last told, apart from their
    /// Ready condition.
    pub(crate) fn set_node_ready(&mut self, node: &str, ready: bool) {
        let fact = self.nodes.get_mut(node).unwrap();
        fact.ready = if ready { ConditionStatus::True } else { ConditionStatus::Unknown };
        fact.ready_since = Some(self.now);
        self.log.push(Event::Node(Box::new(fact.clone())));
        let now = self.now;
        self.change_pod(node, |pod| (pod.ready, pod.ready_since) = (ready, Some(now)));
    }

    /// The kubelet of the node says that the node is not Ready, or is again. The pods on it stay as they are: the node lifecycle controller changes
    /// only those of nodes that are silent.
    pub(crate) fn kubelet_tells(&mut self, node: &str, not_ready: Option<&str>) {
        let now = self.now;
        self.change_node(node, |fact| {
            fact.ready = if not_ready.is_some() { ConditionStatus::False } else { ConditionStatus::True };
            (fact.ready_since, fact.not_ready_why) = (Some(now), not_ready.map(Str::from));
        });
    }

    /// Everybody hears of the lease as it is now: somebody else wrote it.
    pub(crate) fn tell_lease(&mut self) {
        self.version += 1;
        let version = self.version.to_string().into();
        let lease = self.lease.as_mut().unwrap();
        lease.resource_version = version;
        self.log.push(Event::Lease(Box::new(lease.clone())));
    }

    /// The pod of a node goes, and none comes.
    pub(crate) fn remove_pod(&mut self, node: &str) {
        let gone: Vec<Str> =
            self.pods.values().filter(|pod| pod.node.as_deref() == Some(node)).map(|pod| pod.uid.clone()).collect();
        for uid in gone {
            self.pods.remove(&uid);
            self.log.push(Event::PodGone(uid, None));
        }
    }

    /// Gives a node these taints and no others.
    pub(crate) fn set_taints(&mut self, node: &str, taints: &[(&str, &str, TaintEffect)]) {
        let taint = |(key, value, effect): &(&str, &str, TaintEffect)| Taint {
            key: (*key).into(),
            value: (*value).into(),
            effect: *effect,
        };
        let fact = self.nodes.get_mut(node).unwrap();
        fact.taints = taints.iter().map(taint).collect();
        self.log.push(Event::Node(Box::new(fact.clone())));
    }

    pub(crate) fn change_node(&mut self, node: &str, change: impl FnOnce(&mut NodeFact)) {
        let fact = self.nodes.get_mut(node).unwrap();
        change(fact);
        self.log.push(Event::Node(Box::new(fact.clone())));
    }

    /// Keeps the number of nodes that are down now, if it is the highest so far.
    fn measure(&mut self) {
        self.worst_down = self.worst_down.max(self.down());
    }

    /// Nodes without a ready pod.
    pub(crate) fn down(&self) -> usize {
        let serves = |pod: &&PodFact| pod.ready && pod.deletion_at.is_none();
        let serving: HashSet<&Str> = self.pods.values().filter(serves).filter_map(|pod| pod.node.as_ref()).collect();
        self.nodes.keys().filter(|node| !serving.contains(node)).count()
    }

    /// Pods by image version: how many run each.
    pub(crate) fn at(&self, hash: &str) -> usize {
        self.pods.values().filter(|pod| pod.revision.as_deref() == Some(hash)).count()
    }

    /// Pods on their way out go, and what is missing comes back from the present template, unless that is refused.
    pub(crate) fn kubelets(&mut self) {
        let ended = |pod: &&PodFact| pod.deletion_at.is_some() && !self.hung;
        let going: Vec<PodFact> = self.pods.values().filter(ended).cloned().collect();
        for pod in &going {
            self.pods.remove(&pod.uid);
            self.version += 1;
            self.log.push(Event::PodGone(pod.uid.clone(), Some(self.version)));
        }
        // The controller does nothing for a DaemonSet that is being deleted.
        if self.idle || self.daemonset.deleting {
            return;
        }
        if let Some(said) = self.refuses.clone() {
            going.iter().for_each(|_| self.fail_create(&said));
            return;
        }
        let has_pod = |node: &Str| self.pods.values().any(|pod| pod.node.as_ref() == Some(node));
        let runs = |node: &NodeFact| eligibility(node, &self.daemonset.template).should_run;
        let missing = self.nodes.iter().filter(|(name, node)| runs(node) && !has_pod(name));
        let missing: Vec<Str> = missing.map(|(name, _)| name.clone()).collect();
        missing.iter().for_each(|node| self.create_pod(node));
    }

    /// Has the controller report that it could not create a pod.
    pub(crate) fn fail_create(&mut self, said: &Str) {
        let event = ClusterEvent {
            object: "ds".into(),
            reason: "FailedCreate".into(),
            message: said.clone(),
            at: self.now,
            first_at: None,
            count: 1,
            ..ClusterEvent::default()
        };
        self.events.push(event.clone());
        self.log.push(Event::Cluster(Box::new(event)));
    }

    pub(crate) fn wait(&mut self, secs: u64) {
        self.now = self.now + Duration::from_secs(secs);
    }
}
