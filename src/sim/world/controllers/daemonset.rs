//! The DaemonSet controller, as `pkg/controller/daemon` has it, in three generations.
//!
//! ```text
//!   changes ──a moment later──→ cache ──→ queue ──→ sync: history → manage → rolling update → clean up → status
//!                                 └── expectations: until its own writes come back, it only writes status
//! ```
//!
//! The controller acts on its cache, which lags behind the store a little (or a lot: [`DaemonSets::set_lag`]). In every generation unavailable old
//! pods are deleted outside `maxUnavailable`; the generations differ in which pods they count.

mod cache;
mod claim;
mod history;
mod manage;
mod rolling;
mod status;
mod surge;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::rate::TokenBucket;

use super::super::object::{DaemonSet, EventType, Object, Pod};
use super::super::scenario::ControllerVariant;
use super::super::store::{Store, StoreChange};
use super::super::write::WriteOptions;
use super::Controller;
use super::eligibility::{Verdict, daemon_verdict};

use cache::Cache;
use history::History;

const COMPONENT: &str = "daemonset-controller";
const BY: WriteOptions<'static> = WriteOptions::named("kube-controller-manager");
/// How far the cache lags behind the store by default.
const LAG: Duration = Duration::from_millis(5);
/// The time of a sync for each node of the cluster: negligible for a hundred, a quarter of a second for 5,000.
const PER_NODE: Duration = Duration::from_micros(50);
/// Expectations that are older than this are given up.
const EXPECTATIONS_LIFE: Duration = Duration::from_secs(300);
/// A sync creates at most this many pods, and deletes at most this many.
const BURST: usize = 250;
/// The greatest number of events about one object at once.
const EVENT_BURST: u32 = 25;
/// One more event is allowed each time this span passes.
const EVENT_EVERY: Duration = Duration::from_secs(300);

/// The DaemonSet controller.
#[derive(Debug)]
pub(in crate::sim::world) struct DaemonSets {
    variant: ControllerVariant,
    lag: Duration,
    /// The changes that have not reached the cache yet.
    on_the_way: VecDeque<StoreChange>,
    cache: Cache,
    /// The DaemonSets to sync, by uid, with the time of the sync.
    queue: BTreeMap<Str, Timestamp>,
    /// Requested later syncs, by uid, with the time of each.
    later: BTreeMap<Str, Timestamp>,
    expectations: BTreeMap<Str, Expectations>,
    failed_pods: BTreeMap<(Str, Str), BackOff>,
    /// How often in a row the API server refused a set's pods.
    refusals: BTreeMap<Str, u32>,
    /// How many events may be recorded about each set.
    event_tokens: BTreeMap<Str, TokenBucket>,
    stopped: bool,
    rng: fastrand::Rng,
}

/// The creations and deletions that the controller requested and has not seen yet.
#[derive(Debug)]
struct Expectations {
    creations: usize,
    deletions: usize,
    since: Timestamp,
}

impl Expectations {
    fn are_met(&self, now: Timestamp) -> bool {
        (self.creations == 0 && self.deletions == 0) || now.since(self.since) >= EXPECTATIONS_LIFE
    }
}

/// Back-off of a failing pod on one node.
#[derive(Clone, Copy, Debug)]
struct BackOff {
    delay: Duration,
    until: Timestamp,
    generation: i64,
}

/// The input of one sync.
struct Sync<'a> {
    /// The DaemonSet, as cached.
    object: &'a Arc<Object>,
    set: &'a DaemonSet,
    /// All nodes, with the verdict whether each should have a pod.
    nodes: Vec<(Str, Verdict)>,
    /// The DaemonSet's pods by node, oldest first.
    pods: BTreeMap<Str, Vec<Arc<Object>>>,
    history: History,
}

impl DaemonSets {
    pub(in crate::sim::world) fn new(variant: ControllerVariant, seed: u64) -> Self {
        Self {
            variant,
            lag: LAG,
            on_the_way: VecDeque::new(),
            cache: Cache::default(),
            queue: BTreeMap::new(),
            later: BTreeMap::new(),
            expectations: BTreeMap::new(),
            failed_pods: BTreeMap::new(),
            refusals: BTreeMap::new(),
            event_tokens: BTreeMap::new(),
            stopped: false,
            rng: fastrand::Rng::with_seed(seed),
        }
    }

    /// From now on the controller's cache lags behind the store by `lag`.
    pub(in crate::sim::world) fn set_lag(&mut self, lag: Duration) {
        self.lag = lag;
    }

    /// The controller stands still from now on. Changes reach it when it goes on.
    pub(in crate::sim::world) fn stop(&mut self) {
        self.stopped = true;
    }

