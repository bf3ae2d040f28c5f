//! Makes random cases. A case depends only on its seed, and every kind of fault is made by some seed (`generator/tests.rs`).
//!
//! ```text
//!   cluster ──▶ faults, template, unfit, rare ──▶ acts: combinations, suspects, … ──▶ refusals ──▶ network ──▶ gates
//! ```
//!
//! The order in which random numbers are drawn decides the case of a seed. New draws come last, so that a seed keeps its old case.

mod acts;
mod admission;
mod cluster;
mod combinations;
mod distance;
mod faults;
mod gates;
mod prewarm;
mod quota;
mod rare;
mod refusals;
mod sites;
mod stood_still;
mod surging;
mod suspects;
mod template;
mod unfit;

use std::ops::Range;
use std::time::Duration;

use super::case::Case;
use super::network::NetworkProfile;
use crate::engine::model::Str;
use crate::sim::world::scenario::Fault;

/// The bandwidths of links, in bytes a second.
const LINKS: [u64; 3] = [1_000_000, 10_000_000, 100_000_000];

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
        generator.vary_max_restarts(&mut acts);
        generator.prewarming(seed, &mut acts);
        generator.vary_plan(&mut acts);
        generator.limited_pulls(seed, &mut scenario);
        generator.limited_sites(seed, &mut acts);
        generator.rolling_only(seed, &mut scenario, &mut acts);
        generator.injected(seed, &mut scenario, &mut acts);
        generator.vary_by_table(&mut acts);
        generator.stood_still(seed, nodes.len(), &mut acts);
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
    /// The time after which no more faults happen.
    calm: Duration,
    /// How many joining nodes have been drawn so far.
    joined: u32,
    /// Whether the DaemonSet surges.
    surges: bool,
}

impl Generator {
    fn one_in(&mut self, count: u32) -> bool {
        self.rng.u32(0..count) == 0
    }

    fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.rng.usize(0..choices.len())].clone()
    }

    /// One of the choices, drawn with the weights beside them.
    fn weighted<T: Copy>(&mut self, choices: &[(u32, T)]) -> T {
        let mut rest = self.rng.u32(0..choices.iter().map(|(weight, _)| weight).sum());
        let drawn = choices.iter().find(|(weight, _)| {
            let here = rest < *weight;
            rest = rest.saturating_sub(*weight);
            here
        });
        drawn.unwrap_or(&choices[0]).1
    }

    fn secs(&mut self, range: Range<u64>) -> Duration {
        Duration::from_millis(self.rng.u64(range.start * 1000..range.end * 1000))
    }

    fn add(&mut self, at: Duration, fault: impl Into<Fault>) {
        self.faults.push((at, fault.into()));
    }

    fn add_until(&mut self, at: Duration, until: Duration, begins: impl Into<Fault>, ends: impl Into<Fault>) {
        self.add(at, begins);
        self.add(until, ends);
    }
}

#[cfg(test)]
mod tests;
