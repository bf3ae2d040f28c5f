//! A pod that is bound to its node and in phase Pending, as the list of all DaemonSets watches it: no container of it has run yet, or
//! not all have.

use super::Str;
use super::facts::ContainerFact;

/// A starting pod of a DaemonSet, or one that was made to pre-warm its images.
#[derive(Clone, PartialEq, Debug)]
pub struct StartingPodFact {
    /// `metadata.uid`.
    pub uid: Str,
    /// The uid of the DaemonSet.
    pub daemonset: Str,
    /// Whether condition `PodReadyToStartContainers` is `True`: its volumes are mounted and its sandbox has a network. `None`: its
    /// kubelet does not report the condition (before 1.29). Before 1.36, it is also `Some(false)` until the first pull is over.
    pub sandbox_ready: Option<bool>,
    /// Its containers' statuses, init containers first; empty before the kubelet has reported.
    pub containers: Vec<ContainerFact>,
}

/// How far a starting pod is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StartingPodState {
    /// An image could not be pulled.
    PullFailed,
    /// An image is being pulled, or waits for its turn in the node's queue.
    Pulling,
    /// Its kubelet does not tell a pull from the steps before it.
    PullingOrPreparing,
    /// It is known to be at another step: its kubelet has not looked at it, an init container runs, a container crashes.
    Preparing,
}
