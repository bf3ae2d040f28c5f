//! Pre-warming: the form, the screen, what the header says of it, and its keys.

mod end;
mod told;

use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;

use super::console::TestConsole;
use super::fixtures::{ago, idle, minutes, node, noon, running};
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::command::{Command, Preview, PrewarmCommand};
use crate::engine::model::danger::Danger;
use crate::engine::model::driver::DriverView;
use crate::engine::model::event::{Permission, Right};
use crate::engine::model::node::{ImageState, NodeState};
use crate::engine::model::pace::{Flap, PaceReason, PacedSite, Throughput};
use crate::engine::model::prewarm::{
    Prewarm, PrewarmCounts, PrewarmLeftover, PrewarmLimits, PrewarmMethod, PrewarmNodes, PrewarmSite, PrewarmSource,
    PrewarmState, PrewarmView, PrewarmWait, Unobtainable,
};
use crate::engine::model::pull::PrewarmPulls;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::record::{By, OURSELVES};
use crate::engine::model::settings::{Limit, Pace};
use crate::engine::report::snapshot::{NodeView, Snapshot};
use crate::tui::message::ConsoleEffect;
use crate::tui::model::Overlay;

const SIZES: [(u16, u16); 4] = [(40, 12), (80, 24), (120, 40), (200, 50)];
const IMAGE: &str = "registry.factory.example/edge/agent:v2.0.0";

fn by(who: &str, secs: u64) -> By {
    By { by: who.into(), at: ago(secs) }
}

/// An image by hand, on all of 120 nodes in three sites, one of which has no name.
fn request() -> Prewarm {
    Prewarm {
        daemonset_uid: "0f-1".into(),
        source: PrewarmSource::Images([("agent".to_owned(), IMAGE.parse().unwrap())].into()),
        nodes: PrewarmNodes::All,
        limits: PrewarmLimits {
            max_pulling: Limit::At(IntOrPercent::Int(3)),
            max_pulling_per_site: Limit::At(IntOrPercent::Int(1)),
            site_label: None,
            pace: Pace::Fixed,
        },
        method: PrewarmMethod::Pods,
        stateful_sets: false,
        paused: None,
        cancelled: None,
        complete: None,
        retried: None,
        handover: None,
        failures: std::collections::BTreeMap::new(),
        unrecorded: Default::default(),
        by: by("ada@bastion-3/1f", 250),
        write_ids: Vec::new(),
    }
}

/// Present on the first twelve, failed on one, pulled on two, queued on one, and the rest waits for `wait`.
fn state_of(nth: usize, wait: Option<&PrewarmWait>) -> PrewarmState {
    let not_found = Cause {
        kind: CauseKind::ImageNotFound,
        container: None,
        message: Some("manifest for edge/agent:v2.0.0 not found".into()),
    };
    let network =
        Cause { kind: CauseKind::ImageNetwork, container: None, message: Some("dial tcp: i/o timeout".into()) };
    match nth {
        0..12 => PrewarmState::Present,
        12 => PrewarmState::Failed { cause: not_found, times: 1, again_at: None },
        13 => PrewarmState::Failed { cause: network, times: 3, again_at: Some(noon() + Duration::from_secs(40)) },
        14 => PrewarmState::Pulling { since: ago(20) },
        15 => PrewarmState::Pulling { since: ago(95) },
        16 => PrewarmState::Queued,
        17 => PrewarmState::Waiting(PrewarmWait::NodeDown),
        nth => PrewarmState::Waiting(wait.cloned().unwrap_or(match nth % 3 {
            0 => PrewarmWait::SiteLimit { site: "hamburg".into(), used: 1, limit: 1 },
            1 => PrewarmWait::SiteLimit { site: "".into(), used: 1, limit: 1 },
            _ => PrewarmWait::Limit { used: 3, limit: 3 },
        })),
    }
}

fn counts(states: &[PrewarmState]) -> PrewarmCounts {
    let count = |word: &[&str]| states.iter().filter(|state| word.contains(&state.word())).count() as u32;
    PrewarmCounts {
        nodes: states.len() as u32,
        present: count(&["present"]),
        pulling: count(&["pulling", "queued"]),
        waiting: count(&["waiting"]),
        failed: count(&["failed"]),
        retrying: u32::try_from(states.iter().filter(|state| state.is_retried()).count()).unwrap(),
    }
}

