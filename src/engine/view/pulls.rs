//! The kubelets' events about image pulls: for each pod and container the last one, for each image the durations of finished pulls.
//!
//! ```text
//!   Pulling ──▶ pulling since ──┬─ Pulled ──────────▶ present, and how long it took ──▶ finished pulls of the image
//!                               └─ Failed, BackOff ─▶ failed, and why ── pod gone ────▶ absent on its node
//! ```
//!
//! Events come in any order: a listing gives them by name, and a watch may repeat them. So the last one of each kind is kept,
//! and what happened last follows from their resource versions; where those are no numbers from their dates, which tell
//! seconds. A `Failed` after a `Pulled` is about the container's start and says nothing of the image.

mod ended;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;

use self::ended::FinishedPulls;
pub(crate) use self::ended::{PullEnd, PullOfPod};
use super::{NodeEntry, View};
use crate::engine::model::Str;
use crate::engine::model::cause::Cause;
use crate::engine::model::facts::{ClusterEvent, ListedImage, PodFact};
use crate::engine::model::image::{normalized, repository_of};
use crate::engine::model::pull::{
    FinishedPull, ImageSummary, NodePull, PeerScope, PrewarmPulls, PullFailure, PullSummary, SlowPull,
};
use crate::engine::model::template::{ImageUse, NeededImage};
use crate::engine::model::time::Timestamp;
use crate::engine::rules::pulls::{
    PulledEvent, SITE_PEERS, failure_of, has_image_of, image_in, images_present, pulled, times_slower, usual,
    waits_for_image,
};
use crate::engine::rules::recognise::{TextSource, recognise};

/// How many pods' events are kept.
const PODS: usize = 20_000;
/// For this many images finished pulls are kept, and this many of each image: the newest.
const IMAGES: usize = 32;
const FINISHED: usize = 2_048;
/// How many slow pulls are named.
const SLOW: usize = 10;
/// How many images that could not be pulled are kept for one node.
const ABSENT: usize = 8;

/// The facts from events about pulls.
#[derive(Debug, Default)]
pub(super) struct PullLedger {
    /// By the pod's uid.
    pods: IndexMap<Str, Vec<ContainerPullEvents>>,
    /// So many pods are known that no further ones are noted.
    full: bool,
    /// The images that events named; equal texts are shared.
    named: VecDeque<Str>,
    /// By image, in its long form.
    finished: HashMap<String, FinishedPulls>,
    /// By node: images that could not be pulled for a pod that is gone.
    absent: HashMap<Str, Vec<Str>>,
    /// The images that the target needs, each with its long form and with its size as far as nodes tell it.
    needed: Vec<MeasuredImage>,
    summary: PullSummary,
    /// The same for images that are pre-warmed and that the target does not need.
    warmed: Vec<MeasuredImage>,
    warm_summary: PrewarmPulls,
    /// The latest pulls that ended well and were not taken yet.
    ended: VecDeque<PullEnd>,
    /// The summary is out of date.
    stale: bool,
}

/// An image whose pulls are compared, with its long form and its size as far as nodes tell.
type MeasuredImage = (Str, String, Option<u64>);

/// The facts from events about the image of one container, or of one image volume.
#[derive(Clone, Debug)]
pub(crate) struct ContainerPullEvents {
    /// `None` for a volume: its events name only the image and no part of the pod.
    container: Option<Str>,
    image: Option<Str>,
    pulling: Option<EventStamp>,
    pulled: Option<(EventStamp, PulledEvent)>,
    /// Boxed: few pulls fail.
    failed: Option<Box<FailedPull>>,
}

/// The facts from events about failed pulls.
#[derive(Clone, Debug)]
struct FailedPull {
    /// The last event.
    written: EventStamp,
    why: PullFailure,
    message: Str,
    /// The earliest failure that an event tells of, by the node's clock.
    since: Timestamp,
}

/// When an event was written.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventStamp {
    version: Option<u64>,
    /// By the node's clock.
    at: Timestamp,
}

/// The last thing that happened, as far as events tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LastPullEvent<'a> {
    /// It is being pulled, since this time by the node's clock.
    Pulling(Timestamp),
    /// It was pulled; with the duration, if the event gave it.
    Came(Option<FinishedPull>),
    /// It was there already.
    WasThere,
    /// It could not be pulled.
    Failed(PullFailure, &'a Str),
}

impl EventStamp {
    pub(super) fn of(event: &ClusterEvent) -> Self {
        Self { version: event.version, at: event.at }
    }

