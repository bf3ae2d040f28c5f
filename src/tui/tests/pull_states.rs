//! What is said of pulls while images that were given by hand are pre-warmed: on the screen of pre-warming, in the list of nodes, and
//! on the page of a node.

use std::time::Duration;

use insta::assert_snapshot;

use super::console::TestConsole;
use super::fixtures::{ago, held, idle, node, noon, running};
use crate::engine::model::budget::BudgetView;
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::driver::DriverView;
use crate::engine::model::hold::Hold;
use crate::engine::model::node::{ImageState, NodeState};
use crate::engine::model::prewarm::{
    Prewarm, PrewarmCounts, PrewarmLeftover, PrewarmLimits, PrewarmMethod, PrewarmNodes, PrewarmSite, PrewarmSource,
    PrewarmState, PrewarmView, PrewarmWait, Unobtainable,
};
use crate::engine::model::pull::fixtures::a_minute;
use crate::engine::model::pull::{FinishedPull, ImagePull, ImageSummary, NodePull, PeerScope, PrewarmPulls, PullState};
use crate::engine::model::record::By;
use crate::engine::model::template::ImageUse;
use crate::engine::report::remedies::Remedy;
use crate::engine::report::snapshot::{NodeView, Snapshot};

const IMAGE: &str = "registry.factory.example/edge/agent:v2.0.0";

fn failed(kind: CauseKind, message: &str, again_in: Option<u64>) -> PrewarmState {
    PrewarmState::Failed {
        cause: Cause { kind, container: None, message: Some(message.into()) },
        times: if again_in.is_some() { 2 } else { 1 },
        again_at: again_in.map(|secs| noon() + Duration::from_secs(secs)),
    }
}

/// One node in each state.
fn states() -> Vec<PrewarmState> {
    vec![
        failed(CauseKind::ImageDenied, "unauthorized: authentication required", None),
        failed(CauseKind::ImageNotFound, "manifest for edge/agent:v2.0.0 not found", None),
        failed(CauseKind::ImagePlatform, "no match for platform in manifest: linux/arm64", None),
        failed(
            CauseKind::ImageRateLimited,
            "429 Too Many Requests: toomanyrequests: You have reached your limit",
            Some(25),
        ),
        failed(CauseKind::ImageDisk, "write /var/lib/containerd/7: no space left on device", Some(40)),
        failed(CauseKind::ImageNetwork, "dial tcp 10.0.0.9:443: i/o timeout", Some(55)),
        PrewarmState::Pulling { since: ago(20) },
        PrewarmState::Pulling { since: ago(360) },
        PrewarmState::Queued,
        PrewarmState::Waiting(PrewarmWait::RateLimited {
            node: "ipc-004".into(),
            again_at: Some(noon() + Duration::from_secs(25)),
        }),
        PrewarmState::Waiting(PrewarmWait::SiteLimit { site: "hamburg".into(), used: 3, limit: 3 }),
        PrewarmState::Waiting(PrewarmWait::NodeDown),
        PrewarmState::Present,
        PrewarmState::Present,
    ]
}

pub(super) fn snapshot() -> Snapshot {
    let nodes = states().into_iter().enumerate().map(|(nth, state)| NodeView {
        state: NodeState::Updated,
        hold: None,
        at_target: true,
        image: ImageState::Present,
        site: "hamburg".into(),
        prewarm: Some(state.into()),
        ..node(&format!("ipc-{:03}", nth + 1))
    });
    let nodes: Vec<NodeView> = nodes.collect();
    let counts = PrewarmCounts { nodes: 14, present: 2, pulling: 3, waiting: 3, failed: 6, retrying: 3 };
    let pull = |node: &str, secs| NodePull {
        node: node.into(),
        image: IMAGE.into(),
        pull: FinishedPull {
            took: Duration::from_secs(secs),
            transfer: Duration::from_secs(secs),
            bytes: Some(412_345_678),
        },
    };
    let usual = a_minute(7, PeerScope::Site);
    let image = ImageSummary {
        image: IMAGE.into(),
        bytes: Some(412_345_678),
        fleet: Some(a_minute(7, PeerScope::Fleet)),
        sites: vec![("hamburg".into(), usual)],
    };
    let view = PrewarmView {
        request: Prewarm {
            daemonset_uid: "0f-1".into(),
            source: PrewarmSource::Images([("agent".to_owned(), IMAGE.parse().unwrap())].into()),
            nodes: PrewarmNodes::All,
            limits: PrewarmLimits::default(),
            method: PrewarmMethod::Pods,
            stateful_sets: false,
            paused: None,
            cancelled: None,
            complete: None,
            retried: None,
            handover: None,
            failures: std::collections::BTreeMap::new(),
            unrecorded: Default::default(),
            by: By { by: "ada@bastion-3/1f".into(), at: ago(500) },
            write_ids: Vec::new(),
        },
        images: [IMAGE.into()].to_vec().into(),
        error: None,
        counts,
        failed_elsewhere: 0,
        limit: 4,
        pulling: 3,
        sites: vec![PrewarmSite {
            name: "hamburg".into(),
            counts,
            pulling: 3,
            limit: Some(3),
            estimate: None,
            throughput: Some(6_800_000),
        }],
        estimate: None,
        throughput: Some(6_800_000),
        refusal: None,
        unobtainable: None,
        stuck: Vec::new(),
        leftover: PrewarmLeftover::default(),
        pulls: PrewarmPulls {
            images: [image].into(),
            slow: [].into(),
            finished: [pull("ipc-013", 58), pull("ipc-014", 370)].into(),
        },
    };
    Snapshot {
        driver: DriverView::You { renewed_at: ago(1), lapsed: false },
        prewarm: Some(view),
        nodes: nodes.into(),
        ..idle()
    }
}