/// Nothing is rolled out, and this is pre-warmed.
fn prewarming(asked: Prewarm, wait: Option<&PrewarmWait>) -> Snapshot {
    let states: Vec<PrewarmState> = (0..120).map(|nth| state_of(nth, wait)).collect();
    let nodes = states.iter().enumerate().map(|(nth, state)| NodeView {
        state: NodeState::Updated,
        hold: None,
        at_target: true,
        image: ImageState::Present,
        prewarm: Some(state.clone().into()),
        ..node(&format!("ipc-{:03}", nth + 1))
    });
    let site = |name: &str, rest: usize| PrewarmSite {
        name: name.into(),
        counts: counts(&states.iter().skip(rest).step_by(3).cloned().collect::<Vec<_>>()),
        pulling: 1,
        limit: Some(1),
        estimate: (name != "munich" && wait.is_none()).then(|| minutes(12, 18)),
        throughput: (name == "hamburg").then_some(11_400_000),
    };
    let view = PrewarmView {
        request: asked,
        images: Arc::new([IMAGE.into()]),
        error: None,
        counts: counts(&states),
        failed_elsewhere: 0,
        limit: 3,
        pulling: 3,
        sites: vec![site("", 1), site("hamburg", 0), site("munich", 2)],
        estimate: wait.is_none().then(|| minutes(12, 18)),
        throughput: Some(11_400_000),
        refusal: None,
        unobtainable: None,
        stuck: Vec::new(),
        leftover: PrewarmLeftover::default(),
        pulls: PrewarmPulls::default(),
    };
    Snapshot {
        driver: DriverView::You { renewed_at: ago(1), lapsed: false },
        prewarm: Some(view),
        nodes: nodes.collect(),
        ..idle()
    }
}

pub(super) fn warm() -> Snapshot {
    prewarming(request(), None)
}

/// All nodes have what is pre-warmed.
pub(super) fn complete() -> PrewarmView {
    let mut view = warm().prewarm.unwrap();
    view.counts = PrewarmCounts { nodes: 120, present: 120, ..PrewarmCounts::default() };
    view
}

fn refused(message: &str) -> Snapshot {
    let mut snapshot = prewarming(request(), Some(&PrewarmWait::Refused(message.into())));
    snapshot.prewarm.as_mut().unwrap().refusal = Some(("ipc-019".into(), message.into()));
    snapshot
}

