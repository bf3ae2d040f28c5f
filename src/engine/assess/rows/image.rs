//! The knowledge about the target's images on a node: in all, image by image, and whether the node's pod is pulling them.

use std::sync::Arc;
use std::time::Duration;

use super::Assessor;
use super::blame::not_ready_since;
use crate::engine::model::facts::{ContainerFact, ContainerState, NodeFact};
use crate::engine::model::image::normalized;
use crate::engine::model::node::{Blame, ImageState};
use crate::engine::model::pull::{Evidence, FinishedPull, ImagePull, PullFailure, PullState};
use crate::engine::model::template::{NeededImage, Template};
use crate::engine::rules::clocks::by_server;
use crate::engine::rules::pulls::{failure_of, has_image_of, images_present, waits_for_image};
use crate::engine::view::{LastPullEvent, NodeEntry, PodEntry, WarmPod};

/// For how long a node that is not Ready is taken to go on pulling.
const PULLS_WHILE_DOWN: Duration = Duration::from_secs(10 * 60);

/// For each image of the target, by its place in [`Template::needed_images`]: the place of the same image in another revision; `None`: the
/// other revision does not need it.
pub(super) type SharedImages = Arc<[Option<usize>]>;

impl<'a> Assessor<'a> {
    /// The state of all images together: for a pod at the target its own images, otherwise the images that the node has anyway.
    pub(super) fn image(
        &mut self,
        entry: &NodeEntry,
        live: Option<&PodEntry>,
        at_target: bool,
        replaced: bool,
    ) -> ImageState {
        if self.question.inputs.target.is_none() {
            return ImageState::Unknown;
        }
        if let Some(pod) = live.filter(|_| at_target) {
            if images_present(&pod.fact) {
                return ImageState::Present;
            }
            let in_trouble = pod.trouble.as_ref().is_some_and(|trouble| trouble.cause.kind.is_about_the_image());
            if in_trouble || self.view.pull_failed(&pod.fact) {
                return ImageState::Failed;
            }
            if let Some(since) = self.view.pulling_since(&pod.fact) {
                return ImageState::Pulling { since };
            }
        }
        // Under policy Always a tag is pulled again: the image on the node may be the one that the tag named earlier.
        if self.template.is_some_and(|template| self.view.pulls_any_again(template)) {
            return ImageState::Unknown;
        }
        let known = entry.images_confirmed
            || self.view.is_warm(&entry.name, &self.target_images)
            || (!replaced && live.is_some_and(|pod| images_present(&pod.fact) && self.has_target_images(pod)));
        match known {
            true => ImageState::Present,
            false if self.needed().iter().any(|needed| self.lacks(entry, needed)) => ImageState::Absent,
            false => ImageState::Unknown,
        }
    }

    /// The state of each image, in the order of [`Template::needed_images`].
    pub(super) fn pulls_of(
        &mut self,
        entry: &NodeEntry,
        live: Option<&PodEntry>,
        at_target: bool,
        replaced: bool,
    ) -> Arc<[ImagePull]> {
        let clock = entry.fact.as_ref().and_then(|fact| fact.clock_skew_millis);
        let shared = match live {
            Some(pod) if !at_target && !replaced => self.shared_images(pod),
            _ => None,
        };
        let mut pulls = std::mem::take(&mut self.pulls);
        pulls.clear();
        // The kubelet pulls the images of a pod one after the other.
        let mut earlier_is_missing = false;
        for (nth, needed) in self.needed().iter().enumerate() {
            let state = match (live, at_target) {
                (Some(pod), true) => self.of_target_pod(entry, pod, needed, earlier_is_missing, clock),
                _ => {
                    let same = shared.as_ref().and_then(|shared| *shared.get(nth)?);
                    self.beforehand(entry, needed, live.zip(same))
                }
            };
            earlier_is_missing |= at_target && !matches!(state, PullState::Present { .. });
            let NeededImage { user, usage, image, .. } = needed;
            pulls.push(ImagePull { container: user.clone(), usage: *usage, image: image.clone(), state });
        }
        // Most nodes have equal contents, and share them.
        if *self.last_pulls != *pulls {
            self.last_pulls = pulls.as_slice().into();
        }
        self.pulls = pulls;
        self.last_pulls.clone()
    }

