//! The loop of one rollout: it takes in facts and carries out decisions.
//!
//! ```text
//!   watches ──▶ events ──┐                       ┌──▶ effects ──▶ one task each ──▶ outcomes ─┐
//!   front ends ▶ requests ┼─▶ drain ▶ observe ▶ decide                                        │
//!   wake_at ──▶ timer ───┘         ▲             └──▶ snapshot, if it shows something else     │
//!                                  └────────────────────────────────────────────────────────────┘
//! ```
//!
//! All queued events are taken in before a decision, so that no decision rests on an unnecessarily old view. Only this task
//! touches the engine. The rate of decisions and snapshots depends on their cost: loading a fleet of thousands of nodes uses
//! only a fraction of one core.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::audit_sink::AuditSink;
use super::handle::{CommandError, Request, Rollout};
use super::own_events::OwnEvents;
use super::seen_holders::{LeaseKey, SeenHolders};
use crate::cluster::{Clock, Executed, Writer};
use crate::engine::Engine;
use crate::engine::model::Str;
use crate::engine::model::command::{Command, CommandId};
use crate::engine::model::config::Config;
use crate::engine::model::driver::DriverView;
use crate::engine::model::effect::{Effect, EffectError, EffectErrorKind, EffectId};
use crate::engine::model::event::Event;
use crate::engine::model::notice::Notice;
use crate::engine::model::record::lease_name;
use crate::engine::model::rollout_event::RolloutEvent;
use crate::engine::report::snapshot::{Alarm, Snapshot};

/// How many events may wait. When the queue is full, the watches wait.
pub(super) const EVENTS: usize = 1_024;
/// How many requests may wait.
const REQUESTS: usize = 64;
/// How many events are taken in at most before a decision.
const BATCH: usize = 4_096;
/// While facts keep coming, at least this much time lies between two decisions, and between two snapshots.
const DECIDE_GAP: Duration = Duration::from_millis(5);
const PUBLISH_GAP: Duration = Duration::from_millis(100);
/// After deciding or publishing, the pause is at least this many times as long as the work took, unless something is urgent.
const SHARE: u32 = 4;
/// How long a driver without front ends waits for its last answers and for the release of the Lease.
const LEAVING: Duration = Duration::from_secs(8);
/// The clock goes on while the machine sleeps, and timers do not: whether it has come to what is waited for is looked at this often.
pub(super) const LOOKS_AT_CLOCK: Duration = Duration::from_secs(5);
/// No timer is set further away than this.
const FAR: Duration = Duration::from_secs(3_600);

/// The answer to a command that was under way when the state of the cluster went back to an earlier one.
const RESTORED: &str = "the state of the cluster went back to an earlier one meanwhile: was it restored from a backup? Look at the nodes, and \
                        ask again if it is still wanted";

/// Carries out the writes of a driver.
pub(super) trait EffectExecutor: Clone + Send + 'static {
    /// Makes one write.
    fn execute(&self, effect: Effect) -> impl Future<Output = Executed> + Send;
}

impl EffectExecutor for Writer {
    async fn execute(&self, effect: Effect) -> Executed {
        Writer::execute(self, &effect).await
    }
}

/// The connection of a driver to the cluster. `feed` is kept for as long as the driver runs.
pub(super) struct Attached<H, F> {
    /// The holder name under which this driver would drive.
    pub(super) identity: Str,
    pub(super) events: mpsc::Receiver<Event>,
    pub(super) executor: H,
    pub(super) feed: F,
    /// Writes events under this identity.
    pub(super) audit_sink: AuditSink,
}

/// The surroundings of a driver.
pub(super) struct Surroundings {
    pub(super) clock: Clock,
    /// Changes when the state of the cluster is found to have gone back to an earlier one.
    pub(super) restored: watch::Receiver<u64>,
    /// The last observations of holders of Leases, used until this driver observes the holder itself.
    pub(super) seen_holders: SeenHolders,
    /// What earlier drivers of the session told of the rollout.
    pub(super) own_events: OwnEvents,
}

