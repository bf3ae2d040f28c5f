//! `status`: the state of one rollout.

use serde::Serialize;

use super::alarm::AlarmJson;
use super::driver::{DriverJson, ManagedByJson};
use super::node::NodeJson;
use super::prewarm::PrewarmJson;
use super::pulls::{PacedSiteJson, PullsJson};
use super::revision::RevisionJson;
use super::watch::WatchJson;
use super::{TypeMetaJson, kinds};
use crate::cli::audit::unwritten;
use crate::cli::suggested_commands::{CommandPlace, SuggestedCommand, suggested_commands};
use crate::engine::model::Str;
use crate::engine::model::budget::BudgetView;
use crate::engine::model::clocks::NodeClocks;
use crate::engine::model::comparison::Comparison;
use crate::engine::model::estimate::{RolloutEstimate, UpdateTimes};
use crate::engine::model::facts::Severity;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::record::{DriverStopped, Halt, Paused};
use crate::engine::model::rollout_event::RolloutEvent;
use crate::engine::model::settings::{Setting, Settings};
use crate::engine::model::step_ahead::{NoStep, StepAhead};
use crate::engine::model::time::Timestamp;
use crate::engine::model::unsent::Unsent;
use crate::engine::model::wait::Wait;
use crate::engine::report::last_rollout::{LastRollout, RolloutEnd};
use crate::engine::report::snapshot::{Counts, Phase, Snapshot};

/// The state of one rollout.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StatusJson<'a> {
    #[serde(flatten)]
    meta: TypeMetaJson,
    at: Timestamp,
    context: &'a str,
    namespace: &'a str,
    name: &'a str,
    /// `idle`, `held`, `running`, `rolling back`, `paused`, `halted`, `complete`, …
    phase: String,
    /// A requested change of the template that is not rolled out yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    requested_change: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paused: Option<&'a Paused>,
    #[serde(skip_serializing_if = "Option::is_none")]
    halt: Option<&'a Halt>,
    /// A comparison of updated and other nodes, per site in which an updated node went down lately.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    comparisons: Vec<SiteComparisonJson<'a>>,
    /// The beginning of the rollout to the present target.
    started_at: Option<Timestamp>,
    /// The end of the last rollout, while none is under way and Events still report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_rollout: Option<LastRolloutJson>,
    strategy: &'static str,
    /// `maxSurge` as its owner wrote it, if the DaemonSet surges.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_surge: Option<IntOrPercent>,
    adopted: bool,
    original_strategy: Option<&'a str>,
    managed_by: Vec<ManagedByJson<'a>>,
    driver: DriverJson<'a>,
    from: Option<RevisionJson<'a>>,
    to: Option<RevisionJson<'a>>,
    /// Hash of the present template's revision. It differs from that of `to` if somebody else has changed the template
    /// during the rollout. Null while it is not known.
    template_revision: Option<&'a str>,
    image_changes: Vec<ImageChangeJson<'a>>,
    counts: Counts,
    pulls: PullsJson<'a>,
    /// The limits of sites that follow the capacity of their links.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pace: Vec<PacedSiteJson<'a>>,
    /// Null where the record or the pods may not be read.
    budget: Option<BudgetView>,
    /// The estimated end, as far as it can be estimated; `text` is the line that the console shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    estimate: Option<EstimateJson>,
    /// The durations of pulls and starts so far; empty if none is known.
    times: UpdateTimes,
    /// Absent where the record may not be read.
    #[serde(flatten)]
    settings: Option<Settings>,
    /// The settings that nobody set and that have their default. `budget` contains the resulting values.
    by_default: Vec<String>,
    plan: PlanJson<'a>,
    /// The obstacle of the whole rollout, in words; absent if the rollout moves or is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    blocker: Option<String>,
    alarms: Vec<AlarmJson>,
    /// Commands and decisions of this process that have not reached the cluster.
    unsent: &'a [Unsent],
    /// The reason why the last driver stopped by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    driver_stopped: Option<&'a DriverStopped>,
    watches: Vec<WatchJson<'a>>,
    clocks: ClocksJson<'a>,
    /// The round trip time of the API server; absent until it is measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    api_round_trip_millis: Option<u128>,
    /// How long a pause from another process takes to have effect; absent if this process does not drive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pause_takes_effect_within_millis: Option<u128>,
    /// The wait of the next node or of a requested command; absent if there is none, or it is short.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits: Option<WaitJson<'a>>,
    /// Pre-warming and its progress; absent if nothing is pre-warmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    prewarm: Option<PrewarmJson<'a>>,
    /// The recent events, oldest first: those of this process, and those that other consoles reported.
    timeline: Vec<TimelineEventJson<'a>>,
    /// How many events there are: more than in `timeline` where that has no room for the oldest ones.
    timeline_total: usize,
    /// The parts of the audit log or of the Events that are not written, with the reason.
    unaudited: Vec<Str>,
    /// The remedies for the present obstacles.
    next: Vec<SuggestedCommand>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<Vec<NodeJson<'a>>>,
}

