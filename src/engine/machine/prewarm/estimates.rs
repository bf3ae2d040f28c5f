//! How fast images come over the links during pre-warming, and how long pre-warming will take.

use std::collections::HashMap;
use std::time::Duration;

use super::PrewarmJob;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::estimate::TimeRange;
use crate::engine::model::node::NodeIx;
use crate::engine::model::prewarm::{PrewarmMethod, PrewarmSite, PrewarmState, PrewarmWait};
use crate::engine::model::pull::FinishedPull;
use crate::engine::model::template::Template;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::clocks::by_server;
use crate::engine::rules::estimates::each;
use crate::engine::rules::line_of_sites::{SiteInLine, until_sites_are_done};
use crate::engine::rules::shared_link::{PullSpan, each_over_the_link};
use crate::engine::view::PullOfPod;

/// A running pull that has taken more than this many times as long as the slowest usual pull does not count as usual.
const OVERDUE: u32 = 2;

/// The pulls of each image that ended well, by site, each with when it ended by the API server's clock.
type PullsByImage = Vec<HashMap<Str, Vec<(FinishedPull, Timestamp)>>>;

/// A site with fewer than one in this many of the nodes left changes the estimate of all little.
const NOTABLE: usize = 10;

/// The nodes of a site that are not finished.
#[derive(Default)]
struct Left {
    /// For each node that pulls: for how long it has pulled so far.
    pulling: Vec<Duration>,
    /// The nodes that wait for their turn.
    waiting: Vec<NodeIx>,
}

impl Left {
    fn nodes(&self) -> usize {
        self.pulling.len() + self.waiting.len()
    }
}

impl Engine {
    /// Fills in how fast images come to each site and how long they will take, as far as finished pulls tell. Returns how long all sites take
    /// together; `None` where nothing measures how long.
    pub(super) fn estimate_prewarming(&self, job: &PrewarmJob, sites: &mut [PrewarmSite]) -> Option<TimeRange> {
        let Ok(template) = &job.template else { return None };
        if job.request.cancelled.is_some() {
            return None;
        }
        let pulls = self.pulls_by_site(template);
        let left = self.left_by_site(job);
        let total: usize = left.values().map(Left::nodes).sum();
        let stands = self.pulls_stand(job);
        let now = self.view.server_time(self.now);
        let of_all = each_of_all(&pulls);
        // The line is of all sites: one that is done sooner leaves its slots to the others.
        let (mut in_line, mut is_measured) = (Vec::new(), Vec::new());
        for site in sites.iter_mut() {
            let none = Left::default();
            let left = left.get(&site.name).unwrap_or(&none);
            site.throughput = throughput(&pulls, &site.name, left.pulling.len());
            let at_once = site.limit.map(|limit| limit as usize);
            // Several share the link of the site, as many as may while it is its turn.
            let share = at_once.unwrap_or(usize::MAX).min(job.slots.limit as usize).min(left.nodes()).max(1);
            let here = each_node(&pulls, &site.name, &left.pulling, share, now);
            let here = here.filter(|_| !stands || left.waiting.is_empty());
            // A site of few nodes takes about as long as the others. Links differ in speed, so that nothing is told of it alone.
            let few = of_all.filter(|_| !stands && left.nodes() * NOTABLE < total);
            // Where a running pull takes far longer than the finished ones behind the estimate, no estimate is made.
            let is_usual = |each: &TimeRange| left.pulling.iter().all(|it| *it <= each.most.saturating_mul(OVERDUE));
            let each = here.or(few).filter(is_usual);
            is_measured.push(here.is_some());
            in_line.push(SiteInLine { each, under_way: left.pulling.clone(), at_once });
        }
        let waiting = if stands { Vec::new() } else { self.sites_in_line(job, &left, sites) };
        let at_once = (job.slots.limit as usize).max(1);
        let ranges = until_sites_are_done(&in_line, &waiting, at_once);
        // A pull that takes longer than expected may take any time, so the site gets no estimate.
        let ranges: Vec<_> = ranges.into_iter().map(|range| range.filter(|range| !range.most.is_zero())).collect();
        for ((site, range), is_measured) in sites.iter_mut().zip(&ranges).zip(is_measured) {
            site.estimate = range.filter(|_| is_measured).map(TimeRange::rounded);
        }
        // All are done once the last site is, which is known only if each site is.
        let has_left = |site: &PrewarmSite| left.get(&site.name).is_some_and(|left| left.nodes() > 0);
        let of_left = sites.iter().zip(ranges).filter(|(site, _)| has_left(site)).map(|(_, range)| range);
        let later = |a: TimeRange, b: TimeRange| TimeRange { least: a.least.max(b.least), most: a.most.max(b.most) };
        of_left.collect::<Option<Vec<TimeRange>>>()?.into_iter().reduce(later).map(TimeRange::rounded)
    }

    /// Whether no node that waits gets its turn, as far as is known.
    fn pulls_stand(&self, job: &PrewarmJob) -> bool {
        // The holder of the lease may be gone: a process that looks only once sees no renewal, only that one is due.
        let by_sets = job.request.method == PrewarmMethod::StatefulSet;
        let is_silent = self.lock.view(self.now).is_silent(self.view.server_time(self.now));
        // An obstacle to a StatefulSet holds up all nodes that are left to it.
        let stuck = by_sets && !self.stuck_sets(job).is_empty();
        self.prewarming_stands(&job.request).is_some() || is_silent && !by_sets || stuck
    }

