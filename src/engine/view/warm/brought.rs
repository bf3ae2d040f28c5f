//! Images that came to a node for a pod that is gone, before its kubelet lists them: those of a pod for pre-warming that was seen, and those of which the
//! kubelet says in an Event that they came, for a process that began after that. Whether they are still there is not known: a kubelet may collect what no pod uses.
//!
//! A kubelet lists an image some tens of seconds after it came (`status.images`; docs/kubernetes.md, *Image pulls*). Until then the
//! list lacks what a pod that is gone has just brought. Such a list does not show that the image would be pulled again.

use std::collections::HashMap;
use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::facts::ClusterEvent;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::pulls::image_in;
use crate::engine::view::View;

/// A status that a kubelet writes so long after an image came has the image in its list, if the image is still there.
const LISTED_AFTER: Duration = Duration::from_secs(60);
/// How many sets of images are kept for one node.
const SETS: usize = 4;
/// For how many nodes images are kept of which Events tell, and how many for each.
const NODES: usize = 20_000;
const IMAGES: usize = 8;

/// The sets of images that pods which are gone have brought, by node; each set by its key, with the time by our clock until which no list tells of it.
#[derive(Debug, Default)]
pub(super) struct BroughtImages {
    by_node: HashMap<Str, Vec<(Str, Timestamp)>>,
    /// The images of which an Event of a moment ago says that they came, by node, each with the same time.
    told: HashMap<Str, Vec<(Str, Timestamp)>>,
}

impl BroughtImages {
    /// A pod that had brought this set of images is gone.
    pub(super) fn note(&mut self, node: &Str, images: &Str, now: Timestamp) {
        let sets = self.by_node.entry(node.clone()).or_default();
        sets.retain(|(known, _)| known != images);
        if sets.len() >= SETS {
            sets.remove(0);
        }
        sets.push((images.clone(), now + LISTED_AFTER));
    }

    fn note_told(&mut self, node: &Str, image: &str, until: Timestamp) {
        if self.told.len() >= NODES && !self.told.contains_key(node) {
            return;
        }
        let images = self.told.entry(node.clone()).or_default();
        images.retain(|(known, _)| **known != *image);
        if images.len() >= IMAGES {
            images.remove(0);
        }
        images.push((image.into(), until));
    }

    fn has(&self, node: &str, images: &str) -> bool {
        self.by_node.get(node).is_some_and(|sets| sets.iter().any(|(known, _)| **known == *images))
    }
}

impl View {
    /// Whether a pod that was made for pre-warming, and is gone since a moment ago, had these images on a node: a list of the node's images that lacks
    /// them does not show that they are not there.
    pub(crate) fn may_still_have(&self, node: &str, images: &str) -> bool {
        self.warm.brought.has(node, images)
    }

    /// Takes in an Event by which a kubelet tells that an image came, or was there, if that was a moment ago.
    pub(in crate::engine::view) fn note_told_image(&mut self, event: &ClusterEvent, now: Timestamp) {
        let ago = self.server_time(now).since(event.at);
        if let ("Pulled", Some(node), Some(image)) = (&*event.reason, &event.node, image_in(&event.message))
            && let Some(left) = LISTED_AFTER.checked_sub(ago)
        {
            self.warm.brought.note_told(node, image, now + left);
        }
    }

    /// Whether an Event of a moment ago says that this image came to a node, or was there: a list of the node's images that lacks it does not show that it
    /// is not there.
    pub(crate) fn has_just_come(&self, node: &str, image: &str) -> bool {
        self.warm.brought.told.get(node).is_some_and(|images| images.iter().any(|(known, _)| **known == *image))
    }

    /// The node has written its status: what it lists is what it has, of all that came long enough ago.
    pub(in crate::engine::view) fn has_listed_images(&mut self, node: &str, now: Timestamp) {
        let BroughtImages { by_node, told } = &mut self.warm.brought;
        for known in [by_node, told] {
            if let Some(images) = known.get_mut(node) {
                images.retain(|(_, until)| now < *until);
                if images.is_empty() {
                    known.remove(node);
                }
            }
        }
    }

    /// The node is gone, and with it its images.
    pub(in crate::engine::view) fn forget_brought_images(&mut self, node: &str) {
        self.warm.brought.by_node.remove(node);
        self.warm.brought.told.remove(node);
    }
}
