//! Random cases: a cluster, a rollout, what operators do, and what goes wrong. All of it from one seed.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::network::Weather;
use crate::engine::Str;
use crate::engine::command::{Command, Early, Step, Takeover};
use crate::engine::event::Watched;
use crate::engine::facts::StrategyKind;
use crate::engine::image::ImageRef;
use crate::engine::quantity::IntOrPercent;
use crate::engine::record::{Budgets, Gates, OnFailure, OnFlip};
use crate::engine::tuning::Tuning;
use crate::sim::world::scenario::{
    ClusterFault, ControllerVariant, DaemonSetPlan, Fault, FleetFault, Image, PullError, Scenario, Tolerates, seconds,
};

/// The DaemonSet that every case is about.
pub const DAEMON_SET: (&str, &str) = ("edge", "agent");
const MB: u64 = 1_000_000;

/// One run, before it is run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Case {
    /// What it found, for a case that is kept.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub found: String,
    /// What it was made from; chance in the world and on the network comes from it too.
    pub seed: u64,
    /// The world and what goes wrong in it.
    pub scenario: Scenario,
    /// What operators do and what goes wrong around them, with how long after the beginning, in order.
    #[serde(with = "seconds::timeline")]
    pub acts: Vec<(Duration, Act)>,
    /// The network of consoles until the calm.
    pub weather: Weather,
    /// From then on nothing goes wrong any more, and an operator brings things to an end.
    #[serde(with = "seconds")]
    pub calm_after: Duration,
    /// Images that will never work.
    pub bad_images: Vec<Str>,
    /// How far each console's clock is off, in milliseconds, by its number.
    pub skews: Vec<i64>,
}

/// Something that an operator does, or that happens to a console.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Act {
    /// A console is opened.
    Open(usize),
    /// Somebody asks for something on a console; ignored where it is not open.
    Ask(usize, Command),
    /// A console is killed; what it sent last may still arrive.
    Kill(usize),
    /// A watch of a console breaks for a while.
    BreakWatch(usize, Watched, #[serde(with = "seconds")] Duration),
    /// The log of changes is cut: broken watches have to list anew.
    Compact,
}

struct Maker {
    rng: fastrand::Rng,
}

impl Case {
    /// The case of a seed.
    pub fn random(seed: u64) -> Self {
        let mut maker = Maker { rng: fastrand::Rng::with_seed(seed) };
        let calm_after = Duration::from_secs(maker.rng.u64(60..400));
        let bad_images: Vec<Str> = ["agent:missing", "agent:denied", "agent:crash"].map(Str::from).into();
        let mut scenario = maker.cluster();
        let nodes: Vec<Str> = scenario.nodes.iter().map(|node| node.name.clone()).collect();
        for (at, fault) in maker.faults(&nodes, calm_after) {
            scenario = scenario.with_fault(at, fault);
        }
        let acts = maker.acts(calm_after, nodes.len());
        let rough = maker.one_in(2);
        let weather = if rough { maker.weather() } else { Weather::FINE };
        let skews = (0..3).map(|_| if maker.one_in(4) { maker.rng.i64(-120_000..120_000) } else { 0 }).collect();
        Self { found: String::new(), seed, scenario, acts, weather, calm_after, bad_images, skews }
    }
}

impl Maker {
    fn one_in(&mut self, count: u32) -> bool {
        self.rng.u32(0..count) == 0
    }

    fn secs(&mut self, range: std::ops::Range<u64>) -> Duration {
        Duration::from_millis(self.rng.u64(range.start * 1000..range.end * 1000))
    }

