//! Which suspects have failed, which may come back, and which went down with their site: a pure function.
//!
//! ```text
//! an updated node goes down ──▶ charged to the budget at once
//!   updated nodes of its site go down clearly more often than others      ──▶ failed, all that went down
//!   others of its site went down with it, and still are                   ──▶ the site's outage: waits for them
//!   it went down before, by itself, and came back within the window       ──▶ failed, unless it did so before its update, too
//!   it has been down for the grace, by itself or alone at last            ──▶ failed
//!   it went down in the course of its update, and its kubelet says so     ──▶ neither compared nor counted as going down again
//!   otherwise                                                             ──▶ waits until the grace is over
//! ```
//!
//! Where nodes with old pods go down at the same moment all over the fleet, the control plane was down or out of reach ([`fell_all_over`]): kubelets could
//! not renew their leases. An updated node that went down with them is treated like one whose site went down with it, and is not compared.
//!
//! Some pods make their node NotReady when they are replaced, whatever their revision: agents that restart the container runtime, or that set up its network. Every
//! node of theirs goes down as soon as it is updated, and none of the others, so that a comparison says nothing. What tells it from a machine that
//! the update has brought down is that the kubelet runs, and reports (`Ready` is `False` and not `Unknown`). The budget holds meanwhile.
//!
//! Nodes whose object was deleted count in the comparison only: they do not come back, so none is waited for with them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::comparison::Comparison;
use crate::engine::model::node::NodeIx;
use crate::engine::model::record::WentDown;
use crate::engine::model::suspect::{SiteOutage, SuspectView};
use crate::engine::model::time::Timestamp;

/// For this long a node that went down and came back is remembered, and over this time updated nodes and others are compared.
pub(crate) const WINDOW: Duration = Duration::from_secs(600);
/// Nodes that went down within this of each other went down together. A silent node is noticed after up to a heartbeat (10 s)
/// and a period of the controller (5 s), and a failing power line or switch does not stop all its nodes at once.
pub(crate) const TOGETHER: Duration = Duration::from_secs(120);
/// How long it may take until the rest of a site is seen to be down. Until then a node that went down alone cannot be told
/// from the first of many.
pub(crate) const SETTLE: Duration = Duration::from_secs(30);
/// A node that went down this many times before its update flaps, whatever runs on it.
pub(crate) const FLAPS: usize = 2;
/// The time before an update within which falls count as flapping. Behind a bad link nodes go down several times an hour.
pub(crate) const FLAPPED: Duration = Duration::from_secs(3600);
/// If at least one in this many nodes of a site is down, nothing that serves is replaced there.
const LARGE: usize = 10;

/// A node of the fleet, with the facts needed here. Instants are by our own clock.
#[derive(Clone, Debug)]
pub(crate) struct NodeHealth {
    pub(crate) node: NodeIx,
    pub(crate) site: Str,
    /// Its pod was put there by the rollout.
    pub(crate) updated: bool,
    /// When that pod was created.
    pub(crate) updated_at: Option<Timestamp>,
    /// It is down and charged to the rollout for that: a suspect.
    pub(crate) suspect: bool,
    pub(crate) down: bool,
    /// It left the fleet while it was down (its object is gone, or it was tainted): it is not waited for, and says nothing of its site's network or power.
    pub(crate) has_left: bool,
    /// When it went down last, as far as known.
    pub(crate) fell_at: Option<Timestamp>,
    /// When it came back after that.
    pub(crate) back_at: Option<Timestamp>,
    /// How often it went down by itself and came back within the window before.
    pub(crate) falls: u32,
    /// It went down again and again before its update as well ([`FLAPS`] times within [`FLAPPED`]). Another fall then says nothing of the update, but
    /// staying down does.
    pub(crate) flaps: bool,
    /// It last went down in the course of its update, and its kubelet said so itself all the time.
    pub(crate) in_update: bool,
    /// Somebody has accepted that it failed.
    pub(crate) acknowledged_failures: bool,
}

impl NodeHealth {
    /// Whether it had the new pod already when it went down.
    pub(crate) fn fell_updated(&self) -> bool {
        // The API server writes whole seconds.
        let second = Duration::from_secs(1);
        let had = |at: Timestamp| self.fell_at.is_some_and(|fell_at| at <= fell_at + second);
        self.updated && self.updated_at.is_none_or(had)
    }

    /// Whether it went down with an old pod that nobody replaced: that says something of its site, and nothing of the update.
    pub(crate) fn fell_by_itself(&self) -> bool {
        self.fell_at.is_some() && !self.fell_updated() && !self.has_left && !self.in_update
    }

    /// Whether it went down within [`TOGETHER`] of `at`.
    pub(crate) fn fell_with(&self, at: Timestamp) -> bool {
        self.fell_at.is_some_and(|fell_at| fell_at.since(at).max(at.since(fell_at)) <= TOGETHER)
    }
}

