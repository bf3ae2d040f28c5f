//! The pods of the view, with the facts that only an observer knows: when a pod was first seen, and since when it is ready or in trouble. Events
//! about its pulls are in [`super::pulls`].

use std::time::Duration;

use super::observed_at::ObservedAt;
use super::restarts::Restarts;
use super::{PodIx, View};
use crate::engine::model::Str;
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::event::Watched;
use crate::engine::model::facts::{ClusterEvent, PodFact, StrategyKind};
use crate::engine::model::node::NodeIx;
use crate::engine::model::time::Timestamp;
use crate::engine::model::version::is_older;
use crate::engine::rules::diagnose::{diagnose, diagnose_start};

/// A pod, with the facts that only an observer knows. Fields that few pods have are boxed, because there are thousands of pods.
#[derive(Debug)]
pub(crate) struct PodEntry {
    pub(crate) fact: PodFact,
    /// When it was first seen, and whether that was its creation or a listing.
    pub(crate) first_observed: ObservedAt,
    /// When it was seen to become ready; cleared when it is not.
    pub(crate) ready_observed: Option<ObservedAt>,
    /// Its trouble, and since when.
    pub(crate) trouble: Option<Box<PodTrouble>>,
    /// When it last ceased to be ready, having been so for a while.
    pub(crate) served: Option<Box<ServedSpan>>,
    /// How often it restarted after it had been ready.
    pub(crate) restarts: Restarts,
    pub(super) node: Option<NodeIx>,
    pub(super) listed: bool,
}

/// The pods of a node. Nearly all nodes have one, which takes no allocation.
#[derive(Debug)]
pub(super) enum PodsOnNode {
    AtMostOne(Option<PodIx>),
    Several(Vec<PodIx>),
}

impl Default for PodsOnNode {
    fn default() -> Self {
        Self::AtMostOne(None)
    }
}

impl PodsOnNode {
    pub(super) fn as_slice(&self) -> &[PodIx] {
        match self {
            Self::AtMostOne(pod) => pod.as_slice(),
            Self::Several(pods) => pods,
        }
    }

    pub(super) fn add(&mut self, pod: PodIx) {
        match self {
            Self::AtMostOne(first @ None) => *first = Some(pod),
            Self::AtMostOne(Some(first)) => *self = Self::Several(vec![*first, pod]),
            Self::Several(pods) => pods.push(pod),
        }
    }

    pub(super) fn remove(&mut self, pod: PodIx) {
        match self {
            Self::AtMostOne(first) => *first = first.filter(|first| *first != pod),
            Self::Several(pods) => {
                pods.retain(|candidate| *candidate != pod);
                if let [] | [_] = pods[..] {
                    *self = Self::AtMostOne(pods.first().copied());
                }
            }
        }
    }
}

/// The trouble of a pod, and since when it is in any that speaks against its revision.
#[derive(Clone, Debug)]
pub(crate) struct PodTrouble {
    pub(crate) cause: Cause,
    pub(crate) since: Timestamp,
    /// Its causes since then, and when each was first seen. A cause that comes back keeps its first time: the causes of a pod that crashes again and
    /// again take turns.
    causes: Vec<(CauseKind, Timestamp)>,
}

/// What Events told of a pod that its status does not say.
struct Told<'a> {
    /// The last report of its kubelet on its start.
    start: Option<&'a Cause>,
    /// Why the last pull of an image that it waits for failed.
    failed_pull: Option<Cause>,
}

impl PodTrouble {
    /// When its present cause was first seen, if the trouble began with another cause.
    pub(crate) fn cause_since(&self) -> Option<Timestamp> {
        let later = self.causes.iter().skip(1).find(|(kind, _)| *kind == self.cause.kind);
        later.map(|(_, seen)| *seen)
    }

    /// Adds its cause to those that the pod has had.
    fn with_cause(mut self, known: Option<&Self>, now: Timestamp) -> Self {
        self.causes = known.map(|known| known.causes.clone()).unwrap_or_default();
        if self.causes.iter().all(|(kind, _)| *kind != self.cause.kind) {
            self.causes.push((self.cause.kind, now));
        }
        self
    }

