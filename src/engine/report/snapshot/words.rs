//! The words for each value of a snapshot. Sentences made of several are in [`crate::engine::report::words`].

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::pull_words::PullEstimate;
use super::{Alarm, NodeView, Phase};
use crate::engine::model::Str;
use crate::engine::model::budget::{FAILS_ON_MORE, well_again};
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::clocks::ClockOff;
use crate::engine::model::effect::WRITE_TIMEOUT;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::hold::{Hold, ImageWait};
use crate::engine::model::node::{Blame, FAILS_AT, ImageState, NodeState, RestartsView, RunEnd};
use crate::engine::model::person_of;
use crate::engine::model::pod_wait::PodWait;
use crate::engine::model::record::By;
use crate::engine::model::released_strategy::ChangedLimit;
use crate::engine::model::suspect::SuspectView;
use crate::engine::model::time::{ShortDuration, Timestamp, UtcTime};
use crate::engine::model::wait::{Short, Wait};
use crate::engine::rules::causes::PodWaitWords;
use crate::engine::rules::distance::FARTHEST;

/// It is known that nobody drives.
pub const NOBODY_DRIVES: &str = "nobody drives";
/// The Lease of the holder has run out by the holder's own clock, and this process has not watched for long enough to know more.
pub const NOBODY_SEEN_DRIVING: &str = "nobody is seen driving";

macro_rules! words {
    ($($type:ty { $($pattern:pat => $words:expr,)+ })+) => {$(
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self { $($pattern => $words,)+ })
            }
        }
    )+};
}

