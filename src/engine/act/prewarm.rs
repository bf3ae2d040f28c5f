//! Pre-warming: makes one pod per node, a few at a time, and deletes those that are not needed any more.
//!
//! ```text
//!   wanted, image absent ──▶ slot free, overall and in its site? ──▶ pod made ──▶ pulled: it stays, so that the image does
//!                                     ▲                                  │
//!                                     └────── failed: deleted, later ────┘
//!   its node is updated, or it was cancelled, or the rollout is released ──▶ deleted
//! ```
//!
//! A pod is named after its purpose, so that two processes cannot make it twice. A kubelet tries a pull that failed again and again, outside of the limits: once
//! the network or the registry is mended, all such pods would pull at once. So a pod whose pull failed is deleted, and made again when
//! its turn comes; where the registry refused the image, once an operator asks for that.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::lease::edit::{Edit, PrewarmEdit};
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::cause::Cause;
use crate::engine::model::config::Role;
use crate::engine::model::effect::{Done, Effect, EffectError, EffectErrorKind, EffectId, Outcome};
use crate::engine::model::event::{Event, WatchHealth, Watched};
use crate::engine::model::facts::{ConditionStatus, PodFact, WarmPodFact};
use crate::engine::model::node::NodeIx;
use crate::engine::model::prewarm::{
    PREWARM, PREWARM_IMAGES, Prewarm, PrewarmLimits, PrewarmMethod, PrewarmNodes, PrewarmSource, PrewarmState,
    UnrecordedFailures,
};
use crate::engine::model::record::{By, Direction, Intent, OURSELVES};
use crate::engine::model::rollout_event::EventOutcome;
use crate::engine::model::settings::PrewarmAhead;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::warm_pod::{WarmPodOwner, attempt_key, warm_pod, warm_pod_name};
use crate::engine::view::{WarmPod, WarmState};
use crate::engine::writes::effects::Sent;
use crate::engine::writes::retry::LOST_ANSWER;

/// At most this many deletions of pods are on their way at once, and at most this many creations are sent with one decision.
const AT_ONCE: usize = 20;
/// The shortest grace period that leaves the removal of a pod to its kubelet.
const GRACE_SECS: u32 = 1;

impl Engine {
    /// Brings the record of pre-warming up to date with what was observed. Only the holder of the Lease does so.
    pub(super) fn steer_prewarming(&mut self, now: Timestamp) {
        if !self.may_prewarm(now) {
            return;
        }
        let Some(asked) = self.recorded_prewarm().map(Cow::into_owned) else {
            self.bring_images_by_itself(now);
            return;
        };
        self.follow_the_settings(&asked, now);
        if self.recorded_intent().is_some_and(|intent| intent.releasing.is_some()) {
            self.cancel_with_the_release(now);
        }
        self.end_with_the_last_node(&asked, now);
        let saved = self.lock.prewarm().is_some_and(|saved| saved.cancelled.is_some());
        let live = self.health(Watched::WarmPods) == WatchHealth::Live;
        let idle = self.warming.writes.creating().next().is_none() && !self.effects.has_warm();
        if saved && live && idle && self.view.warm().is_empty() && self.has_no_sets(&asked) {
            self.edit(None, Edit::Prewarm(PrewarmEdit::End));
            if !self.is_recorded() {
                self.lock.want_no_more();
            }
        }
    }

    /// Cancels pre-warming when the rollout ends.
    pub(super) fn cancel_with_the_release(&mut self, now: Timestamp) {
        if self.recorded_prewarm().is_some_and(|asked| asked.cancelled.is_none()) {
            self.cancel_by_ourselves(now);
        }
    }

    /// Cancels pre-warming without an operator.
    pub(super) fn cancel_by_ourselves(&mut self, now: Timestamp) {
        let by = By { by: OURSELVES.into(), at: now };
        self.edit(None, Edit::Prewarm(PrewarmEdit::Cancel(by)));
    }

