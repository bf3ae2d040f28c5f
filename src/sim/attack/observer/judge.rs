//! How each promise is checked. This file checks one deletion; files beside it check the rest, and what a deletion needs more room for.
//!
//! | promise | how it is checked |
//! |---|---|
//! | P1 | at every deletion: the nodes that served when rolldeck deleted their pod, and have not served for `minReadySeconds` and the soak time since, are no more than the budget; no node of a DaemonSet that surges is taken down unless an operator set a budget |
//! | P2 | at every deletion going forward: the node matches the selector, and no fewer old pods are left than the partition keeps; a roll back leads only to the requested revision |
//! | P3 | at every deletion: a rollout is recorded and not paused; after a pause, no deletion arrives later than its console showed at that time plus the delay of its message; when a `pause` is reported as done: the strategy is `OnDelete`; while somebody drives: the record says that the strategy was set back, and if drifts are to be reported, it is not set again silently; no write of rolldeck except a release sets the strategy back; a refused change leaves the rollout paused |
//! | P4 | at every deletion of a serving pod going forward: fewer nodes than the threshold are known to fail at the target; with the strictest threshold no node is in image trouble or in a crash loop; no other node's pod is refused or missing for long; no pod at the target restarted twice lately after it had been ready, and no two pods of a node at the target were evicted lately that had been; the rollout does not roll back by itself if only containers that no template names fail |
//! | P5 | at every deletion: the node is Ready; nodes that became NotReady after rolldeck gave them the new pod are charged to the budget, and count as failing for P4 once they stay down past the grace, go down again, or go down where no other node does |
//! | P6 | at every deletion: the nodes that must pull since their pod was deleted are no more than the pull limit |
//! | P7 | at every deletion: the record already names the node as in progress, so that the next driver knows of it; a pause stays until an operator resumes, and a record until it is released; the record requests an image no more often than operators did; a step or a selector that is written late does not take back a later setting of somebody else, and allows no node to go to a template that came after it; a process after which another one has driven deletes nothing more unless it is asked to |
//! | P8 | every five seconds: no node and no rollout waits without a reason, no step is offered that moves no node, and a node that is next is updated in time; a driver says within 10 s what the next node waits for; after the calm: the rollout ends |
//! | P9 | whenever rolldeck saves or restores the strategy: it saves the strategy that was there and restores it exactly; after a release nothing of rolldeck is left, and the pre-warming that ran ends; a release that no operator requested costs no serving pod |
//! | P10 | every five seconds, for consoles that say their view is live: nodes, pods, revisions and readiness are as shown, and a shown pause, partition and selector are in the record; for all consoles: facts that were shown and are still true are not forgotten, and `Engine::wake_at` announces every change that only time makes |

use std::collections::BTreeSet;
use std::time::Duration;

use super::context::{Broken, DeletionContext, listed};
use super::prewarm::lacks_any;
use super::state::at_target;
use super::{Deletion, Down, ObservedNode, ObservedPod, Observer, ROUNDED};
use crate::engine::model::Str;
use crate::engine::model::facts::PodFact;
use crate::engine::model::quantity::Rounding;
use crate::engine::model::record::{HaltingGate, Intent, ORIGINAL_STRATEGY, Record};
use crate::engine::model::settings::Budgets;
use crate::engine::model::time::Timestamp;
use crate::sim::world::World;
use crate::sim::world::kind::Kind;

impl Observer {
    pub(super) fn judge(&mut self, deletion: &Deletion, at: Timestamp, world: &World) {
        self.deletions += 1;
        if let Some((promise, what)) = self.drives_again.deleted(deletion, self.slack) {
            self.report_violation(promise, at, what);
        }
        let Some(pod) = self.pods.remove(&deletion.uid) else { return };
        if pod.fact.deletion_at.is_none() {
            self.deleted_by_rolldeck.insert(deletion, at);
        }
        if let Some(node) = pod.fact.node.clone() {
            self.forget_who_serves(at);
            if self.serves_for_sure(&pod, at) {
                self.taken_down.insert(node.clone(), Down::default());
            }
            let pulls = self.must_pull(&node, &pod, at, world);
            self.pods.insert(deletion.uid.clone(), pod);
            self.count_site_pulls(pulls == PullNeed::Begins, at);
            let broken = self.violations_of(deletion, &node, at, pulls, world);
            broken.into_iter().for_each(|(promise, what)| self.report_violation(promise, at, what));
            self.note_taken_back(&deletion.uid, &node, at);
            self.replaced.insert(node, at);
            self.worst_down = self.worst_down.max(self.down(at).len());
        } else {
            self.pods.insert(deletion.uid.clone(), pod);
        }
    }

