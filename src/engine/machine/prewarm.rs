//! Pre-warming: which images are brought to which nodes, how far each node is, and how many nodes pull.

mod absent;
mod estimates;
mod sets;
mod slots;
mod view;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use self::slots::Slots;
use super::Engine;
use crate::engine::assess::plan::Limits;
use crate::engine::assess::rows::Row;
use crate::engine::model::Str;
use crate::engine::model::event::{Permission, Right, WatchHealth, Watched};
use crate::engine::model::facts::DaemonSetFact;
use crate::engine::model::hold::Hold;
use crate::engine::model::image::normalized;
use crate::engine::model::node::NodeIx;
use crate::engine::model::prewarm::{
    FAILURES_LIMIT, Prewarm, PrewarmFailure, PrewarmLimits, PrewarmMethod, PrewarmNodes, PrewarmSource, PrewarmState,
    PrewarmWait, Unobtainable, UnrecordedFailures,
};
use crate::engine::model::record::{By, Direction, Intent, OURSELVES};
use crate::engine::model::template::{NoTemplate, Template};
use crate::engine::model::time::Timestamp;
use crate::engine::rules::pulls::images_present;
use crate::engine::rules::warm_pod::{attempt_key, images_key};
use crate::engine::view::{PodIx, WarmPod, WarmState};
use crate::engine::writes::warm::WarmWrites;
use crate::engine::writes::warm_sets::WarmSets;

/// Once this many nodes failed for a cause that keeps the image from all nodes and no node got the images, no further node tries.
const REFUSED_ON: u32 = 3;

/// Why nothing is done about pods for pre-warming that no request asks for.
const LEFT_OVER: &str = "pods of an earlier pre-warming are left; cancel it to delete them";

/// The state of pre-warming: the writes on their way, the StatefulSets, and the job.
#[derive(Debug, Default)]
pub(crate) struct Prewarming {
    pub(crate) writes: WarmWrites,
    pub(crate) sets: WarmSets,
    /// What is being pre-warmed, as of the last assessment.
    pub(crate) job: Option<PrewarmJob>,
}

/// Pre-warming as it stands.
#[derive(Debug)]
pub(crate) struct PrewarmJob {
    pub(crate) request: Prewarm,
    /// The template whose images are brought, or why there is none.
    pub(crate) template: Result<Template, Str>,
    /// Identifies these images among those of other requests.
    pub(crate) key: Str,
    /// By node index; `None` where pre-warming does not concern the node.
    pub(crate) states: Vec<Option<PrewarmState>>,
    /// The nodes on which a pod may be made now, in order.
    pub(crate) next: Vec<NodeIx>,
    /// The nodes that wait for a slot or have just got one, in the order in which they go; empty for StatefulSets, which have no order.
    line: Vec<NodeIx>,
    /// The nodes to which a StatefulSet has to bring the images.
    pub(crate) for_sets: Vec<NodeIx>,
    /// Set where the registry gives the images to no node.
    unobtainable: Option<Unobtainable>,
    slots: Slots,
}

impl PrewarmJob {
    /// Set where the registry gives the images to no node, so that none is tried any more.
    pub(crate) fn unobtainable(&self) -> Option<Unobtainable> {
        self.unobtainable
    }
}