    /// Begins to pre-warm if the settings say so: ahead of the rollout, or because the rollout requires that images are there first.
    fn bring_images_by_itself(&mut self, now: Timestamp) {
        let Some(intent) = self.recorded_intent() else { return };
        let Some(nodes) = nodes_by_settings(&intent) else { return };
        let nothing_left = self.plan.line.is_empty();
        if intent.direction() != Direction::Forward || !self.is_ready_to_update(&intent) || nothing_left {
            return;
        }
        let Some(daemonset) = self.view.daemonset() else { return };
        let prewarm = Prewarm {
            daemonset_uid: daemonset.uid.clone(),
            source: PrewarmSource::Template,
            nodes,
            limits: PrewarmLimits::default(),
            method: PrewarmMethod::Pods,
            stateful_sets: false,
            paused: None,
            cancelled: None,
            complete: None,
            retried: None,
            handover: None,
            failures: BTreeMap::new(),
            unrecorded: UnrecordedFailures::default(),
            by: By { by: OURSELVES.into(), at: now },
            write_ids: Vec::new(),
        };
        self.edit(None, Edit::Prewarm(PrewarmEdit::Start(Box::new(prewarm))));
    }

    /// Pre-warming that rolldeck began by itself follows the settings when they change. Pre-warming that an operator asked for stays as it
    /// is.
    fn follow_the_settings(&mut self, asked: &Prewarm, now: Timestamp) {
        let Some(intent) = self.recorded_intent().filter(|intent| intent.direction() == Direction::Forward) else {
            return;
        };
        if &*asked.by.by != OURSELVES || asked.cancelled.is_some() || !self.edits.is_empty() {
            return;
        }
        match nodes_by_settings(&intent) {
            Some(nodes) if nodes == asked.nodes => {}
            Some(nodes) => {
                self.edit(None, Edit::Prewarm(PrewarmEdit::Start(Box::new(Prewarm { nodes, ..asked.clone() }))));
            }
            None => self.cancel_by_ourselves(now),
        }
    }

    /// Makes and deletes pods for pre-warming, as far as they may be now.
    pub(super) fn prewarm(&mut self, now: Timestamp) -> Vec<(EffectId, Effect)> {
        self.note_arrivals(now);
        self.note_retry(now);
        let Some(not_after) = self.lock.may_act_until().filter(|_| self.may_prewarm(now)) else {
            // Another process that drives meanwhile may make and delete StatefulSets.
            self.warming.sets.forget();
            return Vec::new();
        };
        // The request must be saved in the cluster first, limits included: another driver would not know of it.
        if !self.edits.is_empty() {
            return Vec::new();
        }
        let mut effects = self.delete_warm_pods(now);
        effects.extend(self.make_warm_pods(not_after, now));
        effects.extend(self.prewarm_by_sets(not_after, now));
        effects
    }

    /// Whether the watch shows all pods for pre-warming.
    fn sees_warm_pods(&self) -> bool {
        let catches_up = self.view.watches().catches_up_until(Watched::WarmPods, self.now).is_some();
        self.health(Watched::WarmPods) == WatchHealth::Live && !catches_up
    }

    /// Whether this process pre-warms: it drives, goes on driving, and sees the pods that it would count.
    fn may_prewarm(&self, now: Timestamp) -> bool {
        self.config().role == Role::Driver
            && self.lock.may_act(now)
            && self.lock.wants_to_drive()
            && self.handover().is_none()
            && !self.is_being_deleted()
            && !self.catches_up()
    }

    /// Ends the waits after failures if an operator asked for a retry or for something else, or if the images have arrived.
    fn note_retry(&mut self, now: Timestamp) {
        let asked = self.lock.prewarm().map(|saved| (saved.by.clone(), saved.retried.clone()));
        let failed =
            self.view.warm().iter().filter(|warm| warm.cause().is_some()).map(|warm| warm.fact.pod.uid.clone());
        if self.warming.writes.follow_request(asked, failed) {
            self.warming.sets.try_now();
            self.freshness.touch();
        }
        // The driver knows more than the record. Every other process knows of failures only what the record says.
        if !self.lock.holds() {
            let none = BTreeMap::new();
            let recorded = self.lock.prewarm().map_or(&none, |saved| &saved.failures);
            if self.warming.writes.follow_record(recorded, now) {
                self.freshness.touch();
            }
        }
        let Some(job) = &self.warming.job else { return };
        if job.template.is_ok() && self.warming.writes.forget_other_images(&job.key) {
            self.freshness.touch();
        }
        let present = job.states.iter().enumerate().filter(|(_, state)| **state == Some(PrewarmState::Present));
        let present: Vec<NodeIx> = present.map(|(node, _)| node).collect();
        for node in present {
            if self.warming.writes.pull_succeeded(&self.view.entry(node).name) {
                self.freshness.touch();
            }
        }
    }

