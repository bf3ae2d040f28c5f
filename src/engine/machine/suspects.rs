//! Suspects: nodes that went down after they got the new pod. Whether the update or the network is to blame is judged by
//! whether they come back, whether they go down again, and how many other nodes of their site went down as well.
//!
//! A suspect is charged to the budget at once. This module decides whether it counts as failed, and whether its whole site is down. The record keeps
//! facts that a later driver could not find out again: which nodes went down after their update and how often, and per site how many others did, each
//! for [`judge::WINDOW`].

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Engine;
use crate::engine::assess::rows::Row;
use crate::engine::model::Str;
use crate::engine::model::facts::ConditionStatus;
use crate::engine::model::node::{Blame, NodeIx};
use crate::engine::model::record::{Direction, Fell, Intent, Progress, SITES_LIMIT, SUSPECTS_LIMIT};
use crate::engine::model::suspect::{SiteOutage, SuspectView};
use crate::engine::model::time::Timestamp;
use crate::engine::rules::suspects::{
    FLAPPED, FLAPS, Judgement, JudgementInput, NodeHealth, TOGETHER, WINDOW, fell_all_over, judge, went_down,
};
use crate::engine::view::{NodeEntry, ObservedAt};

/// Falls of other nodes of a site within this time of the first share one entry in the record.
const GROUPED: Duration = Duration::from_secs(120);

/// The judgement of nodes that went down after their update, and the facts about other nodes that it needs.
#[derive(Debug, Default)]
pub(crate) struct Suspects {
    /// Which nodes count as failed, and which sites are down.
    judgement: Judgement,
    /// Nodes that last went down in the course of their update, and of which their kubelets said so themselves, each with when it went down.
    in_update: BTreeMap<NodeIx, Timestamp>,
    /// Nodes that left the fleet while they were down, and whether they were updated: their object is gone, or a taint keeps the pod from them.
    left: BTreeMap<NodeIx, bool>,
}

impl Suspects {
    /// Which nodes count as failed, and which sites are down.
    pub(crate) fn judgement(&self) -> &Judgement {
        &self.judgement
    }

    /// When time alone changes the judgement.
    pub(crate) fn changes_at(&self) -> Option<Timestamp> {
        self.judgement.changes_at
    }
}

impl Engine {
    /// Judges the nodes that went down after their update. Whoever drives also keeps the record of them.
    pub(crate) fn judge_suspects(&mut self, intent: &Intent, now: Timestamp) {
        let judged = self.progress.started_at.is_some() && intent.direction() == Direction::Forward;
        self.note_falls_in_updates();
        let nodes = if judged { self.nodes_health() } else { Vec::new() };
        if nodes.is_empty() {
            self.suspects.judgement = Judgement::default();
            if judged && self.lock.holds() {
                self.progress.suspects.clear();
                self.progress.others_down.clear();
            }
            return;
        }
        let nodes = if self.lock.holds() { self.keep_suspects(nodes, now) } else { nodes };
        let looked_since = self.view.nodes_seen_since();
        let since = now - WINDOW;
        let others_before = |site: &str| {
            let fell = self.progress.others_down.get(site).into_iter().flatten();
            let fell = fell.map(|fell| (self.view.our_time(fell.at), fell.nodes));
            fell.filter(|(at, _)| *at >= since && *at < looked_since).map(|(_, nodes)| nodes).sum()
        };
        let question = JudgementInput {
            now,
            grace: intent.gates.suspect_grace_secs.into(),
            compared_since: self.compared_since(),
            looked_since,
            others_before: &others_before,
        };
        self.suspects.judgement = judge(&nodes, &question);
    }

