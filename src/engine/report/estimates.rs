//! When the rollout will be done: how long the nodes that are done took, from the deletion of their pod until it was available,
//! and how many may be down at once.
//!
//! What took long in the past is no guide where a link has filled since. So only the last [`RECENT`] nodes tell; a node that is on its way
//! for longer than they took counts with what it has taken so far; and what is left takes at most as long as it does at the rate at which
//! nodes became available lately.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::snapshot::Phase;
use crate::engine::assess::plan::{Limits, RolloutHold};
use crate::engine::assess::rows::Row;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::config::Timing;
use crate::engine::model::estimate::{EstimateBlocker, RolloutEstimate, TimeRange};
use crate::engine::model::hold::Hold;
use crate::engine::model::node::{ImageState, NodeState};
use crate::engine::model::quantity::Rounding;
use crate::engine::model::record::Intent;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::estimates::{at_rate, each, until_done};

/// How long a pod that is deleted takes to go, where its template does not say, and how long until the next one is made.
const GRACE_SECS: u64 = 30;
const MARGIN: Duration = Duration::from_secs(10);

/// How many of the nodes that are done tell how long the next ones take: those that were available last.
const RECENT: usize = 24;

/// Where no node became available for so many times as long as one takes, nothing may have been on its way. Nodes of a slower site take
/// several times as long as the last ones, which is no pause.
const PAUSE: u32 = 3;

/// A site with less than one in so many of the nodes that are left changes the estimate little.
const NOTABLE: usize = 10;

/// A node that is done: when its pod was made and when it was available, by the API server's clock.
struct DoneNode {
    made_at: Timestamp,
    available_at: Timestamp,
}

impl Engine {
    pub(super) fn rollout_estimate(
        &self,
        phase: &Phase,
        intent: &Intent,
        limits: &Limits,
        now: Timestamp,
    ) -> RolloutEstimate {
        let Some(started_at) = self.progress.started_at else { return RolloutEstimate::None };
        let rows = || self.assessment.rows().filter(|row| row.in_fleet);
        let mut measured: HashSet<Str> = HashSet::new();
        let mut done: Vec<DoneNode> = Vec::new();
        for row in rows() {
            if let Some(node) = self.done(row, intent, started_at) {
                measured.insert(self.site(row));
                done.push(node);
            }
        }
        done.sort_unstable_by_key(|done| done.available_at);
        done.drain(..done.len().saturating_sub(RECENT));
        let mut took: Vec<Duration> = done.iter().map(|done| done.available_at.since(done.made_at)).collect();
        let nodes = u32::try_from(took.len()).unwrap_or(u32::MAX);
        let Some(of_pod) = each(&mut took) else { return RolloutEstimate::None };
        let left = |row: &&Row| !row.committed && row.replaceable;
        let moving: Vec<&Row> = rows().filter(|row| row.state.is_moving()).collect();
        if moving.is_empty() && rows().filter(left).count() == 0 {
            return RolloutEstimate::None;
        }
        let lease = Timing::default().lease;
        let blocked = match phase {
            Phase::Running => match self.rollout_hold(intent, now) {
                RolloutHold::Held(Hold::NobodyDrives) => Some(EstimateBlocker::Undriven),
                RolloutHold::Held(_) => Some(EstimateBlocker::Held),
                RolloutHold::None if self.lock.view(now).is_silent(self.view.server_time(now), lease) => {
                    Some(EstimateBlocker::Undriven)
                }
                RolloutHold::None => {
                    let is_stuck =
                        rows().any(|row| row.state == NodeState::PullFailed) || self.plan.waits_for_trouble();
                    is_stuck.then_some(EstimateBlocker::Trouble)
                }
            },
            Phase::Paused(_) => Some(EstimateBlocker::Paused),
            Phase::Halted => Some(EstimateBlocker::Halted),
            Phase::Held => Some(EstimateBlocker::Held),
            Phase::Loading | Phase::Idle | Phase::Native | Phase::Preparing | Phase::Complete | Phase::Releasing => {
                return RolloutEstimate::None;
            }
        };
        if let Some(by) = blocked {
            return RolloutEstimate::Blocked { by };
        }
        let going = self.until_made(&done);
        let under_way: Vec<Duration> = moving.iter().map(|row| self.under_way_for(row, going)).collect();
        let mut each = TimeRange { least: of_pod.least + going, most: of_pod.most + going };
        each.most = each.most.max(slower(&took, going, &under_way));
        let at_once = self.at_once(intent, limits, moving.len(), rows().filter(left));
        let ends: Vec<Timestamp> = done.iter().map(|done| done.available_at).collect();
        let until = |waiting: usize| {
            let range = until_done(each, &under_way, waiting, at_once)?;
            let lately =
                at_rate(&ends, self.view.server_time(now), each.most * PAUSE + MARGIN, waiting + under_way.len());
            // Beyond the last ones on their way, which take as long as each.
            let most =
                if waiting > 0 { lately.map_or(range.most, |lately| lately.max(range.most)) } else { range.most };
            Some(TimeRange { most, ..range }.rounded())
        };
        let waiting = rows().filter(left).count();
        let in_step = usize::try_from(self.plan.in_line).unwrap_or(usize::MAX).min(waiting);
        let is_last = limits.allowed >= self.assessment.fleet && intent.selector.is_none();
        match until(waiting) {
            // What takes longer than it should may take any time.
            Some(rollout) if rollout.most.is_zero() => RolloutEstimate::None,
            Some(rollout) => RolloutEstimate::Known {
                // The last step is all that is left, also what cannot go now.
                step: until(in_step).filter(|step| !is_last && in_step < waiting && !step.most.is_zero()),
                rollout,
                nodes,
                unmeasured_sites: self.unmeasured_sites(rows().filter(left), &measured),
            },
            None => RolloutEstimate::Blocked { by: EstimateBlocker::BudgetUsedUp },
        }
    }

