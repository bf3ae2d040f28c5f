//! The lanes that the nodes left wait for: places that nodes take after each other, such as those under `maxUnavailable`. The rollout is done when
//! the last lane is empty.
//!
//! ```text
//!   maxUnavailable ───── every node, for as long as its whole update takes
//!   maxPulling ───────── nodes that pull, from the deletion of the pod until its replacement is ready
//!   maxPullingPerSite ── the same, in each site: as slow as its link
//! ```

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use super::{DoneNode, MARGIN, MEASURED_OF_SITE, PAUSE};
use crate::engine::assess::plan::Limits;
use crate::engine::assess::rows::Row;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::estimate::TimeRange;
use crate::engine::model::node::ImageState;
use crate::engine::model::quantity::Rounding;
use crate::engine::model::record::Intent;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::estimates::{at_rate, each_of_few, until_done};

/// The range of an estimate is widened at each end by one part in this many.
const UNEVEN: u32 = 10;

/// How long an update takes on the nodes of a site.
#[derive(Clone, Copy)]
struct SiteTimes {
    /// From the deletion of the pod until its replacement is available.
    whole: TimeRange,
    /// From the deletion of the pod until its replacement is ready, which is as long as the node may pull.
    until_ready: TimeRange,
}

/// A node that is being updated, and for how long so far.
struct UnderWay<'a> {
    site: &'a Str,
    elapsed: Duration,
    pulls: bool,
}

/// The lanes that the nodes left wait for, and how long updates took in each site.
pub(super) struct Lanes<'a> {
    engine: &'a Engine,
    under_way: Vec<UnderWay<'a>>,
    /// When nodes became available: of all sites, and of each.
    ends: Vec<Timestamp>,
    site_ends: HashMap<&'a Str, Vec<Timestamp>>,
    sites: HashMap<&'a Str, SiteTimes>,
    /// Times for a site with no finished node.
    fleet: SiteTimes,
    site_nodes: HashMap<&'a Str, u32>,
    max_unavailable: usize,
    max_pulling: u32,
    intent: &'a Intent,
    soak: Duration,
}