    pub(super) fn is_before(self, other: Self) -> bool {
        match (self.version, other.version) {
            (Some(ours), Some(theirs)) => ours < theirs,
            _ => self.at < other.at,
        }
    }
}

impl ContainerPullEvents {
    fn of(container: Option<&Str>) -> Self {
        Self { container: container.cloned(), image: None, pulling: None, pulled: None, failed: None }
    }

    /// What happened last.
    pub(crate) fn last(&self) -> Option<LastPullEvent<'_>> {
        let begun = self.pulling;
        let after_it = |written: EventStamp| begun.is_none_or(|begun| !written.is_before(begun));
        match (&self.pulled, self.failed.as_deref()) {
            (Some((written, PulledEvent::Came(figures))), _) if after_it(*written) => {
                Some(LastPullEvent::Came(*figures))
            }
            (Some((written, PulledEvent::WasThere)), _) if after_it(*written) => Some(LastPullEvent::WasThere),
            (_, Some(failed)) if begun.is_some() && after_it(failed.written) => {
                Some(LastPullEvent::Failed(failed.why, &failed.message))
            }
            _ => begun.map(|begun| LastPullEvent::Pulling(begun.at)),
        }
    }

    /// The last thing that happened to the image of an existing pod. For a pod whose images fail for long the API server keeps few Events, so the
    /// last Event may tell of a pull that failed long ago. A status that says so and was written after the Event is the later news.
    fn last_of(&self, pod: &PodFact) -> Option<LastPullEvent<'_>> {
        let last = self.last();
        let begun = self.pulling.filter(|_| matches!(last, Some(LastPullEvent::Pulling(_))));
        let status = pod.containers.iter().find(|status| Some(&status.name) == self.container.as_ref());
        let written_after = || begun.and_then(|begun| begun.version).zip(pod.resource_version.parse().ok());
        let fails = status.is_some_and(|status| waits_for_image(status).is_some());
        if fails && written_after().is_some_and(|(begun, written): (u64, u64)| written > begun) {
            let failed = self.failed.as_deref().filter(|failed| !is_restart(&failed.message));
            return failed.map(|failed| LastPullEvent::Failed(failed.why, &failed.message));
        }
        last
    }

    /// Takes in an event; says whether it was news.
    fn take_in(&mut self, event: &ClusterEvent) -> bool {
        let written = EventStamp::of(event);
        let is_old = |known: Option<EventStamp>| known.is_some_and(|known| !known.is_before(written));
        match &*event.reason {
            "Pulling" if !is_old(self.pulling) => self.pulling = Some(written),
            "Pulled" if !is_old(self.pulled.map(|(known, _)| known)) => {
                self.pulled = Some((written, pulled(&event.message)));
            }
            "Failed" | "BackOff" => {
                let first = event.first_at.map_or(written.at, |first_at| first_at.min(written.at));
                let mut known = self.failed.take();
                if let Some(earlier) = known.as_deref_mut().filter(|known| written.is_before(known.written)) {
                    let is_same = is_restart(&earlier.message) == is_restart(&event.message);
                    let is_news = is_same && first < earlier.since;
                    earlier.since = if is_news { first } else { earlier.since };
                    self.failed = known;
                    return is_news;
                }
                // Failures from before the image arrived are over. A container that ends again and again finds its image there each time.
                let known = known.filter(|known| {
                    let came_since = self.pulled.is_some_and(|(came, _)| known.written.is_before(came));
                    is_restart(&known.message) || !(came_since || is_restart(&event.message))
                });
                let since = known.as_deref().map_or(first, |known| known.since.min(first));
                let why = failure_of(&event.message);
                // `Error: ErrImagePull` and `Back-off pulling image` only repeat an earlier event that gave the reason.
                let says_more = why != PullFailure::Other || event.message.starts_with("Failed to pull image");
                let (why, message) = match known.filter(|_| !says_more) {
                    Some(known) => (known.why, known.message),
                    None => (why, event.message.clone()),
                };
                self.failed = Some(Box::new(FailedPull { written, why, message, since }));
            }
            _ => return false,
        }
        true
    }
}

/// Whether a `BackOff` Event is about a container that ended, and not about an image (docs/kubernetes.md, *Why a pod is not healthy*).
fn is_restart(message: &str) -> bool {
    message.starts_with("Back-off restarting")
}

