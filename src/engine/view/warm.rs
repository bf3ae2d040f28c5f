//! The pods made for pre-warming, by node, and how far each has brought its images.

mod brought;
mod silence;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use self::brought::BroughtImages;
use self::silence::KubeletSilence;
use super::View;
use super::ended::EndedPods;
use crate::engine::model::Str;
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::facts::{ContainerFact, ContainerState, PodFact, PodPhase, WarmPodFact};
use crate::engine::model::template::ContainerRole;
use crate::engine::model::time::Timestamp;
use crate::engine::model::version::is_older;
use crate::engine::rules::diagnose::{diagnose, diagnose_container};
use crate::engine::rules::recognise::{has_begun, waits_with_its_image};
use crate::engine::rules::sidecars::holds_up_others;
use crate::engine::rules::warm_pod::{brings_an_image, is_warm_pod_of, names_begin};
use crate::engine::rules::warm_set::is_set_of;

/// For how long an init container or a sidecar that admission added may hold up the pulls of a pod, and with them a pull slot.
const INIT_PATIENCE: Duration = Duration::from_secs(120);

/// A pod that was made for pre-warming.
#[derive(Debug)]
pub(crate) struct WarmPod {
    pub(crate) fact: WarmPodFact,
    /// Since when its images fail to arrive, by our clock, and why.
    pub(crate) failing: Option<(Timestamp, Cause)>,
    /// Since when an init container or a sidecar that admission added keeps its kubelet from pulling, by our clock.
    held_up_since: Option<Timestamp>,
    /// When this process first saw it, by our clock.
    seen_since: Timestamp,
    /// Since when Events tell why its kubelet does not come to its pull, by our clock.
    told_since: Option<Timestamp>,
    /// Set once its kubelet has shown no sign of a pull for too long.
    silence: Option<KubeletSilence>,
    listed: bool,
}

/// How far a pod has brought its images.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum WarmState {
    /// They are on the node. Whether its containers run does not matter.
    Present,
    /// They are on their way; a pull that has not begun yet waits in its kubelet's queue.
    Pulling {
        /// Since when, by the kubelet's clock, where an event told that it began.
        since: Option<Timestamp>,
    },
    /// They do not arrive.
    Failed(Cause),
    /// It is being deleted.
    Terminating {
        /// Whether it is known that nothing is pulled for it any more.
        is_over: bool,
    },
}

impl WarmState {
    /// Whether the pod may be using the link of its node.
    pub(crate) fn takes_a_slot(&self) -> bool {
        match self {
            Self::Pulling { .. } => true,
            // Its kubelet may try again at any time, and the registry may give the image by then.
            Self::Failed(_) => true,
            // A kubelet goes on with the pull of a pod that is being deleted, and does not say so.
            Self::Terminating { is_over } => !is_over,
            Self::Present => false,
        }
    }
}

/// The DaemonSet that pods are made for.
#[derive(Debug)]
struct WarmOwner {
    uid: Str,
    name: Str,
    /// How the names of its pods begin.
    names_begin: String,
}

/// The pods that were made for pre-warming.
#[derive(Debug, Default)]
pub(crate) struct WarmPods {
    /// The present DaemonSet. Pods that were made for another one are known, and not counted.
    owner: Option<WarmOwner>,
    pods: BTreeMap<Str, WarmPod>,
    by_node: HashMap<Str, Vec<Str>>,
    ended: EndedPods,
    brought: BroughtImages,
    /// The highest resource version that was seen: a list that is older does not know of what came after it.
    newest: Option<u64>,
}

