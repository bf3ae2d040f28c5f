//! What has been observed: the facts, joined by node, with what only an observer knows (when it first saw something).
//!
//! Within one kind a later fact wins; a fact whose resource version is older than what is known is passed over, and a
//! pod that is gone stays gone, so that a stale list or a late event cannot bring back the past.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::Str;
use super::eligibility::{Eligibility, eligibility};
use super::event::{Event, Permission, Right, WatchHealth, Watched};
use super::facts::{ClusterEvent, DaemonSetFact, NodeFact, PodFact, RevisionFact};
use super::image::normalized;
use super::ownership::{Keeper, keepers};
use super::sight::Sight;
use super::snapshot::Presence;
use super::time::Timestamp;

/// How long a revision may take to be seen after the controller said that it recorded it: they come by different watches.
const REVISION_PATIENCE: Duration = Duration::from_secs(10);
/// How many uids of gone pods are remembered.
const TOMBSTONES: usize = 4096;
/// How many pods' pull notes are kept.
const PULL_NOTES: usize = 20_000;

/// Index of a node in [`View::nodes`]; stable for the life of the view.
pub(crate) type NodeIx = usize;
/// Index of a pod; good until its node is touched.
pub(crate) type PodIx = usize;

/// A node, and what is on it.
#[derive(Debug)]
pub(crate) struct NodeEntry {
    pub(crate) name: Str,
    /// `None`: only pods speak of it; the node is gone or cannot be seen.
    pub(crate) fact: Option<NodeFact>,
    pub(crate) eligibility: Eligibility,
    /// Whether `status.images` confirms every image of the target.
    pub(crate) images_confirmed: bool,
    pods: Vec<PodIx>,
    listed: bool,
    touched: bool,
}

/// A pod, and what only an observer knows of it.
#[derive(Debug)]
pub(crate) struct PodEntry {
    pub(crate) fact: PodFact,
    /// When it was first seen, and whether that was its creation or a listing.
    pub(crate) first_seen: Seen,
    /// When it was seen to become ready; cleared when it is not.
    pub(crate) ready_seen: Option<Seen>,
    /// Since when it is seen in the trouble that it is in.
    pub(crate) trouble: Option<Trouble>,
    node: Option<NodeIx>,
    listed: bool,
}

/// The trouble of a pod, and since when it is in any that speaks against its revision.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    pub(crate) cause: super::snapshot::Cause,
    pub(crate) since: Timestamp,
}

/// An instant by our clock, with how it came about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Seen {
    /// We watched it happen then.
    Happen(Timestamp),
    /// It was already so then, when the API server's clock minus ours was this, if that was known.
    Already(Timestamp, Option<i64>),
}

/// What events told of a pod's pulls.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PullNote {
    pub(crate) pulling_since: Option<Timestamp>,
    pub(crate) failed: bool,
}

/// Everything observed.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) presence: Presence,
    pub(crate) daemonset: Option<DaemonSetFact>,
    /// What else manages the DaemonSet.
    pub(crate) keepers: Arc<[Keeper]>,
    pub(crate) revisions: Vec<RevisionFact>,
    /// Hash of the revision that holds the DaemonSet's present template, once it is recorded.
    pub(crate) current: Option<Str>,
    current_is_guess: bool,
    template_seen_at: Timestamp,
    pub(crate) nodes: Vec<NodeEntry>,
    pub(crate) rights: Vec<(Right, Permission)>,
    pub(crate) skew_millis: Option<i64>,
    /// Old pods that their controller replaced while they were unready, since we look.
    pub(crate) replaced_unready: u32,
    /// Why the controller could not create pods, when it said so last.
    pub(crate) not_created: Option<(Timestamp, Str)>,
    node_index: HashMap<Str, NodeIx>,
    natural: Vec<u32>,
    pods: Vec<Option<PodEntry>>,
    pod_index: HashMap<Str, PodIx>,
    free: Vec<PodIx>,
    pods_listing: Listing,
    tombstones: VecDeque<Str>,
    gone: HashSet<Str>,
    pulls: HashMap<Str, PullNote>,
    pub(crate) sight: Sight,
    listed_revisions: HashSet<Str>,
    /// What the target needs, as its template has it, and as runtimes report it.
    wanted_images: Vec<Str>,
    confirmed_for: Vec<String>,
    touched: Touched,
}