    fn cluster(&mut self) -> Scenario {
        let mut scenario = Scenario::new("attack");
        if self.one_in(3) {
            scenario = scenario.with_controller(ControllerVariant::V1_20);
        }
        for site in 0..self.rng.usize(1..=2) {
            let name = ["a", "b"][site];
            let link = [1_000_000, 10_000_000, 100_000_000][self.rng.usize(0..3)];
            scenario = scenario.with_site(name, link, &format!("n{name}-"), self.rng.usize(2..=7));
        }
        for (nth, node) in scenario.nodes.iter_mut().enumerate() {
            if nth % 3 == 0 {
                node.labels = [("canary", "true")].into_iter().collect();
            }
        }
        let size = |maker: &mut Self| maker.rng.u64(1..60) * MB;
        let ready_in = self.secs(0..6);
        for name in ["agent:v1", "agent:v2", "agent:v3"] {
            let mut image = Image::new(name, size(self));
            image.ready_in = ready_in;
            scenario = scenario.with_image(image);
        }
        let mut missing = Image::new("agent:missing", MB);
        missing.error = Some(PullError::NotFound);
        let mut denied = Image::new("agent:denied", MB);
        denied.error = Some(PullError::Denied);
        let mut crash = Image::new("agent:crash", MB);
        crash.crashes_after = Some(self.secs(1..8));
        for image in [missing, denied, crash] {
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
        scenario.with_daemon_set(plan)
    }

    fn weather(&mut self) -> Weather {
        Weather {
            min_delay: 1,
            max_delay: [10, 100, 1500][self.rng.usize(0..3)],
            lost_requests: self.rng.u32(0..60),
            lost_answers: self.rng.u32(0..60),
            throttled: self.rng.u32(0..60),
            not_sent: self.rng.u32(0..60),
        }
    }

    fn node(&mut self, nodes: &[Str]) -> Str {
        nodes[self.rng.usize(0..nodes.len())].clone()
    }

    /// Faults of the world, all healed before the calm.
    fn faults(&mut self, nodes: &[Str], calm: Duration) -> Vec<(Duration, Fault)> {
        let mut faults = Vec::new();
        let count = if self.one_in(4) { 0 } else { self.rng.usize(0..8) };
        for _ in 0..count {
            let at = self.secs(0..calm.as_secs());
            let until = (at + self.secs(1..120)).min(calm);
            let node = self.node(nodes);
            let daemon_set = Str::from(format!("{}/{}", DAEMON_SET.0, DAEMON_SET.1));
            match self.rng.u32(0..12) {
                0 | 1 => {
                    faults.push((at, FleetFault::Cut(node.clone()).into()));
                    faults.push((until, FleetFault::Restore(node).into()));
                }
                2 => {
                    faults.push((at, FleetFault::PowerOff(node.clone()).into()));
                    faults.push((until, FleetFault::PowerOn(node).into()));
                }
                3 | 4 => {
                    for _ in 0..self.rng.u32(1..5) {
                        let node = self.node(nodes);
                        faults.push((at, FleetFault::ProbesFail(node.clone()).into()));
                        faults.push((until, FleetFault::ProbesPass(node).into()));
                    }
                }
                5 => faults.push((at, FleetFault::EvictAll(node).into())),
                6 => faults.push((at, ClusterFault::DeletePods { daemon_set, node }.into())),
                7 => {
                    let value = if self.one_in(2) { "true" } else { "" };
                    let labels = BTreeMap::from([("canary".to_owned(), value.to_owned())]);
                    faults.push((at, ClusterFault::Label { node, labels }.into()));
                }
                8 => {
                    faults.push((at, ClusterFault::Cordon(node.clone()).into()));
                    faults.push((until, ClusterFault::Uncordon(node).into()));
                }
                9 => {
                    let kind = StrategyKind::RollingUpdate;
                    faults.push((at, ClusterFault::SetStrategy { daemon_set, kind, max_unavailable: None }.into()));
                }
                10 => {
                    let image = ["agent:v1", "agent:v2", "agent:v3"][self.rng.usize(0..3)];
                    let images = BTreeMap::from([("agent".to_owned(), image.to_owned())]);
                    faults.push((at, ClusterFault::SetImages { daemon_set, images }.into()));
                }
                _ => {
                    let error = Some([PullError::Network, PullError::RateLimit][self.rng.usize(0..2)]);
                    faults.push((at, FleetFault::Registry { image: "agent:v2".into(), error }.into()));
                    faults.push((until, FleetFault::Registry { image: "agent:v2".into(), error: None }.into()));
                }
            }
        }
        faults.sort_by_key(|(at, _)| *at);
        faults
    }

    /// What operators do: one begins a rollout, others come and interfere, some are killed.
    fn acts(&mut self, calm: Duration, nodes: usize) -> Vec<(Duration, Act)> {
        let mut acts = vec![(Duration::ZERO, Act::Open(0)), (Duration::from_secs(1), Act::Open(1))];
        let start = self.secs(2..6);
        if self.one_in(4) {
            acts.push((start, Act::Ask(0, self.tuning(nodes))));
        }
        acts.push((start, Act::Ask(0, self.new_image())));
        if self.one_in(3) {
            acts.push((start + self.secs(1..3), Act::Ask(0, self.selection())));
        }
        acts.push((start + self.secs(3..5), Act::Ask(0, self.step(nodes))));
        for _ in 0..self.rng.usize(0..10) {
            let at = self.secs(8..calm.as_secs().max(20));
            let who = self.rng.usize(0..3);
            let act = match self.rng.u32(0..16) {
                0..=4 => Act::Ask(who, self.step(nodes)),
                5 => Act::Ask(who, self.selection()),
                6 => Act::Ask(who, Command::Pause { why: None }),
                7 => Act::Ask(who, Command::Resume),
                8 => Act::Ask(who, Command::Undo { to: None }),
                9 => Act::Ask(who, Command::Drive(Takeover::Ask)),
                10 => Act::Kill(who),
                11 => Act::Open(who),
                12 => Act::Ask(who, self.new_image()),
                13 => Act::Compact,
                14 if self.one_in(3) => Act::Ask(who, Command::Release(Early::Accept)),
                14 => Act::Ask(who, Command::StandDown),
                _ => Act::BreakWatch(who, Watched::ALL[self.rng.usize(0..6)], self.secs(1..40)),
            };
            acts.push((at, act));
        }
        acts.sort_by_key(|(at, _)| *at);
        acts
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
        Command::SetImage(image.into_iter().map(|image| ("agent".to_owned(), image)).collect())
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

    fn tuning(&mut self, nodes: usize) -> Command {
        let budgets = Budgets {
            max_unavailable: Some(IntOrPercent::Int(self.rng.u32(1..=u32::try_from(nodes).unwrap_or(2)))),
            max_pulling: if self.one_in(2) { Some(IntOrPercent::Int(self.rng.u32(1..3))) } else { None },
            strict: self.one_in(3),
        };
        let gates = Gates {
            failure_threshold: IntOrPercent::Int(self.rng.u32(1..4)),
            progress_deadline_secs: self.rng.u32(60..600),
            on_failure: if self.one_in(2) { OnFailure::RollBack } else { OnFailure::Halt },
            ..Gates::default()
        };
        let on_flip = Some(if self.one_in(2) { OnFlip::Rebrake } else { OnFlip::Report });
        Command::Tune(Tuning { on_flip, ..Tuning::from(budgets).and(gates.into()) })
    }
}
