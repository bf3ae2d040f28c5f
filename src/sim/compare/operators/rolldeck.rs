//! A rolldeck with its default settings, and an operator who pre-warms all nodes where that is the method, sets the image,
//! allows all nodes, and resumes after a halt.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::meter::Meter;
use super::RolloutOperator;
use crate::engine::model::command::{Command, PrewarmCommand, Step};
use crate::engine::model::config::{RateLimit, Role};
use crate::engine::model::image::ImageRef;
use crate::engine::model::prewarm::{PrewarmLimits, PrewarmNodes, PrewarmSource};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{Phase, Snapshot};
use crate::sim::attack::api_client::Deletion;
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
    stage: Stage,
    looks_at: Timestamp,
    deletions: Vec<Deletion>,
    halts: Vec<String>,
}

/// What the operator does next.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Prewarms(PrewarmLimits),
    /// Until every node has the image.
    WaitsForImages,
    SetsImage,
    AllowsAll,
    LooksOn,
}

impl Rolldeck {
    /// With these limits it pre-warms first.
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
            stage: prewarms.map_or(Stage::SetsImage, Stage::Prewarms),
            looks_at: world.now(),
            deletions: Vec::new(),
            halts: Vec::new(),
        }
    }

    /// The command that the operator gives now, and what comes after it.
    fn next_command(&self, shown: &Snapshot) -> Option<(Command, Stage)> {
        match self.stage {
            Stage::Prewarms(limits) if shown.phase != Phase::Loading => {
                let source = PrewarmSource::Images(self.images.clone());
                let start = PrewarmCommand::Start { source, nodes: PrewarmNodes::All, limits };
                Some((Command::Prewarm(start), Stage::WaitsForImages))
            }
            Stage::WaitsForImages if has_all_images(shown) => {
                Some((Command::SetImage(self.images.clone()), Stage::AllowsAll))
            }
            Stage::SetsImage if shown.phase != Phase::Loading => {
                Some((Command::SetImage(self.images.clone()), Stage::AllowsAll))
            }
            Stage::AllowsAll if shown.phase == Phase::Held => {
                Some((Command::Step(Step::Updated(IntOrPercent::Percent(100))), Stage::LooksOn))
            }
            Stage::LooksOn if shown.phase == Phase::Halted => Some((Command::Resume, Stage::LooksOn)),
            _ => None,
        }
    }
}

fn has_all_images(shown: &Snapshot) -> bool {
    shown.prewarm.as_ref().is_some_and(|prewarm| {
        prewarm.error.is_none() && prewarm.counts.nodes > 0 && prewarm.counts.present == prewarm.counts.nodes
    })
}

impl RolloutOperator for Rolldeck {
    fn act(&mut self, world: &mut World, _progress: &Meter) {
        self.console.step(world, &mut self.deletions);
        let now = world.now();
        if now < self.looks_at {
            return;
        }
        self.looks_at = now + LOOK;
        let shown = self.console.snapshot(now);
        let Some((command, then)) = self.next_command(&shown) else { return };
        let halted = shown.halt.filter(|_| command == Command::Resume);
        // What is refused is tried again at the next look.
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
