//! A console on the fake cluster: it hears what the cluster tells, and its effects are applied at once.

use super::FakeCluster;
use crate::engine::Engine;
use crate::engine::model::Str;
use crate::engine::model::command::{Command, CommandId, Refusal, Step};
use crate::engine::model::config::{Config, RateLimit, Role, Timing};
use crate::engine::model::effect::{Effect, EffectError, EffectErrorKind};
use crate::engine::model::event::{Event, WatchHealth, Watched};
use crate::engine::model::node::NodeState;
use crate::engine::model::notice::Notice;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::rollout_event::RolloutEvent;
use crate::engine::model::settings::{Finish, Tuning};
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::Snapshot;

/// A console on the fake cluster: an engine, and how much of the log it has read.
pub(crate) struct FakeConsole {
    pub(crate) engine: Engine,
    pub(super) log_read: usize,
    /// It does not hear from the cluster.
    pub(crate) deaf: bool,
    /// Watches that stand still, and what they have not told.
    muted: Vec<Watched>,
    kept_back: Vec<Event>,
    /// What it deletes is deleted, and it hears nothing of that.
    pub(crate) lose_answers: bool,
    /// The same of the pods for pre-warming that it makes.
    pub(crate) lose_creations: bool,
    pub(crate) settled: Vec<(CommandId, Result<String, String>)>,
    /// What it told of what happened.
    pub(crate) happened: Vec<RolloutEvent>,
    /// When timelines list each of it.
    pub(crate) happened_listed_at: Vec<Timestamp>,
    /// To which DaemonSet each of it happened, by its uid.
    pub(crate) happened_to: Vec<Option<Str>>,
}

impl FakeConsole {
    pub(crate) fn open(fake: &FakeCluster, who: &str) -> Self {
        Self::open_as(fake, who, Role::Driver)
    }

    pub(crate) fn open_as(fake: &FakeCluster, who: &str, role: Role) -> Self {
        // Where time stands still, nothing may wait for it.
        Self::open_at(fake, who, role, RateLimit { per_sec: 1_000_000, burst: 1_000_000 })
    }

    pub(crate) fn open_at(fake: &FakeCluster, who: &str, role: Role, rate: RateLimit) -> Self {
        let config = Config {
            namespace: "edge".into(),
            name: "agent".into(),
            identity: format!("{who}@bastion/{}", fake.log.len()).into(),
            role,
            timing: Timing::default(),
            rate,
            defaults: fake.defaults.clone(),
            restored_at: None,
        };
        let mut console = Self::loading(config);
        console.load(fake);
        console
    }

    /// One that has no right to read this.
    pub(crate) fn open_all_but(fake: &FakeCluster, who: &str, forbidden: Watched) -> Self {
        let config = Self::open(fake, who).engine.config().clone();
        let mut console = Self::loading(config);
        console.load_all_but(fake, Some(forbidden));
        console.muted.push(forbidden);
        let health = WatchHealth::Forbidden { why: "no right".into() };
        console.engine.observe(Event::Watch(forbidden, health), fake.now);
        console
    }

    /// As the driver begins anew where the state of the cluster went back: nothing is known yet.
    pub(crate) fn restored(fake: &FakeCluster, who: &str) -> Self {
        let config = Self::open(fake, who).engine.config().clone();
        Self { log_read: fake.log.len(), ..Self::loading(Config { restored_at: Some(fake.now), ..config }) }
    }

    fn loading(config: Config) -> Self {
        Self {
            engine: Engine::new(config),
            log_read: 0,
            deaf: false,
            muted: Vec::new(),
            kept_back: Vec::new(),
            lose_answers: false,
            lose_creations: false,
            settled: Vec::new(),
            happened: Vec::new(),
            happened_listed_at: Vec::new(),
            happened_to: Vec::new(),
        }
    }

    /// Tells it all that is there.
    pub(crate) fn load(&mut self, fake: &FakeCluster) {
        self.load_all_but(fake, None);
    }

    /// Tells it all that is there, but nothing of what this watch would show: that is still loading.
    pub(crate) fn load_all_but(&mut self, fake: &FakeCluster, unseen: Option<Watched>) {
        let (engine, now) = (&mut self.engine, fake.now);
        let mut tell = |event: Event| {
            if unseen.is_none() || event.watched() != unseen {
                engine.observe(event, now);
            }
        };
        tell(Event::DaemonSet(Box::new(fake.daemonset.clone())));
        fake.revisions.iter().for_each(|revision| tell(Event::Revision(Box::new(revision.clone()))));
        fake.nodes.values().for_each(|node| tell(Event::Node(Box::new(node.clone()))));
        fake.pods.values().for_each(|pod| tell(Event::Pod(Box::new(pod.clone()))));
        fake.events.iter().for_each(|event| tell(Event::Cluster(Box::new(event.clone()))));
        fake.warm.values().for_each(|warm| tell(Event::WarmPod(Box::new(warm.clone()))));
        match &fake.lease {
            Some(lease) => tell(Event::Lease(Box::new(lease.clone()))),
            None => tell(Event::LeaseGone(None)),
        }
        for watched in Watched::ALL.into_iter().filter(|watched| Some(*watched) != unseen) {
            engine.observe(Event::Watch(watched, WatchHealth::Live), now);
        }
        self.log_read = fake.log.len();
    }

