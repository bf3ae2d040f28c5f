//! What is shown of nodes that should not run the pod any more, of a DaemonSet that nobody rolls out, and of one that
//! surges.

use insta::assert_snapshot;

use super::console::TestConsole;
use super::fixtures::{self, MINUTE};
use crate::engine::model::budget::{BudgetView, Replacer};
use crate::engine::model::command::{Command, Early};
use crate::engine::model::facts::Taint;
use crate::engine::model::ineligible::Ineligible;
use crate::engine::model::node::{Blame, NodeState};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::template::TaintEffect;
use crate::engine::report::snapshot::Alarm;
use crate::engine::report::snapshot::Counts;
use crate::engine::report::snapshot::NodeView;
use crate::engine::report::snapshot::Phase;
use crate::engine::report::snapshot::Snapshot;
use crate::tui::message::{ConsoleEffect, Msg};

fn tainted(name: &str, serves: bool) -> NodeView {
    let taint = Taint { key: "m".into(), value: "x".into(), effect: TaintEffect::NoSchedule };
    NodeView {
        state: NodeState::Ineligible,
        hold: None,
        eligible: false,
        ineligible: Some(Ineligible::Taint(taint).into()),
        serves,
        ..fixtures::node(name)
    }
}

/// Every node is updated, and three more have an old pod that they should not run.
fn waiting() -> Snapshot {
    let mut nodes: Vec<NodeView> = (1..=117).map(|nth| fixtures::updated(&format!("ipc-{nth:03}"), MINUTE)).collect();
    nodes.extend([tainted("ipc-118", true), tainted("ipc-119", true), tainted("ipc-120", false)]);
    let alarm = Alarm::ReleaseWaits {
        pods: "2 serving pods".into(),
        nodes: "ipc-118, ipc-119 (taint m=x:NoSchedule not tolerated)".into(),
    };
    let mut snapshot =
        Snapshot { phase: Phase::Complete, alarms: vec![alarm], nodes: nodes.into(), ..fixtures::running() };
    snapshot.counts = Counts {
        nodes: 117,
        updated: 117,
        committed: 117,
        available: 117,
        misscheduled: 3,
        removed_by_release: 2,
        ..Counts::default()
    };
    snapshot.budget = BudgetView { max_unavailable: 2, max_pulling: 2, ..BudgetView::default() };
    (snapshot.plan.keep, snapshot.plan.allowed, snapshot.plan.selector) = (0, 117, None);
    snapshot.plan.step = Some(3);
    snapshot
}

#[test]
fn a_release_that_waits_says_for_what() {
    assert_snapshot!("waiting_80x24", TestConsole::on(waiting(), 80, 24).screen());
    assert_snapshot!("waiting_120x40", TestConsole::on(waiting(), 120, 40).screen());
    assert_snapshot!("not_eligible", TestConsole::on(waiting(), 80, 24).typed("G<enter>").screen());
}

#[test]
fn a_release_that_would_cost_serving_pods_is_early_and_asks() {
    let console = TestConsole::on(waiting(), 80, 24).typed("AR");
    let asks =
        |effect: &ConsoleEffect| matches!(effect, ConsoleEffect::Ask { command: Command::Release(Early::Accept), .. });
    assert!(console.effects.iter().any(asks));
}

#[test]
fn nobody_rolls_out_and_three_nodes_are_down() {
    let down = |name: &str| NodeView {
        state: NodeState::NodeDown,
        blame: Some(Blame::Node),
        since: Some(fixtures::ago(2 * MINUTE)),
        serves: false,
        ..fixtures::updated(name, MINUTE)
    };
    let mut nodes = vec![down("ipc-007"), down("ipc-008"), down("ipc-009")];
    nodes.extend((10..=126).map(|nth| fixtures::updated(&format!("ipc-{nth:03}"), MINUTE)));
    let mut idle = Snapshot { nodes: nodes.into(), ..fixtures::idle() };
    (idle.counts.updated, idle.counts.available) = (117, 117);
    (idle.budget.node, idle.budget.replaced_by) = (3, Replacer::Controller);
    assert_snapshot!("idle_down", TestConsole::on(idle, 80, 24).screen());
}

#[test]
fn one_that_surges_asks_for_a_budget() {
    let surging = || Snapshot { surge: Some(IntOrPercent::Int(1)), ..fixtures::idle() };
    assert_snapshot!("surge_adopt", TestConsole::on(surging(), 80, 24).typed("AO").screen());
    assert_snapshot!("surge_image", TestConsole::on(surging(), 80, 24).typed("AI<down>2").screen());
}

/// A driver that is not there any more drops what was said of a success; one that handed the DaemonSet back is not missed.
#[test]
fn that_it_is_released_stays_to_be_read() {
    let adopted = Snapshot { adopted: true, driver: fixtures::running().driver, ..fixtures::idle() };
    let said = |after: Snapshot| {
        let mut console = TestConsole::on(adopted.clone(), 80, 24);
        console
            .tell(Msg::Done(fixtures::the_target(), Ok("released: the original update strategy is restored".into())));
        console.wait(6);
        console.see(after);
        console.screen().contains("ipc-agent: released: the original update strategy is restored")
    };
    assert!(said(fixtures::idle()));
    assert!(!said(Snapshot { adopted: true, ..fixtures::idle() }), "it does not drive any more, and it is adopted");
}