/// The input of a judgement, besides the nodes.
pub(crate) struct JudgementInput<'a> {
    pub(crate) now: Timestamp,
    /// How long a suspect may stay down.
    pub(crate) grace: Duration,
    /// Falls before this time are not compared: they were accepted, or belong to another rollout.
    pub(crate) compared_since: Timestamp,
    /// Since when we look at nodes ourselves.
    pub(crate) looked_since: Timestamp,
    /// How many other nodes of a site went down before `looked_since`, by the record.
    pub(crate) others_before: &'a dyn Fn(&str) -> u32,
}

impl JudgementInput<'_> {
    fn compares_since(&self) -> Timestamp {
        self.compared_since.max(self.now - WINDOW)
    }

    /// Over how many minutes nodes are compared, rounded up: fewer than [`WINDOW`] has after a resume, which begins it anew.
    fn compared_minutes(&self) -> u32 {
        let millis = self.now.since(self.compares_since()).as_millis();
        u32::try_from(millis.div_ceil(60_000)).unwrap_or(u32::MAX).max(1)
    }

    /// When that number is another one next; not once the window has its full length.
    fn compared_minutes_change_at(&self) -> Option<Timestamp> {
        let grows = self.compared_since > self.now - WINDOW;
        let minutes = Duration::from_secs(60 * u64::from(self.compared_minutes()));
        grows.then(|| self.compared_since + minutes + Duration::from_millis(1))
    }
}

/// The result of a judgement.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Judgement {
    /// The judgement of every suspect, and of every updated node that has failed by going down.
    pub(crate) verdicts: BTreeMap<NodeIx, SuspectView>,
    /// The comparison in each site where an updated node went down.
    pub(crate) comparisons: Vec<Comparison>,
    /// Sites that are down at large.
    pub(crate) outages: Vec<SiteOutage>,
    /// Nodes that went down again, of which it is not clear yet whether others of their site went down with them.
    pub(crate) pending: BTreeSet<NodeIx>,
    /// When the passing of time alone would change it.
    pub(crate) changes_at: Option<Timestamp>,
}

impl Judgement {
    /// Whether a node counts as failed.
    pub(crate) fn has_failed(&self, node: NodeIx) -> bool {
        self.verdicts.get(&node).is_some_and(|verdict| verdict.has_failed())
    }

    /// Whether a node is down and may still come back.
    pub(crate) fn may_come_back(&self, node: NodeIx) -> bool {
        self.verdicts.get(&node).is_some_and(|verdict| !verdict.has_failed())
    }

    fn wake(&mut self, at: Timestamp, now: Timestamp) {
        if at > now {
            self.changes_at = Some(self.changes_at.map_or(at, |known| known.min(at)));
        }
    }
}

/// The updated nodes that went down at the same moment as nodes with old pods all over the fleet: within [`SETTLE`] of each other, in at least half of the
/// other sites and in two of them where there are so many, and at least one in [`LARGE`] of the nodes there. After a short outage of the API server
/// it is some of all nodes that are found silent, and where one whole site has been updated no other node of that site tells so.
pub(crate) fn fell_all_over(nodes: &[NodeHealth]) -> BTreeSet<NodeIx> {
    // By site: how many nodes with old pods could go down, and when they did.
    let mut sites: HashMap<&str, (usize, Vec<Timestamp>)> = HashMap::new();
    for node in nodes.iter().filter(|node| !node.fell_updated() && !node.has_left && !node.in_update) {
        let (could_fall, fell) = sites.entry(&node.site).or_default();
        *could_fall += usize::from(node.fell_at.is_some() || (!node.updated && !node.down));
        fell.extend(node.fell_at);
    }
    sites.retain(|_, (could_fall, _)| *could_fall > 0);
    sites.values_mut().for_each(|(_, fell)| fell.sort_unstable());
    let could_fall: usize = sites.values().map(|(could_fall, _)| could_fall).sum();
    let fell_with = |(_, fell): &(usize, Vec<Timestamp>), at: Timestamp| {
        fell.partition_point(|fell| *fell <= at + SETTLE) - fell.partition_point(|fell| *fell < at - SETTLE)
    };
    // In how many sites some went down, and how many did.
    let mut known: HashMap<Timestamp, (usize, usize)> = HashMap::new();
    let mut is_one_of_many = |node: &&NodeHealth| {
        let Some(fell_at) = node.fell_at.filter(|_| node.fell_updated()) else { return false };
        let at = second(fell_at);
        let (in_sites, fell) = *known.entry(at).or_insert_with(|| {
            let counts = || sites.values().map(|site| fell_with(site, at));
            (counts().filter(|fell| *fell > 0).count(), counts().sum())
        });
        let own = sites.get(&*node.site);
        let own_fell = own.map_or(0, |own| fell_with(own, at));
        let others = sites.len() - usize::from(own.is_some());
        let could_fall = could_fall - own.map_or(0, |(could_fall, _)| *could_fall);
        let (in_sites, fell) = (in_sites - usize::from(own_fell > 0), fell - own_fell);
        others > 0 && in_sites * 2 >= others && in_sites >= others.min(2) && fell * LARGE >= could_fall
    };
    nodes.iter().filter(|node| is_one_of_many(node)).map(|node| node.node).collect()
}

