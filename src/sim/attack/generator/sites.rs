//! Limits of sites for updates: operators set how many nodes of a site may pull at once, and which label groups nodes into sites.
//! These limits have a random generator of their own, so that the rest of a seed's case stays as it was.

use std::time::Duration;

use super::Generator;
use crate::engine::model::command::Command;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{Limit, Tuning};
use crate::sim::attack::case::Act;

/// Mixed into the seed, so that this random generator differs from the others.
const DICE: u64 = 0x7369_7465;

impl Generator {
    /// An operator limits the pulls of each site right after the first image is set, in one case of six; the limits of the whole
    /// rollout are wide, so that this one holds nodes.
    pub(super) fn limited_sites(&self, seed: u64, acts: &mut Vec<(Duration, Act)>) {
        let mut dice = Self { rng: fastrand::Rng::with_seed(seed ^ DICE), faults: Vec::new(), ..*self };
        if !dice.one_in(6) {
            return;
        }
        let sets_image =
            |act: &Act| matches!(act, Act::Ask(0, command) if matches!(command.inner(), Command::SetImage(_)));
        let Some(at) = acts.iter().find(|(_, act)| sets_image(act)).map(|(at, _)| *at) else { return };
        let count = |dice: &mut Self, range| Some(Limit::At(IntOrPercent::Int(dice.rng.u32(range))));
        let tuning = Tuning {
            max_unavailable: count(&mut dice, 2..6),
            max_pulling: count(&mut dice, 2..6),
            max_pulling_per_site: count(&mut dice, 1..3),
            site_label: if dice.one_in(2) { "canary".parse().ok() } else { None },
            ..Tuning::default()
        };
        acts.push((at + Duration::from_millis(500), Act::Ask(0, Command::Tune(tuning))));
        acts.sort_by_key(|(at, _)| *at);
    }
}
