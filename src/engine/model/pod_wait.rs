//! Waits of nodes that move, and of the rollout before any node can move.
//!
//! They hold instants, not spans, so that a snapshot does not change because time passes. The words are told as of an instant.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::Str;
use super::settings::Secs;
use super::time::{ShortDuration, Timestamp};

/// The wait of a node that moves. All instants are by our own clock, corrected by the measured skew.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PodWait {
    /// The deletion of its pod was sent, and the API server has not answered.
    DeletionAnswer,
    /// The API server confirmed the deletion, but the watch has not shown it.
    DeletionShown {
        /// When it was confirmed.
        since: Timestamp,
    },
    /// The answer to the deletion was lost: the watch shows that it was carried out, or the deletion is sent again.
    DeletionLost {
        /// When the answer was lost.
        since: Timestamp,
    },
    /// Its pod is terminating, and the grace period of its processes is not over.
    Grace {
        /// The length of the grace period.
        secs: u32,
        /// When it is over.
        ends_at: Timestamp,
        /// Finalizers that keep the object after that, if there are any.
        finalizers: Arc<[Str]>,
    },
    /// Its pod has ended, and finalizers keep the object.
    Finalizers(Arc<[Str]>),
    /// The grace period of its pod is over, but its kubelet has not reported the end.
    Kubelet {
        /// When the grace period was over.
        since: Timestamp,
    },
    /// Its pod is being deleted, and nobody ends it while its node is down.
    NodeBack,
    /// It has no pod, as far as is known: its controller creates none while the node has a taint that the pod does not tolerate, or pods may not be read.
    NoPod {
        /// Why, in words.
        why: Str,
    },
    /// It has no pod: its controller has not created one.
    Controller {
        /// When the last pod went, if this process saw it go.
        since: Option<Timestamp>,
    },
    /// Its pod exists, but is not bound to the node.
    Scheduler {
        /// When the pod was created.
        since: Timestamp,
    },
    /// Its pod is bound, but its kubelet has reported nothing of it.
    KubeletReport {
        /// When the pod was created.
        since: Timestamp,
    },
    /// A container does not run, for the reason that its kubelet reports: `ContainerCreating`, `PodInitializing`.
    Container {
        /// The container.
        name: Str,
        /// The kubelet's word.
        reason: Str,
    },
    /// An init container runs.
    Init {
        /// The container.
        name: Str,
        /// Since when, as far as known.
        since: Option<Timestamp>,
    },
    /// A sidecar runs and has not started: its startup probe has not succeeded. The containers after it are started once it has.
    Sidecar {
        /// The container.
        name: Str,
        /// Since when it runs, as far as known.
        since: Option<Timestamp>,
    },
    /// An image is pulled.
    Pull {
        /// Since when, if an event told.
        since: Option<Timestamp>,
    },
    /// The node is outdated, and its pod pulls images that are no longer the target's. Kubelets do not break off a pull.
    PullOfOther {
        /// The images that are not there, without their registries.
        images: Arc<[Str]>,
        /// Since when, if an event told. Without an event, only their absence is known.
        since: Option<Timestamp>,
    },
    /// A container runs and is not ready.
    Ready {
        /// The container.
        name: Str,
        /// Since when it runs, as far as known.
        since: Option<Timestamp>,
    },
    /// Its new pod is up beside the old one, which its controller has not deleted yet.
    OldPod,
    /// Its containers run, but its pod is not reported as ready.
    PodReady,
    /// Its pod is ready, and becomes available at `ends_at` if it stays ready.
    Soak {
        /// How long it has to be ready in all.
        secs: u32,
        /// When that time is over.
        ends_at: Timestamp,
        /// Whether it is known since when the pod is ready. If not, `ends_at` is the latest possible end.
        since_known: bool,
    },
    /// Its pod is ready since an unknown time, and another process drives. Each process counts from when it first saw the pod ready, so
    /// that only the driver knows when the pod becomes available.
    SoakSeenByDriver {
        /// How long it has to be ready in all.
        secs: u32,
    },
    /// Its pod is available. It restarted after it had been ready, or its kubelet evicted the pods before it, and it is watched for that.
    Watched {
        /// When that is over, if the pod stays up.
        until: Timestamp,
    },
}

