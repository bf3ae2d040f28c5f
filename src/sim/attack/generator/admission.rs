//! Admission policies that change writes: one sets the update strategy, another adds a failing container to new pods. Both use a random
//! generator of their own, so that the rest of a seed's case stays as it was.

use std::time::Duration;

use super::Generator;
use crate::engine::model::Str;
use crate::engine::model::command::{Command, Step};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{OnFailure, Tuning};
use crate::sim::attack::case::{Act, DAEMON_SET};
use crate::sim::world::scenario::{ClusterFault, FleetFault, RegistryImage, Scenario};

/// Mixed into the seed, so that these random generators differ from the others and from each other.
const OF_STRATEGY: u64 = 0x7374_7261_7465;
const OF_CONTAINER: u64 = 0x696e_6a65_6374;

/// The image of the container that is added to pods; it crashes again and again.
const MESH: &str = "mesh:v1";

impl Generator {
    /// In one case of eight a policy sets the strategy `RollingUpdate` in every write. It begins at once or later, and lasts until the calm or
    /// for a while. Meanwhile an operator sets another image or rolls back.
    pub(super) fn rolling_only(&self, seed: u64, scenario: &mut Scenario, acts: &mut Vec<(Duration, Act)>) {
        let mut dice = Self { rng: fastrand::Rng::with_seed(seed ^ OF_STRATEGY), faults: Vec::new(), ..*self };
        if !dice.one_in(8) {
            return;
        }
        let at = if dice.one_in(3) { Duration::ZERO } else { dice.secs(0..dice.calm.as_secs() - 10) };
        let until = if dice.one_in(2) { dice.calm } else { (at + dice.secs(5..120)).min(dice.calm) };
        let namespace: Str = DAEMON_SET.0.into();
        let ends = ClusterFault::AdmitStrategies { namespace: namespace.clone() };
        dice.add_until(at, until, ClusterFault::SetRollingInWrites { namespace }, ends);
        let command = match dice.rng.u32(0..4) {
            0 | 1 => dice.new_image(),
            2 => Command::Undo { to: None },
            _ => Command::Resume,
        };
        let act = if dice.one_in(2) { Act::OneShot(command) } else { Act::Ask(0, command) };
        acts.push(((at + dice.secs(2..30)).min(dice.calm), act));
        acts.sort_by_key(|(at, _)| *at);
        dice.into_scenario(scenario);
    }

    /// In one case of eight a policy adds a crashing container to new pods soon after a rollout began. It does so for a while, until the
    /// container's image is corrected, or until the calm. Meanwhile all nodes are allowed, and some rollouts roll back on failure.
    pub(super) fn injected(&self, seed: u64, scenario: &mut Scenario, acts: &mut Vec<(Duration, Act)>) {
        let mut dice = Self { rng: fastrand::Rng::with_seed(seed ^ OF_CONTAINER), faults: Vec::new(), ..*self };
        if !dice.one_in(8) {
            return;
        }
        let mut image = RegistryImage::new(MESH, dice.rng.u64(1..10) * 1_000_000);
        let works = RegistryImage { crashes_after: None, ..image.clone() };
        image.crashes_after = Some(dice.secs(1..12));
        scenario.images.push(image);
        let at = if dice.one_in(8) { Duration::ZERO } else { dice.secs(3..60) };
        let until = if dice.one_in(2) { dice.calm } else { (at + dice.secs(10..200)).min(dice.calm) };
        let namespace: Str = DAEMON_SET.0.into();
        let begins = ClusterFault::InjectContainer { namespace: namespace.clone(), image: MESH.into() };
        if dice.one_in(3) {
            let corrected_at = at + dice.secs(10..200);
            dice.add(corrected_at.min(until), FleetFault::Publish(Box::new(works)));
        }
        dice.add_until(at, until, begins, ClusterFault::StopInjecting { namespace });
        let tuning = Tuning {
            failure_threshold: Some(IntOrPercent::Int(dice.rng.u32(1..3))),
            on_failure: dice.one_in(2).then_some(OnFailure::RollBack),
            ..Tuning::default()
        };
        let asked_at = (at.saturating_sub(dice.secs(0..4)) + dice.secs(0..8)).min(dice.calm);
        let all = Command::Step(Step::Updated(IntOrPercent::Percent(100)));
        acts.push((asked_at, Act::Ask(0, all.under(tuning))));
        acts.sort_by_key(|(at, _)| *at);
        dice.into_scenario(scenario);
    }

    /// Adds the faults of this generator to those of a scenario.
    fn into_scenario(mut self, scenario: &mut Scenario) {
        scenario.faults.append(&mut self.faults);
        scenario.faults.sort_by_key(|(at, _)| *at);
    }
}