/// The end of a rollout.
#[derive(Serialize, Clone, Debug)]
#[serde(rename_all = "camelCase")]
struct LastRolloutJson {
    ended_at: Timestamp,
    /// `complete`, `rolledBack` or `releasedEarly`.
    ended: RolloutEnd,
    /// Who rolled it back; where rolldeck did by itself, also why. Absent if it was not rolled back, or if no event tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    rolled_back: Option<String>,
}

impl LastRolloutJson {
    fn new((last, rolled_back): (LastRollout, Option<String>)) -> Self {
        Self { ended_at: last.at, ended: last.ended, rolled_back }
    }
}

/// Whether the nodes are listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NodeListing {
    /// One entry per node.
    Listed,
    /// Counts only.
    Counted,
}

impl<'a> StatusJson<'a> {
    pub(crate) fn new(place: &'a CommandPlace, snapshot: &'a Snapshot, nodes: NodeListing) -> Self {
        let settings = (!snapshot.has_unknown_settings()).then_some(&snapshot.settings);
        let nodes = (nodes == NodeListing::Listed)
            .then(|| snapshot.nodes.iter().map(|node| NodeJson::new(node, snapshot.at)).collect());
        Self {
            meta: TypeMetaJson::new("RolloutStatus"),
            at: snapshot.at,
            context: &place.context,
            namespace: &snapshot.namespace,
            name: &snapshot.name,
            phase: snapshot.phase_word(),
            requested_change: snapshot.requested_change.as_deref(),
            paused: snapshot.paused.as_ref(),
            halt: snapshot.halt.as_ref(),
            comparisons: snapshot.comparisons.iter().map(SiteComparisonJson::new).collect(),
            started_at: snapshot.target_began(),
            last_rollout: snapshot
                .last_rollout()
                .map(|last| LastRolloutJson::new((last, snapshot.last_rolled_back_by()))),
            strategy: kinds::strategy(snapshot.strategy),
            max_surge: snapshot.surge,
            adopted: snapshot.adopted,
            original_strategy: snapshot.original_strategy.as_deref(),
            managed_by: snapshot.gitops_owners.iter().map(ManagedByJson::new).collect(),
            driver: DriverJson::new(snapshot),
            from: snapshot.from.as_ref().map(RevisionJson::new),
            to: snapshot.to.as_ref().map(RevisionJson::new),
            template_revision: snapshot.template_revision.as_deref(),
            image_changes: snapshot.image_changes.iter().map(ImageChangeJson::new).collect(),
            counts: snapshot.counts,
            pulls: PullsJson::new(&snapshot.pulls),
            pace: snapshot.pace.iter().map(PacedSiteJson::new).collect(),
            budget: snapshot.budget_unknown_because().is_none().then_some(snapshot.budget),
            estimate: EstimateJson::new(&snapshot.estimate),
            times: snapshot.times,
            by_default: settings.map(by_default).unwrap_or_default(),
            settings: settings.cloned(),
            plan: PlanJson::new(snapshot),
            blocker: snapshot.guidance().map(|guidance| guidance.waits),
            alarms: snapshot.alarms.iter().map(AlarmJson::new).collect(),
            unsent: &snapshot.unsent,
            driver_stopped: snapshot.driver_stopped.as_ref(),
            watches: snapshot.watches.iter().map(WatchJson::new).collect(),
            clocks: ClocksJson::new(snapshot),
            api_round_trip_millis: snapshot.distance.round_trip.map(|span| span.as_millis()),
            pause_takes_effect_within_millis: snapshot.distance.pause_within.map(|span| span.as_millis()),
            waits: snapshot.waits.as_ref().map(WaitJson::new),
            prewarm: snapshot.prewarm.as_ref().map(PrewarmJson::new),
            timeline: snapshot.timeline.iter().map(TimelineEventJson::new).collect(),
            timeline_total: snapshot.timeline.len() + snapshot.earlier_events,
            unaudited: unwritten(snapshot),
            next: suggested_commands(place, snapshot),
            nodes,
        }
    }
}

/// The names of settings that have their default.
fn by_default(settings: &Settings) -> Vec<String> {
    Setting::ALL.iter().filter(|setting| !setting.is_changed_in(settings)).map(|setting| setting.path()).collect()
}

/// A wait: `for` is `lease`, `proof`, `record`, `answer`, `seen`, `lost`, `rate`, `retry`, `watch` or `handover`, with what
/// belongs to it (`since`, `until`, …); `text` is the line that the console shows.
#[derive(Serialize)]
struct WaitJson<'a> {
    #[serde(flatten)]
    wait: &'a Wait,
    text: String,
}

impl<'a> WaitJson<'a> {
    fn new(wait: &'a Wait) -> Self {
        Self { wait, text: wait.to_string() }
    }
}

/// An estimate: `is` is `known` or `stands`.
#[derive(Serialize)]
struct EstimateJson {
    #[serde(flatten)]
    estimate: RolloutEstimate,
    text: String,
}