/// Starts a driver. When the state of the cluster goes back to an earlier one, the driver begins anew with the result of `attach`.
pub(super) fn spawn<H: EffectExecutor, F: Send + 'static>(
    config: Config,
    surroundings: Surroundings,
    attached: Attached<H, F>,
    attach: impl Fn() -> Attached<H, F> + Send + Sync + 'static,
) -> Rollout {
    let Surroundings { clock, mut restored, seen_holders, own_events } = surroundings;
    let lease = (config.namespace.clone(), Str::from(lease_name(&config.name)));
    let mut engine = Engine::new(config.clone());
    if let Some(seen) = seen_holders.last(&lease) {
        engine.remember_holder(seen);
    }
    let first = Arc::new(engine.snapshot(clock.now()));
    let snapshots = Arc::new(watch::Sender::new(first));
    let (requests, asked) = mpsc::channel(REQUESTS);
    let rollout = Rollout { snapshots: snapshots.subscribe(), requests };
    let now = Instant::now();
    let Attached { identity: _, events, executor, mut feed, audit_sink } = attached;
    let mut driver = Driver {
        engine,
        clock,
        executor,
        audit_sink,
        lease,
        seen_holders,
        own_events,
        recalls: true,
        events,
        requests: asked,
        effects: JoinSet::new(),
        snapshots: snapshots.clone(),
        waiting: HashMap::new(),
        decide: Throttle::new(now, DECIDE_GAP),
        publish: Throttle::new(now, PUBLISH_GAP),
        leaving: None,
    };
    tokio::spawn(async move {
        let drives = async {
            loop {
                tokio::select! {
                    biased;
                    Ok(()) = restored.changed() => {}
                    () = driver.run() => return,
                }
                let Attached { identity, events, executor, feed: anew, audit_sink } = attach();
                // Writes that the old feed began are not waited for.
                feed = anew;
                driver.audit_sink = audit_sink;
                driver.begin_anew(Config { identity, ..config.clone() }, events, executor);
            }
        };
        let fault = AssertUnwindSafe(drives).catch_unwind().await.err();
        if let Some(fault) = fault {
            snapshots.send_modify(|last| *last = Arc::new(stopped(last, &*fault)));
        }
    });
    rollout
}

/// The last snapshot of a driver that panicked: it says so.
fn stopped(last: &Snapshot, fault: &(dyn std::any::Any + Send)) -> Snapshot {
    let text = fault.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| fault.downcast_ref::<&str>().copied()).unwrap_or("no words");
    let why =
        format!("the driver stopped by a fault in rolldeck ({text}); please report it, and open the rollout again");
    let mut snapshot = last.clone();
    snapshot.driver = DriverView::Unknown;
    snapshot.alarms.insert(0, Alarm::ViewStale { why: why.into() });
    snapshot
}

struct Driver<H> {
    engine: Engine,
    clock: Clock,
    executor: H,
    audit_sink: AuditSink,
    lease: LeaseKey,
    /// Receives this driver's observations of the Lease, for other watches of the session.
    seen_holders: SeenHolders,
    /// Keeps what this driver tells, for a later one of the session.
    own_events: OwnEvents,
    /// What earlier drivers of the session told is taken in with the first sight of the DaemonSet.
    recalls: bool,
    events: mpsc::Receiver<Event>,
    requests: mpsc::Receiver<Request>,
    effects: JoinSet<(EffectId, Executed)>,
    snapshots: Arc<watch::Sender<Arc<Snapshot>>>,
    waiting: HashMap<CommandId, oneshot::Sender<Result<String, CommandError>>>,
    decide: Throttle,
    publish: Throttle,
    /// Set once every front end is gone: the time until which the driver may wait for last answers and release the Lease.
    leaving: Option<Instant>,
}

/// Limits how often something expensive (deciding, publishing) is done: the longer it takes, the longer the pause after it.
#[derive(Debug)]
struct Throttle {
    due: bool,
    least: Duration,
    next_at: Instant,
}

/// Whether a task can wait for its turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Urgency {
    Now,
    InTurn,
}

impl Throttle {
    fn new(now: Instant, least: Duration) -> Self {
        Self { due: true, least, next_at: now }
    }

    fn wanted(&mut self, urgency: Urgency) {
        self.due = true;
        if urgency == Urgency::Now {
            self.next_at = Instant::now();
        }
    }

