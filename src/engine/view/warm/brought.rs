//! Images that a pod for pre-warming brought to a node, after the pod is gone and before its kubelet lists them.
//! Whether they are still there is not known: a kubelet may collect what no pod uses.
//!
//! A kubelet lists an image some tens of seconds after it came (`status.images`; docs/kubernetes.md, *Image pulls*). Until then the
//! list lacks what a pod that is gone has just brought. Such a list does not show that the image would be pulled again.

use std::collections::HashMap;
use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::time::Timestamp;
use crate::engine::view::View;

/// A status that a kubelet writes so long after an image came has the image in its list, if the image is still there.
const LISTED_AFTER: Duration = Duration::from_secs(60);
/// How many sets of images are kept for one node.
const SETS: usize = 4;

/// The sets of images that pods which are gone have brought, by node; each set by its key, with the time by our clock until which no list tells of it.
#[derive(Debug, Default)]
pub(super) struct BroughtImages {
    by_node: HashMap<Str, Vec<(Str, Timestamp)>>,
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

    /// The node has written its status: what it lists is what it has, of all that came long enough ago.
    pub(in crate::engine::view) fn has_listed_images(&mut self, node: &str, now: Timestamp) {
        if let Some(sets) = self.warm.brought.by_node.get_mut(node) {
            sets.retain(|(_, until)| now < *until);
            if sets.is_empty() {
                self.warm.brought.by_node.remove(node);
            }
        }
    }

    /// The node is gone, and with it its images.
    pub(in crate::engine::view) fn forget_brought_images(&mut self, node: &str) {
        self.warm.brought.by_node.remove(node);
    }
}