impl PodWait {
    /// The instant from which, or until which, the words count: a screen compares it with the time to know when the words change.
    pub fn instant(&self) -> Option<Timestamp> {
        match self {
            Self::Grace { ends_at: at, .. } | Self::Soak { ends_at: at, .. } | Self::Watched { until: at } => Some(*at),
            Self::DeletionShown { since }
            | Self::DeletionLost { since }
            | Self::Kubelet { since }
            | Self::Scheduler { since }
            | Self::KubeletReport { since } => Some(*since),
            Self::Controller { since }
            | Self::Init { since, .. }
            | Self::Sidecar { since, .. }
            | Self::Pull { since }
            | Self::PullOfOther { since, .. }
            | Self::Ready { since, .. } => *since,
            Self::DeletionAnswer
            | Self::NodeBack
            | Self::NoPod { .. }
            | Self::Finalizers(_)
            | Self::Container { .. }
            | Self::PodReady
            | Self::SoakSeenByDriver { .. }
            | Self::OldPod => None,
        }
    }

    /// The words as of `at`.
    pub fn as_of(&self, at: Timestamp) -> PodWaitAsOf<'_> {
        PodWaitAsOf { wait: self, at }
    }
}

/// The words of a [`PodWait`] as of an instant.
#[derive(Clone, Copy, Debug)]
pub struct PodWaitAsOf<'a> {
    wait: &'a PodWait,
    at: Timestamp,
}

/// A pod that is missing for less than this may have been missing before we looked.
const KNOWN: Duration = Duration::from_secs(5);

impl fmt::Display for PodWaitAsOf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ago = |since: Timestamp| ShortDuration(self.at.since(since));
        // Of what has begun within the second nothing tells for how long.
        let lasts = |since: Timestamp| self.at.since(since) >= Duration::from_secs(1);
        let lasting = |f: &mut fmt::Formatter<'_>, since: &Option<Timestamp>| match since {
            Some(since) if lasts(*since) => write!(f, " for {}", ago(*since)),
            Some(_) | None => Ok(()),
        };
        match self.wait {
            PodWait::DeletionAnswer => f.write_str("deletion sent, no answer yet"),
            PodWait::DeletionShown { since } => write!(f, "deleted {} ago, not shown by the watch yet", ago(*since)),
            PodWait::DeletionLost { since } => write!(f, "answer to its deletion lost {} ago", ago(*since)),
            PodWait::Grace { secs: given, ends_at, finalizers } => {
                match ends_at.since(self.at) {
                    Duration::ZERO => write!(f, "grace {} over", Secs(*given))?,
                    // Clocks differ a little: the words never tell more than the whole grace period.
                    left => {
                        let left = left.min(Duration::from_secs((*given).into()));
                        write!(f, "grace {}, {} left", Secs(*given), ShortDuration(left))?;
                    }
                }
                if finalizers.is_empty() { Ok(()) } else { write!(f, ", then {}", Finalizers(finalizers)) }
            }
            PodWait::Finalizers(finalizers) => write!(f, "kept by {}", Finalizers(finalizers)),
            PodWait::Kubelet { since } => {
                f.write_str("grace over")?;
                lasting(f, &Some(*since))?;
                f.write_str(", its kubelet has not ended it")
            }
            PodWait::NoPod { why } => f.write_str(why),
            PodWait::NodeBack => f.write_str("pod deleted, not ended yet"),
            // Whoever has just begun to look does not know for how long it has been so.
            PodWait::Controller { since: Some(since) } if self.at.since(*since) >= KNOWN => {
                write!(f, "no pod for {}: its controller has created none", ago(*since))
            }
            PodWait::Controller { .. } => f.write_str("no pod: its controller has created none"),
            PodWait::Scheduler { since } => {
                f.write_str("not scheduled")?;
                lasting(f, &Some(*since))?;
                f.write_str(": its scheduler says nothing of it")
            }
            PodWait::KubeletReport { since } => {
                f.write_str("its kubelet has not begun it")?;
                lasting(f, &Some(*since))
            }
            PodWait::Container { name, reason } => write!(f, "{reason} ({name})"),
            PodWait::Init { name, since } => {
                write!(f, "init container {name} runs")?;
                lasting(f, since)
            }
            PodWait::Sidecar { name, since } => {
                write!(f, "sidecar {name} runs")?;
                lasting(f, since)?;
                f.write_str(", not started: the containers after it wait")
            }
            PodWait::Pull { since: None } => f.write_str("pulls its image"),
            PodWait::Pull { since } => {
                f.write_str("pulls")?;
                lasting(f, since)
            }
            PodWait::PullOfOther { images, since: None } => {
                write!(f, "may still pull {}, no longer the target", images.join(" "))
            }
            PodWait::PullOfOther { images, since: Some(since) } => {
                write!(f, "still pulls {}, no longer the target", images.join(" "))?;
                if lasts(*since) { write!(f, ", for {}", ago(*since)) } else { Ok(()) }
            }
            PodWait::Ready { name, since } => {
                write!(f, "{name} runs")?;
                lasting(f, since)?;
                f.write_str(", not ready")
            }
            PodWait::OldPod => f.write_str("its old pod is still there"),
            PodWait::PodReady => f.write_str("its containers are ready, the pod is not"),
            PodWait::Watched { until } => write!(f, "watched for {} more", ShortDuration(until.since(self.at))),
            PodWait::Soak { ends_at, since_known: false, .. } => {
                write!(f, "ready since an unknown time: available in {} at most", ShortDuration(ends_at.since(self.at)))
            }
            PodWait::SoakSeenByDriver { secs } => {
                write!(
                    f,
                    "ready since an unknown time: available once whoever drives has seen it so for {}",
                    Secs(*secs)
                )
            }
            PodWait::Soak { secs: needed, ends_at, since_known: true } => {
                let left = ends_at.since(self.at);
                let so_far = Duration::from_secs((*needed).into()).saturating_sub(left);
                write!(f, "ready for {} of {}", ShortDuration(so_far), Secs(*needed))
            }
        }
    }
}

