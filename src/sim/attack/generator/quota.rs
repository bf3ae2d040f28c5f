//! Registries that count pulls. By dice of their own, so that what else a seed does stays as it was.

use std::time::Duration;

use super::Generator;
use crate::sim::world::scenario::{FleetFault, PullQuota, Scenario};

/// Tells these dice from those of the rest.
const DICE: u64 = 0x7175_6f74;

impl Generator {
    /// The registry serves a few pulls in a while only, from some moment until the calm, in one case of eight.
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