impl PullLedger {
    /// Takes in an event about a pod that is not gone; says whether it was news.
    pub(super) fn take_in(&mut self, event: &ClusterEvent, is_there: impl Fn(&str) -> bool) -> bool {
        if !matches!(&*event.reason, "Pulling" | "Pulled" | "Failed" | "BackOff") {
            return false;
        }
        let container = event.container.as_ref();
        let named = image_in(&event.message);
        // A failure that names neither its container nor an image may be about anything.
        if container.is_none() && named.is_none() {
            return false;
        }
        if !self.pods.contains_key(&event.object) {
            if !self.full && self.pods.len() >= PODS {
                // Events are kept for an hour, including those of pods that went before we looked.
                self.pods.retain(|uid, _| is_there(uid));
                self.full = self.pods.len() >= PODS;
            }
            if self.full {
                return false;
            }
        }
        let image = named.map(|image| self.shared(image));
        let containers = self.pods.entry(event.object.clone()).or_default();
        let is_it = |events: &ContainerPullEvents| match container {
            Some(container) => events.container.as_ref() == Some(container),
            None => events.container.is_none() && events.image == image,
        };
        let known = containers.iter().position(is_it);
        let at = known.unwrap_or_else(|| {
            // Room for each as it comes: nearly all pods have one or two, and a vector that grows by itself begins with room for four.
            containers.reserve_exact(1);
            containers.push(ContainerPullEvents::of(container));
            containers.len() - 1
        });
        let events = &mut containers[at];
        let had_come = events.pulled.is_some();
        if !events.take_in(event) {
            return false;
        }
        events.image = image.or_else(|| events.image.take());
        let began = events.pulling.map(|began| began.at);
        if let (Some((_, came)), Some(image), Some(node)) = (events.pulled, events.image.clone(), &event.node)
            && &*event.reason == "Pulled"
        {
            self.has_come(node, &image);
            // Older kubelets do not say how long it took.
            let took = match came {
                PulledEvent::Came(Some(pull)) => Some(pull.transfer),
                PulledEvent::Came(None) => began.map(|began| event.at.since(began)),
                PulledEvent::WasThere => None,
            };
            if let Some(took) = took.filter(|_| !had_come) {
                let bytes = match came {
                    PulledEvent::Came(Some(pull)) => pull.bytes,
                    PulledEvent::Came(None) | PulledEvent::WasThere => None,
                };
                self.note_end(PullEnd { node: node.clone(), ended: event.at, took, bytes }, &image);
            }
            // A container that was started again and asked the registry once more does not show how long an image takes.
            if let (PulledEvent::Came(Some(pull)), false) = (came, had_come) {
                let pod = event.object.clone();
                self.finished(&image, PullOfPod { node: node.clone(), pull, ended: event.at, pod });
            }
        }
        true
    }

    /// When a kubelet last told that it pulls for a pod, or has pulled.
    pub(super) fn begun(&self, uid: &str) -> Option<EventStamp> {
        let told = self.pods.get(uid)?.iter();
        let told = told.flat_map(|events| [events.pulling, events.pulled.map(|(written, _)| written)]).flatten();
        told.reduce(|one, other| if one.is_before(other) { other } else { one })
    }

    /// The uid of a pod as it is kept here, so that the pod shares it. Events mostly come before it.
    pub(super) fn uid_of(&self, uid: &str) -> Option<&Str> {
        Some(self.pods.get_key_value(uid)?.0)
    }

    /// Forgets a pod that is gone; returns what was known of it.
    pub(super) fn forget_pod(&mut self, uid: &str) -> Vec<ContainerPullEvents> {
        let known = self.pods.swap_remove(uid);
        self.full &= known.is_none();
        known.unwrap_or_default()
    }

    /// Notes the images that a pod which is gone could not pull on this node.
    pub(super) fn note_absent(&mut self, node: Option<&Str>, pulls: &[ContainerPullEvents]) {
        let failed = pulls.iter().filter(|events| matches!(events.last(), Some(LastPullEvent::Failed(..))));
        for (node, image) in failed.filter_map(|events| Some((node?, events.image.as_ref()?))) {
            let absent = self.absent.entry(node.clone()).or_default();
            if !absent.contains(image) && absent.len() < ABSENT {
                absent.push(image.clone());
            }
        }
    }

    /// A node is gone.
    pub(super) fn forget_node(&mut self, node: &str) {
        self.absent.remove(node);
    }