impl WarmPods {
    /// All pods that were made for the present DaemonSet.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &WarmPod> {
        self.pods.values().filter(|pod| self.is_ours(pod))
    }

    /// Whether there is none, strays included.
    pub(crate) fn is_empty(&self) -> bool {
        self.iter().chain(self.strays()).next().is_none()
    }

    fn is_ours(&self, pod: &WarmPod) -> bool {
        self.owner.as_ref().is_some_and(|owner| owner.uid == pod.fact.daemonset)
    }

    /// Pods that were made for an earlier DaemonSet of this name, which was deleted without its pods.
    pub(crate) fn strays(&self) -> impl Iterator<Item = &WarmPod> {
        self.pods.values().filter(|pod| self.is_stray(pod))
    }

    fn is_stray(&self, pod: &WarmPod) -> bool {
        self.owner.as_ref().is_some_and(|owner| {
            let named = match &pod.fact.set {
                Some(set) => is_set_of(&owner.name, set),
                None => is_warm_pod_of(&owner.names_begin, &pod.fact.pod.name),
            };
            owner.uid != pod.fact.daemonset && named
        })
    }

    /// Whether StatefulSets made some of them, strays included.
    pub(crate) fn has_those_of_sets(&self) -> bool {
        self.iter().chain(self.strays()).any(|pod| pod.fact.set.is_some())
    }

    /// The one with this uid.
    pub(crate) fn get(&self, uid: &str) -> Option<&WarmPod> {
        self.pods.get(uid)
    }

    /// Pods pinned to a node, including those of an earlier DaemonSet of this name: they use the same link.
    pub(crate) fn all_on<'a>(&'a self, node: &str) -> impl Iterator<Item = &'a WarmPod> + use<'a> {
        let there = self.by_node.get(node).into_iter().flatten().filter_map(|uid| self.pods.get(uid));
        there.filter(|pod| self.is_ours(pod) || self.is_stray(pod))
    }

    /// Those pinned to a node.
    pub(crate) fn on<'a>(&'a self, node: &str) -> impl Iterator<Item = &'a WarmPod> + use<'a> {
        let there = self.by_node.get(node).into_iter().flatten().filter_map(|uid| self.pods.get(uid));
        there.filter(|pod| self.is_ours(pod))
    }

    fn take_in(&mut self, fact: WarmPodFact, (now, server_now): (Timestamp, Timestamp)) -> bool {
        let uid = fact.pod.uid.clone();
        let version = fact.pod.resource_version.parse::<u64>().ok();
        if self.ended.is_late(&uid, version) {
            return false;
        }
        let before = self.pods.get_mut(&uid);
        if let Some(known) = before
            && is_older(&fact.pod.resource_version, &known.fact.pod.resource_version)
        {
            known.listed = true;
            return false;
        }
        self.newest = self.newest.max(version);
        let known = self.pods.get(&uid);
        // The node of a StatefulSet's pod is known later than the pod.
        if known.is_none_or(|known| known.fact.pod.node.is_none())
            && let Some(node) = &fact.pod.node
        {
            self.by_node.entry(node.clone()).or_default().push(uid.clone());
        }
        let since = known.and_then(|known| known.failing.as_ref()).map(|(since, _)| *since);
        let failing = failure_of(&fact.pod, server_now).map(|cause| (since.unwrap_or(now), cause));
        // While a pull is tried again the status does not name the last failure.
        let tries_again = known.and_then(|known| known.failing.clone()).filter(|_| !has_images(&fact.pod));
        let held_up_since = known.and_then(|known| known.held_up_since).unwrap_or(now);
        let held_up_since = endless_init(&fact.pod).map(|_| held_up_since);
        let gave_up = known.and_then(|known| known.failing.clone()).filter(|_| held_up_since.is_some());
        let failing = failing.or(tries_again).or(gave_up);
        let seen_since = known.map_or(now, |known| known.seen_since);
        let told_since = known.and_then(|known| known.told_since);
        let silence = known.and_then(|known| known.silence.clone());
        self.pods.insert(uid, WarmPod { fact, failing, held_up_since, seen_since, told_since, silence, listed: true });
        true
    }

    /// See the field.
    pub(super) fn newest(&self) -> Option<u64> {
        self.newest
    }

    /// Notes the end of a pod; returns whether the pod has ended.
    fn ends(&mut self, uid: &Str, version: Option<u64>) -> bool {
        // A newer state of the pod was seen since: the pod is not gone.
        let known = self.pods.get(uid).and_then(|known| known.fact.pod.resource_version.parse().ok());
        if version.zip(known).is_some_and(|(gone_at, newest): (u64, u64)| gone_at < newest) {
            return false;
        }
        self.newest = self.newest.max(version);
        self.ended.add(uid, version);
        true
    }

    fn forget(&mut self, uid: &Str) -> Option<WarmPod> {
        let pod = self.pods.remove(uid)?;
        if let Some(node) = &pod.fact.pod.node
            && let Some(uids) = self.by_node.get_mut(node)
        {
            uids.retain(|known| known != uid);
            if uids.is_empty() {
                self.by_node.remove(node);
            }
        }
        Some(pod)
    }
}

