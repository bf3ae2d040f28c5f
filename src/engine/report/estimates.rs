//! When the rollout will be done. The estimate rests on how long the finished nodes took, from the deletion of their pod until it was available, and
//! on how many may be down at once.
//!
//! Past times are no guide where a link has filled since. So only the last [`MEASURED_OF_SITE`] nodes of each site count. A node that has been on its
//! way for longer than those took counts with its time so far. The rest takes at most as long as at the rate at which nodes became available lately.

mod lanes;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use self::lanes::Lanes;
use super::snapshot::Phase;
use crate::engine::assess::plan::{Limits, RolloutHold};
use crate::engine::assess::rows::Row;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::estimate::{EstimateBlocker, MEASURED_OF_SITE, RolloutEstimate};
use crate::engine::model::hold::Hold;
use crate::engine::model::node::{ImageState, NodeState};
use crate::engine::model::record::Intent;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::estimates::ENOUGH;
use crate::engine::rules::holds::HoldEndedBy;
use crate::engine::view::LastPullEvent;

/// How long a deleted pod may take to end if its template does not say, and a margin for the time until the next one is made.
const GRACE_SECS: u64 = 30;
const MARGIN: Duration = Duration::from_secs(10);

/// If no node became available for this many times the duration of one update, the rollout may have stood still. The factor leaves room for nodes of
/// a slower site, which take several times as long without any pause.
const PAUSE: u32 = 3;

/// A site with fewer than one in this many of the nodes left changes the estimate little.
const NOTABLE: usize = 10;

/// A finished node, with the times of its pod by the API server's clock.
#[derive(Clone, Copy)]
struct DoneNode<'a> {
    site: &'a Str,
    made_at: Timestamp,
    ready_at: Timestamp,
    available_at: Timestamp,
}

impl Engine {
    /// Whether a driver is what the whole rollout waits for.
    fn waits_for_driver(&self, intent: &Intent, now: Timestamp) -> bool {
        matches!(self.rollout_hold(intent, now), RolloutHold::Held(hold) if hold.ended_by() == HoldEndedBy::Driver)
    }

    /// Whether nobody drives, or only nobody is seen driving.
    fn undriven(&self, now: Timestamp) -> EstimateBlocker {
        match self.driver_view(now).is_nobody() {
            true => EstimateBlocker::Undriven,
            false => EstimateBlocker::DriverUnseen,
        }
    }

    pub(super) fn rollout_estimate(
        &self,
        phase: &Phase,
        intent: &Intent,
        limits: &Limits,
        now: Timestamp,
    ) -> RolloutEstimate {
        let Some(started_at) = self.progress.started_at else { return RolloutEstimate::None };
        let rows = || self.assessment.rows().filter(|row| row.in_fleet);
        // What the selector leaves out is not updated before it is lifted.
        let left =
            |row: &&Row| !row.committed && row.replaceable && !matches!(self.plan.hold(row.node), Some(Hold::Selector));
        // Nodes that had the images are no measure of nodes that have to pull them.
        let lack = rows().filter(left).filter(|row| row.image == ImageState::Absent).count();
        let pulls = lack * 2 > rows().filter(left).count();
        let measures = rows().filter(|row| !(pulls && self.had_its_images(row)));
        let mut done: Vec<DoneNode<'_>> = measures.filter_map(|row| self.done(row, intent, started_at)).collect();
        if done.len() < ENOUGH {
            return RolloutEstimate::None;
        }
        done.sort_unstable_by_key(|done| done.available_at);
        let moving: Vec<&Row> = rows().filter(|row| row.state.is_moving()).collect();
        if moving.is_empty() && rows().filter(left).count() == 0 {
            return RolloutEstimate::None;
        }
        let blocked = match phase {
            Phase::Running => match self.rollout_hold(intent, now) {
                RolloutHold::Held(_) if self.waits_for_driver(intent, now) => Some(self.undriven(now)),
                RolloutHold::Held(_) => Some(EstimateBlocker::Held),
                RolloutHold::None => {
                    let is_stuck =
                        rows().any(|row| row.state == NodeState::PullFailed) || self.plan.waits_for_trouble();
                    let lacks = self.plan.lacks_images().then_some(EstimateBlocker::Images);
                    is_stuck.then_some(EstimateBlocker::Trouble).or(lacks)
                }
            },
            Phase::Paused(_) => Some(EstimateBlocker::Paused),
            Phase::Halted => Some(EstimateBlocker::Halted),
            Phase::Held if self.stands_for_lack_of_images() => Some(EstimateBlocker::Images),
            Phase::Held if self.plan.in_line > 0 && self.waits_for_driver(intent, now) => Some(self.undriven(now)),
            Phase::Held => Some(EstimateBlocker::Held),
            Phase::Loading
            | Phase::Unknown
            | Phase::Idle
            | Phase::Native
            | Phase::Preparing
            | Phase::Complete
            | Phase::Releasing(_) => {
                return RolloutEstimate::None;
            }
        };
        if let Some(by) = blocked {
            return RolloutEstimate::Blocked { by };
        }
        let lanes = Lanes::new(self, &done, &moving, intent, limits);
        let waiting: Vec<&Row> = rows().filter(left).collect();
        let in_step = usize::try_from(self.plan.in_line).unwrap_or(usize::MAX).min(self.plan.line.len());
        let in_step = self.plan.line[..in_step].iter().filter_map(|node| self.assessment.row(*node)).filter(left);
        let in_step: Vec<&Row> = in_step.collect();
        let is_last = limits.allowed >= self.assessment.fleet && intent.selector.is_none();
        match lanes.until_done(&waiting) {
            // An update that takes longer than expected may take any time.
            Some(rollout) if rollout.most.is_zero() => RolloutEstimate::None,
            Some(rollout) => RolloutEstimate::Known {
                // The last step is everything that is left, including nodes that cannot go now.
                step: Some(&in_step)
                    .filter(|step| !is_last && step.len() < waiting.len())
                    .and_then(|step| lanes.until_done(step))
                    .filter(|step| !step.most.is_zero()),
                rollout,
                of_selector: intent.selector.is_some(),
                nodes: lanes.measured_nodes(),
                unmeasured_sites: self.unmeasured_sites(rows().filter(left), &done),
            },
            None => RolloutEstimate::Blocked { by: EstimateBlocker::BudgetUsedUp },
        }
    }