    fn has_come(&mut self, node: &Str, image: &Str) {
        if let Some(absent) = self.absent.get_mut(node) {
            absent.retain(|known| known != image);
            if absent.is_empty() {
                self.absent.remove(node);
            }
        }
    }

    fn finished(&mut self, image: &Str, pull: PullOfPod) {
        let image = normalized(image);
        let last = 1 + self.finished.values().map(|finished| finished.last).max().unwrap_or(0);
        if self.finished.len() >= IMAGES && !self.finished.contains_key(&image) {
            let oldest = self.finished.iter().min_by_key(|(_, finished)| finished.last).map(|(image, _)| image.clone());
            oldest.and_then(|oldest| self.finished.remove(&oldest));
        }
        let finished = self.finished.entry(image).or_default();
        finished.last = last;
        finished.pulls.push_back(pull);
        if finished.pulls.len() > FINISHED {
            finished.pulls.pop_front();
        }
        self.stale = true;
    }

    fn note_end(&mut self, mut pull: PullEnd, image: &Str) {
        let long = normalized(image);
        let measured = || self.needed.iter().chain(&self.warmed);
        let listed = || measured().find(|(_, known, _)| *known == long).and_then(|(.., bytes)| *bytes);
        pull.bytes = pull.bytes.or_else(listed);
        if self.ended.len() >= FINISHED {
            self.ended.pop_front();
        }
        self.ended.push_back(pull);
    }

    /// The same text as one that was seen before, where it was.
    fn shared(&mut self, image: &str) -> Str {
        if let Some(known) = self.named.iter().find(|known| &***known == image) {
            return known.clone();
        }
        if self.named.len() >= IMAGES {
            self.named.pop_front();
        }
        let image = Str::from(image);
        self.named.push_back(image.clone());
        image
    }

    /// The target needs these images.
    pub(super) fn need(&mut self, images: &[Str]) {
        self.needed = images.iter().map(|image| (image.clone(), normalized(image), None)).collect();
        self.stale = true;
    }

    /// These images are pre-warmed. Returns whether that is news.
    pub(super) fn warm(&mut self, images: &[Str]) -> bool {
        let others = images.iter().filter(|image| !self.needed.iter().any(|(needed, ..)| needed == *image));
        if others.clone().eq(self.warmed.iter().map(|(image, ..)| image)) {
            return false;
        }
        self.warmed = others.map(|image| (image.clone(), normalized(image), None)).collect();
        self.stale = true;
        true
    }

    /// Takes note of how large the images are on a node.
    pub(super) fn note_sizes(&mut self, listed: &[ListedImage]) {
        let measured = self.needed.iter_mut().chain(&mut self.warmed);
        for (_, long, bytes) in measured.filter(|(.., bytes)| bytes.is_none()) {
            let found = listed.iter().find(|image| image.bytes > 0 && normalized(&image.name) == *long);
            *bytes = found.map(|image| image.bytes);
            self.stale |= bytes.is_some();
        }
    }

    /// A node has come to another site.
    pub(super) fn compare_again(&mut self) {
        self.stale |= !self.finished.is_empty();
    }

    fn summed_up(&self, measured: &[MeasuredImage], site_of: impl Fn(&str) -> Str) -> PullSummary {
        let mut slow = Vec::new();
        let image = |(image, long, listed): &MeasuredImage| {
            let none = FinishedPulls::default();
            let finished = &self.finished.get(long).unwrap_or(&none).pulls;
            let mut by_site: BTreeMap<Str, Vec<Duration>> = BTreeMap::new();
            for PullOfPod { node, pull, .. } in finished {
                by_site.entry(site_of(node)).or_default().push(pull.took);
            }
            let mut all: Vec<Duration> = finished.iter().map(|ended| ended.pull.took).collect();
            let enough = |took: &Vec<Duration>| u32::try_from(took.len()).unwrap_or(u32::MAX) >= SITE_PEERS;
            let of_site = |(site, mut took): (Str, Vec<Duration>)| Some((site, usual(&mut took, PeerScope::Site)?));
            let summary = ImageSummary {
                image: image.clone(),
                bytes: finished.iter().rev().find_map(|ended| ended.pull.bytes).or(*listed),
                fleet: usual(&mut all, PeerScope::Fleet),
                sites: by_site.into_iter().filter(|(_, took)| enough(took)).filter_map(of_site).collect(),
            };
            slow.extend(finished.iter().filter_map(|PullOfPod { node, pull, .. }| {
                let usual = summary.usual(&site_of(node))?;
                // Without the time for which it waited for other pulls of its node.
                let times = times_slower(pull.transfer, usual)?;
                let took = pull.transfer;
                Some(SlowPull { node: node.clone(), image: image.clone(), took, times, scope: usual.scope })
            }));
            summary
        };
        let images: Arc<[ImageSummary]> = measured.iter().map(image).collect();
        slow.sort_by(|a, b| (b.times, b.took, &a.node).cmp(&(a.times, a.took, &b.node)));
        slow.truncate(SLOW);
        PullSummary { images, slow: slow.into(), ..PullSummary::default() }
    }