    /// Notes which nodes went down in the course of their update. Once such a node is back and well the record does not name it as in progress any more.
    fn note_falls_in_updates(&mut self) {
        let told = |row: &&Row| self.view.nodes().get(row.node).is_some_and(NodeEntry::its_kubelet_told);
        let down = |row: &&Row| row.is_down && self.is_in_progress(row.node);
        let fell = self.assessment.rows().filter(down).filter(told);
        let fell: Vec<(NodeIx, Timestamp)> = fell.filter_map(|row| Some((row.node, row.fell_at?))).collect();
        self.suspects.in_update.extend(fell);
        let (assessment, view) = (&self.assessment, &self.view);
        self.suspects.in_update.retain(|node, at| {
            let fell_at = assessment.row(*node).and_then(|row| row.fell_at);
            fell_at == Some(*at) && view.nodes().get(*node).is_some_and(NodeEntry::its_kubelet_told)
        });
    }

    fn is_in_progress(&self, node: NodeIx) -> bool {
        self.view.nodes().get(node).is_some_and(|entry| self.progress.in_progress.contains(&entry.name))
    }

    /// Since when nodes that went down are compared, by our clock.
    fn compared_since(&self) -> Timestamp {
        self.progress.marks.compared_since().map_or(Timestamp::default(), |at| self.view.our_time(at))
    }

    /// The nodes of the fleet to be judged; empty if no updated node is down or went down lately, which is nearly always so.
    fn nodes_health(&self) -> Vec<NodeHealth> {
        let noted = &self.progress.suspects;
        let lately = |at: Timestamp| self.now.since(at) <= WINDOW;
        let fell_lately = |row: &Row| row.updated && row.fell_at.is_some_and(lately);
        let matters = |row: &Row| row.blame == Some(Blame::Suspect) || fell_lately(row);
        if noted.is_empty() && !self.assessment.rows().any(matters) && self.suspects.left.is_empty() {
            return Vec::new();
        }
        let rows = self.assessment.rows().filter(|row| row.in_fleet);
        let mut nodes: Vec<NodeHealth> = rows.map(|row| self.node_health(row)).collect();
        let counted: BTreeSet<NodeIx> = nodes.iter().map(|node| node.node).collect();
        let left = self.suspects.left.iter().filter(|(node, _)| !counted.contains(*node));
        nodes.extend(left.filter_map(|(node, updated)| self.health_of_who_left(*node, *updated)));
        let fell_lately = |node: &NodeHealth| node.fell_updated() && node.fell_at.is_some_and(lately);
        let matter = |node: &NodeHealth| node.suspect || node.falls > 0 || fell_lately(node);
        if nodes.iter().any(matter) { nodes } else { Vec::new() }
    }

    fn node_health(&self, row: &Row) -> NodeHealth {
        let entry = self.view.entry(row.node);
        let noted = self.progress.suspects.get(&entry.name);
        let our = |at: Timestamp| self.view.our_time(at);
        let pod = row.pod.and_then(|pod| self.view.pod(pod));
        // An update that we saw happen is dated by our own clock. The cluster's time of it is only as exact as the clock difference measured last:
        // when a clock is set, a node that fell before its update would seem to have fallen after it.
        let updated_at = pod.map(|pod| match pod.first_observed {
            ObservedAt::Happen(at) => at,
            ObservedAt::Already(..) => our(pod.fact.created_at),
        });
        let suspect = row.blame == Some(Blame::Suspect);
        let back_at = row.back_at.or_else(|| our(noted?.back_at?).into()).filter(|_| !row.is_down);
        NodeHealth {
            node: row.node,
            site: entry.site.clone(),
            updated: row.updated,
            updated_at,
            suspect,
            down: row.is_down,
            has_left: false,
            // A node that was down before the rollout began says nothing about the update.
            fell_at: row
                .fell_at
                .filter(|_| !(row.is_down && row.blame == Some(Blame::PreExisting)))
                .or_else(|| Some(our(noted?.fell_at))),
            back_at,
            falls: noted.map_or(0, |noted| noted.falls),
            flaps: row.updated
                && (noted.is_some_and(|noted| noted.flaps)
                    || updated_at.is_some_and(|at| entry.falls_between(at - FLAPPED, at) >= FLAPS)),
            in_update: match row.fell_at {
                Some(at) => self.suspects.in_update.get(&row.node) == Some(&at),
                // Nobody here saw it go down.
                None => noted.is_some_and(|noted| noted.in_update),
            },
            acknowledged_failures: self.progress.acknowledged_failures.contains(&entry.name),
        }
    }

