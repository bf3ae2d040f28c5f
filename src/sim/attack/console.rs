//! A rolldeck process in virtual time: an engine, and between it and the world a network that can be late, lossy or cut.
//!
//! ```text
//!   world ── changes ──▶ watches (late, broken, expired) ──▶ engine.observe
//!     ▲                                                        │ decide
//!     │                         killed or stopped right here ──┤
//!     └──── requests (late, lost, throttled) ◀─────────────────┘
//!               └─ answers (late, lost) ──▶ engine.outcome
//! ```
//!
//! It does by the world what the driver and the cluster adapter do by a real API server. Its clock may be wrong.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::api_client::{ApiClient, Deletion};
use super::case::CrashPoint;
use super::faults::{FaultKind, Faults};
use super::network::{Fate, Network, Server};
use super::watches::{Post, Watches};
use crate::engine::Engine;
use crate::engine::model::Str;
use crate::engine::model::command::{Command, CommandId, Refusal};
use crate::engine::model::config::RateLimit;
use crate::engine::model::config::{Config, Role, Timing};
use crate::engine::model::effect::{Effect, EffectError, EffectErrorKind, EffectId, Outcome, WRITE_TIMEOUT};
use crate::engine::model::event::{Event, Watched};
use crate::engine::model::notice::Notice;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::Snapshot;
use crate::sim::world::World;

/// So long may the nodes' watch stand still before that is found out: 11 minutes, and what bookmarks take to say so.
const FOUND_OUT: Duration = Duration::from_secs(13 * 60);

/// A rolldeck process.
#[derive(Debug)]
pub struct SimulatedConsole {
    api_client: ApiClient,
    engine: Engine,
    network: Network,
    faults: Faults,
    /// Its clock minus the world's, in milliseconds.
    skew_millis: i64,
    watches: Watches,
    told_old_at: Option<Timestamp>,
    blind_until: Timestamp,
    /// Until when it may believe a watch that stands still.
    unaware_until: Option<Timestamp>,
    mail: BTreeMap<(Timestamp, u64), Mail>,
    posted: u64,
    /// What happens to it at one of its next writes.
    trip: Option<(u32, CrashPoint)>,
    /// It stands still until then, with what it was about to send.
    asleep_until: Option<Timestamp>,
    held: VecDeque<(EffectId, Effect)>,
    /// It was killed by its trip, to be opened again that much later.
    dead: Option<Duration>,
    /// Something was asked of the engine since it last decided.
    asked: bool,
    /// When the engine wants to be asked although nothing happens, by the world's clock.
    wake: Option<Timestamp>,
    settled: Vec<(CommandId, Result<String, String>)>,
    said: Vec<String>,
}

#[derive(Debug)]
enum Mail {
    Fact(Event),
    Request(EffectId, Effect),
    Answer(EffectId, Outcome, Option<Event>),
}

impl SimulatedConsole {
    /// A process that starts now. `who` becomes its identity.
    pub fn open(
        world: &World,
        (namespace, name): (&str, &str),
        who: &str,
        role: Role,
        (network, rate): (Network, RateLimit),
    ) -> Self {
        let identity = Str::from(format!("{who}@bastion/{:06x}", world.store().revision() & 0xff_ffff));
        let config = Config {
            namespace: namespace.into(),
            name: name.into(),
            identity: identity.clone(),
            role,
            timing: Timing::default(),
            rate,
        };
        Self {
            api_client: ApiClient::new(identity, namespace, name),
            engine: Engine::new(config),
            network,
            faults: Faults::default(),
            skew_millis: 0,
            watches: Watches::new(world.now()),
            told_old_at: None,
            blind_until: Timestamp::default(),
            unaware_until: None,
            mail: BTreeMap::new(),
            posted: 0,
            trip: None,
            asleep_until: None,
            held: VecDeque::new(),
            dead: None,
            asked: true,
            wake: None,
            settled: Vec::new(),
            said: Vec::new(),
        }
    }

