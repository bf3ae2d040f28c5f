//! All observed facts, joined by node, with the times at which this observer first saw them.
//!
//! Within one kind a later fact replaces an earlier one. A fact with an older resource version than the known one is ignored,
//! and a pod that is gone stays gone until a newer fact shows it: a stale list or a late event must not bring back an old state.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use pull_policy::AdmittedPolicy;
use pulls::PullLedger;
use readiness::Readiness;

use self::watch_states::WatchStates;
use super::model::Str;
use super::model::event::{Event, Permission, Right, WatchHealth, Watched};
use super::model::facts::{DaemonSetFact, ListedImage, NodeFact, RevisionFact};
use super::model::gitops_owner::GitOpsOwner;
use super::model::image::{ImageRef, normalized};
use super::model::name_index::NameIndex;
use super::model::node::NodeIx;
use super::model::presence::Presence;
use super::model::record::Change;
use super::model::rollout_event::ImageChanged;
use super::model::site::SiteLabel;
use super::model::template::{NoTemplate, Template};
use super::model::time::Timestamp;
use super::model::version::{is_behind, is_older};
use super::rules::eligibility::{Eligibility, eligibility};
use super::rules::ownership::find_gitops_owners;
use super::rules::saved_strategy::is_adopted;
use super::rules::site::site_of;

mod creation;
mod current;
mod ended;
mod listing;
mod observed_at;
mod original;
mod pods;
mod pull_policy;
mod pulls;
mod read;
mod readiness;
mod rejections;
pub(super) mod restarts;
mod start_notes;
mod warm;
pub(super) mod watch_states;

use self::ended::EndedPods;
use self::original::SavedStrategy;
use self::pods::PodsOnNode;
use self::start_notes::StartNotes;
pub(crate) use creation::{Creation, IDLE_AFTER};
pub(crate) use observed_at::ObservedAt;
pub(crate) use pods::{PodEntry, PodTrouble};
pub(crate) use pulls::{LastPullEvent, PullOfPod};
pub(crate) use warm::{WarmPod, WarmPods, WarmState, cannot_run};

/// Index of a pod; valid until its node is touched.
pub(crate) type PodIx = usize;

/// A node, and the pods on it. Others are lent it for reading ([`View::entry`]).
#[derive(Debug)]
pub(crate) struct NodeEntry {
    pub(crate) name: Str,
    /// `None`: only pods name the node; the node object is gone or cannot be seen.
    pub(crate) fact: Option<NodeFact>,
    /// The newest resource version that was seen, if it is a number; kept when the node is gone.
    version: Option<u64>,
    pub(crate) eligibility: Eligibility,
    /// When it ceased to be one of the fleet, by our clock, as far as we saw: its Node object was deleted, or its labels or taints do not fit any more.
    left_at: Option<Timestamp>,
    /// Whether `status.images` confirms every image of the target.
    pub(crate) images_confirmed: bool,
    /// Since when the node's pod is missing and the controller has to create one, by our clock, as far as we saw.
    pub(crate) missing_since: Option<Timestamp>,
    /// The node's site, kept when the node is gone.
    pub(crate) site: Str,
    readiness: Readiness,
    pods: PodsOnNode,
    listed: bool,
    touched: bool,
}

/// A node that leaves the fleet while it is updated is waited for so long.
pub(crate) const LEFT_FOR: Duration = Duration::from_secs(120);

