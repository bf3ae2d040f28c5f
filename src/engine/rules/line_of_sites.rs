//! When the nodes of each site will be done, where all nodes stand in one line: so many go at once in all, and of some sites so many. A site whose
//! nodes stand at the end of the line is done long after the others, however quick its link is.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use crate::engine::model::estimate::TimeRange;

/// A site whose nodes stand in line.
#[derive(Clone, Debug, Default)]
pub(crate) struct SiteInLine {
    /// How long one of its nodes takes; `None` where nothing measures that.
    pub(crate) each: Option<TimeRange>,
    /// For how long each of its nodes under way has been so.
    pub(crate) under_way: Vec<Duration>,
    /// How many of its nodes go at once; `None`: as many as in all.
    pub(crate) at_once: Option<usize>,
}

/// How long until the last node of each site is done. `waiting` has the site of each node that waits, in the order in which they go; `at_once` of all
/// nodes go at once.
///
/// `None` for a site of which nothing is left, that is not measured, or that waits for nodes of which it is not known how long they take.
pub(crate) fn until_sites_are_done(sites: &[SiteInLine], waiting: &[usize], at_once: usize) -> Vec<Option<TimeRange>> {
    // A node of which nothing is known takes no time at best, and keeps its place for good at worst.
    let least = last_ends(sites, waiting, at_once, |site| site.each.map_or(Duration::ZERO, |each| each.least));
    let most = last_ends(sites, waiting, at_once, |site| site.each.map_or(Duration::MAX, |each| each.most));
    let range = |(site, (least, most)): (&SiteInLine, (Option<Duration>, Option<Duration>))| {
        site.each?;
        Some(TimeRange { least: least?, most: most.filter(|most| *most < Duration::MAX)? })
    };
    sites.iter().zip(least.into_iter().zip(most)).map(range).collect()
}

/// When the last node of each site ends: `None` where none is left, [`Duration::MAX`] where it never begins or ends.
fn last_ends(
    sites: &[SiteInLine],
    waiting: &[usize],
    at_once: usize,
    each: impl Fn(&SiteInLine) -> Duration,
) -> Vec<Option<Duration>> {
    let mut ends: Vec<Option<Duration>> = vec![None; sites.len()];
    let mut busy = BinaryHeap::new();
    let mut running = vec![0_usize; sites.len()];
    for (site, of_site) in sites.iter().enumerate() {
        for elapsed in &of_site.under_way {
            let takes = each(of_site);
            let end = if takes == Duration::MAX { takes } else { takes.saturating_sub(*elapsed) };
            ends[site] = ends[site].max(Some(end));
            busy.push(Reverse((end, site)));
            running[site] += 1;
        }
    }
    let mut lines: Vec<VecDeque<usize>> = vec![VecDeque::new(); sites.len()];
    for (place, site) in waiting.iter().enumerate() {
        lines[*site].push_back(place);
    }
    let has_room = |site: usize, running: &[usize]| running[site] < sites[site].at_once.unwrap_or(at_once);
    // The sites that have room, each with the place of its first node.
    let mut first = BinaryHeap::new();
    let mut listed = vec![false; sites.len()];
    for site in 0..sites.len() {
        if let Some(place) = lines[site].front().filter(|_| has_room(site, &running)) {
            first.push(Reverse((*place, site)));
            listed[site] = true;
        }
    }
    let mut now = Duration::ZERO;
    loop {
        while busy.len() < at_once
            && let Some(Reverse((_, site))) = first.pop()
        {
            lines[site].pop_front();
            running[site] += 1;
            let end = now.saturating_add(each(&sites[site]));
            ends[site] = ends[site].max(Some(end));
            busy.push(Reverse((end, site)));
            let next = lines[site].front().filter(|_| has_room(site, &running));
            listed[site] = next.is_some();
            first.extend(next.map(|place| Reverse((*place, site))));
        }
        let Some(Reverse((end, site))) = busy.pop().filter(|Reverse((end, _))| *end < Duration::MAX) else { break };
        now = end;
        running[site] -= 1;
        if !listed[site]
            && let Some(place) = lines[site].front().filter(|_| has_room(site, &running))
        {
            first.push(Reverse((*place, site)));
            listed[site] = true;
        }
    }
    for (end, _) in ends.iter_mut().zip(&lines).filter(|(_, line)| !line.is_empty()) {
        *end = Some(Duration::MAX);
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(each: Option<(u64, u64)>, under_way: &[u64], at_once: Option<usize>) -> SiteInLine {
        let range = |(least, most)| TimeRange { least: Duration::from_secs(least), most: Duration::from_secs(most) };
        let under_way = under_way.iter().map(|secs| Duration::from_secs(*secs)).collect();
        SiteInLine { each: each.map(range), under_way, at_once }
    }

    fn done(sites: &[SiteInLine], waiting: &[usize], at_once: usize) -> Vec<Option<(u64, u64)>> {
        let secs = |range: TimeRange| (range.least.as_secs(), range.most.as_secs());
        until_sites_are_done(sites, waiting, at_once).into_iter().map(|range| range.map(secs)).collect()
    }

    #[test]
    fn a_site_is_done_when_its_place_in_the_line_lets_it() {
        let quick = || site(Some((10, 10)), &[], None);
        let slow = || site(Some((60, 120)), &[], None);
        let one_after_the_other = [0, 0, 0, 0, 1, 1, 1, 1];
        assert_eq!(done(&[quick(), slow()], &one_after_the_other, 2), [Some((20, 20)), Some((140, 260))]);
        assert_eq!(done(&[slow(), quick()], &one_after_the_other, 2), [Some((120, 240)), Some((140, 260))]);
        assert_eq!(done(&[quick(), slow()], &[0, 1, 0, 1], 2), [Some((20, 20)), Some((80, 140))], "in turn");
        assert_eq!(done(&[quick(), quick()], &[], 2), [None, None], "nothing is left");
        assert_eq!(done(&[quick(), quick()], &[0, 1], 0), [None, None], "nothing may go");
    }

    #[test]
    fn limits_of_sites_let_others_pass() {
        let slow = site(Some((60, 60)), &[], Some(1));
        let quick = site(Some((10, 10)), &[], None);
        // One place of the two is left to the quick site.
        assert_eq!(done(&[slow, quick], &[0, 0, 0, 1, 1, 1], 2), [Some((180, 180)), Some((30, 30))]);
    }

    #[test]
    fn nodes_under_way_have_the_time_behind_them_that_they_took() {
        assert_eq!(done(&[site(Some((60, 120)), &[30, 0], None)], &[0], 2), [Some((90, 210))]);
        assert_eq!(done(&[site(Some((60, 120)), &[300], None)], &[], 2), [Some((0, 0))], "overdue");
        assert_eq!(done(&[site(Some((10, 10)), &[0, 0, 0], None)], &[0], 1), [Some((20, 20))], "more than may go");
    }

    #[test]
    fn what_is_not_measured_makes_unknown_only_what_waits_for_it() {
        let (quick, unmeasured) = (|| site(Some((10, 10)), &[], None), || site(None, &[], None));
        assert_eq!(done(&[quick(), unmeasured()], &[0, 0, 1, 1], 1), [Some((20, 20)), None]);
        assert_eq!(done(&[quick(), unmeasured()], &[1, 0, 0], 1), [None, None]);
        assert_eq!(done(&[quick(), unmeasured()], &[1, 0, 0], 2), [Some((10, 20)), None], "on the other place");
    }
}
