//! The pace of sites. Where operators choose it, the limit of each site follows the capacity of its link, as the pulls that end show it.
//!
//! The driver measures. Nothing of that is saved: the next driver begins with one pull per site. The other processes read the limits, and the reasons
//! for them, from the Lease.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Engine;
use crate::engine::assess::plan::Limits;
use crate::engine::assess::rows::Row;
use crate::engine::model::Str;
use crate::engine::model::cause::Cause;
use crate::engine::model::node::NodeState;
use crate::engine::model::pace::{Flap, PACED_SITES, PacedSite};
use crate::engine::model::quantity::Rounding;
use crate::engine::model::record::Intent;
use crate::engine::model::settings::{Limit, Pace};
use crate::engine::model::time::Timestamp;
use crate::engine::rules::clocks::by_server;
use crate::engine::rules::pace::{EndedPull, SitePace};

/// The limits of sites that follow what their links bear; empty where limits are fixed, or nobody drives.
#[derive(Debug, Default)]
pub(crate) struct Pacing {
    /// The measurements of each site since we drive.
    sites: BTreeMap<Str, PacedLink>,
    /// The limits that another driver reports in the Lease.
    reported: Arc<[PacedSite]>,
    /// By node index: its state when it was last looked at.
    nodes: Vec<NodeWas>,
}

#[derive(Debug)]
struct PacedLink {
    pace: SitePace,
    /// How many of its nodes pull.
    pulling: u32,
    /// The limit that operators allow.
    most: u32,
}

/// The state of a node when it was last looked at.
#[derive(Clone, Debug, Default)]
struct NodeWas {
    up: bool,
    /// The uid of its pod that was ready.
    ready: Option<Str>,
    pulls: bool,
    /// Its registry refuses its pull, because there were too many.
    limited: bool,
}

/// How many nodes of a site pull, and how many it has.
#[derive(Clone, Copy, Default)]
struct SiteUse {
    pulling: u32,
    nodes: u32,
}

impl Pacing {
    /// Whether any limit follows the capacity of a link.
    pub(crate) fn is_on(&self) -> bool {
        !self.sites.is_empty() || !self.reported.is_empty()
    }

    /// The limit of each site, and why.
    pub(crate) fn view(&self) -> Arc<[PacedSite]> {
        if self.sites.is_empty() {
            return self.reported.clone();
        }
        let reported = self.sites.iter().take(PACED_SITES).map(|(site, link)| PacedSite {
            site: site.clone(),
            limit: link.pace.limit(link.most),
            why: link.pace.why().clone(),
        });
        reported.collect()
    }
}

impl Engine {
    /// Whether the intent or pre-warming asks for limits that follow the capacity of links.
    fn is_paced(&self, intent: &Intent) -> bool {
        let prewarming = || self.recorded_prewarm().is_some_and(|asked| asked.limits.pace == Pace::Auto);
        intent.budgets.pace == Pace::Auto || prewarming()
    }

    /// Takes in the pulls that ended and the nodes that flapped since the last call.
    pub(crate) fn pace_sites(&mut self, intent: &Intent, limits: &Limits, now: Timestamp) {
        let ended = self.view.take_finished_pulls();
        if !self.lock.holds() || !self.is_paced(intent) {
            let is_driven = self.is_paced(intent) && self.lock.living_other(now).is_some();
            let reported = if is_driven { self.lock.reported_pace() } else { Arc::default() };
            self.pacing = Pacing { reported, ..Pacing::default() };
            return;
        }
        let mut uses: BTreeMap<Str, SiteUse> = BTreeMap::new();
        for row in self.assessment.rows() {
            let site = uses.entry(self.site(row)).or_default();
            site.pulling += u32::from(row.pulls || row.warm_pulls);
            site.nodes += u32::from(row.in_fleet);
        }
        let flapped = self.flapped(&uses);
        let mut pacing = std::mem::take(&mut self.pacing);
        pacing.sites.retain(|site, _| uses.contains_key(site));
        for (site, used) in &uses {
            let most = self.most_in_site(used.nodes, limits);
            let begins = || PacedLink { pace: SitePace::new(now), pulling: 0, most };
            pacing.sites.entry(site.clone()).or_insert_with(begins).most = most;
        }
        for pull in ended {
            let Some(node) = self.view.node(&pull.node).map(|ix| self.view.entry(ix)) else { continue };
            let clock = node.fact.as_ref().and_then(|fact| fact.clock_skew_millis);
            let ended = self.view.our_time(by_server(pull.ended, clock));
            let ended = EndedPull { began: ended - pull.took, ended, bytes: pull.bytes };
            if let Some(link) = pacing.sites.get_mut(&node.site) {
                link.pace.ended(ended, link.most, now);
            }
        }
        for (site, node, what) in flapped {
            if let Some(link) = pacing.sites.get_mut(&site) {
                link.pace.flapped(&node, what, now);
            }
        }
        for (site, used) in uses {
            if let Some(link) = pacing.sites.get_mut(&site) {
                link.pulling = used.pulling;
                link.pace.pulling(used.pulling, link.most, now);
            }
        }
        self.pacing = pacing;
    }

