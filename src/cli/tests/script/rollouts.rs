//! The snapshots that scripts play.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::engine::model::budget::BudgetView;
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::clocks::NodeClocks;
use crate::engine::model::driver::DriverView;
use crate::engine::model::estimate::{RolloutEstimate, TimeRange};
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::facts::{DaemonSetCounters, StrategyKind};
use crate::engine::model::gitops_owner::{Application, GitOpsOwner, RevertTrigger, StrategyOwnership, Tool};
use crate::engine::model::hold::Hold;
use crate::engine::model::node::{Blame, ImageState, NodeState};
use crate::engine::model::node_details::NodeDetails;
use crate::engine::model::presence::Presence;
use crate::engine::model::pull::fixtures::{a_minute, image};
use crate::engine::model::pull::{
    Evidence, FinishedPull, ImageSummary, PeerScope, PullCounts, PullFailure, PullState, PullSummary, SlowPull,
};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::record::Direction;
use crate::engine::model::settings::Settings;
use crate::engine::model::site::SiteLabel;
use crate::engine::model::step_ahead::StepAhead;
use crate::engine::model::template::{ImageUse, Template};
use crate::engine::model::time::Timestamp;
use crate::engine::model::wait::DistanceView;
use crate::engine::report::snapshot::{
    Counts, ImageChange, NodeView, Phase, PlanView, PodRevision, RevisionView, Snapshot, WatchView,
};

/// An instant of the scripts: so many seconds after they begin.
pub(in crate::cli::tests) fn at(secs: i64) -> Timestamp {
    Timestamp::from_millis(1_795_000_000_000 + secs * 1000)
}

fn revision(number: i64, image: &str, pods: u32, created_at: i64) -> RevisionView {
    RevisionView {
        hash: format!("hash{number}").into(),
        number: Some(number),
        images: vec![("agent".into(), image.into())],
        template: Some(template(number, image)),
        seen_numbers: Vec::new(),
        created_at: Some(at(created_at)),
        change_cause: (number == 15).then(|| "ticket 4711".into()),
        pods,
        halted: None,
    }
}

/// The template of a revision: 15 has more memory and another level than those before.
fn template(number: i64, image: &str) -> Template {
    let (level, memory) = if number < 15 { ("info", "128Mi") } else { ("debug", "256Mi") };
    Template::from_json(json!({
        "metadata": {"labels": {"app": "agent"}},
        "spec": {
            "containers": [{
                "name": "agent",
                "image": image,
                "command": ["sh", "-c", "set -e\nexec agent --buffer 512\n"],
                "env": [{"name": "LOG_LEVEL", "value": level}, {"name": "CACHE", "value": "yes"}],
                "resources": {"limits": {"memory": memory}},
            }],
            "hostNetwork": true,
        },
    }))
}

/// A node with its pod.
pub(in crate::cli::tests) fn node(name: &str, state: NodeState) -> NodeView {
    let at_target = matches!(state, NodeState::Updated | NodeState::Failed | NodeState::Pulling);
    let number = if at_target { 15 } else { 14 };
    NodeView {
        state,
        hold: (state == NodeState::Outdated).then_some(Hold::Budget { used: 2, next: 0, limit: 2 }),
        since: Some(at(540)),
        revision: Some(PodRevision { hash: format!("hash{number}").into(), number: Some(number) }),
        at_target,
        image: if at_target { ImageState::Present } else { ImageState::Unknown },
        pod: Some(format!("agent-{name}").into()),
        pod_created_at: Some(at(300)),
        eligible: true,
        serves: true,
        selected: true,
        details: NodeDetails::known(name.trim_start_matches("ipc-").parse().unwrap_or_default()),
        ..NodeView::unknown(name)
    }
}

/// The same, with an image that is not there.
pub(in crate::cli::tests) fn cause(mut node: NodeView) -> NodeView {
    node.cause = Some(
        Cause { kind: CauseKind::ImageNotFound, container: None, message: Some("manifest unknown".into()) }.into(),
    );
    node.blame = Some(Blame::Rollout);
    node
}