/// A listing that is coming in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Listing {
    /// None is.
    #[default]
    None,
    /// One is, and as far as can be told it is not older than what is known.
    Fresh,
    /// One is, and it names something that is known to be older, or gone: it comes from a cache that is behind.
    Behind,
}

impl Listing {
    fn is_behind(&mut self) {
        if *self == Self::Fresh {
            *self = Self::Behind;
        }
    }
}

/// Which nodes have to be assessed again.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    /// All of them.
    pub(crate) all: bool,
    /// These, each once.
    pub(crate) nodes: Vec<NodeIx>,
}

impl Default for View {
    fn default() -> Self {
        Self {
            presence: Presence::Loading,
            daemonset: None,
            keepers: Arc::new([]),
            revisions: Vec::new(),
            current: None,
            current_is_guess: false,
            template_seen_at: Timestamp::default(),
            nodes: Vec::new(),
            rights: Vec::new(),
            skew_millis: None,
            replaced_unready: 0,
            not_created: None,
            node_index: HashMap::new(),
            natural: Vec::new(),
            pods: Vec::new(),
            pod_index: HashMap::new(),
            free: Vec::new(),
            pods_listing: Listing::default(),
            tombstones: VecDeque::new(),
            gone: HashSet::new(),
            pulls: HashMap::new(),
            sight: Sight::default(),
            listed_revisions: HashSet::new(),
            wanted_images: Vec::new(),
            confirmed_for: Vec::new(),
            touched: Touched { all: true, nodes: Vec::new() },
        }
    }
}

impl View {
    /// Takes in one fact. Leases are not kept here: the lock does.
    pub(crate) fn observe(&mut self, event: Event, now: Timestamp) {
        match event {
            Event::DaemonSet(fact) => self.daemonset_is(*fact, now),
            Event::DaemonSetGone => {
                self.presence = Presence::Absent;
                self.daemonset = None;
                self.current = None;
                self.touched.all = true;
            }
            Event::Revision(fact) => {
                self.listed_revisions.insert(fact.name.clone());
                match self.revisions.iter_mut().find(|known| known.name == fact.name) {
                    Some(known) if *known == *fact => return,
                    Some(known) => *known = *fact,
                    None => self.revisions.push(*fact),
                }
                self.touched.all = true;
                self.settle_current();
            }
            Event::RevisionGone(name) => {
                self.revisions.retain(|known| known.name != name);
                self.touched.all = true;
                self.settle_current();
            }
            Event::Node(fact) => self.node_is(*fact),
            Event::NodeGone(name) => {
                if let Some(&ix) = self.node_index.get(&name) {
                    self.forget_node(ix);
                }
            }
            Event::Pod(fact) => self.pod_is(*fact, now),
            Event::PodGone(uid) => self.pod_gone(&uid),
            Event::Cluster(event) => self.cluster_event(&event),
            Event::Listing(watched) => self.begin_listing(watched),
            Event::Listed(watched) => self.end_listing(watched),
            Event::Watch(watched, health) => {
                self.touched.all |= self.sight.report(watched, health);
            }
            Event::Rights(rights) => self.rights = rights,
            Event::Skew(millis) => {
                self.touched.all |= self.skew_millis != Some(millis);
                self.skew_millis = Some(millis);
            }
            Event::Lease(_) | Event::LeaseGone | Event::Heard(_) => {}
        }
    }

    /// What a watch says of itself; whether it is to be believed, [`super::sight`] knows.
    pub(crate) fn health(&self, watched: Watched) -> &WatchHealth {
        self.sight.reported(watched)
    }

    /// Whether the pod with this uid is there, as far as known.
    pub(crate) fn has_pod(&self, uid: &str) -> bool {
        self.pod_index.contains_key(uid)
    }