    fn violations_of(
        &self,
        deletion: &Deletion,
        node: &Str,
        at: Timestamp,
        pulls: PullNeed,
        world: &World,
    ) -> Vec<(&'static str, String)> {
        let Some(pod) = self.pods.get(&deletion.uid) else { return Vec::new() };
        let records: Vec<&Record> = self.records.at(at).flatten().collect();
        let desired = self.desired.at(at).copied().max().unwrap_or(0);
        let own = self.own_budget.at(at).map(|own| own.map_or(0, |own| own.of(desired, Rounding::Up))).max();
        let own = own.unwrap_or(0).max(1);
        let limit = |intent: &Intent| {
            // `check_pulls` and `sites.rs` judge pulls. `strict` only holds back more nodes, which breaks no promise.
            let Budgets { max_unavailable, max_pulling: _, max_pulling_per_site: _, site_label: _, pace: _, strict: _ } =
                &intent.budgets;
            max_unavailable.at().map_or(own, |setting| setting.of(desired, Rounding::Up))
        };
        let limit = records.iter().map(|record| limit(&record.intent)).max().unwrap_or(0);
        let context = DeletionContext { node, pod, at, records, desired, limit };
        // A console that cannot know yet that its watch is stuck acts on what it shows. Even then it must not delete without a
        // requested rollout.
        if self.unaware.get(&deletion.by).is_some_and(|until| at < *until) {
            return [self.check_pause(&context, deletion), self.check_announced(&context)]
                .into_iter()
                .flatten()
                .collect();
        }
        let mut broken = vec![
            self.check_pause(&context, deletion),
            self.check_daemon_set(&context),
            self.pause_delay.check(deletion, at),
            self.check_ready(&context),
            self.check_announced(&context),
            self.check_budget(&context),
            self.check_surge(&context),
            self.check_pulls(&context, pulls, world),
            self.check_back(&context),
        ];
        if let Some(forward) = context.forward() {
            broken.push(self.check_selection(&context, &forward));
            broken.push(self.check_partition(&context, &forward));
            broken.extend(HaltingGate::ALL.map(|gate| self.check_halt(gate, &context, &forward)));
            broken.push(self.check_absent(&context, &forward, world));
            broken.push(self.check_suspects_charged(&context, &forward));
            broken.push(self.check_restarts(&context, &forward));
            broken.push(self.check_image_gate(&context, &forward, world));
        }
        broken.into_iter().flatten().collect()
    }

    fn check_pause(&self, context: &DeletionContext<'_>, deletion: &Deletion) -> Broken {
        let (by, node) = (&deletion.by, context.node);
        let paused = context.intents().all(|intent| intent.paused.is_some());
        paused.then(|| ("P3", format!("{by} deleted a pod on {node} while paused or without a rollout")))
    }

    fn check_ready(&self, context: &DeletionContext<'_>) -> Broken {
        let seen = self.nodes.get(context.node)?;
        let known = !seen.ready && seen.ready_since + self.slack < context.at;
        known.then(|| ("P5", format!("deleted a pod on {}, which was not Ready", context.node)))
    }

    fn check_announced(&self, context: &DeletionContext<'_>) -> Broken {
        let announced = context.records.iter().any(|record| record.progress.in_progress.contains(context.node));
        (!announced).then(|| ("P7", format!("deleted a pod on {}, and the record does not know it", context.node)))
    }

    fn check_budget(&self, context: &DeletionContext<'_>) -> Broken {
        let (down, limit) = (self.down(context.at), context.limit);
        // Replacing a pod that does not serve takes no node down, even if the budget was lowered meanwhile.
        let over =
            self.serves_for_sure(context.pod, context.at) && down.len() > limit as usize && down.contains(context.node);
        over.then(|| ("P1", format!("{} down with a budget of {limit}: {}", down.len(), listed(&down))))
    }

    /// P1: no node of a DaemonSet that surges is taken down, unless an operator has set `max_unavailable`.
    fn check_surge(&self, context: &DeletionContext<'_>) -> Broken {
        let saved = self.daemon_set.as_ref()?.annotations.get(ORIGINAL_STRATEGY)?;
        let saved: serde_json::Value = serde_json::from_str(saved).ok()?;
        let surge = &saved["rollingUpdate"]["maxSurge"];
        let surges = saved["type"] == "RollingUpdate" && !surge.is_null() && *surge != 0 && *surge != "0%";
        let unnamed = context.intents().all(|intent| intent.budgets.max_unavailable.is_default());
        (surges && unnamed && self.serves_for_sure(context.pod, context.at)).then(|| {
            ("P1", format!("took {} down of a DaemonSet that surges, and nobody named a budget", context.node))
        })
    }