impl<'a> Lanes<'a> {
    /// `done` is in the order in which the nodes became available, and not empty.
    pub(super) fn new(
        engine: &'a Engine,
        done: &[DoneNode<'a>],
        moving: &[&'a Row],
        intent: &'a Intent,
        limits: &Limits,
    ) -> Self {
        let recent = |done: &[DoneNode<'a>]| done[done.len().saturating_sub(MEASURED_OF_SITE)..].to_vec();
        let latest = recent(done);
        let going = engine.until_made(&latest);
        let under_way: Vec<UnderWay<'a>> = moving
            .iter()
            .map(|row| UnderWay {
                site: engine.site_of(row),
                elapsed: engine.under_way_for(row, going),
                pulls: row.pulls,
            })
            .collect();
        let mut of_site: HashMap<&Str, Vec<DoneNode<'a>>> = HashMap::new();
        done.iter().for_each(|done| of_site.entry(done.site).or_default().push(*done));
        let times = |done: &[DoneNode<'a>], under_way: &mut dyn Iterator<Item = &UnderWay<'a>>| {
            let under_way: Vec<&UnderWay<'a>> = under_way.collect();
            let range = |end: fn(&DoneNode<'a>) -> Timestamp, counts: fn(&&&UnderWay<'a>) -> bool| {
                let mut took: Vec<Duration> = done.iter().map(|done| end(done).since(done.made_at) + going).collect();
                let longest = took.iter().max().copied().unwrap_or_default();
                let TimeRange { least, most } = each_of_few(&mut took);
                // A node that has been on its way for longer than the finished nodes took counts with its time so far.
                let so_far = under_way.iter().filter(counts).map(|node| node.elapsed);
                took.extend(so_far.filter(|elapsed| *elapsed > longest));
                TimeRange { least, most: most.max(each_of_few(&mut took).most) }
            };
            SiteTimes {
                whole: range(|done| done.available_at, |_| true),
                until_ready: range(|done| done.ready_at, |node| node.pulls),
            }
        };
        let fleet = times(&latest, &mut under_way.iter());
        let sites = of_site.iter().map(|(site, done)| {
            let site: &Str = site;
            (site, times(&recent(done), &mut under_way.iter().filter(|node| node.site == site)))
        });
        let site_ends = of_site.iter().map(|(site, done)| {
            let site: &Str = site;
            (site, recent(done).iter().map(|done| done.available_at).collect())
        });
        let mut site_nodes: HashMap<&Str, u32> = HashMap::new();
        let rows = engine.assessment.rows().filter(|row| row.in_fleet);
        rows.for_each(|row| *site_nodes.entry(engine.site_of(row)).or_default() += 1);
        let moving = moving.len();
        // Nodes that are charged and do not move stay charged.
        let stuck = count(engine.budget.charged).saturating_sub(moving);
        Self {
            engine,
            ends: latest.iter().map(|done| done.available_at).collect(),
            site_ends: site_ends.collect(),
            sites: sites.collect(),
            fleet,
            site_nodes,
            max_unavailable: count(limits.max_unavailable).saturating_sub(stuck),
            max_pulling: limits.max_pulling,
            intent,
            soak: engine.soak(intent),
            under_way,
        }
    }

    /// The number of nodes from which the times of the sites were taken.
    pub(super) fn measured_nodes(&self) -> u32 {
        u32::try_from(self.site_ends.values().map(Vec::len).sum::<usize>()).unwrap_or(u32::MAX)
    }

    /// How long until the nodes on their way and `waiting` are done; `None` where nothing is left, or nothing may go.
    pub(super) fn until_done(&self, waiting: &[&'a Row]) -> Option<TimeRange> {
        let all: Vec<&UnderWay<'a>> = self.under_way.iter().collect();
        let whole = self.lane(
            |times| times.whole,
            (&all, &self.by_site(waiting.iter().copied())),
            self.max_unavailable,
            &self.ends,
        )?;
        let pull = self.by_site(waiting.iter().copied().filter(|row| row.image != ImageState::Present));
        if pull.is_empty() {
            return Some(said(whole));
        }
        let pulling: Vec<&UnderWay<'a>> = all.into_iter().filter(|node| node.pulls).collect();
        let mut last = self.later(whole, (&pulling, &pull), count(self.max_pulling), &[])?;
        for one in &pull {
            let site = one.0;
            let pulling: Vec<&UnderWay<'a>> = pulling.iter().copied().filter(|node| node.site == site).collect();
            let ends = self.site_ends.get(site).map(Vec::as_slice).unwrap_or_default();
            last = self.later(last, (&pulling, std::slice::from_ref(one)), self.at_once(site), ends)?;
        }
        Some(said(last))
    }

    /// How many of these nodes there are in each site.
    fn by_site(&self, rows: impl Iterator<Item = &'a Row>) -> Vec<(&'a Str, usize)> {
        let mut sites: BTreeMap<&Str, usize> = BTreeMap::new();
        rows.for_each(|row| *sites.entry(self.engine.site_of(row)).or_default() += 1);
        sites.into_iter().collect()
    }

    /// The later of `other` and the time at which these nodes have pulled and then been ready for as long as required.
    fn later(
        &self,
        other: TimeRange,
        nodes: (&[&UnderWay<'a>], &[(&'a Str, usize)]),
        at_once: usize,
        ends: &[Timestamp],
    ) -> Option<TimeRange> {
        let ready = self.lane(|times| times.until_ready, nodes, at_once, ends)?;
        let (least, most) = (ready.least + self.soak, ready.most + self.soak);
        Some(TimeRange { least: other.least.max(least), most: other.most.max(most) })
    }

    /// `waiting` is the number of nodes of each site. In a lane that sites share, each node takes as long as their average.
    fn lane(
        &self,
        of: fn(&SiteTimes) -> TimeRange,
        (under_way, waiting): (&[&UnderWay<'a>], &[(&'a Str, usize)]),
        at_once: usize,
        ends: &[Timestamp],
    ) -> Option<TimeRange> {
        let sites = under_way.iter().map(|node| (node.site, 1)).chain(waiting.iter().copied());
        let (mut least, mut most, mut all) = (Duration::ZERO, Duration::ZERO, 0_u32);
        for (site, nodes) in sites {
            let each = of(self.sites.get(site).unwrap_or(&self.fleet));
            let nodes = u32::try_from(nodes).unwrap_or(u32::MAX);
            (least, most, all) = (least + each.least * nodes, most + each.most * nodes, all.saturating_add(nodes));
        }
        let all = all.max(1);
        let each = TimeRange { least: least / all, most: most / all };
        let elapsed: Vec<Duration> = under_way.iter().map(|node| node.elapsed).collect();
        let waiting = waiting.iter().map(|(_, nodes)| nodes).sum();
        let range = until_done(each, &elapsed, waiting, at_once)?;
        let now = self.engine.view.server_time(self.engine.now);
        let lately = at_rate(ends, now, each.most * PAUSE + MARGIN, waiting + elapsed.len());
        // The last nodes on their way take a full update each, whatever the rate was.
        let lately = lately.filter(|_| waiting > 0);
        Some(TimeRange {
            least: lately.map_or(range.least, |lately| lately.min(range.least)),
            most: lately.map_or(range.most, |lately| lately.max(range.most)),
        })
    }

    /// How many nodes of a site may pull at once: the limit of operators, or the pace of the site where it follows its link.
    fn at_once(&self, site: &Str) -> usize {
        let asked = match self.intent.budgets.max_pulling_per_site.at() {
            Some(limit) => limit.of(self.site_nodes.get(site).copied().unwrap_or_default(), Rounding::Up),
            None => self.max_pulling,
        };
        count(self.engine.paced_limit(site, asked).unwrap_or(asked))
    }
}

/// The range as it is shown, widened: no two nodes take equally long, even if the finished ones did.
fn said(range: TimeRange) -> TimeRange {
    let TimeRange { least, most } = range;
    TimeRange { least: least - least / UNEVEN, most: most + most / UNEVEN }.rounded()
}

fn count(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
