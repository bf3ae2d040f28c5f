//! Image pulls: what is known of each image that a node needs, how long its peers took, and what went wrong.

#[cfg(test)]
pub(crate) mod fixtures;

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::Str;
use super::template::ImageUse;
use super::time::Timestamp;

/// One image that the target needs on one node, by the container or volume that needs it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImagePull {
    /// The container's name; for a volume, `volume/` and the volume's name.
    pub container: Str,
    /// The kind of user that needs it.
    pub usage: ImageUse,
    /// Its image, as the template has it.
    pub image: Str,
    /// The state of the image on the node.
    pub state: PullState,
}

/// The state of an image on a node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum PullState {
    /// Nothing is known.
    #[default]
    Unknown,
    /// The image could not be pulled for a pod that is gone, and nothing has brought it since.
    Absent,
    /// The image is pulled after those of other containers of the same pod.
    Queued,
    /// It is being pulled.
    Pulling {
        /// Since when, by our clock.
        since: Timestamp,
    },
    /// It is there.
    Present {
        /// The evidence that it is there.
        by: Evidence,
        /// The pull that brought it, if its kubelet reported one.
        pull: Option<FinishedPull>,
    },
    /// It could not be pulled.
    Failed {
        /// Why.
        why: PullFailure,
        /// The kubelet's words.
        message: Option<Str>,
    },
}

/// Evidence that an image is on a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Evidence {
    /// A container's status has its `imageID`.
    ImageId,
    /// Its kubelet said that it was pulled.
    PulledEvent,
    /// Its kubelet said that it was there already.
    AlreadyPresent,
    /// The node lists it in `status.images`.
    NodeStatus,
    /// A pod that was made for pre-warming has it.
    WarmPod,
}

/// A pull that ended well, as its kubelet told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FinishedPull {
    /// How long the pull took, including the time for which it waited for other pulls of its node.
    pub took: Duration,
    /// How long the pull itself took; equal to `took` if the kubelet does not tell the two apart (before 1.27).
    pub transfer: Duration,
    /// The size of the image; kubelets tell it since 1.30.
    pub bytes: Option<u64>,
}

/// Why an image could not be pulled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PullFailure {
    /// The registry has no such image.
    NotFound,
    /// The registry refuses the credentials, or hides the image.
    Unauthorized,
    /// The registry, or the kubelet itself, limits the rate.
    RateLimited,
    /// It has no variant for the node's platform.
    Platform,
    /// The registry could not be reached.
    Network,
    /// The node's disk is full.
    Disk,
    /// Its name cannot be parsed.
    InvalidName,
    /// The policy forbids pulling, and it is not there.
    NeverPulled,
    /// Another reason.
    Other,
}

/// How long an image took on nodes that have finished pulling it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UsualPull {
    /// The median: half of the nodes took at most this long.
    pub median: Duration,
    /// A quarter of the nodes took at most the first duration, and three quarters at most the second.
    pub quartiles: (Duration, Duration),
    /// How many nodes are compared.
    pub peers: u32,
    /// Which nodes are compared.
    pub scope: PeerScope,
}

/// Which nodes are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PeerScope {
    /// The nodes of the same site.
    Site,
    /// All nodes.
    Fleet,
}

/// All pulls of the target's images.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PullSummary {
    /// How many nodes of the fleet are in each state.
    pub counts: PullCounts,
    /// One entry for each image of the target, in the order of its containers.
    pub images: Arc<[ImageSummary]>,
    /// Finished pulls that took much longer than those of their peers, the slowest first; at most ten.
    pub slow: Arc<[SlowPull]>,
}

/// How many nodes have the target's images.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PullCounts {
    /// All images are there.
    pub present: u32,
    /// An image is being pulled.
    pub pulling: u32,
    /// An image could not be pulled.
    pub failed: u32,
    /// An image is known not to be there.
    pub absent: u32,
    /// Nothing is known.
    pub unknown: u32,
}

/// The finished pulls of one image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImageSummary {
    /// The image, as the template has it.
    pub image: Str,
    /// Its size, if a kubelet or a node told it.
    pub bytes: Option<u64>,
    /// How long a pull usually takes, over all nodes.
    pub fleet: Option<UsualPull>,
    /// How long a pull usually takes at each site where enough nodes have pulled the image; in order of the sites' names.
    pub sites: Vec<(Str, UsualPull)>,
}

/// A pull that took much longer than those of its peers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlowPull {
    /// The node.
    pub node: Str,
    /// The image.
    pub image: Str,
    /// How long it took.
    pub took: Duration,
    /// How many times as long as the median of its peers.
    pub times: u32,
    /// Which nodes these peers are.
    pub scope: PeerScope,
}

/// The finished pulls of images that are pre-warmed and that the target does not need: named by hand, or of another revision.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PrewarmPulls {
    /// One entry for each of these images.
    pub images: Arc<[ImageSummary]>,
    /// Pulls that took much longer than those of their peers, the slowest first; at most ten.
    pub slow: Arc<[SlowPull]>,
    /// All finished pulls, by the name of the node; of several pulls of one image on a node, the last.
    pub finished: Arc<[NodePull]>,
}

/// A pull that ended well, on its node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodePull {
    /// The node.
    pub node: Str,
    /// The image.
    pub image: Str,
    /// How it went.
    pub pull: FinishedPull,
}

impl PrewarmPulls {
    /// The finished pulls on a node.
    pub fn on<'a>(&'a self, node: &'a str) -> impl Iterator<Item = &'a NodePull> + use<'a> {
        let begins = self.finished.partition_point(|pull| *pull.node < *node);
        self.finished[begins..].iter().take_while(move |pull| *pull.node == *node)
    }
}

impl PullSummary {
    /// How long a pull of `image` usually takes on nodes of `site`: measured on nodes of the site if enough have pulled it, else on all.
    pub fn usual(&self, image: &str, site: &str) -> Option<UsualPull> {
        self.images.iter().find(|known| &*known.image == image)?.usual(site)
    }

    /// The slow pull of `image` on `node`, if it is one of those that are named.
    pub fn slow_on(&self, node: &str, image: &str) -> Option<&SlowPull> {
        self.slow.iter().find(|slow| &*slow.node == node && &*slow.image == image)
    }
}

impl ImageSummary {
    /// How long a pull usually takes on nodes of `site`: measured on nodes of the site if enough have pulled the image, else on all.
    pub fn usual(&self, site: &str) -> Option<UsualPull> {
        let of_site = self.sites.binary_search_by(|(known, _)| (**known).cmp(site));
        of_site.ok().map(|at| self.sites[at].1).or(self.fleet)
    }
}
