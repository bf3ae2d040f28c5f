//! P5: nodes that went down after they got the new pod, and pods that restart.
//!
//! The observer has a rule of its own, which asks for more evidence than the engine: it counts only outages that every console could see
//! all the time, and only if no other node went down at about the same time.

use std::collections::BTreeSet;
use std::time::Duration;

use super::context::{Broken, DeletionContext, listed};
use super::state::{Restarted, STEADY, at_target};
use super::{ObservedPod, Observer, ROUNDED};
use crate::engine::model::Str;
use crate::engine::model::facts::ConditionStatus;
use crate::engine::model::record::Intent;
use crate::engine::model::site::SiteLabel;
use crate::engine::model::time::Timestamp;

/// How long an outage of a node is remembered after the node came back.
const WINDOW: Duration = Duration::from_secs(600);
/// Nodes that go down within this of each other may have gone down together.
const TOGETHER: Duration = Duration::from_secs(120);
/// How long a node that went down alone cannot be distinguished from the first of many.
const SETTLE: Duration = Duration::from_secs(30);
/// A node that went down twice within this time before its update flaps by itself. The value includes an allowance for clocks.
const FLAPPED: Duration = Duration::from_secs(3700);
/// The probability at or below which it is no accident that only updated nodes went down.
const NO_ACCIDENT: f64 = 0.01;

/// A time during which a node was not Ready.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outage {
    pub(super) fell_at: Timestamp,
    /// When its condition last changed during the outage; a console that starts later knows only this time.
    pub(super) said_at: Timestamp,
    pub(super) back_at: Option<Timestamp>,
    /// Whether its kubelet was silent at any time of it. If not, it said itself that the node is not ready, which in the course of an update says little.
    pub(super) was_silent: bool,
}

impl Observer {
    /// Takes in whether a node is Ready. `changed`: its condition changed.
    pub(super) fn node_goes(&mut self, node: &Str, ready: ConditionStatus, changed: bool, at: Timestamp) {
        let was_silent = ready == ConditionStatus::Unknown;
        let ready = ready == ConditionStatus::True;
        let downs = self.downs.entry(node.clone()).or_default();
        if let Some(down) = downs.last_mut().filter(|down| down.back_at.is_none()) {
            down.was_silent |= was_silent;
        }
        match (downs.last_mut().filter(|down| down.back_at.is_none()), ready) {
            (None, false) => downs.push(Outage { fell_at: at, said_at: at, back_at: None, was_silent }),
            (Some(down), false) if changed => down.said_at = at,
            (Some(down), true) => down.back_at = Some(at),
            _ => {}
        }
        if downs.last().is_some_and(|down| down.fell_at == at) {
            self.falls.entry(node.clone()).or_default().push(at);
        }
        downs.retain(|down| down.back_at.is_none_or(|back_at| back_at + WINDOW + WINDOW > at));
    }

    /// P5: another node was taken down although suspects use up the budget.
    pub(super) fn check_suspects_charged(&self, context: &DeletionContext<'_>, forward: &[&Intent]) -> Broken {
        if !self.serves_for_sure(context.pod, context.at) {
            return None;
        }
        let mut down = self.down(context.at);
        down.insert(context.node.clone());
        let suspects: BTreeSet<Str> =
            self.suspects(context, forward).into_iter().map(|(name, _)| name.clone()).collect();
        let charged: BTreeSet<Str> = down.union(&suspects).cloned().collect();
        (!suspects.is_empty() && charged.len() > context.limit as usize).then(|| {
            let what = format!("{} charged with a budget of {}", charged.len(), context.limit);
            ("P5", format!("{what}: {}, of which {} went down after their update", listed(&charged), listed(&suspects)))
        })
    }

    /// The suspects that have failed, as far as every console can know.
    pub(super) fn failed_suspects(&self, context: &DeletionContext<'_>, forward: &[&Intent]) -> BTreeSet<Str> {
        let suspects = self.suspects(context, forward);
        let acknowledged_failures =
            |name: &Str| context.records.iter().any(|record| record.progress.acknowledged_failures.contains(name));
        let grace = forward.iter().map(|intent| intent.gates.suspect_grace_secs.0).max().unwrap_or(0);
        let grace = Duration::from_secs(grace.into()) + self.slack + ROUNDED;
        let stays = |name: &Str| {
            let down = self.last_down(name);
            down.is_some_and(|down| down.said_at.max(self.blind_until) + grace < context.at)
                && self.went_down_alone(name, context.at)
        };
        let mut failed: BTreeSet<Str> = suspects
            .iter()
            .filter(|(name, _)| !acknowledged_failures(name) && !self.wrong_clocks.contains(*name) && stays(name))
            .map(|(name, _)| (*name).clone())
            .collect();
        failed.extend(self.fell_again(context, forward));
        failed.extend(self.more_than_others(context, forward));
        failed
    }