words! {
    NodeState {
        Self::Failed => "failed",
        Self::NodeDown => "node down",
        Self::Terminating => "terminating",
        Self::Creating => "creating",
        Self::Pulling => "pulling",
        Self::PullFailed => "pull failed",
        Self::Starting => "starting",
        Self::Soaking => "soaking",
        Self::Outdated => "outdated",
        Self::Updated => "updated",
        Self::Unknown => "not known",
        Self::Ineligible => "not eligible",
    }
    Blame {
        Self::Rollout => "ours",
        Self::Suspect => "suspect",
        Self::Node => "node",
        Self::PreExisting => "pre-existing",
    }
    ImageState {
        Self::Unknown => "unknown",
        Self::Present => "present",
        Self::Pulling { .. } => "pulling",
        Self::Failed => "failed",
        Self::Absent => "absent",
    }
    CauseKind {
        Self::ImageNotFound => "image not found",
        Self::ImageDenied => "image access denied",
        Self::ImageRateLimited => "registry rate limit",
        Self::ImagePlatform => "image not for this platform",
        Self::ImageName => "invalid image name",
        Self::ImageNeverPull => "image absent, pull forbidden",
        Self::ImageNetwork => "registry network error",
        Self::ImageDisk => "no disk space for image",
        Self::ImagePull => "image pull fails",
        Self::VolumeMount => "volume not mounted",
        Self::PodSandbox => "pod sandbox fails",
        Self::Config => "configuration missing",
        Self::ContainerStart => "container does not start",
        Self::CrashLoop => "crash loop",
        Self::InitFailure => "init container fails",
        Self::OutOfMemory => "out of memory",
        Self::NotReady => "not ready",
        Self::ReadinessGate => "readiness gate not met",
        Self::Unschedulable => "unschedulable",
        Self::SchedulerIdle => "not scheduled",
        Self::Rejected => "rejected by kubelet",
        Self::Evicted => "evicted by kubelet",
        Self::NodeShutdown => "node was shut down",
        Self::AdmissionRefused => "admission refused",
        Self::QuotaExceeded => "quota exceeded",
        Self::CreationForbidden => "pod creation forbidden",
        Self::PodInvalid => "pod invalid",
        Self::NotCreated => "pod not created",
        Self::ControllerIdle => "controller idle",
        Self::StuckTerminating => "stuck terminating",
        Self::HeldByFinalizers => "kept by finalizers",
        Self::Deadline => "progress deadline",
        Self::NodeDown => "node not ready",
    }
    Phase {
        Self::Loading => "loading",
        Self::Unknown => "not known",
        Self::Idle => "idle",
        Self::Native => "rolled by its controller",
        Self::Preparing => "preparing",
        Self::Held => "held",
        Self::Running => "running",
        Self::Paused(_) => "paused",
        Self::Halted => "halted",
        Self::Complete => "complete",
        Self::Releasing(_) => "releasing",
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.kind, f)
    }
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRollout => f.write_str("no rollout"),
            Self::NoRecord => f.write_str("no record is left"),
            Self::Native => f.write_str("its controller decides"),
            Self::Preparing => f.write_str("preparing"),
            Self::BeingDeleted => f.write_str("its DaemonSet is being deleted"),
            Self::NobodyDrives => f.write_str(NOBODY_DRIVES),
            Self::NobodySeenDriving => f.write_str(NOBODY_SEEN_DRIVING),
            Self::NotSent => f.write_str("not sent yet"),
            Self::Paused => f.write_str("paused"),
            Self::Halted => f.write_str("halted"),
            Self::ViewStale => f.write_str("view too stale"),
            Self::NotKnown => f.write_str("what holds it is not known"),
            Self::Partition { keep } => write!(f, "partition keeps {keep}"),
            Self::Selector => f.write_str("not in selector"),
            Self::NodeDown => f.write_str("node down"),
            Self::Cordoned => f.write_str("cordoned"),
            Self::OtherPodGoes => f.write_str("waits until its other pod is gone"),
            Self::Budget { used, next: 0, limit } => write!(f, "budget: {used} of {limit} taken"),
            Self::Budget { used, next, limit } => write!(f, "budget: {used} of {limit} taken, {next} next"),
            Self::NoBudget => f.write_str("maxSurge is set: name a budget first"),
            Self::SeveralPods => f.write_str("several pods: its controller keeps one first"),
            Self::PullLimit { used, next: 0, limit } => write!(f, "pull limit: {used} of {limit}"),
            Self::PullLimit { used, next, limit } => write!(f, "pull limit: {used} of {limit}, {next} next"),
            Self::SitePullLimit { site, used, limit } if site.is_empty() => {
                write!(f, "pull limit of nodes without a site: {used} of {limit}")
            }
            Self::SitePullLimit { site, used, limit } => write!(f, "pull limit of {site}: {used} of {limit}"),
            Self::ImageAbsent(wait) => wait.fmt(f),
            Self::Unproven { node, cause: Some(cause) } => write!(f, "trouble on {node}: {cause}"),
            Self::Unproven { node, cause: None } => write!(f, "trouble on {node}"),
            Self::RecordFull => f.write_str("waits: the record holds no more names of nodes in progress"),
            Self::SiteOutage(outage) => write!(f, "site outage: {outage}"),
            Self::NotProven => f.write_str("waits until the image is proven"),
            Self::DeletionRefused { why } => write!(f, "deletion refused: {why}"),
            Self::NoAnswer => f.write_str("the API server does not answer"),
            Self::ApiLatencyTooHigh { round_trip } => write!(f, "too far: API answers in {}", Short(*round_trip)),
            Self::Waits(wait @ (Wait::Answer { .. } | Wait::WatchEvent { .. } | Wait::Lost { .. })) => wait.fmt(f),
            Self::Waits(wait) => write!(f, "next; {wait}"),
            Self::Next => f.write_str("next"),
        }
    }
}

impl Hold {
    /// The words for the hold without the details of single nodes: a failed pull gets the same words whether it is retried or not tried at all.
    pub fn in_common(&self) -> String {
        match self {
            Self::ImageAbsent(wait) if let Some(cause) = wait.failure() => format!("image not on the node: {cause}"),
            hold => hold.to_string(),
        }
    }
}

impl Hold {
    /// The words behind the number of nodes that it holds: `3 without the image, image not found`.
    pub fn counted(&self) -> String {
        let wait = match self {
            Self::ImageAbsent(wait) => wait,
            Self::NotProven => return "held back until another node shows that the image works".to_owned(),
            _ => return self.in_common(),
        };
        match wait {
            ImageWait::Coming => "without the image yet".to_owned(),
            ImageWait::Failed { cause, retried: true } => {
                format!("without the image yet, {cause}, which is tried again")
            }
            ImageWait::Failed { cause, retried: false } | ImageWait::NotTried { cause } => {
                format!("without the image, {cause}")
            }
            ImageWait::NotRequested { by, .. } => {
                format!("without the image, which what {} pre-warms does not bring", person_of(by))
            }
            ImageWait::Paused => "without the image, as pre-warming is paused".to_owned(),
        }
    }
}