    /// A node whose object is gone, or that was tainted while it was down, counts as one that went down in comparisons. It is not waited for and does not count as
    /// failed: where machines are rented, nodes are removed every day and do not come back.
    fn health_of_who_left(&self, node: NodeIx, updated: bool) -> Option<NodeHealth> {
        let entry = self.view.nodes().get(node).filter(|entry| left_while_down(entry))?;
        Some(NodeHealth {
            node,
            site: entry.site.clone(),
            updated,
            updated_at: None,
            suspect: false,
            down: true,
            has_left: true,
            fell_at: entry.fell_at(self.now, self.view.server_time(self.now)),
            back_at: None,
            falls: 0,
            flaps: false,
            in_update: false,
            acknowledged_failures: false,
        })
    }

    /// Notes which nodes left the fleet while they were down, and whether they were updated, as long as that is known.
    pub(crate) fn note_who_left(&mut self) {
        let (assessment, view) = (&self.assessment, &self.view);
        let gone = |row: &&Row| row.in_fleet && view.nodes().get(row.node).is_some_and(left_while_down);
        let gone: Vec<(NodeIx, bool)> = assessment.rows().filter(gone).map(|row| (row.node, row.updated)).collect();
        self.suspects.left.extend(gone);
        let (now, server_now) = (self.now, self.view.server_time(self.now));
        let lately = |at: Timestamp| now.since(at) < WINDOW;
        let view = &self.view;
        self.suspects.left.retain(|node, _| {
            let entry = view.nodes().get(*node).filter(|entry| left_while_down(entry));
            entry.and_then(|entry| entry.fell_at(now, server_now)).is_some_and(lately)
        });
    }

    /// Brings the record of suspects up to date with what is seen. Returns the nodes with their falls from the record.
    fn keep_suspects(&mut self, mut nodes: Vec<NodeHealth>, now: Timestamp) -> Vec<NodeHealth> {
        let compared_since = self.compared_since();
        let others: Vec<(Str, Timestamp)> = nodes
            .iter()
            .filter(|node| node.fell_by_itself())
            .filter_map(|node| Some((node.site.clone(), node.fell_at?)))
            .collect();
        let all_over = fell_all_over(&nodes);
        let mut noted = std::mem::take(&mut self.progress.suspects);
        let (mut kept, mut sites) = (BTreeMap::new(), BTreeSet::new());
        for node in &mut nodes {
            let name = self.view.entry(node.node).name.clone();
            let known = noted.remove(&name);
            let Some(fell_at) = node.fell_at.filter(|_| node.fell_updated() && !node.acknowledged_failures) else {
                continue;
            };
            let of_its_site = others
                .iter()
                .any(|(site, at)| *site == node.site && at.since(fell_at).max(fell_at.since(*at)) <= TOGETHER);
            let with_others = of_its_site || all_over.contains(&node.node);
            let went_down = went_down(known, node, with_others, now, &|at| self.view.server_time(at));
            let news = node.suspect || fell_at >= compared_since;
            let Some(went_down) = went_down.filter(|_| news && kept.len() < SUSPECTS_LIMIT) else { continue };
            node.falls = went_down.falls;
            sites.insert(node.site.clone());
            kept.insert(name, went_down);
        }
        self.progress.suspects = kept;
        self.keep_others(sites, &nodes, now);
        nodes
    }