    /// Whether the task is due. The caller then does it and calls [`Throttle::done`].
    fn is_its_turn(&self) -> bool {
        self.due && Instant::now() >= self.next_at
    }

    fn done(&mut self, began: Instant) {
        let now = Instant::now();
        self.due = false;
        self.next_at = now + self.least.max((now - began) * SHARE);
    }

    fn at(&self) -> Option<Instant> {
        self.due.then_some(self.next_at)
    }
}

impl<H: EffectExecutor> Driver<H> {
    /// The state of the cluster went back to an earlier one. No known fact is certain any more, so everything is read again.
    /// This process stops driving, because only a person can tell whether the rollout is still wanted.
    fn begin_anew(&mut self, config: Config, events: mpsc::Receiver<Event>, executor: H) {
        let now = self.clock.now();
        self.engine = Engine::new(Config { restored_at: Some(now), ..config });
        (self.events, self.executor, self.effects) = (events, executor, JoinSet::new());
        self.recalls = true;
        for (_, answer) in self.waiting.drain() {
            let _ = answer.send(Err(CommandError::Failed(RESTORED.to_owned())));
        }
        self.decide.wanted(Urgency::Now);
        self.publish.wanted(Urgency::Now);
    }

    async fn run(&mut self) {
        loop {
            if self.decide.is_its_turn() {
                self.decide_now();
            }
            if self.publish.is_its_turn() {
                self.publish_now();
            }
            self.settle();
            if self.is_over() {
                self.audit_sink.finish().await;
                // Only now are the events known that could not be written.
                self.publish_now();
                return;
            }
            self.wait().await;
            self.drain();
        }
    }

    /// Waits until there is something to do, and takes in the first item.
    async fn wait(&mut self) {
        let timer = sleep_until(self.timer());
        tokio::select! {
            // Outcomes come first: they say which writes are done.
            biased;
            Some(done) = self.effects.join_next(), if !self.effects.is_empty() => self.effect_done(done),
            request = self.requests.recv(), if self.leaving.is_none() => match request {
                Some(request) => self.request(request),
                None => self.leave(),
            },
            () = timer => {
                // The passing of time alone may have changed the decision. A snapshot alone would move the engine past the instant that it waits for.
                if self.is_due() {
                    self.decide.wanted(Urgency::InTurn);
                    self.publish.wanted(Urgency::InTurn);
                }
            }
            Some(event) = self.events.recv() => self.event(event),
            () = self.audit_sink.another_complaint() => self.publish.wanted(Urgency::InTurn),
        }
    }

    /// Takes in all remaining queued items.
    fn drain(&mut self) {
        while let Some(done) = self.effects.try_join_next() {
            self.effect_done(done);
        }
        while self.leaving.is_none()
            && let Ok(request) = self.requests.try_recv()
        {
            self.request(request);
        }
        for _ in 0..BATCH {
            match self.events.try_recv() {
                Ok(event) => self.event(event),
                Err(_) => break,
            }
        }
    }

    fn event(&mut self, event: Event) {
        if let Event::DaemonSet(daemonset) = &event
            && std::mem::take(&mut self.recalls)
        {
            let told = self.own_events.of(&self.lease, &daemonset.uid);
            told.into_iter().for_each(|event| self.engine.remember_event(event));
        }
        self.engine.observe(event, self.clock.now());
        self.decide.wanted(Urgency::InTurn);
        self.publish.wanted(Urgency::InTurn);
    }

    fn effect_done(&mut self, done: Result<(EffectId, Executed), tokio::task::JoinError>) {
        // An effect's task catches its own panics, so that every effect has an outcome.
        let Ok((id, executed)) = done else { return };
        let now = self.clock.now();
        for event in executed.events {
            self.engine.learn(event, now);
        }
        self.engine.outcome(id, executed.outcome, now);
        self.decide.wanted(Urgency::Now);
        self.publish.wanted(Urgency::InTurn);
    }

