//! Snapshots made by hand, as a driver would publish them.

mod fleet;
mod pulls;
mod unseen;

pub(super) use self::fleet::fleet;
pub(super) use self::pulls::pulling;
pub(super) use self::unseen::{clocks, forbidden, lagging, skipped, stale};

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::engine::model::Str;
use crate::engine::model::budget::{BudgetView, Replacer};
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::clocks::NodeClocks;
use crate::engine::model::command::Preview;
use crate::engine::model::danger::Danger;
use crate::engine::model::driver::DriverView;
use crate::engine::model::estimate::{RolloutEstimate, TimeRange, TimeSpread, UpdateTimes};
use crate::engine::model::event::{Permission, Right, SkippedObjects, WatchHealth, Watched};
use crate::engine::model::facts::{DaemonSetCounters, StrategyKind};
use crate::engine::model::gitops_owner::Application;
use crate::engine::model::gitops_owner::GitOpsOwner;
use crate::engine::model::gitops_owner::RevertTrigger;
use crate::engine::model::gitops_owner::StrategyOwnership;
use crate::engine::model::gitops_owner::Tool;
use crate::engine::model::hold::Hold;
use crate::engine::model::node::{Blame, ImageState, NodeState};
use crate::engine::model::pod_wait::{Blocked, Blocker, PodWait};
use crate::engine::model::presence::Presence;
use crate::engine::model::pull::{Evidence, FinishedPull, PeerScope, PullFailure, PullState, PullSummary, SlowPull};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::record::{Direction, Halt, HaltingGate, Paused};
use crate::engine::model::roll_back::NoRollBack;
use crate::engine::model::rollout_event::RevisionHalt;
use crate::engine::model::settings::Settings;
use crate::engine::model::site::SiteLabel;
use crate::engine::model::step_ahead::{NoStep, SelectionDone, StepAhead};
use crate::engine::model::template::{ImageUse, Template};
use crate::engine::model::time::Timestamp;
use crate::engine::model::wait::DistanceView;
use crate::engine::report::snapshot::Counts;
use crate::engine::report::snapshot::ImageChange;
use crate::engine::report::snapshot::NodeView;
use crate::engine::report::snapshot::Phase;
use crate::engine::report::snapshot::PlanView;
use crate::engine::report::snapshot::PodRevision;
use crate::engine::report::snapshot::RevisionView;
use crate::engine::report::snapshot::Snapshot;
use crate::engine::report::snapshot::WatchView;
use crate::tui::daemonset_ref::DaemonSetRef;

/// The instant of every snapshot here.
pub(super) fn noon() -> Timestamp {
    Timestamp::parse("2026-11-21T12:00:00Z").unwrap()
}

pub(super) fn ago(secs: u64) -> Timestamp {
    noon() - Duration::from_secs(secs)
}

pub(super) const MINUTE: u64 = 60;
pub(super) const DAY: u64 = 86_400;

pub(super) fn minutes(least: u64, most: u64) -> TimeRange {
    TimeRange { least: Duration::from_secs(MINUTE * least), most: Duration::from_secs(MINUTE * most) }
}

/// A node, outdated and next in line unless said otherwise.
pub(super) fn node(name: &str) -> NodeView {
    NodeView {
        hold: Some(Hold::Next),
        since: Some(ago(9 * DAY)),
        revision: Some(PodRevision { hash: "6f7c9d5b8".into(), number: Some(14) }),
        pod: Some(format!("ipc-agent-{}", &name[name.len().saturating_sub(3)..]).into()),
        pod_created_at: Some(ago(9 * DAY)),
        eligible: true,
        serves: true,
        selected: true,
        site: "munich".into(),
        labels: [("kubernetes.io/hostname", name), ("line", "line3"), ("topology.kubernetes.io/zone", "munich")]
            .into_iter()
            .collect(),
        ..NodeView::unknown(name)
    }
}

pub(super) fn held(name: &str, hold: Hold) -> NodeView {
    NodeView { hold: Some(hold), ..node(name) }
}

/// A node at the target revision, in this state for so many seconds.
pub(super) fn target(name: &str, state: NodeState, secs: u64) -> NodeView {
    NodeView {
        state,
        hold: None,
        blame: (state != NodeState::Updated).then_some(Blame::Rollout),
        since: Some(ago(secs)),
        revision: Some(PodRevision { hash: "7d9f5c66b4".into(), number: Some(15) }),
        at_target: true,
        committed: true,
        serves: matches!(state, NodeState::Updated | NodeState::Soaking),
        image: ImageState::Present,
        pod_created_at: Some(ago(secs + 30)),
        ..node(name)
    }
}