    /// The times at which entries of the record about nodes that went down expire.
    pub(crate) fn suspects_are_forgotten_at(&self) -> impl Iterator<Item = Timestamp> {
        let Progress { suspects, others_down, .. } = &self.progress;
        let back = suspects.values().filter_map(|noted| noted.back_at);
        // Nodes that went down exactly `WINDOW` ago still count.
        let fell = others_down.values().flatten().map(|fell| fell.at + Duration::from_millis(1));
        back.chain(fell).map(|at| self.view.our_time(at) + WINDOW)
    }

    /// Counts, for each site in which an updated node went down, the other nodes that did.
    fn keep_others(&mut self, sites: BTreeSet<Str>, nodes: &[NodeHealth], now: Timestamp) {
        let mut others_down: BTreeMap<Str, Vec<Fell>> = BTreeMap::new();
        let server_since = self.view.server_time(now - WINDOW);
        let looked_since = self.view.nodes_seen_since();
        for site in sites.into_iter().take(SITES_LIMIT) {
            let before = self.progress.others_down.get(&site).into_iter().flatten();
            let before = before.filter(|fell| fell.at >= server_since && self.view.our_time(fell.at) < looked_since);
            let mut grouped: Vec<Fell> = before.copied().collect();
            let unnamed: u32 = grouped.iter().map(|fell| fell.nodes).sum();
            let mut fell: Vec<Timestamp> = nodes
                .iter()
                .filter(|node| node.site == site && !node.fell_updated() && !node.in_update)
                .filter_map(|node| node.fell_at)
                // Nodes that were down when we began to look may be in the record already.
                .filter(|at| *at >= now - WINDOW && (*at >= looked_since || unnamed == 0))
                .map(|at| self.view.server_time(at))
                .collect();
            fell.sort_unstable();
            for at in fell {
                match grouped
                    .last_mut()
                    .filter(|last| at.since(last.at) < GROUPED && self.view.our_time(last.at) >= looked_since)
                {
                    Some(last) => last.nodes += 1,
                    None => grouped.push(Fell { at, nodes: 1 }),
                }
            }
            others_down.insert(site, grouped);
        }
        others_down.retain(|_, fell| !fell.is_empty());
        self.progress.others_down = others_down;
    }

    /// Whether a node counts as failed, and nobody resumed past it.
    pub(crate) fn has_failed(&self, row: &Row) -> bool {
        row.failure || self.suspects.judgement.has_failed(row.node)
    }

    /// Whether a suspect is waited for: until its grace is over, or as long as its site is down at large.
    pub(crate) fn comes_back_by_itself(&self, row: &Row) -> bool {
        match self.suspects.judgement.verdicts.get(&row.node) {
            Some(SuspectView::Waits { .. } | SuspectView::InUpdate { .. } | SuspectView::AllOver) => true,
            Some(SuspectView::Outage) => self.outage_of(row).is_some(),
            Some(SuspectView::Stays | SuspectView::Again | SuspectView::Compared) | None => false,
        }
    }

    /// The outage of a node's site, where that is down at large.
    pub(crate) fn outage_of(&self, row: &Row) -> Option<SiteOutage> {
        let site = &self.view.nodes().get(row.node)?.site;
        self.suspects.judgement.outages.iter().find(|outage| outage.site == *site).cloned()
    }

    /// The failure of a suspect in words, with the comparison of its site where the verdict rests on it.
    pub(crate) fn suspect_words(&self, row: &Row) -> Option<String> {
        let judgement = &self.suspects.judgement;
        let verdict = judgement.verdicts.get(&row.node)?;
        let site = &self.view.entry(row.node).site;
        verdict.failure_in_words(judgement.comparisons.iter().find(|compared| compared.site == *site))
    }
}

/// Whether a node of the fleet leaves it while it is down: it is not there any more, or somebody has tainted it. One that was tainted before it went down has left
/// the fleet already.
fn left_while_down(entry: &NodeEntry) -> bool {
    let tainted = entry.eligibility.is_placed && !entry.eligibility.in_fleet;
    entry.fact.as_ref().is_none_or(|fact| tainted && fact.ready != ConditionStatus::True)
}

#[cfg(test)]
mod tests;
