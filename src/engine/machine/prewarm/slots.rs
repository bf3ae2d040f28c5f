//! How many nodes pull at once, and how many may: updates and pre-warming together, overall and by site.

use std::collections::BTreeMap;

use crate::engine::assess::plan::Limits;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::prewarm::{Prewarm, PrewarmMethod, PrewarmWait};
use crate::engine::model::quantity::Rounding;
use crate::engine::model::settings::Limit;

/// How many nodes pull, and how many may.
#[derive(Debug, Default)]
pub(super) struct Slots {
    /// How many nodes pull.
    pub(super) used: u32,
    /// How many nodes are next: they take a slot once a driver makes their pods.
    next: u32,
    pub(super) limit: u32,
    /// The slots of each site that has nodes.
    pub(super) sites: BTreeMap<Str, SiteSlots>,
}

#[derive(Debug, Default)]
pub(super) struct SiteSlots {
    pub(super) used: u32,
    next: u32,
    pub(super) nodes: u32,
    pub(super) limit: Option<u32>,
}

impl Slots {
    /// Takes a slot for a node of this site, or says why there is none.
    pub(super) fn take(&mut self, site: &Str) -> Result<(), PrewarmWait> {
        let of_site = self.sites.entry(site.clone()).or_default();
        let (used, at_site) = (self.used + self.next, of_site.used + of_site.next);
        if used >= self.limit {
            return Err(PrewarmWait::Limit { used, limit: self.limit });
        }
        if let Some(limit) = of_site.limit.filter(|limit| at_site >= *limit) {
            return Err(PrewarmWait::SiteLimit { site: site.clone(), used: at_site, limit });
        }
        self.next += 1;
        of_site.next += 1;
        Ok(())
    }
}

impl Engine {
    /// How many nodes pull now, overall and by site, and how many may.
    pub(super) fn slots(&self, asked: &Prewarm, limits: &Limits) -> Slots {
        let mut slots = Slots { limit: self.prewarm_limit(asked, limits), ..Slots::default() };
        for row in self.assessment.rows() {
            let site = self.view.entry(row.node).site.clone();
            let of_site = slots.sites.entry(site).or_default();
            of_site.nodes += u32::from(row.in_fleet);
            let pulls = row.pulls || row.warm_pulls;
            of_site.used += u32::from(pulls);
            slots.used += u32::from(pulls);
        }
        for (site, of_site) in &mut slots.sites {
            let at = |limit: Limit| limit.at().map(|limit| limit.of(of_site.nodes, Rounding::Up));
            let (own, rollouts) = (at(asked.limits.max_pulling_per_site), at(limits.max_pulling_per_site));
            let set = own.into_iter().chain(rollouts).min();
            of_site.limit = self.paced_limit(site, set.unwrap_or(slots.limit)).or(set);
        }
        slots
    }

    /// How many nodes may pull at once overall, for pre-warming.
    pub(crate) fn prewarm_limit(&self, asked: &Prewarm, limits: &Limits) -> u32 {
        self.prewarm_limit_of(asked.limits.max_pulling, asked.method, limits)
    }

    /// The same limit, with `asked` and `method` in place of those of the request.
    pub(crate) fn prewarm_limit_of(&self, asked: Limit, method: PrewarmMethod, limits: &Limits) -> u32 {
        let own = asked.at().map(|limit| limit.of(self.assessment.desired, Rounding::Up));
        // A limit that an operator gave the rollout also bounds the limit of pre-warming. The rollout's default does not, as it is about how many
        // nodes may be down.
        let given = self.assessed_intent().is_some_and(|intent| !intent.budgets.max_pulling.is_default());
        match own {
            Some(own) if given => own.min(limits.max_pulling),
            Some(own) => own,
            None if method == PrewarmMethod::StatefulSet => 1,
            None => limits.max_pulling,
        }
    }
}