    /// Settles creations whose pod is seen now, or will never be seen, and deletions whose pod is gone or terminating.
    fn note_arrivals(&mut self, now: Timestamp) {
        let shown = |node: &Str, pod: &Str| self.view.warm().on(node).any(|warm| warm.fact.pod.name == *pod);
        let creating = self.warming.writes.creating();
        let settled: Vec<Str> = creating.filter(|(node, pod)| shown(node, pod)).map(|(node, _)| node.clone()).collect();
        for node in settled {
            self.warming.writes.create_settled(&node);
            self.view.touch_named(Some(&node));
            self.freshness.touch();
        }
        let goes = |uid: &Str, at_once: bool| {
            let pod = self.view.warm().get(uid).map(|warm| &warm.fact.pod);
            let goes =
                |pod: &PodFact| pod.deletion_at.is_some() && (!at_once || pod.deletion_grace_secs.unwrap_or(0) == 0);
            pod.is_none_or(goes)
        };
        let deleting = self.warming.writes.deleting();
        let gone: Vec<Str> = deleting
            .filter(|(uid, at_once)| goes(uid, *at_once) && !self.warming.writes.is_without_labels(uid))
            .map(|(uid, _)| uid.clone())
            .collect();
        gone.iter().for_each(|uid| self.warming.writes.delete_settled(uid));
        // A watch tells what happened in order. So what it has not told although it was heard after the last instant at which the API server may have made
        // the pod, it will not tell. After it was down it is heard before it has told what it missed.
        let heard_until = self.view.watches().heard_until(Watched::WarmPods, now);
        let before = heard_until.millis().saturating_sub(LOST_ANSWER.as_millis().try_into().unwrap_or(0));
        let before = Timestamp::from_millis(before);
        if self.sees_warm_pods() {
            for node in self.warming.writes.give_up_creations(before) {
                self.view.touch_named(Some(&node));
                self.freshness.touch();
            }
        }
    }

    fn make_warm_pods(&mut self, not_after: Timestamp, now: Timestamp) -> Vec<(EffectId, Effect)> {
        let Some(job) = &self.warming.job else { return Vec::new() };
        // The registry may have refused a pull since the next nodes were chosen.
        if self.warming.writes.throttle().is_some_and(|throttle| now < throttle.again_at) {
            return Vec::new();
        }
        if !self.sees_warm_pods() {
            return Vec::new();
        }
        let (Ok(template), Some(daemonset)) = (&job.template, self.view.daemonset()) else { return Vec::new() };
        let owner =
            WarmPodOwner { namespace: &self.config().namespace, name: &self.config().name, uid: &daemonset.uid };
        let attempt = attempt_key(&job.request);
        let made: Vec<(Str, Str, Arc<serde_json::Value>)> = job
            .next
            .iter()
            .take(AT_ONCE)
            .map(|node| {
                let node = self.view.entry(*node).name.clone();
                let name = warm_pod_name(owner.name, &node, &job.key);
                let pod = Arc::new(warm_pod(&owner, &node, template, &attempt));
                (node, name, pod)
            })
            .collect();
        let mut effects = Vec::with_capacity(made.len());
        for (node, name, pod) in made {
            self.warming.writes.create_sent(&node, &name, now);
            self.view.touch_named(Some(&node));
            self.tell_warm_pod((&node, &name), None, EventOutcome::Sent, None);
            let id = self.effects.send(Sent::CreateWarm { node: node.clone(), pod: name.clone() });
            effects.push((id, Effect::CreateWarmPod { name, node, pod, not_after }));
        }
        if !effects.is_empty() {
            self.freshness.touch();
        }
        effects
    }