    /// Whether we may, as far as known.
    pub(crate) fn permission(&self, right: Right) -> Permission {
        self.rights.iter().find(|(candidate, _)| *candidate == right).map_or(Permission::Unknown, |(_, answer)| *answer)
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

    /// A pod by its index.
    pub(crate) fn pod(&self, ix: PodIx) -> Option<&PodEntry> {
        self.pods.get(ix)?.as_ref()
    }

    /// Has the node of the pod with this uid assessed again.
    pub(crate) fn touch_pod(&mut self, uid: &str) {
        let node = self.pod_index.get(uid).and_then(|ix| self.pods[*ix].as_ref()?.node);
        self.touch(node);
    }

    fn touch(&mut self, node: Option<NodeIx>) {
        if let Some(ix) = node
            && !std::mem::replace(&mut self.nodes[ix].touched, true)
        {
            self.touched.nodes.push(ix);
        }
    }

    /// Takes the nodes that have to be assessed again.
    pub(crate) fn take_touched(&mut self) -> Touched {
        let touched = std::mem::take(&mut self.touched);
        for ix in &touched.nodes {
            self.nodes[*ix].touched = false;
        }
        touched
    }

    /// A node's index by name.
    pub(crate) fn node(&self, name: &str) -> Option<NodeIx> {
        self.node_index.get(name).copied()
    }

    /// What events told of a pod's pulls.
    pub(crate) fn pull(&self, uid: &str) -> PullNote {
        self.pulls.get(uid).copied().unwrap_or_default()
    }

    /// The revision with this hash that belongs to the DaemonSet.
    pub(crate) fn revision(&self, hash: &str) -> Option<&RevisionFact> {
        self.own_revisions().filter(|revision| &*revision.hash == hash).max_by_key(|revision| revision.number)
    }

    /// The DaemonSet's revisions, in no particular order.
    pub(crate) fn own_revisions(&self) -> impl Iterator<Item = &RevisionFact> {
        let owner = self.daemonset.as_ref().map(|daemonset| &daemonset.uid);
        self.revisions.iter().filter(move |revision| revision.owner.is_none() || revision.owner.as_ref() == owner)
    }

    /// The server's present time, as far as the skew is known.
    pub(crate) fn server_time(&self, now: Timestamp) -> Timestamp {
        Timestamp::from_millis(now.millis().saturating_add(self.skew_millis.unwrap_or(0)))
    }

    /// An instant of the cluster's by our own clock, as far as the skew is known.
    pub(crate) fn our_time(&self, at: Timestamp) -> Timestamp {
        Timestamp::from_millis(at.millis().saturating_sub(self.skew_millis.unwrap_or(0)))
    }

    /// Each node's place in natural name order, as of the last [`View::natural_ranks`].
    pub(crate) fn natural(&self) -> &[u32] {
        &self.natural
    }

    /// Works out each node's place in natural name order, where nodes were added.
    pub(crate) fn natural_ranks(&mut self) {
        if self.natural.len() != self.nodes.len() {
            let mut order: Vec<NodeIx> = (0..self.nodes.len()).collect();
            order.sort_by(|a, b| {
                let (a, b) = (&self.nodes[*a].name, &self.nodes[*b].name);
                natord::compare(a, b).then_with(|| a.cmp(b))
            });
            self.natural = vec![0; order.len()];
            for (rank, node) in order.into_iter().enumerate() {
                self.natural[node] = u32::try_from(rank).unwrap_or(u32::MAX);
            }
        }
    }

    /// Recomputes, for every node, whether its kubelet confirms all of `images`.
    pub(crate) fn confirm_images(&mut self, images: Vec<Str>) {
        if images != self.wanted_images {
            self.confirmed_for = images.iter().map(|image| normalized(image)).collect();
            self.wanted_images = images;
            self.touched.all = true;
            for entry in &mut self.nodes {
                entry.images_confirmed = confirms(entry.fact.as_ref(), &self.confirmed_for);
            }
        }
    }

    fn daemonset_is(&mut self, fact: DaemonSetFact, now: Timestamp) {
        let known = self.daemonset.as_ref().filter(|known| known.uid == fact.uid);
        if known.is_some_and(|known| is_older(&fact.resource_version, &known.resource_version)) {
            return;
        }
        let template_changed = known.is_none_or(|known| known.template != fact.template);
        self.touched.all |= template_changed || known.is_none_or(|known| known.min_ready_secs != fact.min_ready_secs);
        self.presence = Presence::Present;
        if template_changed {
            self.template_seen_at = now;
            self.current = None;
            for entry in &mut self.nodes {
                entry.eligibility = judge(entry.fact.as_ref(), &fact);
            }
        }
        self.keepers = keepers(&fact).into();
        self.daemonset = Some(fact);
        self.settle_current();
    }

    /// Finds the revision that holds the present template.
    fn settle_current(&mut self) {
        let Some(daemonset) = &self.daemonset else { return };
        let equal = self.own_revisions().filter(|revision| revision.template == daemonset.template);
        let equal = equal.max_by_key(|revision| revision.number).map(|revision| revision.hash.clone());
        let fallback = self.current.take().filter(|_| self.current_is_guess);
        self.current_is_guess = equal.is_none() && fallback.is_some();
        self.current = equal.or(fallback);
    }

    /// When, if nothing else happens, the newest revision is taken for the one that holds the present template: the
    /// controller says that it has recorded it, but no stored form compares equal, and none has come for a while.
    pub(crate) fn guesses_current_at(&self) -> Option<Timestamp> {
        let daemonset = self.daemonset.as_ref()?;
        let recorded = daemonset.observed_generation >= daemonset.generation;
        (self.current.is_none() && recorded && self.own_revisions().next().is_some())
            .then(|| self.template_seen_at + REVISION_PATIENCE)
    }

    /// Takes that guess when its time has come.
    pub(crate) fn guess_current(&mut self, now: Timestamp) {
        if self.guesses_current_at().is_some_and(|at| at <= now) {
            self.current =
                self.own_revisions().max_by_key(|revision| revision.number).map(|revision| revision.hash.clone());
            self.current_is_guess = true;
        }
    }

    fn node_slot(&mut self, name: &Str) -> NodeIx {
        if let Some(&known) = self.node_index.get(name) {
            return known;
        }
        let ix = self.nodes.len();
        self.nodes.push(NodeEntry {
            name: name.clone(),
            fact: None,
            eligibility: Eligibility::default(),
            images_confirmed: false,
            pods: Vec::new(),
            listed: false,
            touched: false,
        });
        self.node_index.insert(name.clone(), ix);
        ix
    }

    fn node_is(&mut self, fact: NodeFact) {
        let ix = self.node_slot(&fact.name);
        self.touch(Some(ix));
        let eligibility = self.daemonset.as_ref().map(|daemonset| judge(Some(&fact), daemonset)).unwrap_or_default();
        let images_confirmed = confirms(Some(&fact), &self.confirmed_for);
        let entry = &mut self.nodes[ix];
        entry.fact = Some(fact);
        entry.eligibility = eligibility;
        entry.images_confirmed = images_confirmed;
        entry.listed = true;
    }

    fn forget_node(&mut self, ix: NodeIx) {
        self.touch(Some(ix));
        let entry = &mut self.nodes[ix];
        entry.fact = None;
        entry.eligibility = Eligibility::default();
        entry.images_confirmed = false;
    }

    fn pod_is(&mut self, fact: PodFact, now: Timestamp) {
        if self.gone.contains(&fact.uid) {
            self.pods_listing.is_behind();
            return;
        }
        let known = self.pod_index.get(&fact.uid).copied();
        if let Some(known) = known.and_then(|ix| self.pods[ix].as_mut())
            && is_older(&fact.resource_version, &known.fact.resource_version)
        {
            known.listed = true;
            self.pods_listing.is_behind();
            return;
        }
        let live = matches!(self.health(Watched::Pods), WatchHealth::Live);
        let seen = if live { Seen::Happen(now) } else { Seen::Already(now, self.skew_millis) };
        let node = fact.node.as_ref().map(|name| self.node_slot(&name.clone()));
        let ix = known.unwrap_or_else(|| {
            let ix = self.free.pop().unwrap_or_else(|| {
                self.pods.push(None);
                self.pods.len() - 1
            });
            self.pod_index.insert(fact.uid.clone(), ix);
            ix
        });
        let before = self.pods[ix].take();
        self.note_unready_replacement(before.as_ref(), &fact);
        let was_on = before.as_ref().and_then(|before| before.node);
        self.touch(was_on);
        self.touch(node);
        if was_on != node {
            self.leave_node(was_on, ix);
            if let Some(node) = node {
                self.nodes[node].pods.push(ix);
            }
        }
        let server_now = self.server_time(now);
        self.pods[ix] = Some(PodEntry::next(before.as_ref(), fact, node, seen, (now, server_now)));
    }

    /// Counts an old pod that was deleted while it was unready under RollingUpdate: what the cascade consists of.
    fn note_unready_replacement(&mut self, before: Option<&PodEntry>, fact: &PodFact) {
        let Some(daemonset) = &self.daemonset else { return };
        let rolling = daemonset.strategy.kind == super::facts::StrategyKind::RollingUpdate;
        let begins_to_go = fact.deletion_at.is_some()
            && before.is_some_and(|before| before.fact.deletion_at.is_none() && !before.fact.ready);
        let old = self.current.is_some() && fact.revision != self.current;
        if rolling && begins_to_go && old {
            self.replaced_unready += 1;
        }
    }

    fn leave_node(&mut self, node: Option<NodeIx>, pod: PodIx) {
        if let Some(node) = node {
            self.nodes[node].pods.retain(|candidate| *candidate != pod);
        }
    }

    fn pod_gone(&mut self, uid: &Str) {
        if self.gone.insert(uid.clone()) {
            self.tombstones.push_back(uid.clone());
            if self.tombstones.len() > TOMBSTONES
                && let Some(oldest) = self.tombstones.pop_front()
            {
                self.gone.remove(&oldest);
            }
        }
        self.forget_pod(uid);
    }

    /// A pod is not there, as far as we know; should it be, its watch will tell.
    fn forget_pod(&mut self, uid: &Str) {
        self.pulls.remove(uid);
        if let Some(ix) = self.pod_index.remove(uid) {
            let node = self.pods[ix].take().and_then(|entry| entry.node);
            self.touch(node);
            self.leave_node(node, ix);
            self.free.push(ix);
        }
    }

    fn cluster_event(&mut self, event: &ClusterEvent) {
        let of_daemonset = self.daemonset.as_ref().is_some_and(|daemonset| daemonset.uid == event.object);
        if of_daemonset {
            if &*event.reason == "FailedCreate" {
                self.not_created = Some((event.at, event.message.clone()));
                self.touched.all = true;
            }
            return;
        }
        if self.gone.contains(&event.object) || self.pulls.len() >= PULL_NOTES {
            return;
        }
        let note = self.pulls.entry(event.object.clone()).or_default();
        match &*event.reason {
            "Pulling" => *note = PullNote { pulling_since: Some(event.at), failed: false },
            "Pulled" => *note = PullNote::default(),
            "Failed" if note.pulling_since.is_some() => *note = PullNote { pulling_since: None, failed: true },
            _ => return,
        }
        self.touch_pod(&event.object);
    }

    fn begin_listing(&mut self, watched: Watched) {
        match watched {
            Watched::Nodes => self.nodes.iter_mut().for_each(|entry| entry.listed = false),
            Watched::Pods => {
                self.pods_listing = Listing::Fresh;
                self.pods.iter_mut().flatten().for_each(|entry| entry.listed = false);
            }
            Watched::Revisions => self.listed_revisions.clear(),
            Watched::DaemonSet | Watched::Events | Watched::Lease => {}
        }
    }

    fn end_listing(&mut self, watched: Watched) {
        match watched {
            Watched::Nodes => {
                for ix in 0..self.nodes.len() {
                    if !self.nodes[ix].listed {
                        self.forget_node(ix);
                    }
                }
            }
            Watched::Pods => {
                // What a listing from a cache that is behind us does not name may be newer than it; its watch will tell.
                if std::mem::take(&mut self.pods_listing) != Listing::Behind {
                    let missing = self.pods.iter().flatten().filter(|entry| !entry.listed);
                    let missing: Vec<Str> = missing.map(|entry| entry.fact.uid.clone()).collect();
                    missing.iter().for_each(|uid| self.forget_pod(uid));
                }
            }
            Watched::Revisions => {
                let listed = std::mem::take(&mut self.listed_revisions);
                self.revisions.retain(|revision| listed.contains(&revision.name));
                self.touched.all = true;
                self.settle_current();
            }
            Watched::DaemonSet => {
                if self.presence == Presence::Loading {
                    self.presence = Presence::Absent;
                }
            }
            Watched::Events | Watched::Lease => {}
        }
    }
}

impl PodEntry {
    fn next(
        before: Option<&Self>,
        fact: PodFact,
        node: Option<NodeIx>,
        seen: Seen,
        (now, server_now): (Timestamp, Timestamp),
    ) -> Self {
        let first_seen = before.map_or(seen, |before| before.first_seen);
        let ready_seen = fact.ready.then(|| {
            let still = before.filter(|before| before.fact.ready_since == fact.ready_since);
            match (before, still.and_then(|before| before.ready_seen)) {
                (_, Some(seen)) => seen,
                (Some(_), None) => Seen::Happen(now),
                (None, None) => seen,
            }
        });
        let known = before.and_then(|before| before.trouble.as_ref());
        let diagnosed = super::diagnose::diagnose(&fact, server_now)
            .map(|cause| Trouble { cause, since: known.map_or(now, |trouble| trouble.since) });
        // A kubelet that tries a pull again says nothing of the last failure: it is over when the images are there.
        let tries_again =
            fact.deletion_at.is_none() && fact.containers.iter().any(|container| !container.image_present);
        // Nor does one that could not reach the registry take back what the registry has said before.
        let verdict = known.filter(|known| tries_again && known.cause.kind.is_the_registrys_verdict());
        let diagnosed = diagnosed.filter(|now| !(verdict.is_some() && now.cause.kind.leaves_the_image_open()));
        let trouble = diagnosed.or_else(|| known.filter(|_| tries_again).cloned());
        Self { fact, first_seen, ready_seen, trouble, node, listed: true }
    }
}

impl Seen {
    /// How long ago it was: by our own clock when we watched it; else by the cluster's word for how long ago it was when we
    /// first saw it, and from then on by our own clock too, so that setting a clock makes nothing older.
    pub(crate) fn elapsed(self, said_at: Option<Timestamp>, now: Timestamp, server_now: Timestamp) -> Duration {
        match self {
            Self::Happen(at) => now.since(at),
            Self::Already(at, skew) => {
                let seen_for = now.since(at);
                let Some(said) = said_at else { return seen_for };
                match skew {
                    Some(skew) => {
                        let server_then = Timestamp::from_millis(at.millis().saturating_add(skew));
                        server_then.since(said) + seen_for
                    }
                    None => server_now.since(said).max(seen_for),
                }
            }
        }
    }
}

fn judge(node: Option<&NodeFact>, daemonset: &DaemonSetFact) -> Eligibility {
    node.map(|node| eligibility(node, &daemonset.template)).unwrap_or_default()
}

fn confirms(node: Option<&NodeFact>, wanted: &[String]) -> bool {
    let Some(node) = node else { return false };
    !wanted.is_empty() && wanted.iter().all(|wanted| node.images.iter().any(|image| normalized(image) == *wanted))
}

/// Whether `candidate` is an older resource version than `known`. They are opaque; only where both are numbers (as they
/// are on every API server) do we dare to compare them.
pub(crate) fn is_older(candidate: &str, known: &str) -> bool {
    matches!((candidate.parse::<u64>(), known.parse::<u64>()), (Ok(candidate), Ok(known)) if candidate < known)
}

#[cfg(test)]
mod tests;