/// The limit that is advised does not follow how many happen to pull at this moment: it would be another one with each look.
#[test]
fn the_limit_of_pulls_that_is_advised_stays_the_same() {
    let kind = CauseKind::ImageRateLimited;
    let cause = Some(Box::new(Cause { kind, container: None, message: None }));
    let waits = Hold::Unproven { node: "ipc-018".into(), cause: Some(kind) };
    let nodes =
        [NodeView { state: NodeState::PullFailed, hold: None, cause, ..node("ipc-018") }, held("ipc-019", waits)];
    let advised = |pulling, max_unavailable| {
        let budget = BudgetView { pulling, max_pulling: 8, max_unavailable, ..running().budget };
        let snapshot = Snapshot { nodes: nodes.clone().into(), budget, ..running() };
        let remedies = snapshot.guidance().map(|guidance| guidance.remedies).unwrap_or_default();
        remedies.iter().find_map(|remedy| match remedy {
            Remedy::LimitPulls { to } => Some(*to),
            _ => None,
        })
    };
    for pulling in 0..9 {
        assert_eq!((advised(pulling, 6), advised(pulling, 20), advised(pulling, 1)), (Some(3), Some(4), None));
    }
}

/// How it came that more slots are taken than there are.
#[test]
fn more_pull_slots_than_there_are_say_why() {
    let budget = BudgetView { pulling: 20, pulling_fails: 12, max_pulling: 2, ..running().budget };
    for (width, height) in [(80, 24), (120, 40)] {
        let screen = TestConsole::on(Snapshot { budget, ..running() }, width, height).screen();
        let said = "pull slots 20 of 2 (12 fail, begun by others or under a larger limit)";
        assert!(screen.contains(said), "{screen}");
    }
    let within = BudgetView { pulling: 2, pulling_fails: 1, max_pulling: 2, ..running().budget };
    assert!(!within.slots_in_words().contains("begun"));
}

#[test]
fn every_state_of_a_pull_is_named() {
    for (width, height) in [(80, 24), (200, 50)] {
        let console = || TestConsole::on(snapshot(), width, height);
        assert_snapshot!(format!("prewarm_{width}x{height}"), console().typed("W").screen());
        assert_snapshot!(format!("nodes_{width}x{height}"), console().screen());
    }
    // The page of each node that is listed: its words stand there in full.
    let pages = (1..=12).map(|nth| {
        let screen = TestConsole::on(snapshot(), 80, 24).typed(&format!("W/ipc-{nth:03}<enter><enter>")).screen();
        let named = |line: &&str| line.starts_with(" Pre-warm ") || line.starts_with(" Image ");
        let lines = screen.lines().filter(named).map(str::trim_end);
        format!("ipc-{nth:03}\n{}", lines.collect::<Vec<_>>().join("\n"))
    });
    assert_snapshot!("pages", pages.collect::<Vec<_>>().join("\n"));
}

/// What each failure is called is on the narrow screen as well: an operator who sees `failed` alone does not know what to mend.
#[test]
fn a_narrow_screen_names_each_failure() {
    let screen = TestConsole::on(snapshot(), 80, 24).typed("W").screen();
    let whole = TestConsole::on(snapshot(), 200, 50).typed("W").screen();
    for (node, kind) in [
        ("ipc-001", CauseKind::ImageDenied),
        ("ipc-002", CauseKind::ImageNotFound),
        ("ipc-003", CauseKind::ImagePlatform),
        ("ipc-004", CauseKind::ImageRateLimited),
        ("ipc-005", CauseKind::ImageDisk),
        ("ipc-006", CauseKind::ImageNetwork),
    ] {
        for screen in [&screen, &whole] {
            let row = format!("{node} hamburg");
            let line = screen.lines().find(|line| line.contains(&row)).unwrap_or_default();
            assert!(line.contains(&kind.to_string()), "{node}: {kind}\n{screen}");
        }
    }
}

