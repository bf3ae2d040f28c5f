//! What `-o json` answers. Field names and meanings are stable: fields may be added, none is renamed or removed.
//!
//! Words (`state`, `phase`, `hold`, `cause`, `text`) are those that the console shows. Instants are RFC 3339 in UTC.
//!
//! ```text
//! status ds/x    Status         drive, status --watch    one Change a line, then one Status
//! status         Fleet          history                  History
//! set-image …    CommandResult
//! ```

use serde::Serialize;

use super::audit::unwritten;
use super::suggested_commands::{SuggestedCommand, suggested_commands};
use crate::driver::{Fleet, FleetRow};
use crate::engine::model::Str;
use crate::engine::model::budget::BudgetView;
use crate::engine::model::command::{Danger, Preview};
use crate::engine::model::driver::DriverView;
use crate::engine::model::event::WatchHealth;
use crate::engine::model::facts::Severity;
use crate::engine::model::facts::{DaemonSetCounters, StrategyKind};
use crate::engine::model::node::{Blame, RestartsView};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::record::{Budgets, DriverStopped, Finish, Gates, Halt, OnDrift, Paused};
use crate::engine::model::rollout_event::RolloutEvent;
use crate::engine::model::step_ahead::{NoStep, StepAhead};
use crate::engine::model::suspect::SuspectView;
use crate::engine::model::time::Timestamp;
use crate::engine::model::unsent::Unsent;
use crate::engine::model::wait::Wait;
use crate::engine::report::snapshot::words::Why;
use crate::engine::report::snapshot::{Alarm, Counts, NodeView, Phase, RevisionView, Snapshot, WatchView};
use crate::engine::rules::clocks::NodeClocks;
use crate::engine::rules::comparison::Comparison;
use crate::engine::rules::ownership::{GitOpsOwner, Returns};

/// The version of these shapes.
pub(crate) const API_VERSION: &str = "rolldeck.io/v1";

/// Names the shape, as Kubernetes objects do.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TypeMeta {
    api_version: &'static str,
    kind: &'static str,
}

impl TypeMeta {
    pub(crate) fn new(kind: &'static str) -> Self {
        Self { api_version: API_VERSION, kind }
    }
}

/// Where one rollout stands.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Status<'a> {
    #[serde(flatten)]
    meta: TypeMeta,
    at: Timestamp,
    context: &'a str,
    namespace: &'a str,
    name: &'a str,
    /// `idle`, `held`, `running`, `paused`, `halted`, `complete`, …
    phase: String,
    /// A change of the template that is asked for and not made yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paused: Option<&'a Paused>,
    #[serde(skip_serializing_if = "Option::is_none")]
    halt: Option<&'a Halt>,
    /// By site where an updated node went down lately: how updated nodes and others compare.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    comparisons: Vec<Compared<'a>>,
    started_at: Option<Timestamp>,
    strategy: &'static str,
    /// `maxSurge` as its owner wrote it, where it surges.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_surge: Option<IntOrPercent>,
    adopted: bool,
    original_strategy: Option<&'a str>,
    managed_by: Vec<ManagedBy<'a>>,
    driver: Driver<'a>,
    from: Option<Revision<'a>>,
    to: Option<Revision<'a>>,
    image_changes: Vec<ImageChange<'a>>,
    counts: Counts,
    budget: BudgetView,
    budgets: Budgets,
    gates: &'a Gates,
    on_drift: OnDrift,
    finish: Finish,
    plan: Plan<'a>,
    /// What stands in the way of the whole rollout, in words; absent where it moves or is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    blocker: Option<String>,
    alarms: Vec<AlarmLine>,
    /// What was asked for by this process, or decided by it, and has not reached the cluster.
    unsent: &'a [Unsent],
    /// Why the last driver stopped by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    driver_stopped: Option<&'a DriverStopped>,
    watches: Vec<Watch<'a>>,
    clocks: Clocks<'a>,
    /// How long the API server takes to answer; absent until it is measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    api_round_trip_millis: Option<u128>,
    /// How long a pause from elsewhere takes to bite; absent where this process does not drive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pause_bites_within_millis: Option<u128>,
    /// What is next in line, or was asked for, waits for; absent where nothing does, or not for long.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits: Option<Waits<'a>>,
    /// What happened lately, oldest first: here, and what other consoles told.
    timeline: Vec<TimelineLine<'a>>,
    /// Which part of the audit log or of the Events is not written, and why.
    unaudited: Vec<Str>,
    /// What can be done about what stands in the way.
    next: Vec<SuggestedCommand>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<Vec<Node<'a>>>,
}