    fn delete_warm_pods(&mut self, now: Timestamp) -> Vec<(EffectId, Effect)> {
        let mut doomed: Vec<(Str, &WarmPod)> = Vec::new();
        let mut failed = Vec::new();
        let asked = self.recorded_prewarm();
        for warm in self.view.warm().iter() {
            let pod = &warm.fact.pod;
            if self.warming.writes.is_deleting(&pod.uid, now) {
                continue;
            }
            if pod.deletion_at.is_some() {
                doomed
                    .extend(place_of(warm).filter(|_| self.waits_for_a_machine_that_is_off(warm)).map(|at| (at, warm)));
                continue;
            }
            let renewed = asked.as_ref().is_some_and(|asked| self.is_tried_again(warm, asked));
            if !renewed && self.is_of_a_set(warm) {
                continue;
            }
            let Some(node) = place_of(warm) else { continue };
            let failing = self.failed_in_vain(warm).filter(|_| !renewed);
            if let Some(cause) = failing {
                failed.push((node.clone(), warm.fact.images.clone(), cause));
            } else if !renewed && !self.is_left_over(warm) {
                continue;
            }
            doomed.push((node, warm));
        }
        for warm in self.view.warm().strays().filter(|warm| !self.is_of_a_set(warm)) {
            let stray = &warm.fact.pod;
            let ends = stray.deletion_at.is_some() && !self.waits_for_a_machine_that_is_off(warm);
            let going = ends || self.warming.writes.is_deleting(&stray.uid, now);
            if let Some(node) = place_of(warm).filter(|_| !going) {
                doomed.push((node, warm));
            }
        }
        let unlabelled: Vec<(Str, Str, Str, u32)> = self
            .warming
            .writes
            .without_labels()
            .filter(|(uid, ..)| !self.warming.writes.is_deleting(uid, now))
            .map(|(uid, node, pod)| (node.clone(), pod.clone(), uid.clone(), 0))
            .collect();
        let described = doomed.into_iter().map(|(node, warm)| {
            let pod = &warm.fact.pod;
            (node, pod.name.clone(), pod.uid.clone(), self.deletion_grace_of(warm))
        });
        let doomed: Vec<(Str, Str, Str, u32)> = unlabelled.into_iter().chain(described).collect();
        drop(asked);
        for (node, images, cause) in failed {
            self.warming.writes.pull_failed(&node, images, cause, now);
        }
        let room = AT_ONCE.saturating_sub(self.warming.writes.deletions_on_their_way());
        let mut effects = Vec::new();
        for (node, name, uid, grace_secs) in doomed.into_iter().take(room) {
            self.warming.writes.delete_sent(&uid, grace_secs == 0);
            self.tell_warm_pod((&node, &name), Some(&uid), EventOutcome::Sent, None);
            let id = self.effects.send(Sent::DeleteWarm { uid: uid.clone() });
            effects.push((id, Effect::DeleteWarmPod { name, uid, node, grace_secs }));
        }
        effects
    }

    /// The grace period with which a pod is deleted. Without one the API server removes the pod at once, and its pull slot is free, while its kubelet goes
    /// on with the pull. With one the kubelet removes the pod, once the pull is over. That is waited for only where something may be pulled.
    fn deletion_grace_of(&self, warm: &WarmPod) -> u32 {
        let is_there = self.view.warm_state(warm) == WarmState::Present;
        let pulls = !is_there && !warm.never_pulled() && warm.fact.pod.bound && !self.is_off(warm);
        if pulls { GRACE_SECS } else { 0 }
    }

    /// Whether the kubelet that was to end a pod, which is being deleted with a grace period, is not there to do so.
    fn waits_for_a_machine_that_is_off(&self, warm: &WarmPod) -> bool {
        warm.fact.pod.deletion_grace_secs.is_some_and(|secs| secs > 0) && self.is_off(warm)
    }

    /// Whether the node of a pod has been down for so long that it has given its pull slot up.
    fn is_off(&self, warm: &WarmPod) -> bool {
        let Some(ix) = warm.fact.pod.node.as_ref().and_then(|node| self.view.node(node)) else { return false };
        let is_down = self.view.entry(ix).fact.as_ref().is_some_and(|fact| fact.ready != ConditionStatus::True);
        is_down && self.assessment.row(ix).is_none_or(|row| !row.warm_pulls)
    }