impl View {
    /// When the first pod counts as held up, or as silent, for too long.
    pub(super) fn warm_pods_change_at(&self) -> Option<Timestamp> {
        self.held_up_until().into_iter().chain(self.silent_until()).min()
    }

    fn held_up_until(&self) -> Option<Timestamp> {
        let held_up = self.warm.pods.values().filter(|pod| pod.failing.is_none());
        held_up.filter_map(|pod| Some(pod.held_up_since? + INIT_PATIENCE)).min()
    }

    /// Gives up the pods whose pulls have been held up, or whose kubelets have been silent, for too long.
    pub(crate) fn give_up_warm_pods(&mut self, now: Timestamp) {
        self.judge_silent_warm_pods(now);
        if self.held_up_until().is_none_or(|at| at > now) {
            return;
        }
        let late = |pod: &&WarmPod| {
            pod.failing.is_none() && pod.held_up_since.is_some_and(|since| since + INIT_PATIENCE <= now)
        };
        let late = self.warm.pods.values().filter(late).map(|pod| {
            // An Event tells that the kubelet has gone on behind it.
            let init = endless_init(&pod.fact.pod).filter(|_| self.pulling_since(&pod.fact.pod).is_none());
            (pod.fact.pod.uid.clone(), init)
        });
        for (uid, init) in late.collect::<Vec<_>>() {
            let Some(pod) = self.warm.pods.get_mut(&uid) else { continue };
            pod.held_up_since = pod.held_up_since.filter(|_| init.is_some());
            let Some(init) = init else { continue };
            let secs = INIT_PATIENCE.as_secs();
            let (init, does_not) = init;
            let said = format!(
                "{init}, which admission added, has run for {secs}s and {does_not}: no image is pulled before that"
            );
            let cause = Cause { kind: CauseKind::InitFailure, container: Some(init), message: Some(said.into()) };
            pod.failing = Some((now, cause));
            let node = pod.fact.pod.node.clone();
            self.touch_named(node.as_ref());
        }
    }

    /// How far a pod has brought its images.
    pub(crate) fn warm_state(&self, warm: &WarmPod) -> WarmState {
        let pod = &warm.fact.pod;
        if has_images(pod) {
            return WarmState::Present;
        }
        if pod.deletion_at.is_some() {
            return WarmState::Terminating { is_over: warm.is_over() };
        }
        match warm.cause() {
            Some(cause) => WarmState::Failed(cause.clone()),
            None => WarmState::Pulling { since: self.pulling_since(pod) },
        }
    }

    /// Whether the pod may be using the link of its node. A StatefulSet keeps a pod whose image the registry refuses for ever, and makes no other: the rollout
    /// does not wait for it.
    pub(crate) fn warm_takes_a_slot(&self, warm: &WarmPod) -> bool {
        match self.warm_state(warm) {
            WarmState::Failed(cause) if cause.kind.is_the_registrys_verdict() => warm.fact.set.is_none(),
            state => state.takes_a_slot(),
        }
    }

    /// Whether the pod pulls or will pull again, so that an update of its node adds no pull. A pod that its kubelet ended, such as an evicted one, will
    /// not; what it had begun to pull may come for a while still, and takes a slot until the pod is gone.
    pub(crate) fn still_pulls(&self, warm: &WarmPod) -> bool {
        warm.fact.pod.phase != PodPhase::Failed && self.warm_takes_a_slot(warm)
    }

    /// Whether a pod that was made for pre-warming has brought these images to a node and is still there, so that they are not
    /// collected as garbage.
    pub(crate) fn is_warm(&self, node: &str, images: &str) -> bool {
        self.warm.on(node).any(|warm| {
            *warm.fact.images == *images && warm.fact.pod.deletion_at.is_none() && has_images(&warm.fact.pod)
        })
    }