/// Everything observed. Others read it (`read.rs`), and tell it what happened ([`View::observe`], `watch_states.rs`); it alone decides what follows.
#[derive(Debug)]
pub(crate) struct View {
    presence: Presence,
    daemonset: Option<DaemonSetFact>,
    /// When the DaemonSet was seen to be adopted, by our clock; `None` where it was adopted before this process saw it.
    adoption_seen_at: Option<Timestamp>,
    /// The update strategy from before the adoption, as the DaemonSet's annotation and the record have it.
    saved_strategies: [Option<SavedStrategy>; 2],
    /// The other managers of the DaemonSet.
    gitops_owners: Arc<[GitOpsOwner]>,
    revisions: Vec<RevisionFact>,
    /// Hash of the revision that holds the DaemonSet's present template, once it is recorded.
    current: Option<Str>,
    current_is_guess: bool,
    /// Revisions up to this number existed before the present template.
    known_before: Option<i64>,
    /// Since when the controller reports that it has recorded the present template, while its revision is not known here.
    revision_due_since: Option<Timestamp>,
    /// When the present template was first seen, by our clock.
    template_seen_at: Timestamp,
    rejections: rejections::Rejections,
    nodes: Vec<NodeEntry>,
    /// Since when nodes are watched.
    nodes_seen_since: Timestamp,
    rights: Vec<(Right, Permission)>,
    skew_millis: Option<i64>,
    /// Old pods that the controller replaced while they were unready, since we look and since the last change of the template.
    replaced_unready: u32,
    /// The knowledge about the controller that creates the pods.
    creation: Creation,
    /// The label by which nodes are told apart into sites.
    site_label: SiteLabel,
    node_index: NameIndex,
    /// The images that a node listed last: most nodes list the same ones, and share them.
    listed_images: Arc<[ListedImage]>,
    natural: Vec<u32>,
    pods: Vec<Option<PodEntry>>,
    /// By uid. A pod that is in it is there.
    pod_index: NameIndex,
    free: Vec<PodIx>,
    /// The newest resource versions that were seen.
    newest_daemonset: Option<u64>,
    newest_pod: Option<u64>,
    newest_node: Option<u64>,
    ended: EndedPods,
    pulls: PullLedger,
    admitted_policy: AdmittedPolicy,
    start_notes: StartNotes,
    /// The pods that were made for pre-warming.
    warm: WarmPods,
    /// Since when Events have been watched without a gap, by our clock; `None`: they are not seen now.
    events_live_since: Option<Timestamp>,
    watches: WatchStates,
    listed_revisions: HashSet<Str>,
    /// The numbers that revisions were seen to have before the one that they have, the earliest first, by hash.
    seen_numbers: HashMap<Str, Vec<i64>>,
    /// The images that the target needs, as its template names them, and as runtimes report them.
    wanted_images: Vec<Str>,
    confirmed_for: Vec<String>,
    touched: Touched,
}

/// The nodes that have to be assessed again.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    /// Whether all nodes have to be assessed again.
    pub(crate) all: bool,
    /// The nodes to assess again, each once.
    pub(crate) nodes: Vec<NodeIx>,
}

impl Default for View {
    fn default() -> Self {
        Self {
            presence: Presence::Loading,
            daemonset: None,
            adoption_seen_at: None,
            saved_strategies: [None, None],
            gitops_owners: Arc::new([]),
            revisions: Vec::new(),
            current: None,
            current_is_guess: false,
            known_before: None,
            revision_due_since: None,
            template_seen_at: Timestamp::default(),
            rejections: rejections::Rejections::default(),
            nodes: Vec::new(),
            nodes_seen_since: Timestamp::default(),
            rights: Vec::new(),
            skew_millis: None,
            replaced_unready: 0,
            creation: Creation::default(),
            site_label: SiteLabel::default(),
            node_index: NameIndex::default(),
            listed_images: Arc::default(),
            natural: Vec::new(),
            pods: Vec::new(),
            pod_index: NameIndex::default(),
            free: Vec::new(),
            newest_daemonset: None,
            newest_pod: None,
            newest_node: None,
            ended: EndedPods::default(),
            pulls: PullLedger::default(),
            admitted_policy: AdmittedPolicy::default(),
            start_notes: StartNotes::default(),
            warm: WarmPods::default(),
            events_live_since: None,
            watches: WatchStates::default(),
            listed_revisions: HashSet::new(),
            seen_numbers: HashMap::new(),
            wanted_images: Vec::new(),
            confirmed_for: Vec::new(),
            touched: Touched { all: true, nodes: Vec::new() },
        }
    }
}