    /// How many sites none of whose nodes is `measured` have at least one in [`NOTABLE`] of the nodes that are `left`.
    fn unmeasured_sites<'a>(&self, left: impl Iterator<Item = &'a Row>, measured: &HashSet<Str>) -> u32 {
        let mut nodes: HashMap<Str, usize> = HashMap::new();
        left.for_each(|row| *nodes.entry(self.site(row)).or_default() += 1);
        let all: usize = nodes.values().sum();
        let unmeasured = nodes.iter().filter(|(site, nodes)| !measured.contains(*site) && **nodes * NOTABLE >= all);
        u32::try_from(unmeasured.count()).unwrap_or(u32::MAX)
    }

    /// A node that this rollout updated, if its pod is available.
    fn done(&self, row: &Row, intent: &Intent, started_at: Timestamp) -> Option<DoneNode> {
        if !(row.at_target && row.available && row.updated && row.state == NodeState::Updated) {
            return None;
        }
        let made_at = self.view.pod(row.pod?)?.fact.created_at;
        let min_ready = self.view.daemonset.as_ref().map_or(0, |daemonset| daemonset.min_ready_secs);
        let soak = Duration::from_secs(min_ready.max(intent.soak_secs()).into());
        let available_at = row.since? + soak;
        let of_this_rollout = self.view.our_time(made_at) > started_at && available_at > made_at;
        of_this_rollout.then_some(DoneNode { made_at, available_at })
    }

    /// How long it takes from a deletion until the next pod is made. The old pod is gone by then, and with it what it said. So it
    /// is taken from how long after one node was done the next pod was made. Where that is longer than an old pod may take to
    /// go, the rollout was held in between, and it tells nothing.
    fn until_made(&self, done: &[DoneNode]) -> Duration {
        let mut ends: Vec<Timestamp> = done.iter().map(|done| done.available_at).collect();
        ends.sort_unstable();
        let spec = self.view.daemonset.as_ref().map(|daemonset| &daemonset.template.json()["spec"]);
        let grace = spec.and_then(|spec| spec["terminationGracePeriodSeconds"].as_u64()).unwrap_or(GRACE_SECS);
        let most = Duration::from_secs(grace) + MARGIN;
        let after = |done: &DoneNode| {
            let before = ends.partition_point(|end| *end <= done.made_at);
            Some(done.made_at.since(*ends.get(before.checked_sub(1)?)?)).filter(|wait| *wait <= most)
        };
        let mut waits: Vec<Duration> = done.iter().filter_map(after).collect();
        waits.sort_unstable();
        waits.get(waits.len() / 2).copied().unwrap_or_default()
    }

    /// For how long a node is being updated.
    fn under_way_for(&self, row: &Row, going: Duration) -> Duration {
        let now = self.view.server_time(self.now);
        let pod = row.pod.and_then(|pod| self.view.pod(pod)).filter(|_| row.state != NodeState::Terminating);
        match pod {
            Some(pod) => now.since(pod.fact.created_at) + going,
            None => row.since.map(|since| now.since(since)).unwrap_or_default(),
        }
    }

    /// How many nodes may be on their way at once.
    fn at_once<'r>(
        &'r self,
        intent: &Intent,
        limits: &Limits,
        moving: usize,
        left: impl Iterator<Item = &'r Row>,
    ) -> usize {
        let count = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
        // What is charged and does not move stays so.
        let stuck = count(self.budget.charged).saturating_sub(moving);
        let may_be_down = count(limits.max_unavailable).saturating_sub(stuck);
        let mut pulling = 0;
        let mut sites: HashMap<&Str, u32> = HashMap::new();
        for row in left.filter(|row| row.image != ImageState::Present) {
            pulling += 1;
            *sites.entry(&self.view.nodes[row.node].site).or_default() += 1;
        }
        if pulling == 0 {
            return may_be_down;
        }
        let of_site = |site: &Str| {
            self.assessment.rows().filter(|row| row.in_fleet && self.view.nodes[row.node].site == *site).count()
        };
        // What operators allow, and what the link bears where the pace follows that.
        let asked = |site: &Str| match intent.budgets.max_pulling_per_site.at() {
            Some(limit) => limit.of(u32::try_from(of_site(site)).unwrap_or(u32::MAX), Rounding::Up),
            None => limits.max_pulling,
        };
        let may = |(site, left): (&&Str, &u32)| {
            let asked = asked(site);
            self.paced_limit(site, asked).unwrap_or(asked).min(*left)
        };
        let per_site = sites.iter().map(may).fold(0, u32::saturating_add);
        may_be_down.min(count(limits.max_pulling)).min(count(per_site))
    }
}

/// How long the slower ones take, where those on their way have taken longer so far than the nodes that are done.
fn slower(took: &[Duration], going: Duration, under_way: &[Duration]) -> Duration {
    let longest = took.iter().max().copied().unwrap_or_default() + going;
    let overdue = under_way.iter().copied().filter(|elapsed| *elapsed > longest);
    let mut all: Vec<Duration> = took.iter().map(|took| *took + going).chain(overdue).collect();
    each(&mut all).map_or(Duration::ZERO, |all| all.most)
}
