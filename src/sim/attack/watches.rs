//! The watches of a process: late, broken, expired, behind, and now and then telling again what they told.
//!
//! Within what a watch can do: facts of one kind arrive in the order of its tellings; those of different kinds in any.

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

/// A server tells a quiet watch every minute how far it has come.
const BOOKMARK: Duration = Duration::from_secs(60);
/// How many tellings a watch can be taken back.
const TRAIL: usize = 32;

/// All watches of one process.
#[derive(Debug)]
pub(super) struct Watches {
    watches: Vec<Watch>,
    /// Up to here the world was looked at.
    followed: u64,
}

#[derive(Debug)]
struct Watch {
    watched: Watched,
    kind: Kind,
    /// Up to here it has told all changes.
    known: u64,
    /// Up to where it had told before each of its last tellings.
    trail: VecDeque<u64>,
    /// When it said anything last.
    told_at: Timestamp,
    /// Facts of one kind arrive in their order.
    last_at: Timestamp,
    /// Until when it is late, and by how much.
    late: Option<(Timestamp, Duration)>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Not listed yet, or to be listed anew, from then on.
    Unlisted(Timestamp),
    Live,
    /// Broken; taken up where it was then.
    Broken(Timestamp),
    /// Its server hears nothing new itself until then.
    Behind(Timestamp),
    /// Only bookmarks come through until then.
    Bookmarks(Timestamp),
    /// The same, and the server goes on saying how far it has come: no further.
    Stuck(Timestamp),
}

/// What a telling needs: the world, the road, and where to put what sets out.
pub(super) struct Post<'a> {
    pub(super) world: &'a World,
    pub(super) api_client: &'a mut ApiClient,
    pub(super) network: &'a mut Network,
    pub(super) faults: &'a mut Faults,
    pub(super) out: &'a mut Vec<(Timestamp, Event)>,
}

impl Watches {
    pub(super) fn new(now: Timestamp) -> Self {
        let kinds = [
            (Watched::DaemonSet, Kind::DaemonSet),
            (Watched::Revisions, Kind::ControllerRevision),
            (Watched::Pods, Kind::Pod),
            (Watched::Nodes, Kind::Node),
            (Watched::Events, Kind::Event),
            (Watched::Lease, Kind::Lease),
        ];
        let watch = |(watched, kind)| Watch {
            watched,
            kind,
            known: 0,
            trail: VecDeque::new(),
            told_at: now,
            last_at: Timestamp::default(),
            late: None,
            state: State::Unlisted(now),
        };
        Self { watches: kinds.map(watch).into(), followed: u64::MAX }
    }

    /// When one of them does something although nothing changes in the world.
    pub(super) fn next_at(&self) -> Option<Timestamp> {
        let due = |watch: &Watch| match watch.state {
            State::Unlisted(at) | State::Broken(at) | State::Behind(at) => Some(at),
            State::Live => Some(watch.told_at + BOOKMARK),
            State::Bookmarks(at) => Some(at.min(watch.told_at + BOOKMARK)),
            State::Stuck(at) => Some(at.min(watch.told_at + BOOKMARK)),
        };
        self.watches.iter().filter_map(due).min()
    }

    fn live(&mut self, watched: Watched) -> Option<&mut Watch> {
        self.watches.iter_mut().find(|watch| watch.watched == watched && watch.state == State::Live)
    }

    /// Breaks one until then; says whether it was whole.
    ///
    /// That is noticed after what it told before has arrived.
    pub(super) fn cut(&mut self, watched: Watched, until: Timestamp, since: Timestamp, post: &mut Post<'_>) -> bool {
        let Some(watch) = self.live(watched) else { return false };
        let down = WatchHealth::Down { since, why: "the connection was reset".into() };
        post.out.push((watch.last_at.max(post.world.now()), Event::Watch(watched, down)));
        watch.state = State::Broken(until);
        true
    }

    /// Makes one late until then.
    pub(super) fn delay(&mut self, watched: Watched, by: Duration, until: Timestamp) -> bool {
        self.live(watched).map(|watch| watch.late = Some((until, by))).is_some()
    }

    /// Has one let only bookmarks through until then.
    pub(super) fn bookmarks_only(&mut self, watched: Watched, until: Timestamp) -> bool {
        self.live(watched).map(|watch| watch.state = State::Bookmarks(until)).is_some()
    }

    /// Has one stand still until then; says whether it went on before.
    pub(super) fn stick(&mut self, watched: Watched, until: Timestamp) -> bool {
        self.live(watched).map(|watch| watch.state = State::Stuck(until)).is_some()
    }

    /// Takes one back that many tellings: it tells them again.
    pub(super) fn replay(&mut self, watched: Watched, back: usize) -> bool {
        let Some(watch) = self.live(watched) else { return false };
        let Some(known) = watch.back(back) else { return false };
        watch.known = known;
        self.followed = u64::MAX;
        true
    }

    /// Lists one anew, from a cache that is that many tellings behind and stays so until then.
    pub(super) fn list_stale(
        &mut self,
        (watched, back): (Watched, usize),
        until: Timestamp,
        post: &mut Post<'_>,
    ) -> bool {
        let Some(watch) = self.live(watched) else { return false };
        let Some(known) = watch.back(back) else { return false };
        let Some(objects) = as_of(post.world, watch.kind, known) else { return false };
        watch.tell_list(&objects, known, post);
        watch.known = known;
        watch.state = State::Behind(until);
        self.followed = u64::MAX;
        true
    }

