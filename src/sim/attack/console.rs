//! A rolldeck process in virtual time: an engine, connected to the world by a network that can be late, lossy or cut.
//!
//! ```text
//!   world ── changes ──▶ watches (late, broken, expired) ──▶ engine.observe
//!     ▲                                                        │ decide
//!     │                         killed or stopped right here ──┤
//!     └──── requests (late, lost, throttled) ◀─────────────────┘
//!               └─ answers (late, lost) ──▶ engine.outcome
//! ```
//!
//! The process does with the world what the driver and the cluster adapter do with a real API server. Its clock may be wrong.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::api_client::{AcceptedWrites, ApiClient};
use super::case::CrashPoint;
use super::faults::{FaultKind, Faults};
use super::network::{Delivery, Network, ServerResult};
use super::watches::{StreamContext, Watches};
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

/// The time after which the engine no longer believes a watch of nodes that stands still: 11 minutes plus the time that bookmarks take.
const FOUND_OUT: Duration = Duration::from_secs(13 * 60);

/// A rolldeck process.
#[derive(Debug)]
pub struct SimulatedConsole {
    api_client: ApiClient,
    engine: Engine,
    network: Network,
    faults: Faults,
    /// The process's clock minus the world's, in milliseconds.
    skew_millis: i64,
    watches: Watches,
    outdated_at: Option<Timestamp>,
    blind_until: Timestamp,
    /// The time until which the engine may believe a watch that stands still.
    unaware_until: Option<Timestamp>,
    messages: BTreeMap<(Timestamp, u64), Message>,
    sequence: u64,
    /// The fault that strikes at one of its next writes, and how many writes come before that one.
    crash_point: Option<(u32, CrashPoint)>,
    /// The time until which the process is suspended; it keeps its unsent writes meanwhile.
    suspended_until: Option<Timestamp>,
    unsent: VecDeque<(EffectId, Effect)>,
    /// How long after its kill at a crash point the process is opened again; `None`: it was not killed there.
    reopens_after: Option<Duration>,
    /// Whether a command was given since the engine last decided.
    has_command: bool,
    /// The time, by the world's clock, at which the engine decides again even if nothing arrives.
    wake: Option<Timestamp>,
    settled: Vec<(CommandId, Result<String, String>)>,
    rollout_events: Vec<String>,
}

