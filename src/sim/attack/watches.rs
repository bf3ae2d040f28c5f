//! The watches of a process: late, broken, expired, out of date, or sending past events again.
//!
//! They do only what real watches can do: events of one kind arrive in the order in which they were sent, events of different kinds in
//! any order.

use std::collections::VecDeque;
use std::time::Duration;

use super::api_client::ApiClient;
use super::faults::{FaultKind, Faults};
use super::network::Network;
use crate::engine::model::Str;
use crate::engine::model::event::{Event, WatchHealth, Watched};
use crate::engine::model::time::Timestamp;
use crate::sim::world::World;
use crate::sim::world::kind::Kind;
use crate::sim::world::object::Object;
use crate::sim::world::store::ChangeKind;

/// The time after which the server sends a bookmark to a quiet watch.
const BOOKMARK: Duration = Duration::from_secs(60);
/// How many batches of events a watch can send again.
const HISTORY: usize = 32;
/// A list that is made anew takes less than this many seconds.
const LISTS_FOR: u64 = 31;

/// All watches of one process.
#[derive(Debug)]
pub(super) struct Watches {
    watches: Vec<AttackWatch>,
    /// The version of the world up to which changes were handled.
    followed: u64,
}

#[derive(Debug)]
struct AttackWatch {
    watched: Watched,
    kind: Kind,
    /// The version up to which it has sent all changes.
    known: u64,
    /// `known` before each of the last batches of events.
    history: VecDeque<u64>,
    /// When the watch last sent anything.
    sent_at: Timestamp,
    /// When the last sent event arrives; later events arrive no sooner, so that they keep their order.
    last_at: Timestamp,
    /// The time until which the watch is late, and its delay.
    late: Option<(Timestamp, Duration)>,
    state: StreamState,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum StreamState {
    /// The watch lists its objects at this time, for the first time or anew.
    Unlisted(Timestamp),
    Live,
    /// The watch is broken and resumes at this time where it stopped.
    Broken(Timestamp),
    /// The server's cache is out of date until this time.
    Behind(Timestamp),
    /// The watch passes on only bookmarks until this time.
    Bookmarks(Timestamp),
    /// The watch stands still until this time: its bookmarks do not advance.
    Stuck(Timestamp),
}

/// The things that a watch needs to send events: the world, the network, and the list of sent events.
pub(super) struct StreamContext<'a> {
    pub(super) world: &'a World,
    pub(super) api_client: &'a mut ApiClient,
    pub(super) network: &'a mut Network,
    pub(super) faults: &'a mut Faults,
    pub(super) out: &'a mut Vec<(Timestamp, Event)>,
}

impl Watches {
    pub(super) fn new(now: Timestamp) -> Self {
        let watch = |watched| AttackWatch {
            watched,
            kind: kind_of(watched),
            known: 0,
            history: VecDeque::new(),
            sent_at: now,
            last_at: Timestamp::default(),
            late: None,
            state: StreamState::Unlisted(now),
        };
        Self { watches: Watched::ALL.map(watch).into(), followed: u64::MAX }
    }

    /// The next time at which a watch acts even if nothing changes in the world.
    pub(super) fn next_at(&self) -> Option<Timestamp> {
        let due = |watch: &AttackWatch| match watch.state {
            StreamState::Unlisted(at) | StreamState::Broken(at) | StreamState::Behind(at) => Some(at),
            StreamState::Live => Some(watch.sent_at + BOOKMARK),
            StreamState::Bookmarks(at) => Some(at.min(watch.sent_at + BOOKMARK)),
            StreamState::Stuck(at) => Some(at.min(watch.sent_at + BOOKMARK)),
        };
        self.watches.iter().filter_map(due).min()
    }

    fn live(&mut self, watched: Watched) -> Option<&mut AttackWatch> {
        self.watches.iter_mut().find(|watch| watch.watched == watched && watch.state == StreamState::Live)
    }

    /// Breaks a watch until `until`. Returns whether it was live.
    ///
    /// The process notices the break after all events that were sent before have arrived.
    pub(super) fn cut(
        &mut self,
        watched: Watched,
        until: Timestamp,
        since: Timestamp,
        context: &mut StreamContext<'_>,
    ) -> bool {
        let Some(watch) = self.live(watched) else { return false };
        let down = WatchHealth::Down { since, why: "the connection was reset".into() };
        context.out.push((watch.last_at.max(context.world.now()), Event::Watch(watched, down)));
        watch.state = StreamState::Broken(until);
        true
    }

    /// Makes a watch late by `by` until `until`. Returns whether it was live.
    pub(super) fn delay(&mut self, watched: Watched, by: Duration, until: Timestamp) -> bool {
        self.live(watched).map(|watch| watch.late = Some((until, by))).is_some()
    }