    /// The DaemonSet with this uid and name is the present one.
    pub(super) fn warm_pods_are_of(&mut self, uid: &Str, name: &str) {
        self.warm.owner = Some(WarmOwner { uid: uid.clone(), name: name.into(), names_begin: names_begin(name) });
    }

    pub(super) fn warm_pod_is(&mut self, fact: WarmPodFact, now: Timestamp) {
        let server_now = self.server_time(now);
        let node = fact.pod.node.clone();
        if self.warm.take_in(fact, (now, server_now)) {
            self.touch_named(node.as_ref());
        }
    }

    pub(super) fn warm_pod_gone(&mut self, uid: &Str, version: Option<u64>, now: Timestamp) {
        if self.warm.ends(uid, version) {
            self.forget_warm_pod(uid, now);
        }
    }

    fn forget_warm_pod(&mut self, uid: &Str, now: Timestamp) {
        let gone = self.warm.forget(uid);
        if let Some(WarmPod { fact, .. }) = gone.as_ref().filter(|pod| has_images(&pod.fact.pod))
            && let Some(node) = &fact.pod.node
        {
            self.warm.brought.note(node, &fact.images, now);
        }
        let node = gone.and_then(|pod| pod.fact.pod.node);
        let pulls = self.pulls.forget_pod(uid);
        self.start_notes.forget_pod(uid);
        self.pulls.note_absent(node.as_ref(), &pulls);
        self.touch_named(node.as_ref());
    }

    /// Has the node with this name assessed again.
    pub(crate) fn touch_named(&mut self, node: Option<&Str>) {
        let ix = node.and_then(|name| self.node(name));
        self.touch(ix);
    }

    pub(super) fn begin_warm_listing(&mut self) {
        self.warm.pods.values_mut().for_each(|pod| pod.listed = false);
    }

    /// Forgets the pods that a complete list did not name.
    pub(super) fn end_warm_listing(&mut self, now: Timestamp) {
        let missing = self.warm.pods.iter().filter(|(_, pod)| !pod.listed).map(|(uid, _)| uid.clone());
        let missing: Vec<Str> = missing.collect();
        missing.iter().for_each(|uid| self.forget_warm_pod(uid, now));
    }
}

/// Whether all images of a pod are on its node, and stay there because of it. What admission added does not matter.
fn has_images(pod: &PodFact) -> bool {
    // Its kubelet ended it, for want of disk or before a shutdown: its containers are cleared away, and with them what keeps the
    // images. A pod whose containers ended by themselves has no such reason.
    let ended_by_its_kubelet = pod.phase == PodPhase::Failed && pod.reason.is_some();
    let mut ours = pod.containers.iter().filter(|container| brings_an_image(&container.name)).peekable();
    !ended_by_its_kubelet && ours.peek().is_some() && ours.all(has_image)
}

fn has_image(container: &ContainerFact) -> bool {
    let later = match &container.state {
        ContainerState::Waiting { reason, message } => waits_with_its_image(reason, message.as_deref()),
        ContainerState::Terminated { reason, .. } => has_begun(reason),
        ContainerState::Running { .. } => true,
    };
    container.image_present || later
}

/// What its kubelet says of a container that cannot run although its image is there; `None`: they all can, as far as is known.
pub(crate) fn cannot_run(pod: &PodFact) -> Option<Str> {
    let said = |container: &ContainerFact| {
        let (reason, message) = match &container.state {
            ContainerState::Waiting { reason, message } if waits_with_its_image(reason, message.as_deref()) => {
                (reason, message)
            }
            ContainerState::Terminated { reason, message, .. } if has_begun(reason) => (reason, message),
            _ => return None,
        };
        Some(match message {
            Some(message) if !message.is_empty() => format!("{reason}: {message}").into(),
            _ => reason.clone(),
        })
    };
    pod.containers.iter().filter(|container| brings_an_image(&container.name)).find_map(said)
}

/// The init container or sidecar that admission added and that runs, while the pod's own images are missing, and what it does not: kubelets pull for no
/// container before an init container has ended, or a sidecar has started.
fn endless_init(pod: &PodFact) -> Option<(Str, &'static str)> {
    let runs = |container: &&ContainerFact| {
        !brings_an_image(&container.name) && matches!(container.state, ContainerState::Running { .. })
    };
    let mut running = pod.containers.iter().filter(runs);
    let init = running.find_map(|container| match container.role {
        ContainerRole::Init => Some((container.name.clone(), "does not end")),
        ContainerRole::Sidecar => {
            holds_up_others(container, &pod.containers).then(|| (container.name.clone(), "does not start"))
        }
        ContainerRole::Main => None,
    })?;
    (!has_images(pod)).then_some(init)
}