    fn needed(&self) -> &'a [NeededImage] {
        self.template.map(Template::needed_images).unwrap_or_default()
    }

    /// Whether a pod at the target would pull this image on a node.
    fn lacks(&self, entry: &NodeEntry, needed: &NeededImage) -> bool {
        !self.view.may_still_have(&entry.name, &self.target_images) && self.view.lacks_image(entry, &needed.image)
    }

    /// The state of an image of a pod at the target.
    fn of_target_pod(
        &self,
        entry: &NodeEntry,
        pod: &PodEntry,
        needed: &NeededImage,
        earlier_is_missing: bool,
        clock: Option<i64>,
    ) -> PullState {
        let status = pod.fact.containers.iter().find(|status| status.name == needed.user);
        let last_event = self.view.last_pull_event(&pod.fact, needed);
        if has_image_of(&pod.fact, &needed.user) {
            let pull = if let Some(LastPullEvent::Came(pull)) = last_event { pull } else { None };
            return PullState::Present { by: Evidence::ImageId, pull };
        }
        // The status still names the last failure while the pull is tried again; the event shows that it is.
        let tries_again = matches!(last_event, Some(LastPullEvent::Pulling(_)));
        if let Some(failed) = status.filter(|_| !tries_again).and_then(|status| failed(status, last_event)) {
            return failed;
        }
        match last_event {
            Some(LastPullEvent::Came(pull)) => PullState::Present { by: Evidence::PulledEvent, pull },
            Some(LastPullEvent::WasThere) => PullState::Present { by: Evidence::AlreadyPresent, pull: None },
            Some(LastPullEvent::Failed(why, message)) => PullState::Failed { why, message: Some(message.clone()) },
            Some(LastPullEvent::Pulling(since)) => PullState::Pulling { since: self.our_time(by_server(since, clock)) },
            None if earlier_is_missing => match self.beforehand(entry, needed, None) {
                PullState::Unknown => PullState::Queued,
                known => known,
            },
            None => self.tries_again(pod, status).unwrap_or_else(|| self.beforehand(entry, needed, None)),
        }
    }

    /// The failure that a container keeps while its kubelet, restarted since, pulls again and does not name it. The failure stands until
    /// the image is there.
    fn tries_again(&self, pod: &PodEntry, status: Option<&ContainerFact>) -> Option<PullState> {
        let waits = status.is_some_and(|status| matches!(status.state, ContainerState::Waiting { .. }));
        let cause = &pod.trouble.as_ref().filter(|trouble| waits && trouble.cause.kind.is_about_the_image())?.cause;
        let why = cause.message.as_deref().map_or(PullFailure::Other, failure_of);
        Some(PullState::Failed { why, message: cause.message.clone() })
    }

    /// The state of an image that no pod at the target has asked for. `same`: the node's pod, and the place of this image in the pod's own
    /// revision.
    fn beforehand(&self, entry: &NodeEntry, needed: &NeededImage, same: Option<(&PodEntry, usize)>) -> PullState {
        let present = |by: Evidence, pull: Option<FinishedPull>| PullState::Present { by, pull };
        if self.view.pulls_again(needed) {
            return PullState::Unknown;
        }
        let has_it = |(pod, nth): (&PodEntry, usize)| {
            let template = pod.fact.revision.as_ref().and_then(|hash| self.view.revision(hash)).map(|it| &it.template);
            let its = template.and_then(|template| template.needed_images().get(nth));
            its.is_some_and(|its| has_image_of(&pod.fact, &its.user))
        };
        if same.is_some_and(has_it) {
            return present(Evidence::ImageId, None);
        }
        let images = entry.fact.as_ref().map(|fact| &fact.images[..]).unwrap_or_default();
        let listed = || {
            let long = (!images.is_empty()).then(|| normalized(&needed.image));
            long.is_some_and(|long| images.iter().any(|image| normalized(&image.name) == long))
        };
        if entry.images_confirmed || listed() {
            return present(Evidence::NodeStatus, None);
        }
        let last_event = self.view.last_warm_pull_event(&entry.name, &needed.image);
        if self.view.is_warm(&entry.name, &self.target_images) {
            return present(
                Evidence::WarmPod,
                if let Some(LastPullEvent::Came(pull)) = last_event { pull } else { None },
            );
        }
        let clock = entry.fact.as_ref().and_then(|fact| fact.clock_skew_millis);
        match last_event {
            Some(LastPullEvent::Came(pull)) => present(Evidence::PulledEvent, pull),
            Some(LastPullEvent::WasThere) => present(Evidence::AlreadyPresent, None),
            Some(LastPullEvent::Pulling(since)) => PullState::Pulling { since: self.our_time(by_server(since, clock)) },
            Some(LastPullEvent::Failed(why, message)) => PullState::Failed { why, message: Some(message.clone()) },
            None if self.lacks(entry, needed) => PullState::Absent,
            None => PullState::Unknown,
        }
    }

    pub(super) fn pulls(
        &mut self,
        in_fleet: bool,
        blame: Option<Blame>,
        at_target: bool,
        replaced: bool,
        image: ImageState,
        (live, going): (Option<&PodEntry>, Option<&PodEntry>),
    ) -> bool {
        // A node that is down by itself occupies no pull slot. A node that is not eligible any more but still pulls occupies one.
        let cannot = matches!(blame, Some(Blame::Node | Blame::PreExisting));
        // An image that the registry refuses is not transferred. On a node that is not eligible nobody replaces the pod that asks for the
        // image, so that the pod would occupy a pull slot for ever.
        let refused = |pod: &PodEntry| pod.trouble.as_ref().is_some_and(|it| it.cause.kind.is_the_registrys_verdict());
        let cannot = cannot || (!in_fleet && live.is_some_and(refused));
        // A pod at another revision that lacks its images keeps trying to pull them, too.
        let lacks_images = live.is_some_and(|pod| !images_present(&pod.fact));
        let under_way = if replaced {
            in_fleet && (image != ImageState::Present || self.replacements_need_others)
        } else {
            lacks_images && (!at_target || image != ImageState::Present)
        };
        let leaving = live.filter(|_| replaced).or(going);
        !cannot && (under_way || leaving.is_some_and(|pod| !refused(pod) && self.still_pulls(pod)))
    }

    /// Whether a node that is down may still pull. A link that pulls overload makes nodes NotReady, which go on pulling. A machine that is off pulls nothing, and
    /// nobody deletes what it was to pull: it does not keep its pull slot for ever.
    pub(super) fn may_pull(&mut self, fact: Option<&NodeFact>) -> bool {
        let Some(since) = fact.and_then(not_ready_since) else { return true };
        let down_for = self.server_now.since(since);
        self.wake_after(PULLS_WHILE_DOWN, down_for);
        down_for < PULLS_WHILE_DOWN
    }

    /// Whether a pod for pre-warming may be using the link of its node. A finalizer keeps a pod for ever, also after its kubelet has ended it: then the
    /// containers have ended. Where nothing tells of them, a pod without a grace period is taken to have ended after as long as a node that is down.
    pub(super) fn warm_takes_a_slot(&mut self, warm: &WarmPod) -> bool {
        let pod = &warm.fact.pod;
        let takes = self.view.warm_takes_a_slot(warm);
        let Some(at) = pod.deletion_at.filter(|_| takes && pod.is_held_by_finalizers()) else { return takes };
        let kept_for = self.server_now.since(at);
        self.wake_after(PULLS_WHILE_DOWN, kept_for);
        kept_for < PULLS_WHILE_DOWN
    }

    /// Whether the images of a pod that is going may still be on their way: its kubelet does not break off a pull. Once the time is over in
    /// which the pod was to be gone, something other than a pull keeps it.
    fn still_pulls(&mut self, pod: &PodEntry) -> bool {
        if images_present(&pod.fact) {
            return false;
        }
        let left = pod.fact.deletion_at.map(|at| at.since(self.server_now));
        left.into_iter().for_each(|left| self.wake_after(left, Duration::ZERO));
        left.is_none_or(|left| left > Duration::ZERO)
    }

    /// Whether the pod's own revision needs all the images that the target needs.
    fn has_target_images(&mut self, pod: &PodEntry) -> bool {
        self.shared_images(pod).is_some_and(|shared| shared.iter().all(Option::is_some))
    }

    /// By image of the target: where the pod's own revision needs it, too. `None` if either revision is not known.
    fn shared_images(&mut self, pod: &PodEntry) -> Option<SharedImages> {
        let hash = pod.fact.revision.as_ref()?;
        if let Some(known) = self.shared_images.get(hash) {
            return known.clone();
        }
        let have = self.view.revision(hash).map(|revision| revision.template.needed_images());
        let shared = have.zip(self.template.map(Template::needed_images)).map(|(have, need)| {
            let same = |need: &NeededImage| have.iter().position(|have| have.image == need.image);
            need.iter().map(same).collect()
        });
        self.shared_images.insert(hash.clone(), shared.clone());
        shared
    }
}

/// The failure of an image by its container's status. An event gives the reason if the status does not.
fn failed(status: &ContainerFact, last_event: Option<LastPullEvent<'_>>) -> Option<PullState> {
    let (why, message) = waits_for_image(status)?;
    Some(match last_event {
        Some(LastPullEvent::Failed(known, said)) if why == PullFailure::Other && known != PullFailure::Other => {
            PullState::Failed { why: known, message: Some(said.clone()) }
        }
        _ => PullState::Failed { why, message: Some(message) },
    })
}