pub(super) fn updated(name: &str, secs: u64) -> NodeView {
    target(name, NodeState::Updated, secs)
}

pub(super) fn failed(name: &str, kind: CauseKind, message: &str, secs: u64) -> NodeView {
    let cause = Some(Cause { kind, container: None, message: Some(message.into()) });
    NodeView { cause: cause.map(Box::new), image: ImageState::Failed, ..target(name, NodeState::Failed, secs) }
}

fn revision(hash: &str, number: i64, version: &str, days: u64, pods: u32) -> RevisionView {
    RevisionView {
        hash: hash.into(),
        number: Some(number),
        images: vec![("agent".into(), format!("registry.factory.example/edge/agent:{version}").into())],
        template: Some(template(number, version)),
        seen_numbers: Vec::new(),
        created_at: Some(ago(days * DAY + 60 * MINUTE)),
        change_cause: (number == 13).then(|| "nightly build".into()),
        pods,
        halted: None,
    }
}

/// The template of a revision: each has another image, and more than that changed from 13 to 14 and from 14 to 15.
fn template(number: i64, version: &str) -> Template {
    let mut template = json!({
        "metadata": {"labels": {"app": "ipc-agent"}},
        "spec": {
            "containers": [{
                "name": "agent",
                "image": format!("registry.factory.example/edge/agent:{version}"),
                "args": ["--uplink=mqtt.factory.example:8883", "--buffer=512", "--node=$(NODE_NAME)"],
                "env": [
                    {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
                    {"name": "LOG_LEVEL", "value": if number < 15 { "info" } else { "debug" }},
                ],
                "resources": {
                    "limits": {"memory": if number < 15 { "128Mi" } else { "256Mi" }},
                    "requests": {"cpu": "50m", "memory": "64Mi"},
                },
                "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 10},
                "volumeMounts": [{"name": "spool", "mountPath": "/var/spool/agent"}],
            }],
            "hostNetwork": true,
            "tolerations": [{"operator": "Exists"}],
            "volumes": [{"name": "spool", "hostPath": {"path": "/var/spool/agent", "type": "DirectoryOrCreate"}}],
        },
    });
    if number == 13 {
        template["spec"]["terminationGracePeriodSeconds"] = 30.into();
    }
    if number > 14 {
        template["spec"]["containers"][0]["args"][1] = "--buffer=2048".into();
    }
    Template::from_json(template)
}

fn all_rights() -> Vec<(Right, Permission)> {
    [Right::PatchDaemonSet, Right::DeletePods, Right::CreateLease, Right::UpdateLease]
        .map(|right| (right, Permission::Allowed))
        .into()
}

/// Nothing is known yet.
pub(super) fn loading() -> Snapshot {
    Snapshot {
        at: noon(),
        namespace: "edge".into(),
        name: "ipc-agent".into(),
        uid: None,
        daemonset: Presence::Loading,
        strategy: StrategyKind::RollingUpdate,
        surge: None,
        adopted: false,
        original_strategy: None,
        gitops_owners: [].into(),
        counters: DaemonSetCounters::default(),
        driver: DriverView::Unknown,
        identity: "ada@bastion-3/1f00c3a9".into(),
        watches: Watched::ALL
            .map(|watched| WatchView { watched, health: WatchHealth::Loading, heard_at: None, skipped: None })
            .into(),
        rights: Vec::new(),
        phase: Phase::Loading,
        direction: Direction::Forward,
        change_is_written: false,
        requested_change: None,
        started_at: None,
        begun_anew: None,
        lost_record: None,
        retargeted_at: None,
        from: None,
        to: None,
        template_revision: None,
        template_writer: None,
        image_changes: Vec::new(),
        revisions: Arc::new([]),
        roll_back: Err(NoRollBack::NotLoaded),
        roll_back_asks: Default::default(),
        counts: Counts::default(),
        pulls: PullSummary::default(),
        budget: BudgetView::default(),
        estimate: RolloutEstimate::None,
        times: UpdateTimes::default(),
        plan: PlanView::default(),
        settings: Settings::default(),
        pace: Arc::default(),
        site_label: SiteLabel::default(),
        comparisons: Vec::new(),
        blocked: None,
        paused: None,
        halt: None,
        alarms: Vec::new(),
        timeline: Arc::default(),
        earlier_events: 0,
        unsent: Vec::new(),
        driver_stopped: None,
        unaudited: Vec::new(),
        waits: None,
        prewarm: None,
        distance: DistanceView::default(),
        skew_millis: None,
        node_clocks: NodeClocks::default(),
        creation_refused_at: None,
        nodes: [].into(),
    }
}

/// 120 nodes at one revision, its own controller in charge.
pub(super) fn idle() -> Snapshot {
    let names = (1..=120).map(|number| format!("ipc-{number:03}"));
    let nodes: Vec<NodeView> = names
        .map(|name| NodeView {
            state: NodeState::Updated,
            hold: None,
            at_target: true,
            image: ImageState::Present,
            ..node(&name)
        })
        .collect();
    Snapshot {
        daemonset: Presence::Present,
        counters: DaemonSetCounters {
            desired: 120,
            current: 120,
            ready: 120,
            updated: 120,
            available: 120,
            misscheduled: 0,
        },
        driver: DriverView::Nobody,
        watches: Watched::ALL
            .map(|watched| WatchView { watched, health: WatchHealth::Live, heard_at: Some(ago(20)), skipped: None })
            .into(),
        rights: all_rights(),
        phase: Phase::Idle,
        to: Some(revision("6f7c9d5b8", 14, "v1.8.2", 9, 120)),
        template_revision: Some("6f7c9d5b8".into()),
        revisions: Arc::new([revision("6f7c9d5b8", 14, "v1.8.2", 9, 120), revision("5d8b7c4f9", 13, "v1.8.1", 41, 0)]),
        roll_back: Ok("5d8b7c4f9".into()),
        counts: Counts { nodes: 120, updated: 120, committed: 120, available: 120, ..Counts::default() },
        budget: BudgetView { max_unavailable: 2, max_pulling: 2, ..BudgetView::default() },
        nodes: nodes.into(),
        ..loading()
    }
}

/// The rollout of the screens' sketch: adopted, driven from here, two steps in, with trouble.
pub(super) fn running() -> Snapshot {
    let mut nodes = vec![
        failed("ipc-017", CauseKind::ImageNotFound, "manifest for edge/agent:v1.9.0 not found", 3 * MINUTE),
        NodeView { blame: Some(Blame::Suspect), ..target("ipc-031", NodeState::NodeDown, 65) },
        NodeView { image: ImageState::Pulling { since: ago(20) }, ..target("ipc-018", NodeState::Pulling, 20) },
        target("ipc-019", NodeState::Soaking, 50),
        NodeView { rank: Some(0), ..held("ipc-020", Hold::Budget { used: 2, next: 0, limit: 2 }) },
        NodeView { rank: Some(1), ..held("ipc-021", Hold::PullLimit { used: 2, next: 0, limit: 2 }) },
        NodeView {
            state: NodeState::NodeDown,
            blame: Some(Blame::Node),
            since: Some(ago(2 * DAY)),
            ..held("ipc-044", Hold::NodeDown)
        },
        held("ipc-052", Hold::Selector),
    ];
    nodes.extend((53..=133).map(|number| held(&format!("ipc-{number:03}"), Hold::Partition { keep: 82 })));
    nodes.extend((1..=16).chain(22..=30).chain(32..=37).map(|number| updated(&format!("ipc-{number:03}"), 9 * MINUTE)));
    let to = revision("7d9f5c66b4", 15, "v1.9.0", 0, 35);
    let from = revision("6f7c9d5b8", 14, "v1.8.2", 9, 85);
    Snapshot {
        strategy: StrategyKind::OnDelete,
        adopted: true,
        original_strategy: Some("RollingUpdate 2".into()),
        driver: DriverView::You { renewed_at: ago(1), lapsed: false },
        phase: Phase::Running,
        started_at: Some(ago(4 * MINUTE + 12)),
        image_changes: vec![ImageChange {
            container: "agent".into(),
            from: Some(from.images[0].1.clone()),
            to: Some(to.images[0].1.clone()),
        }],
        roll_back: Ok(from.hash.clone()),
        revisions: Arc::new([to.clone(), from.clone(), revision("5d8b7c4f9", 13, "v1.8.1", 41, 0)]),
        template_revision: Some(to.hash.clone()),
        from: Some(from),
        to: Some(to),
        counts: Counts {
            nodes: 120,
            updated: 31,
            committed: 35,
            available: 115,
            failed: 1,
            next: 2,
            ..Counts::default()
        },
        estimate: RolloutEstimate::None,
        times: UpdateTimes::default(),
        budget: BudgetView {
            max_unavailable: 2,
            max_unavailable_setting: Some(IntOrPercent::Int(2)),
            rollout: 1,
            suspect: 1,
            node: 3,
            charged: 2,
            pulling: 2,
            max_pulling: 2,
            ..BudgetView::default()
        },
        plan: PlanView {
            steps: vec![
                IntOrPercent::Int(1),
                IntOrPercent::Int(38),
                IntOrPercent::Percent(50),
                IntOrPercent::Percent(100),
            ],
            step: Some(1),
            partition: Some(IntOrPercent::Int(82)),
            keep: 82,
            keeps_more_than_there_are: false,
            allowed: 38,
            selector: Some("line=line3".parse().unwrap()),
            selected: 41,
            selectable: 0,
            next: Some(Ok(StepAhead {
                step: IntOrPercent::Percent(50),
                allowed: 41,
                frees: Some(3),
                cut_by_selector: true,
            })),
        },
        nodes: nodes.into(),
        ..idle()
    }
}

pub(super) fn paused() -> Snapshot {
    let paused = Paused::new("ops@bastion-2".into(), ago(3 * MINUTE), Some("link to munich is down".into()));
    Snapshot { phase: Phase::Paused(paused), ..running() }
}

pub(super) fn halted() -> Snapshot {
    let why: Str = "1 of 120 nodes failed (threshold 1): image not found on ipc-017".into();
    let halt = Halt::new(1, HaltingGate::default(), ago(2 * MINUTE), why.clone()).on(vec!["ipc-017".into()]);
    let alarms =
        vec![crate::engine::report::snapshot::Alarm::Halted { gate: HaltingGate::default(), why: why.clone() }];
    let running = running();
    let mut revisions = running.revisions.to_vec();
    revisions[0].halted = Some(RevisionHalt { at: halt.at, why, from_event: false });
    Snapshot { phase: Phase::Halted, halt: Some(halt), alarms, revisions: revisions.into(), ..running }
}

/// The canaries are updated, and the selector stands.
pub(super) fn canary_done() -> Snapshot {
    let running = running();
    let selector = "canary=true".parse().unwrap();
    let done = SelectionDone { selector, selected: 3, updated: 3, moving: 0, in_line: 0, lifting_frees: 9 };
    let plan = PlanView {
        partition: Some(IntOrPercent::Int(108)),
        keep: 108,
        allowed: 12,
        selector: Some(done.selector.clone()),
        selected: 3,
        selectable: 3,
        next: Some(Err(NoStep::SelectionDone(done))),
        ..running.plan
    };
    let nodes = (1..=3).map(|nth| updated(&format!("ipc-{nth:03}"), 9 * MINUTE));
    let rest = (4..=120).map(|nth| held(&format!("ipc-{nth:03}"), Hold::Selector));
    Snapshot {
        phase: Phase::Held,
        counts: Counts { nodes: 120, updated: 3, committed: 3, available: 120, ..Counts::default() },
        budget: BudgetView { max_unavailable: 2, max_pulling: 2, ..BudgetView::default() },
        plan,
        nodes: rest.chain(nodes).collect(),
        ..running
    }
}

/// The controller does not follow.
pub(super) fn preparing() -> Snapshot {
    let blocked = Blocked { by: Blocker::Observed { generation: 5, observed: 4 }, since: ago(14) };
    let nodes = running().nodes.iter().map(|node| NodeView { hold: Some(Hold::Preparing), ..node.clone() }).collect();
    Snapshot { phase: Phase::Preparing, blocked: Some(blocked), nodes, ..running() }
}

/// Nodes on their way, each waiting for something else.
pub(super) fn waiting() -> Snapshot {
    let waits = [
        (
            NodeState::Terminating,
            PodWait::Grace { secs: 30, ends_at: noon() + Duration::from_secs(12), finalizers: [].into() },
        ),
        (NodeState::Terminating, PodWait::Finalizers(["example.com/hold".into()].into())),
        (NodeState::Creating, PodWait::Controller { since: Some(ago(14)) }),
        (NodeState::Creating, PodWait::Container { name: "agent".into(), reason: "ContainerCreating".into() }),
        (NodeState::Pulling, PodWait::Pull { since: Some(ago(40)) }),
        (NodeState::Starting, PodWait::Ready { name: "agent".into(), since: Some(ago(75)) }),
        (NodeState::Soaking, PodWait::Soak { secs: 30, ends_at: noon() + Duration::from_secs(18), since_known: true }),
    ];
    let nodes = waits.into_iter().enumerate().map(|(nth, (state, wait))| NodeView {
        pod_wait: Some(Box::new(wait)),
        ..target(&format!("ipc-{nth:03}"), state, 40)
    });
    Snapshot { nodes: nodes.collect(), ..running() }
}

/// Another console drives.
pub(super) fn observed() -> Snapshot {
    let driver = DriverView::Other { holder: "ops@bastion-2/3f9a1c".into(), renewal_observed_at: ago(2) };
    Snapshot { driver, ..running() }
}

/// Its own controller rolls, and loses nodes.
pub(super) fn cascade() -> Snapshot {
    Snapshot {
        strategy: StrategyKind::RollingUpdate,
        adopted: false,
        driver: DriverView::Nobody,
        phase: Phase::Native,
        started_at: None,
        alarms: vec![crate::engine::report::snapshot::Alarm::Cascade {
            down: 9,
            max_unavailable: 2,
            replaced_unready: 7,
        }],
        budget: BudgetView {
            replaced_by: Replacer::Controller,
            max_unavailable: 2,
            rollout: 9,
            charged: 9,
            max_pulling: 2,
            ..BudgetView::default()
        },
        plan: PlanView::default(),
        nodes: running()
            .nodes
            .iter()
            .map(|node| NodeView { hold: node.hold.as_ref().map(|_| Hold::Native), ..node.clone() })
            .collect(),
        ..running()
    }
}

pub(super) fn absent() -> Snapshot {
    Snapshot { daemonset: Presence::Absent, ..idle() }
}

/// Argo CD, as it is found on a DaemonSet.
pub(super) fn argo_cd() -> GitOpsOwner {
    GitOpsOwner {
        tool: Tool::ArgoCd,
        application: Some(Application { namespace: None, name: "edge-agents".into() }),
        evidence: vec!["annotation argocd.argoproj.io/tracking-id".into()],
        strategy: StrategyOwnership::Yes,
        reverts: RevertTrigger::ByItself,
    }
}

/// A rollout with a known estimate and measured times of pulls and starts.
pub(super) fn estimated() -> Snapshot {
    let estimate = RolloutEstimate::Known {
        step: Some(minutes(12, 18)),
        rollout: minutes(70, 110),
        nodes: 37,
        of_selector: true,
        unmeasured_sites: 0,
    };
    let secs = Duration::from_secs;
    let spread = |p50, p95| Some(TimeSpread { p50: secs(p50), p95: secs(p95), nodes: 37 });
    let times = UpdateTimes { pull: spread(18, 41), start: spread(4, 9) };
    Snapshot { estimate, times, ..running() }
}

/// The preview of an adoption under Argo CD, as the engine would write it.
pub(super) fn adoption() -> Preview {
    Preview {
        title: "Adopt".into(),
        effects: vec![
            "Sets OnDelete and saves the original update strategy. No pod is replaced.".into(),
            "Undone by release.".into(),
        ],
        warnings: vec![argo_cd().warning()],
        nodes: [].into(),
        pulls_on: [].into(),
        changes: Default::default(),
        calls: vec![
            "POST leases/rolldeck-ipc-agent (record)".into(),
            "PATCH daemonsets/ipc-agent (updateStrategy OnDelete, original saved)".into(),
        ],
        danger: Danger::Bounded,
        all_may_be_down: false,
        leads_later: false,
        halted_before: None,
        lifts_pause: None,
        accepts: Default::default(),
        pinned: None,
    }
}

/// The preview of a step, as the engine would write it.
pub(super) fn preview(danger: Danger) -> Preview {
    Preview {
        title: "let 60 of 120 nodes be updated (50%)".into(),
        effects: vec![
            "22 nodes may be updated, at most 2 down and 2 pulling at a time.".into(),
            "You can pause at any time. Nothing is undone by itself: U rolls back.".into(),
        ],
        nodes: (20..42).map(|number| format!("ipc-{number:03}").into()).collect(),
        pulls_on: [].into(),
        warnings: Vec::new(),
        changes: Default::default(),
        calls: vec!["update lease/rolldeck-ipc-agent (intent)".into(), "delete pod/… one by one, with its uid".into()],
        danger,
        all_may_be_down: false,
        leads_later: false,
        halted_before: None,
        lifts_pause: None,
        accepts: Default::default(),
        pinned: None,
    }
}

pub(super) fn the_target() -> DaemonSetRef {
    DaemonSetRef { namespace: "edge".into(), name: "ipc-agent".into() }
}