/// Why the images of a pod do not arrive.
fn failure_of(pod: &PodFact, server_now: Timestamp) -> Option<Cause> {
    if has_images(pod) {
        return None;
    }
    let ours = |container: &ContainerFact| brings_an_image(&container.name);
    if pod.containers.iter().all(ours) {
        return failure_of_images(pod, server_now);
    }
    // Kubelets pull for a container only once the init containers before it have ended well, and the sidecars before it have started.
    let before = pod.containers.iter().filter(|container| match container.role {
        ContainerRole::Init => !ours(container),
        ContainerRole::Sidecar => holds_up_others(container, &pod.containers),
        ContainerRole::Main => false,
    });
    if let Some(cause) = before.filter_map(|container| diagnose_container(container, &pod.containers)).next() {
        let (name, said) = (cause.container.clone().unwrap_or_default(), cause.message.unwrap_or_default());
        let message = format!("{name}, which admission added, does not let the images be pulled: {said}");
        return Some(Cause { kind: CauseKind::InitFailure, message: Some(message.into()), ..cause });
    }
    let containers = pod.containers.iter().filter(|container| ours(container)).cloned().collect();
    failure_of_images(&PodFact { containers, ..pod.clone() }, server_now)
}

/// The same of a pod in which every container brings an image.
fn failure_of_images(pod: &PodFact, server_now: Timestamp) -> Option<Cause> {
    let cause = diagnose(pod, server_now)?;
    keeps_images_away(pod, cause.kind).then_some(cause)
}

/// Whether the trouble of a pod keeps its images from arriving.
fn keeps_images_away(pod: &PodFact, kind: CauseKind) -> bool {
    // A pod that its kubelet ended never pulls, whatever the reason for its end.
    let is_ended = pod.phase == PodPhase::Failed && pod.deletion_at.is_none();
    is_ended || kind.is_about_the_image()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::rules::recognise::{TextSource, TextWords, all_words};

    #[test]
    fn a_pod_that_its_kubelet_ended_brings_no_image_whatever_the_cause() {
        let ended = PodFact { phase: PodPhase::Failed, reason: Some("Evicted".into()), ..PodFact::default() };
        let waits = PodFact { phase: PodPhase::Pending, ..PodFact::default() };
        for kind in CauseKind::ALL {
            assert!(keeps_images_away(&ended, kind), "{kind:?}");
            assert_eq!(keeps_images_away(&waits, kind), kind.is_about_the_image(), "{kind:?}");
        }
    }

    /// What the table of causes tells of a container decides whether its image is there.
    #[test]
    fn a_container_has_its_image_whatever_kept_it_from_running_after_the_pull() {
        for TextWords { source, cause, reason, message } in all_words() {
            let said = Some(message.into());
            let state = match source {
                TextSource::Waiting => ContainerState::Waiting { reason: reason.into(), message: said },
                TextSource::EndReason => {
                    ContainerState::Terminated { reason: reason.into(), exit_code: 1, message: said }
                }
                _ => continue,
            };
            let container = ContainerFact { name: "warm-0".into(), ..ContainerFact::in_state(state) };
            assert_eq!(has_image(&container), !cause.is_about_the_image(), "{reason}: {message}");
        }
        for (reason, is_there) in [("Completed", true), ("Error", true), ("ContainerStatusUnknown", false)] {
            let ended = ContainerState::Terminated { reason: reason.into(), exit_code: 1, message: None };
            assert_eq!(has_image(&ContainerFact::in_state(ended)), is_there, "{reason}");
        }
        for (reason, is_there) in [("ContainerCreating", false), ("PodInitializing", false)] {
            let waits = ContainerState::Waiting { reason: reason.into(), message: None };
            assert_eq!(has_image(&ContainerFact::in_state(waits)), is_there, "{reason}");
        }
    }
}
