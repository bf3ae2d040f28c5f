//! Every screen at the sizes that people have, as text.

use insta::assert_snapshot;

use super::console::TestConsole;
use super::events;
use super::fixtures::{self, fleet, preview};
use crate::config::NodeColumnName;
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::command::Preview;
use crate::engine::model::danger::Danger;
use crate::engine::model::driver::DriverView;
use crate::engine::model::estimate::{EstimateBlocker, RolloutEstimate};
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::hold::Hold;
use crate::engine::model::node::{ImageState, NodeState};
use crate::engine::model::node_details::{NodeDetail, NodeDetails};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::record::{Direction, Paused};
use crate::engine::model::settings::{Gates, OnFailure, Secs, Settings};
use crate::engine::report::snapshot::Alarm;
use crate::engine::report::snapshot::NodeView;
use crate::engine::report::snapshot::Phase;
use crate::engine::report::snapshot::Snapshot;
use crate::tui::columns::nodes::node_columns;
use crate::tui::message::Msg;
use crate::tui::theme::Glyphs;

const SIZES: [(u16, u16); 4] = [(40, 12), (80, 24), (120, 40), (200, 50)];

fn at_all_sizes(name: &str, console: impl Fn(u16, u16) -> TestConsole) {
    for (width, height) in SIZES {
        assert_snapshot!(format!("{name}_{width}x{height}"), console(width, height).screen());
    }
}