impl Engine {
    /// The request for pre-warming as it will be once all edits are saved.
    pub(crate) fn recorded_prewarm(&self) -> Option<Cow<'_, Prewarm>> {
        let mut prewarm = self.lock.prewarm().map(Cow::Borrowed);
        for unsaved in self.edits.iter() {
            unsaved.edit.apply_to_prewarm(&mut prewarm);
        }
        // We hold the lease now, so our own request for it is settled.
        let ours = |by: &By| by.by == self.config().identity;
        if self.lock.holds()
            && let Some(prewarm) = &mut prewarm
            && prewarm.handover.as_ref().is_some_and(ours)
        {
            prewarm.to_mut().handover = None;
        }
        if self.lock.holds()
            && let Some(prewarm) = &mut prewarm
            && let Some(failures) = self.warming.writes.failures(prewarm)
        {
            let unrecorded = self.unrecorded_failures(&failures);
            if failures != prewarm.failures || unrecorded != prewarm.unrecorded {
                let prewarm = prewarm.to_mut();
                (prewarm.failures, prewarm.unrecorded) = (failures, unrecorded);
            }
        }
        prewarm
    }

    /// The nodes that failed and are not among those that are recorded by name.
    fn unrecorded_failures(&self, recorded: &BTreeMap<Str, PrewarmFailure>) -> UnrecordedFailures {
        let mut unrecorded = UnrecordedFailures::default();
        if recorded.len() < FAILURES_LIMIT {
            return unrecorded;
        }
        let states = self.warming.job.iter().flat_map(|job| job.states.iter().enumerate());
        for (node, state) in states.filter_map(|(node, state)| Some((node, state.as_ref()?))) {
            if matches!(state, PrewarmState::Failed { .. }) && !recorded.contains_key(&self.view.entry(node).name) {
                unrecorded.failed += 1;
                unrecorded.retrying += u32::from(state.is_retried());
            }
        }
        unrecorded
    }

    /// The template whose images are pre-warmed.
    ///
    /// # Errors
    /// Says why there is no template: the DaemonSet, a container or a revision does not exist.
    pub(crate) fn template_to_prewarm(&self, source: &PrewarmSource) -> Result<Template, Str> {
        let template = match source {
            PrewarmSource::Template => {
                let daemonset = self.view.daemonset().ok_or(NoTemplate::DaemonSetUnknown);
                daemonset.map(|daemonset| daemonset.template.clone())
            }
            PrewarmSource::Images(images) => self.view.template_with_images(images),
            PrewarmSource::Revision(hash) => self.view.template_of_revision(hash),
        };
        template.map_err(|why| match why {
            NoTemplate::DaemonSetUnknown => "the DaemonSet is not loaded".into(),
            NoTemplate::RevisionGone(hash) => format!("revision {hash} is not there any more").into(),
            NoTemplate::Container(why) => why.into(),
        })
    }

    /// Works out anew how far pre-warming is.
    pub(crate) fn assess_prewarming(&mut self, limits: &Limits) {
        let recorded = self.recorded_prewarm().map(Cow::into_owned);
        let job = match recorded {
            Some(request) => {
                let template = self.template_to_prewarm(&request.source);
                Some(self.job_of(request, template, limits))
            }
            None => self.left_over().map(|left| self.job_of(left, Err(LEFT_OVER.into()), limits)),
        };
        self.warming.job = job;
        self.tell_of_absent_images();
    }

    /// How far pre-warming is with `request`, whether that is recorded or only considered.
    pub(crate) fn job_of(&self, request: Prewarm, template: Result<Template, Str>, limits: &Limits) -> PrewarmJob {
        let images = template.as_ref().map(Template::images).unwrap_or_default();
        let key = images_key(&images);
        let mut job = PrewarmJob {
            slots: self.slots(&request, limits),
            states: vec![None; self.view.nodes().len()],
            next: Vec::new(),
            line: Vec::new(),
            unobtainable: None,
            for_sets: Vec::new(),
            request,
            template,
            key,
        };
        if let Ok(template) = job.template.clone() {
            self.note_states(&mut job, &template, &images);
        }
        job
    }

    /// Whether a pod for pre-warming is needed: it has the images that are asked for, its node is among those to be pre-warmed, and the DaemonSet's
    /// own pod there does not use the images yet.
    pub(crate) fn is_needed(&self, warm: &WarmPod, node: &Str, job: &PrewarmJob) -> bool {
        if job.request.cancelled.is_some() || job.template.is_err() || warm.fact.images != job.key {
            return false;
        }
        // A StatefulSet brings the images of nodes to which no other pod has brought them yet.
        let left_to_a_set = job.request.method == PrewarmMethod::StatefulSet && warm.fact.set.is_none();
        if left_to_a_set && self.view.warm_state(warm) != WarmState::Present {
            return false;
        }
        let ix = self.view.node(node);
        let meant = ix.and_then(|ix| job.states.get(ix)).is_some_and(Option::is_some);
        // Until the DaemonSet's own pod uses the images, the pod that brought them keeps the kubelet from collecting them.
        let uses = ix.and_then(|ix| self.assessment.row(ix)).is_some_and(|row| {
            row.available && row.pod.is_some_and(|pod| self.uses_images(pod, job.template.as_ref()))
        });
        meant && !uses
    }

    /// Whether pre-warming is cancelled, so that pods that pull for it are deleted next.
    pub(crate) fn warm_pods_go(&self) -> bool {
        self.recorded_prewarm().is_some_and(|request| request.cancelled.is_some())
    }

    /// Whether a pod for pre-warming is no longer needed (see [`Self::is_needed`]), or no pre-warming is asked for any more.
    pub(crate) fn is_left_over(&self, warm: &WarmPod) -> bool {
        let (Some(job), Some(request)) = (&self.warming.job, self.recorded_prewarm()) else { return true };
        let needed = || warm.fact.pod.node.as_ref().is_some_and(|node| self.is_needed(warm, node, job));
        request.cancelled.is_some() || !needed()
    }

    /// Whether the pull of this pod failed, and an operator has asked for it again since, so that the pod is made anew. The pod tells for which attempt
    /// it was made; where it does not, only a process that saw the operator ask knows.
    pub(crate) fn is_tried_again(&self, warm: &WarmPod, request: &Prewarm) -> bool {
        let stands = request.paused.is_some() || request.cancelled.is_some() || request.complete.is_some();
        let since = match &warm.fact.attempt {
            Some(attempt) => {
                let before = || self.warming.writes.may_have_failed_before(&warm.fact.pod.uid, request);
                warm.cause().is_some() && *attempt != attempt_key(request) && before()
            }
            None => self.warming.writes.is_renewed(&warm.fact.pod.uid),
        };
        since && !stands
    }

    /// Whether the pod belongs to a StatefulSet that exists, or may exist, and would make the pod anew.
    pub(crate) fn is_of_a_set(&self, warm: &WarmPod) -> bool {
        warm.fact.set.as_ref().is_some_and(|set| self.warming.sets.may_have(set))
    }

    /// A stand-in request for pods that exist although no pre-warming is recorded, because somebody deleted the Lease.
    pub(crate) fn left_over(&self) -> Option<Prewarm> {
        let daemonset_uid = self.view.daemonset().filter(|_| !self.view.warm().is_empty())?.uid.clone();
        Some(Prewarm {
            daemonset_uid,
            source: PrewarmSource::Template,
            nodes: PrewarmNodes::All,
            limits: PrewarmLimits::default(),
            method: PrewarmMethod::Pods,
            stateful_sets: self.view.warm().has_those_of_sets(),
            paused: None,
            cancelled: None,
            complete: None,
            retried: None,
            handover: None,
            failures: BTreeMap::new(),
            unrecorded: UnrecordedFailures::default(),
            // The time of the request is not known. The present time would make every snapshot differ from the one before.
            by: By { by: OURSELVES.into(), at: Timestamp::default() },
            write_ids: Vec::new(),
        })
    }

    /// Fills in the state of every node, and the nodes that come next.
    fn note_states(&self, job: &mut PrewarmJob, template: &Template, images: &[Str]) {
        let wanted: Vec<NodeIx> = self.meant(&job.request.nodes).map(|row| row.node).collect();
        let images: Vec<String> = images.iter().map(|image| normalized(image)).collect();
        let (mut line, mut tried_again) = (Vec::new(), Vec::new());
        for node in wanted {
            let Some(row) = self.assessment.row(node) else { continue };
            let state = self.state_of(row, job, template, &images);
            match &state {
                PrewarmState::Waiting(PrewarmWait::Next) => line.push(node),
                PrewarmState::Waiting(PrewarmWait::TriedAgain) => tried_again.push(node),
                _ => {}
            }
            job.states[node] = Some(state);
        }
        job.unobtainable = self.unobtainable(job);
        let stopped = self.prewarming_stands(&job.request).or(job.unobtainable.map(PrewarmWait::Unobtainable));
        for node in tried_again {
            if let Some(why) = &stopped {
                job.states[node] = Some(PrewarmState::Waiting(why.clone()));
            }
        }
        line.sort_by_key(|node| self.place_among_pulls(*node, &job.key));
        let throttled = self.warming.writes.throttle().map(|throttle| throttle.wait(self.now));
        let refused = self.warming.writes.refusal().map(|refusal| refusal.node.clone());
        // The node whose pod was refused goes last: the refusal may concern that node only.
        line.sort_by_key(|node| Some(&self.view.entry(*node).name) == refused.as_ref());
        if job.request.method == PrewarmMethod::StatefulSet {
            let pressed = |node: &NodeIx| Some((*node, self.view.entry(*node).fact.as_ref()?.pressure.clone()?));
            for (node, what) in line.iter().filter_map(pressed) {
                job.states[node] = Some(PrewarmState::Waiting(PrewarmWait::Pressure(what)));
            }
            line.retain(|node| pressed(node).is_none());
            return job.leave_to_sets(line, stopped.as_ref());
        }
        job.line.clone_from(&line);
        for node in line {
            let wait = match (&stopped, &throttled) {
                (Some(why), _) => Err(why.clone()),
                (None, Some(why)) if !job.next.is_empty() || self.tries_the_registry(job) => Err(why.clone()),
                (None, _) => job.slots.take(&self.view.entry(node).site),
            };
            match wait {
                Ok(()) => job.next.push(node),
                Err(why) => job.states[node] = Some(PrewarmState::Waiting(why)),
            }
        }
        // Until the API server accepts pods again, only one is tried at a time.
        if refused.is_some() {
            job.next.truncate(1);
        }
    }

    /// By what nodes are sorted that pull the images `key`: by failed attempts, then in the order of the rollout. Those that wait in it stand before those
    /// that are being updated, where one more image would keep the node down for longer, as kubelets pull one after the other.
    pub(crate) fn place_among_pulls(&self, node: NodeIx, key: &Str) -> impl Ord + use<> {
        let failed = self.warming.writes.attempts(&self.view.entry(node).name, key).map_or(0, |it| it.failed);
        let rank = self.plan.rank(node).unwrap_or(u32::MAX);
        let natural = self.view.natural().get(node).copied().unwrap_or(u32::MAX);
        (failed, rank, self.plan.site_place(node), natural)
    }

    /// Whether the node that tests if a throttled registry serves again is still queued or pulling.
    fn tries_the_registry(&self, job: &PrewarmJob) -> bool {
        let node = self.warming.writes.throttle().and_then(|throttle| self.view.node(throttle.tries.as_ref()?));
        let state = node.and_then(|node| job.states.get(node)?.as_ref());
        matches!(state, Some(PrewarmState::Queued | PrewarmState::Silent { .. } | PrewarmState::Pulling { .. }))
    }

    /// The registry's refusal, where at least [`REFUSED_ON`] nodes failed for it and no node got the images.
    fn unobtainable(&self, job: &PrewarmJob) -> Option<Unobtainable> {
        let refused = |state: &PrewarmState| match state {
            PrewarmState::Failed { cause, again_at: None, .. } => {
                cause.kind.keeps_the_image_from_all_nodes().then_some(cause.kind)
            }
            _ => None,
        };
        let mut causes = job.states.iter().flatten().filter_map(refused);
        let cause = causes.next()?;
        let nodes = u32::try_from(causes.count() + 1).unwrap_or(u32::MAX);
        let got = |warm: &WarmPod| warm.fact.images == job.key && self.view.warm_state(warm) == WarmState::Present;
        // The pods for pre-warming of updated nodes are deleted. Their own pods have the images, also while they are not ready or fail.
        let brings = |daemonset: &DaemonSetFact| images_key(&daemonset.template.images()) == job.key;
        let has = |row: &Row| row.at_target && row.pod.is_some_and(|pod| self.uses_images(pod, job.template.as_ref()));
        let is_used = || self.view.daemonset().is_some_and(brings) && self.assessment.rows().any(has);
        let was_got = self.view.warm().iter().any(got) || is_used();
        (nodes >= REFUSED_ON && !was_got).then_some(Unobtainable { nodes, cause })
    }

    /// The nodes that pre-warming on `nodes` is about.
    pub(crate) fn meant<'a>(&'a self, nodes: &'a PrewarmNodes) -> impl Iterator<Item = &'a Row> {
        let ahead = if *nodes == PrewarmNodes::StepAhead { self.next_steps_nodes() } else { HashSet::new() };
        // The plan holds no node that is not to be updated: none at all without adoption or a target, and none that is at the target or whose pod is just
        // going, where the images may be those of the change after it. Only a roll back reaches nodes that the selector excludes.
        let goes_back = self.recorded_intent().is_some_and(|intent| {
            intent.direction() == Direction::Back && intent.target.is_some() && self.is_adopted()
        });
        self.assessment.rows().filter(move |row| {
            let entry = self.view.entry(row.node);
            let held = || matches!(self.plan.hold(row.node), Some(Hold::Partition { .. } | Hold::Selector));
            let let_go = || !held() && (row.selected || goes_back);
            row.in_fleet
                && match nodes {
                    PrewarmNodes::All => true,
                    PrewarmNodes::Node(name) => entry.name == *name,
                    PrewarmNodes::Selector(selector) => {
                        entry.fact.as_ref().is_some_and(|fact| selector.matches(&fact.labels))
                    }
                    PrewarmNodes::LetGo => let_go(),
                    PrewarmNodes::StepAhead => let_go() || ahead.contains(&row.node),
                }
        })
    }

    /// The nodes that the next step of the plan frees besides those that are free already: the first in line. A halt or a pause of the rollout does
    /// not change them, so that their pods stay.
    fn next_steps_nodes(&self) -> HashSet<NodeIx> {
        let Some(intent) = self.recorded_intent() else { return HashSet::new() };
        let allowed = Limits::of(&self.view, &intent, &self.assessment).allowed;
        let ahead = self.step_that_frees(&intent);
        let more = ahead.map_or(0, |ahead| ahead.frees.unwrap_or(ahead.allowed.saturating_sub(allowed)));
        let kept = |node: &&NodeIx| matches!(self.plan.hold(**node), Some(Hold::Partition { .. }));
        self.plan.line.iter().filter(kept).take(more as usize).copied().collect()
    }

    /// The reason why pre-warming as a whole stands still, if it does.
    fn prewarming_stands(&self, request: &Prewarm) -> Option<PrewarmWait> {
        if request.complete.is_some() {
            return Some(PrewarmWait::Complete);
        }
        if request.cancelled.is_some() {
            return Some(PrewarmWait::Cancelled);
        }
        if request.paused.is_some() {
            return Some(PrewarmWait::Paused);
        }
        // What a rollout pre-warms by itself rests with it: who pauses it because the link is full means these pulls, too.
        let rests = |intent: &Intent| intent.paused.is_some() || self.is_halted(intent);
        if *request.by.by == *OURSELVES && self.recorded_intent().is_some_and(|intent| rests(&intent)) {
            return Some(PrewarmWait::Paused);
        }
        let needed: &[Right] = match request.method {
            PrewarmMethod::Pods => &[Right::CreatePods],
            PrewarmMethod::StatefulSet => &[Right::ListStatefulSets, Right::CreateStatefulSets],
        };
        let goes_on = request.method == PrewarmMethod::StatefulSet && self.view.warm().has_those_of_sets();
        let denied = needed.iter().find(|right| self.view.permission(**right) == Permission::Denied);
        if let Some(right) = denied.filter(|_| !goes_on) {
            return Some(PrewarmWait::Refused(format!("not permitted: {right}").into()));
        }
        let blind = self.blindness().or_else(|| match self.health(Watched::WarmPods) {
            WatchHealth::Live => None,
            WatchHealth::Loading => Some("pre-warm pods are still loading".into()),
            WatchHealth::Down { why, .. } | WatchHealth::Lagging { why, .. } | WatchHealth::Forbidden { why } => {
                Some(format!("pre-warm pods cannot be watched: {why}").into())
            }
        });
        if let Some(why) = blind {
            return Some(PrewarmWait::ViewStale(why));
        }
        // A StatefulSet goes on by itself.
        if self.is_undriven() && !goes_on {
            return Some(PrewarmWait::NobodyDrives);
        }
        let refused = self.warming.sets.refusal().filter(|_| !goes_on && !self.warming.sets.is_free(self.now));
        if let Some((_, message)) = refused {
            return Some(PrewarmWait::Refused(message.clone()));
        }
        let refusal = self.warming.writes.refusal().filter(|refusal| refusal.stands(self.now));
        let throttle = self.warming.writes.throttle().filter(|throttle| self.now < throttle.again_at);
        let throttled = || throttle.map(|throttle| throttle.wait(self.now));
        refusal.map(|refusal| PrewarmWait::Refused(refusal.message.clone())).or_else(throttled)
    }

    /// Whether nobody drives, as far as can be told without waiting.
    fn is_undriven(&self) -> bool {
        self.lock.view(self.now).is_undriven(self.view.server_time(self.now))
    }

    /// How far a node is. `images` are their names as runtimes report them.
    fn state_of(&self, row: &Row, job: &PrewarmJob, template: &Template, images: &[String]) -> PrewarmState {
        let name = &self.view.entry(row.node).name;
        if self.view.is_warm(name, &job.key) || self.has_images(row, template, images) {
            return PrewarmState::Present;
        }
        let warm = self.view.warm().on(name).find(|warm| warm.fact.images == job.key);
        let before = self.warming.writes.attempts(name, &job.key).filter(|_| self.warming.writes.knows(&job.request));
        let mut ends = None;
        match warm.map(|warm| self.view.warm_state(warm)) {
            Some(WarmState::Present) => return PrewarmState::Present,
            // Nobody knows how far it came.
            Some(WarmState::Pulling { .. }) if row.is_down && !row.warm_pulls => {
                return PrewarmState::Waiting(PrewarmWait::NodeDown);
            }
            Some(WarmState::Failed(_)) if warm.is_some_and(|warm| self.is_tried_again(warm, &job.request)) => {
                return PrewarmState::Waiting(PrewarmWait::TriedAgain);
            }
            Some(WarmState::Failed(cause)) => {
                return PrewarmState::Failed {
                    cause,
                    times: before.map_or(1, |before| before.failed + 1),
                    again_at: None,
                };
            }
            Some(WarmState::Pulling { since: Some(since) }) => return PrewarmState::Pulling { since },
            Some(WarmState::Pulling { since: None }) => {
                let silent = warm.and_then(WarmPod::silent_since);
                return silent.map_or(PrewarmState::Queued, |since| PrewarmState::Silent { since });
            }
            Some(WarmState::Terminating { .. }) => ends = warm.map(|warm| &warm.fact.pod),
            None => {}
        }
        // Without a living driver, a node that failed is not tried again.
        let waits = |again_at: Option<Timestamp>| again_at.is_none_or(|again_at| self.now < again_at);
        if let Some(before) = before.filter(|before| waits(before.again_at()) || self.is_undriven()) {
            let (cause, times) = (before.cause.clone(), before.failed);
            return PrewarmState::Failed { cause, times, again_at: before.again_at() };
        }
        if self.warming.writes.is_creating(name) {
            return PrewarmState::Queued;
        }
        PrewarmState::Waiting(if row.pulls {
            PrewarmWait::Updating
        } else if row.is_down || !row.should_run {
            PrewarmWait::NodeDown
        } else if let Some(pod) = ends {
            // The next pod has the same name.
            PrewarmWait::Ending(pod.finalizers.first().filter(|_| pod.is_held_by_finalizers()).cloned())
        } else {
            PrewarmWait::Next
        })
    }

    /// Whether the node has these images without a pod for pre-warming: its own pod uses them, or its kubelet reports them.
    pub(crate) fn has_images(&self, row: &Row, template: &Template, images: &[String]) -> bool {
        let uses = row.pod.is_some_and(|pod| self.uses_images(pod, Ok(template)));
        // Such a node needs no pod for pre-warming: see `is_needed`.
        if uses && row.available {
            return true;
        }
        // A tag that is always pulled again may name another image by now.
        !self.view.pulls_any_again(template) && (uses || self.view.confirms(row.node, images))
    }

    /// Whether a pod of the DaemonSet uses these images.
    pub(crate) fn uses_images(&self, pod: PodIx, template: Result<&Template, &Str>) -> bool {
        let (Some(pod), Ok(template)) = (self.view.pod(pod), template) else { return false };
        let revision = pod.fact.revision.as_ref().and_then(|hash| self.view.revision(hash));
        let have = revision.map(|revision| revision.template.images()).unwrap_or_default();
        images_present(&pod.fact)
            && pod.fact.deletion_at.is_none()
            && template.images().iter().all(|image| have.contains(image))
    }
}