impl fmt::Display for ImageWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Coming => f.write_str("image not on the node yet"),
            Self::Failed { cause, retried: true } => {
                write!(f, "image not on the node yet: its pull failed, {cause}, and is tried again")
            }
            Self::Failed { cause, retried: false } => write!(f, "image not on the node: its pull failed, {cause}"),
            Self::NotTried { cause } => write!(f, "image not on the node: not pulled, {cause} on other nodes"),
            Self::NotRequested { by, .. } => {
                write!(f, "image not on the node: what {} pre-warms does not bring it", person_of(by))
            }
            Self::Paused => f.write_str("image not on the node: pre-warming is paused"),
        }
    }
}

impl fmt::Display for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = |by: &Option<Str>| by.as_deref().map(|by| format!(" by {by}")).unwrap_or_default();
        match self {
            Self::Cascade { down, max_unavailable, replaced_unready } => write!(
                f,
                "losing nodes: {down} down with maxUnavailable {max_unavailable}; \
                 {replaced_unready} old pods were deleted while unready"
            ),
            Self::StrategyDrifted { by: who, limit, enforced, .. } => {
                write!(f, "the update strategy was changed back{}", by(who))?;
                if let Some(ChangedLimit { set, saved }) = limit {
                    write!(f, ", with maxUnavailable {set} instead of {saved}")?;
                }
                if *enforced > 0 {
                    write!(f, ", {} after OnDelete was set again", times(*enforced))?;
                }
                f.write_str(": its controller replaces pods by itself")
            }
            Self::OwnLimitChanged { by: who, limit: ChangedLimit { set, saved }, max_unavailable } => write!(
                f,
                "the DaemonSet's maxUnavailable was changed from {saved} to {set}{}: a release restores {saved}. At most {max_unavailable} may be \
                 down in this rollout",
                by(who)
            ),
            Self::OnDeleteEnforced { by: who, times: count, .. } => {
                write!(
                    f,
                    "the update strategy was changed back{} {} lately: OnDelete is set again",
                    by(who),
                    times(*count)
                )
            }
            Self::HaltWaits { why, .. } => write!(f, "{why}; it is not halted, as nobody is seen driving it"),
            Self::BudgetUsedUp { used, limit, waiting, failed } => {
                let nodes = if *waiting == 1 { "node waits" } else { "nodes wait" };
                write!(f, "{waiting} {nodes}: {used} are down, {limit} may be")?;
                match failed {
                    0 => {
                        write!(f, ", and none of them is on its way up; a budget of {} lets the next one go", used + 1)
                    }
                    failed => {
                        let once = well_again((used + 1).saturating_sub(*limit));
                        write!(f, ", {failed} failed at the new revision. The next goes once {once}. {FAILS_ON_MORE}")
                    }
                }
            }
            Self::SiteOutage(outage) => {
                write!(
                    f,
                    "site outage: {outage}, old pods and new; no pod that is ready is replaced there until they are back"
                )
            }
            Self::TemplateChanged { by: who, change, .. } => {
                write!(f, "the template was changed{} in the middle of the rollout{change}", by(who))
            }
            Self::TargetUncertain { revision } => write!(
                f,
                "revision {revision} is taken for that of the template, and does not compare equal: nothing ends before a \
                 pod made from the template is seen to have it"
            ),
            Self::DeletionRefused { node, count, why, others } => {
                let more = if *count > 1 { format!(" and {} more", count - 1) } else { String::new() };
                let rest = if *others { "the others go on" } else { "nothing else is left to update" };
                write!(f, "deletion refused on {node}{more}, tried again by itself; {rest}: {why}")
            }
            Self::DeletionsRefused { why } => {
                write!(f, "no node is updated: the API server refuses one after the other, tried again twice a minute: {why}")
            }
            Self::ControllerIdle { missing, unobserved, .. } => {
                f.write_str("no controller has acted for 40 s: is kube-controller-manager running?")?;
                match (missing, unobserved) {
                    (0, _) => f.write_str(" the DaemonSet's spec is not observed"),
                    (1, _) => f.write_str(" 1 node has no pod"),
                    (nodes, _) => write!(f, " {nodes} nodes have no pod"),
                }
            }
            Self::ReleaseWaits { pods, nodes } => {
                write!(f, "every node is updated, the release waits: it would remove {pods} for good, on {nodes}")
            }
            Self::Halted { gate: _, why } => write!(f, "halted: {why}"),
            Self::ViewForbidden { why } => write!(f, "what is said of nodes is not the whole truth: {why}"),
            Self::ViewStale { why } => write!(f, "nothing is started: {why}"),
            Self::ApiLatencyTooHigh { round_trip } => write!(
                f,
                "too far to drive from here: the API server answers in {}, and up to {} is near enough; run rolldeck \
                 nearer to it, on a control-plane host over SSH for example. Nothing is started until then",
                Short(*round_trip),
                Short(FARTHEST)
            ),
            Self::NoAnswer => write!(
                f,
                "nothing is started: the API server did not answer the last writes within {}; look whether it runs, and the way to \
                 it. It is tried again by itself",
                Short(WRITE_TIMEOUT)
            ),
            Self::WriteFailing { why, .. } => write!(f, "a write keeps failing: {why}"),
            Self::WriteRefused { since, why } => {
                write!(f, "the driver's write was refused, first at {}: {why}", UtcTime { at: *since, now: *since })
            }
            Self::RecordUnreadable { why } => write!(f, "the rollout's record cannot be read: {why}"),
            Self::ForeignRecord { paused_by, strategy } => {
                f.write_str("the rollout that is recorded was of an earlier DaemonSet of this name: its limits do not count, ")?;
                if let Some(by) = paused_by {
                    write!(f, "the pause by {by} does not hold, ")?;
                }
                f.write_str("and nothing is driven by it; ")?;
                f.write_str(match strategy {
                    StrategyKind::RollingUpdate => "the update strategy is RollingUpdate: its controller replaces pods",
                    StrategyKind::OnDelete => "the update strategy is OnDelete: its controller replaces no pod by itself",
                })
            }
            Self::RecordMissing => f.write_str(
                "nothing is driven: no record is left of the rollout; its limits, soak time, partition, selector, pause and halt went with it",
            ),
            Self::LimitsLost { begun: By { by, at }, before, max_unavailable, soak } => write!(
                f,
                "the record of the rollout was lost, and {by} began a new one at {} with at most {max_unavailable} down, a soak time of {} and \
                 the other defaults{}: set its limits, or confirm them by setting one as it is",
                UtcTime { at: *at, now: *at },
                ShortDuration(*soak),
                before.as_ref().map(|before| format!(" ({before})")).unwrap_or_default()
            ),
            Self::BeingDeleted => {
                f.write_str("the DaemonSet is being deleted: its controller makes no pod any more, so none is replaced")
            }
            Self::StateRestored { at } => write!(
                f,
                "the state of the cluster went back to an earlier one, found at {}: was it restored from a backup? Nothing is driven from \
                 here since; look at the nodes, then drive again",
                UtcTime { at: *at, now: *at }
            ),
        }
    }
}