    /// The site of each node that waits, by its place in `sites`, in the order in which they go. Nodes that wait for something of their own go last.
    fn sites_in_line(&self, job: &PrewarmJob, left: &HashMap<&Str, Left>, sites: &[PrewarmSite]) -> Vec<usize> {
        let mut line: Vec<((usize, u64), usize)> = Vec::new();
        let places: HashMap<NodeIx, usize> = job.line.iter().enumerate().map(|(place, node)| (*node, place)).collect();
        for (of_site, site) in sites.iter().enumerate() {
            let Some(Left { waiting, .. }) = left.get(&site.name) else { continue };
            for (nth, node) in (0_u64..).zip(waiting) {
                // StatefulSets have no order: nodes of all sites are taken to go in turn, of larger sites more.
                let share = ((2 * nth + 1) << 32) / (2 * waiting.len() as u64);
                line.push(((places.get(node).copied().unwrap_or(usize::MAX), share), of_site));
            }
        }
        line.sort_by_key(|(place, _)| *place);
        line.into_iter().map(|(_, site)| site).collect()
    }

    fn pulls_by_site(&self, template: &Template) -> PullsByImage {
        let by_site = |image: &Str| {
            let mut sites: HashMap<Str, Vec<(FinishedPull, Timestamp)>> = HashMap::new();
            for PullOfPod { node, pull, ended, .. } in self.view.finished_pulls(image) {
                let entry = self.view.node(node).map(|node| self.view.entry(node));
                let site = entry.map(|entry| entry.site.clone()).unwrap_or_default();
                let clock = entry.and_then(|entry| entry.fact.as_ref()?.clock_skew_millis);
                sites.entry(site).or_default().push((*pull, by_server(*ended, clock)));
            }
            sites
        };
        template.images().iter().map(by_site).collect()
    }

    fn left_by_site(&self, job: &PrewarmJob) -> HashMap<&Str, Left> {
        let mut sites: HashMap<&Str, Left> = HashMap::new();
        let now = self.view.server_time(self.now);
        for (node, state) in job.states.iter().enumerate() {
            let left = sites.entry(&self.view.entry(node).site).or_default();
            match state {
                Some(PrewarmState::Pulling { since }) => left.pulling.push(now.since(*since)),
                Some(PrewarmState::Queued | PrewarmState::Silent { .. }) => left.pulling.push(Duration::ZERO),
                Some(PrewarmState::Waiting(PrewarmWait::NodeDown | PrewarmWait::Cancelled | PrewarmWait::Complete)) => {
                }
                Some(PrewarmState::Waiting(_) | PrewarmState::Failed { again_at: Some(_), .. }) => {
                    left.waiting.push(node);
                }
                Some(PrewarmState::Failed { again_at: None, .. } | PrewarmState::Present) | None => {}
            }
        }
        sites
    }
}

/// How long a node of a site takes to pull all of the images while `at_once` do, by the finished pulls of that site; `None` where an image was pulled
/// elsewhere and not here, and where too few were pulled anywhere. An image that nobody has pulled counts as taking no time. `pulling` is for how
/// long those that pull have done so.
fn each_node(
    pulls: &PullsByImage,
    site: &str,
    pulling: &[Duration],
    at_once: usize,
    now: Timestamp,
) -> Option<TimeRange> {
    each_of_all(pulls)?;
    let span = |(pull, until): &(FinishedPull, Timestamp)| PullSpan { from: *until - pull.transfer, until: *until };
    let of_site = |image: &HashMap<Str, Vec<(FinishedPull, Timestamp)>>| -> Vec<PullSpan> {
        image.get(site).into_iter().flatten().map(span).collect()
    };
    let running: Vec<PullSpan> = pulling.iter().map(|elapsed| PullSpan { from: now - *elapsed, until: now }).collect();
    let pulled: Vec<Vec<PullSpan>> = pulls.iter().filter(|image| !image.is_empty()).map(of_site).collect();
    let of_image = |nth: usize| {
        let others = pulled.iter().enumerate().filter(|(other, _)| *other != nth).flat_map(|(_, spans)| spans);
        let beside: Vec<PullSpan> = running.iter().chain(others).copied().collect();
        each_over_the_link(&pulled[nth], &beside, at_once)
    };
    (0..pulled.len()).map(of_image).collect::<Option<Vec<TimeRange>>>()?.into_iter().reduce(sum)
}

/// How long a node takes to pull all of the images, by the finished pulls of all sites; `None` where they are too few.
fn each_of_all(pulls: &PullsByImage) -> Option<TimeRange> {
    let of_image = |image: &HashMap<Str, Vec<(FinishedPull, Timestamp)>>| {
        each(&mut image.values().flatten().map(|(pull, _)| pull.transfer).collect::<Vec<Duration>>())
    };
    pulls.iter().filter_map(of_image).reduce(sum)
}

fn sum(a: TimeRange, b: TimeRange) -> TimeRange {
    TimeRange { least: a.least + b.least, most: a.most + b.most }
}

/// The throughput of a site: the number of its running pulls times the median rate of its finished ones. `None` where nothing pulls or no rate is
/// known.
fn throughput(pulls: &PullsByImage, site: &str, pulling: usize) -> Option<u64> {
    let rate = |(pull, _): &(FinishedPull, Timestamp)| {
        let millis = u64::try_from(pull.transfer.as_millis()).ok().filter(|millis| *millis > 0)?;
        Some(pull.bytes?.saturating_mul(1_000) / millis)
    };
    let mut rates: Vec<u64> = pulls.iter().filter_map(|image| image.get(site)).flatten().filter_map(rate).collect();
    rates.sort_unstable();
    let median = *rates.get(rates.len() / 2)?;
    (pulling > 0).then(|| median.saturating_mul(u64::try_from(pulling).unwrap_or(u64::MAX)))
}
