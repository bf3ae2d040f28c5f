//! An operator with rolldeck, who sets the image, allows all nodes, and resumes after a halt. If the method pre-warms, all nodes are pre-warmed
//! meanwhile, and each is updated once it has its image. All other settings are the default ones.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::meter::Meter;
use super::RolloutOperator;
use crate::engine::model::command::{Command, PrewarmCommand, Step};
use crate::engine::model::config::{RateLimit, Role};
use crate::engine::model::image::ImageRef;
use crate::engine::model::prewarm::{PrewarmLimits, PrewarmMethod, PrewarmNodes, PrewarmSource};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::Tuning;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{Phase, Snapshot};
use crate::sim::attack::api_client::AcceptedWrites;
use crate::sim::attack::console::SimulatedConsole;
use crate::sim::attack::network::{Network, NetworkProfile};
use crate::sim::world::World;
use crate::sim::world::scenario::RolloutPlan;

/// How often the operator looks at the screen.
const LOOK: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(in crate::sim::compare) struct Rolldeck {
    console: SimulatedConsole,
    images: BTreeMap<String, ImageRef>,
    tuning: Tuning,
    stage: OperatorStage,
    looks_at: Timestamp,
    accepted: AcceptedWrites,
    halts: Vec<String>,
}

/// What the operator does next.
#[derive(Clone, Debug)]
enum OperatorStage {
    Prewarms(PrewarmLimits),
    SetsImage,
    AllowsAll,
    LooksOn,
}

impl Rolldeck {
    /// An operator who pre-warms first if there are limits for it.
    pub(in crate::sim::compare) fn new(
        rollout: &RolloutPlan,
        prewarms: Option<PrewarmLimits>,
        (seed, world): (u64, &World),
    ) -> Self {
        let network = (Network::new(NetworkProfile::FINE, seed), RateLimit::default());
        let (namespace, name) = &rollout.daemon_set;
        let images = rollout.images.iter().filter_map(|(name, image)| Some((name.clone(), image.parse().ok()?)));
        Self {
            console: SimulatedConsole::open(world, (namespace, name), "ops", Role::Driver, network),
            images: images.collect(),
            // The limits hold for pre-warming and updates together.
            tuning: Tuning {
                require_image: prewarms.as_ref().map(|_| true),
                max_pulling: prewarms.as_ref().map(|limits| limits.max_pulling),
                max_pulling_per_site: prewarms.as_ref().map(|limits| limits.max_pulling_per_site),
                pace: prewarms.as_ref().map(|limits| limits.pace),
                ..Tuning::default()
            },
            stage: prewarms.map_or(OperatorStage::SetsImage, OperatorStage::Prewarms),
            looks_at: world.now(),
            accepted: AcceptedWrites::default(),
            halts: Vec::new(),
        }
    }

    /// The command that the operator gives now, and the stage after it.
    fn next_command(&self, shown: &Snapshot) -> Option<(Command, OperatorStage)> {
        match &self.stage {
            OperatorStage::Prewarms(limits) if shown.phase != Phase::Loading => {
                let source = PrewarmSource::Images(self.images.clone());
                let start = PrewarmCommand::Start {
                    source,
                    nodes: PrewarmNodes::All,
                    limits: limits.clone(),
                    method: PrewarmMethod::Pods,
                };
                Some((Command::Prewarm(start), OperatorStage::SetsImage))
            }
            OperatorStage::SetsImage if shown.phase != Phase::Loading => {
                Some((Command::SetImage(self.images.clone()).under(self.tuning.clone()), OperatorStage::AllowsAll))
            }
            OperatorStage::AllowsAll if shown.phase == Phase::Held => {
                Some((Command::Step(Step::Updated(IntOrPercent::Percent(100))), OperatorStage::LooksOn))
            }
            OperatorStage::LooksOn if shown.phase == Phase::Halted => Some((Command::Resume, OperatorStage::LooksOn)),
            _ => None,
        }
    }
}

impl RolloutOperator for Rolldeck {
    fn act(&mut self, world: &mut World, _progress: &Meter) {
        self.console.step(world, &mut self.accepted);
        let now = world.now();
        if now < self.looks_at {
            return;
        }
        self.looks_at = now + LOOK;
        let shown = self.console.snapshot(now);
        let Some((command, then)) = self.next_command(&shown) else { return };
        let halted = shown.halt.filter(|_| command == Command::Resume);
        // A refused command is tried again at the next look.
        if self.console.command(command, now).is_ok() {
            self.stage = then;
            self.halts.extend(halted.map(|halt| halt.why.to_string()));
            self.looks_at = now + LOOK * 5;
        }
    }

    fn next_at(&self) -> Option<Timestamp> {
        self.console.next_at().into_iter().chain([self.looks_at]).min()
    }

    fn halts(self: Box<Self>) -> Vec<String> {
        self.halts
    }
}