/// `once`, `3 times`.
fn times(count: u32) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

impl NodeView {
    /// Its state in the words of tables. A node that went down after its update is a suspect. Once it counts as failed it is called failed until an
    /// operator resumes, even after it is back: the state of its pod would say less.
    pub fn state_words(&self) -> String {
        match (self.state, self.blame) {
            _ if self.counts_as_failed() => NodeState::Failed.to_string(),
            (NodeState::NodeDown, Some(Blame::Suspect)) => Blame::Suspect.to_string(),
            (state, _) => state.to_string(),
        }
    }

    /// Whether its pod restarted, or its pods were evicted, so often that no pod that serves is replaced anywhere ([`held_until_up_for`]).
    pub fn holds_the_others(&self) -> bool {
        self.restarted.as_deref().copied().is_some_and(RestartsView::speaks_against_revision)
            && self.state != NodeState::Failed
    }

    /// `exit 1, 2 restarts in 3m`, where its pod is watched for that.
    fn restarts_in_words(&self, at: Timestamp) -> Option<String> {
        let restarted = *self.restarted.as_deref()?;
        // A narrow column cuts the end off, so the exit code, by which operators search, comes first.
        let end = restarted.end.filter(|end| *end != RunEnd::Evicted);
        let end = end.map(|end| format!("{end}, ")).unwrap_or_default();
        // Evicted pods were older than this one.
        let made = self.pod_created_at.filter(|_| restarted.evictions == 0);
        let age = made.map(|made| format!(" in {}", ShortDuration(at.since(made)))).unwrap_or_default();
        Some(format!("{end}{}{age}", restarted.kind().counted(restarted.times.into())))
    }
}

