//! Makes random cases. All of one comes from its seed; every kind of fault that there is gets its share.

mod template;

mod refusals;

mod suspects;

mod surging;
mod unfit;

mod distance;

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use super::case::{Act, Case, CrashPoint, DAEMON_SET, LeaseEdit, Upon};
use super::network::NetworkProfile;
use crate::engine::model::Str;
use crate::engine::model::command::{Command, Early, Step, Takeover};
use crate::engine::model::event::Watched;
use crate::engine::model::facts::{StrategyKind, Taint};
use crate::engine::model::image::ImageRef;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::record::{Budgets, Gates, OnDrift, OnFailure};
use crate::engine::model::template::TaintEffect;
use crate::engine::model::tuning::Tuning;
use crate::sim::world::kubelet::NodeSetup;
use crate::sim::world::scenario::{
    ClusterFault, ControllerVariant, DaemonSetPlan, Fault, FleetFault, Image, NodeSpec, PullError, Scenario, Tolerates,
};

const MB: u64 = 1_000_000;
/// How fast links may be, in bytes a second.
const LINKS: [u64; 3] = [1_000_000, 10_000_000, 100_000_000];

mod rare;

impl Case {
    /// The case of a seed.
    pub fn random(seed: u64) -> Self {
        let mut generator = Generator {
            rng: fastrand::Rng::with_seed(seed),
            faults: Vec::new(),
            calm: Duration::ZERO,
            joined: 0,
            surges: false,
        };
        generator.calm = Duration::from_secs(generator.rng.u64(60..400));
        let bad_images = ["agent:missing", "agent:denied", "agent:crash", suspects::UNSTEADY].map(Str::from).into();
        let mut scenario = generator.cluster();
        let nodes: Vec<Str> = scenario.nodes.iter().map(|node| node.name.clone()).collect();
        generator.faults(&nodes);
        generator.template_policies();
        if generator.one_in(10) {
            generator.tainted_for_long(&nodes);
        }
        generator.rare_faults(&scenario);
        let mut acts = generator.acts(&nodes, &scenario);
        acts.extend(generator.refusals(&nodes));
        acts.sort_by_key(|(at, _)| *at);
        scenario.faults = std::mem::take(&mut generator.faults);
        scenario.faults.sort_by_key(|(at, _)| *at);
        let network = if generator.one_in(2) { generator.network() } else { NetworkProfile::FINE };
        let network = if generator.one_in(4) { generator.far_away(network) } else { network };
        let rate = generator.one_in(4).then(|| (generator.rng.u32(1..4), generator.rng.u32(1..4)));
        let skews =
            (0..3).map(|_| if generator.one_in(4) { generator.rng.i64(-120_000..120_000) } else { 0 }).collect();
        Self {
            found: String::new(),
            seed,
            scenario,
            acts,
            network,
            rate,
            calm_after: generator.calm,
            bad_images,
            skews,
        }
    }
}

struct Generator {
    rng: fastrand::Rng,
    faults: Vec<(Duration, Fault)>,
    /// From then on nothing goes wrong any more.
    calm: Duration,
    /// How many nodes join.
    joined: u32,
    /// Its DaemonSet surges.
    surges: bool,
}

impl Generator {
    fn one_in(&mut self, count: u32) -> bool {
        self.rng.u32(0..count) == 0
    }

    fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.rng.usize(0..choices.len())].clone()
    }

    fn secs(&mut self, range: Range<u64>) -> Duration {
        Duration::from_millis(self.rng.u64(range.start * 1000..range.end * 1000))
    }

    // ── The cluster ───────────────────────────────────────────────────────────────────────────────────────────────

    fn cluster(&mut self) -> Scenario {
        let mut scenario = Scenario::new("attack");
        scenario = match self.rng.u32(0..6) {
            0 | 1 => scenario.with_controller(ControllerVariant::V1_20),
            2 => scenario.with_controller(ControllerVariant::V1_21Bug),
            _ => scenario,
        };
        // What is compared needs some to be compared with.
        let large = self.one_in(10);
        for site in 0..if large { 1 } else { self.rng.usize(1..=2) } {
            let name = ["a", "b"][site];
            let link = self.of(&LINKS);
            let nodes = if large { self.rng.usize(15..=18) } else { self.rng.usize(2..=7) };
            scenario = scenario.with_site(name, link, &format!("n{name}-"), nodes);
        }
        for (nth, node) in scenario.nodes.iter_mut().enumerate() {
            if nth % 3 == 0 {
                node.labels = [("canary", "true")].into_iter().collect();
            }
        }
        for image in self.images() {
            scenario = scenario.with_image(image);
        }
        let mut plan = DaemonSetPlan::new(DAEMON_SET.0, DAEMON_SET.1, "agent:v1");
        plan.max_unavailable = match self.rng.u32(0..4) {
            0 => IntOrPercent::Percent(self.rng.u8(10..50)),
            _ => IntOrPercent::Int(self.rng.u32(1..4)),
        };
        plan.min_ready_secs = if self.one_in(3) { self.rng.u32(1..8) } else { 0 };
        plan.grace_secs = self.rng.u32(1..12);
        plan.strategy = if self.one_in(5) { StrategyKind::OnDelete } else { StrategyKind::RollingUpdate };
        plan.tolerates = if self.one_in(2) { Tolerates::Everything } else { Tolerates::Nothing };
        self.surge(&mut plan, scenario.controller);
        scenario.with_daemon_set(plan)
    }

    fn images(&mut self) -> Vec<Image> {
        let ready_in = self.secs(0..6);
        let stops_in = if self.one_in(3) { self.secs(1..20) } else { Duration::from_secs(1) };
        let good = ["agent:v1", "agent:v2", "agent:v3"].map(|name| {
            let mut image = Image::new(name, self.rng.u64(1..60) * MB);
            image.ready_in = ready_in;
            image.stops_in = stops_in;
            image
        });
        let mut missing = Image::new("agent:missing", MB);
        missing.error = Some(PullError::NotFound);
        let mut denied = Image::new("agent:denied", MB);
        denied.error = Some(PullError::Denied);
        let mut crash = Image::new("agent:crash", MB);
        crash.crashes_after = Some(self.secs(1..8));
        let unsteady = self.unsteady();
        good.into_iter().chain([missing, denied, crash, unsteady]).collect()
    }

    fn network(&mut self) -> NetworkProfile {
        NetworkProfile {
            min_delay: 1,
            max_delay: self.of(&[10, 100, 1500]),
            distance: 0,
            swells: 0,
            lost_requests: self.rng.u32(0..60),
            lost_answers: self.rng.u32(0..60),
            throttled: self.rng.u32(0..60),
            not_sent: self.rng.u32(0..60),
            server_errors: self.rng.u32(0..60),
        }
    }

    // ── What goes wrong in the world ──────────────────────────────────────────────────────────────────────────────

    fn add(&mut self, at: Duration, fault: impl Into<Fault>) {
        self.faults.push((at, fault.into()));
    }

    /// Faults of the world, all healed before the calm.
    fn faults(&mut self, nodes: &[Str]) {
        let count = if self.one_in(5) { 0 } else { self.rng.usize(0..9) };
        if self.one_in(4) {
            self.wrong_clocks(nodes);
        }
        for _ in 0..count {
            let at = self.secs(0..self.calm.as_secs());
            let until = (at + self.secs(1..120)).min(self.calm);
            let node = self.of(nodes);
            match self.rng.u32(0..20) {
                0..=2 => self.turn(at, until, FleetFault::Cut(node.clone()), FleetFault::Restore(node)),
                3 => self.turn(at, until, FleetFault::PowerOff(node.clone()), FleetFault::PowerOn(node)),
                4 | 5 => {
                    for _ in 0..self.rng.u32(1..5) {
                        let node = self.of(nodes);
                        self.turn(at, until, FleetFault::ProbesFail(node.clone()), FleetFault::ProbesPass(node));
                    }
                }
                // A controller that surges makes pods without end where the kubelet refuses them, and takes hours to remove
                // those that failed.
                6 | 7 if self.surges => {}
                6 => self.add(at, FleetFault::EvictAll(node)),
                7 => self.turn(at, until, FleetFault::DiskFull(node.clone()), FleetFault::DiskFree(node)),
                8 => self.slow_link(&node, at, until),
                9 => {
                    let image: Str = self.of(&["agent:v1", "agent:v2", "agent:v3"]).into();
                    let error = Some(self.of(&[PullError::Network, PullError::RateLimit]));
                    let serves = FleetFault::Registry { image: image.clone(), error: None };
                    self.turn(at, until, FleetFault::Registry { image, error }, serves);
                }
                10 => self.join(at),
                11 => {
                    self.add(at, FleetFault::Leave(node.clone()));
                    // What looks after the machines removes the node some time later.
                    self.add(until, ClusterFault::DeleteNode(node));
                }
                _ => self.write_of_others(node, at, until),
            }
        }
    }

    fn turn(&mut self, at: Duration, until: Duration, begins: impl Into<Fault>, ends: impl Into<Fault>) {
        self.add(at, begins);
        self.add(until, ends);
    }

    /// Clocks of nodes are off: from the beginning, or from some moment on.
    fn wrong_clocks(&mut self, nodes: &[Str]) {
        for _ in 0..self.rng.usize(1..4) {
            let (node, offset_millis) = (self.of(nodes), self.rng.i64(-600_000..600_000));
            let at = if self.one_in(2) { Duration::ZERO } else { self.secs(0..self.calm.as_secs()) };
            let right = FleetFault::Clock { node: node.clone(), offset_millis: 0 };
            self.turn(at, self.calm, FleetFault::Clock { node, offset_millis }, right);
        }
    }

    fn slow_link(&mut self, node: &Str, at: Duration, until: Duration) {
        let site: Str = if node.starts_with("na") { "a" } else { "b" }.into();
        let bytes_per_sec = self.rng.u64(20_000..500_000);
        let restored = self.of(&LINKS);
        let slow = FleetFault::Link { site: site.clone(), bytes_per_sec };
        self.turn(at, until, slow, FleetFault::Link { site, bytes_per_sec: restored });
    }

    fn join(&mut self, at: Duration) {
        let labels = if self.one_in(3) { [("canary", "true")].into_iter().collect() } else { Default::default() };
        self.joined += 1;
        let name = Str::from(format!("na-9{}", self.joined));
        let spec = NodeSpec { name, site: "a".into(), labels, ..NodeSpec::default() };
        let images = if self.one_in(2) { vec!["agent:v1".into()] } else { Vec::new() };
        self.add(at, FleetFault::Join(Box::new(NodeSetup { spec, images })));
    }

    /// Writes that somebody else makes through the API.
    fn write_of_others(&mut self, node: Str, at: Duration, until: Duration) {
        let daemon_set = Str::from(format!("{}/{}", DAEMON_SET.0, DAEMON_SET.1));
        match self.rng.u32(0..9) {
            0 | 1 => self.add(at, ClusterFault::DeletePods { daemon_set, node }),
            2 => {
                let value = if self.one_in(2) { "true" } else { "" };
                let labels = BTreeMap::from([("canary".to_owned(), value.to_owned())]);
                self.add(at, ClusterFault::Label { node, labels });
            }
            3 => self.turn(at, until, ClusterFault::Cordon(node.clone()), ClusterFault::Uncordon(node)),
            4 => {
                let effect = self.of(&[TaintEffect::NoSchedule, TaintEffect::NoExecute]);
                let taint = Taint { key: "dedicated".into(), value: "".into(), effect };
                let key = taint.key.clone();
                self.turn(
                    at,
                    until,
                    ClusterFault::Taint { node: node.clone(), taint },
                    ClusterFault::Untaint { node, key },
                );
            }
            5 => self.drift(at),
            6 => {
                let image = self.of(&["agent:v1", "agent:v2", "agent:v3"]);
                let images = BTreeMap::from([("agent".to_owned(), image.to_owned())]);
                self.add(at, ClusterFault::SetImages { daemon_set, images });
            }
            7 => {
                let (kind, max) = (StrategyKind::OnDelete, Some(IntOrPercent::Int(self.rng.u32(1..4))));
                self.add(at, ClusterFault::SetStrategy { daemon_set, kind, max_unavailable: max });
            }
            _ => {
                let namespace: Str = DAEMON_SET.0.into();
                let why = "exceeded quota: edge, requested: pods=1, used: pods=8, limited: pods=8".into();
                let refuse = ClusterFault::RefusePods { namespace: namespace.clone(), why };
                self.turn(at, until, refuse, ClusterFault::AdmitPods { namespace });
            }
        }
    }

    /// A GitOps tool sets the strategy back: once, or again and again.
    fn drift(&mut self, at: Duration) {
        let every = self.secs(5..60);
        let times = if self.one_in(3) { self.rng.u32(2..12) } else { 1 };
        let max_unavailable = self.one_in(2).then(|| IntOrPercent::Int(self.rng.u32(1..4)));
        for nth in 0..times {
            let when = at + every * nth;
            if when < self.calm {
                self.set_back(when, max_unavailable);
            }
        }
    }

    /// Somebody sets the strategy back to `RollingUpdate`.
    fn set_back(&mut self, at: Duration, max_unavailable: Option<IntOrPercent>) {
        let daemon_set = Str::from(format!("{}/{}", DAEMON_SET.0, DAEMON_SET.1));
        self.add(at, ClusterFault::SetStrategy { daemon_set, kind: StrategyKind::RollingUpdate, max_unavailable });
    }

    // ── What operators do, and what happens to their consoles ─────────────────────────────────────────────────────

    /// What operators do: one begins a rollout, others come and interfere, some are killed.
    fn acts(&mut self, names: &[Str], scenario: &Scenario) -> Vec<(Duration, Act)> {
        let node_grace = scenario.node_grace;
        let nodes = names.len();
        let mut acts = vec![(Duration::ZERO, Act::Open(0)), (Duration::from_secs(1), Act::Open(1))];
        let start = self.secs(2..6);
        if self.one_in(4) {
            acts.push((start, Act::Ask(0, Command::Tune(self.tuning(nodes)))));
        }
        acts.push((start, Act::Ask(0, self.new_image())));
        if self.one_in(3) {
            acts.push((start + self.secs(1..3), Act::Ask(0, self.selection())));
        }
        acts.push((start + self.secs(3..5), Act::Ask(0, self.step(nodes))));
        for _ in 0..self.rng.usize(0..12) {
            let at = self.secs(8..self.calm.as_secs().max(20));
            let act = if self.one_in(3) { self.mishap(nodes) } else { self.deed(nodes) };
            acts.push((at, if self.one_in(4) { self.well_timed(act) } else { act }));
        }
        if self.one_in(6) {
            let at = self.secs(6..self.calm.as_secs().max(20));
            acts.extend(self.overtaken().map(|act| (at, act)));
        }
        if self.one_in(40) {
            acts.extend(self.stuck_watch(names));
        }
        if self.one_in(12) {
            acts.extend(self.deleted_in_the_middle(scenario));
        }
        if self.one_in(12) {
            acts.extend(self.ruined_record(nodes));
        }
        if self.one_in(12) {
            acts.extend(self.unlisted_lease());
        }
        if self.one_in(12) {
            acts.extend(self.unseen_drift());
        }
        if self.one_in(12) {
            acts.extend(self.unseen_deletion());
        }
        if self.one_in(12) {
            // While the rollout is young, and seldom over.
            let at = self.secs(8..30);
            self.set_back(at, None);
        }
        if self.one_in(12) {
            acts.extend(self.unheard_pause());
        }
        if self.one_in(10) {
            let undo = self.refused_undo();
            acts.push((start, undo));
        }
        if self.one_in(10) {
            let unseen = self.unseen_revision(start);
            acts.push(unseen);
        }
        if self.one_in(12) {
            acts.extend(self.late_pause(nodes));
        }
        if self.one_in(12) {
            acts.extend(self.unseen_outage(names, node_grace));
        }
        if self.one_in(8) {
            acts.extend(self.suspects(names, node_grace));
        }
        if self.one_in(12) {
            acts.extend(self.restarts());
        }
        if self.one_in(8) {
            self.pods_that_stay(names);
        }
        acts.sort_by_key(|(at, _)| *at);
        acts
    }

    /// Has something happen when it may do the most harm.
    fn well_timed(&mut self, act: Act) -> Act {
        let what = self.of(&[Upon::Deletion, Upon::Deletion, Upon::Failure]);
        Act::Upon { what, after: self.rng.u32(0..4), act: Box::new(act) }
    }

    /// A process stands still with what it was about to send, and meanwhile the rollout is paused elsewhere.
    fn overtaken(&mut self) -> [Act; 2] {
        let (who, lasts) = (self.rng.usize(0..2), self.secs(1..9));
        let stops = if self.one_in(2) {
            Act::Crash(who, self.rng.u32(0..12), CrashPoint::Suspend { lasts })
        } else {
            // What answers a failure is decided, and not sent.
            let act = Box::new(Act::Crash(who, self.rng.u32(0..4), CrashPoint::Suspend { lasts }));
            Act::Upon { what: Upon::Failure, after: self.rng.u32(0..3), act }
        };
        let pause = Box::new(Act::OneShot(Command::Pause { why: None }));
        [stops, Act::Upon { what: Upon::Standstill, after: 0, act: pause }]
    }

    /// A driver that goes back by itself stands still over it, and somebody pauses.
    fn unheard_pause(&mut self) -> Vec<(Duration, Act)> {
        let at = self.secs(6..self.calm.as_secs() / 2);
        let goes_back = Tuning { on_failure: Some(OnFailure::RollBack), ..Tuning::default() };
        let missing: Option<ImageRef> = "agent:missing".parse().ok();
        let image = Command::SetImage(missing.into_iter().map(|image| ("agent".to_owned(), image)).collect());
        let all = Command::Step(Step::Updated(IntOrPercent::Percent(100)));
        let stops = Act::Crash(0, self.rng.u32(0..3), CrashPoint::Suspend { lasts: self.secs(2..9) });
        let stops = Act::Upon { what: Upon::Failure, after: 0, act: Box::new(stops) };
        let pause = Act::OneShot(Command::Pause { why: None });
        let pause = Act::Upon { what: Upon::Standstill, after: 0, act: Box::new(pause) };
        let asks = [Command::Tune(goes_back), image, all].map(|command| (at, Act::Ask(0, command)));
        asks.into_iter().chain([stops, pause].map(|act| (at, act))).collect()
    }

    /// Somebody ruins the record, and deletes it, as consoles then advise; one of them is told of it late.
    fn ruined_record(&mut self, nodes: usize) -> Vec<(Duration, Act)> {
        let at = self.secs(6..self.calm.as_secs().max(20));
        let deleted_at = at + if self.one_in(2) { self.secs(0..4) } else { self.secs(0..1) };
        let ruin = [(at, Act::EditLease(LeaseEdit::Garble)), (deleted_at, Act::EditLease(LeaseEdit::Delete))];
        let asked_at = at.saturating_sub(self.secs(0..2));
        let asks = self.one_in(2).then(|| (asked_at, Act::Ask(self.rng.usize(0..2), self.step(nodes))));
        ruin.into_iter().chain(asks).collect()
    }

    /// The lease is deleted where a console cannot see it, and the log of that is gone by then: a new list does not name it.
    fn unlisted_lease(&mut self) -> [(Duration, Act); 3] {
        let (at, lasts) = (self.secs(4..self.calm.as_secs() / 2), self.secs(5..30));
        let deleted_at = at + self.secs(2..5);
        [
            (at, Act::BreakWatch(self.rng.usize(0..2), Watched::Lease, lasts)),
            (at + self.secs(0..2), Act::Compact),
            (deleted_at, Act::EditLease(LeaseEdit::Delete)),
        ]
    }

    /// The strategy is set back where a console cannot see it, and somebody pauses there.
    fn unseen_drift(&mut self) -> [(Duration, Act); 2] {
        let who = self.rng.usize(0..2);
        let at = self.secs(8..self.calm.as_secs() - 2);
        let drifts_at = at + self.secs(0..2);
        self.set_back(drifts_at, None);
        let pause = Act::Ask(who, Command::Pause { why: None });
        [(at, Act::BreakWatch(who, Watched::DaemonSet, self.secs(10..40))), (at + self.secs(2..12), pause)]
    }

    /// A node goes down where the driver does not see it, and others see to it that there is much to do right then.
    fn unseen_outage(&mut self, names: &[Str], node_grace: Duration) -> Vec<(Duration, Act)> {
        let at = self.secs(1..20);
        let node = self.of(names);
        let until = (at + node_grace + self.secs(30..90)).min(self.calm);
        self.turn(at, until, FleetFault::Cut(node.clone()), FleetFault::Restore(node));
        let blind_at = (at + node_grace).saturating_sub(self.secs(0..8));
        let all = Command::Step(Step::Updated(IntOrPercent::Percent(100)));
        vec![
            (blind_at, Act::BreakWatch(0, Watched::Nodes, self.secs(8..20))),
            (blind_at + self.secs(0..3), Act::OneShot(self.new_image())),
            (blind_at + self.secs(3..6), Act::OneShot(all)),
        ]
    }

    /// Finalizers keep pods that are deleted: some for a moment, some until long after their grace.
    fn pods_that_stay(&mut self, names: &[Str]) {
        let daemon_set = Str::from(format!("{}/{}", DAEMON_SET.0, DAEMON_SET.1));
        for _ in 0..self.rng.u32(1..4) {
            let node = self.of(names);
            let (at, lasts) = (self.secs(0..self.calm.as_secs() / 2), self.secs(5..150));
            let finalizer = Str::from("example.com/hold");
            let add = ClusterFault::AddFinalizer {
                daemon_set: daemon_set.clone(),
                node: node.clone(),
                finalizer: finalizer.clone(),
            };
            let remove = ClusterFault::RemoveFinalizer { daemon_set: daemon_set.clone(), node, finalizer };
            self.turn(at, (at + lasts).min(self.calm), add, remove);
        }
    }

    /// Pods are deleted where their console does not see it, and it is asked for others right then.
    fn unseen_deletion(&mut self) -> [(Duration, Act); 2] {
        let at = self.secs(4..self.calm.as_secs() / 2);
        let (by, lasts) = (self.secs(2..8), self.secs(20..60));
        let select = Box::new(Act::Ask(0, Command::Select("!canary".parse().ok())));
        let others = Act::Upon { what: Upon::Deletion, after: self.rng.u32(0..3), act: select };
        [(at, Act::DelayWatch { who: 0, watched: Watched::Pods, by, lasts }), (at, others)]
    }

    /// What an operator may do on purpose.
    fn deed(&mut self, nodes: usize) -> Act {
        let who = self.rng.usize(0..3);
        match self.rng.u32(0..18) {
            0..=5 => Act::Ask(who, self.step(nodes)),
            6 => Act::Ask(who, self.selection()),
            7 => Act::Ask(who, Command::Pause { why: None }),
            8 => Act::Ask(who, Command::Resume),
            9 => Act::Ask(who, Command::Undo { to: None }),
            10 => Act::Ask(who, Command::Drive(Takeover::Ask)),
            11 => Act::Open(who),
            12 => Act::Ask(who, self.new_image()),
            13 if self.one_in(3) => Act::Ask(who, Command::Release(Early::Accept)),
            13 => Act::Ask(who, Command::StopDriving),
            14 if self.one_in(2) => Act::Ask(who, Command::Tune(self.drift_tuning())),
            14 => Act::Ask(who, self.step(nodes).under(self.tuning(nodes))),
            _ => Act::OneShot(match self.rng.u32(0..8) {
                0..=2 => self.step(nodes),
                3 => Command::Pause { why: None },
                4 => Command::Resume,
                5 => Command::Undo { to: None },
                6 => self.new_image(),
                _ => Command::Release(if self.one_in(2) { Early::Accept } else { Early::Refuse }),
            }),
        }
    }

    /// What nobody does on purpose, or should not.
    fn mishap(&mut self, nodes: usize) -> Act {
        let who = self.rng.usize(0..3);
        let watched = self.of(&Watched::ALL);
        match self.rng.u32(0..16) {
            0 => Act::Kill(who),
            1..=4 => {
                let again = self.secs(1..30);
                let trip = self.of(&[CrashPoint::KillBefore { again }, CrashPoint::KillAfter { again }]);
                Act::Crash(who, self.rng.u32(0..20), trip)
            }
            5 | 6 => Act::Crash(who, self.rng.u32(0..20), CrashPoint::Suspend { lasts: self.secs(1..40) }),
            7 => Act::Compact,
            8 | 9 => Act::BreakWatch(who, watched, self.secs(1..40)),
            10 => Act::DelayWatch { who, watched, by: self.secs(1..8), lasts: self.secs(5..60) },
            11 => Act::ReplayWatch { who, watched, back: self.rng.usize(1..30) },
            12 => {
                let lasts = if self.one_in(2) { self.secs(0..8) } else { Duration::ZERO };
                Act::StaleList { who, watched, back: self.rng.usize(1..30), lasts }
            }
            _ => {
                let count = self.rng.u32(0..=u32::try_from(nodes).unwrap_or(1));
                Act::EditLease(match self.rng.u32(0..8) {
                    0 => LeaseEdit::Delete,
                    1 => LeaseEdit::Garble,
                    2 => LeaseEdit::Pause,
                    3 | 4 => LeaseEdit::Partition(IntOrPercent::Int(count)),
                    5 => LeaseEdit::Budget(self.rng.u32(1..4)),
                    _ => LeaseEdit::Enforce,
                })
            }
        }
    }

    fn new_image(&mut self) -> Command {
        let image = match self.rng.u32(0..8) {
            0 => "agent:missing",
            1 => "agent:denied",
            2 => "agent:crash",
            3 => "agent:v3",
            _ => "agent:v2",
        };
        let image: Option<ImageRef> = image.parse().ok();
        let images = image.into_iter().map(|image| ("agent".to_owned(), image)).collect();
        self.with_budget(Command::SetImage(images))
    }

    fn selection(&mut self) -> Command {
        Command::Select(if self.one_in(3) { None } else { "canary=true".parse().ok() })
    }

    fn step(&mut self, nodes: usize) -> Command {
        let count = self.rng.u32(0..=u32::try_from(nodes).unwrap_or(1));
        Command::Step(match self.rng.u32(0..6) {
            0 => Step::Next,
            1 => Step::Partition(IntOrPercent::Int(count)),
            2 => Step::Updated(IntOrPercent::Int(count)),
            _ => Step::Updated(IntOrPercent::Percent(100)),
        })
    }

    fn tuning(&mut self, nodes: usize) -> Tuning {
        let budgets = Budgets {
            max_unavailable: Some(IntOrPercent::Int(self.rng.u32(1..=u32::try_from(nodes).unwrap_or(2)))),
            max_pulling: if self.one_in(2) { Some(IntOrPercent::Int(self.rng.u32(1..3))) } else { None },
            strict: self.one_in(3),
        };
        let gates = Gates {
            failure_threshold: IntOrPercent::Int(self.rng.u32(1..4)),
            progress_deadline_secs: self.rng.u32(60..600),
            soak_secs: if self.one_in(3) { self.rng.u32(1..20) } else { 0 },
            suspect_grace_secs: self.rng.u32(10..400),
            on_failure: if self.one_in(2) { OnFailure::RollBack } else { OnFailure::Halt },
            ..Gates::default()
        };
        Tuning::from(budgets).and(gates.into()).and(self.drift_tuning())
    }

    fn drift_tuning(&mut self) -> Tuning {
        Tuning { on_drift: self.one_in(2).then_some(OnDrift::EnforceOnDelete), ..Tuning::default() }
    }
}