    fn check_pulls(&self, context: &DeletionContext<'_>, pulls: PullNeed, world: &World) -> Broken {
        let of = |intent: &Intent| {
            intent.budgets.max_pulling.at().map_or(context.limit, |limit| limit.of(context.desired, Rounding::Up))
        };
        // Pre-warming may pull under a higher limit of its own; such a pull is none too many.
        let limit = context.intents().map(of).max()?.max(self.own_limit_of_prewarming(context.at));
        let known = self.pulling.iter().filter(|node| self.is_known_to_pull(node, context));
        let [warming, decided] = self.nodes_that_warm(context.at, world);
        let pulling: BTreeSet<Str> = known.cloned().chain(decided).collect();
        // A node that was warming pulled already. The needed images may have changed while the request was on its way.
        let just_changed = self.template_since + self.slack >= context.at;
        let begins = pulls == PullNeed::Begins && !warming.contains(context.node) && !just_changed;
        if !begins {
            return None;
        }
        if pulling.len() > limit as usize {
            return Some(("P6", format!("{} must pull with a limit of {limit}: {}", pulling.len(), listed(&pulling))));
        }
        self.check_site_pulls(context, &pulling)
    }

    fn check_selection(&self, context: &DeletionContext<'_>, forward: &[&Intent]) -> Broken {
        let seen = self.nodes.get(context.node)?;
        let settled = seen.labels_since + self.slack < context.at;
        let selected =
            forward.iter().any(|intent| intent.selector.as_ref().is_none_or(|selector| selector.matches(&seen.labels)));
        (settled && !selected).then(|| ("P2", format!("{} is not in the selector", context.node)))
    }

    fn check_partition(&self, context: &DeletionContext<'_>, forward: &[&Intent]) -> Broken {
        let fleet = self.fleet.at(context.at).copied().min()?;
        let keep = forward.iter().map(|intent| intent.partition.of(fleet, Rounding::Down).min(fleet)).min()?;
        // The console may not know yet of pods that somebody else deleted lately.
        let left = self.old_pods.at(context.at).copied().max()?.max(self.old_count()).saturating_sub(1);
        (left < keep as usize)
            .then(|| ("P2", format!("left {left} old pods by deleting on {}, the partition is {keep}", context.node)))
    }

    /// Whether a pod has served for so long that every console can know it.
    pub(super) fn serves_for_sure(&self, pod: &ObservedPod, at: Timestamp) -> bool {
        pod.ready_since.is_some_and(|since| since + self.slack < at)
    }

    /// Checks that a gate halts: each gate has a check, or a reason why it has none.
    fn check_halt(&self, gate: HaltingGate, context: &DeletionContext<'_>, forward: &[&Intent]) -> Broken {
        match gate {
            HaltingGate::FailureThreshold => self.check_failing(context, forward),
        }
    }

    /// P4 and P5: a serving pod is replaced although as many nodes as the threshold are known to fail.
    fn check_failing(&self, context: &DeletionContext<'_>, forward: &[&Intent]) -> Broken {
        let untouched = forward.iter().all(|intent| intent.acknowledged_halt == 0 && intent.target.is_some());
        if !self.serves_for_sure(context.pod, context.at) || !untouched {
            return None;
        }
        // `suspects.rs` judges restarts and suspects, and `observer.rs` judges soaking. The effects of a halt are not judged.
        let gates = forward.iter().map(|intent| {
            (intent.gates.failure_threshold.of(context.desired, Rounding::Up), intent.gates.progress_deadline_secs)
        });
        let threshold = gates.clone().map(|(threshold, _)| threshold).max()?.max(1) as usize;
        let deadline = gates.map(|(_, deadline)| deadline).max().unwrap_or_default();
        let deadline = Duration::from(deadline) + self.slack + ROUNDED;
        let mut failing = BTreeSet::new();
        let suspects = self.failed_suspects(context, forward);
        let suspect = !suspects.is_empty();
        for pod in self.pods.values().filter(|pod| at_target(pod, forward)) {
            let Some((name, node)) = pod.fact.node.as_ref().and_then(|name| self.nodes.get_key_value(name)) else {
                continue;
            };
            let known =
                |since: Option<Timestamp>, slack: Duration| since.is_some_and(|since| since + slack < context.at);
            if !self.may_run_on(name, context.at) {
                continue;
            }
            // The deadline of a pod counts from the time at which a suspended or blind driver could see it, or at which its node came back.
            let starts_since = pod.never_ready_since.map(|since| since.max(self.blind_until).max(node.ready_since));
            // While its node was down, nobody knew how the pod stands.
            let failing_since = pod.failing_since.map(|since| since.max(node.ready_since));
            if node.ready && (known(failing_since, self.slack) || known(starts_since, deadline)) {
                failing.insert(name.clone());
            }
        }
        failing.extend(suspects);
        let promise = if suspect { "P5" } else { "P4" };
        (failing.len() >= threshold).then(|| {
            (promise, format!("replaced a serving pod on {} while it fails on {}", context.node, listed(&failing)))
        })
    }