/// Whether to list the nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Nodes {
    /// One entry a node.
    Listed,
    /// Counts only.
    Counted,
}

impl<'a> Status<'a> {
    pub(crate) fn new(context: &'a str, snapshot: &'a Snapshot, nodes: Nodes) -> Self {
        let nodes =
            (nodes == Nodes::Listed).then(|| snapshot.nodes.iter().map(|node| Node::new(node, snapshot.at)).collect());
        Self {
            meta: TypeMeta::new("RolloutStatus"),
            at: snapshot.at,
            context,
            namespace: &snapshot.namespace,
            name: &snapshot.name,
            phase: snapshot.phase.to_string(),
            asked: snapshot.asked.as_deref(),
            paused: match &snapshot.phase {
                Phase::Paused(paused) => Some(paused),
                _ => None,
            },
            halt: snapshot.halt.as_ref(),
            comparisons: snapshot.comparisons.iter().map(Compared::new).collect(),
            started_at: snapshot.started_at,
            strategy: strategy(snapshot.strategy),
            max_surge: snapshot.surge,
            adopted: snapshot.adopted,
            original_strategy: snapshot.original_strategy.as_deref(),
            managed_by: snapshot.gitops_owners.iter().map(ManagedBy::new).collect(),
            driver: Driver::new(&snapshot.driver),
            from: snapshot.from.as_ref().map(Revision::new),
            to: snapshot.to.as_ref().map(Revision::new),
            image_changes: snapshot.image_changes.iter().map(ImageChange::new).collect(),
            counts: snapshot.counts,
            budget: snapshot.budget,
            budgets: snapshot.budgets,
            gates: &snapshot.gates,
            on_drift: snapshot.on_drift,
            finish: snapshot.finish,
            plan: Plan::new(snapshot),
            blocker: snapshot.guidance().map(|guidance| guidance.waits),
            alarms: snapshot.alarms.iter().map(AlarmLine::new).collect(),
            unsent: &snapshot.unsent,
            driver_stopped: snapshot.driver_stopped.as_ref(),
            watches: snapshot.watches.iter().map(Watch::new).collect(),
            clocks: Clocks::new(snapshot),
            api_round_trip_millis: snapshot.distance.round_trip.map(|span| span.as_millis()),
            pause_bites_within_millis: snapshot.distance.pause_within.map(|span| span.as_millis()),
            waits: snapshot.waits.as_ref().map(Waits::new),
            timeline: snapshot.timeline.iter().map(TimelineLine::new).collect(),
            unaudited: unwritten(snapshot),
            next: suggested_commands(context, snapshot),
            nodes,
        }
    }
}

/// A wait: `for` is `lease`, `proof`, `record`, `answer`, `seen`, `lost`, `rate`, `retry`, `watch` or `handover`, with what
/// belongs to it (`since`, `until`, …); `text` is the line that the console shows.
#[derive(Serialize)]
struct Waits<'a> {
    #[serde(flatten)]
    wait: &'a Wait,
    text: String,
}

impl<'a> Waits<'a> {
    fn new(wait: &'a Wait) -> Self {
        Self { wait, text: wait.to_string() }
    }
}

/// One thing that happened.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TimelineLine<'a> {
    time: Timestamp,
    /// Which person did it; absent when the rollout did it by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    /// The same as the reason of its Event: `RolloutPaused`.
    reason: &'a str,
    /// `normal` or `warning`.
    severity: Severity,
    text: String,
}

impl<'a> TimelineLine<'a> {
    fn new(rollout_event: &'a RolloutEvent) -> Self {
        let RolloutEvent { at, by, .. } = rollout_event;
        let (reason, severity, text) = (rollout_event.reason(), rollout_event.severity(), rollout_event.to_string());
        Self { time: *at, by: by.as_deref(), reason, severity, text }
    }
}

fn strategy(kind: StrategyKind) -> &'static str {
    match kind {
        StrategyKind::RollingUpdate => "RollingUpdate",
        StrategyKind::OnDelete => "OnDelete",
    }
}

/// Something else that manages the DaemonSet. `returns` is `byItself`, `whenTold`, `never` or `unknown`: when it sets back
/// what a rollout changes.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ManagedBy<'a> {
    tool: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    application: Option<String>,
    returns: Returns,
    expects: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    holding: Option<String>,
    evidence: &'a [String],
}