    /// Tells what is new; says whether one was taken up again that was broken or at a server that was behind, and is behind for as long as that takes.
    pub(super) fn follow(&mut self, post: &mut Post<'_>) -> bool {
        let (now, revision) = (post.world.now(), post.world.store().revision());
        if self.followed == revision && self.next_at().is_none_or(|at| at > now) {
            return false;
        }
        self.followed = revision;
        let mut taken_up = false;
        for watch in &mut self.watches {
            match watch.state {
                State::Unlisted(from) if from <= now => watch.list(post),
                State::Broken(until) if until <= now => {
                    taken_up = true;
                    watch.state = State::Live;
                    watch.send(Event::Watch(watch.watched, WatchHealth::Live), post);
                    watch.follow(post);
                }
                State::Behind(until) | State::Bookmarks(until) | State::Stuck(until) if until <= now => {
                    taken_up = true;
                    watch.state = State::Live;
                    watch.follow(post);
                }
                State::Live => {
                    watch.follow(post);
                    if watch.told_at + BOOKMARK <= now {
                        watch.send(Event::Heard(watch.watched, Some(watch.known)), post);
                    }
                }
                // Its events do not come through; its bookmarks do, and name what the server has by now.
                State::Bookmarks(_) if watch.told_at + BOOKMARK <= now => {
                    watch.send(Event::Heard(watch.watched, Some(revision)), post);
                }
                State::Stuck(_) if watch.told_at + BOOKMARK <= now => {
                    watch.send(Event::Heard(watch.watched, Some(watch.known)), post);
                }
                State::Unlisted(_) | State::Broken(_) | State::Behind(_) | State::Bookmarks(_) | State::Stuck(_) => {}
            }
        }
        taken_up
    }
}

impl Watch {
    /// Up to where it had told that many tellings ago.
    fn back(&self, tellings: usize) -> Option<u64> {
        self.trail.get(self.trail.len().checked_sub(1)?.saturating_sub(tellings)).copied()
    }

    fn list(&mut self, post: &mut Post<'_>) {
        post.api_client.learn_selector(post.world);
        let objects: Vec<_> = post.world.store().list(self.kind).cloned().collect();
        self.known = post.world.store().revision();
        self.tell_list(&objects, self.known, post);
        self.trail.clear();
        self.state = State::Live;
    }

    fn tell_list(&mut self, objects: &[std::sync::Arc<Object>], version: u64, post: &mut Post<'_>) {
        self.send(Event::Listing(self.watched), post);
        for object in objects {
            if let Some(fact) = fact_of(self.watched, (object, None), ChangeKind::Added, post.api_client) {
                self.send(fact, post);
            }
        }
        self.send(Event::Listed(self.watched, Some(version)), post);
        self.send(Event::Watch(self.watched, WatchHealth::Live), post);
    }

    fn follow(&mut self, post: &mut Post<'_>) {
        let world = post.world;
        let Ok(mut changes) = world.store().changes_since(self.kind, self.known) else {
            post.faults.count(FaultKind::WatchExpired);
            self.list(post);
            return;
        };
        let mut told = false;
        for change in changes.by_ref() {
            if let Some(fact) =
                fact_of(self.watched, (&change.object, change.before.as_deref()), change.kind, post.api_client)
            {
                self.send(fact, post);
                told = true;
            }
        }
        if told {
            if self.trail.len() == TRAIL {
                self.trail.pop_front();
            }
            self.trail.push_back(self.known);
        }
        self.known = world.store().revision();
    }

    /// A fact sets out; it arrives no sooner than those of its kind before it.
    fn send(&mut self, event: Event, post: &mut Post<'_>) {
        let now = post.world.now();
        let late = self.late.filter(|(until, _)| now < *until).map(|(_, by)| by).unwrap_or_default();
        let arrives = (now + post.network.delay() + late).max(self.last_at);
        (self.last_at, self.told_at) = (arrives, now);
        post.out.push((arrives, event));
    }
}

/// All objects of a kind as they were at a version; `None` where the log does not reach back that far.
fn as_of(world: &World, kind: Kind, version: u64) -> Option<Vec<std::sync::Arc<Object>>> {
    let mut objects: Vec<_> = world.store().list(kind).cloned().collect();
    let changes = world.store().changes_since(kind, version).ok()?;
    for change in changes.rev() {
        objects.retain(|object| object.meta.uid != change.object.meta.uid);
        objects.extend(change.before.clone());
    }
    Some(objects)
}

/// What a watch tells of a change; `None` where it is not about what is watched.
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
        Watched::DaemonSet if gone => Some(Event::DaemonSetGone),
        Watched::DaemonSet => Some(Event::DaemonSet(Box::new(object.daemon_set_fact()?))),
        Watched::Revisions if gone => Some(Event::RevisionGone(object.meta.name.clone())),
        Watched::Revisions => Some(Event::Revision(Box::new(object.revision_fact().filter(|_| here)?))),
        Watched::Pods if !here => None,
        // What leaves the selector is gone on the watch, as of then; what never was in it is not told of.
        Watched::Pods if !api_client.selects(object) && !before.is_some_and(|before| api_client.selects(before)) => {
            None
        }
        Watched::Pods if gone || !api_client.selects(object) => {
            Some(Event::PodGone(uid(), Some(object.meta.resource_version)))
        }
        Watched::Pods => Some(Event::Pod(Box::new(object.pod_fact()?))),
        Watched::Nodes if gone => Some(Event::NodeGone(object.meta.name.clone())),
        Watched::Nodes => Some(Event::Node(Box::new(object.node_fact()?))),
        Watched::Events if gone || !here => None,
        Watched::Events => Some(Event::Cluster(Box::new(object.event_fact()?))),
        Watched::Lease if !named(&api_client.lease_name) => None,
        Watched::Lease if gone => Some(Event::LeaseGone),
        Watched::Lease => Some(Event::Lease(Box::new(api_client.lease(object)?))),
    }
}