impl View {
    /// Takes in one fact. Leases are not kept here, but by the lock.
    pub(crate) fn observe(&mut self, event: Event, now: Timestamp) {
        match event {
            Event::DaemonSet(fact) => self.daemonset_is(*fact, now),
            Event::DaemonSetGone(version) => {
                // Another DaemonSet of that name was seen since.
                if is_behind(version, self.newest_daemonset) {
                    return;
                }
                self.newest_daemonset = self.newest_daemonset.max(version);
                self.presence = Presence::Absent;
                self.daemonset = None;
                self.current = None;
                self.touched.all = true;
            }
            Event::Revision(fact) => {
                self.listed_revisions.insert(fact.name.clone());
                match self.revisions.iter_mut().find(|known| known.name == fact.name) {
                    Some(known) if *known == *fact => return,
                    Some(known) => {
                        if known.number < fact.number && known.hash == fact.hash {
                            self.seen_numbers.entry(fact.hash.clone()).or_default().push(known.number);
                        }
                        *known = *fact;
                    }
                    None => self.revisions.push(*fact),
                }
                self.touched.all = true;
                self.settle_current(now);
                self.note_pull_policies();
            }
            Event::RevisionGone(name) => {
                self.revisions.retain(|known| known.name != name);
                self.touched.all = true;
                self.settle_current(now);
            }
            Event::Node(fact) => self.node_is(*fact, now),
            Event::NodeGone(name) => {
                if let Some(ix) = self.node(&name) {
                    self.forget_node(ix, now);
                }
            }
            Event::Pod(fact) => self.pod_is(*fact, now),
            Event::PodGone(uid, version) => self.pod_gone(&uid, version),
            Event::WarmPod(fact) => self.warm_pod_is(*fact, now),
            Event::WarmPodGone(uid, version) => self.warm_pod_gone(&uid, version, now),
            Event::Cluster(event) => self.cluster_event(*event, now),
            Event::Listing(watched) => self.begin_listing(watched),
            Event::Listed(watched, version) => self.end_listing(watched, version, now),
            Event::Watch(watched, health) => {
                self.nodes_are_seen(watched, &health, now);
                self.events_are_seen(watched, &health, now);
                self.touched.all |= self.watches.report(watched, health, now);
            }
            Event::Rights(rights) => self.rights = rights,
            Event::RoundTrip(_) => {}
            Event::Skew(millis) => {
                self.touched.all |= self.skew_millis != Some(millis);
                self.skew_millis = Some(millis);
            }
            Event::Lease(_) | Event::LeaseGone(_) | Event::Heard(..) | Event::Skipped(..) => {}
        }
    }

    /// The health of a watch, as the cluster adapter reports it. `machine/health.rs` decides whether the watch is to be believed.
    pub(crate) fn health(&self, watched: Watched) -> &WatchHealth {
        self.watches.reported(watched)
    }

    /// Whether nothing of this kind is known, because it may not be read and never could be.
    pub(crate) fn is_forbidden(&self, watched: Watched) -> bool {
        self.watches.was_never_permitted(watched)
    }

    /// Whether we have this right, as far as known.
    pub(crate) fn permission(&self, right: Right) -> Permission {
        self.rights.iter().find(|(candidate, _)| *candidate == right).map_or(Permission::Unknown, |(_, answer)| *answer)
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
        self.node_index.find(name, |ix| &self.nodes[ix].name)
    }

    /// The name of the revision with this hash: its number, or the hash where that is not known.
    pub(crate) fn number_of(&self, hash: &Str) -> Str {
        self.revision(hash).map_or_else(|| hash.clone(), |revision| revision.number.to_string().into())
    }

    /// The revision with this hash that belongs to the DaemonSet.
    pub(crate) fn revision(&self, hash: &str) -> Option<&RevisionFact> {
        self.own_revisions().filter(|revision| &*revision.hash == hash).max_by_key(|revision| revision.number)
    }

    /// The DaemonSet's template after a change.
    ///
    /// # Errors
    /// Says why there is none: the DaemonSet, a container or the revision is not there.
    pub(crate) fn template_with(&self, change: &Change) -> Result<Template, NoTemplate> {
        match change {
            Change::Images(images) => self.template_with_images(images),
            Change::Revision(hash) | Change::LaterRevision(hash) => self.template_of_revision(hash),
        }
    }

    /// The DaemonSet's template with other images, by container.
    ///
    /// # Errors
    /// Says why there is none: the DaemonSet or a container is not there.
    pub(crate) fn template_with_images(&self, images: &BTreeMap<String, ImageRef>) -> Result<Template, NoTemplate> {
        let daemonset = self.daemonset.as_ref().ok_or(NoTemplate::DaemonSetUnknown)?;
        let pairs = images.iter().map(|(name, image)| (name.as_str(), image.as_str()));
        daemonset.template.with_images(pairs).map_err(NoTemplate::Container)
    }

    /// The template of the DaemonSet's revision with this hash.
    ///
    /// # Errors
    /// Says why there is none: the DaemonSet or the revision is not there.
    pub(crate) fn template_of_revision(&self, hash: &Str) -> Result<Template, NoTemplate> {
        self.daemonset.as_ref().ok_or(NoTemplate::DaemonSetUnknown)?;
        let revision = self.revision(hash).ok_or_else(|| NoTemplate::RevisionGone(hash.clone()))?;
        Ok(revision.template.clone())
    }