    /// The trouble of a pod as it is now, with what Events told of it.
    fn next(
        known: Option<&Self>,
        fact: &PodFact,
        told: Told<'_>,
        (now, server_now): (Timestamp, Timestamp),
    ) -> Option<Self> {
        let cause = diagnose(fact, server_now).map(|cause| match told.failed_pull {
            // Kubelets before 1.32 say only that they wait, and not why the last pull failed.
            Some(why) if cause.kind.says_only_that_a_pull_failed() => why,
            _ => cause,
        });
        let cause = cause.or_else(|| diagnose_start(fact, told.start?));
        let since = known.map_or(now, |trouble| trouble.since);
        let diagnosed = cause.map(|cause| Self { cause, since, causes: Vec::new() }.with_cause(known, now));
        // A kubelet that was restarted does not name the last failure while it pulls again (docs/kubernetes.md, *Image pulls*). It counts
        // until the images are present. What an Event told ends otherwise.
        let tries_again =
            fact.deletion_at.is_none() && fact.containers.iter().any(|container| !container.image_present);
        let known = known.filter(|known| tries_again && known.cause.kind.told_of().is_none());
        // If the registry has refused the image before, a later failure to reach the registry does not replace that cause.
        let verdict = known.filter(|known| known.cause.kind.is_the_registrys_verdict());
        let diagnosed = diagnosed.filter(|now| !(verdict.is_some() && now.cause.kind.leaves_the_image_open()));
        // Without that Event, what the status said before counts.
        let told = known.filter(|known| known.cause.kind.leaves_the_image_open());
        let diagnosed = diagnosed.filter(|now| !(told.is_some() && now.cause.kind.says_only_that_a_pull_failed()));
        diagnosed.or_else(|| known.cloned())
    }
}

/// The last span of time in which a pod was ready, once it is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServedSpan {
    /// When it was over, and the kubelet's time for that.
    pub(crate) ended: ObservedAt,
    pub(crate) said: Option<Timestamp>,
    /// How long it lasted, as far as seen.
    pub(crate) lasted: Duration,
}

impl ServedSpan {
    /// A span of at least this length replaces the known one, even a longer one; a shorter span replaces only one that is not longer. A pod that is
    /// first seen unready counts as having served only from this length on.
    const LONG: Duration = Duration::from_secs(60);

    /// The span of a pod as it is now.
    fn next(
        before: Option<&PodEntry>,
        fact: &PodFact,
        observed: ObservedAt,
        (now, server_now): (Timestamp, Timestamp),
    ) -> Option<Self> {
        let said = fact.ready_since;
        let Some(before) = before else {
            // The pod was first seen unready, and became so long after it was created: until then it was ready.
            let lasted = said.filter(|_| !fact.ready)?.since(fact.created_at);
            return (lasted >= Self::LONG).then_some(Self { ended: observed, said, lasted });
        };
        let known = before.served.as_deref().copied();
        let Some(since) = before.ready_observed.filter(|_| !fact.ready) else { return known };
        let lasted = since.elapsed(before.fact.ready_since, now, server_now);
        let kept = known.filter(|known| lasted < known.lasted && lasted < Self::LONG);
        kept.or(Some(Self { ended: observed, said, lasted }))
    }
}

impl View {
    /// Whether the pod with this uid is there, as far as known.
    pub(crate) fn has_pod(&self, uid: &str) -> bool {
        self.pod_ix(uid).is_some()
    }

    /// The index of the pod with this uid.
    fn pod_ix(&self, uid: &str) -> Option<PodIx> {
        self.pod_index.find(uid, |ix| uid_at(&self.pods, ix))
    }

    /// The pod with this uid, where it is the DaemonSet's own and bound to a node.
    pub(crate) fn own_pod(&self, uid: &str) -> Option<(NodeIx, &PodEntry)> {
        let pod = self.pod(self.pod_ix(uid)?)?;
        let node = pod.node?;
        self.pods_on(node).any(|(_, own)| own.fact.uid == pod.fact.uid).then_some((node, pod))
    }

    /// The DaemonSet's own pods on a node.
    pub(crate) fn pods_on(&self, node: NodeIx) -> impl Iterator<Item = (PodIx, &PodEntry)> {
        let owner = self.daemonset.as_ref().map(|daemonset| &daemonset.uid);
        let indices = self.nodes.get(node).map(|entry| entry.pods.as_slice()).unwrap_or_default();
        indices
            .iter()
            .filter_map(|pod| Some((*pod, self.pods.get(*pod)?.as_ref()?)))
            .filter(move |(_, pod)| pod.fact.owner.is_some() && pod.fact.owner.as_ref() == owner)
    }

    /// The DaemonSet's own pods, those on their way out included.
    pub(super) fn own_pods(&self) -> impl Iterator<Item = &PodFact> {
        let owner = self.daemonset.as_ref().map(|daemonset| &daemonset.uid);
        let pods = self.pods.iter().flatten().map(|pod| &pod.fact);
        pods.filter(move |pod| pod.owner.is_some() && pod.owner.as_ref() == owner)
    }

    /// A pod by its index.
    pub(crate) fn pod(&self, ix: PodIx) -> Option<&PodEntry> {
        self.pods.get(ix)?.as_ref()
    }