    /// Nodes that became NotReady after rolldeck gave them their present pod at the target, and still are.
    fn suspects(&self, context: &DeletionContext<'_>, forward: &[&Intent]) -> Vec<(&Str, &ObservedPod)> {
        let pods = self.pods.values().filter(|pod| at_target(pod, forward));
        let named = pods.filter_map(|pod| Some((self.nodes.get_key_value(pod.fact.node.as_ref()?)?, pod)));
        let suspects = named.filter(|((name, node), pod)| {
            !node.ready && self.may_run_on(name, context.at) && self.is_suspect(name, pod, context)
        });
        suspects.map(|((name, _), pod)| (name, pod)).collect()
    }

    /// Updated nodes that went down twice, each time alone, while one driver saw it all.
    fn fell_again(&self, context: &DeletionContext<'_>, forward: &[&Intent]) -> BTreeSet<Str> {
        let again = self.updated(context, forward).filter(|(name, pod)| {
            let downs = self.downs.get(*name).map(Vec::as_slice).unwrap_or_default();
            let [.., first, second] = downs else { return false };
            if !first.was_silent || !second.was_silent {
                return false;
            }
            // Somebody has taken the label of the pod off for a while, and its controller has made another one: to consoles that one went down.
            if self.last_made.get(*name).is_some_and(|made| *made > pod.fact.created_at) {
                return false;
            }
            let close = first
                .back_at
                .is_some_and(|back_at| second.fell_at < back_at + WINDOW.saturating_sub(self.slack + ROUNDED));
            // Consoles may miss an outage that is shorter than the slack.
            let seen = first.back_at.is_some_and(|back_at| {
                first.fell_at + self.slack + ROUNDED < back_at && back_at + self.slack + ROUNDED < second.fell_at
            });
            let known = second.fell_at + SETTLE + self.slack + ROUNDED < context.at && second.back_at.is_none();
            close
                && seen
                && known
                && self.was_watched(first.fell_at, forward)
                && self.alone_at(name, first.fell_at)
                && self.alone_at(name, second.fell_at)
        });
        again.map(|(name, _)| name.clone()).collect()
    }

    /// Updated nodes that went down in a site where so many updated nodes and no others went down that it is no accident.
    fn more_than_others(&self, context: &DeletionContext<'_>, forward: &[&Intent]) -> BTreeSet<Str> {
        let labels = self.site_labels(context.at).into_iter();
        let failed = labels.map(|label| self.more_than_others_by(&label, context, forward));
        failed.reduce(|ours, theirs| ours.intersection(&theirs).cloned().collect()).unwrap_or_default()
    }

    /// The same for sites grouped by this label.
    fn more_than_others_by(
        &self,
        label: &SiteLabel,
        context: &DeletionContext<'_>,
        forward: &[&Intent],
    ) -> BTreeSet<Str> {
        let since = context.at - WINDOW + self.slack + ROUNDED;
        let settled = SETTLE + self.slack + ROUNDED;
        let fell = |name: &Str| {
            let down = self.last_down(name)?;
            (down.fell_at > since && down.was_silent).then_some(down)
        };
        let mut failed = BTreeSet::new();
        let at_target_pods = self.pods.values().filter(|pod| at_target(pod, forward));
        let at_target_nodes: BTreeSet<&Str> = at_target_pods.filter_map(|pod| pod.fact.node.as_ref()).collect();
        let sites: BTreeSet<Str> = self.nodes.values().map(|node| node.site(label)).collect();
        for site in sites {
            let there = |name: &&Str| self.nodes.get(*name).is_some_and(|node| node.site(label) == site);
            let updated: BTreeSet<&Str> = self.updated(context, forward).map(|(name, _)| name).filter(there).collect();
            // The DaemonSet's own controller may have put the new pod on other nodes, which then count as updated too.
            let new: BTreeSet<&Str> = at_target_nodes.iter().copied().filter(there).chain(updated.clone()).collect();
            let others: Vec<&Str> = self.nodes.keys().filter(there).filter(|name| !new.contains(name)).collect();
            let down: BTreeSet<Str> = updated
                .iter()
                .filter(|name| {
                    let known =
                        |down: &Outage| down.fell_at + settled < context.at && self.was_watched(down.fell_at, forward);
                    fell(name).is_some_and(known)
                })
                .map(|name| (*name).clone())
                .collect();
            let well = |name: &&Str| self.downs.get(*name).is_none_or(Vec::is_empty);
            let eligible = others.iter().filter(|name| self.may_run_on(name, context.at)).count();
            if down.len() < 2 || eligible == 0 || !others.iter().all(well) || self.gone_at.is_some() {
                continue;
            }
            // The probability that all nodes that went down are among the updated ones, if every node were equally likely to go down.
            let among = |of: usize| (0..down.len()).map(|nth| (of.saturating_sub(nth)) as f64).product::<f64>();
            if among(new.len()) / among(new.len() + eligible) <= NO_ACCIDENT {
                failed.extend(down);
            }
        }
        failed
    }