impl<'a> ManagedBy<'a> {
    fn new(gitops_owner: &'a GitOpsOwner) -> Self {
        Self {
            tool: gitops_owner.tool.to_string(),
            application: gitops_owner.application.as_ref().map(ToString::to_string),
            returns: gitops_owner.returns,
            expects: gitops_owner.expects(),
            holding: gitops_owner.holding(),
            evidence: &gitops_owner.evidence,
        }
    }
}

/// Who drives: `state` is `you`, `other`, `lost`, `waiting`, `nobody`, `unknown`, or `named` where the Lease names somebody
/// whom we have not seen renew it: then `renewedAt` is when they did last, by their clock.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver<'a> {
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seen_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    renewed_at: Option<Timestamp>,
}

impl<'a> Driver<'a> {
    fn new(driver: &'a DriverView) -> Self {
        let (state, holder, seen_at) = match driver {
            DriverView::Unknown => ("unknown", None, None),
            DriverView::Nobody => ("nobody", None, None),
            DriverView::You { renewed_at } => ("you", None, Some(*renewed_at)),
            DriverView::Waiting { holder } => ("waiting", holder.as_deref(), None),
            DriverView::Named { holder, .. } => ("named", Some(&**holder), None),
            DriverView::Other { holder, seen_at } => ("other", Some(&**holder), Some(*seen_at)),
            DriverView::Lost { holder, seen_at } => ("lost", Some(&**holder), Some(*seen_at)),
        };
        let renewed_at = match driver {
            DriverView::Named { renewed_at, .. } => *renewed_at,
            _ => None,
        };
        Self { state, holder, seen_at, renewed_at }
    }
}

/// One revision.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Revision<'a> {
    number: Option<i64>,
    hash: &'a str,
    images: Vec<Image<'a>>,
    created_at: Option<Timestamp>,
    change_cause: Option<&'a str>,
    pods: u32,
}

impl<'a> Revision<'a> {
    pub(crate) fn new(revision: &'a RevisionView) -> Self {
        Self {
            number: revision.number,
            hash: &revision.hash,
            images: revision.images.iter().map(|(container, image)| Image { container, image }).collect(),
            created_at: revision.created_at,
            change_cause: revision.change_cause.as_deref(),
            pods: revision.pods,
        }
    }
}

#[derive(Serialize)]
struct Image<'a> {
    container: &'a str,
    image: &'a str,
}

#[derive(Serialize)]
struct ImageChange<'a> {
    container: &'a str,
    from: Option<&'a str>,
    to: Option<&'a str>,
}

impl<'a> ImageChange<'a> {
    fn new(change: &'a crate::engine::report::snapshot::ImageChange) -> Self {
        Self { container: &change.container, from: change.from.as_deref(), to: change.to.as_deref() }
    }
}

/// The plan: `step` counts from 1, 0 before the first.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Plan<'a> {
    steps: &'a [IntOrPercent],
    step: usize,
    partition: Option<IntOrPercent>,
    keep: u32,
    allowed: u32,
    selector: Option<String>,
    selected: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_step: Option<NextStep>,
}

impl<'a> Plan<'a> {
    fn new(snapshot: &'a Snapshot) -> Self {
        let plan = &snapshot.plan;
        Self {
            steps: &plan.steps,
            step: plan.step.map_or(0, |step| step + 1),
            partition: plan.partition,
            keep: plan.keep,
            allowed: plan.allowed,
            selector: plan.selector.as_ref().map(ToString::to_string),
            selected: plan.selected,
            next_step: plan.next.as_ref().map(NextStep::new),
        }
    }
}

/// The next step: what it allows in total and how many nodes may go at once by it, or why there is none.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NextStep {
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<IntOrPercent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed: Option<u32>,
    /// Absent while the new revision is not settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    frees: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

impl NextStep {
    fn new(next: &Result<StepAhead, NoStep>) -> Self {
        match next {
            Ok(ahead) => {
                Self { step: Some(ahead.step), allowed: Some(ahead.allowed), frees: ahead.frees, refused: None }
            }
            Err(none) => Self { step: None, allowed: None, frees: None, refused: Some(none.to_string()) },
        }
    }
}

/// Something that needs attention: its kind for a script, its words for people.
#[derive(Serialize)]
pub(crate) struct AlarmLine {
    #[serde(rename = "type")]
    kind: &'static str,
    text: String,
    /// How to hold whoever is behind it, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    holding: Option<String>,
}

