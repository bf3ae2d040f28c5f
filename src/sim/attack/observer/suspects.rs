//! P5: nodes that went down after they got the new pod, and pods that restart.
//!
//! It judges by a rule of its own that is stricter with its evidence than the engine: only what everybody could see all the
//! time, and only where no other node went down at about the same time.

use std::collections::BTreeSet;
use std::time::Duration;

use super::context::{Broken, DeletionContext, listed};
use super::state::{Restarted, at_target};
use super::{ObservedPod, Observer, ROUNDED};
use crate::engine::model::Str;
use crate::engine::model::record::Intent;
use crate::engine::model::site::SiteLabel;
use crate::engine::model::time::Timestamp;

/// For so long what went down and came back is remembered.
const WINDOW: Duration = Duration::from_secs(600);
/// Nodes that go down within this of each other may have gone down together.
const TOGETHER: Duration = Duration::from_secs(120);
/// For so long a node that went down alone cannot be told from the first of many.
const SETTLE: Duration = Duration::from_secs(30);
/// A node that went down twice within so long before its update flaps anyway; with an allowance for clocks.
const FLAPPED: Duration = Duration::from_secs(3700);
/// The chance below which updated nodes that went down are no accident.
const NO_ACCIDENT: f64 = 0.01;
/// A container that runs for so long after a restart is not in a crash loop.
const STEADY: Duration = Duration::from_secs(600);

/// A node was not Ready.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outage {
    pub(super) fell_at: Timestamp,
    /// When its condition last changed while it was down: somebody who comes later knows only that.
    pub(super) said_at: Timestamp,
    pub(super) back_at: Option<Timestamp>,
}

impl Observer {
    /// Takes in whether a node is Ready.
    pub(super) fn node_goes(&mut self, node: &Str, ready: bool, changed: bool, at: Timestamp) {
        let downs = self.downs.entry(node.clone()).or_default();
        match (downs.last_mut().filter(|down| down.back_at.is_none()), ready) {
            (None, false) => downs.push(Outage { fell_at: at, said_at: at, back_at: None }),
            (Some(down), false) if changed => down.said_at = at,
            (Some(down), true) => down.back_at = Some(at),
            _ => {}
        }
        if downs.last().is_some_and(|down| down.fell_at == at) {
            self.falls.entry(node.clone()).or_default().push(at);
        }
        downs.retain(|down| down.back_at.is_none_or(|back_at| back_at + WINDOW + WINDOW > at));
    }

    /// P5: a suspect's slot in the budget was given to another.
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

    /// The suspects that have failed, as far as everybody can know.
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

    /// Nodes that are not Ready, and fell after rolldeck gave them the pod at the target that they have.
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
        let again = self.updated(context, forward).filter(|(name, _)| {
            let downs = self.downs.get(*name).map(Vec::as_slice).unwrap_or_default();
            let [.., first, second] = downs else { return false };
            let close = first
                .back_at
                .is_some_and(|back_at| second.fell_at < back_at + WINDOW.saturating_sub(self.slack + ROUNDED));
            // An outage that is shorter than the slack may go unseen.
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

    /// Updated nodes of a site, where so many of them went down, and no other, that it is no accident.
    fn more_than_others(&self, context: &DeletionContext<'_>, forward: &[&Intent]) -> BTreeSet<Str> {
        let labels = self.site_labels(context.at).into_iter();
        let failed = labels.map(|label| self.more_than_others_by(&label, context, forward));
        failed.reduce(|ours, theirs| ours.intersection(&theirs).cloned().collect()).unwrap_or_default()
    }

    /// The same with sites told apart by this label.
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
            (down.fell_at > since).then_some(down)
        };
        let mut failed = BTreeSet::new();
        let at_target_pods = self.pods.values().filter(|pod| at_target(pod, forward));
        let at_target_nodes: BTreeSet<&Str> = at_target_pods.filter_map(|pod| pod.fact.node.as_ref()).collect();
        let sites: BTreeSet<Str> = self.nodes.values().map(|node| node.site(label)).collect();
        for site in sites {
            let there = |name: &&Str| self.nodes.get(*name).is_some_and(|node| node.site(label) == site);
            let updated: BTreeSet<&Str> = self.updated(context, forward).map(|(name, _)| name).filter(there).collect();
            // Its own controller may have put the new pod on others: those count as updated, and as well.
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
            // All of those that went down are among the updated ones: so likely is that, if any node might have.
            let among = |of: usize| (0..down.len()).map(|nth| (of.saturating_sub(nth)) as f64).product::<f64>();
            if among(new.len()) / among(new.len() + eligible) <= NO_ACCIDENT {
                failed.extend(down);
            }
        }
        failed
    }

    /// Nodes that run a pod at the target which rolldeck put there and which has been ready. A node with a taint that the pod does not tolerate is left
    /// out: its pod is taken away for that, which says nothing of the update.
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
            // Who drove all the time knows that it went down before its update as well, and how often.
            let before = |at: &&Timestamp| **at < pod.fact.created_at && pod.fact.created_at.since(**at) < FLAPPED;
            let flaps = self.falls.get(name).is_some_and(|falls| falls.iter().filter(before).count() >= 2);
            (since && !flaps).then_some((name, pod))
        })
    }

    /// Whether one driver, which saw everything, has driven since before then, towards what is the target now.
    fn was_watched(&self, at: Timestamp, forward: &[&Intent]) -> bool {
        let driven = self.driver.as_ref().is_some_and(|driver| driver.since + self.slack + ROUNDED < at);
        let blind = self.blind_until + self.slack + ROUNDED >= at;
        driven && !blind && self.record_lost_at.is_none() && forward.iter().all(|intent| intent.acknowledged_halt == 0)
    }

    fn last_down(&self, name: &Str) -> Option<&Outage> {
        self.downs.get(name)?.last()
    }

    /// Whether no other node went down at about the time when this one did last, as far as that matters by now.
    fn went_down_alone(&self, name: &Str, at: Timestamp) -> bool {
        self.last_down(name).is_some_and(|down| {
            down.fell_at <= at && self.alone_at(name, down.fell_at) && self.alone_at(name, down.said_at)
        })
    }

    fn alone_at(&self, name: &Str, at: Timestamp) -> bool {
        let near = TOGETHER + self.slack + ROUNDED + ROUNDED;
        let with = |down: &Outage| {
            // Whoever comes later dates it by its last change.
            [down.fell_at, down.said_at].iter().any(|fell| fell.since(at).max(at.since(*fell)) <= near)
        };
        self.downs.iter().all(|(other, downs)| other == name || !downs.iter().any(with))
    }

    /// P4: a serving pod is replaced although one at the target restarts again and again.
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
            let Restarted { times, last, total, .. } = pod.restarted;
            // More of them, or a pod that is not available at its deadline, are a failure, which is judged by the threshold.
            let late = !pod.fact.ready && pod.fact.created_at + deadline <= context.at + self.slack + ROUNDED;
            let watched =
                times >= 2 && total <= allowed && !late && context.at.since(last) + self.slack + ROUNDED < STEADY;
            let known = last + self.slack < context.at && self.blind_until < pod.changed_at.min(last);
            let began = context.records.iter().all(|record| {
                record
                    .progress
                    .started_at
                    .is_some_and(|began| began + self.slack + ROUNDED + self.clocks < pod.fact.created_at)
            });
            up && at_target(pod, forward) && watched && known && began
        })?;
        let node = restarts.fact.node.as_deref().unwrap_or("?");
        let times = restarts.restarted.times;
        Some(("P4", format!("replaced a serving pod on {}, and that of {node} restarted {times} times", context.node)))
    }
}
