//! How fast images come over the links during pre-warming, and how long pre-warming will take.

use std::collections::HashMap;
use std::time::Duration;

use super::PrewarmJob;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::estimate::TimeRange;
use crate::engine::model::prewarm::{PrewarmMethod, PrewarmSite, PrewarmState, PrewarmWait};
use crate::engine::model::pull::FinishedPull;
use crate::engine::model::template::Template;
use crate::engine::rules::estimates::{each, until_done};

/// A running pull that has taken more than this many times as long as the slowest usual pull does not count as usual.
const OVERDUE: u32 = 2;

/// The pulls of each image that ended well, by site.
type PullsByImage = Vec<HashMap<Str, Vec<FinishedPull>>>;

/// The nodes of a site that are not finished.
#[derive(Default)]
struct Left {
    /// For each node that pulls: for how long it has pulled so far.
    pulling: Vec<Duration>,
    /// The number of nodes that wait for their turn.
    waiting: usize,
}

impl Engine {
    /// Fills in how fast images come to each site and how long they will take, as far as finished pulls tell.
    pub(super) fn estimate_prewarming(&self, job: &PrewarmJob, sites: &mut [PrewarmSite]) {
        let Ok(template) = &job.template else { return };
        if job.request.cancelled.is_some() {
            return;
        }
        let pulls = self.pulls_by_site(template);
        let left = self.left_by_site(job);
        let all = |left: &Left| left.waiting + left.pulling.len();
        let total: usize = left.values().map(all).sum();
        // The holder of the lease may be gone: a process that looks only once sees no renewal, only that one is due.
        let by_sets = job.request.method == PrewarmMethod::StatefulSet;
        let is_silent = self.lock.view(self.now).is_silent(self.view.server_time(self.now));
        // An obstacle to a StatefulSet holds up all nodes that are left to it.
        let stuck = by_sets && !self.stuck_sets(job).is_empty();
        let stands = self.prewarming_stands(&job.request).is_some() || is_silent && !by_sets || stuck;
        for site in sites {
            let Some(left) = left.get(&site.name) else { continue };
            site.throughput = throughput(&pulls, &site.name, left.pulling.len());
            let Some(each) = each_node(&pulls, &site.name).filter(|_| !stands || left.waiting == 0) else { continue };
            // Links differ in speed. Where a running pull takes far longer than the finished ones behind the estimate, no estimate is made.
            if left.pulling.iter().any(|elapsed| *elapsed > each.most.saturating_mul(OVERDUE)) {
                continue;
            }
            // Sites without a limit of their own share the overall limit.
            let share = job.slots.limit as usize * all(left);
            let at_once = (share / total.max(1)).max(1);
            let at_once = site.limit.map_or(at_once, |limit| at_once.min(limit as usize));
            let range = until_done(each, &left.pulling, left.waiting, at_once);
            // A site whose share of the limit is less than one node pulls only part of the time.
            let parts = |of: usize| u32::try_from(of.max(1)).unwrap_or(u32::MAX);
            let turns = |span: Duration| if share < total { span * parts(total) / parts(share) } else { span };
            let range = range.map(|range| match left.waiting {
                0 => range.rounded(),
                _ => TimeRange { least: turns(range.least), most: turns(range.most) }.rounded(),
            });
            // A pull that takes longer than expected may take any time, so the site gets no estimate.
            site.estimate = range.filter(|range| !range.most.is_zero());
        }
    }

    fn pulls_by_site(&self, template: &Template) -> PullsByImage {
        let by_site = |image: &Str| {
            let mut sites: HashMap<Str, Vec<FinishedPull>> = HashMap::new();
            for (node, pull, _) in self.view.finished_pulls(image) {
                let site = self.view.node(node).map(|node| self.view.nodes[node].site.clone()).unwrap_or_default();
                sites.entry(site).or_default().push(*pull);
            }
            sites
        };
        template.images().iter().map(by_site).collect()
    }

    fn left_by_site(&self, job: &PrewarmJob) -> HashMap<&Str, Left> {
        let mut sites: HashMap<&Str, Left> = HashMap::new();
        let now = self.view.server_time(self.now);
        for (node, state) in job.states.iter().enumerate() {
            let left = sites.entry(&self.view.nodes[node].site).or_default();
            match state {
                Some(PrewarmState::Pulling { since }) => left.pulling.push(now.since(*since)),
                Some(PrewarmState::Queued | PrewarmState::Silent { .. }) => left.pulling.push(Duration::ZERO),
                Some(PrewarmState::Waiting(PrewarmWait::NodeDown | PrewarmWait::Cancelled | PrewarmWait::Complete)) => {
                }
                Some(PrewarmState::Waiting(_) | PrewarmState::Failed { again_at: Some(_), .. }) => left.waiting += 1,
                Some(PrewarmState::Failed { again_at: None, .. } | PrewarmState::Present) | None => {}
            }
        }
        sites
    }
}

/// How long a node of a site takes to pull all of the images: by the pulls of that site, else by the pulls of all sites. An image that nobody has
/// pulled counts as taking no time.
fn each_node(pulls: &PullsByImage, site: &str) -> Option<TimeRange> {
    let of_image = |image: &HashMap<Str, Vec<FinishedPull>>| {
        let mut all: Vec<Duration> = image.values().flatten().map(|pull| pull.transfer).collect();
        let of_all = each(&mut all)?;
        let mut here: Vec<Duration> = image.get(site).into_iter().flatten().map(|pull| pull.transfer).collect();
        let few =
            here.iter().min().zip(here.iter().max()).map(|(least, most)| TimeRange { least: *least, most: *most });
        Some(each(&mut here).or(few).unwrap_or(of_all))
    };
    pulls
        .iter()
        .filter_map(of_image)
        .reduce(|sum, of_image| TimeRange { least: sum.least + of_image.least, most: sum.most + of_image.most })
}

/// The throughput of a site: the number of its running pulls times the median rate of its finished ones. `None` where nothing pulls or no rate is
/// known.
fn throughput(pulls: &PullsByImage, site: &str, pulling: usize) -> Option<u64> {
    let rate = |pull: &FinishedPull| {
        let millis = u64::try_from(pull.transfer.as_millis()).ok().filter(|millis| *millis > 0)?;
        Some(pull.bytes?.saturating_mul(1_000) / millis)
    };
    let mut rates: Vec<u64> = pulls.iter().filter_map(|image| image.get(site)).flatten().filter_map(rate).collect();
    rates.sort_unstable();
    let median = *rates.get(rates.len() / 2)?;
    (pulling > 0).then(|| median.saturating_mul(u64::try_from(pulling).unwrap_or(u64::MAX)))
}