/// A rollout under way, ten minutes after it began.
pub(in crate::cli) fn rollout() -> Snapshot {
    let revisions = [
        revision(15, "registry.example/agent:v1.9.0", 38, 0),
        revision(14, "registry.example/agent:v1.8.2", 82, -86_400 * 3),
    ];
    Snapshot {
        at: at(600),
        namespace: "edge".into(),
        name: "agent".into(),
        uid: Some("0f-agent".into()),
        daemonset: Presence::Present,
        strategy: StrategyKind::OnDelete,
        surge: None,
        adopted: true,
        original_strategy: Some("RollingUpdate 10%".into()),
        gitops_owners: [].into(),
        counters: DaemonSetCounters { desired: 120, updated: 38, available: 115, ..Default::default() },
        driver: DriverView::Other { holder: "ops@bastion-2/4711".into(), renewal_observed_at: at(598) },
        identity: "ada@bastion-3/1f00c3a9".into(),
        watches: watches(&WatchHealth::Live),
        rights: Vec::new(),
        phase: Phase::Running,
        direction: Direction::Forward,
        change_is_written: false,
        requested_change: None,
        started_at: Some(at(0)),
        begun_anew: None,
        lost_record: None,
        retargeted_at: None,
        from: Some(revisions[1].clone()),
        to: Some(revisions[0].clone()),
        template_revision: Some(revisions[0].hash.clone()),
        template_writer: None,
        image_changes: vec![ImageChange {
            container: "agent".into(),
            from: Some("registry.example/agent:v1.8.2".into()),
            to: Some("registry.example/agent:v1.9.0".into()),
        }],
        roll_back: Ok(revisions[1].hash.clone()),
        roll_back_asks: Default::default(),
        revisions: revisions.into(),
        counts: Counts { nodes: 120, updated: 38, committed: 40, available: 115, failed: 1, ..Counts::default() },
        pulls: PullSummary::default(),
        estimate: RolloutEstimate::None,
        times: Default::default(),
        budget: BudgetView {
            max_unavailable: 2,
            rollout: 1,
            suspect: 1,
            node: 3,
            charged: 2,
            pulling: 2,
            max_pulling: 2,
            ..BudgetView::default()
        },
        plan: PlanView {
            steps: vec![IntOrPercent::Int(1), IntOrPercent::Percent(50), IntOrPercent::Percent(100)],
            step: Some(1),
            partition: Some(IntOrPercent::Percent(50)),
            keep: 60,
            keeps_more_than_there_are: false,
            allowed: 60,
            selector: None,
            selected: 120,
            selectable: 0,
            next: Some(Ok(StepAhead {
                step: IntOrPercent::Percent(100),
                allowed: 120,
                frees: Some(60),
                cut_by_selector: false,
            })),
        },
        settings: Settings::default(),
        pace: Default::default(),
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
        skew_millis: Some(0),
        node_clocks: NodeClocks::default(),
        creation_refused_at: None,
        nodes: [
            cause(node("ipc-017", NodeState::Failed)),
            NodeView { state: NodeState::NodeDown, blame: Some(Blame::Suspect), ..node("ipc-031", NodeState::Updated) },
            node("ipc-018", NodeState::Pulling),
            // Nothing is known of its machine.
            NodeView { details: NodeDetails::default(), ..node("ipc-020", NodeState::Outdated) },
            node("ipc-001", NodeState::Updated),
        ]
        .into(),
    }
}

/// Argo CD, as it is found on a DaemonSet.
pub(in crate::cli::tests) fn argo_cd() -> GitOpsOwner {
    GitOpsOwner {
        tool: Tool::ArgoCd,
        application: Some(Application { namespace: None, name: "edge-agents".into() }),
        evidence: vec!["annotation argocd.argoproj.io/tracking-id".into(), "field manager argocd-controller".into()],
        strategy: StrategyOwnership::Yes,
        reverts: RevertTrigger::ByItself,
    }
}

/// A DaemonSet that its own controller rolls and Argo CD manages.
pub(in crate::cli::tests) fn under_argo_cd() -> Snapshot {
    Snapshot {
        strategy: StrategyKind::RollingUpdate,
        adopted: false,
        original_strategy: None,
        driver: DriverView::Nobody,
        phase: Phase::Idle,
        started_at: None,
        gitops_owners: [argo_cd()].into(),
        nodes: [].into(),
        counts: Counts { nodes: 120, updated: 120, committed: 120, available: 120, ..Counts::default() },
        budget: BudgetView { max_unavailable: 12, max_pulling: 12, ..BudgetView::default() },
        image_changes: Vec::new(),
        from: None,
        ..rollout()
    }
}