    /// The pod with this uid.
    pub(super) fn pod_mut(&mut self, uid: &str) -> Option<&mut PodEntry> {
        let ix = self.pod_ix(uid)?;
        self.pods.get_mut(ix)?.as_mut()
    }

    /// Marks the node of the pod with this uid for another assessment.
    pub(crate) fn touch_pod(&mut self, uid: &str) {
        let node = self.pod_ix(uid).and_then(|ix| self.pod(ix)?.node);
        self.touch(node);
    }

    pub(super) fn pod_is(&mut self, mut fact: PodFact, now: Timestamp) {
        if self.ended.is_late(&fact.uid, fact.resource_version.parse().ok()) {
            return;
        }
        let known = self.pod_ix(&fact.uid);
        if let Some(known) = known.and_then(|ix| self.pods[ix].as_mut())
            && is_older(&fact.resource_version, &known.fact.resource_version)
        {
            known.listed = true;
            return;
        }
        self.newest_pod = self.newest_pod.max(fact.resource_version.parse().ok());
        if let Some(uid) = self.pulls.uid_of(&fact.uid) {
            fact.uid = uid.clone();
        }
        let observed = self.observation_kind(Watched::Pods, now);
        let node = fact.node.as_ref().map(|name| self.node_slot(name));
        // Texts that stay the same are kept once, however often the pod changes.
        fact.node = node.map(|node| self.nodes[node].name.clone());
        let ix = known.unwrap_or_else(|| {
            self.free.pop().unwrap_or_else(|| {
                self.pods.push(None);
                self.pods.len() - 1
            })
        });
        let before = self.pods[ix].take();
        if let Some(before) = &before {
            (fact.uid, fact.name) = (before.fact.uid.clone(), before.fact.name.clone());
            if let Some(made_of) = self.made_of(before, &fact) {
                fact.revision = Some(made_of);
            }
        }
        if before.is_none() && fact.owner.is_some() && fact.owner.as_ref() == self.daemonset.as_ref().map(|it| &it.uid)
        {
            self.pod_was_created(fact.created_at, now);
        }
        self.note_unready_replacement(before.as_ref(), &fact);
        self.note_pull_policy(&fact);
        let was_on = before.as_ref().and_then(|before| before.node);
        self.touch(was_on);
        self.touch(node);
        if was_on != node {
            self.leave_node(was_on, ix);
            if let Some(node) = node {
                self.nodes[node].pods.add(ix);
            }
        }
        let server_now = self.server_time(now);
        let told = Told { start: self.start_note(&fact.uid), failed_pull: self.failed_pull(&fact) };
        let mut entry = PodEntry::next(before.as_ref(), fact, node, told, observed, (now, server_now));
        if entry.fact.owner.is_some() && entry.fact.owner.as_ref() == self.daemonset.as_ref().map(|it| &it.uid) {
            self.rejections.pod_is(before.as_ref(), &mut entry);
        }
        self.pods[ix] = Some(entry);
        if known.is_none() {
            self.pod_index.add(ix, |ix| uid_at(&self.pods, ix));
        }
    }

    /// The revision that a pod was made of, where its label names another one by now. A pod never changes what it runs: somebody has labelled it anew, as the
    /// controller does with every pod when it finds two revisions of equal content (docs/kubernetes.md, *ControllerRevisions*). `None` if the label
    /// is believed: it is unchanged, both revisions have the same template, or one of them is not known.
    fn made_of(&self, before: &PodEntry, fact: &PodFact) -> Option<Str> {
        let (was, is) = (before.fact.revision.as_ref()?, fact.revision.as_ref()?);
        let differ = was != is && self.revision(was)?.template != self.revision(is)?.template;
        differ.then(|| was.clone())
    }

    /// Counts an old pod that was deleted while it was unready under RollingUpdate: the cascade consists of such deletions.
    fn note_unready_replacement(&mut self, before: Option<&PodEntry>, fact: &PodFact) {
        let Some(daemonset) = &self.daemonset else { return };
        let rolling = daemonset.strategy.kind == StrategyKind::RollingUpdate;
        let begins_to_go = fact.deletion_at.is_some()
            && before.is_some_and(|before| before.fact.deletion_at.is_none() && !before.fact.ready);
        let old = self.current.is_some() && fact.revision != self.current;
        if rolling && begins_to_go && old {
            self.replaced_unready += 1;
        }
    }

    fn leave_node(&mut self, node: Option<NodeIx>, pod: PodIx) {
        if let Some(node) = node {
            let entry = &mut self.nodes[node];
            entry.pods.remove(pod);
        }
    }