    /// The images that differ between two revisions, by container ([`ImageChanged::between`]). A revision that is not known counts as one without images.
    pub(crate) fn images_changed(&self, from: Option<&Str>, to: Option<&Str>) -> Vec<ImageChanged> {
        let images = |hash: Option<&Str>| {
            let revision = hash.and_then(|hash| self.revision(hash));
            revision.map(|revision| revision.template.needed_images()).unwrap_or_default()
        };
        ImageChanged::between(images(from), images(to))
    }

    /// The DaemonSet's revisions, in no particular order.
    pub(crate) fn own_revisions(&self) -> impl Iterator<Item = &RevisionFact> {
        let owner = self.daemonset.as_ref().map(|daemonset| &daemonset.uid);
        self.revisions.iter().filter(move |revision| revision.owner.is_none() || revision.owner.as_ref() == owner)
    }

    /// The numbers that a revision was seen to have before the one that it has, the earliest first.
    pub(crate) fn seen_numbers(&self, hash: &Str) -> &[i64] {
        self.seen_numbers.get(hash).map_or(&[], Vec::as_slice)
    }

    /// The server's present time, as far as the skew is known.
    pub(crate) fn server_time(&self, now: Timestamp) -> Timestamp {
        Timestamp::from_millis(now.millis().saturating_add(self.skew_millis.unwrap_or(0)))
    }

    /// The time by our own clock of an instant by the server's clock, as far as the skew is known.
    pub(crate) fn our_time(&self, at: Timestamp) -> Timestamp {
        Timestamp::from_millis(at.millis().saturating_sub(self.skew_millis.unwrap_or(0)))
    }

    /// Each node's place in natural name order, as of the last [`View::natural_ranks`].
    pub(crate) fn natural(&self) -> &[u32] {
        &self.natural
    }