/// One column, one meaning: either the target's image, or that which is pre-warmed.
#[test]
fn the_column_of_images_tells_of_what_is_prewarmed_or_of_the_target() {
    let row = |snapshot: Snapshot, name: &str| {
        let screen = TestConsole::on(snapshot, 120, 40).screen();
        let line = |part: &str| screen.lines().find(|line| line.contains(part)).unwrap_or_default().to_owned();
        (line("NODE "), line(&format!(" {name} ")))
    };
    let not_meant = || {
        let mut nodes: Vec<NodeView> = snapshot().nodes.iter().cloned().collect();
        nodes[12].prewarm = None;
        Snapshot { nodes: nodes.into(), ..snapshot() }
    };
    let (heading, waits) = row(not_meant(), "ipc-011");
    assert!(heading.contains(" WARM ") && !heading.contains("IMAGE"), "{heading}");
    assert!(waits.contains("waiting") && !waits.contains("present"), "{waits}");
    let (_, left_out) = row(not_meant(), "ipc-013");
    assert!(!left_out.contains("present"), "{left_out}");
    // It is the target's image that is pre-warmed.
    let mut of_target = snapshot();
    if let Some(view) = &mut of_target.prewarm {
        view.pulls = PrewarmPulls::default();
    }
    let (heading, waits) = row(of_target, "ipc-011");
    assert!(heading.contains(" TARGET IMG ") && waits.contains("present"), "{heading}\n{waits}");
    // The filter knows it by this heading, too.
    let found = TestConsole::on(snapshot(), 120, 40).typed("/warm=queued<enter>").screen();
    assert!(found.contains("1 of 14 pass") && found.contains("ipc-009"), "{found}");
}

/// Where a rollout goes on, a pre-warmed image that it does not need is named wherever its failure is told.
#[test]
fn the_failure_of_an_image_that_the_rollout_does_not_need_is_told_as_such() {
    let mut of_another = Snapshot { prewarm: snapshot().prewarm, nodes: snapshot().nodes, ..running() };
    if let Some(view) = &mut of_another.prewarm {
        view.unobtainable = Some(Unobtainable { nodes: 6, cause: CauseKind::ImageNotFound });
    }
    let mut idle = of_another.clone();
    idle.started_at = None;
    for (width, height) in [(200, 50), (120, 40), (80, 24)] {
        let screen = TestConsole::on(of_another.clone(), width, height).screen();
        assert!(screen.contains("pre-warm of agent:v2.0.0 2/14, 3 pulling, 6 failed"), "{screen}");
        let said =
            "pre-warm of agent:v2.0.0, not needed by this rollout: image not found on 6 nodes, and no node got it";
        let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(said), "{screen}");
        let screen = TestConsole::on(idle.clone(), width, height).screen();
        assert!(screen.contains("pre-warm of agent:v2.0.0: image not found on 6 nodes"), "{screen}");
    }
    let page = TestConsole::on(of_another, 120, 40).typed("/ipc-001<enter><enter>").screen();
    assert!(page.contains("agent:v2.0.0: not needed by this rollout"), "{page}");
}

/// Beside the revision of a healthy pod `absent` would read as if the image that it runs were missing: the heading and the page say whose it is.
#[test]
fn an_absent_image_is_said_to_be_the_targets() {
    let waits = held("ipc-019", Hold::Paused);
    let pull =
        ImagePull { container: "agent".into(), usage: ImageUse::Main, image: IMAGE.into(), state: PullState::Absent };
    let waits = NodeView { image: ImageState::Absent, images: [pull].into(), ..waits };
    let snapshot = Snapshot { nodes: vec![waits].into(), ..running() };
    let screen = TestConsole::on(snapshot.clone(), 120, 40).screen();
    let heading = screen.lines().find(|line| line.contains(" NODE ")).unwrap_or_default();
    let row = screen.lines().find(|line| line.contains(" ipc-019 ")).unwrap_or_default();
    let column = heading.find("TARGET IMG");
    assert!(column.is_some() && column < row.find("absent"), "{screen}");
    let page = TestConsole::on(snapshot, 120, 40).typed("<enter>").screen();
    assert!(page.contains("of the target (v2.0.0): absent"), "{page}");
}

/// Slots that no update holds are told by what holds them, where there is room.
#[test]
fn the_header_says_what_holds_the_pull_slots() {
    let running = running();
    let budget = BudgetView { pulling: 2, max_pulling: 2, pulling_fails: 1, pulling_ahead: 1, ..running.budget };
    let held = Snapshot { budget, ..running };
    let wide = TestConsole::on(held.clone(), 200, 50).screen();
    assert!(wide.contains("pull slots 2 of 2 (1 fails, 1 pre-warms)"), "{wide}");
    let small = TestConsole::on(held, 40, 12).screen();
    assert!(!small.contains("(1 fails"), "{small}");
}

/// Somebody has lowered the DaemonSet's own limit since the one of the rollout was set; and pods came back outside of the selector.
#[test]
fn the_header_says_whose_limit_is_the_higher_one_and_how_many_are_not_selected() {
    let mut snapshot = running();
    snapshot.budget = BudgetView { max_unavailable: 4, own_max_unavailable: Some(1), ..snapshot.budget };
    (snapshot.counts.leaked, snapshot.counts.leaked_updated) = (3, 1);
    for (cells, rows) in [(80, 24), (120, 40)] {
        let screen = TestConsole::on(snapshot.clone(), cells, rows).screen();
        assert!(screen.contains("4 may be down as set for the rollout, 1 by the DaemonSet itself"), "{screen}");
        assert!(screen.contains("1 of those updated is not selected, 2 more on the way"), "{screen}");
    }
}