    /// How many nodes of a site operators let pull at once: the larger of the limits for pre-warming and for updates.
    fn most_in_site(&self, nodes: u32, limits: &Limits) -> u32 {
        let at = |limit: Limit| limit.at().map_or(u32::MAX, |limit| limit.of(nodes, Rounding::Up));
        let of_rollout = at(limits.max_pulling_per_site);
        let updates = if self.is_recorded() { limits.max_pulling.min(of_rollout) } else { 0 };
        let warming = self.recorded_prewarm().map_or(0, |asked| {
            self.prewarm_limit(&asked, limits).min(of_rollout).min(at(asked.limits.max_pulling_per_site))
        });
        updates.max(warming).max(1)
    }

    /// The nodes that went down, or whose pod did, since the last look while other nodes of their site pulled. Added are the nodes whose registry
    /// began to refuse their pulls because there were too many.
    fn flapped(&mut self, uses: &BTreeMap<Str, SiteUse>) -> Vec<(Str, Str, Flap)> {
        let mut was = std::mem::take(&mut self.pacing.nodes);
        was.resize(self.view.nodes().len(), NodeWas::default());
        let mut flapped = Vec::new();
        for row in self.assessment.rows().filter(|row| row.in_fleet && !self.is_told_not_ready(row)) {
            let is = self.node_is(row);
            let known = std::mem::replace(&mut was[row.node], is);
            let what = match (&known.ready, &was[row.node]) {
                (_, is) if is.limited && !known.limited => Flap::RateLimited,
                (_, is) if known.up && !is.up => Flap::NotReady,
                (Some(uid), is) if is.up && is.ready.is_none() && self.is_still_there(row, uid) => Flap::LostReadiness,
                _ => continue,
            };
            flapped.push((row.node, what));
        }
        let reported = flapped.into_iter().filter_map(|(node, what)| {
            let entry = self.view.entry(node);
            let pulling = uses.get(&entry.site).map_or(0, |site| site.pulling);
            let others_pull = pulling > u32::from(was[node].pulls);
            (others_pull || what == Flap::RateLimited).then(|| (entry.site.clone(), entry.name.clone(), what))
        });
        let reported = reported.collect();
        self.pacing.nodes = was;
        reported
    }

    /// Whether the kubelet of a node says itself that the node is not Ready. It is heard, so that says nothing of the link; the node is looked at again once it is Ready
    /// or silent.
    fn is_told_not_ready(&self, row: &Row) -> bool {
        row.is_down && self.view.entry(row.node).fact.as_ref().is_some_and(|fact| !fact.is_silent())
    }

    fn node_is(&self, row: &Row) -> NodeWas {
        let pod = row.pod.filter(|_| row.ready).and_then(|pod| self.view.pod(pod));
        let is_it = |cause: &Cause| cause.kind.is_the_registrys_limit();
        let mut warm = self.view.warm().on(&self.view.entry(row.node).name).filter_map(|warm| warm.failing.as_ref());
        NodeWas {
            up: !row.is_down,
            ready: pod.map(|pod| pod.fact.uid.clone()),
            pulls: row.pulls || row.warm_pulls,
            limited: row.cause.as_deref().is_some_and(is_it) || warm.any(|(_, cause)| is_it(cause)),
        }
    }

    /// Whether a node's pod has this uid and is not being deleted.
    fn is_still_there(&self, row: &Row, uid: &Str) -> bool {
        let pod = row.pod.and_then(|pod| self.view.pod(pod));
        row.state != NodeState::Terminating
            && pod.is_some_and(|pod| pod.fact.uid == *uid && pod.fact.deletion_at.is_none())
    }

    /// The number of nodes of a site that may pull by its pace, where operators allow `most`; `None` where the site has no pace, so that `most`
    /// holds.
    pub(crate) fn paced_limit(&self, site: &str, most: u32) -> Option<u32> {
        if let Some(link) = self.pacing.sites.get(site) {
            return Some(link.pace.limit(most));
        }
        let reported = self.pacing.reported.iter().find(|reported| *reported.site == *site);
        reported.map(|reported| reported.limit.min(most))
    }
}