    /// Computes each node's place in natural name order, if nodes were added.
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
            self.pulls.need(&self.wanted_images);
            for entry in &mut self.nodes {
                entry.images_confirmed = confirms(entry.fact.as_ref(), &self.confirmed_for);
                entry.fact.iter().for_each(|fact| self.pulls.note_sizes(&fact.images));
            }
        }
    }

    /// Tells nodes apart into sites by this label from now on. A node that is gone keeps its site.
    pub(crate) fn tell_sites_apart_by(&mut self, label: &SiteLabel) {
        if *label == self.site_label {
            return;
        }
        self.site_label = label.clone();
        for entry in &mut self.nodes {
            if let Some(fact) = &entry.fact {
                entry.site = site_of(&fact.labels, label);
            }
        }
        self.touched.all = true;
        self.pulls.compare_again();
    }

    /// The label by which nodes are told apart into sites.
    pub(crate) fn site_label(&self) -> &SiteLabel {
        &self.site_label
    }

    /// Whether the node's kubelet reports all these images. `images` are named as runtimes report them.
    pub(crate) fn confirms(&self, node: NodeIx, images: &[String]) -> bool {
        self.nodes.get(node).is_some_and(|entry| confirms(entry.fact.as_ref(), images))
    }

    fn daemonset_is(&mut self, fact: DaemonSetFact, now: Timestamp) {
        let known = self.daemonset.as_ref().filter(|known| known.uid == fact.uid);
        if known.is_some_and(|known| is_older(&fact.resource_version, &known.resource_version)) {
            return;
        }
        // A late event does not bring back a node that is gone.
        let version = fact.resource_version.parse().ok();
        if version.zip(self.newest_daemonset).is_some_and(|(received, newest)| received < newest) {
            return;
        }
        if self.daemonset.as_ref().is_some_and(|known| known.uid != fact.uid) {
            self.replaced_unready = 0;
        }
        self.newest_daemonset = self.newest_daemonset.max(version);
        let known = self.daemonset.as_ref().filter(|known| known.uid == fact.uid);
        let template_changed = known.is_none_or(|known| known.template != fact.template);
        self.touched.all |= template_changed || known.is_none_or(|known| known.min_ready_secs != fact.min_ready_secs);
        self.presence = Presence::Present;
        if template_changed {
            // The pods counted so far were replaced by pods of the earlier template.
            self.replaced_unready = 0;
            self.leave_current(known.is_some());
            self.template_seen_at = now;
            for entry in &mut self.nodes {
                entry.is_judged(judge(entry.fact.as_ref(), &fact), now);
            }
        }
        self.gitops_owners = find_gitops_owners(&fact).into();
        let uid = fact.uid.clone();
        self.warm_pods_are_of(&uid, &fact.name);
        let adopted = is_adopted(&fact);
        let before = self.daemonset.replace(fact).filter(|before| before.uid == uid);
        if adopted && before.as_ref().is_some_and(|before| !is_adopted(before)) {
            self.adoption_seen_at = Some(now);
        }
        if before.is_none() {
            self.controller_begins(now);
            self.note_pull_policies();
        }
        self.controller_wrote(before.as_ref(), now);
        self.settle_current(now);
    }

    fn node_slot(&mut self, name: &Str) -> NodeIx {
        if let Some(known) = self.node(name) {
            return known;
        }
        let ix = self.nodes.len();
        self.nodes.push(NodeEntry {
            name: name.clone(),
            fact: None,
            version: None,
            eligibility: Eligibility::default(),
            left_at: None,
            images_confirmed: false,
            missing_since: None,
            site: Str::default(),
            readiness: Readiness::default(),
            pods: PodsOnNode::default(),
            listed: false,
            touched: false,
        });
        self.node_index.add(ix, |ix| &self.nodes[ix].name);
        ix
    }

    fn node_is(&mut self, mut fact: NodeFact, now: Timestamp) {
        let ix = self.node_slot(&fact.name);
        let entry = &mut self.nodes[ix];
        fact.name = entry.name.clone();
        if let Some(known) = entry.fact.as_ref().filter(|known| known.labels == fact.labels) {
            fact.labels = known.labels.clone();
        }
        match fact.images == self.listed_images {
            true => fact.images = Arc::clone(&self.listed_images),
            false => self.listed_images = Arc::clone(&fact.images),
        }
        let gone = entry.fact.is_none();
        if let (Some(known), Some(received)) = (entry.version, fact.version)
            && (received < known || (gone && received == known))
        {
            entry.listed = true;
            return;
        }
        self.newest_node = self.newest_node.max(fact.version);
        self.touch(Some(ix));
        let eligibility = self.daemonset.as_ref().map(|daemonset| judge(Some(&fact), daemonset)).unwrap_or_default();
        let images_confirmed = confirms(Some(&fact), &self.confirmed_for);
        self.pulls.note_sizes(&fact.images);
        self.has_listed_images(&fact.name, now);
        let observed = self.observation_kind(Watched::Nodes, now);
        let entry = &mut self.nodes[ix];
        entry.version = fact.version;
        let site = site_of(&fact.labels, &self.site_label);
        if entry.site != site || gone {
            self.pulls.compare_again();
        }
        entry.site = site;
        entry.readiness.node_is(&fact, observed, now);
        entry.fact = Some(fact);
        entry.is_judged(eligibility, now);
        entry.images_confirmed = images_confirmed;
        entry.listed = true;
    }

    fn forget_node(&mut self, ix: NodeIx, now: Timestamp) {
        self.touch(Some(ix));
        let observed = self.observation_kind(Watched::Nodes, now);
        let entry = &mut self.nodes[ix];
        entry.readiness.node_is_gone(observed);
        self.pulls.forget_node(&entry.name);
        entry.fact = None;
        entry.is_judged(Eligibility::default(), now);
        entry.images_confirmed = false;
        let name = entry.name.clone();
        self.forget_brought_images(&name);
    }
}

impl NodeEntry {
    /// Until when a node that has left the fleet is expected to be back: kubelets and controllers of clouds register nodes again within seconds. `None`: it is
    /// in the fleet, or nobody saw it leave.
    pub(crate) fn may_be_back_until(&self) -> Option<Timestamp> {
        self.left_at.map(|left_at| left_at + LEFT_FOR)
    }

    fn is_judged(&mut self, eligibility: Eligibility, now: Timestamp) {
        match (self.eligibility.in_fleet, eligibility.in_fleet) {
            (_, true) => self.left_at = None,
            (true, false) => self.left_at = Some(now),
            (false, false) => {}
        }
        self.eligibility = eligibility;
    }
}

fn judge(node: Option<&NodeFact>, daemonset: &DaemonSetFact) -> Eligibility {
    node.map(|node| eligibility(node, &daemonset.template)).unwrap_or_default()
}

fn confirms(node: Option<&NodeFact>, wanted: &[String]) -> bool {
    let Some(node) = node else { return false };
    !wanted.is_empty() && wanted.iter().all(|wanted| node.images.iter().any(|image| normalized(&image.name) == *wanted))
}

#[cfg(test)]
mod tests;
