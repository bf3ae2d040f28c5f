//! P6 for each site: an update must not begin a pull while as many nodes of its site pull as the limit allows, for updates or for
//! pre-warming. The observer reads the site of a node from its labels, and whether the node pulls from the images on it.

use std::collections::BTreeSet;
use std::fmt;

use super::Observer;
use super::context::{Broken, DeletionContext, listed};
use crate::engine::model::Str;
use crate::engine::model::quantity::Rounding;
use crate::engine::model::record::Intent;
use crate::engine::model::time::Timestamp;

/// How many pulls were judged by the limit of a site.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SitePulls {
    /// Pulls that an update began.
    pub updates: u64,
    /// Those of `updates` for which an operator had set the label of sites.
    pub by_label: u64,
}

impl SitePulls {
    /// Adds the counts of another run.
    pub fn add(&mut self, others: Self) {
        self.updates += others.updates;
        self.by_label += others.by_label;
    }
}

impl fmt::Display for SitePulls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { updates, by_label } = self;
        write!(f, "pulls of updates under a limit of their site: {updates}, {by_label} of them with a site label")
    }
}

impl Observer {
    /// Counts an update that begins a pull, if every record that is in force has a limit for each site.
    pub(super) fn count_site_pulls(&mut self, begins: bool, at: Timestamp) {
        let budgets = || self.records.at(at).flatten().map(|record| &record.intent.budgets);
        let limited = begins && budgets().next().is_some() && budgets().all(|it| !it.max_pulling_per_site.is_default());
        let labelled = limited && budgets().all(|it| !it.site_label.is_default());
        self.site_pulls.updates += u64::from(limited);
        self.site_pulls.by_label += u64::from(labelled);
    }

    /// P6: an update begins a pull beyond the limit of its node's site, by every record that its console may believe. `pulling` has the nodes
    /// that are known to pull, the updated one included.
    pub(super) fn check_site_pulls(&self, context: &DeletionContext<'_>, pulling: &BTreeSet<Str>) -> Broken {
        let over: Option<Vec<String>> =
            context.intents().map(|intent| self.over_limit_of_site(context, intent, pulling)).collect();
        Some(("P6", over?.into_iter().next()?))
    }

    fn over_limit_of_site(
        &self,
        context: &DeletionContext<'_>,
        intent: &Intent,
        pulling: &BTreeSet<Str>,
    ) -> Option<String> {
        let label = &intent.budgets.site_label;
        // While its labels have just changed, no console can know the site of a node.
        let site = |node: &Str| {
            let seen = self.nodes.get(node).filter(|seen| seen.labels_since + self.slack < context.at);
            seen.map(|seen| seen.site(label))
        };
        let here = site(context.node)?;
        let may_be_here = |node: &&Str| site(node).is_none_or(|site| site == here);
        let size = u32::try_from(self.nodes.keys().filter(may_be_here).count()).unwrap_or(u32::MAX);
        let at = |intent: &Intent| intent.budgets.max_pulling_per_site.at();
        // A limit may have been lowered a moment ago, so the highest limit that a console may believe applies.
        let limits: Option<Vec<u32>> =
            context.intents().map(|intent| at(intent).map(|limit| limit.of(size, Rounding::Up))).collect();
        let limit = limits?.into_iter().max()?;
        let there: BTreeSet<Str> = pulling.iter().filter(|node| site(node).as_ref() == Some(&here)).cloned().collect();
        (there.len() > limit as usize)
            .then(|| format!("{} must pull in site {here:?} with a limit of {limit}: {}", there.len(), listed(&there)))
    }
}