    pub(super) fn pod_gone(&mut self, uid: &Str, version: Option<u64>) {
        // A newer state of the pod was seen since: the pod is not gone.
        let known = self.pod_ix(uid).and_then(|ix| self.pod(ix));
        let newest = known.and_then(|known| known.fact.resource_version.parse().ok());
        if version.zip(newest).is_some_and(|(gone_at, newest)| gone_at < newest) {
            return;
        }
        self.newest_pod = self.newest_pod.max(version);
        self.ended.add(uid, version);
        self.forget_pod(uid);
    }

    /// Removes a pod without noting its end: if it is there after all, its watch brings it back.
    pub(super) fn forget_pod(&mut self, uid: &Str) {
        let pulls = self.pulls.forget_pod(uid);
        self.start_notes.forget_pod(uid);
        if let Some(ix) = self.pod_index.remove(uid, |ix| uid_at(&self.pods, ix)) {
            let gone = self.pods[ix].take();
            gone.iter().for_each(|pod| self.rejections.pod_is_gone(pod));
            let node = gone.and_then(|entry| entry.node);
            self.pulls.note_absent(node.map(|node| &self.nodes[node].name), &pulls);
            self.touch(node);
            self.leave_node(node, ix);
            self.free.push(ix);
        }
    }

    pub(super) fn cluster_event(&mut self, mut event: ClusterEvent, now: Timestamp) {
        if let Some(pod) = self.pod_ix(&event.object).and_then(|ix| self.pod(ix)) {
            event.object = pod.fact.uid.clone();
        }
        let event = &event;
        let of_daemonset = self.daemonset.as_ref().is_none_or(|daemonset| daemonset.uid == event.object);
        if of_daemonset {
            self.controller_says(event, now);
        }
        if of_daemonset && self.daemonset.is_some() {
            return;
        }
        let is_own = |uid: &str| self.pod_index.find(uid, |ix| uid_at(&self.pods, ix)).is_some();
        let is_there = |uid: &str| is_own(uid) || self.warm.get(uid).is_some();
        if !self.ended.contains(&event.object) && self.pulls.take_in(event, is_there) {
            self.touch_pod(&event.object);
            let warm = self.warm.get(&event.object).and_then(|warm| warm.fact.pod.node.clone());
            self.touch_named(warm.as_ref());
            self.judge_pod_again(&event.object, now);
            self.note_told_image(event, now);
        }
        if !self.ended.contains(&event.object) {
            self.note_start(event, now);
            self.warm_pod_is_told_of(&event.object, now);
        }
    }

    /// Diagnoses a pod again after an Event about it.
    pub(super) fn judge_pod_again(&mut self, uid: &str, now: Timestamp) {
        let server_now = self.server_time(now);
        let Some(ix) = self.pod_ix(uid) else { return };
        let Some(entry) = &self.pods[ix] else { return };
        let told = Told { start: self.start_note(uid), failed_pull: self.failed_pull(&entry.fact) };
        let trouble = PodTrouble::next(entry.trouble.as_deref(), &entry.fact, told, (now, server_now));
        if let Some(entry) = &mut self.pods[ix] {
            entry.trouble = trouble.map(Box::new);
        }
        self.touch_pod(uid);
    }
}

/// The uid of a pod that is in the index of pods.
pub(super) fn uid_at(pods: &[Option<PodEntry>], ix: PodIx) -> &str {
    pods.get(ix).and_then(Option::as_ref).map_or("", |pod| &pod.fact.uid)
}

impl PodEntry {
    fn next(
        before: Option<&Self>,
        fact: PodFact,
        node: Option<NodeIx>,
        told: Told<'_>,
        observed: ObservedAt,
        (now, server_now): (Timestamp, Timestamp),
    ) -> Self {
        let first_observed = before.map_or(observed, |before| before.first_observed);
        let ready_observed = fact.ready.then(|| {
            let still = before.filter(|before| before.fact.ready_since == fact.ready_since);
            match (before, still.and_then(|before| before.ready_observed)) {
                (_, Some(observed)) => observed,
                (Some(_), None) => ObservedAt::Happen(now),
                (None, None) => observed,
            }
        });
        let trouble =
            PodTrouble::next(before.and_then(|before| before.trouble.as_deref()), &fact, told, (now, server_now));
        let restarts = Restarts::next(before.map(|before| (&before.restarts, &before.fact)), &fact, observed);
        let served = ServedSpan::next(before, &fact, observed, (now, server_now)).map(Box::new);
        let trouble = trouble.map(Box::new);
        Self { fact, first_observed, ready_observed, trouble, served, restarts, node, listed: true }
    }
}
