//! What a preview says of the pull slots that pre-warming shares with the rollout.

use crate::engine::assess::plan::Limits;
use crate::engine::assess::rows::Row;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::first_names::first_names;
use crate::engine::model::prewarm::{PrewarmLimits, PrewarmMethod};
use crate::engine::model::quantity::Rounding;
use crate::engine::model::settings::{Limit, Pace};

impl Engine {
    /// How many nodes may pull at once, and whose limit that is.
    pub(super) fn pulls_at_once_in_words(&self, limits: &PrewarmLimits, rollouts: &Limits) -> String {
        let of = |limit: Limit| limit.at().map(|limit| limit.of(self.assessment.desired, Rounding::Up));
        let recorded = self.assessed_intent().map(|intent| intent.budgets.max_pulling).unwrap_or_default();
        let (own, given) = (of(limits.max_pulling), of(recorded));
        let most = self.prewarm_limit_of(limits.max_pulling, PrewarmMethod::Pods, rollouts);
        let whose = match (own, given) {
            (Some(own), Some(given)) if given < own => format!(" (the rollout's limit; {own} are asked for)"),
            (Some(_), _) => String::new(),
            (None, Some(_)) => " (the rollout's limit)".to_owned(),
            (None, None) if rollouts.lacks_budget => {
                return "No node may pull: as many may as may be down, and a DaemonSet with maxSurge has no budget before one is named. \
                        `--max-pulling N` lets N nodes pull."
                    .to_owned();
            }
            (None, None) => " (as many as may be down)".to_owned(),
        };
        let of_site: Vec<String> = [limits.max_pulling_per_site, rollouts.max_pulling_per_site]
            .into_iter()
            .filter_map(Limit::at)
            .map(|limit| format!(", of each site at most {limit}"))
            .collect();
        // Two limits that are written alike are one.
        let of_site = if of_site.iter().all(|limit| *limit == of_site[0]) { of_site.get(..1) } else { Some(&*of_site) };
        let of_site = of_site.unwrap_or_default().concat();
        let nodes = if most == 1 { "1 node pulls".to_owned() } else { format!("{most} nodes pull") };
        let by_pace = match (limits.pace, rollouts.pace) {
            (Pace::Fixed, Pace::Fixed) => "",
            (Pace::Auto, _) | (_, Pace::Auto) => {
                " Each site begins with one, and gets as many as its link bears (pace auto)."
            }
        };
        format!("At most {nodes} at a time{of_site}, updates included{whose}.{by_pace}")
    }

    /// Says that no pod is made at first, because the rollout holds all pull slots.
    pub(super) fn waits_for_slots(&self, limits: &PrewarmLimits, rollouts: &Limits) -> Option<String> {
        let most = self.prewarm_limit_of(limits.max_pulling, PrewarmMethod::Pods, rollouts);
        if most == 0 || self.budget.pulling_of_rollout() < most {
            return None;
        }
        let fails = |row: &&Row| row.pulls && row.cause.as_ref().is_some_and(|cause| cause.kind.is_about_the_image());
        let rows = self.assessment.rows().filter(fails);
        let named = first_names(rows.map(|row| &*self.view.entry(row.node).name));
        let waits = self.budget.holds_slots_in_words(most, &named, self.is_halted(&self.intent()));
        Some(format!("At first it {waits}."))
    }

    /// Says that nodes which the rollout may update wait meanwhile, because images are brought that it does not need.
    pub(super) fn takes_slots_of_the_rollout(&self, images: &[Str]) -> Option<String> {
        let needed = self.view.daemonset().map(|daemonset| daemonset.template.images()).unwrap_or_default();
        let serves_it = images.is_empty() || needed.iter().any(|needed| images.contains(needed));
        let waits = self.plan.in_line > 0 && self.is_under_way();
        (waits && !serves_it).then(|| {
            "The rollout that goes on needs none of these images, and waits for pull slots meanwhile: it takes longer.".to_owned()
        })
    }
}