/// A preview as the engine would write it.
fn preview() -> Preview {
    Preview {
        title: "pre-warm agent=registry.factory.example/edge/agent:v2.0.0".into(),
        effects: vec![
            format!("pulls {IMAGE}"),
            "The template stays as it is: its image is set afterwards.".into(),
            "One pod per node, on every node of the fleet that has not got them; no pod of the DaemonSet is replaced."
                .into(),
            "Each stays until its node is updated, or pre-warming is cancelled.".into(),
        ],
        warnings: Vec::new(),
        nodes: [].into(),
        pulls_on: (1..=108).map(|nth| format!("ipc-{nth:03}").into()).collect(),
        changes: Default::default(),
        calls: vec![
            "PUT leases/rolldeck-ipc-agent (pre-warm)".into(),
            "POST pods, one on each of 108 nodes; DELETE each once its node is updated".into(),
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

fn screens(name: &str, console: impl Fn(u16, u16) -> TestConsole) {
    for (width, height) in SIZES {
        assert_snapshot!(format!("{name}_{width}x{height}"), console(width, height).screen());
    }
}

#[test]
fn the_screen_shows_sites_above_nodes() {
    screens("screen", |width, height| TestConsole::on(warm(), width, height).typed("AW"));
    screens("nodes", |width, height| TestConsole::on(warm(), width, height));
    assert_snapshot!("screen_selected", TestConsole::on(warm(), 200, 50).typed("Wjj").screen());
    assert_snapshot!("screen_end", TestConsole::on(warm(), 80, 24).typed("WG").screen());
    assert_snapshot!("screen_node", TestConsole::on(warm(), 80, 24).typed("Wj<enter>").screen());
    assert_snapshot!("screen_read_only", TestConsole::on(warm(), 80, 24).typed("W").screen());
    let mut over = TestConsole::on(warm(), 80, 24).typed("W");
    over.see(idle());
    assert_snapshot!("screen_over", over.screen());
    assert_snapshot!("refused_read_only", TestConsole::on(idle(), 80, 24).typed("W").screen());
}

#[test]
fn the_revision_that_one_would_go_back_to_is_pre_warmed_from_the_dialog_of_the_roll_back() {
    let mut console = TestConsole::on(running(), 80, 24).typed("AU");
    let chosen = running().revisions.iter().find(|revision| revision.number == Some(14)).unwrap().hash.clone();
    console.type_keys("W");
    let source = |console: &TestConsole| match &console.model.overlay {
        Overlay::Dialog(dialog) => match dialog.command(&running()) {
            Ok(Command::Prewarm(PrewarmCommand::Start { source, nodes: PrewarmNodes::All, .. })) => source,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    assert_eq!(source(&console), PrewarmSource::Revision(chosen));
    let mut older = TestConsole::on(running(), 80, 24).typed("AUj");
    older.type_keys("W");
    assert_ne!(source(&older), source(&console));
    // It writes no more than W itself: while read-only the dialog of the roll back does not open.
    let read_only = TestConsole::on(running(), 80, 24).typed("UW");
    assert!(!matches!(read_only.model.overlay, Overlay::Dialog(_)));
}

#[test]
fn many_sites_leave_room_for_nodes() {
    let mut snapshot = warm();
    let view = snapshot.prewarm.as_mut().unwrap();
    let done = PrewarmCounts { nodes: 4, present: 4, ..PrewarmCounts::default() };
    let site = |nth: usize| PrewarmSite {
        name: format!("site-{nth:02}").into(),
        counts: done,
        pulling: 0,
        limit: None,
        estimate: None,
        throughput: None,
    };
    let rest = std::mem::take(&mut view.sites);
    view.sites = (0..20).map(site).chain(rest).collect();
    assert_snapshot!(TestConsole::on(snapshot, 80, 24).typed("W").screen());
}

#[test]
fn the_pace_of_each_site_is_told_with_its_reason() {
    let throughput = Throughput::Bytes(11_000_000 * 3_600);
    let paced = |site: &str, limit, why| PacedSite { site: site.into(), limit, why };
    let flapped = PaceReason::Flapped { node: "ipc-017".into(), what: Flap::LostReadiness };
    let pace = [
        paced("", 1, PaceReason::Begins),
        paced("hamburg", 3, PaceReason::Raised { finished: 2, throughput }),
        paced("munich", 2, flapped),
    ];
    let snapshot = Snapshot { pace: pace.into(), ..warm() };
    screens("pace", |width, height| TestConsole::on(snapshot.clone(), width, height).typed("W"));
}

#[test]
fn what_it_waits_for_is_said_once_with_the_remedy() {
    let paused = Prewarm { paused: Some(by("ops@bastion-2/3f9a1c", 180)), ..request() };
    let cancelled = Prewarm { cancelled: Some(by("ops@bastion-2/3f9a1c", 30)), ..request() };
    let nobody = |snapshot: Snapshot| Snapshot { driver: DriverView::Nobody, ..snapshot };
    let mut denied =
        prewarming(request(), Some(&PrewarmWait::Refused(format!("not permitted: {}", Right::CreatePods).into())));
    denied.rights.push((Right::CreatePods, Permission::Denied));
    let mut error = prewarming(request(), None);
    error.prewarm.as_mut().unwrap().error = Some("revision 6f7c9d5b8 is not there any more".into());
    let mut left = prewarming(Prewarm { by: by(OURSELVES, 0), ..request() }, None);
    left.prewarm.as_mut().unwrap().error =
        Some("pods of an earlier pre-warming are left; cancel it to delete them".into());
    let quota = "pods \"ipc-agent-prewarm-1\" is forbidden: exceeded quota: edge, requested: pods=1, used: pods=120";
    let security =
        "pods \"ipc-agent-prewarm-1\" is forbidden: violates PodSecurity \"restricted:latest\": seccompProfile";
    let unobtainable = Unobtainable { nodes: 4, cause: CauseKind::ImageNotFound };
    let mut not_there = prewarming(request(), Some(&PrewarmWait::Unobtainable(unobtainable)));
    not_there.prewarm.as_mut().unwrap().unobtainable = Some(unobtainable);
    let lines = [
        prewarming(paused, Some(&PrewarmWait::Paused)),
        prewarming(cancelled.clone(), Some(&PrewarmWait::Cancelled)),
        nobody(prewarming(cancelled, Some(&PrewarmWait::Cancelled))),
        nobody(prewarming(request(), Some(&PrewarmWait::NobodyDrives))),
        refused(quota),
        refused(security),
        denied,
        prewarming(
            request(),
            Some(&PrewarmWait::ViewStale("pre-warm pods cannot be watched: connection refused".into())),
        ),
        error,
        left,
        not_there,
        Snapshot { prewarm: warm().prewarm, ..running() },
    ]
    .map(|snapshot| {
        let screen = TestConsole::on(snapshot, 120, 40).screen();
        let header = screen.lines().skip(1).take_while(|line| !line.starts_with('─'));
        header.filter(|line| line.contains("pre-warm")).collect::<Vec<_>>().join("\n")
    });
    assert_snapshot!(lines.join("\n\n"));
}

#[test]
fn dialogs_say_what_would_be_pulled() {
    let on = |keys: &'static str| move |width, height| TestConsole::on(running(), width, height).typed(keys);
    screens("dialog", |width, height| on("AW")(width, height).answered(preview()));
    screens("dialog_images", |width, height| {
        TestConsole::on(idle(), width, height).typed("AW<c-u>edge/agent:v2.0.0").answered(preview())
    });
    for (name, keys) in [
        ("dialog_unchanged", "AW<right>"),
        ("dialog_revision", "AW<right><right><down><right>"),
        ("dialog_selector", "AW<down><right><right><right><down>li<right>"),
        ("dialog_node", "AkW<down><left><down>2<down>25%"),
        ("dialog_wrong", "AW<down><down>many"),
        ("dialog_wrong_label", "AW<down><down><down><down>a=b"),
    ] {
        assert_snapshot!(name, on(keys)(80, 24).screen());
    }
    let cancel = TestConsole::on(warm(), 80, 24).typed("AWx").answered(Preview {
        title: "cancel pre-warming".into(),
        effects: vec![
            "Whoever drives deletes its pods. Images that were pulled stay until their kubelet collects them.".into(),
        ],
        pulls_on: [].into(),
        changes: Default::default(),
        calls: vec!["PUT leases/rolldeck-ipc-agent (pre-warm)".into(), "DELETE 16 pods that were made for it".into()],
        ..preview()
    });
    assert_snapshot!("dialog_cancel", cancel.screen());
}

fn done(console: &TestConsole) -> Vec<PrewarmCommand> {
    let commands = console.effects.iter().filter_map(|effect| match effect {
        ConsoleEffect::Do { command: Command::Prewarm(command), .. } => Some(command.clone()),
        _ => None,
    });
    commands.collect()
}

#[test]
fn keys_fill_in_the_form() {
    let start = |source: PrewarmSource, nodes: PrewarmNodes, limits: PrewarmLimits| PrewarmCommand::Start {
        source,
        nodes,
        limits,
        method: PrewarmMethod::Pods,
    };
    let none = PrewarmLimits::default;
    let image = |image: &str| PrewarmSource::Images([("agent".to_owned(), image.parse().unwrap())].into());
    for (keys, want) in [
        ("AW", start(PrewarmSource::Template, PrewarmNodes::All, none())),
        ("AW<right><down><c-u>agent:v3", start(image("agent:v3"), PrewarmNodes::All, none())),
        ("A:prewarm agent=agent:v3<enter>", start(image("agent:v3"), PrewarmNodes::All, none())),
        (
            "A:prewarm agent=v3<enter>",
            start(image("registry.factory.example/edge/agent:v3"), PrewarmNodes::All, none()),
        ),
        ("A:prewarm v3<enter>", start(image("registry.factory.example/edge/agent:v3"), PrewarmNodes::All, none())),
        ("A:prewarm agent:v3<enter>", start(image("agent:v3"), PrewarmNodes::All, none())),
        ("AW<left>", start(PrewarmSource::Revision("6f7c9d5b8".into()), PrewarmNodes::All, none())),
        ("AW<left><down><right>", start(PrewarmSource::Revision("5d8b7c4f9".into()), PrewarmNodes::All, none())),
        ("AW<down><right>", start(PrewarmSource::Template, PrewarmNodes::LetGo, none())),
        ("AW<down><right><right>", start(PrewarmSource::Template, PrewarmNodes::StepAhead, none())),
        (
            "AW<down><right><right><right><down>line=line3",
            start(PrewarmSource::Template, PrewarmNodes::Selector("line=line3".parse().unwrap()), none()),
        ),
        ("AjW<down><left>", start(PrewarmSource::Template, PrewarmNodes::Node("ipc-031".into()), none())),
        (
            "AW<down><down>4<down>25%",
            start(
                PrewarmSource::Template,
                PrewarmNodes::All,
                PrewarmLimits {
                    max_pulling: Limit::At(IntOrPercent::Int(4)),
                    max_pulling_per_site: Limit::At(IntOrPercent::Percent(25)),
                    site_label: None,
                    pace: Pace::Fixed,
                },
            ),
        ),
        (
            "AW<down><down><down>1<down>line<down><right>",
            start(
                PrewarmSource::Template,
                PrewarmNodes::All,
                PrewarmLimits {
                    max_pulling: Limit::Default,
                    max_pulling_per_site: Limit::At(IntOrPercent::Int(1)),
                    site_label: Some("line".parse().unwrap()),
                    pace: Pace::Auto,
                },
            ),
        ),
    ] {
        let console = TestConsole::on(running(), 80, 24).typed(keys).answered(preview()).typed("<enter>");
        assert_eq!(done(&console), [want], "{keys}");
    }
    // A StatefulSet knows no sites: what was typed for them is left out, and so is the line.
    let by_sets = "AW<down><down>4<down>2<down>rack<down><right><down><right>";
    let console = TestConsole::on(running(), 80, 24).typed(by_sets);
    assert!(!console.screen().contains("in each site"), "{}", console.screen());
    let limits = PrewarmLimits { max_pulling: Limit::At(IntOrPercent::Int(4)), ..none() };
    let (source, method) = (PrewarmSource::Template, PrewarmMethod::StatefulSet);
    let want = PrewarmCommand::Start { source, nodes: PrewarmNodes::All, limits, method };
    assert_eq!(done(&console.answered(preview()).typed("<enter>")), [want]);
    let unknown = TestConsole::on(running(), 80, 24).typed("A:prewarm side=agent:v3<enter>");
    assert!(unknown.model.status.unwrap().text.contains("there are agent"));
}

#[test]
fn keys_on_the_screen_ask_first() {
    let paused = || prewarming(Prewarm { paused: Some(by("ops", 5)), ..request() }, Some(&PrewarmWait::Paused));
    for (snapshot, keys, want) in [
        (warm(), "AWp", Some(PrewarmCommand::Pause)),
        (warm(), "Wp", Some(PrewarmCommand::Pause)),
        (paused(), "AWp", Some(PrewarmCommand::Resume)),
        (paused(), "Wp", None),
        (warm(), "AWr", Some(PrewarmCommand::Retry)),
        (warm(), "Wr", None),
        (warm(), "AWx", Some(PrewarmCommand::Cancel)),
        (warm(), "Wx", None),
        // Not on the list of nodes.
        (warm(), "Ax", None),
    ] {
        let mut console = TestConsole::on(snapshot, 80, 24).typed(keys);
        let asks = matches!(console.model.overlay, Overlay::Dialog(_));
        assert_eq!(asks, want.is_some(), "{keys}: {:?}", console.model.status);
        if asks {
            console = console.answered(preview()).typed("<left><enter>");
        }
        assert_eq!(done(&console), want.into_iter().collect::<Vec<_>>(), "{keys}");
    }
    // The second W begins another one instead.
    let another = TestConsole::on(warm(), 80, 24).typed("AWW<c-u>agent:v3").answered(preview()).typed("<enter>");
    let limits = request().limits;
    let source = PrewarmSource::Images([("agent".to_owned(), "agent:v3".parse().unwrap())].into());
    assert_eq!(
        done(&another),
        [PrewarmCommand::Start { source, nodes: PrewarmNodes::All, limits, method: PrewarmMethod::Pods }]
    );
}

#[test]
fn escape_leads_back_level_by_level() {
    let mut console = TestConsole::on(warm(), 80, 24).typed("Wk");
    let page = |console: &TestConsole| console.model.rollout().unwrap().prewarm().map(|it| it.list.selected().cloned());
    assert_eq!(page(&console), Some(Some("ipc-013".into())));
    console.type_keys("/ipc-013<enter><esc>");
    assert_eq!(page(&console), Some(Some("ipc-013".into())), "first the filter");
    console.type_keys("<esc>");
    assert_eq!(page(&console), None, "then the screen, whatever is selected");
    assert!(console.model.rollout().is_some(), "still on the rollout");
    console.type_keys("WT");
    assert_eq!(page(&console), None, "the timeline takes its place");
    console.type_keys("W");
    assert!(console.model.rollout().unwrap().timeline().is_none());
    console.type_keys("s");
    assert!(console.model.status.as_ref().unwrap().text.contains("esc goes back"));
}

#[test]
fn the_selection_stays_on_its_node() {
    let mut console = TestConsole::on(warm(), 80, 24).typed("Wjj");
    let selected =
        |console: &TestConsole| console.model.rollout().unwrap().selected().map(|node| node.name.to_string());
    assert_eq!(selected(&console).as_deref(), Some("ipc-016"), "pulling the longest");
    let mut next = warm();
    let mut nodes = next.nodes.to_vec();
    nodes[12].prewarm = Some(PrewarmState::Present.into());
    next.nodes = nodes.into();
    console.see(next);
    assert_eq!(selected(&console).as_deref(), Some("ipc-016"));
    console.see(idle());
    assert_eq!(selected(&console), None);
    // Whatever is not known for a moment takes no selection away.
    console.see(prewarming(request(), Some(&PrewarmWait::NobodyDrives)));
    assert_eq!(selected(&console).as_deref(), Some("ipc-016"));
}

#[test]
fn where_all_rows_are_in_sight_the_first_one_stays_current_wherever_it_goes() {
    let few = |states: [PrewarmState; 3]| {
        let mut snapshot = warm();
        let nodes = snapshot.nodes.iter().take(3).zip(states);
        let nodes = nodes.map(|(node, state)| NodeView { prewarm: Some(state.into()), ..NodeView::clone(node) });
        snapshot.nodes = nodes.collect::<Vec<_>>().into();
        snapshot
    };
    let waits = || PrewarmState::Waiting(PrewarmWait::NobodyDrives);
    let pulling = |secs| PrewarmState::Pulling { since: ago(secs) };
    let current = |console: &TestConsole| console.model.rollout().unwrap().current().map(|node| node.name.to_string());
    let mut console = TestConsole::on(few([waits(), pulling(20), pulling(9)]), 80, 24).typed("W");
    assert_eq!(current(&console).as_deref(), Some("ipc-002"));
    // Who drives stops: nothing is pulled any more.
    console.see(few([waits(), waits(), waits()]));
    assert_eq!(current(&console).as_deref(), Some("ipc-002"), "{}", console.screen());
}

#[test]
fn the_node_of_a_row_can_be_opened_and_the_last_line_says_so() {
    for keys in ["W", "AW"] {
        for width in [80, 120, 200] {
            let screen = TestConsole::on(warm(), width, 24).typed(keys).screen();
            assert!(screen.lines().last().unwrap_or_default().contains("enter node"), "{keys} {width}:\n{screen}");
        }
    }
}

#[test]
fn where_nothing_is_pre_warmed_the_last_line_offers_to_begin_it_and_no_node() {
    for keys in ["AW", "W"] {
        for width in [80, 120] {
            let mut console = TestConsole::on(warm(), width, 40).typed(keys);
            console.see(Snapshot { prewarm: None, ..warm() });
            let screen = console.screen();
            let last = screen.lines().last().unwrap_or_default();
            assert!(screen.contains("W begins it") && last.contains("W pre-warm"), "{screen}");
            assert!(!last.contains("enter"), "{last}");
        }
    }
}

#[test]
fn of_two_limits_of_pulls_both_are_named_with_whose_they_are() {
    let mut snapshot = Snapshot { prewarm: warm().prewarm, ..running() };
    snapshot.prewarm.as_mut().unwrap().limit = 8;
    snapshot.budget.pulling = 4;
    let screen = TestConsole::on(snapshot.clone(), 120, 40).screen();
    assert!(screen.contains("pull slots 4 in use: updates up to 2, pre-warm up to 8"), "{screen}");
    assert!(snapshot.budget_and_slots().ends_with(", pull slots 4 in use: updates up to 2, pre-warm up to 8"));
    snapshot.prewarm.as_mut().unwrap().limit = 2;
    let screen = TestConsole::on(snapshot, 120, 40).screen();
    assert!(screen.contains("pull slots 4 of 2"), "{screen}");
}

/// Each row says that the slots are taken; the line above the rows says by what.
#[test]
fn what_holds_the_slots_while_nothing_is_pulled_is_said_above_the_nodes() {
    let mut snapshot = warm();
    let waits = "waits for updates: they hold 3 pull slots, and there are 3";
    let shows = |snapshot: &Snapshot| TestConsole::on(snapshot.clone(), 120, 40).typed("W").screen().contains(waits);
    assert!(!shows(&snapshot), "its own pods pull");
    snapshot.prewarm.as_mut().unwrap().counts.pulling = 0;
    (snapshot.budget.pulling, snapshot.budget.pulling_ahead) = (3, 0);
    assert!(shows(&snapshot));
}

#[test]
fn the_screen_is_filtered_like_the_list() {
    let console = |keys: &str| TestConsole::on(warm(), 80, 24).typed(&format!("W{keys}"));
    let shown = |keys: &str| console(keys).model.rollout().unwrap().prewarm().unwrap().len();
    let all = shown("");
    let failed = shown("/state=failed<enter>");
    assert!(0 < failed && failed < all, "{failed} of {all}");
    assert_eq!(shown("/!state=failed<enter>") + failed, all);
    assert_eq!(shown("/nobody<enter>"), 0);
    let filtered = console("/state=failed<enter>");
    assert!(filtered.screen().contains("filter state=failed ("), "{}", filtered.screen());
    assert!(filtered.model.rollout().unwrap().filter.is_all(), "the list's filter is another one");
    assert_eq!(console("/state=failed<enter><esc>").model.rollout().unwrap().prewarm().unwrap().len(), all);
    assert!(
        console("/rst>0").screen().contains("neither a column nor a node label `rst`"),
        "{}",
        console("/rst>0").screen()
    );
}

/// A site that only waits, or does not tell, hides nothing of what the others tell.
#[test]
fn the_rate_of_all_sites_is_the_sum_of_those_that_tell() {
    let line_of_all = |is_pulling: bool| {
        let mut snapshot = warm();
        let view = snapshot.prewarm.as_mut().unwrap();
        view.throughput = None;
        let silent = view.sites.iter_mut().filter(|site| site.throughput.is_none());
        silent.for_each(|site| site.counts.pulling = u32::from(is_pulling));
        view.sites[1].counts.pulling = 1;
        let screen = TestConsole::on(snapshot, 80, 24).typed("W").screen();
        screen.lines().find(|line| line.starts_with("   all ")).unwrap_or_default().to_owned()
    };
    assert!(line_of_all(false).contains(" ~11 MB/s "), "{}", line_of_all(false));
    assert!(line_of_all(true).contains(" ≥11 MB/s "), "{}", line_of_all(true));
}

/// A console that is opened after the driver was killed says so at once, and whoever takes over reads how much is left.
#[test]
fn a_driver_that_is_silent_is_told_beside_the_pre_warming_that_it_left() {
    let holder = || "ada@bastion/1f".into();
    let silent = DriverView::Unconfirmed { holder: holder(), renewed_at: Some(ago(40)) };
    let screen = TestConsole::on(Snapshot { driver: silent, ..warm() }, 120, 40).screen();
    assert!(screen.contains("; if it has ended, no further node begins"), "{screen}");
    let lives = DriverView::Other { holder: holder(), renewal_observed_at: ago(1) };
    let screen = TestConsole::on(Snapshot { driver: lives, ..warm() }, 120, 40).screen();
    assert!(!screen.contains("if it has ended"), "{screen}");
    let lost = DriverView::Lost { holder: holder(), renewal_observed_at: ago(40), renewed_at: Some(ago(40)) };
    let screen = TestConsole::on(Snapshot { driver: lost, ..warm() }, 120, 40).typed("AD").answered(preview());
    let (counts, screen) = (warm().prewarm.unwrap().counts, screen.screen());
    assert!(screen.contains(&format!("Pre-warming: {counts}; at most 3 pull at a time.")), "{screen}");
}