impl AlarmLine {
    fn new(alarm: &Alarm) -> Self {
        let kind = match alarm {
            Alarm::Cascade { .. } => "cascade",
            Alarm::StrategyDrifted { .. } => "strategyDrifted",
            Alarm::OnDeleteEnforced { .. } => "onDeleteEnforced",
            Alarm::TemplateChanged { .. } => "templateChanged",
            Alarm::TargetUncertain { .. } => "targetUncertain",
            Alarm::BudgetUsedUp { .. } => "budgetUsedUp",
            Alarm::DeletionRefused { .. } => "deletionRefused",
            Alarm::ControllerIdle { .. } => "controllerIdle",
            Alarm::SiteOutage(_) => "siteOutage",
            Alarm::ReleaseWaits { .. } => "releaseWaits",
            Alarm::Halted { .. } => "halted",
            Alarm::Blind { .. } => "blind",
            Alarm::TooFar { .. } => "tooFar",
            Alarm::WriteFailing { .. } => "writeFailing",
            Alarm::RecordUnreadable { .. } => "recordUnreadable",
            Alarm::ForeignRecord => "foreignRecord",
            Alarm::BeingDeleted => "beingDeleted",
        };
        Self { kind, text: alarm.to_string(), holding: alarm.holding().map(str::to_owned) }
    }
}

/// How well one watched kind can be seen: `state` is `loading`, `live`, `down`, `lagging` or `forbidden`; `heardAt` is
/// when its watch last gave a sign of life.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Watch<'a> {
    watched: String,
    state: &'static str,
    heard_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
}

impl<'a> Watch<'a> {
    fn new(view: &'a WatchView) -> Self {
        let (state, since, why) = match &view.health {
            WatchHealth::Loading => ("loading", None, None),
            WatchHealth::Live => ("live", None, None),
            WatchHealth::Down { since, why } => ("down", Some(*since), Some(&**why)),
            WatchHealth::Lagging { since, why } => ("lagging", Some(*since), Some(&**why)),
            WatchHealth::Forbidden { why } => ("forbidden", None, Some(&**why)),
        };
        Self { watched: view.watched.to_string(), state, heard_at: view.heard_at, since, why }
    }
}

/// Clocks. `serverMinusHereMillis` is absent until it is measured; `nodesOff` counts nodes that are off by 5 s and more,
/// `uncounted` available pods that the DaemonSet controller counts as unavailable because of it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Clocks<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    server_minus_here_millis: Option<i64>,
    nodes_off: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    worst_node: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    worst_millis: Option<i64>,
    uncounted: u32,
}

impl<'a> Clocks<'a> {
    fn new(snapshot: &'a Snapshot) -> Self {
        let NodeClocks { off, worst, uncounted } = &snapshot.node_clocks;
        Self {
            server_minus_here_millis: snapshot.skew_millis,
            nodes_off: *off,
            worst_node: worst.as_ref().map(|(node, _)| &**node),
            worst_millis: worst.as_ref().map(|(_, millis)| *millis),
            uncounted: *uncounted,
        }
    }
}

/// One node. `why` is the line that the console shows.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Node<'a> {
    name: &'a str,
    state: String,
    why: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hold: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blame: Option<Blame>,
    since: Option<Timestamp>,
    revision: Option<&'a str>,
    revision_number: Option<i64>,
    at_target: bool,
    image: String,
    pod: Option<&'a str>,
    pod_created_at: Option<Timestamp>,
    restarts: u32,
    /// The restarts that it is watched for.
    #[serde(skip_serializing_if = "Option::is_none")]
    restarted: Option<RestartsView>,
    /// How it stands, if it went down after its update.
    #[serde(skip_serializing_if = "Option::is_none")]
    suspect: Option<Suspect>,
    /// Why the node should not run the pod, where it should not.
    #[serde(skip_serializing_if = "Option::is_none")]
    ineligible: Option<String>,
    /// Whether its pod is Ready on a Ready node.
    serves: bool,
    selected: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_skew_millis: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uncounted_until: Option<Timestamp>,
}

impl<'a> Node<'a> {
    pub(crate) fn new(node: &'a NodeView, at: Timestamp) -> Self {
        Self {
            name: &node.name,
            state: node.state.to_string(),
            why: Why { node, at }.to_string(),
            hold: node.hold.as_ref().map(ToString::to_string),
            cause: node.cause.as_ref().map(ToString::to_string),
            message: node.cause.as_ref().and_then(|cause| cause.message.as_deref()),
            blame: node.blame,
            since: node.since,
            revision: node.revision.as_deref(),
            revision_number: node.revision_number,
            at_target: node.at_target,
            image: node.image.to_string(),
            pod: node.pod.as_deref(),
            pod_created_at: node.pod_created_at,
            restarts: node.restarts,
            restarted: node.restarted,
            suspect: node.suspect.map(|suspect| Suspect::new(suspect, at)),
            ineligible: node.ineligible.as_ref().map(ToString::to_string),
            serves: node.serves,
            selected: node.selected,
            clock_skew_millis: node.clock_skew_millis,
            uncounted_until: node.uncounted_until,
        }
    }
}