    fn warm_summed_up(&self, site_of: impl Fn(&str) -> Str) -> PrewarmPulls {
        let PullSummary { images, slow, .. } = self.summed_up(&self.warmed, site_of);
        let of_image = |(image, long, _): &MeasuredImage| {
            let pulls = self.finished.get(long).into_iter().flat_map(|finished| &finished.pulls);
            let last: BTreeMap<&Str, &FinishedPull> = pulls.map(|ended| (&ended.node, &ended.pull)).collect();
            let named = |(node, pull): (&Str, &FinishedPull)| (node.clone(), image.clone(), *pull);
            last.into_iter().map(named).collect::<Vec<_>>()
        };
        let mut finished: Vec<(Str, Str, FinishedPull)> = self.warmed.iter().flat_map(of_image).collect();
        finished.sort_by(|a, b| a.0.cmp(&b.0));
        let finished = finished.into_iter().map(|(node, image, pull)| NodePull { node, image, pull }).collect();
        PrewarmPulls { images, slow, finished }
    }
}

impl View {
    /// Sums up finished pulls, where there are new ones.
    pub(crate) fn sum_up_pulls(&mut self) {
        if std::mem::take(&mut self.pulls.stale) {
            let site = |node: &str| self.node(node).map(|node| self.nodes[node].site.clone()).unwrap_or_default();
            let summary = self.pulls.summed_up(&self.pulls.needed, site);
            let warm_summary = self.pulls.warm_summed_up(site);
            (self.pulls.summary, self.pulls.warm_summary) = (summary, warm_summary);
        }
    }

    /// These images are pre-warmed.
    pub(crate) fn prewarms(&mut self, images: &[Str]) {
        if self.pulls.warm(images) {
            let facts = self.nodes.iter().filter_map(|entry| entry.fact.as_ref());
            facts.for_each(|fact| self.pulls.note_sizes(&fact.images));
        }
    }

    /// The finished pulls of what is pre-warmed and the target does not need, as of the last [`View::sum_up_pulls`].
    pub(crate) fn prewarm_pulls(&self) -> &PrewarmPulls {
        &self.pulls.warm_summary
    }

    /// The pulls that ended well since this was called last.
    pub(crate) fn take_finished_pulls(&mut self) -> VecDeque<PullEnd> {
        std::mem::take(&mut self.pulls.ended)
    }

    /// The finished pulls of the target's images, as of the last [`View::sum_up_pulls`].
    pub(crate) fn pull_summary(&self) -> &PullSummary {
        &self.pulls.summary
    }

    /// The pulls of this image that ended well, those for pre-warming among them.
    pub(crate) fn finished_pulls(&self, image: &str) -> impl Iterator<Item = &PullOfPod> {
        let finished = self.pulls.finished.get(&normalized(image));
        finished.into_iter().flat_map(|finished| &finished.pulls)
    }