    /// Lets it hear, decide and act until it has nothing more to do at this instant; returns how many effects it had.
    pub(crate) fn run(&mut self, fake: &mut FakeCluster) -> usize {
        let mut done = 0;
        loop {
            self.hear(fake);
            let effects = self.engine.decide(fake.now);
            self.listen();
            if effects.is_empty() {
                return done;
            }
            for (id, effect) in effects {
                done += 1;
                let lost = self.lose_answers && matches!(effect, Effect::DeletePod { .. })
                    || self.lose_creations && matches!(effect, Effect::CreateWarmPod { .. });
                let mut outcome = fake.carry_out(effect);
                if lost {
                    outcome = Err(EffectError {
                        kind: EffectErrorKind::Unknown,
                        message: "no answer".into(),
                        dry_run: false,
                    });
                }
                self.engine.outcome(id, outcome, fake.now);
            }
            // Nothing comes back in between.
            fake.measure();
            fake.reconcile();
            assert!(done < 10_000, "it never comes to rest");
        }
    }

    pub(crate) fn hear(&mut self, fake: &FakeCluster) {
        if !self.deaf {
            for event in &fake.log[self.log_read..] {
                if event.watched().is_some_and(|watched| self.muted.contains(&watched)) {
                    self.kept_back.push(event.clone());
                } else {
                    self.engine.observe(event.clone(), fake.now);
                }
            }
            self.log_read = fake.log.len();
        }
    }

    /// A watch stands still from now on.
    pub(crate) fn mute(&mut self, watched: Watched) {
        self.muted.push(watched);
    }

    /// It goes on, and tells at once what it has not told.
    pub(crate) fn unmute(&mut self, fake: &FakeCluster, watched: Watched) {
        self.hear(fake);
        self.muted.retain(|muted| *muted != watched);
        for event in std::mem::take(&mut self.kept_back) {
            if event.watched() == Some(watched) {
                self.engine.observe(event, fake.now);
            } else {
                self.kept_back.push(event);
            }
        }
    }

    pub(crate) fn listen(&mut self) {
        for notice in self.engine.take_notices() {
            match notice {
                Notice::Settled { id, result } => self.settled.push((id, result.map_err(|why| why.to_string()))),
                Notice::Happened { event, listed_at, uid } => {
                    self.happened.push(*event);
                    self.happened_listed_at.push(listed_at);
                    self.happened_to.push(uid);
                }
            }
        }
    }

    /// Lets time pass: a second at a time, with kubelets at work.
    pub(crate) fn run_for(&mut self, fake: &mut FakeCluster, secs: u64) {
        for _ in 0..secs {
            self.run(fake);
            let shown = self.snapshot(fake);
            let wakes = self.engine.wake_at();
            fake.wait(1);
            if wakes.is_none_or(|wakes| fake.now < wakes) {
                self.changes_nothing(fake, &shown);
            }
            fake.kubelets();
        }
        self.run(fake);
    }

    /// Time passed, and nothing else happened: before the instant that [`Engine::wake_at`] told, that changes nothing. What
    /// strikes by time and does not say when would strike here, and otherwise only once something else happens.
    fn changes_nothing(&mut self, fake: &FakeCluster, shown: &Snapshot) {
        if !self.engine.assess_anew() {
            return;
        }
        let effects = self.engine.decide(fake.now);
        assert!(effects.is_empty(), "at {}, which `wake_at` did not tell: {effects:?}", fake.now);
        let shows = self.engine.snapshot(fake.now).without_estimates();
        assert!(
            shows.shows_the_same_as(&shown.clone().without_estimates()),
            "at {}, which `wake_at` did not tell:\n{shown:#?}\n{shows:#?}",
            fake.now
        );
    }

    /// Asks for a command and carries it out.
    pub(crate) fn ask(&mut self, fake: &mut FakeCluster, command: Command) -> Result<String, String> {
        self.hear(fake);
        let id = self.engine.command(command, fake.now).map_err(|refusal: Refusal| refusal.to_string())?;
        self.run(fake);
        let at = self.settled.iter().position(|(settled, _)| *settled == id);
        at.map(|at| self.settled.remove(at).1).unwrap_or_else(|| Err("not settled".into()))
    }

    pub(crate) fn set_image(&mut self, fake: &mut FakeCluster, image: &str) {
        let images = [("agent".to_owned(), image.parse().unwrap())].into();
        self.ask(fake, Command::SetImage(images)).unwrap();
    }

    pub(crate) fn partition(&mut self, fake: &mut FakeCluster, keep: u32) {
        self.ask(fake, Command::Step(Step::Partition(IntOrPercent::Int(keep)))).unwrap();
    }

    pub(crate) fn keep(&mut self, fake: &mut FakeCluster) {
        self.ask(fake, Command::Tune(Tuning { finish: Some(Finish::Keep), ..Tuning::default() })).unwrap();
    }

    pub(crate) fn snapshot(&mut self, fake: &FakeCluster) -> Snapshot {
        self.hear(fake);
        self.engine.snapshot(fake.now)
    }

    pub(crate) fn state(&mut self, fake: &FakeCluster, node: &str) -> (NodeState, String) {
        let snapshot = self.snapshot(fake);
        let view = snapshot.nodes.iter().find(|view| &*view.name == node).unwrap();
        (view.state, crate::engine::report::snapshot::words::Why { node: view, at: snapshot.at }.to_string())
    }
}