    /// Makes a watch pass on only bookmarks until `until`. Returns whether it was live.
    pub(super) fn bookmarks_only(&mut self, watched: Watched, until: Timestamp) -> bool {
        self.live(watched).map(|watch| watch.state = StreamState::Bookmarks(until)).is_some()
    }

    /// Makes a watch stand still until `until`. Returns whether it was live.
    pub(super) fn stick(&mut self, watched: Watched, until: Timestamp) -> bool {
        self.live(watched).map(|watch| watch.state = StreamState::Stuck(until)).is_some()
    }

    /// Makes a watch send this many batches again. Returns whether it could.
    pub(super) fn replay(&mut self, watched: Watched, back: usize) -> bool {
        let Some(watch) = self.live(watched) else { return false };
        let Some(known) = watch.back(back) else { return false };
        watch.known = known;
        self.followed = u64::MAX;
        true
    }

    /// Makes a watch list its objects anew from a cache that is `back` batches behind until `until`. Returns whether it could.
    pub(super) fn list_stale(
        &mut self,
        (watched, back): (Watched, usize),
        until: Timestamp,
        context: &mut StreamContext<'_>,
    ) -> bool {
        let Some(watch) = self.live(watched) else { return false };
        let Some(known) = watch.back(back) else { return false };
        let Some(objects) = as_of(context.world, watch.kind, known) else { return false };
        watch.send_list(&objects, known, context);
        watch.known = known;
        watch.state = StreamState::Behind(until);
        self.followed = u64::MAX;
        true
    }

    /// Sends new events. Returns whether a watch resumed that was broken or behind: the process is out of date until its events have arrived.
    pub(super) fn follow(&mut self, context: &mut StreamContext<'_>) -> bool {
        let (now, revision) = (context.world.now(), context.world.store().revision());
        if self.followed == revision && self.next_at().is_none_or(|at| at > now) {
            return false;
        }
        self.followed = revision;
        let mut taken_up = false;
        for watch in &mut self.watches {
            match watch.state {
                StreamState::Unlisted(from) if from <= now => watch.list(context),
                StreamState::Broken(until) if until <= now => {
                    taken_up = true;
                    watch.state = StreamState::Live;
                    watch.send(Event::Watch(watch.watched, WatchHealth::Live), context);
                    watch.follow(context);
                }
                StreamState::Behind(until) | StreamState::Bookmarks(until) | StreamState::Stuck(until)
                    if until <= now =>
                {
                    taken_up = true;
                    watch.state = StreamState::Live;
                    watch.follow(context);
                }
                StreamState::Live => {
                    watch.follow(context);
                    if watch.sent_at + BOOKMARK <= now {
                        watch.send(Event::Heard(watch.watched, Some(watch.known)), context);
                    }
                }
                // No events are sent, but bookmarks are, with the server's present version.
                StreamState::Bookmarks(_) if watch.sent_at + BOOKMARK <= now => {
                    watch.send(Event::Heard(watch.watched, Some(revision)), context);
                }
                StreamState::Stuck(_) if watch.sent_at + BOOKMARK <= now => {
                    watch.send(Event::Heard(watch.watched, Some(watch.known)), context);
                }
                StreamState::Unlisted(_)
                | StreamState::Broken(_)
                | StreamState::Behind(_)
                | StreamState::Bookmarks(_)
                | StreamState::Stuck(_) => {}
            }
        }
        taken_up
    }
}

impl AttackWatch {
    /// The version up to which the watch had sent everything this many batches ago.
    fn back(&self, batches: usize) -> Option<u64> {
        self.history.get(self.history.len().checked_sub(1)?.saturating_sub(batches)).copied()
    }

    fn list(&mut self, context: &mut StreamContext<'_>) {
        context.api_client.learn_selector(context.world);
        let objects: Vec<_> = context.world.store().list(self.kind).cloned().collect();
        self.known = context.world.store().revision();
        self.send_list(&objects, self.known, context);
        self.history.clear();
        self.state = StreamState::Live;
    }

    /// Lists everything anew, page by page over a thin link: the console knows that it lists, and that the end has not come. What it gets is as of the first page.
    fn list_anew(&mut self, context: &mut StreamContext<'_>) {
        self.send(Event::Listing(self.watched), context);
        self.last_at = self.last_at + Duration::from_secs(context.world.store().revision() % LISTS_FOR);
        self.list(context);
    }

    fn send_list(&mut self, objects: &[std::sync::Arc<Object>], version: u64, context: &mut StreamContext<'_>) {
        self.send(Event::Listing(self.watched), context);
        for object in objects {
            if let Some(fact) = fact_of(self.watched, (object, None), ChangeKind::Added, context.api_client) {
                self.send(fact, context);
            }
        }
        self.send(Event::Listed(self.watched, Some(version)), context);
        self.send(Event::Watch(self.watched, WatchHealth::Live), context);
    }

