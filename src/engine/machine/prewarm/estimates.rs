//! How fast images come over the links while they are pre-warmed, and how long it will take.

use std::collections::HashMap;
use std::time::Duration;

use super::Job;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::estimate::TimeRange;
use crate::engine::model::prewarm::{PrewarmSite, PrewarmState, PrewarmWait};
use crate::engine::model::pull::FinishedPull;
use crate::engine::model::template::Template;
use crate::engine::rules::estimates::{ENOUGH, each, until_done};

/// The pulls of each image that ended well, by site.
type Pulls = Vec<HashMap<Str, Vec<FinishedPull>>>;

/// What is left of a site.
#[derive(Default)]
struct Left {
    /// For how long its nodes pull.
    pulling: Vec<Duration>,
    /// Nodes whose turn comes.
    waiting: usize,
}

impl Engine {
    /// Fills in how fast images come to each site and how long they will take, as far as finished pulls tell.
    pub(super) fn estimate_prewarming(&self, job: &Job, sites: &mut [PrewarmSite]) {
        let Ok(template) = &job.template else { return };
        if job.asked.cancelled.is_some() {
            return;
        }
        let pulls = self.pulls_by_site(template);
        let left = self.left_by_site(job);
        let all = |left: &Left| left.waiting + left.pulling.len();
        let total: usize = left.values().map(all).sum();
        let stands = self.prewarming_stands(&job.asked).is_some();
        for site in sites {
            let Some(left) = left.get(&site.name) else { continue };
            site.throughput = throughput(&pulls, &site.name, left.pulling.len());
            let Some(each) = each_node(&pulls, &site.name).filter(|_| !stands || left.waiting == 0) else { continue };
            // Sites that have no limit of their own share that of the whole.
            let share = (job.slots.limit as usize * all(left)).div_ceil(total.max(1)).max(1);
            let at_once = site.limit.map_or(share, |limit| share.min(limit as usize));
            let range = until_done(each, &left.pulling, left.waiting, at_once);
            // What takes longer than it should may take any time.
            site.estimate = range.filter(|range| !range.most.is_zero());
        }
    }

    fn pulls_by_site(&self, template: &Template) -> Pulls {
        let by_site = |image: &Str| {
            let mut sites: HashMap<Str, Vec<FinishedPull>> = HashMap::new();
            for (node, pull) in self.view.finished_pulls(image) {
                let site = self.view.node(node).map(|node| self.view.nodes[node].site.clone()).unwrap_or_default();
                sites.entry(site).or_default().push(*pull);
            }
            sites
        };
        template.images().iter().map(by_site).collect()
    }

    fn left_by_site(&self, job: &Job) -> HashMap<&Str, Left> {
        let mut sites: HashMap<&Str, Left> = HashMap::new();
        let now = self.view.server_time(self.now);
        for (node, state) in job.states.iter().enumerate() {
            let left = sites.entry(&self.view.nodes[node].site).or_default();
            match state {
                Some(PrewarmState::Pulling { since }) => left.pulling.push(now.since(*since)),
                Some(PrewarmState::Queued) => left.pulling.push(Duration::ZERO),
                Some(PrewarmState::Waiting(PrewarmWait::NodeDown | PrewarmWait::Cancelled)) => {}
                Some(PrewarmState::Waiting(_) | PrewarmState::Failed { again_at: Some(_), .. }) => left.waiting += 1,
                Some(PrewarmState::Failed { again_at: None, .. } | PrewarmState::Present) | None => {}
            }
        }
        sites
    }
}

/// The pulls of one image on the nodes of a site, or on all nodes where those of the site are too few.
fn peers<'a>(image: &'a HashMap<Str, Vec<FinishedPull>>, site: &str) -> Vec<&'a FinishedPull> {
    let here = image.get(site).filter(|pulls| pulls.len() >= ENOUGH);
    here.map_or_else(|| image.values().flatten().collect(), |pulls| pulls.iter().collect())
}

/// How long a node takes to pull all of the images. Of an image that nobody had to pull nothing is known, and it takes no time.
fn each_node(pulls: &Pulls, site: &str) -> Option<TimeRange> {
    let of_image = |image: &HashMap<Str, Vec<FinishedPull>>| {
        let mut took: Vec<Duration> = peers(image, site).iter().map(|pull| pull.transfer).collect();
        each(&mut took)
    };
    pulls
        .iter()
        .filter_map(of_image)
        .reduce(|sum, of_image| TimeRange { least: sum.least + of_image.least, most: sum.most + of_image.most })
}

/// As many pulls as there are now, each as fast as the median of those that are done.
fn throughput(pulls: &Pulls, site: &str, pulling: usize) -> Option<u64> {
    let rate = |pull: &&FinishedPull| {
        let millis = u64::try_from(pull.transfer.as_millis()).ok().filter(|millis| *millis > 0)?;
        Some(pull.bytes?.saturating_mul(1_000) / millis)
    };
    let mut rates: Vec<u64> =
        pulls.iter().flat_map(|image| peers(image, site)).filter_map(|pull| rate(&pull)).collect();
    rates.sort_unstable();
    let median = *rates.get(rates.len() / 2)?;
    (pulling > 0).then(|| median.saturating_mul(u64::try_from(pulling).unwrap_or(u64::MAX)))
}