/// What follows for the other nodes where one [holds them](NodeView::holds_the_others). `watched`: for how long a pod is watched that restarted.
pub fn held_until_up_for(watched: Duration) -> String {
    format!("no serving pod is replaced before it has been up for {}", ShortDuration(watched))
}

/// Of a node that went down after its update, counts as failed and is back: it does so for as long as falls are remembered
/// (`WINDOW` of `rules/suspects.rs`), unless a resume past a halt accepts it before.
pub const COUNTS_ALTHOUGH_BACK: &str = "it is back, and counts as failed for 10m from then on";

/// The line that says why a node is in its state: its trouble, its hold, or its wait.
#[derive(Clone, Copy, Debug)]
pub struct Why<'a> {
    /// The node.
    pub node: &'a NodeView,
    /// The instant of the snapshot.
    pub at: Timestamp,
}

impl Why<'_> {
    /// The same and the first line of the cluster's message, for a place that cuts off what does not fit. A pod that starts in the ordinary course shows
    /// no message, as that changes and tells of no trouble; and what the controller says begins with the name of a pod, which is another one each time.
    ///
    /// A pod that restarted or was evicted too often has a message that begins with how often, which is not said again.
    pub fn with_message(&self) -> String {
        let why = self.to_string();
        let changes = |kind: CauseKind| kind.is_ordinary_at_start() || kind.is_told_by_controller();
        let cause = self.node.cause.as_ref().filter(|cause| !changes(cause.kind));
        let message = cause.and_then(|cause| cause.message.as_ref()?.lines().next()).unwrap_or_default();
        let kind = cause.map(|cause| cause.kind.to_string()).unwrap_or_default();
        let (why, message) = self.counted_once(&why, message).unwrap_or((why.into(), message));
        // Of some causes the wait of the pod is said instead, which has the message where it matters.
        match message.is_empty() || !why.contains(&kind) || why.contains(message) {
            true => why.into_owned(),
            false if why.ends_with(&kind) => format!("{why}: {message}"),
            false => format!("{why}; {message}"),
        }
    }

    /// `exit 1, 3 restarts (max 2); crash loop` and what else the message says, where both tell how often its pod restarted or its pods were evicted.
    fn counted_once<'m>(&self, why: &str, message: &'m str) -> Option<(Cow<'static, str>, &'m str)> {
        let (restarted, said) = (self.node.restarted.as_deref()?, self.node.restarts_in_words(self.at)?);
        let (count, rest) = message.split_once(FAILS_AT).filter(|_| self.node.state == NodeState::Failed)?;
        let (max, rest) = rest.split_once(')')?;
        let end = restarted.end.filter(|end| *end != RunEnd::Evicted).map(|end| end.to_string());
        let others = why.strip_prefix(&said)?;
        let first = end.as_ref().map(|end| format!("{end}, ")).unwrap_or_default();
        let rest = rest.strip_prefix("; ").unwrap_or_default();
        // Which container ended so is told on the page of the node.
        let rest = if end.is_some_and(|end| rest.contains(&end)) { "" } else { rest };
        Some((format!("{first}{count}{FAILS_AT}{max}){others}").into(), rest))
    }
}

