//! Keys that lead from one place to another: back, through lists, between pages and out.

use super::console::TestConsole;
use super::events::{rollout_event, with_events};
use super::fixtures::{self, failed, fleet, running, target, the_target};
use super::keys::{done, on_running, status};
use crate::driver::FleetRow;
use crate::engine::model::cause::CauseKind;
use crate::engine::model::command::Command;
use crate::engine::model::hold::Hold;
use crate::engine::model::node::NodeState;
use crate::engine::model::rollout_event::{EventOutcome, RolloutEventKind};
use crate::engine::report::snapshot::{NodeView, Snapshot};
use crate::tui::daemonset_ref::DaemonSetRef;
use crate::tui::message::{ConsoleEffect, Msg};
use crate::tui::model::Page;

#[test]
fn escape_goes_back_one_level_and_never_quits() {
    let mut console = on_running().typed("/fail<enter>j");
    assert_eq!(console.model.rollout().unwrap().nodes.len(), 1);
    console.type_keys("<esc>");
    assert!(console.model.rollout().unwrap().filter.is_all(), "first the filter");
    assert_eq!(console.model.rollout().unwrap().selected().map(|node| &*node.name), Some("ipc-017"));
    console.type_keys("<esc>");
    assert_eq!(console.model.page, Page::Fleet, "then the page, whatever is selected");
    console.type_keys("<esc><esc><esc>");
    assert!(!console.effects.iter().any(|effect| matches!(effect, ConsoleEffect::Quit(_))));
}

#[test]
fn what_we_drive_is_kept_when_its_page_is_left_and_the_rest_is_let_go() {
    let left = on_running().typed("<esc>");
    assert!(!left.effects.contains(&ConsoleEffect::Close(the_target())));
    let mut observed = TestConsole::on(fixtures::observed(), 80, 24).typed("<esc>");
    assert!(observed.effects.contains(&ConsoleEffect::Close(the_target())));
    observed.tell(Msg::Fleet(fleet().into()));
    observed.effects.clear();
    observed.type_keys("<enter>");
    assert_eq!(observed.effects, [ConsoleEffect::Open(the_target())], "the worst is first");
    let page = observed.model.rollout().unwrap();
    assert!(page.story.clone().into_earlier().is_some(), "what was told of it is not forgotten");
}

#[test]
fn quitting_asks_while_we_drive() {
    assert!(
        matches!(TestConsole::on(fixtures::observed(), 80, 24).typed("q").effects.last(), Some(ConsoleEffect::Quit(none)) if none.is_empty())
    );
    let quit = ConsoleEffect::Quit(vec![the_target()]);
    for (keys, quits) in [
        ("q", false),
        ("q<enter>", false),
        ("qq", false),
        ("q<esc>", false),
        ("q<left><enter>", true),
        ("q<right><enter>", false),
        ("<c-c>", false),
        ("<c-c><c-c>", true),
        ("<esc>q<left><enter>", true),
    ] {
        assert_eq!(on_running().typed(keys).effects.contains(&quit), quits, "{keys}");
    }
}

#[test]
fn the_cursor_stays_on_its_node_and_a_frozen_list_stays_as_it_is() {
    let mut console = on_running().typed("jjj");
    assert_eq!(&*console.model.rollout().unwrap().selected().unwrap().name, "ipc-018");
    let mut moved = running();
    let mut nodes = moved.nodes.to_vec();
    let node = nodes.remove(2);
    nodes.push(node);
    moved.nodes = nodes.into();
    console.see(moved);
    assert_eq!(&*console.model.rollout().unwrap().selected().unwrap().name, "ipc-018");
    let mut frozen = on_running().typed("f");
    let fourth = |console: &mut TestConsole| {
        console.type_keys("gjjj");
        console.model.rollout().unwrap().selected().unwrap().name.to_string()
    };
    // It does not move any more: the list would show it among those that wait.
    let waits = |node: &NodeView| match &*node.name {
        "ipc-018" => NodeView { state: NodeState::Outdated, hold: Some(Hold::Partition { keep: 82 }), ..node.clone() },
        _ => node.clone(),
    };
    frozen.see(Snapshot { nodes: running().nodes.iter().map(waits).collect(), ..running() });
    assert_eq!(fourth(&mut frozen), "ipc-018");
    frozen.type_keys("f");
    assert_ne!(fourth(&mut frozen), "ipc-018");
}

#[test]
fn the_timeline_takes_the_place_of_the_nodes_and_gives_it_back() {
    let open = |console: &TestConsole| console.model.rollout().unwrap().timeline().is_some();
    let mut console = TestConsole::on(with_events(), 80, 24).typed("jT");
    assert!(open(&console));
    console.type_keys("s");
    assert_eq!(status(&console), "this is the timeline: T goes back to the nodes");
    console.type_keys("/halted<enter>");
    assert_eq!(console.model.status, None, "the next key that does something puts it away");
    assert_eq!(console.model.rollout().unwrap().timeline().unwrap().len(), 1);
    assert!(console.model.rollout().unwrap().filter.is_all(), "the nodes' filter is another one");
    console.type_keys("s<esc>");
    assert_eq!(console.model.status, None, "first the refusal is put away");
    assert_eq!(console.model.rollout().unwrap().timeline().unwrap().len(), 1);
    console.type_keys("<esc>");
    assert_eq!(console.model.rollout().unwrap().timeline().unwrap().len(), 12, "then the filter");
    console.type_keys("<esc>");
    assert!(!open(&console), "then the timeline");
    assert_eq!(&*console.model.rollout().unwrap().selected().unwrap().name, "ipc-031", "the selection stayed");
    assert!(!open(&TestConsole::on(with_events(), 80, 24).typed("TT")));
    assert!(open(&TestConsole::on(with_events(), 80, 24).typed(":timeline ops<enter>")));
    let paused = TestConsole::on(with_events(), 80, 24).typed("TP<enter>");
    assert_eq!(done(&paused), [Command::Pause { why: None }], "pausing is at hand here, too");
}

