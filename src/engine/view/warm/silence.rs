//! Pods for pre-warming whose kubelets show no sign of a pull.
//!
//! A kubelet announces a pull before it queues it (docs/kubernetes.md, *Image pulls*). So a pod of which no Event tells a pull, and no status more than
//! `ContainerCreating`, is not being pulled for: its sandbox is not set up, or its kubelet has not taken it up. Its pull slot would be
//! taken for ever. It has failed, in the kubelet's words where there are any, and is made anew when its turn comes.
//!
//! Time alone proves nothing where the Event may have been missed: Events may not be read, or the pull began so long ago that its Event has
//! expired. Over a thin uplink an image takes an hour. Such a pod keeps its slot, and is shown with the time since when nothing was seen of it.
//!
//! A node that is not Ready is left out: it is shown as down, and gives its slot up by a rule of its own (`assess/rows/image.rs`).

use std::time::Duration;

use super::{WarmPod, has_images};
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::facts::{ConditionStatus, ContainerState, PodFact};
use crate::engine::model::time::{ShortDuration, Timestamp};
use crate::engine::rules::causes::StartPart;
use crate::engine::rules::diagnose::diagnose_start;
use crate::engine::view::View;

/// For how long a kubelet may show nothing. It gives its runtime two minutes for a sandbox, and its volumes as long, and says when they are over.
const SILENT_FOR: Duration = Duration::from_secs(300);
/// For how long a kubelet may say that the sandbox cannot be set up: it tries again several times a minute, and a network that starts with its node
/// takes a while. A watch of Events that is dead is noticed sooner.
const TOLD_FOR: Duration = Duration::from_secs(120);
/// What happened so long before Events were first seen is still told by one: API servers keep them for an hour unless they are told otherwise.
const EVENTS_KEPT: Duration = Duration::from_secs(30 * 60);
/// How long the Events that were missed may take to arrive once they are seen again.
const EVENTS_ARRIVE: Duration = Duration::from_secs(10);

/// The silence of a kubelet about a pod, once it has lasted too long.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct KubeletSilence {
    /// Since when, by our clock.
    since: Timestamp,
    /// Why nothing is pulled; `None`: something may be pulled, and its Event was missed.
    cause: Option<Cause>,
}

impl WarmPod {
    /// Whether its kubelet never came to a pull, as far as is known.
    pub(crate) fn never_pulled(&self) -> bool {
        self.silence.as_ref().is_some_and(|silence| silence.cause.is_some())
    }

    /// Why its images do not arrive.
    pub(crate) fn cause(&self) -> Option<&Cause> {
        let failing = self.failing.as_ref().map(|(_, cause)| cause);
        failing.or_else(|| self.silence.as_ref()?.cause.as_ref())
    }

    /// Since when nothing was seen of a pull, by our clock, where that is too long and a pull may go on all the same.
    pub(crate) fn silent_since(&self) -> Option<Timestamp> {
        self.silence.as_ref().filter(|silence| silence.cause.is_none()).map(|silence| silence.since)
    }

    /// Whether it is known that nothing is pulled for the pod any more, which is being deleted: its kubelet never came to a pull, or has ended its
    /// containers.
    pub(super) fn is_over(&self) -> bool {
        let ended = |pod: &PodFact| {
            let is_terminated = |state: &ContainerState| matches!(state, ContainerState::Terminated { .. });
            !pod.containers.is_empty() && pod.containers.iter().all(|container| is_terminated(&container.state))
        };
        self.never_pulled() || ended(&self.fact.pod)
    }
}

impl View {
    /// Takes in whether Events are seen.
    pub(in crate::engine::view) fn events_are_seen(&mut self, watched: Watched, health: &WatchHealth, now: Timestamp) {
        if watched == Watched::Events {
            let since = self.events_live_since.unwrap_or(now);
            self.events_live_since = (*health == WatchHealth::Live).then_some(since);
        }
    }

    /// Takes in that an Event about a pod has told something.
    pub(in crate::engine::view) fn warm_pod_is_told_of(&mut self, uid: &str, now: Timestamp) {
        let is_told = self.start_note(uid).is_some();
        if let Some(warm) = self.warm.pods.get_mut(uid) {
            warm.told_since = is_told.then(|| warm.told_since.unwrap_or(now));
        }
    }