    /// The controller goes on.
    pub(in crate::sim::world) fn start(&mut self) {
        self.stopped = false;
    }

    /// Records an event about a set, unless there were too many: client-go's event correlator lets 25 pass, then one
    /// every five minutes (`defaultSpamBurst`, `defaultSpamQPS`). The rest is lost.
    fn record(&mut self, store: &mut Store, set: &Object, event: (EventType, &str, String), now: Timestamp) {
        let full = || TokenBucket::new(EVENT_BURST, 1, EVENT_EVERY);
        let tokens = self.event_tokens.entry(set.meta.uid.clone()).or_insert_with(full);
        if tokens.available(now) > 0 {
            tokens.take(1, now);
            super::record(store, COMPONENT, set, event, now);
        }
    }

    /// Syncs a DaemonSet a moment from now. In a large cluster a sync takes its time, and the next one waits for it.
    fn enqueue(&mut self, uid: &Str, now: Timestamp) {
        let reaction = Duration::from_millis(self.rng.u64(5..=30));
        let takes = PER_NODE * u32::try_from(self.cache.nodes.len()).unwrap_or(u32::MAX);
        let at = now + reaction.max(takes);
        let due = self.queue.entry(uid.clone()).or_insert(at);
        *due = (*due).min(at);
    }

    /// Requests a sync at that time, in addition to others; of two such requests the earlier one holds (`AddAfter`).
    fn enqueue_at(&mut self, uid: &Str, at: Timestamp) {
        let due = self.later.entry(uid.clone()).or_insert(at);
        *due = (*due).min(at);
    }

    fn sync(&mut self, uid: &Str, store: &mut Store, now: Timestamp) {
        let Some(object) = self.cache.sets.get(uid).cloned() else { return };
        let Some(set) = object.daemon_set() else { return };
        if object.meta.is_deleting() || set.spec.selector.is_empty() {
            return;
        }
        self.claim(&object, set, store, now);
        let Some(history) = self.history(&object, set, store, now) else { return };
        let pods = self.cache.pods_by_node(uid, self.variant);
        let verdict = |node: &Arc<Object>| (node.meta.name.clone(), daemon_verdict(node, &set.spec.template));
        let nodes = self.cache.nodes.values().map(verdict).collect();
        let mut sync = Sync { object: &object, set, nodes, pods, history };
        if !self.expectations_met(uid, now) {
            self.write_status(&sync, Observed::NotYet, store, now);
            return;
        }
        self.manage(&sync, store, now);
        if self.expectations_met(uid, now) {
            self.update(&sync, store, now);
        }
        self.clean_up(&mut sync, store, now);
        self.write_status(&sync, Observed::Generation, store, now);
    }

    fn expectations_met(&self, uid: &Str, now: Timestamp) -> bool {
        self.expectations.get(uid).is_none_or(|expected| expected.are_met(now))
    }

    /// Takes in the changes that have reached the cache by now.
    fn ingest(&mut self, now: Timestamp) {
        while let Some(change) = self.on_the_way.pop_front_if(|change| change.at + self.lag <= now) {
            self.take_in(&change, now);
        }
    }
}

/// Whether a sync may report the generation as observed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Observed {
    /// The sync may report it.
    Generation,
    /// The sync may not report it: the controller has not seen its own writes yet.
    NotYet,
}

/// Whether a pod counts as available: ready, for long enough.
fn is_available(pod: &Pod, min_ready_secs: u32, now: Timestamp) -> bool {
    pod.ready()
        .is_some_and(|ready| min_ready_secs == 0 || ready.since + Duration::from_secs(min_ready_secs.into()) < now)
}

impl Controller for DaemonSets {
    fn observe(&mut self, change: &StoreChange, _now: Timestamp) {
        if Cache::keeps(change.object.kind()) {
            self.on_the_way.push_back(change.clone());
        }
    }

    fn next_at(&self) -> Option<Timestamp> {
        if self.stopped {
            return None;
        }
        let arrives = self.on_the_way.front().map(|change| change.at + self.lag);
        self.queue.values().chain(self.later.values()).copied().chain(arrives).min()
    }

    fn run(&mut self, store: &mut Store, now: Timestamp) {
        self.ingest(now);
        let ripe: Vec<Str> = self.later.iter().filter(|(_, at)| **at <= now).map(|(uid, _)| uid.clone()).collect();
        for uid in ripe {
            self.later.remove(&uid);
            self.queue.insert(uid, now);
        }
        let due: Vec<Str> = self.queue.iter().filter(|(_, at)| **at <= now).map(|(uid, _)| uid.clone()).collect();
        for uid in due {
            self.queue.remove(&uid);
            self.sync(&uid, store, now);
        }
    }
}

#[cfg(test)]
mod tests;