/// The nodes with old pods that went down at about the same time, all over the fleet.
#[derive(Clone, Copy, Default)]
struct WentDownWith {
    some_are_down: bool,
    /// When the last of those that are back came back.
    back_at: Option<Timestamp>,
}

/// What went down all over the fleet.
struct AllOver {
    /// The updated nodes that went down with it ([`fell_all_over`]).
    nodes: BTreeSet<NodeIx>,
    /// The others, by when one of these nodes went down.
    others: HashMap<Timestamp, WentDownWith>,
}

impl AllOver {
    fn of(nodes: &[NodeHealth]) -> Self {
        let all_over = fell_all_over(nodes);
        let mut others = HashMap::new();
        for at in nodes.iter().filter(|node| all_over.contains(&node.node)).filter_map(|node| node.fell_at) {
            others.entry(second(at)).or_insert_with(|| {
                let mut went_down = WentDownWith::default();
                for other in nodes.iter().filter(|it| it.fell_by_itself() && it.fell_with(at)) {
                    went_down.some_are_down |= other.down;
                    went_down.back_at = went_down.back_at.max(other.back_at);
                }
                went_down
            });
        }
        Self { nodes: all_over, others }
    }

    /// The others that went down with this node, if it went down with others all over the fleet.
    fn with(&self, node: &NodeHealth) -> Option<WentDownWith> {
        self.others.get(&second(node.fell_at?)).copied().filter(|_| self.nodes.contains(&node.node))
    }
}

/// Nodes that go down together do so within a few seconds: what is the same for all of them is found out once a second.
fn second(at: Timestamp) -> Timestamp {
    Timestamp::from_millis(at.millis() / 1_000 * 1_000)
}

/// Judges the nodes of a fleet.
pub(crate) fn judge(nodes: &[NodeHealth], question: &JudgementInput<'_>) -> Judgement {
    let all_over = AllOver::of(nodes);
    let mut sites: HashMap<&str, Vec<&NodeHealth>> = HashMap::new();
    for node in nodes {
        sites.entry(&node.site).or_default().push(node);
    }
    let mut sites: Vec<_> = sites.into_iter().collect();
    sites.sort_by_key(|(site, _)| *site);
    let mut judgement = Judgement::default();
    for (site, nodes) in sites {
        if nodes.iter().any(|node| node.suspect || node.falls > 0 || (node.fell_at.is_some() && node.fell_updated())) {
            judge_site(site, &nodes, question, &all_over, &mut judgement);
        }
    }
    // The worst site first: not all of them are shown everywhere.
    judgement.comparisons.sort_by_key(|compared| Reverse(compared.updated_down));
    judgement
}

fn judge_site(
    site: &str,
    nodes: &[&NodeHealth],
    question: &JudgementInput<'_>,
    all_over: &AllOver,
    judgement: &mut Judgement,
) {
    let JudgementInput { now, grace, .. } = *question;
    let since = question.compares_since();
    let compared = compare(site, nodes, question, all_over, now);
    // A node that went down just now may be the first of many.
    let clear = compare(site, nodes, question, all_over, now - SETTLE).is_clear();
    let others = || nodes.iter().filter(|node| node.fell_by_itself());
    for fell_at in nodes.iter().filter_map(|node| node.fell_at) {
        judgement.wake(fell_at + WINDOW + Duration::from_millis(1), now);
    }
    question.compared_minutes_change_at().into_iter().for_each(|at| judgement.wake(at, now));
    let (mut with_others, mut sites_own) = (Vec::new(), Vec::new());
    for node in nodes.iter().filter(|node| node.suspect || node.fell_updated()) {
        let Some(fell_at) = node.fell_at else { continue };
        let lately = fell_at >= since;
        let companions = || others().filter(|other| other.fell_with(fell_at));
        let (with_all, all) = all_over.with(node).map_or((false, WentDownWith::default()), |all| (true, all));
        let back_at = companions().filter_map(|other| other.back_at).max().max(all.back_at);
        let until = back_at.map_or(fell_at, |back_at| back_at.max(fell_at)) + grace;
        [fell_at + SETTLE, until].into_iter().for_each(|at| judgement.wake(at, now));
        let in_outage = node.down && companions().any(|other| other.down);
        let again = node.falls >= 2 && fell_at + SETTLE <= now && !node.flaps && !with_all && !node.in_update;
        let verdict = if node.acknowledged_failures {
            continue;
        } else if clear && lately && node.fell_updated() && !node.flaps && !with_all && !node.in_update {
            SuspectView::Compared
        } else if in_outage {
            SuspectView::Outage
        } else if node.down && all.some_are_down {
            SuspectView::AllOver
        } else if again {
            SuspectView::Again
        } else if node.suspect && until <= now {
            SuspectView::Stays
        } else if node.falls >= 2 && !node.flaps && !node.in_update {
            // It counts as failed once it is known that no other node of its site went down with it, even if it is back by then.
            judgement.pending.insert(node.node);
            SuspectView::Waits { until: until.min(fell_at + SETTLE) }
        } else if !node.suspect {
            continue;
        } else if node.in_update {
            SuspectView::InUpdate { until }
        } else {
            SuspectView::Waits { until }
        };
        if verdict == SuspectView::Outage {
            sites_own.push(node.node);
            with_others.extend(companions().filter(|other| other.down).map(|other| other.node));
        }
        judgement.verdicts.insert(node.node, verdict);
    }
    with_others.sort_unstable();
    with_others.dedup();
    let down = sites_own.len() + with_others.len();
    if !sites_own.is_empty() && down * LARGE >= nodes.len() {
        judgement.outages.push(SiteOutage { site: site.into(), down: count(down), nodes: count(nodes.len()) });
    }
    if compared.updated_down > 0 {
        judgement.comparisons.push(compared);
    }
}