/// A name, and the snapshot that is drawn under it.
type Screen = (&'static str, fn() -> Snapshot);

#[test]
fn a_rollout_is_shown_in_every_phase() {
    let cases: [Screen; 9] = [
        ("loading", fixtures::loading),
        ("idle", fixtures::idle),
        ("native_cascade", fixtures::cascade),
        ("running", fixtures::running),
        ("paused", fixtures::paused),
        ("halted", fixtures::halted),
        ("observed", fixtures::observed),
        ("forbidden", fixtures::forbidden),
        ("stale", fixtures::stale),
    ];
    for (name, snapshot) in cases {
        at_all_sizes(name, |width, height| TestConsole::on(snapshot(), width, height));
    }
}

#[test]
fn what_a_node_has_to_pass_stands_beside_the_steps() {
    let gates =
        Gates { soak_secs: Secs(90), require_image: true, failure_threshold: IntOrPercent::Int(3), ..Gates::default() };
    let with = |gates| {
        let running = fixtures::running();
        Snapshot { settings: Settings { gates, ..running.settings.clone() }, ..running }
    };
    let second_line =
        |gates, width| TestConsole::on(with(gates), width, 40).screen().lines().nth(1).unwrap().to_owned();
    let line = second_line(gates, 200);
    assert!(line.contains("· 100%   soak 90s · images first · halt at 3 failed   "), "{line}");
    let back = second_line(Gates { on_failure: OnFailure::RollBack, ..Gates::default() }, 200);
    assert!(back.contains("· 100%   back at 1 failed   "), "{back}");
    // What is as it is by default takes no room, and where there is none the steps come first.
    assert!(!second_line(Gates::default(), 200).contains("failed"));
    let narrow = second_line(gates, 120);
    assert!(narrow.contains("· 100%") && !narrow.contains("soak"), "{narrow}");
}

#[test]
fn when_it_will_be_done() {
    at_all_sizes("estimated", |width, height| TestConsole::on(fixtures::estimated(), width, height));
    let paused = Snapshot { estimate: RolloutEstimate::Blocked { by: EstimateBlocker::Paused }, ..fixtures::paused() };
    assert_snapshot!("estimated_paused", TestConsole::on(paused, 80, 24).screen());
}

#[test]
fn stale_watches_and_wrong_clocks_are_shown() {
    at_all_sizes("lagging", |width, height| TestConsole::on(fixtures::lagging(), width, height));
    at_all_sizes("clocks", |width, height| TestConsole::on(fixtures::clocks(), width, height));
    assert_snapshot!("watches", TestConsole::on(fixtures::running(), 80, 24).typed("w").screen());
    assert_snapshot!("watches_skipped", TestConsole::on(fixtures::skipped(), 80, 24).typed("w").screen());
    assert_snapshot!("watches_40x12", TestConsole::on(fixtures::lagging(), 40, 12).typed("w").screen());
    assert_snapshot!("watches_stale", TestConsole::on(fixtures::lagging(), 120, 40).typed(":watches<enter>").screen());
    assert_snapshot!("watches_forbidden", TestConsole::on(fixtures::forbidden(), 80, 24).typed("w").screen());
    assert_snapshot!("watches_clocks", TestConsole::on(fixtures::clocks(), 80, 24).typed("w").screen());
}

#[test]
fn what_is_waited_for() {
    at_all_sizes("canary_done", |width, height| TestConsole::on(fixtures::canary_done(), width, height).typed("A"));
    at_all_sizes("preparing", |width, height| TestConsole::on(fixtures::preparing(), width, height));
    at_all_sizes("waiting", |width, height| TestConsole::on(fixtures::waiting(), width, height));
    // Time passes, and what is left of it.
    let mut later = TestConsole::on(fixtures::waiting(), 120, 40);
    later.wait(10);
    assert_snapshot!("waiting_10s_later", later.screen());
    assert_snapshot!("waiting_in_full", TestConsole::on(fixtures::waiting(), 80, 24).typed("<enter>").screen());
    let none = "a step moves nothing: canary done, 3 of 3 (canary=true); lift the selector first";
    let mut refused = TestConsole::on(fixtures::canary_done(), 80, 24).typed("AS");
    let why = crate::engine::model::command::Refusal::NotNow(none.to_owned());
    refused.tell(Msg::Previewed(refused.model.serial, Err(why.into())));
    assert_snapshot!("dialog_step_moves_nothing", refused.screen());
    assert_snapshot!("dialog_lift_selector", TestConsole::on(fixtures::canary_done(), 80, 24).typed("AN").screen());
}

#[test]
fn pulls_are_shown_with_how_long_they_take() {
    at_all_sizes("pulling", |width, height| TestConsole::on(fixtures::pulling(), width, height));
    for (name, keys) in [
        ("slow", "j<enter>"),
        ("full", "<enter>"),
        ("behind", "jjjj<enter>"),
        ("was_slow", "G<enter>"),
        ("there", "Gk<enter>"),
    ] {
        let name = format!("pulling_node_{name}");
        assert_snapshot!(name, TestConsole::on(fixtures::pulling(), 80, 24).typed(keys).screen());
    }
    let mut later = TestConsole::on(fixtures::pulling(), 120, 40);
    later.wait(10);
    assert_snapshot!("pulling_10s_later", later.screen());
}

#[test]
fn an_absent_daemonset_is_said_to_be_absent() {
    assert_snapshot!(TestConsole::on(fixtures::absent(), 80, 24).screen());
}

#[test]
fn armed_with_a_node_selected() {
    at_all_sizes("selected", |width, height| TestConsole::on(fixtures::running(), width, height).typed("Aj"));
}

#[test]
fn a_nodes_page_shows_all_that_is_known_of_it() {
    assert_snapshot!(TestConsole::on(fixtures::running(), 80, 24).typed("<enter>").screen());
}

#[test]
fn the_fleet_is_shown_at_all_sizes() {
    at_all_sizes("fleet", |width, height| {
        let mut console = TestConsole::on_fleet(width, height);
        console.tell(Msg::Fleet(fleet().into()));
        console
    });
    assert_snapshot!("fleet_loading", TestConsole::on_fleet(80, 24).screen());
}

#[test]
fn dialogs_show_what_they_would_do() {
    let asked =
        |keys: &'static str| move |width, height| TestConsole::on(fixtures::running(), width, height).typed(keys);
    at_all_sizes("dialog_step", |width, height| asked("AS")(width, height).answered(preview(Danger::Bounded)));
    at_all_sizes("dialog_canary", asked("AN<c-u>topo<right>mu<right>"));
    at_all_sizes("dialog_undo", |width, height| {
        asked("AU")(width, height).answered(preview(Danger::Serious)).typed("<enter>")
    });
    for (name, keys) in [
        ("dialog_step_asking", "AS"),
        ("dialog_step_number", "AS6x"),
        ("dialog_partition", ":partition 30%<enter>"),
        ("dialog_pause", "P"),
        ("dialog_image", "AI"),
        ("dialog_image_wrong", "AI:"),
        ("dialog_canary_wrong", "AN<c-u>zone in ("),
        ("dialog_quit", "q"),
    ] {
        assert_snapshot!(name, asked(keys)(80, 24).screen());
    }
    let beyond = asked("AR")(80, 24).answered(preview(Danger::ExceedsBudget)).typed("ipc-a");
    assert_snapshot!("dialog_beyond", beyond.screen());
    let mut refused = asked("AD")(80, 24);
    let why = crate::engine::model::command::Refusal::Stale("pods have not been seen for 35s".into());
    refused.tell(Msg::Previewed(refused.model.serial, Err(why.into())));
    assert_snapshot!("dialog_refused", refused.screen());
}

#[test]
fn the_timeline_is_shown_at_all_sizes() {
    at_all_sizes("timeline", |width, height| TestConsole::on(events::with_events(), width, height).typed("T"));
    for (name, keys) in [
        ("timeline_in_full", "Tjj<enter>"),
        ("timeline_reported", "Tjjjjj<enter>"),
        ("timeline_filtered", "T/ops !step<enter>"),
        ("timeline_filter_too_narrow", "T/nobody<enter>"),
    ] {
        assert_snapshot!(name, TestConsole::on(events::with_events(), 80, 24).typed(keys).screen());
    }
    assert_snapshot!("timeline_empty", TestConsole::on(fixtures::idle(), 80, 24).typed("T").screen());
    let complaint = "no Events on the DaemonSet: events is forbidden";
    let mute = Snapshot { unaudited: vec![complaint.into()], ..events::with_events() };
    assert_snapshot!("timeline_mute", TestConsole::on(mute, 80, 24).typed("T").screen());
}

#[test]
fn what_else_manages_it() {
    let kept = |snapshot: Snapshot| Snapshot { gitops_owners: [fixtures::argo_cd()].into(), ..snapshot };
    at_all_sizes("kept", |width, height| TestConsole::on(kept(fixtures::running()), width, height));
    at_all_sizes("dialog_adopt", |width, height| {
        TestConsole::on(kept(fixtures::idle()), width, height).typed("AO").answered(fixtures::adoption())
    });
}

#[test]
fn what_is_set_back() {
    let drifted = || {
        let by = Some("argocd-controller of Argo CD (application edge-agents)".into());
        let suspend_hint = fixtures::argo_cd().suspend_hint().map(Into::into);
        let running = fixtures::running();
        let paused = Paused::new("rolldeck".into(), running.at, Some("the update strategy was changed back".into()));
        Snapshot {
            strategy: StrategyKind::RollingUpdate,
            adopted: false,
            phase: Phase::Paused(paused),
            alarms: vec![Alarm::StrategyDrifted { by, limit: None, enforced: 0, suspend_hint }],
            gitops_owners: [fixtures::argo_cd()].into(),
            ..running
        }
    };
    at_all_sizes("drifted", |width, height| TestConsole::on(drifted(), width, height));
    let mut enforced = Snapshot { alarms: Vec::new(), ..fixtures::running() };
    enforced.alarms.push(Alarm::OnDeleteEnforced {
        by: Some("kustomize-controller".into()),
        times: 3,
        suspend_hint: None,
    });
    assert_snapshot!("enforced", TestConsole::on(enforced, 80, 24).screen());
    let mut stuck = fixtures::running();
    stuck.direction = Direction::Back;
    stuck.alarms.push(Alarm::BudgetUsedUp { used: 5, limit: 2, waiting: 17, failed: 0 });
    at_all_sizes("budget_used_up", |width, height| TestConsole::on(stuck.clone(), width, height));
}

#[test]
fn refusals_are_shown_with_their_reason() {
    let said =
        "Error creating: pods \"agent-8x2lq\" is forbidden: exceeded quota: edge, requested: pods=1, used: pods=120";
    let cause = |kind, said: Option<&str>| Some(Cause { kind, container: None, message: said.map(Into::into) });
    let without_pod = |name: &str, state, cause: Option<Cause>| NodeView {
        cause: cause.map(Box::new),
        pod: None,
        revision: None,
        at_target: false,
        image: ImageState::Unknown,
        ..fixtures::target(name, state, 65)
    };
    let running = fixtures::running();
    let denied = "pods \"agent-k3v9d\" is forbidden: ValidatingAdmissionPolicy 'keep' denied request: not today";
    let mut refused = Snapshot { alarms: Vec::new(), ..running.clone() };
    refused.alarms.push(Alarm::DeletionRefused { node: "ipc-020".into(), count: 2, why: denied.into(), others: true });
    refused.nodes = [
        without_pod("ipc-017", NodeState::Failed, cause(CauseKind::QuotaExceeded, Some(said))),
        without_pod("ipc-018", NodeState::Creating, cause(CauseKind::AdmissionRefused, Some(said))),
        fixtures::held("ipc-020", Hold::DeletionRefused { why: denied.into() }),
        fixtures::held("ipc-021", Hold::Unproven { node: "ipc-018".into(), cause: Some(CauseKind::AdmissionRefused) }),
    ]
    .into();
    at_all_sizes("refused", |width, height| TestConsole::on(refused.clone(), width, height));
    assert_snapshot!("refused_node", TestConsole::on(refused, 80, 24).typed("<enter><enter>").screen());
    let mut idle = Snapshot { alarms: Vec::new(), ..running };
    idle.alarms.push(Alarm::ControllerIdle { since: idle.at, missing: 1, unobserved: false });
    idle.nodes = [without_pod("ipc-017", NodeState::Creating, cause(CauseKind::ControllerIdle, None))].into();
    at_all_sizes("idle_controller", |width, height| TestConsole::on(idle.clone(), width, height));
}

#[test]
fn limits_are_shown_where_they_bind() {
    let asked =
        |keys: &'static str| move |width, height| TestConsole::on(fixtures::running(), width, height).typed(keys);
    at_all_sizes("limits", |width, height| {
        asked("AL5")(width, height).answered(Preview {
            title: "Change budgets and gates".into(),
            effects: vec![
                "From now on at most 5 down and 5 pulling at a time.".into(),
                "max unavailable default → 5".into(),
            ],
            nodes: [].into(),
            ..fixtures::adoption()
        })
    });
    assert_snapshot!("limits_wrong", asked("ALmany")(80, 24).screen());
    assert_snapshot!("limits_switched", asked("A:tune on-drift<enter><right>")(80, 24).screen());
}

#[test]
fn help_and_prompts_are_shown_at_all_sizes() {
    at_all_sizes("help", |width, height| TestConsole::on(fixtures::running(), width, height).typed("?"));
    assert_snapshot!("palette", TestConsole::on(fixtures::running(), 80, 24).typed(":s").screen());
    assert_snapshot!("filter", TestConsole::on(fixtures::running(), 80, 24).typed("/-l line in (").screen());
    assert_snapshot!(
        "filtered",
        TestConsole::on(fixtures::running(), 80, 24).typed("/outdated !partition<enter>").screen()
    );
    assert_snapshot!("refused", TestConsole::on(fixtures::running(), 80, 24).typed("S").screen());
    let mut frozen = TestConsole::on(fixtures::running(), 80, 24).typed("f");
    frozen.wait(20);
    assert_snapshot!("frozen", frozen.screen());
}

#[test]
fn small_and_plain_terminals() {
    assert_snapshot!("sentence_39x9", TestConsole::on(fixtures::running(), 39, 9).screen());
    assert_snapshot!("sentence_20x5", TestConsole::on(fixtures::running(), 20, 5).screen());
    let mut ascii = TestConsole::on(fixtures::running(), 80, 24);
    ascii.model.glyphs = Glyphs::Ascii;
    assert!(ascii.screen().is_ascii());
    assert_snapshot!("ascii_80x24", ascii.screen());
}

#[test]
fn a_nodes_page_says_what_machine_it_is() {
    let mut snapshot = fixtures::running();
    let details = NodeDetails::known(7);
    let nodes = snapshot.nodes.iter().map(|node| NodeView { details: details.clone(), ..node.clone() });
    snapshot.nodes = nodes.collect();
    let screen = TestConsole::on(snapshot, 240, 24).typed("<enter>").screen();
    let line = screen.lines().find(|line| line.contains("Machine")).unwrap_or_default();
    assert!(line.contains("ar7, kubelet ku7"), "{screen}");
    let told = NodeDetail::ALL.iter().filter_map(|detail| details.get(*detail));
    told.for_each(|text| assert!(line.contains(&**text), "{text}: {screen}"));
    let unknown = TestConsole::on(fixtures::running(), 80, 24).typed("<enter>").screen();
    assert!(!unknown.contains("Machine"), "{unknown}");
}

#[test]
fn what_is_wrong_is_told_cause_by_cause() {
    for (width, height) in SIZES {
        let console = TestConsole::on(fixtures::running(), width, height).typed("i");
        assert_snapshot!(format!("diagnosis_{width}x{height}"), console.screen());
    }
    assert!(TestConsole::on(fixtures::idle(), 80, 24).typed("i").screen().contains("nothing is wrong"));
}

#[test]
fn the_list_of_nodes_has_the_columns_that_the_configuration_names() {
    let headers = |console: &TestConsole| {
        let screen = console.screen();
        let line = screen.lines().find(|line| line.contains("NODE")).unwrap_or_default().to_owned();
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let mut console = TestConsole::on(fixtures::running(), 80, 24);
    assert!(headers(&console).starts_with(&["NODE".to_owned(), "STATE".to_owned()]));
    console.model.node_columns = node_columns(&[NodeColumnName::Since, NodeColumnName::Name, NodeColumnName::Why]);
    assert_eq!(headers(&console), ["FOR", "NODE", "WHY"]);
}

#[test]
fn what_an_adopted_daemonset_waits_for_is_said_in_full() {
    let adopted = Snapshot { adopted: true, strategy: StrategyKind::OnDelete, ..fixtures::idle() };
    let screen = TestConsole::on(adopted, 80, 24).screen();
    assert!(screen.contains(" adopted: its controller replaces no pod until it is handed back\n"), "{screen}");
}

#[test]
fn who_drives_in_place_of_this_console_is_said_in_words() {
    let said = |snapshot: Snapshot| {
        let console = TestConsole::on(snapshot, 80, 24).typed(":stop-driving<enter>");
        console.model.status.map(|status| status.text).unwrap_or_default()
    };
    let text = said(fixtures::idle());
    assert!(text.contains("you do not drive this rollout; its controller does"), "{text}");
    let text = said(Snapshot { driver: DriverView::Unknown, ..fixtures::idle() });
    assert!(text.contains("who does is not known"), "{text}");
}
