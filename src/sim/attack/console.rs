//! A rolldeck process in virtual time: an engine, and between it and the world a network that can be late, lossy or cut.
//!
//! ```text
//!   world ── changes ──▶ watches (late, broken, expired) ──▶ engine.observe
//!     ▲                                                        │ decide
//!     └──── requests (late, lost, throttled) ◀─────────────────┘
//!               └─ answers (late, lost) ──▶ engine.outcome
//! ```
//!
//! It does by the world what the driver and the cluster adapter do by a real API server. Its clock may be wrong.

use std::collections::BTreeMap;
use std::time::Duration;

use super::author::{Author, Deletion};
use super::network::{Fate, Network};
use crate::engine::command::{Command, CommandId, Notice, Refusal};
use crate::engine::effect::{Effect, EffectError, EffectErrorKind, EffectId, Outcome};
use crate::engine::event::{Event, WatchHealth, Watched};
use crate::engine::record::lease_name;
use crate::engine::snapshot::Snapshot;
use crate::engine::time::Timestamp;
use crate::engine::{Config, Engine, Role, Str, Timing};
use crate::sim::world::World;
use crate::sim::world::kind::Kind;
use crate::sim::world::object::Object;
use crate::sim::world::store::ChangeKind;

/// A rolldeck process.
#[derive(Debug)]
pub struct Console {
    author: Author,
    engine: Engine,
    network: Network,
    /// Its clock minus the world's, in milliseconds.
    skew_millis: i64,
    watches: Vec<Watch>,
    mail: BTreeMap<(Timestamp, u64), Mail>,
    posted: u64,
    /// Up to here it has looked for changes.
    followed: u64,
    /// Something was asked of the engine since it last decided.
    asked: bool,
    /// When the engine wants to be asked although nothing happens, by the world's clock.
    wake: Option<Timestamp>,
    settled: Vec<(CommandId, Result<String, String>)>,
    said: Vec<String>,
}

#[derive(Debug)]
struct Watch {
    watched: Watched,
    kind: Kind,
    /// Up to here it knows all changes.
    known: u64,
    /// Facts of one kind arrive in their order.
    last_at: Timestamp,
    state: WatchState,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WatchState {
    /// Not listed yet, or to be listed anew, from then on.
    Unlisted(Timestamp),
    Live,
    /// Broken; taken up where it was then.
    Broken(Timestamp),
}

#[derive(Debug)]
enum Mail {
    Fact(Event),
    Request(EffectId, Effect),
    Answer(EffectId, Outcome, Option<Event>),
}

impl Console {
    /// A process that starts now. `who` becomes its identity.
    pub fn open(world: &World, (namespace, name): (&str, &str), who: &str, role: Role, network: Network) -> Self {
        let identity = Str::from(format!("{who}@bastion/{:06x}", world.store().revision() & 0xff_ffff));
        let config = Config {
            namespace: namespace.into(),
            name: name.into(),
            identity: identity.clone(),
            role,
            timing: Timing::default(),
        };
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
            last_at: Timestamp::default(),
            state: WatchState::Unlisted(world.now()),
        };
        Self {
            author: Author::new(identity, namespace, name),
            engine: Engine::new(config),
            network,
            skew_millis: 0,
            watches: kinds.map(watch).into(),
            mail: BTreeMap::new(),
            posted: 0,
            followed: u64::MAX,
            asked: true,
            wake: None,
            settled: Vec::new(),
            said: Vec::new(),
        }
    }

    /// With a clock that is off by this much.
    #[must_use]
    pub fn with_skew(mut self, millis: i64) -> Self {
        self.skew_millis = millis;
        self
    }

    /// Who it is.
    pub fn identity(&self) -> &Str {
        &self.author.identity
    }

    /// Its network, to be made worse or better.
    pub fn network_mut(&mut self) -> &mut Network {
        &mut self.network
    }

    /// What it shows now.
    pub fn snapshot(&mut self, now: Timestamp) -> Snapshot {
        let here = self.here(now);
        let snapshot = self.engine.snapshot(here);
        self.set_alarm();
        snapshot
    }

    /// Asks for a command.
    ///
    /// # Errors
    /// As the engine refuses it.
    pub fn command(&mut self, command: Command, now: Timestamp) -> Result<CommandId, Refusal> {
        let here = self.here(now);
        self.asked = true;
        self.engine.command(command, here)
    }

    /// Takes what came of commands since the last call.
    pub fn take_settled(&mut self) -> Vec<(CommandId, Result<String, String>)> {
        std::mem::take(&mut self.settled)
    }

