//! The kinds of faults, and how often each happened. The counts show that no kind is missing from the runs.

use std::fmt;

use crate::engine::model::facts::StrategyKind;
use crate::sim::world::scenario::{ClusterFault, Fault, FleetFault};

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $words:literal,)*) => {
        /// A kind of fault.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
        pub enum FaultKind {
            $($(#[$doc])* $kind,)*
        }

        impl FaultKind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// The words for this kind.
            pub const fn words(self) -> &'static str {
                match self { $(Self::$kind => $words,)* }
            }
        }
    };
}

kinds! {
    /// A node lost the network for a while.
    NodeCut = "node cut off",
    /// A node lost power for a while.
    NodeOff = "node without power",
    /// A node left the cluster for ever.
    NodeGone = "node gone for good",
    /// A node joined.
    NodeJoined = "node joined",
    /// A node's labels were changed.
    Relabelled = "node relabelled",
    /// A node was cordoned.
    Cordoned = "node cordoned",
    /// A node was tainted.
    Tainted = "node tainted",
    /// A node's disk was full.
    DiskFull = "disk full",
    /// A node's clock was off.
    NodeClock = "node clock off",
    /// A node's readiness probes failed.
    ProbesFail = "probes failed",
    /// Pods were evicted by their kubelet.
    Evicted = "pods evicted",
    /// Pods were deleted by somebody else.
    PodsDeleted = "pods deleted by others",
    /// A pod's label was taken away.
    PodsRelabelled = "pods relabelled",
    /// The DaemonSet was deleted.
    DaemonSetDeleted = "daemonset deleted",
    /// A finalizer kept pods that had ended.
    Finalizer = "pods kept by a finalizer",
    /// The API server refused new pods.
    PodsRefused = "pods refused",
    /// The API server refused to delete pods on a node.
    DeletionRefused = "deletion refused",
    /// The DaemonSet controller stood still.
    ControllerIdle = "controller idle",
    /// A site's link was slow.
    SlowLink = "link slow",
    /// The API server was far away.
    FarAway = "API server latency",
    /// The line to the API server was full for a while.
    LineFull = "link to the API server congested",
    /// The registry refused an image for a while.
    Registry = "registry failing",
    /// A registry counted pulls, and served no more.
    PullsLimited = "registry limits pulls",
    /// A tag was moved to another image.
    TagMoved = "tag moved",
    /// The pull policy asks the registry for images at every start of a container.
    PullsAlways = "pull policy Always",
    /// Pods need an image for a volume, which no container runs.
    ImageVolume = "image volume",
    /// A pull failed on a node.
    PullFailed = "pull failed",
    /// A container crashed again and again.
    CrashLoop = "crash loop",
    /// Somebody else changed the template.
    Deployed = "template changed by others",
    /// A policy refused templates.
    TemplateRefused = "template refused",
    /// A policy wrote digests for tags.
    ImagesPinned = "images rewritten to digests",
    /// A policy set the update strategy in every write.
    StrategySet = "strategy set by admission",
    /// A policy added a container that fails to new pods.
    ContainerInjected = "failing container added to pods",
    /// Somebody else set the strategy back.
    Drifted = "strategy drifted back",
    /// The DaemonSet surges.
    Surges = "DaemonSet surges",
    /// Somebody else changed `maxUnavailable`.
    BudgetEdited = "maxUnavailable edited",
    /// The record was edited by hand.
    RecordEdited = "record edited",
    /// The record was made unreadable.
    RecordGarbled = "record corrupted",
    /// The lease was deleted.
    LeaseDeleted = "lease deleted",
    /// A watch was lost.
    WatchLost = "watch lost",
    /// A watch was late.
    WatchLate = "watch late",
    /// A watch sent past events again.
    WatchReplayed = "watch replayed",
    /// A watch let only bookmarks through.
    WatchBookmarks = "watch with bookmarks only",
    /// A list came from a stale cache.
    ListStale = "list stale",
    /// A watch sent bookmarks and stood still.
    WatchStuck = "watch stuck",
    /// A watch had expired (410).
    WatchExpired = "watch expired (410)",
    /// A request was lost on its way.
    RequestLost = "request lost (timeout)",
    /// An answer was lost: the request took effect.
    AnswerLost = "answer lost, effect done",
    /// The API server failed before it did anything.
    ServerError = "server error (5xx)",
    /// The API server failed after it did what was asked.
    ServerErrorDone = "server error, effect done",
    /// The API server throttled a request.
    Throttled = "throttled (429)",
    /// A write conflicted with another one (409).
    Conflict = "conflict (409)",
    /// A request could not be sent.
    NotSent = "request not sent",
    /// A console was killed.
    Killed = "console killed",
    /// A console was killed right before it sent a write.
    KilledBefore = "killed before an effect",
    /// A console was killed right after it sent a write.
    KilledAfter = "killed after an effect",
    /// A console stood still between its decision and the write.
    Suspended = "console suspended",
    /// A console's clock was off.
    ConsoleClock = "console clock off",
    /// A second console wanted to drive.
    Takeover = "second driver",
    /// A one-shot command ran beside consoles.
    OneShot = "one-shot command beside consoles",
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

/// The number of faults of each kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Faults([u64; FaultKind::ALL.len()]);

impl Default for Faults {
    fn default() -> Self {
        Self([0; FaultKind::ALL.len()])
    }
}

impl Faults {
    /// Counts one fault of this kind.
    pub fn count(&mut self, kind: FaultKind) {
        self.0[kind as usize] += 1;
    }

    /// How often a fault of this kind happened.
    pub fn of(&self, kind: FaultKind) -> u64 {
        self.0[kind as usize]
    }

    /// How many faults happened.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Each kind with the number of its faults.
    pub fn by_kind(&self) -> impl Iterator<Item = (FaultKind, u64)> {
        FaultKind::ALL.iter().map(|kind| (*kind, self.of(*kind)))
    }

    /// Adds the counts of `others`.
    pub fn add(&mut self, others: &Self) {
        for (sum, more) in self.0.iter_mut().zip(&others.0) {
            *sum += more;
        }
    }
}

/// The kind of a fault of the world; `None` for a change that ends a fault.
pub(super) fn of_world(fault: &Fault) -> Option<FaultKind> {
    Some(match fault {
        Fault::Fleet(fault) => match fault {
            FleetFault::Cut(_) => FaultKind::NodeCut,
            FleetFault::PowerOff(_) => FaultKind::NodeOff,
            FleetFault::Leave(_) => FaultKind::NodeGone,
            FleetFault::Join(_) => FaultKind::NodeJoined,
            FleetFault::ProbesFail(_) => FaultKind::ProbesFail,
            FleetFault::DiskFull(_) => FaultKind::DiskFull,
            FleetFault::EvictAll(_) => FaultKind::Evicted,
            FleetFault::Link { .. } => FaultKind::SlowLink,
            FleetFault::Registry { error: Some(_), .. } => FaultKind::Registry,
            FleetFault::LimitPulls { quota: Some(_), .. } => FaultKind::PullsLimited,
            FleetFault::Clock { offset_millis, .. } if *offset_millis != 0 => FaultKind::NodeClock,
            FleetFault::Clock { .. }
            | FleetFault::Registry { error: None, .. }
            | FleetFault::LimitPulls { quota: None, .. }
            | FleetFault::PowerOn(_)
            | FleetFault::Restore(_)
            | FleetFault::ProbesPass(_)
            | FleetFault::DiskFree(_) => return None,
            FleetFault::Publish(_) => FaultKind::TagMoved,
        },
        Fault::Cluster(fault) => match fault {
            ClusterFault::Label { .. } => FaultKind::Relabelled,
            ClusterFault::Cordon(_) => FaultKind::Cordoned,
            ClusterFault::Taint { .. } => FaultKind::Tainted,
            ClusterFault::DeletePods { .. } => FaultKind::PodsDeleted,
            ClusterFault::LabelPods { labels, .. } if labels.values().any(String::is_empty) => {
                FaultKind::PodsRelabelled
            }
            ClusterFault::DeleteDaemonSet { .. } => FaultKind::DaemonSetDeleted,
            ClusterFault::AddFinalizer { .. } => FaultKind::Finalizer,
            ClusterFault::SetImages { .. } => FaultKind::Deployed,
            ClusterFault::SetStrategy { kind: StrategyKind::RollingUpdate, .. } => FaultKind::Drifted,
            ClusterFault::SetStrategy { .. } => FaultKind::BudgetEdited,
            ClusterFault::RefusePods { .. } => FaultKind::PodsRefused,
            ClusterFault::RefuseTemplates { .. } => FaultKind::TemplateRefused,
            ClusterFault::PinImages { .. } => FaultKind::ImagesPinned,
            ClusterFault::SetRollingInWrites { .. } => FaultKind::StrategySet,
            ClusterFault::InjectContainer { .. } => FaultKind::ContainerInjected,
            ClusterFault::RefuseDeletion { .. } => FaultKind::DeletionRefused,
            ClusterFault::StopController => FaultKind::ControllerIdle,
            ClusterFault::AdmitTemplates { .. }
            | ClusterFault::UnpinImages { .. }
            | ClusterFault::AdmitStrategies { .. }
            | ClusterFault::StopInjecting { .. }
            | ClusterFault::AdmitPods { .. }
            | ClusterFault::AdmitDeletion { .. }
            | ClusterFault::StartController
            | ClusterFault::LabelPods { .. }
            | ClusterFault::HoldDaemonSet { .. }
            | ClusterFault::CreateDaemonSet(_)
            | ClusterFault::RemoveFinalizer { .. }
            | ClusterFault::Uncordon(_)
            | ClusterFault::Untaint { .. }
            | ClusterFault::DeleteNode(_)
            | ClusterFault::Compact => return None,
        },
    })
}