/// `finalizer a.example/x`.
pub(crate) struct Finalizers<'a>(pub(crate) &'a [Str]);

impl fmt::Display for Finalizers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.len() == 1 { "finalizer " } else { "finalizers " })?;
        for (nth, finalizer) in self.0.iter().enumerate() {
            write!(f, "{}{finalizer}", if nth > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

/// The wait of the whole rollout, before any node can move or before it is over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Blocked {
    /// The blocker.
    pub by: Blocker,
    /// Since when, as far as we saw it, by our own clock.
    pub since: Timestamp,
}

/// The obstacle to the whole rollout while it is being prepared or released.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Blocker {
    /// A rollout is recorded, but the DaemonSet does not exist.
    DaemonSet,
    /// Somebody has to drive.
    Driver,
    /// `OnDelete` has to be set.
    Adoption,
    /// The controller has to follow the last change of the DaemonSet.
    Observed {
        /// `metadata.generation`.
        generation: i64,
        /// `status.observedGeneration`.
        observed: i64,
    },
    /// The template has to be changed.
    Template,
    /// The controller has to record the template as a ControllerRevision.
    Revision,
    /// The record has to name the revision.
    Target,
    /// The original update strategy has to be restored.
    Strategy,
    /// The record has to be dropped.
    RecordDropped,
}

impl fmt::Display for Blocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DaemonSet => f.write_str("for the DaemonSet, which does not exist"),
            Self::Driver => f.write_str("for somebody to drive"),
            Self::Adoption => f.write_str("for OnDelete to be set on the DaemonSet"),
            Self::Observed { generation, observed } => {
                write!(f, "for its controller to observe generation {generation} (at {observed})")
            }
            Self::Template => f.write_str("for the new template to be written"),
            Self::Revision => f.write_str("for its controller to record the template as a revision"),
            Self::Target => f.write_str("for the record to name the new revision"),
            Self::Strategy => f.write_str("for its original update strategy to be restored"),
            Self::RecordDropped => f.write_str("for the record to be dropped"),
        }
    }
}