#[derive(Debug)]
enum Message {
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
            defaults: Default::default(),
            restored_at: None,
        };
        Self {
            api_client: ApiClient::new(identity, namespace, name),
            engine: Engine::new(config),
            network,
            faults: Faults::default(),
            skew_millis: 0,
            watches: Watches::new(world.now()),
            outdated_at: None,
            blind_until: Timestamp::default(),
            unaware_until: None,
            messages: BTreeMap::new(),
            sequence: 0,
            crash_point: None,
            suspended_until: None,
            unsent: VecDeque::new(),
            reopens_after: None,
            has_command: true,
            wake: None,
            settled: Vec::new(),
            rollout_events: Vec::new(),
        }
    }

    /// Sets the error of the process's clock. As with the adapter, the engine learns the error from the API server's answers.
    #[must_use]
    pub fn with_skew(mut self, millis: i64) -> Self {
        self.skew_millis = millis;
        if millis != 0 {
            // Answers have the API server's time in whole seconds.
            self.deliver_at(Timestamp::default(), Message::Fact(Event::Skew(-millis / 1000 * 1000)));
            self.faults.count(FaultKind::ConsoleClock);
        }
        self
    }

    /// The identity of the process.
    pub fn identity(&self) -> &Str {
        &self.api_client.identity
    }

    /// The faults that the process met.
    pub fn faults(&self) -> Faults {
        let mut faults = self.faults.clone();
        faults.add(self.network.faults());
        faults
    }

    /// The snapshot that the process shows now.
    pub fn snapshot(&mut self, now: Timestamp) -> Snapshot {
        let here = self.here(now);
        let snapshot = self.engine.snapshot(here);
        self.set_alarm();
        snapshot
    }

    /// How long the process may still send deletions after another process has written a pause, as the engine reports it.
    pub fn sends_after_a_pause(&self, now: Timestamp) -> Duration {
        self.engine.sends_after_a_pause(self.here(now))
    }

    /// Whether the process runs, that is, is not suspended.
    pub fn is_running(&self) -> bool {
        self.suspended_until.is_none()
    }

    /// Gives a command.
    ///
    /// # Errors
    /// As the engine refuses it.
    pub fn command(&mut self, command: Command, now: Timestamp) -> Result<CommandId, Refusal> {
        let here = self.here(now);
        self.has_command = true;
        self.engine.command(command, here)
    }

    /// Takes the results of commands since the last call.
    pub fn take_settled(&mut self) -> Vec<(CommandId, Result<String, String>)> {
        std::mem::take(&mut self.settled)
    }

    /// Whether there is a result of a command since the last call of [`SimulatedConsole::take_settled`].
    pub fn has_settled(&self) -> bool {
        !self.settled.is_empty()
    }

    /// Takes the rollout events since the last call.
    pub fn take_rollout_events(&mut self) -> Vec<String> {
        std::mem::take(&mut self.rollout_events)
    }

    /// Whether the engine waits for nothing, so that the process may end.
    pub fn is_at_rest(&self) -> bool {
        self.engine.is_at_rest()
    }

    /// Sets a fault for the write with this number, counted from now on.
    pub fn set_crash_point(&mut self, nth: u32, crash_point: CrashPoint) {
        self.crash_point = Some((nth, crash_point));
    }

    /// How often the process was suspended.
    pub fn suspensions(&self) -> u64 {
        self.faults.of(FaultKind::Suspended)
    }

    /// How long after its kill at a crash point the process is opened again; `None`: it was not killed there.
    pub fn reopens_after(&self) -> Option<Duration> {
        self.reopens_after
    }

    /// Breaks a watch until `until`. Its objects are listed anew afterwards if the changes were compacted meanwhile.
    pub fn break_watch(&mut self, watched: Watched, until: Timestamp, world: &World) {
        let here = self.here(world.now());
        if self.with_watches(world, |watches, context| watches.cut(watched, until, here, context)) {
            self.blind_until = self.blind_until.max(until);
            self.faults.count(FaultKind::WatchLost);
        }
    }

    /// Makes a watch late by `by` until `until`.
    pub fn delay_watch(&mut self, watched: Watched, by: Duration, until: Timestamp) {
        if self.watches.delay(watched, by, until) {
            self.faults.count(FaultKind::WatchLate);
        }
    }

    /// Makes a watch pass on only bookmarks until `until`.
    pub fn bookmarks_only(&mut self, watched: Watched, until: Timestamp) {
        if self.watches.bookmarks_only(watched, until) {
            self.blind_until = self.blind_until.max(until);
            self.faults.count(FaultKind::WatchBookmarks);
        }
    }

    /// Makes a watch send past events again.
    pub fn replay_watch(&mut self, watched: Watched, back: usize, now: Timestamp) {
        if self.watches.replay(watched, back) {
            self.outdated_at = Some(now);
            self.faults.count(FaultKind::WatchReplayed);
        }
    }

    /// Makes a watch list its objects anew from a cache that is behind, and that stays behind for `lasts`.
    pub fn list_stale(&mut self, watched: Watched, back: usize, lasts: Duration, world: &World) {
        let until = world.now() + lasts;
        if self.with_watches(world, |watches, context| watches.list_stale((watched, back), until, context)) {
            self.outdated_at = Some(world.now());
            self.faults.count(FaultKind::ListStale);
        }
    }

    /// Makes a watch stand still until `until`; it sends bookmarks that do not advance.
    pub fn stick_watch(&mut self, watched: Watched, until: Timestamp, world: &World) {
        if self.watches.stick(watched, until) {
            // After this time the engine no longer believes the watch.
            self.unaware_until = Some(until.min(world.now() + FOUND_OUT));
            self.faults.count(FaultKind::WatchStuck);
        }
    }

    /// The time until which the engine may believe a watch that stands still.
    pub fn unaware_until(&self) -> Option<Timestamp> {
        self.unaware_until
    }

    /// When the process last received a state that was out of date.
    pub fn outdated_at(&self) -> Option<Timestamp> {
        self.outdated_at
    }

    /// The time until which the process does not see everything.
    pub fn blind_until(&self) -> Timestamp {
        self.suspended_until.unwrap_or_default().max(self.blind_until)
    }

    /// Ends the faults of the network and removes the crash point.
    pub fn calm_down(&mut self) {
        self.network.network = self.network.network.calm();
        self.crash_point = None;
    }

    /// Kills the process. Requests that it has sent still arrive; they are returned.
    pub fn kill(self) -> RequestsInFlight {
        let requests = self.messages.into_iter().filter_map(|((at, _), message)| match message {
            Message::Request(_, effect) => Some((at, effect)),
            Message::Fact(_) | Message::Answer(..) => None,
        });
        RequestsInFlight { requests: requests.collect(), api_client: self.api_client }
    }

    /// The time of the next step that is needed even if nothing changes in the world.
    pub fn next_at(&self) -> Option<Timestamp> {
        if let Some(until) = self.suspended_until {
            // Requests that are on their way to the API server arrive even while the process is suspended.
            let requests = self.messages.iter().find(|(_, message)| matches!(message, Message::Request(..)));
            return Some(requests.map_or(until, |((at, _), _)| (*at).min(until)));
        }
        self.messages.keys().map(|(at, _)| *at).take(1).chain(self.wake).chain(self.watches.next_at()).min()
    }

    /// Receives, decides and sends at the world's present time. Writes that the API server accepts are appended.
    pub fn step(&mut self, world: &mut World, accepted: &mut AcceptedWrites) {
        let now = world.now();
        if self.with_watches(world, |watches, context| watches.follow(context)) {
            self.outdated_at = Some(now);
        }
        if self.reopens_after.is_some() {
            return;
        }
        if self.suspended_until.is_some_and(|until| now < until) {
            self.serve_due(world, accepted);
            return;
        }
        let mut awake = std::mem::take(&mut self.has_command) || self.wake.is_some_and(|at| at <= now);
        if let Some(until) = self.suspended_until.take() {
            // The process sends the writes that it had decided before it was suspended.
            awake = true;
            self.blind_until = self.blind_until.max(until);
            self.send_unsent(now);
        }
        // As in the driver, the engine decides when something arrives, after a command, and at `wake_at`.
        awake |= self.receive(world, accepted);
        if !awake || self.reopens_after.is_some() {
            return;
        }
        let here = self.here(now);
        self.unsent.extend(self.engine.decide(here));
        self.send_unsent(now);
        for notice in self.engine.take_notices() {
            match notice {
                Notice::Settled { id, result } => self.settled.push((id, result.map_err(|why| why.to_string()))),
                Notice::Happened { event, .. } => self.rollout_events.push(event.to_string()),
            }
        }
        self.set_alarm();
    }

    /// Describes a change that only the passing of time made although the engine did not ask to be woken for it; `None` if there is none, as
    /// it must be. `shown` is the present snapshot.
    pub fn changed_unannounced(&mut self, shown: &Snapshot, now: Timestamp) -> Option<String> {
        let awake = self.has_command || self.next_at().is_some_and(|at| at <= now) || !self.unsent.is_empty();
        if awake || !self.is_running() || !self.engine.assess_anew() {
            return None;
        }
        let here = self.here(now);
        let effects = self.engine.decide(here);
        let shows = self.engine.snapshot(here);
        let what = match effects.first() {
            Some((_, effect)) => Some(format!("would write {effect:?}")),
            None => differs(&shown.clone().without_estimates(), &shows.without_estimates()),
        };
        self.unsent.extend(effects);
        self.set_alarm();
        what
    }

    /// Receives all messages that are due; returns whether there were any.
    fn receive(&mut self, world: &mut World, accepted: &mut AcceptedWrites) -> bool {
        let now = world.now();
        let mut received = false;
        while let Some(entry) = self.messages.first_entry().filter(|entry| entry.key().0 <= now) {
            received = true;
            match entry.remove() {
                Message::Fact(event) => self.engine.observe(event, self.here(now)),
                Message::Request(id, effect) => self.serve(id, &effect, world, accepted),
                Message::Answer(id, outcome, seen) => {
                    let here = self.here(now);
                    if let Some(seen) = seen {
                        self.engine.learn(seen, here);
                    }
                    self.engine.outcome(id, outcome, here);
                }
            }
        }
        received
    }

    /// Carries out requests that arrive while the process itself is suspended.
    fn serve_due(&mut self, world: &mut World, accepted: &mut AcceptedWrites) {
        let now = world.now();
        let due: Vec<_> = self
            .messages
            .range(..=(now, u64::MAX))
            .filter(|(_, message)| matches!(message, Message::Request(..)))
            .map(|(key, _)| *key)
            .collect();
        for key in due {
            if let Some(Message::Request(id, effect)) = self.messages.remove(&key) {
                self.serve(id, &effect, world, accepted);
            }
        }
    }

    fn set_alarm(&mut self) {
        self.wake = self.engine.wake_at().map(|at| Timestamp::from_millis(at.millis() - self.skew_millis));
    }

    fn here(&self, now: Timestamp) -> Timestamp {
        Timestamp::from_millis(now.millis() + self.skew_millis)
    }

    fn deliver_at(&mut self, at: Timestamp, message: Message) {
        self.sequence += 1;
        self.messages.insert((at, self.sequence), message);
    }

    fn with_watches<T>(&mut self, world: &World, what: impl FnOnce(&mut Watches, &mut StreamContext<'_>) -> T) -> T {
        let mut out = Vec::new();
        let (api_client, network, faults) = (&mut self.api_client, &mut self.network, &mut self.faults);
        let done = what(&mut self.watches, &mut StreamContext { world, api_client, network, faults, out: &mut out });
        for (at, event) in out {
            self.deliver_at(at, Message::Fact(event));
        }
        done
    }

    /// Sends the decided writes, up to the one at which the process is killed or suspended.
    fn send_unsent(&mut self, now: Timestamp) {
        while let Some((id, effect)) = self.unsent.pop_front() {
            let crash_point = match &mut self.crash_point {
                Some((0, crash_point)) => Some(*crash_point),
                Some((left, _)) => {
                    *left -= 1;
                    None
                }
                None => None,
            };
            if let Some(crash_point) = crash_point {
                self.crash_point = None;
                self.faults.count(crash_point.kind());
            }
            match crash_point {
                None => self.send(id, effect, now),
                Some(CrashPoint::KillBefore { again }) => {
                    self.reopens_after = Some(again);
                    return;
                }
                Some(CrashPoint::KillAfter { again }) => {
                    self.send(id, effect, now);
                    self.reopens_after = Some(again);
                    return;
                }
                Some(CrashPoint::Suspend { lasts }) => {
                    self.unsent.push_front((id, effect));
                    self.suspended_until = Some(now + lasts);
                    return;
                }
            }
        }
    }

    fn send(&mut self, id: EffectId, effect: Effect, now: Timestamp) {
        let late = effect.is_too_late(self.here(now));
        match self.network.request() {
            _ if late => self.refuse(id, EffectErrorKind::TooLate, now),
            Delivery::Arrives(after) => self.deliver_at(now + after, Message::Request(id, effect)),
            Delivery::Lost => self.refuse(id, EffectErrorKind::Unknown, now + WRITE_TIMEOUT),
            Delivery::Refused(kind) => self.refuse(id, kind, now),
        }
    }

    fn refuse(&mut self, id: EffectId, kind: EffectErrorKind, at: Timestamp) {
        let error = EffectError { kind, message: "the network failed".into(), dry_run: false };
        self.deliver_at(at, Message::Answer(id, Err(error), None));
    }

    /// Carries out a request that has arrived, and sends the answer.
    fn serve(&mut self, id: EffectId, effect: &Effect, world: &mut World, accepted: &mut AcceptedWrites) {
        let now = world.now();
        let server = self.network.server();
        if server == ServerResult::FailsBefore {
            let at = now + self.network.delay();
            return self.refuse(id, EffectErrorKind::Unknown, at);
        }
        let (outcome, seen) = self.api_client.apply(effect, world, accepted);
        if matches!(&outcome, Err(error) if error.kind == EffectErrorKind::Conflict) {
            self.faults.count(FaultKind::Conflict);
        }
        match self.network.answer() {
            Delivery::Arrives(after) if server == ServerResult::FailsAfter => {
                self.refuse(id, EffectErrorKind::Unknown, now + after);
            }
            Delivery::Arrives(after) => self.deliver_at(now + after, Message::Answer(id, outcome, seen)),
            Delivery::Lost | Delivery::Refused(_) => self.refuse(id, EffectErrorKind::Unknown, now + WRITE_TIMEOUT),
        }
    }
}