    /// What events told of an image that a pod needs.
    pub(crate) fn last_pull_event(&self, pod: &PodFact, needed: &NeededImage) -> Option<LastPullEvent<'_>> {
        let is_it = |events: &&ContainerPullEvents| match (&events.container, needed.usage) {
            (None, ImageUse::Volume) => events.image.as_ref() == Some(&needed.image),
            (Some(container), ImageUse::Init | ImageUse::Sidecar | ImageUse::Main) => *container == needed.user,
            _ => false,
        };
        self.pulls.pods.get(&pod.uid)?.iter().find(is_it)?.last_of(pod)
    }

    /// What events told of this image for a pod that was made for pre-warming on a node.
    pub(crate) fn last_warm_pull_event(&self, node: &str, image: &str) -> Option<LastPullEvent<'_>> {
        let events = self.warm.on(node).filter_map(|warm| self.pulls.pods.get(&warm.fact.pod.uid)).flatten();
        events.filter(|events| events.image.as_deref() == Some(image)).find_map(ContainerPullEvents::last)
    }

    /// Since when events told that a pod pulls an image that is not there yet, by the clock of its node.
    pub(crate) fn pulling_since(&self, pod: &PodFact) -> Option<Timestamp> {
        let since = |event| match event {
            LastPullEvent::Pulling(since) => Some(since),
            LastPullEvent::Came(_) | LastPullEvent::WasThere | LastPullEvent::Failed(..) => None,
        };
        self.last_events_of_missing(pod).filter_map(since).min()
    }

    /// Since when, as far as events tell, a missing image of a pod could not be pulled, by the clock of its node. It may have failed before, and may
    /// be pulled again by now.
    pub(crate) fn pull_failed_since(&self, pod: &PodFact) -> Option<Timestamp> {
        let events = self.pulls.pods.get(&pod.uid).map(Vec::as_slice).unwrap_or_default();
        let fails = events.iter().filter(|events| match events.last() {
            Some(LastPullEvent::Failed(..) | LastPullEvent::Pulling(_)) => true,
            Some(LastPullEvent::Came(_) | LastPullEvent::WasThere) | None => false,
        });
        let failed = fails.filter_map(|events| events.failed.as_deref());
        failed.filter(|failed| !is_restart(&failed.message)).map(|failed| failed.since).min()
    }

    /// Why the last pull of an image that this pod waits for failed, as far as Events tell.
    pub(super) fn failed_pull(&self, pod: &PodFact) -> Option<Cause> {
        let events = self.pulls.pods.get(&pod.uid).map(Vec::as_slice).unwrap_or_default();
        let of_container = |events: &ContainerPullEvents| {
            let status = pod.containers.iter().find(|status| Some(&status.name) == events.container.as_ref())?;
            waits_for_image(status)?;
            let Some(LastPullEvent::Failed(_, message)) = events.last_of(pod) else { return None };
            let kind = recognise(TextSource::PullMessage, "", message)?;
            Some(Cause { kind, container: events.container.clone(), message: Some(message.clone()) })
        };
        events.iter().find_map(of_container)
    }

    /// Since when, as far as events tell, a container of this pod ends again and again, by the clock of its node.
    pub(crate) fn backs_off_since(&self, pod: &PodFact) -> Option<Timestamp> {
        let events = self.pulls.pods.get(&pod.uid).map(Vec::as_slice).unwrap_or_default();
        let failed = events.iter().filter_map(|events| events.failed.as_deref());
        failed.filter(|failed| is_restart(&failed.message)).map(|failed| failed.since).min()
    }

    /// Whether events told that an image of a pod that is not there yet could not be pulled.
    pub(crate) fn pull_failed(&self, pod: &PodFact) -> bool {
        self.last_events_of_missing(pod).any(|event| matches!(event, LastPullEvent::Failed(..)))
    }

    fn last_events_of_missing<'a>(&'a self, pod: &'a PodFact) -> impl Iterator<Item = LastPullEvent<'a>> {
        let events = self.pulls.pods.get(&pod.uid).map(Vec::as_slice).unwrap_or_default();
        let is_there = |events: &&ContainerPullEvents| match &events.container {
            Some(container) => has_image_of(pod, container),
            None => images_present(pod),
        };
        events.iter().filter(move |events| !is_there(events)).filter_map(|events| events.last_of(pod))
    }

    /// Whether a pod would pull this image on a node: it could not be pulled there for a pod that is gone, and has not come since; or
    /// the node lists all images that it has, among them others of the repository, and not this one.
    pub(crate) fn lacks_image(&self, node: &NodeEntry, image: &str) -> bool {
        let absent = self.pulls.absent.get(&node.name);
        if absent.is_some_and(|absent| absent.iter().any(|known| &**known == image)) {
            return true;
        }
        let Some(fact) = node.fact.as_ref().filter(|fact| fact.lists_all_images && !fact.images.is_empty()) else {
            return false;
        };
        let long = normalized(image);
        let listed = || fact.images.iter().map(|image| normalized(&image.name));
        // Of repositories that nobody asked for when the node was read, no image was kept.
        listed().any(|listed| repository_of(&listed) == repository_of(&long)) && !listed().any(|listed| listed == long)
    }

    /// Whether a kubelet told that it pulls for this pod, or has pulled.
    pub(crate) fn has_told_of_a_pull(&self, uid: &str) -> bool {
        self.pulls.begun(uid).is_some()
    }
}