    /// Takes what it said for the timeline since the last call.
    pub fn take_said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.said)
    }

    /// Breaks a watch until then; it is listed anew afterwards when its changes were compacted meanwhile.
    pub fn break_watch(&mut self, watched: Watched, until: Timestamp, now: Timestamp) {
        let here = self.here(now);
        for watch in self.watches.iter_mut().filter(|watch| watch.watched == watched && watch.state == WatchState::Live)
        {
            watch.state = WatchState::Broken(until);
            let down = WatchHealth::Down { since: here, why: "the connection was reset".into() };
            self.engine.observe(Event::Watch(watched, down), here);
            self.asked = true;
        }
    }

    /// The process is killed: what it had sent stays on the way, nothing else does. Returns those requests.
    pub fn kill(self) -> Orphans {
        let requests = self.mail.into_iter().filter_map(|((at, _), mail)| match mail {
            Mail::Request(_, effect) => Some((at, effect)),
            Mail::Fact(_) | Mail::Answer(..) => None,
        });
        Orphans { requests: requests.collect(), author: self.author }
    }

    /// When it wants to be stepped next, if nothing changes in the world.
    pub fn next_at(&self) -> Option<Timestamp> {
        let watches = self.watches.iter().filter_map(|watch| match watch.state {
            WatchState::Unlisted(at) | WatchState::Broken(at) => Some(at),
            WatchState::Live => None,
        });
        self.mail.keys().map(|(at, _)| *at).take(1).chain(self.wake).chain(watches).min()
    }

    /// Lets it hear, act and decide as of the world's present. What the API server accepted as deletion is appended.
    pub fn step(&mut self, world: &mut World, deletions: &mut Vec<Deletion>) {
        let now = world.now();
        self.follow_watches(world);
        // As in the driver: it decides when something arrives, when it is asked, and when its time has come.
        let awake = std::mem::take(&mut self.asked)
            || self.mail.first_key_value().is_some_and(|((at, _), _)| *at <= now)
            || self.wake.is_some_and(|at| at <= now);
        if !awake {
            return;
        }
        let due: Vec<(Timestamp, u64)> = self.mail.range(..=(now, u64::MAX)).map(|(key, _)| *key).collect();
        for key in due {
            match self.mail.remove(&key) {
                Some(Mail::Fact(event)) => self.engine.observe(event, self.here(now)),
                Some(Mail::Request(id, effect)) => self.serve(id, &effect, world, deletions),
                Some(Mail::Answer(id, outcome, seen)) => {
                    let here = self.here(now);
                    if let Some(seen) = seen {
                        self.engine.observe(seen, here);
                    }
                    self.engine.outcome(id, outcome, here);
                }
                None => {}
            }
        }
        let here = self.here(now);
        for (id, effect) in self.engine.decide(here) {
            self.send(id, effect, now);
        }
        for notice in self.engine.take_notices() {
            match notice {
                Notice::Settled { id, result } => self.settled.push((id, result)),
                Notice::Happened(what) => self.said.push(what.to_string()),
            }
        }
        self.set_alarm();
    }

    fn set_alarm(&mut self) {
        self.wake = self.engine.wake_at().map(|at| Timestamp::from_millis(at.millis() - self.skew_millis));
    }

    fn here(&self, now: Timestamp) -> Timestamp {
        Timestamp::from_millis(now.millis() + self.skew_millis)
    }

    fn post(&mut self, at: Timestamp, mail: Mail) {
        self.posted += 1;
        self.mail.insert((at, self.posted), mail);
    }

    fn send(&mut self, id: EffectId, effect: Effect, now: Timestamp) {
        let late = effect.is_too_late(self.here(now));
        match self.network.request() {
            _ if late => self.refuse(id, EffectErrorKind::NotSent, now),
            Fate::Arrives(after) => self.post(now + after, Mail::Request(id, effect)),
            Fate::Lost => self.refuse(id, EffectErrorKind::Unknown, now + TIMEOUT),
            Fate::Refused(kind) => self.refuse(id, kind, now),
        }
    }

    fn refuse(&mut self, id: EffectId, kind: EffectErrorKind, at: Timestamp) {
        let error = EffectError { kind, message: "the network failed".into() };
        self.post(at, Mail::Answer(id, Err(error), None));
    }

    /// The request arrives: the API server carries it out, and its answer sets out.
    fn serve(&mut self, id: EffectId, effect: &Effect, world: &mut World, deletions: &mut Vec<Deletion>) {
        let (outcome, seen) = self.author.apply(effect, world, deletions);
        let now = world.now();
        match self.network.answer() {
            Fate::Arrives(after) => self.post(now + after, Mail::Answer(id, outcome, seen)),
            Fate::Lost | Fate::Refused(_) => self.refuse(id, EffectErrorKind::Unknown, now + TIMEOUT),
        }
    }

    fn follow_watches(&mut self, world: &World) {
        let now = world.now();
        let due = |watch: &Watch| match watch.state {
            WatchState::Unlisted(at) | WatchState::Broken(at) => at <= now,
            WatchState::Live => false,
        };
        let news = self.followed != world.store().revision();
        if !news && !self.watches.iter().any(due) {
            return;
        }
        self.followed = world.store().revision();
        for at in 0..self.watches.len() {
            match self.watches[at].state {
                WatchState::Unlisted(from) if from <= now => self.list(at, world),
                WatchState::Broken(until) if until <= now => {
                    self.watches[at].state = WatchState::Live;
                    let watched = self.watches[at].watched;
                    self.fact(at, Event::Watch(watched, WatchHealth::Live), now);
                    self.follow(at, world);
                }
                WatchState::Live => self.follow(at, world),
                WatchState::Unlisted(_) | WatchState::Broken(_) => {}
            }
        }
    }

    fn list(&mut self, at: usize, world: &World) {
        let (watched, kind) = (self.watches[at].watched, self.watches[at].kind);
        let now = world.now();
        self.fact(at, Event::Listing(watched), now);
        for object in world.store().list(kind) {
            if let Some(fact) = self.fact_of(watched, object, ChangeKind::Added) {
                self.fact(at, fact, now);
            }
        }
        self.fact(at, Event::Listed(watched), now);
        self.fact(at, Event::Watch(watched, WatchHealth::Live), now);
        self.watches[at].known = world.store().revision();
        self.watches[at].state = WatchState::Live;
    }

    fn follow(&mut self, at: usize, world: &World) {
        let (watched, kind, known) = (self.watches[at].watched, self.watches[at].kind, self.watches[at].known);
        let Ok(changes) = world.store().changes_since(kind, known) else {
            self.list(at, world);
            return;
        };
        for change in changes {
            if let Some(fact) = self.fact_of(watched, &change.object, change.kind) {
                self.fact(at, fact, world.now());
            }
        }
        self.watches[at].known = world.store().revision();
    }

    /// A fact sets out; it arrives no sooner than those of its kind before it.
    fn fact(&mut self, at: usize, event: Event, now: Timestamp) {
        let arrives = (now + self.network.delay()).max(self.watches[at].last_at);
        self.watches[at].last_at = arrives;
        self.post(arrives, Mail::Fact(event));
    }

    fn fact_of(&mut self, watched: Watched, object: &Object, change: ChangeKind) -> Option<Event> {
        let here = object.meta.namespace == self.author.namespace;
        let named = |name: &str| here && &*object.meta.name == name;
        let gone = change == ChangeKind::Deleted;
        match watched {
            Watched::DaemonSet if !named(&self.author.name) => None,
            Watched::DaemonSet if gone => Some(Event::DaemonSetGone),
            Watched::DaemonSet => Some(Event::DaemonSet(Box::new(object.daemon_set_fact()?))),
            Watched::Revisions if gone => Some(Event::RevisionGone(object.meta.name.clone())),
            Watched::Revisions => Some(Event::Revision(Box::new(object.revision_fact().filter(|_| here)?))),
            Watched::Pods if !here => None,
            Watched::Pods if gone => Some(Event::PodGone(object.meta.uid.clone())),
            Watched::Pods => Some(Event::Pod(Box::new(object.pod_fact()?))),
            Watched::Nodes if gone => Some(Event::NodeGone(object.meta.name.clone())),
            Watched::Nodes => Some(Event::Node(Box::new(object.node_fact()?))),
            Watched::Events if gone || !here => None,
            Watched::Events => Some(Event::Cluster(Box::new(object.event_fact()?))),
            Watched::Lease if !named(&lease_name(&self.author.name)) => None,
            Watched::Lease if gone => Some(Event::LeaseGone),
            Watched::Lease => Some(Event::Lease(Box::new(self.author.lease(object)?))),
        }
    }
}

/// After this a request without an answer is given up.
const TIMEOUT: Duration = Duration::from_secs(4);

/// Requests of a process that is no more, still on their way.
#[derive(Debug)]
pub struct Orphans {
    requests: Vec<(Timestamp, Effect)>,
    author: Author,
}

impl Orphans {
    /// When the next of them arrives.
    pub fn next_at(&self) -> Option<Timestamp> {
        self.requests.first().map(|(at, _)| *at)
    }

    /// Lets those arrive whose time has come.
    pub fn step(&mut self, world: &mut World, deletions: &mut Vec<Deletion>) {
        while self.requests.first().is_some_and(|(at, _)| *at <= world.now()) {
            let (_, effect) = self.requests.remove(0);
            let _nobody_hears = self.author.apply(&effect, world, deletions);
        }
    }
}