    /// The cause of a failed pull because of which the pod is deleted. `None` if the pull has not failed.
    fn failed_in_vain(&self, warm: &WarmPod) -> Option<Cause> {
        match self.view.warm_state(warm) {
            WarmState::Failed(cause) => Some(cause),
            WarmState::Present | WarmState::Pulling { .. } | WarmState::Terminating { .. } => None,
        }
    }

    /// Takes in the outcome of the creation of a pod.
    pub(super) fn warm_pod_outcome(&mut self, node: &Str, pod: &Str, outcome: Outcome, now: Timestamp) {
        match outcome {
            Ok(done) => {
                if let Done::WarmPodCreated(fact) = &done
                    && let Some(label) = label_that_lacks(fact)
                {
                    let said = format!(
                        "admission removed label {label}, without which rolldeck does not find the pod again: the pod is deleted, and no more are made before a retry"
                    );
                    self.tell_warm_pod((node, pod), None, EventOutcome::Failed, Some(said.clone().into()));
                    self.warming.writes.unlabelled(node, (&fact.pod.uid, pod), &said.into());
                    self.view.touch_named(Some(node));
                    return;
                }
                self.warming.writes.accepted();
                if let Done::WarmPodCreated(fact) = done {
                    self.tell_warm_pod_made((node, pod), &fact.pod.uid);
                    self.view.observe(Event::WarmPod(fact), now);
                }
            }
            // A pod of that name is there or may be there, and the watch has not shown it yet, or shows it as terminating.
            Err(EffectError { kind: EffectErrorKind::Conflict | EffectErrorKind::Unknown, .. }) => {}
            Err(EffectError { kind: EffectErrorKind::TooLate | EffectErrorKind::NotSent, .. }) => {
                self.warming.writes.create_settled(node);
                self.view.touch_named(Some(node));
            }
            Err(error) => {
                let (outcome, said) = (EventOutcome::from(error.kind), Some(error.message.clone()));
                self.tell_warm_pod((node, pod), None, outcome, said);
                self.warming.writes.refused(node, &error.message, now);
                self.view.touch_named(Some(node));
            }
        }
    }

    /// Takes in the outcome of the deletion of a pod.
    pub(super) fn warm_deletion_outcome(&mut self, uid: &Str, outcome: &Outcome, now: Timestamp) {
        // A deletion that was accepted counts until the watch shows the end of the pod.
        if let Err(error) = outcome {
            self.warming.writes.delete_failed(uid, &error.message, now);
        }
        let is_gone = matches!(outcome, Err(EffectError { kind: EffectErrorKind::NotFound, .. }));
        if outcome.is_ok() || is_gone {
            self.warming.writes.unlabelled_goes(uid);
        }
        if is_gone {
            self.view.observe(Event::WarmPodGone(uid.clone(), None), now);
        }
    }
}

/// The label of ours that a pod which was just made does not have.
fn label_that_lacks(made: &WarmPodFact) -> Option<&'static str> {
    let labels = [(PREWARM, &made.daemonset), (PREWARM_IMAGES, &made.images)];
    labels.into_iter().find(|(_, value)| value.is_empty()).map(|(label, _)| label)
}

/// Where a pod is, for the log. A pod that a StatefulSet left behind may have no node yet.
fn place_of(warm: &WarmPod) -> Option<Str> {
    warm.fact.pod.node.clone().or_else(|| warm.fact.set.is_some().then(|| "no node".into()))
}

/// The nodes that are to be pre-warmed by the settings of a rollout; `None` if the settings ask for no pre-warming.
fn nodes_by_settings(intent: &Intent) -> Option<PrewarmNodes> {
    match (intent.prewarm, intent.gates.require_image) {
        (PrewarmAhead::All, _) => Some(PrewarmNodes::All),
        (PrewarmAhead::Step, _) => Some(PrewarmNodes::StepAhead),
        (PrewarmAhead::Off, true) => Some(PrewarmNodes::LetGo),
        (PrewarmAhead::Off, false) => None,
    }
}