    /// When the first kubelet will have been silent about a pod for too long.
    pub(super) fn silent_until(&self) -> Option<Timestamp> {
        let due = |warm: &WarmPod| self.silence_of(warm).filter(|(_, due)| warm.silence.as_ref() != Some(due));
        self.warm.pods.values().filter_map(|warm| due(warm).map(|(at, _)| at)).min()
    }

    /// Notes which kubelets have been silent about a pod for too long.
    pub(super) fn judge_silent_warm_pods(&mut self, now: Timestamp) {
        let judged = self.warm.pods.iter().map(|(uid, warm)| {
            let silence = self.silence_of(warm).filter(|(at, _)| *at <= now).map(|(_, silence)| silence);
            (uid, warm, silence)
        });
        let news = judged.filter(|(_, warm, silence)| warm.silence != *silence);
        for (uid, silence) in news.map(|(uid, _, silence)| (uid.clone(), silence)).collect::<Vec<_>>() {
            let Some(warm) = self.warm.pods.get_mut(&uid) else { continue };
            warm.silence = silence;
            let node = warm.fact.pod.node.clone();
            self.touch_named(node.as_ref());
        }
    }

    /// The silence of a kubelet about a pod, and when it will have lasted too long; `None` where there is a sign of a pull, or where none is to be expected.
    fn silence_of(&self, warm: &WarmPod) -> Option<(Timestamp, KubeletSilence)> {
        let pod = &warm.fact.pod;
        if !pod.bound || warm.failing.is_some() || has_images(pod) {
            return None;
        }
        let node = &self.nodes[self.node(pod.node.as_ref()?)?];
        if node.fact.as_ref().is_none_or(|fact| fact.ready != ConditionStatus::True) {
            return None;
        }
        let told = self.start_note(&pod.uid);
        // What was known of a pod before its deletion stays known: its kubelet begins no pull for it any more.
        if let Some(silence) = warm.silence.as_ref().filter(|it| pod.deletion_at.is_some() && it.cause.is_some()) {
            let has_begun = told.is_none() && self.pulls.begun(&pod.uid).is_some();
            return (!has_begun).then(|| (silence.since, silence.clone()));
        }
        // Without the difference between both clocks the date of the pod says nothing.
        let made_at = self.skew_millis.map_or(warm.seen_since, |_| self.our_time(pod.created_at).min(warm.seen_since));
        let since = made_at.max(node.back_at().unwrap_or(made_at));
        let live_since = self.events_live_since;
        if let Some((told, live_since)) = told.and_then(|told| diagnose_start(pod, told)).zip(live_since) {
            let patience = match told.kind.told_of() {
                Some(StartPart::Sandbox) | None => TOLD_FOR,
                Some(StartPart::Volumes) => SILENT_FOR,
            };
            let told_since = warm.told_since.unwrap_or(warm.seen_since).max(since).max(live_since);
            return Some((told_since + patience, KubeletSilence { since, cause: Some(told) }));
        }
        if self.pulls.begun(&pod.uid).is_some() || !says_nothing(pod) {
            return None;
        }
        // A kubelet without a connection keeps its Events for two minutes only.
        let was_away = node.back_at().is_some_and(|back_at| back_at > made_at);
        let live_since = live_since.filter(|live_since| live_since.since(made_at) <= EVENTS_KEPT && !was_away);
        let due = (since + SILENT_FOR).max(live_since.map_or(since, |live_since| live_since + EVENTS_ARRIVE));
        let cause = live_since.map(|_| {
            let silent = ShortDuration(SILENT_FOR);
            let said = format!("its kubelet has shown no sign of a pull for {silent}: no Event tells of one");
            Cause { kind: CauseKind::ImagePull, container: None, message: Some(said.into()) }
        });
        Some((due, KubeletSilence { since, cause }))
    }
}

/// Whether the statuses of a pod are those of one that its kubelet has not begun, or whose first image it pulls.
fn says_nothing(pod: &PodFact) -> bool {
    let waits = |state: &ContainerState| match state {
        ContainerState::Waiting { reason, .. } => matches!(&**reason, "ContainerCreating" | "PodInitializing" | ""),
        ContainerState::Running { .. } | ContainerState::Terminated { .. } => false,
    };
    pod.containers.iter().all(|it| waits(&it.state) && !it.image_present && it.restarts == 0)
}