    /// The number of sites that have no finished node but at least one in [`NOTABLE`] of the nodes that are `left`.
    fn unmeasured_sites<'a>(&self, left: impl Iterator<Item = &'a Row>, done: &[DoneNode<'_>]) -> u32 {
        let measured: HashSet<&Str> = done.iter().map(|done| done.site).collect();
        let mut nodes: HashMap<&Str, usize> = HashMap::new();
        left.for_each(|row| *nodes.entry(self.site_of(row)).or_default() += 1);
        let all: usize = nodes.values().sum();
        let unmeasured = nodes.iter().filter(|(site, nodes)| !measured.contains(*site) && **nodes * NOTABLE >= all);
        u32::try_from(unmeasured.count()).unwrap_or(u32::MAX)
    }

    fn site_of(&self, row: &Row) -> &Str {
        &self.view.entry(row.node).site
    }

    /// A node that this rollout updated, if its pod is available.
    fn done(&self, row: &Row, intent: &Intent, started_at: Timestamp) -> Option<DoneNode<'_>> {
        if !(row.at_target && row.available && row.updated && row.state == NodeState::Updated) {
            return None;
        }
        let pod = self.view.pod(row.pod?)?;
        // A pod that was ready before and lost that meanwhile did not take that long to be updated.
        if pod.served.is_some() || row.restarts > 0 {
            return None;
        }
        let made_at = pod.fact.created_at;
        let ready_at = row.since?;
        let available_at = ready_at + self.soak(intent);
        let of_this_rollout = made_at > started_at && available_at > made_at;
        of_this_rollout.then(|| DoneNode { site: self.site_of(row), made_at, ready_at, available_at })
    }

    /// Whether the node had all images before its pod was made, as Events tell.
    fn had_its_images(&self, row: &Row) -> bool {
        let pod = row.pod.and_then(|pod| self.view.pod(pod));
        let needed = self.view.daemonset().map(|daemonset| daemonset.template.needed_images()).unwrap_or_default();
        pod.is_some_and(|pod| {
            let was_there = |needed| self.view.last_pull_event(&pod.fact, needed) == Some(LastPullEvent::WasThere);
            !needed.is_empty() && needed.iter().all(was_there)
        })
    }

    /// For how long a pod has to be ready.
    fn soak(&self, intent: &Intent) -> Duration {
        let min_ready = self.view.daemonset().map_or(0, |daemonset| daemonset.min_ready_secs);
        Duration::from_secs(min_ready.max(intent.soak_secs()).into())
    }

    /// The time from a deletion until the next pod is made. The old pod is gone by then, with its timestamps, so the time is taken from how long
    /// after one node was done the next pod was made. A longer time than an old pod may take to end means that the rollout was held in between, and
    /// does not count.
    fn until_made(&self, done: &[DoneNode<'_>]) -> Duration {
        let mut ends: Vec<Timestamp> = done.iter().map(|done| done.available_at).collect();
        ends.sort_unstable();
        let spec = self.view.daemonset().map(|daemonset| &daemonset.template.json()["spec"]);
        let grace = spec.and_then(|spec| spec["terminationGracePeriodSeconds"].as_u64()).unwrap_or(GRACE_SECS);
        let most = Duration::from_secs(grace) + MARGIN;
        let after = |done: &DoneNode<'_>| {
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
}
