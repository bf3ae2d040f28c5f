//! Whether the target's images are on a node, and whether its pod is pulling them.

use super::Assessor;
use crate::engine::model::Str;
use crate::engine::model::node::{Blame, ImageState};
use crate::engine::rules::warm_pod::images_key;
use crate::engine::view::{NodeEntry, PodEntry};

impl Assessor<'_> {
    pub(super) fn image(
        &mut self,
        entry: &NodeEntry,
        live: Option<&PodEntry>,
        at_target: bool,
        replaced: bool,
    ) -> ImageState {
        if self.question.target.is_none() {
            return ImageState::Unknown;
        }
        if let Some(pod) = live.filter(|_| at_target) {
            if images_present(pod) {
                return ImageState::Present;
            }
            let note = self.view.pull(&pod.fact.uid);
            if pod.trouble.as_ref().is_some_and(|trouble| trouble.cause.kind.is_about_the_image()) || note.failed {
                return ImageState::Failed;
            }
            if let Some(since) = note.pulling_since {
                return ImageState::Pulling { since };
            }
        }
        // Under policy Always a tag is pulled again: the image on the node may be the one that the tag named earlier.
        if self.pulls_again() {
            return ImageState::Unknown;
        }
        let known = entry.images_confirmed
            || self.view.is_warm(&entry.name, &self.target_images())
            || (!replaced && live.is_some_and(|pod| images_present(pod) && self.has_target_images(pod)));
        if known { ImageState::Present } else { ImageState::Unknown }
    }

    /// Tells the target's images from others.
    pub(super) fn target_images(&mut self) -> Str {
        let (view, target) = (self.view, self.question.target);
        let template = || target.and_then(|hash| view.revision(hash)).map(|revision| revision.template.images());
        self.target_images.get_or_insert_with(|| template().map_or_else(Str::default, |it| images_key(&it))).clone()
    }

    /// Whether the target's images are pulled again wherever they are.
    fn pulls_again(&mut self) -> bool {
        let (view, target) = (self.view, self.question.target);
        let pulls_again = || target.and_then(|hash| view.revision(hash)).is_some_and(|it| it.template.pulls_again());
        *self.pulls_again.get_or_insert_with(pulls_again)
    }

    /// Whether the pod's own revision needs all the images that the target needs.
    fn has_target_images(&mut self, pod: &PodEntry) -> bool {
        let (Some(hash), Some(target)) = (&pod.fact.revision, self.question.target) else { return false };
        if let Some(known) = self.same_images.get(hash) {
            return *known;
        }
        let images = |hash: &str| self.view.revision(hash).map(|revision| revision.template.images());
        let same = match (images(hash), images(target)) {
            (Some(have), Some(need)) => need.iter().all(|image| have.contains(image)),
            _ => false,
        };
        self.same_images.insert(hash.clone(), same);
        same
    }

    pub(super) fn pulls(
        &self,
        in_fleet: bool,
        blame: Option<Blame>,
        at_target: bool,
        replaced: bool,
        image: ImageState,
        live: Option<&PodEntry>,
    ) -> bool {
        // A node that is down by itself occupies no pull slot. A node that is no longer eligible and still pulls does.
        let cannot = matches!(blame, Some(Blame::Node | Blame::PreExisting));
        // An image that the registry refuses is not transferred. On a node that is not eligible nobody replaces the pod, so it
        // would occupy a pull slot for ever.
        let refused = |pod: &PodEntry| pod.trouble.as_ref().is_some_and(|it| it.cause.kind.is_the_registrys_verdict());
        let cannot = cannot || (!in_fleet && live.is_some_and(refused));
        // A pod at another revision that lacks its images keeps trying to pull them, too.
        let lacks_images = live.is_some_and(|pod| !images_present(pod));
        let under_way = if replaced {
            in_fleet && image != ImageState::Present
        } else {
            lacks_images && (!at_target || image != ImageState::Present)
        };
        !cannot && under_way
    }
}

/// Whether every container's image is known to be on the node; false while the kubelet has not reported.
pub(super) fn images_present(pod: &PodEntry) -> bool {
    !pod.fact.containers.is_empty() && pod.fact.containers.iter().all(|container| container.image_present)
}