#[test]
fn the_timeline_tells_what_goes_wrong_on_nodes_and_each_step_on_demand() {
    let mut console = TestConsole::on(with_events(), 120, 40).typed("T");
    let mut nodes = running().nodes.to_vec();
    let place = nodes.iter().position(|node| &*node.name == "ipc-018").unwrap();
    nodes[place] = failed("ipc-018", CauseKind::CrashLoop, "back-off", 0);
    nodes[place].pod_created_at = None;
    let other = nodes.iter().position(|node| node.state == NodeState::Outdated).unwrap();
    let name = nodes[other].name.to_string();
    nodes[other] = target(&name, NodeState::Creating, 0);
    let before = console.model.rollout().unwrap().timeline().unwrap().len();
    console.see(Snapshot { nodes: nodes.into(), ..with_events() });
    let screen = console.screen();
    assert!(screen.contains("ipc-018") && screen.contains("failed: crash loop"), "{screen}");
    assert!(!screen.contains("its pod is made"), "{screen}");
    console.type_keys("a");
    assert!(console.screen().contains("its pod is made"), "{}", console.screen());
    console.type_keys(&format!("a/{name}<enter>"));
    let screen = console.screen();
    assert!(
        screen.contains("its pod is made") && !screen.contains("failed: crash loop"),
        "who looks for a node: {screen}"
    );
    assert!(console.model.rollout().unwrap().timeline().unwrap().len() < before);
    console.type_keys("<esc>k<enter>");
    assert!(console.screen().contains("What happened"), "{}", console.screen());
}

#[test]
fn the_cursor_stays_on_what_happened_while_more_does() {
    let mut console = TestConsole::on(with_events(), 80, 24).typed("Tjj");
    let selected =
        |console: &TestConsole| console.model.rollout().unwrap().timeline().unwrap().selected().unwrap().to_string();
    assert_eq!(selected(&console), "halted at revision 15: image not found on 1 node (ipc-017)");
    let mut timeline = with_events().timeline.to_vec();
    timeline.push(rollout_event(
        1,
        None,
        RolloutEventKind::Complete { nodes: 120, back: false, revision: Some(15) },
        EventOutcome::Done,
        "",
    ));
    console.see(Snapshot { timeline: timeline.into(), ..running() });
    assert_eq!(selected(&console), "halted at revision 15: image not found on 1 node (ipc-017)");
    console.type_keys("g");
    assert_eq!(selected(&console), "complete: all 120 nodes are at the target");
}

#[test]
fn esc_clears_the_filter_at_once_where_the_refusal_says_so() {
    let mut console = TestConsole::on(running(), 80, 24).typed("/zzz<enter>n");
    assert_eq!(status(&console), "no row passes the filter: esc clears it");
    console.type_keys("<esc>");
    assert!(console.model.rollout().unwrap().filter.is_all());
    assert_eq!(console.model.status, None);
}

#[test]
fn a_page_down_skips_no_line_of_an_overlay() {
    for (width, height) in [(40, 12), (80, 24)] {
        for overlay in ["?", "i"] {
            let console = TestConsole::on(running(), width, height).typed(overlay);
            let lines = |console: &TestConsole| -> Vec<String> {
                let inside = |line: &str| line.trim().trim_matches('│').trim().to_owned();
                console.screen().lines().map(inside).filter(|line| !line.is_empty()).collect()
            };
            let before = lines(&console);
            let last = before[before.len() - 2].clone();
            let after = lines(&console.typed("<pgdn>"));
            assert!(after.contains(&last), "{overlay} at {width}x{height}: {last:?} is not in {after:#?}");
        }
    }
}

/// A name alone leads to the only DaemonSet that has it, whatever namespace is the default.
#[test]
fn a_daemonset_is_found_by_its_name_in_the_list() {
    let mut listed = fleet();
    let twin = FleetRow { namespace: "edge".into(), ..listed.rows[1].clone() };
    listed.rows.push(twin);
    let typed = |keys: &str| {
        let mut console = TestConsole::on_fleet(80, 24);
        console.tell(Msg::Fleet(listed.clone().into()));
        console.typed(keys)
    };
    let page =
        |namespace: &str, name: &str| Page::Rollout(DaemonSetRef { namespace: namespace.into(), name: name.into() });
    assert_eq!(typed(":ds log-shipper<enter>").model.page, page("edge", "log-shipper"));
    assert_eq!(typed(":ds edge/cilium<enter>").model.page, page("edge", "cilium"));
    assert_eq!(typed(":ds other<enter>").model.page, page("default", "other"));
    let several = typed(":ds cilium<enter>");
    assert_eq!(several.model.page, Page::Fleet);
    let said = "`cilium` is in several namespaces: kube-system, edge; `:ds NAMESPACE/cilium` opens one";
    assert_eq!(several.model.status.unwrap().text, said);
}