    /// Nodes with a pod at the target that rolldeck put there and that has been ready. A node with a taint that the pod does not tolerate is
    /// left out: its pod is removed because of the taint, which says nothing about the update.
    fn updated<'a>(
        &'a self,
        context: &'a DeletionContext<'_>,
        forward: &'a [&'a Intent],
    ) -> impl Iterator<Item = (&'a Str, &'a ObservedPod)> {
        let pods = self.pods.values().filter(|pod| at_target(pod, forward) && pod.never_ready_since.is_none());
        pods.filter_map(|pod| {
            let name = pod.fact.node.as_ref()?;
            let given = self.replaced.get(name).filter(|_| self.may_run_on(name, context.at))?;
            let since = self
                .downs
                .get(name)
                .into_iter()
                .flatten()
                .all(|down| *given < down.fell_at && pod.fact.created_at < down.fell_at);
            // A driver that drove all the time knows how often the node went down before its update.
            let before = |at: &&Timestamp| **at < pod.fact.created_at && pod.fact.created_at.since(**at) < FLAPPED;
            let flaps = self.falls.get(name).is_some_and(|falls| falls.iter().filter(before).count() >= 2);
            (since && !flaps).then_some((name, pod))
        })
    }

    /// Whether one driver that saw everything has driven since before `at`, without a lost record and without an acknowledged halt.
    fn was_watched(&self, at: Timestamp, forward: &[&Intent]) -> bool {
        let driven = self.driver.as_ref().is_some_and(|driver| driver.since + self.slack + ROUNDED < at);
        let blind = self.blind_until + self.slack + ROUNDED >= at;
        driven && !blind && self.record_lost_at.is_none() && forward.iter().all(|intent| intent.acknowledged_halt == 0)
    }

    fn last_down(&self, name: &Str) -> Option<&Outage> {
        self.downs.get(name)?.last()
    }

    /// Whether this node went down at or before `at`, and no other node went down at about that time.
    fn went_down_alone(&self, name: &Str, at: Timestamp) -> bool {
        self.last_down(name).is_some_and(|down| {
            down.fell_at <= at && self.alone_at(name, down.fell_at) && self.alone_at(name, down.said_at)
        })
    }

    fn alone_at(&self, name: &Str, at: Timestamp) -> bool {
        let near = TOGETHER + self.slack + ROUNDED + ROUNDED;
        let with = |down: &Outage| {
            // A console that starts later dates an outage by the last change of the condition.
            [down.fell_at, down.said_at].iter().any(|fell| fell.since(at).max(at.since(*fell)) <= near)
        };
        self.downs.iter().all(|(other, downs)| other == name || !downs.iter().any(with))
    }

    /// P4: a serving pod is replaced although a pod at the target restarts again and again.
    pub(super) fn check_restarts(&self, context: &DeletionContext<'_>, forward: &[&Intent]) -> Broken {
        if !self.serves_for_sure(context.pod, context.at) || self.record_lost_at.is_some() {
            return None;
        }
        let allowed = forward.iter().map(|intent| intent.gates.max_restarts).min()?;
        let deadline = forward.iter().map(|intent| Duration::from(intent.gates.progress_deadline_secs)).min()?;
        let restarts = self.pods.values().find(|pod| {
            let node = pod.fact.node.as_ref().and_then(|name| self.nodes.get_key_value(name));
            let up = node.is_some_and(|(name, node)| {
                node.ready && self.may_run_on(name, context.at) && !self.wrong_clocks.contains(name)
            });
            let Restarted { times, last, total, evictions, .. } = pod.restarted;
            // Whoever began to look later knows of evictions what the record says: the pods are gone.
            let looks_since = self.looks_since(context.at);
            let saw = evictions.is_none_or(|(_, first)| looks_since + self.slack + ROUNDED < first)
                || context.records.iter().all(|record| {
                    let mut told = record.progress.evicted.values();
                    told.any(|told| told.pod == pod.fact.uid && told.times >= 2)
                });
            let total = total + evictions.map_or(0, |(times, _)| times);
            // More restarts, or a pod that is not available at its deadline, are a failure, which `check_failing` judges.
            let late = !pod.fact.ready && pod.fact.created_at + deadline <= context.at + self.slack + ROUNDED;
            let watched =
                times >= 2 && total <= allowed && !late && context.at.since(last) + self.slack + ROUNDED < STEADY;
            let known = last + self.slack < context.at && self.blind_until < pod.changed_at.min(last);
            let began = context.records.iter().all(|record| {
                record.progress.started_at.is_some_and(|began| began + self.slack + ROUNDED < pod.fact.created_at)
            });
            up && at_target(pod, forward) && watched && known && began && saw
        })?;
        let node = restarts.fact.node.as_deref().unwrap_or("?");
        let times = restarts.restarted.times;
        Some(("P4", format!("replaced a serving pod on {}, and that of {node} restarted {times} times", context.node)))
    }
}