    fn follow(&mut self, context: &mut StreamContext<'_>) {
        let world = context.world;
        let Ok(mut changes) = world.store().changes_since(self.kind, self.known) else {
            context.faults.count(FaultKind::WatchExpired);
            self.list_anew(context);
            return;
        };
        let mut sent = false;
        for change in changes.by_ref() {
            if let Some(fact) =
                fact_of(self.watched, (&change.object, change.before.as_deref()), change.kind, context.api_client)
            {
                self.send(fact, context);
                sent = true;
            }
        }
        if sent {
            if self.history.len() == HISTORY {
                self.history.pop_front();
            }
            self.history.push_back(self.known);
        }
        self.known = world.store().revision();
    }

    /// Sends an event, which arrives no sooner than earlier events of this watch.
    fn send(&mut self, event: Event, context: &mut StreamContext<'_>) {
        let now = context.world.now();
        let late = self.late.filter(|(until, _)| now < *until).map(|(_, by)| by).unwrap_or_default();
        let arrives = (now + context.network.delay() + late).max(self.last_at);
        (self.last_at, self.sent_at) = (arrives, now);
        context.out.push((arrives, event));
    }
}

/// All objects of a kind as they were at a version; `None` if the log does not reach back that far.
fn as_of(world: &World, kind: Kind, version: u64) -> Option<Vec<std::sync::Arc<Object>>> {
    let mut objects: Vec<_> = world.store().list(kind).cloned().collect();
    let changes = world.store().changes_since(kind, version).ok()?;
    for change in changes.rev() {
        objects.retain(|object| object.meta.uid != change.object.meta.uid);
        objects.extend(change.before.clone());
    }
    Some(objects)
}

/// The kind of the objects that a watch lists.
fn kind_of(watched: Watched) -> Kind {
    match watched {
        Watched::DaemonSet => Kind::DaemonSet,
        Watched::Revisions => Kind::ControllerRevision,
        Watched::Pods | Watched::WarmPods => Kind::Pod,
        Watched::Nodes => Kind::Node,
        Watched::Events => Kind::Event,
        Watched::Lease => Kind::Lease,
    }
}

/// The event for a change; `None` if the watch does not cover the object.
fn fact_of(
    watched: Watched,
    (object, before): (&Object, Option<&Object>),
    change: ChangeKind,
    api_client: &mut ApiClient,
) -> Option<Event> {
    let here = object.meta.namespace == api_client.namespace;
    let named = |name: &str| here && *object.meta.name == *name;
    let gone = change == ChangeKind::Deleted;
    let uid = || -> Str { object.meta.uid.clone() };
    match watched {
        Watched::DaemonSet if !named(&api_client.name) => None,
        Watched::DaemonSet if gone => Some(Event::DaemonSetGone(Some(object.meta.resource_version))),
        Watched::DaemonSet => Some(Event::DaemonSet(Box::new(object.daemon_set_fact()?))),
        Watched::Revisions if gone => Some(Event::RevisionGone(object.meta.name.clone())),
        Watched::Revisions => Some(Event::Revision(Box::new(object.revision_fact().filter(|_| here)?))),
        Watched::Pods if !here => None,
        // A pod that leaves the selector is gone for the watch from then on. A pod that never matched is not reported.
        Watched::Pods if !api_client.selects(object) && !before.is_some_and(|before| api_client.selects(before)) => {
            None
        }
        Watched::Pods if gone || !api_client.selects(object) => {
            Some(Event::PodGone(uid(), Some(object.meta.resource_version)))
        }
        Watched::Pods => Some(Event::Pod(Box::new(object.pod_fact()?))),
        Watched::Nodes if gone => Some(Event::NodeGone(object.meta.name.clone())),
        Watched::Nodes => Some(Event::Node(Box::new(object.node_fact()?))),
        Watched::WarmPods if !here => None,
        Watched::WarmPods if gone => {
            object.warm_pod_fact().map(|_| Event::WarmPodGone(uid(), Some(object.meta.resource_version)))
        }
        Watched::WarmPods => Some(Event::WarmPod(Box::new(object.warm_pod_fact()?))),
        Watched::Events if gone || !here => None,
        Watched::Events => Some(Event::Cluster(Box::new(object.event_fact()?))),
        Watched::Lease if !named(&api_client.lease_name) => None,
        Watched::Lease if gone => Some(Event::LeaseGone(Some(object.meta.resource_version))),
        Watched::Lease => Some(Event::Lease(Box::new(api_client.lease(object)?))),
    }
}