/// The same, with images that are there, come, wait, fail; and how long they usually take.
pub(in crate::cli::tests) fn pulling() -> Snapshot {
    let agent = |state| [image(ImageUse::Main, state)].into();
    let secs = Duration::from_secs;
    let pull = FinishedPull { took: secs(58), transfer: secs(51), bytes: Some(412_345_678) };
    let message = "write /var/lib/containerd/7: no space left on device";
    let behind =
        [image(ImageUse::Init, PullState::Pulling { since: at(588) }), image(ImageUse::Main, PullState::Queued)];
    let since = at(560);
    let nodes = [
        NodeView {
            image: ImageState::Failed,
            images: agent(PullState::Failed { why: PullFailure::Disk, message: Some(message.into()) }),
            ..node("ipc-017", NodeState::Failed)
        },
        NodeView {
            image: ImageState::Pulling { since },
            images: agent(PullState::Pulling { since }),
            usual_pull: Some(a_minute(7, PeerScope::Site).into()),
            ..node("ipc-018", NodeState::Pulling)
        },
        NodeView {
            image: ImageState::Pulling { since: at(588) },
            images: behind.into(),
            ..node("ipc-019", NodeState::Pulling)
        },
        NodeView { images: agent(PullState::Unknown), ..node("ipc-020", NodeState::Outdated) },
        NodeView {
            images: agent(PullState::Present { by: Evidence::ImageId, pull: Some(pull) }),
            ..node("ipc-001", NodeState::Updated)
        },
    ];
    let slow = SlowPull {
        node: "ipc-037".into(),
        image: "registry.example/agent:v1.9.0".into(),
        took: secs(370),
        times: 6,
        scope: PeerScope::Site,
    };
    let summary = ImageSummary {
        image: "registry.example/agent:v1.9.0".into(),
        bytes: Some(412_345_678),
        fleet: Some(a_minute(9, PeerScope::Fleet)),
        sites: vec![("hall-a".into(), a_minute(7, PeerScope::Site))],
    };
    let counts = PullCounts { present: 38, pulling: 2, failed: 1, absent: 0, unknown: 79 };
    let pulls = PullSummary { counts, images: [summary].into(), slow: [slow].into() };
    Snapshot { nodes: nodes.into(), pulls, ..rollout() }
}

/// The same, held, with nobody who drives.
pub(in crate::cli::tests) fn held_by_nobody() -> Snapshot {
    let nodes = [node("ipc-020", NodeState::Outdated), node("ipc-001", NodeState::Updated)];
    let counts = Counts { nodes: 120, updated: 38, available: 120, ..Counts::default() };
    Snapshot { phase: Phase::Held, driver: DriverView::Nobody, nodes: nodes.into(), counts, ..rollout() }
}

/// The same, with us driving.
pub(in crate::cli::tests) fn driving() -> Snapshot {
    Snapshot {
        at: at(610),
        phase: Phase::Running,
        driver: DriverView::You { renewed_at: at(610), lapsed: false },
        ..held_by_nobody()
    }
}

/// The same, with its step done: partition and selector let no further node go.
pub(in crate::cli::tests) fn step_done() -> Snapshot {
    let mut done = Snapshot { phase: Phase::Held, ..driving() };
    done.counts.committed = done.plan.allowed;
    done
}

/// The same, with one node in another state.
pub(in crate::cli::tests) fn node_moves(name: &str, state: NodeState) -> Snapshot {
    let nodes =
        driving().nodes.iter().map(|view| if &*view.name == name { node(name, state) } else { view.clone() }).collect();
    Snapshot { at: at(620), nodes, ..driving() }
}

/// All watches, in this health.
fn watches(health: &WatchHealth) -> Vec<WatchView> {
    let heard_at = (*health == WatchHealth::Live).then(|| at(580));
    Watched::ALL.map(|watched| WatchView { watched, health: health.clone(), heard_at, skipped: None }).to_vec()
}

/// Nothing is known yet.
pub(in crate::cli::tests) fn loading() -> Snapshot {
    Snapshot {
        daemonset: Presence::Loading,
        phase: Phase::Loading,
        watches: watches(&WatchHealth::Loading),
        nodes: [].into(),
        ..rollout()
    }
}

/// No watch gets an answer.
pub(in crate::cli::tests) fn watches_down(snapshot: &mut Snapshot, why: &str) {
    for watch in &mut snapshot.watches {
        watch.health = WatchHealth::Down { since: at(590), why: why.into() };
    }
}

pub(in crate::cli::tests) fn minutes(least: u64, most: u64) -> TimeRange {
    TimeRange { least: Duration::from_secs(60 * least), most: Duration::from_secs(60 * most) }
}