/// Requests of a killed process that are still on their way.
#[derive(Debug)]
pub struct RequestsInFlight {
    requests: Vec<(Timestamp, Effect)>,
    api_client: ApiClient,
}

impl RequestsInFlight {
    /// When the next request arrives at the API server.
    pub fn next_at(&self) -> Option<Timestamp> {
        self.requests.first().map(|(at, _)| *at)
    }

    /// Carries out the requests that have arrived.
    pub fn step(&mut self, world: &mut World, accepted: &mut AcceptedWrites) {
        while self.requests.first().is_some_and(|(at, _)| *at <= world.now()) {
            let (_, effect) = self.requests.remove(0);
            let _nobody_hears = self.api_client.apply(&effect, world, accepted);
        }
    }
}

/// The first line in which two snapshots of the same instant differ, from each of them; `None` if they show the same.
fn differs(shown: &Snapshot, shows: &Snapshot) -> Option<String> {
    if shows.shows_the_same_as(shown) {
        return None;
    }
    let (was, is) = (format!("{shown:#?}"), format!("{shows:#?}"));
    let line = was.lines().zip(is.lines()).find(|(was, is)| was != is);
    Some(line.map_or_else(
        || "shows more or less".to_owned(),
        |(was, is)| format!("shows {}, and then {}", was.trim(), is.trim()),
    ))
}
