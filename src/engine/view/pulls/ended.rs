//! Pulls that ended well.

use std::collections::VecDeque;
use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::pull::FinishedPull;
use crate::engine::model::time::Timestamp;

/// A pull that ended well, as its kubelet told.
#[derive(Clone, Debug)]
pub(crate) struct PullEnd {
    pub(crate) node: Str,
    /// By the node's clock.
    pub(crate) ended: Timestamp,
    /// The duration, without the time that the pull waited for other pulls of its node.
    pub(crate) took: Duration,
    /// The size of its image.
    pub(crate) bytes: Option<u64>,
}

/// A pull that ended well, with the pod for which it was made.
#[derive(Clone, Debug)]
pub(crate) struct PullOfPod {
    pub(crate) node: Str,
    pub(crate) pull: FinishedPull,
    /// By the node's clock.
    pub(crate) ended: Timestamp,
    /// The pod's uid. The pod may be one for pre-warming.
    pub(crate) pod: Str,
}

/// Pulls of one image that ended well, oldest first.
#[derive(Debug, Default)]
pub(super) struct FinishedPulls {
    pub(super) pulls: VecDeque<PullOfPod>,
    /// Counts every finished pull, over all images.
    pub(super) last: u64,
}