/// How nodes that went down compare, counted and in words.
#[derive(Serialize)]
struct Compared<'a> {
    #[serde(flatten)]
    counts: &'a Comparison,
    text: String,
}

impl<'a> Compared<'a> {
    fn new(counts: &'a Comparison) -> Self {
        Self { counts, text: counts.to_string() }
    }
}

/// A node that went down after its update: `state` is `waits` (it counts as failed from `until` on), `siteOutage` or
/// `failed`.
#[derive(Serialize)]
struct Suspect {
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<Timestamp>,
    text: String,
}

impl Suspect {
    fn new(suspect: SuspectView, at: Timestamp) -> Self {
        let (state, until) = match suspect {
            SuspectView::Waits { until } => ("waits", Some(until)),
            SuspectView::Outage => ("siteOutage", None),
            SuspectView::Stays | SuspectView::Again | SuspectView::Compared => ("failed", None),
        };
        Self { state, until, text: suspect.words(at).to_string() }
    }
}

/// A DaemonSet's revisions, newest first.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct History<'a> {
    #[serde(flatten)]
    meta: TypeMeta,
    at: Timestamp,
    namespace: &'a str,
    name: &'a str,
    revisions: Vec<Revision<'a>>,
}

impl<'a> History<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot) -> Self {
        Self {
            meta: TypeMeta::new("RevisionHistory"),
            at: snapshot.at,
            namespace: &snapshot.namespace,
            name: &snapshot.name,
            revisions: snapshot.revisions.iter().map(Revision::new).collect(),
        }
    }
}

/// What a one-shot write would do, or did: `settled` is absent after `--dry-run`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CommandResult<'a> {
    #[serde(flatten)]
    pub(crate) meta: TypeMeta,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) preview: PreviewLines<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) settled: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) next: Vec<String>,
}

/// What a write would do.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PreviewLines<'a> {
    title: &'a str,
    effects: &'a [String],
    /// What else manages the DaemonSet and may set it back.
    warnings: &'a [String],
    nodes: &'a [Str],
    calls: &'a [String],
    /// `none`, `bounded`, `serious` or `beyond`
    danger: &'static str,
}

impl<'a> PreviewLines<'a> {
    pub(crate) fn new(preview: &'a Preview) -> Self {
        Self {
            title: &preview.title,
            effects: &preview.effects,
            warnings: &preview.warnings,
            nodes: &preview.nodes,
            calls: &preview.calls,
            danger: match preview.danger {
                Danger::None => "none",
                Danger::Bounded => "bounded",
                Danger::Serious => "serious",
                Danger::Beyond => "beyond",
            },
        }
    }
}

/// All DaemonSets that we may see.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FleetList<'a> {
    #[serde(flatten)]
    meta: TypeMeta,
    context: &'a str,
    items: Vec<FleetItem<'a>>,
}

impl<'a> FleetList<'a> {
    pub(crate) fn new(context: &'a str, fleet: &'a Fleet) -> Self {
        Self { meta: TypeMeta::new("Fleet"), context, items: fleet.rows.iter().map(FleetItem::new).collect() }
    }
}

/// One DaemonSet; `drivenBy` is `controller`, `nobody`, `you`, `unknown` or an identity.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FleetItem<'a> {
    namespace: &'a str,
    name: &'a str,
    desired: u32,
    current: u32,
    ready: u32,
    updated: u32,
    available: u32,
    misscheduled: u32,
    strategy: &'a str,
    state: String,
    driven_by: String,
}

impl<'a> FleetItem<'a> {
    fn new(row: &'a FleetRow) -> Self {
        let DaemonSetCounters { desired, current, ready, updated, available, misscheduled } = row.counters;
        Self {
            namespace: &row.namespace,
            name: &row.name,
            desired,
            current,
            ready,
            updated,
            available,
            misscheduled,
            strategy: &row.strategy,
            state: row.state.to_string(),
            driven_by: row.driven_by.to_string(),
        }
    }
}