    /// Whether a node became NotReady after rolldeck gave it its present pod, so long ago that every console can know it.
    pub(super) fn is_suspect(&self, name: &Str, pod: &ObservedPod, context: &DeletionContext<'_>) -> bool {
        let Some(node) = self.nodes.get(name) else { return false };
        let given = self.replaced.get(name).is_some_and(|given| *given < node.ready_since);
        let before = context.records.iter().any(|record| record.progress.down_before.contains_key(name));
        given && !before && pod.never_ready_since.is_none() && node.ready_since + self.slack < context.at
    }

    /// Removes from `taken_down` the nodes that have served again for long enough.
    fn forget_who_serves(&mut self, at: Timestamp) {
        let serves = |(node, down): (&Str, &Down)| {
            let for_long = |since: Timestamp| at.since(since) + ROUNDED >= self.must_serve_for(node);
            down.serves_since.is_some_and(for_long).then(|| node.clone())
        };
        let back: Vec<Str> = self.taken_down.iter().filter_map(serves).collect();
        for node in back {
            self.taken_down.remove(&node);
        }
    }

    /// The nodes that are down through rolldeck, without those that fell again so lately that a console may not know it.
    pub(super) fn down(&self, at: Timestamp) -> BTreeSet<Str> {
        let known = |down: &Down| down.fell_at.is_none_or(|fell_at| fell_at + self.slack < at);
        let down = self.taken_down.iter().filter(|(name, down)| self.may_run_on(name, at) && known(down));
        down.map(|(name, _)| name.clone()).collect()
    }

    /// Whether people's taints let the pod run on the node, for so long that every console can know it.
    pub(super) fn may_run_on(&self, node: &Str, at: Timestamp) -> bool {
        let may = |node: &ObservedNode| self.tolerates() || (!node.tainted && node.tainted_since + self.slack < at);
        self.nodes.get(node).is_some_and(may)
    }

    /// Whether every console can know that this node, which must pull, does pull. On a node where the pod may not run nothing is pulled.
    fn is_known_to_pull(&self, node: &Str, context: &DeletionContext<'_>) -> bool {
        let old = |fact: &PodFact| fact.node.as_ref() == Some(node) && fact.created_at + self.slack < context.at;
        // On such a node a pod whose image is refused pulls nothing.
        let pulls = |pod: &ObservedPod| pod.fact.deletion_at.is_none() && !pod.refused;
        let had_one = || self.pods.values().any(|pod| pulls(pod) && old(&pod.fact));
        let begins = node == context.node;
        self.nodes.contains_key(node) && (begins || self.may_run_on(node, context.at) || had_one())
    }

    /// Whether the node must pull images for its next pod. Also removes from `pulling` the nodes that need not pull any more.
    fn must_pull(&mut self, node: &Str, pod: &ObservedPod, at: Timestamp, world: &World) -> PullNeed {
        let template = self.daemon_set.as_ref().map(|fact| fact.template.clone()).unwrap_or_default();
        let lacks = |node: &Str| lacks_any(&template, node, world);
        let lacks_its_own = |pod: &Str, node: &Str| {
            let object = world.store().get(Kind::Pod, &self.namespace, pod);
            object.and_then(|object| object.pod()).is_some_and(|pod| lacks_any(&pod.template, node, world))
        };
        let still = |node: &Str| {
            let mut facts = self.pods.values().map(|pod| &pod.fact);
            match facts.find(|fact| fact.node.as_ref() == Some(node) && fact.deletion_at.is_none()) {
                // The node pulls for its present pod, in vain or not. If the next pod needs no pull, that pull is about to end.
                Some(fact) => lacks(node) && lacks_its_own(&fact.name, node),
                // The next pod needs the images of the present template.
                None => lacks(node),
            }
        };
        let over: Vec<Str> = self.pulling.iter().filter(|node| !still(node)).cloned().collect();
        for node in over {
            self.pulling.remove(&node);
        }
        if !lacks(node) {
            self.pulling.remove(node);
            return PullNeed::Nothing;
        }
        // The deleted pod's own images were not there, as far as every console can know, so the node pulled already and no
        // pull is added.
        let pulled_already = pod.images_since.is_none_or(|since| since + self.slack >= at);
        if self.pulling.insert(node.clone()) && !pulled_already { PullNeed::Begins } else { PullNeed::Already }
    }
}

/// Whether a deletion makes the node pull.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PullNeed {
    /// All images are there.
    Nothing,
    /// The node begins to pull.
    Begins,
    /// The node was pulling already.
    Already,
}