    fn request(&mut self, request: Request) {
        let now = self.clock.now();
        match request {
            Request::Preview(command, answer) => {
                // The front end that asked may be gone.
                let _ = answer.send(self.engine.preview(&command, now));
            }
            Request::Refused(command, why) => self.engine.refused(&command, &why, now),
            Request::ImagesOnNodes(answer) => {
                let _ = answer.send(self.engine.images_on_nodes(now));
                return;
            }
            Request::Command(command, answer) => match self.engine.command(command, now) {
                Ok(id) => {
                    self.waiting.insert(id, answer);
                }
                Err(refusal) => {
                    let _ = answer.send(Err(refusal.into()));
                }
            },
        }
        self.decide.wanted(Urgency::Now);
        self.publish.wanted(Urgency::Now);
    }

    fn decide_now(&mut self) {
        let began = Instant::now();
        for (id, effect) in self.engine.decide(self.clock.now()) {
            self.execute(id, effect);
        }
        self.decide.done(began);
        self.publish.wanted(Urgency::InTurn);
    }

    fn execute(&mut self, id: EffectId, effect: Effect) {
        let executor = self.executor.clone();
        self.effects.spawn(async move {
            let done = AssertUnwindSafe(executor.execute(effect)).catch_unwind().await;
            let executed = done.unwrap_or_else(|_fault| {
                let message = "a write stopped by a fault in rolldeck; please report it".into();
                Executed {
                    outcome: Err(EffectError { kind: EffectErrorKind::Unknown, message, dry_run: false }),
                    events: Vec::new(),
                }
            });
            (id, executed)
        });
    }

    fn publish_now(&mut self) {
        let began = Instant::now();
        if let Some(seen) = self.engine.seen_holder() {
            self.seen_holders.note(&self.lease, seen);
        }
        let unaudited = self.audit_sink.complaints();
        let last = self.snapshots.borrow().nodes.clone();
        let snapshot = Snapshot { unaudited, ..self.engine.snapshot_sharing(&last, self.clock.now()) };
        self.snapshots.send_if_modified(|last| {
            let news = !last.shows_the_same_as(&snapshot);
            if news {
                *last = Arc::new(snapshot);
            }
            news
        });
        self.publish.done(began);
    }

    /// Answers the settled commands once the snapshot shows their result.
    fn settle(&mut self) {
        let notices = self.engine.take_notices();
        if notices.iter().any(|notice| matches!(notice, Notice::Settled { .. })) {
            self.publish_now();
        }
        for notice in notices {
            match notice {
                Notice::Settled { id, result } => {
                    if let Some(answer) = self.waiting.remove(&id) {
                        let _ = answer.send(result.map_err(CommandError::from));
                    }
                }
                Notice::Happened { event, listed_at, uid } => {
                    self.audit_sink.tell(&event, listed_at, uid.as_ref());
                    if let Some(uid) = uid {
                        self.own_events.note(&self.lease, &uid, RolloutEvent { at: listed_at, ..*event });
                    }
                }
            }
        }
    }

    /// Every front end is gone: nothing more is started, and the Lease is released.
    fn leave(&mut self) {
        self.leaving = Some(Instant::now() + LEAVING);
        // The command is refused while nothing is loaded; in that case no Lease is held either.
        let _ = self.engine.command(Command::StopDriving, self.clock.now());
        self.decide.wanted(Urgency::Now);
    }

    fn is_over(&self) -> bool {
        self.leaving.is_some_and(|deadline| {
            let at_rest = self.engine.is_at_rest() && self.effects.is_empty() && !self.decide.due;
            at_rest || Instant::now() >= deadline
        })
    }

    /// Whether there is something to do by now, or in its turn; else the timer was only for a look at the clock.
    fn is_due(&self) -> bool {
        let has_turns = self.decide.at().is_some() || self.publish.at().is_some() || self.leaving.is_some();
        has_turns || self.engine.wake_at().is_some_and(|at| at <= self.clock.now())
    }

    /// The time at which there is something to do even if nothing happens.
    fn timer(&self) -> Instant {
        let woken = self.engine.wake_at().map(|at| Instant::now() + at.since(self.clock.now()).min(LOOKS_AT_CLOCK));
        let turns = [self.decide.at(), self.publish.at(), self.leaving, woken];
        turns.into_iter().flatten().min().unwrap_or_else(|| Instant::now() + FAR)
    }
}