/// How many updated nodes went down until `until`, and how many others until now, out of those that could.
fn compare(
    site: &str,
    nodes: &[&NodeHealth],
    question: &JudgementInput<'_>,
    all_over: &AllOver,
    until: Timestamp,
) -> Comparison {
    let since = question.compares_since();
    let window_secs = question.compared_minutes() * 60;
    let mut compared = Comparison { site: site.into(), window_secs, ..Comparison::default() };
    let mut before_we_looked = 0;
    for node in nodes {
        let lately = node.fell_at.filter(|fell_at| *fell_at >= since && !node.in_update);
        if node.flaps || all_over.nodes.contains(&node.node) {
            continue;
        }
        if lately.is_some() && node.fell_updated() {
            compared.updated += 1;
            compared.updated_down += u32::from(lately <= Some(until));
        } else if lately.is_some() {
            compared.others += 1;
            compared.others_down += 1;
            before_we_looked += u32::from(lately < Some(question.looked_since));
        } else if !node.down {
            // A node that was down all the time could not go down.
            let of = if node.updated { &mut compared.updated } else { &mut compared.others };
            *of += 1;
        }
    }
    // Nodes that were back before we started are known by number only, from the record.
    let unnamed = (question.others_before)(site).saturating_sub(before_we_looked);
    compared.others_down = (compared.others_down + unnamed).min(compared.others);
    compared
}

fn count(of: usize) -> u32 {
    u32::try_from(of).unwrap_or(u32::MAX)
}

/// The record entry for a node that went down after its update; `None` once it has been back for long enough. `known` is its entry so far,
/// `with_others` says whether other nodes of its site went down with it, and `server` gives an instant by the API server's clock, as the record has it.
pub(crate) fn went_down(
    known: Option<WentDown>,
    node: &NodeHealth,
    with_others: bool,
    now: Timestamp,
    server: &dyn Fn(Timestamp) -> Timestamp,
) -> Option<WentDown> {
    let fell_at = server(node.fell_at?);
    let counts = u32::from(!node.in_update);
    let fresh = WentDown { fell_at, back_at: None, falls: counts, flaps: false, in_update: node.in_update };
    let mut noted = match known {
        // The node had come back, and is down again.
        Some(known) if known.back_at.is_some_and(|back_at| back_at < fell_at) => {
            WentDown { falls: known.falls + counts, ..fresh }
        }
        Some(known) if known.back_at.is_some() && node.down => WentDown { falls: known.falls + counts, ..fresh },
        // Its kubelet had told that it is not ready, and is silent now.
        Some(known) if known.in_update && !node.in_update => {
            WentDown { falls: known.falls + 1, in_update: false, ..known }
        }
        Some(known) => known,
        None => fresh,
    };
    noted.flaps |= node.flaps;
    if !node.down && noted.back_at.is_none() {
        noted.back_at = Some(server(node.back_at.unwrap_or(now)));
        // Other nodes of its site went down with it, so this fall does not count as going down by itself.
        noted.falls = noted.falls.saturating_sub(u32::from(with_others && !noted.in_update));
    }
    let remembered = noted.back_at.is_none_or(|back_at| server(now).since(back_at) < WINDOW);
    remembered.then_some(noted)
}

#[cfg(test)]
mod tests;