    /// With a clock that is off by this much; like the adapter, it learns by how much from the API server's answers.
    #[must_use]
    pub fn with_skew(mut self, millis: i64) -> Self {
        self.skew_millis = millis;
        if millis != 0 {
            // Answers tell whole seconds.
            self.post(Timestamp::default(), Mail::Fact(Event::Skew(-millis / 1000 * 1000)));
            self.faults.count(FaultKind::ConsoleClock);
        }
        self
    }

    /// Who it is.
    pub fn identity(&self) -> &Str {
        &self.api_client.identity
    }

    /// What went wrong for it.
    pub fn faults(&self) -> Faults {
        let mut faults = self.faults.clone();
        faults.add(self.network.faults());
        faults
    }

    /// What it shows now.
    pub fn snapshot(&mut self, now: Timestamp) -> Snapshot {
        let here = self.here(now);
        let snapshot = self.engine.snapshot(here);
        self.set_alarm();
        snapshot
    }

    /// Up to when it may still send a deletion after somebody paused elsewhere, by what it shows.
    pub fn sends_after_a_pause(&self, now: Timestamp) -> Duration {
        self.engine.sends_after_a_pause(self.here(now))
    }

    /// Whether it runs: it was not stopped.
    pub fn is_awake(&self) -> bool {
        self.asleep_until.is_none()
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

    /// Whether something came of a command since the last call of [`SimulatedConsole::take_settled`].
    pub fn has_settled(&self) -> bool {
        !self.settled.is_empty()
    }

    /// Takes what it said for the timeline since the last call.
    pub fn take_said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.said)
    }

    /// Whether nothing is under way that the process would wait for before it ends.
    pub fn is_at_rest(&self) -> bool {
        self.engine.is_at_rest()
    }

    /// Has something happen to it at the write with this number from now on.
    pub fn set_trip(&mut self, nth: u32, trip: CrashPoint) {
        self.trip = Some((nth, trip));
    }

    /// How often it came to a standstill.
    pub fn standstills(&self) -> u64 {
        self.faults.of(FaultKind::Suspended)
    }

    /// If its trip killed it: after how long it is opened again.
    pub fn dead(&self) -> Option<Duration> {
        self.dead
    }

    /// Breaks a watch until then; it is listed anew afterwards when its changes were compacted meanwhile.
    pub fn break_watch(&mut self, watched: Watched, until: Timestamp, world: &World) {
        let here = self.here(world.now());
        if self.tell(world, |watches, post| watches.cut(watched, until, here, post)) {
            self.blind_until = self.blind_until.max(until);
            self.faults.count(FaultKind::WatchLost);
        }
    }

    /// Makes a watch late until then.
    pub fn delay_watch(&mut self, watched: Watched, by: Duration, until: Timestamp) {
        if self.watches.delay(watched, by, until) {
            self.faults.count(FaultKind::WatchLate);
        }
    }

    /// Has a watch let only bookmarks through until then.
    pub fn bookmarks_only(&mut self, watched: Watched, until: Timestamp) {
        if self.watches.bookmarks_only(watched, until) {
            self.blind_until = self.blind_until.max(until);
            self.faults.count(FaultKind::WatchBookmarks);
        }
    }

    /// Has a watch tell again what it told.
    pub fn replay_watch(&mut self, watched: Watched, back: usize, now: Timestamp) {
        if self.watches.replay(watched, back) {
            self.told_old_at = Some(now);
            self.faults.count(FaultKind::WatchReplayed);
        }
    }

    /// Has a watch listed anew from a cache that is behind, and stays so for a while.
    pub fn list_stale(&mut self, watched: Watched, back: usize, lasts: Duration, world: &World) {
        let until = world.now() + lasts;
        if self.tell(world, |watches, post| watches.list_stale((watched, back), until, post)) {
            self.told_old_at = Some(world.now());
            self.faults.count(FaultKind::ListStale);
        }
    }

    /// Has a watch stand still until then, and send bookmarks that do not advance.
    pub fn stick_watch(&mut self, watched: Watched, until: Timestamp, world: &World) {
        if self.watches.stick(watched, until) {
            // From then on it cannot believe it any more.
            self.unaware_until = Some(until.min(world.now() + FOUND_OUT));
            self.faults.count(FaultKind::WatchStuck);
        }
    }

    /// Until when it may believe a watch that stands still.
    pub fn unaware_until(&self) -> Option<Timestamp> {
        self.unaware_until
    }

    /// When it was last told what was not so any more.
    pub fn told_old_at(&self) -> Option<Timestamp> {
        self.told_old_at
    }

    /// Until when it does not see everything.
    pub fn blind_until(&self) -> Timestamp {
        self.asleep_until.unwrap_or_default().max(self.blind_until)
    }

    /// From now on nothing goes wrong for it any more.
    pub fn calm_down(&mut self) {
        self.network.network = self.network.network.calm();
        self.trip = None;
    }

    /// The process is killed: what it had sent stays on the way, nothing else does. Returns those requests.
    pub fn kill(self) -> Orphans {
        let requests = self.mail.into_iter().filter_map(|((at, _), mail)| match mail {
            Mail::Request(_, effect) => Some((at, effect)),
            Mail::Fact(_) | Mail::Answer(..) => None,
        });
        Orphans { requests: requests.collect(), api_client: self.api_client }
    }

    /// When it wants to be stepped next, if nothing changes in the world.
    pub fn next_at(&self) -> Option<Timestamp> {
        if let Some(until) = self.asleep_until {
            // What is on its way to the API server arrives all the same.
            let requests = self.mail.iter().find(|(_, mail)| matches!(mail, Mail::Request(..)));
            return Some(requests.map_or(until, |((at, _), _)| (*at).min(until)));
        }
        self.mail.keys().map(|(at, _)| *at).take(1).chain(self.wake).chain(self.watches.next_at()).min()
    }

    /// Lets it hear, act and decide as of the world's present. What the API server accepted as deletion is appended.
    pub fn step(&mut self, world: &mut World, deletions: &mut Vec<Deletion>) {
        let now = world.now();
        if self.tell(world, |watches, post| watches.follow(post)) {
            self.told_old_at = Some(now);
        }
        if self.dead.is_some() {
            return;
        }
        if self.asleep_until.is_some_and(|until| now < until) {
            self.serve_due(world, deletions);
            return;
        }
        let mut awake = std::mem::take(&mut self.asked) || self.wake.is_some_and(|at| at <= now);
        if let Some(slept_until) = self.asleep_until.take() {
            // It goes on where it stood.
            awake = true;
            self.blind_until = self.blind_until.max(slept_until);
            self.send_held(now);
        }
        // As in the driver: it decides when something arrives, when it is asked, and when its time has come.
        awake |= self.hear(world, deletions);
        if !awake || self.dead.is_some() {
            return;
        }
        let here = self.here(now);
        self.held.extend(self.engine.decide(here));
        self.send_held(now);
        for notice in self.engine.take_notices() {
            match notice {
                Notice::Settled { id, result } => self.settled.push((id, result.map_err(|why| why.to_string()))),
                Notice::Happened(what) => self.said.push(what.to_string()),
            }
        }
        self.set_alarm();
    }

    /// Takes in all mail that is due; says whether there was any.
    fn hear(&mut self, world: &mut World, deletions: &mut Vec<Deletion>) -> bool {
        let now = world.now();
        let mut heard = false;
        while let Some(entry) = self.mail.first_entry().filter(|entry| entry.key().0 <= now) {
            heard = true;
            match entry.remove() {
                Mail::Fact(event) => self.engine.observe(event, self.here(now)),
                Mail::Request(id, effect) => self.serve(id, &effect, world, deletions),
                Mail::Answer(id, outcome, seen) => {
                    let here = self.here(now);
                    if let Some(seen) = seen {
                        self.engine.learn(seen, here);
                    }
                    self.engine.outcome(id, outcome, here);
                }
            }
        }
        heard
    }

    /// Lets its requests arrive while it stands still itself.
    fn serve_due(&mut self, world: &mut World, deletions: &mut Vec<Deletion>) {
        let now = world.now();
        let due: Vec<_> = self
            .mail
            .range(..=(now, u64::MAX))
            .filter(|(_, mail)| matches!(mail, Mail::Request(..)))
            .map(|(key, _)| *key)
            .collect();
        for key in due {
            if let Some(Mail::Request(id, effect)) = self.mail.remove(&key) {
                self.serve(id, &effect, world, deletions);
            }
        }
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

    fn tell<T>(&mut self, world: &World, what: impl FnOnce(&mut Watches, &mut Post<'_>) -> T) -> T {
        let mut out = Vec::new();
        let (api_client, network, faults) = (&mut self.api_client, &mut self.network, &mut self.faults);
        let done = what(&mut self.watches, &mut Post { world, api_client, network, faults, out: &mut out });
        for (at, event) in out {
            self.post(at, Mail::Fact(event));
        }
        done
    }

    /// Sends what was decided, as far as it lives to.
    fn send_held(&mut self, now: Timestamp) {
        while let Some((id, effect)) = self.held.pop_front() {
            let trip = match &mut self.trip {
                Some((0, trip)) => Some(*trip),
                Some((left, _)) => {
                    *left -= 1;
                    None
                }
                None => None,
            };
            if let Some(trip) = trip {
                self.trip = None;
                self.faults.count(trip.kind());
            }
            match trip {
                None => self.send(id, effect, now),
                Some(CrashPoint::KillBefore { again }) => {
                    self.dead = Some(again);
                    return;
                }
                Some(CrashPoint::KillAfter { again }) => {
                    self.send(id, effect, now);
                    self.dead = Some(again);
                    return;
                }
                Some(CrashPoint::Suspend { lasts }) => {
                    self.held.push_front((id, effect));
                    self.asleep_until = Some(now + lasts);
                    return;
                }
            }
        }
    }

    fn send(&mut self, id: EffectId, effect: Effect, now: Timestamp) {
        let late = effect.is_too_late(self.here(now));
        match self.network.request() {
            _ if late => self.refuse(id, EffectErrorKind::TooLate, now),
            Fate::Arrives(after) => self.post(now + after, Mail::Request(id, effect)),
            Fate::Lost => self.refuse(id, EffectErrorKind::Unknown, now + WRITE_TIMEOUT),
            Fate::Refused(kind) => self.refuse(id, kind, now),
        }
    }

    fn refuse(&mut self, id: EffectId, kind: EffectErrorKind, at: Timestamp) {
        let error = EffectError { kind, message: "the network failed".into() };
        self.post(at, Mail::Answer(id, Err(error), None));
    }

    /// The request arrives: the API server carries it out, and its answer sets out.
    fn serve(&mut self, id: EffectId, effect: &Effect, world: &mut World, deletions: &mut Vec<Deletion>) {
        let now = world.now();
        let server = self.network.server();
        if server == Server::FailsBefore {
            let at = now + self.network.delay();
            return self.refuse(id, EffectErrorKind::Unknown, at);
        }
        let (outcome, seen) = self.api_client.apply(effect, world, deletions);
        if matches!(&outcome, Err(error) if error.kind == EffectErrorKind::Conflict) {
            self.faults.count(FaultKind::Conflict);
        }
        match self.network.answer() {
            Fate::Arrives(after) if server == Server::FailsAfter => {
                self.refuse(id, EffectErrorKind::Unknown, now + after);
            }
            Fate::Arrives(after) => self.post(now + after, Mail::Answer(id, outcome, seen)),
            Fate::Lost | Fate::Refused(_) => self.refuse(id, EffectErrorKind::Unknown, now + WRITE_TIMEOUT),
        }
    }
}

/// Requests of a process that is no more, still on their way.
#[derive(Debug)]
pub struct Orphans {
    requests: Vec<(Timestamp, Effect)>,
    api_client: ApiClient,
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
            let _nobody_hears = self.api_client.apply(&effect, world, deletions);
        }
    }
}
