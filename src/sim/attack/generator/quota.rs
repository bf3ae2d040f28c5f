//! Registries that limit pulls. They have a random generator of their own, so that the rest of a seed's case stays as it was.

use std::time::Duration;

use super::Generator;
use crate::sim::world::scenario::{FleetFault, PullQuota, Scenario};

/// Mixed into the seed, so that this random generator differs from the others.
const DICE: u64 = 0x7175_6f74;

impl Generator {
    /// In one case of eight the registry serves only a few pulls in a span of time, from some moment until the calm.
    pub(super) fn limited_pulls(&self, seed: u64, scenario: &mut Scenario) {
        let mut dice = Self { rng: fastrand::Rng::with_seed(seed ^ DICE), faults: Vec::new(), ..*self };
        if !dice.one_in(8) {
            return;
        }
        let registry = "docker.io";
        let at = if dice.one_in(2) { Duration::ZERO } else { dice.secs(0..dice.calm.as_secs()) };
        let quota = PullQuota { pulls: dice.rng.u32(1..6), per: dice.secs(10..180) };
        let limits = |quota| FleetFault::LimitPulls { registry: registry.into(), quota };
        dice.add_until(at, dice.calm, limits(Some(quota)), limits(None));
        scenario.faults.append(&mut dice.faults);
        scenario.faults.sort_by_key(|(at, _)| *at);
    }
}
