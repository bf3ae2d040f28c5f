//! Shrinks a case that breaks a promise while the same promise stays broken, so that only the parts needed for this are left.
//!
//! The search is greedy and deterministic: it leaves out one part after another, large stretches first, until nothing more can be left
//! out.

use std::collections::BTreeSet;

use super::case::Case;
use super::faults::of_world;
use super::network::NetworkProfile;
use super::run::{TraceMode, run_case};
use crate::engine::model::quantity::IntOrPercent;

/// The shrunk case; `None` if the case breaks no promise.
pub fn shrink(case: &Case) -> Option<Case> {
    let broken = promises(case);
    let first = broken.first()?.clone();
    let mut shrinker = Shrinker { best: case.clone(), promise: first };
    loop {
        let before = shrinker.best.clone();
        shrinker.round();
        if shrinker.best == before {
            return Some(shrinker.best);
        }
    }
}

/// The promises that a case breaks, in the order of the violations.
fn promises(case: &Case) -> Vec<String> {
    run_case(case, TraceMode::Dropped).violations.iter().map(|violation| violation.promise.to_owned()).collect()
}

struct Shrinker {
    best: Case,
    promise: String,
}

impl Shrinker {
    /// Keeps a smaller case if it still breaks the promise.
    fn try_case(&mut self, smaller: Case) -> bool {
        let better = smaller != self.best && promises(&smaller).contains(&self.promise);
        if better {
            self.best = smaller;
        }
        better
    }

    fn try_change(&mut self, change: impl FnOnce(&mut Case)) {
        let mut smaller = self.best.clone();
        change(&mut smaller);
        self.try_case(smaller);
    }

    fn round(&mut self) {
        self.drop_from(|case| &mut case.acts);
        self.drop_faults();
        self.drop_nodes();
        self.calm_down();
        self.simplify();
    }

    /// Drops members of a list, first in long stretches, then one by one.
    fn drop_from<T: Clone>(&mut self, list: impl Fn(&mut Case) -> &mut Vec<T>) {
        let mut stretch = list(&mut self.best).len().next_power_of_two();
        while stretch > 0 {
            let mut from = 0;
            loop {
                let mut smaller = self.best.clone();
                let members = list(&mut smaller);
                if from >= members.len() {
                    break;
                }
                let end = (from + stretch).min(members.len());
                members.drain(from..end);
                if !self.try_case(smaller) {
                    from = end;
                }
            }
            stretch /= 2;
        }
    }

    /// Drops faults of the world. For P8 the changes that heal faults stay, because a rollout that does not end in a world that never heals
    /// proves nothing.
    fn drop_faults(&mut self) {
        if self.promise != "P8" {
            return self.drop_from(|case| &mut case.scenario.faults);
        }
        for nth in (0..self.best.scenario.faults.len()).rev() {
            if self.best.scenario.faults.get(nth).is_some_and(|(_, fault)| of_world(fault).is_some()) {
                self.try_change(|case| drop(case.scenario.faults.remove(nth)));
            }
        }
    }

    fn drop_nodes(&mut self) {
        let names: BTreeSet<_> = self.best.scenario.nodes.iter().map(|node| node.name.clone()).collect();
        for name in names {
            if self.best.scenario.nodes.len() > 1 {
                self.try_change(|case| case.scenario.nodes.retain(|node| node.name != name));
            }
        }
        self.try_change(|case| {
            let used: BTreeSet<_> = case.scenario.nodes.iter().map(|node| node.site.clone()).collect();
            case.scenario.sites.retain(|site| used.contains(&site.name));
        });
        for nth in 0..self.best.scenario.nodes.len() {
            self.try_change(|case| case.scenario.nodes[nth].labels = Default::default());
        }
    }

    fn calm_down(&mut self) {
        self.try_change(|case| case.network = NetworkProfile::FINE);
        self.try_change(|case| case.network.lost_requests = 0);
        self.try_change(|case| case.network.lost_answers = 0);
        self.try_change(|case| case.network.throttled = 0);
        self.try_change(|case| case.network.not_sent = 0);
        self.try_change(|case| case.network.server_errors = 0);
        self.try_change(|case| case.network.max_delay = NetworkProfile::FINE.max_delay);
        for nth in 0..self.best.skews.len() {
            self.try_change(|case| case.skews[nth] = 0);
        }
    }

    fn simplify(&mut self) {
        self.try_change(|case| case.calm_after /= 2);
        for nth in 0..self.best.scenario.daemon_sets.len() {
            self.try_change(|case| case.scenario.daemon_sets[nth].min_ready_secs = 0);
            self.try_change(|case| case.scenario.daemon_sets[nth].grace_secs = 1);
            self.try_change(|case| case.scenario.daemon_sets[nth].max_unavailable = IntOrPercent::Int(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_that_breaks_nothing_is_not_shrunk() {
        assert_eq!(shrink(&Case::random(1)), None);
    }
}