impl fmt::Display for Why<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, at } = self;
        // Of what has begun within the second nothing tells for how long.
        let since = |f: &mut fmt::Formatter<'_>| match node.age(*at).filter(|age| age.as_secs() > 0) {
            Some(age) => write!(f, " for {}", ShortDuration(age)),
            None => Ok(()),
        };
        match (node.state, node.blame) {
            (NodeState::NodeDown, Some(Blame::Suspect)) => {
                f.write_str("NotReady")?;
                since(f)?;
                let in_update = node.suspect.is_some_and(SuspectView::is_in_update);
                f.write_str(if in_update { ", while it is updated" } else { ", after its update" })?;
                node.suspect.map_or(Ok(()), |suspect| write!(f, "; {}", suspect.words(*at)))?;
                node.restarts_in_words(*at).map_or(Ok(()), |restarts| write!(f, "; {restarts}"))
            }
            (NodeState::NodeDown, blame) => {
                f.write_str("NotReady")?;
                since(f)?;
                match (node.pod_wait.as_deref(), blame) {
                    (Some(wait), _) => write!(f, "; {}", wait.as_of(*at)),
                    (None, Some(Blame::Rollout)) if node.committed => f.write_str(", while it was updated"),
                    // The record names the node, and its pod is still there: the node was next.
                    (None, Some(Blame::Rollout)) => f.write_str(", before its update began"),
                    (None, Some(Blame::Node | Blame::PreExisting | Blame::Suspect) | None) => {
                        f.write_str(", by itself")
                    }
                }
            }
            (NodeState::Ineligible, _) => {
                let which = if node.at_target { "pod" } else { "old pod" };
                let serves = if node.serves { "serves" } else { "does not serve" };
                match &node.ineligible {
                    Some(why) => write!(f, "{why}; its {which} {serves}"),
                    // No process reports on the pod any more.
                    None => write!(f, "its node is not there, its {which} still is"),
                }
            }
            _ => {
                // For some causes, the wait of the pod says more than the cause.
                let beside = node.cause.as_ref().map(|cause| cause.kind.pod_wait_words());
                // A hold that waits for a deletion says more than the pod's own wait.
                let wait = node.pod_wait.as_deref().filter(|_| !matches!(node.hold, Some(Hold::Waits(_))));
                let unexplained = node.cause.as_ref().is_some_and(|cause| cause.message.is_none());
                let wait = wait.filter(|_| match beside {
                    None | Some(PodWaitWords::Added | PodWaitWords::Instead) => true,
                    Some(PodWaitWords::InsteadIfUnexplained) => unexplained,
                    Some(PodWaitWords::LeftOut) => false,
                });
                let only_waits = matches!(beside, Some(PodWaitWords::Instead | PodWaitWords::InsteadIfUnexplained));
                let cause = node.cause.as_ref().filter(|_| wait.is_none() || !only_waits);
                let mut said = "";
                let mut say = |f: &mut fmt::Formatter<'_>, words: &dyn fmt::Display| {
                    write!(f, "{}{words}", std::mem::replace(&mut said, "; "))
                };
                if let Some(restarts) = node.restarts_in_words(*at) {
                    say(f, &restarts)?;
                }
                if let Some(suspect) = node.suspect {
                    say(f, &format_args!("went down after its update; {}", suspect.words(*at)))?;
                    if suspect.has_failed() {
                        say(f, &COUNTS_ALTHOUGH_BACK)?;
                    }
                }
                if let Some(cause) = cause {
                    say(f, cause)?;
                }
                if let Some(hold) = &node.hold {
                    say(f, hold)?;
                }
                match (wait, node.usual_pull.as_deref().copied()) {
                    (Some(PodWait::Pull { since: Some(since) }), Some(usual)) => {
                        let elapsed = at.since(*since);
                        say(f, &format_args!("pulls {}", PullEstimate { elapsed, usual }))?;
                    }
                    (Some(wait), _) => say(f, &wait.as_of(*at))?,
                    (None, _) => {}
                }
                let Some(millis) = node.notable_clock() else { return Ok(()) };
                write!(f, "{said}clock {}", ClockOff(millis))?;
                match node.counted_unavailable_until {
                    Some(until) => {
                        let left = ShortDuration(until.since(*at));
                        write!(f, ": its controller counts it unavailable for {left} more")
                    }
                    None => Ok(()),
                }
            }
        }
    }
}

impl Serialize for NodeState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The filter and scripts find a cause by its first letters, and what is cut in a narrow column is its end.
    #[test]
    fn no_cause_is_called_what_another_begins_with() {
        for cause in CauseKind::ALL {
            for other in CauseKind::ALL.into_iter().filter(|other| *other != cause) {
                let (word, longer) = (cause.to_string(), other.to_string());
                assert!(!longer.starts_with(&word), "{cause:?} `{word}` and {other:?} `{longer}`");
            }
        }
    }
}
