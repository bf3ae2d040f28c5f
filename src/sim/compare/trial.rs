//! A trial: a rollout on a scenario's cluster, played once per method.

use std::time::Duration;

use super::figures::{Bound, Figures, MethodComparison};
use super::meter::Meter;
use super::method::Method;
use super::operators::RolloutOperator;
use super::operators::by_hand::ByHand;
use super::operators::controller_alone::ControllerAlone;
use super::operators::rolldeck::Rolldeck;
use super::operators::stateful_set::PullsFirst;
use crate::engine::model::Str;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::prewarm::PrewarmLimits;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{Limit, Pace};
use crate::sim::world::World;
use crate::sim::world::scenario::{DaemonSetPlan, RolloutPlan, Scenario};

/// A run that takes longer is given up.
const LIMIT: Duration = Duration::from_secs(3 * 24 * 3600);

/// A rollout on a scenario's cluster.
#[derive(Clone, Debug)]
pub struct Trial {
    scenario: Scenario,
    rollout: RolloutPlan,
    seed: u64,
}

/// Why a scenario cannot be compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotComparable {
    /// The scenario does not say what is rolled out.
    #[error("the scenario says of no rollout: it has no `[rollout]`")]
    NoRollout,
    /// Every node has the images already, or no node runs the DaemonSet.
    #[error("no node has anything to pull for the scenario's rollout")]
    NothingToPull,
}

impl Trial {
    /// The rollout that a scenario names. The scenario's faults are left out.
    ///
    /// # Errors
    /// When the scenario names no rollout.
    pub fn new(scenario: &Scenario, seed: u64) -> Result<Self, NotComparable> {
        let rollout = scenario.rollout.clone().ok_or(NotComparable::NoRollout)?;
        Ok(Self { scenario: Scenario { faults: Vec::new(), ..scenario.clone() }, rollout, seed })
    }

    /// Plays the rollout once, with this method.
    pub fn run(&self, method: Method) -> Figures {
        let mut world = World::new(&self.scenario_for(method), self.seed);
        let mut operator = self.operator(method, &world);
        let mut meter = Meter::new(&world, &self.rollout);
        let end = world.now() + LIMIT;
        while !meter.is_done() && world.now() < end {
            operator.act(&mut world, &meter);
            let now = world.now();
            let next = operator.next_at().into_iter().chain(world.next_at()).min().unwrap_or(end);
            // Time advances by at least a millisecond, so that the loop ends.
            world.advance(next.max(now + Duration::from_millis(u64::from(next <= now))));
            meter.follow(&world);
        }
        meter.figures(method, operator.halts(), world.now())
    }

    /// The comparison of `runs`.
    ///
    /// # Errors
    /// When no node has anything to pull.
    pub fn compare(&self, runs: Vec<Figures>) -> Result<MethodComparison, NotComparable> {
        let world = World::new(&self.scenario, self.seed);
        let meter = Meter::new(&world, &self.rollout);
        let bytes_per_node = self.bytes_per_node();
        let sites = self.scenario.sites.iter().filter_map(|site| {
            let runs_it = |node: &Str| meter.nodes().contains(node);
            let nodes = self.scenario.nodes.iter().filter(|node| node.site == site.name && runs_it(&node.name));
            let bytes = bytes_per_node.saturating_mul(nodes.count() as u64);
            let millis = bytes.saturating_mul(1000).checked_div(site.bytes_per_sec)?;
            Some(Bound { site: site.name.clone(), span: Duration::from_millis(millis) })
        });
        let slowest = sites.max_by_key(|bound| bound.span).filter(|bound| !bound.span.is_zero());
        Ok(MethodComparison {
            scenario: self.scenario.name.clone(),
            nodes: meter.nodes().len(),
            sites: self.scenario.sites.iter().map(|site| site.name.clone()).collect(),
            bytes_per_node,
            bound: slowest.ok_or(NotComparable::NothingToPull)?,
            runs,
        })
    }

    /// The bytes that a node has to pull: those of the rollout's images with which the scenario does not begin.
    fn bytes_per_node(&self) -> u64 {
        let there: Vec<&String> = self.scenario.daemon_sets.iter().flat_map(|plan| plan.images.values()).collect();
        let new = |name: &Str| {
            self.rollout.images.values().any(|image| **image == **name) && !there.iter().any(|image| ***image == **name)
        };
        self.scenario.images.iter().filter(|image| new(&image.name)).map(|image| image.bytes).sum()
    }

    /// The scenario, with the DaemonSet's strategy that the method needs.
    fn scenario_for(&self, method: Method) -> Scenario {
        let strategy = |plan: &mut DaemonSetPlan| match method {
            Method::RollingUpdate(limit) | Method::StatefulSet(limit) => {
                (plan.strategy, plan.max_unavailable) = (StrategyKind::RollingUpdate, limit);
                plan.max_surge = IntOrPercent::Int(0);
            }
            Method::OnDelete(_) => plan.strategy = StrategyKind::OnDelete,
            Method::Rolldeck | Method::Prewarmed(_) | Method::Paced(_) => {}
        };
        let mut scenario = self.scenario.clone();
        let (namespace, name) = &self.rollout.daemon_set;
        let of_it = |plan: &&mut DaemonSetPlan| plan.namespace == *namespace && plan.name == *name;
        scenario.daemon_sets.iter_mut().filter(of_it).for_each(strategy);
        scenario
    }

    fn operator(&self, method: Method, world: &World) -> Box<dyn RolloutOperator> {
        let rollout = self.rollout.clone();
        match method {
            Method::RollingUpdate(_) => Box::new(ControllerAlone::new(rollout)),
            Method::OnDelete(batch) => Box::new(ByHand::new(rollout, batch)),
            Method::StatefulSet(_) => Box::new(PullsFirst::new(rollout)),
            Method::Rolldeck => Box::new(Rolldeck::new(&rollout, None, (self.seed, world))),
            Method::Prewarmed(per_site) | Method::Paced(per_site) => {
                let sites = u32::try_from(self.scenario.sites.len()).unwrap_or(u32::MAX);
                let limits = PrewarmLimits {
                    max_pulling: Limit::At(IntOrPercent::Int(per_site.saturating_mul(sites))),
                    max_pulling_per_site: Limit::At(IntOrPercent::Int(per_site)),
                    pace: if matches!(method, Method::Paced(_)) { Pace::Auto } else { Pace::Fixed },
                    ..PrewarmLimits::default()
                };
                Box::new(Rolldeck::new(&rollout, Some(limits), (self.seed, world)))
            }
        }
    }
}

#[cfg(test)]
mod tests;