impl EstimateJson {
    fn new(estimate: &RolloutEstimate) -> Option<Self> {
        (*estimate != RolloutEstimate::None).then(|| Self { estimate: *estimate, text: estimate.to_string() })
    }
}

/// One event.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TimelineEventJson<'a> {
    time: Timestamp,
    /// The person who did it; absent if the rollout did it by itself, or only an Event reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    /// The process that an Event on the DaemonSet names as its author. Anybody who may create Events can claim that.
    #[serde(skip_serializing_if = "Option::is_none")]
    reported_by: Option<&'a str>,
    /// The reason of its Event: `RolloutPaused`.
    reason: &'a str,
    /// `normal` or `warning`.
    severity: Severity,
    text: String,
}

impl<'a> TimelineEventJson<'a> {
    fn new(rollout_event: &'a RolloutEvent) -> Self {
        let RolloutEvent { at, by, .. } = rollout_event;
        let (reason, severity, text) = (rollout_event.reason(), rollout_event.severity(), rollout_event.to_string());
        Self {
            time: *at,
            by: by.as_deref(),
            reported_by: rollout_event.reported_by().map(|by| &**by),
            reason,
            severity,
            text,
        }
    }
}

#[derive(Serialize)]
struct ImageChangeJson<'a> {
    container: &'a str,
    from: Option<&'a str>,
    to: Option<&'a str>,
}

impl<'a> ImageChangeJson<'a> {
    fn new(change: &'a crate::engine::report::snapshot::ImageChange) -> Self {
        Self { container: &change.container, from: change.from.as_deref(), to: change.to.as_deref() }
    }
}

/// The plan. `step` is the number of the current step, counted from 1; 0 before the first. `partition`, `keep` and `allowed` are null unless a
/// rollout has begun or the DaemonSet is adopted, and while it is being handed back: the partition then keeps no pod.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlanJson<'a> {
    /// `forward`, or `back`: a roll back, which ignores steps, partition and selector.
    direction: &'static str,
    steps: &'a [IntOrPercent],
    step: usize,
    partition: Option<IntOrPercent>,
    keep: Option<u32>,
    allowed: Option<u32>,
    selector: Option<String>,
    selected: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_step: Option<NextStepJson>,
}

impl<'a> PlanJson<'a> {
    fn new(snapshot: &'a Snapshot) -> Self {
        let plan = &snapshot.plan;
        let is_in_force = (snapshot.started_at.is_some() || snapshot.adopted)
            && !matches!(snapshot.phase, Phase::Releasing(_))
            && !snapshot.has_unknown_settings();
        Self {
            direction: kinds::direction(snapshot.direction),
            steps: &plan.steps,
            step: plan.step.map_or(0, |step| step + 1),
            partition: plan.partition.filter(|_| is_in_force),
            keep: is_in_force.then_some(plan.keep),
            allowed: is_in_force.then_some(plan.allowed),
            selector: plan.selector.as_ref().map(ToString::to_string),
            selected: plan.selected,
            next_step: plan.next.as_ref().map(NextStepJson::new),
        }
    }
}

/// The next step: the total that it allows and the number of nodes that it lets go, or the reason why there is none.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NextStepJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<IntOrPercent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed: Option<u32>,
    /// Absent while the new revision is not known for certain.
    #[serde(skip_serializing_if = "Option::is_none")]
    frees: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

impl NextStepJson {
    fn new(next: &Result<StepAhead, NoStep>) -> Self {
        match next {
            Ok(ahead) => {
                Self { step: Some(ahead.step), allowed: Some(ahead.allowed), frees: ahead.frees, refused: None }
            }
            Err(none) => Self { step: None, allowed: None, frees: None, refused: Some(none.to_string()) },
        }
    }
}

/// A comparison of nodes that went down, in numbers and in words.
#[derive(Serialize)]
struct SiteComparisonJson<'a> {
    #[serde(flatten)]
    counts: &'a Comparison,
    text: String,
}

impl<'a> SiteComparisonJson<'a> {
    fn new(counts: &'a Comparison) -> Self {
        Self { counts, text: counts.to_string() }
    }
}

/// Clocks. `serverMinusHereMillis` is absent until it is measured; `nodesOff` counts nodes that are off by 5 s and more,
/// `counted_unavailable` available pods that the DaemonSet controller counts as unavailable because of it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ClocksJson<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    server_minus_here_millis: Option<i64>,
    nodes_off: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    worst_node: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    worst_millis: Option<i64>,
    counted_unavailable: u32,
}

impl<'a> ClocksJson<'a> {
    fn new(snapshot: &'a Snapshot) -> Self {
        let NodeClocks { off, worst, counted_unavailable } = &snapshot.node_clocks;
        Self {
            server_minus_here_millis: snapshot.skew_millis,
            nodes_off: *off,
            worst_node: worst.as_ref().map(|(node, _)| &**node),
            worst_millis: worst.as_ref().map(|(_, millis)| *millis),
            counted_unavailable: *counted_unavailable,
        }
    }
}
