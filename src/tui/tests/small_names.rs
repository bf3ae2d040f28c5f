//! Small screens: cluster, DaemonSet and versions are named there, beside every message too.

use super::console::TestConsole;
use super::fixtures::{self, ago, preview, running};
use super::small::in_one_line;
use crate::driver::{Fleet, FleetRow};
use crate::engine::model::command::Preview;
use crate::engine::model::danger::Danger;
use crate::engine::model::driver::DriverView;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::record::Direction;
use crate::engine::report::snapshot::{ImageChange, Snapshot};
use crate::tui::message::Msg;
use crate::tui::status::StatusSeverity;

#[test]
fn daemonsets_of_the_same_name_are_told_apart_on_small_screens() {
    let in_namespace = |namespace: &str| FleetRow { namespace: namespace.into(), ..fixtures::fleet().rows[2].clone() };
    let twins = ["factory-north", "factory-south"].map(in_namespace);
    for size in [(40, 12), (50, 14), (60, 20), (80, 24)] {
        let mut console = TestConsole::on_fleet(size.0, size.1);
        console.tell(Msg::Fleet(Fleet { rows: twins.to_vec(), ..fixtures::fleet() }.into()));
        for (namespace, goes_there) in [("factory-north", ""), ("factory-south", "j")] {
            console.type_keys(goes_there);
            let screen = console.screen();
            assert!(screen.contains(&format!(" {namespace}/ipc-agent")), "{size:?}:\n{screen}");
            console.type_keys("/state=halted<enter>");
            console.type_keys(goes_there);
            let screen = console.screen();
            assert!(screen.contains(&format!(" {namespace}/ipc-agent")), "{size:?}:\n{screen}");
            assert!(size.1 >= 16 || screen.contains("· filter sta"), "{size:?}:\n{screen}");
            console.type_keys("<esc>");
        }
    }
    // Where the row says it, nothing else has to.
    let mut console = TestConsole::on_fleet(160, 40);
    console.tell(Msg::Fleet(Fleet { rows: twins.to_vec(), ..fixtures::fleet() }.into()));
    assert!(!console.screen().contains("factory-north/ipc-agent"), "{}", console.screen());
}

#[test]
fn the_tag_is_told_however_long_the_name_of_the_registry_is() {
    let image = |registry: &str, tag: &str| {
        Some(format!("{registry}.factory-automation.example.com/edge/agents/agent:{tag}").into())
    };
    let change = |container: &str, from: [&str; 2], to: [&str; 2]| ImageChange {
        container: container.into(),
        from: image(from[0], from[1]),
        to: image(to[0], to[1]),
    };
    let moved = [change("agent", ["registry-munich", "v1.8.2"], ["registry-hamburg", "v1.9.0"])];
    let two = [moved[0].clone(), change("proxy", ["registry-munich", "v3"], ["registry-munich", "v4"])];
    for (changes, size, said) in [
        (
            &moved[..],
            (210, 50),
            "registry-munich.factory-automation.example.com/edge/agents/agent:v1.8.2 → registry-hamburg",
        ),
        (&moved, (80, 24), " v1.8.2 → v1.9.0, registry changes!   rev 14 → 15 "),
        (&moved, (40, 12), " down 2/2 → v1.9.0!\n"),
        (&two, (80, 24), " → v1.9.0 +1, registry changes!   rev 14 → 15 "),
    ] {
        let snapshot = Snapshot { image_changes: changes.to_vec(), ..fixtures::halted() };
        let screen = TestConsole::on(snapshot, size.0, size.1).screen();
        assert!(screen.contains(said), "{size:?}:\n{screen}");
    }
    let registry = [change("agent", ["registry-munich", "v1"], ["registry-hamburg", "v1"])];
    let snapshot = Snapshot { image_changes: registry.to_vec(), ..fixtures::halted() };
    let screen = TestConsole::on(snapshot, 80, 24).screen();
    assert!(screen.contains(" v1 → v1, registry changes!"), "{screen}");
}

/// Where what it is changed from is on no node any more, nothing could stand before an arrow.
#[test]
fn a_roll_back_from_what_no_node_runs_is_headed_by_its_version_alone() {
    let to = running().to;
    let snapshot =
        Snapshot { direction: Direction::Back, image_changes: Vec::new(), from: to.clone(), to, ..running() };
    assert_eq!(snapshot.change().to_string(), "v1.9.0");
    let screen = TestConsole::on(snapshot, 80, 24).screen();
    assert!(screen.contains("\n v1.9.0 "), "{screen}");
}

#[test]
fn the_dialog_of_a_write_names_the_cluster_and_how_many_nodes_stay() {
    let step = || Preview { title: "1 node updated in total, 119 stay".into(), ..preview(Danger::Bounded) };
    let screen = TestConsole::on(running(), 40, 12).typed("AS").answered(step()).screen();
    assert!(screen.contains("┌ 1 in total, 119 stay ─── tab, enter ─┐"), "{screen}");
    assert!(screen.contains("└─ prod-eu/edge ─"), "{screen}");
    let screen = TestConsole::on(running(), 80, 24).typed("AS").answered(step()).screen();
    assert!(screen.contains("┌ Step: 1 node updated in total, 119 stay ─"), "{screen}");
    assert!(screen.contains("└─ prod-eu · edge/ipc-agent ─"), "its own line has gone for what it would do: {screen}");
}

/// Whoever confirms sees which cluster is meant, also while a message is there.
#[test]
fn every_dialog_of_a_write_names_the_cluster() {
    let message =
        || Msg::Done(fixtures::the_target(), Ok("38 of 120 nodes may be updated, partition keeps 82, and more".into()));
    for keys in ["S", "P", "N", "U", "I", "D", "L", "W", "R"] {
        for (width, height) in [(40, 12), (60, 14)] {
            let mut console = TestConsole::on(running(), width, height).typed(&format!("A{keys}"));
            console.tell(message());
            let screen = console.screen();
            let screen = [screen, console.answered(preview(Danger::Bounded)).typed("<enter>").screen()];
            for screen in screen.iter().filter(|screen| screen.contains('└')) {
                assert!(screen.contains("─ prod-eu/edge ─"), "{keys} {width}x{height}\n{screen}");
            }
        }
    }
}

#[test]
fn a_message_leaves_the_cluster_in_sight() {
    let mut console = TestConsole::on(running(), 40, 12);
    console.tell(Msg::Done(fixtures::the_target(), Ok("38 of 120 nodes may be updated, partition keeps 82".into())));
    let screen = console.screen();
    // All of both is there, on two lines.
    assert!(screen.contains("✓ ipc-agent: 38 of 120 nodes may be\n  updated, partition keeps 82\n"), "{screen}");
    console.tell(Msg::Said(StatusSeverity::Good, "updated, partition".into()));
    let screen = console.screen();
    assert!(screen.contains("\n✓ updated, partition       prod-eu/edge\n"), "{screen}");
    let screen = TestConsole::on(running(), 40, 12).typed("S").screen();
    assert!(screen.contains("✗ read-only: A arms for 10 minutes, then\n  S step"), "{screen}");
}

#[test]
fn a_message_that_is_cut_names_the_key_that_shows_it_whole() {
    let long = format!("{}the end", "a message that goes on and on, ".repeat(6));
    let mut console = TestConsole::on(running(), 40, 12);
    console.tell(Msg::Said(StatusSeverity::Refused, long.clone()));
    let screen = console.screen();
    assert!(screen.lines().nth(10).is_some_and(|line| line.ends_with("… (?: all) prod-eu/edge")), "{screen}");
    let help = console.typed("?").screen();
    assert!(in_one_line(&help).contains(&long), "{help}");
    let mut console = TestConsole::on(running(), 80, 24);
    console.tell(Msg::Said(StatusSeverity::Refused, long));
    let screen = console.screen();
    assert!(screen.lines().nth(22).is_some_and(|line| line.ends_with("… (?: all)")), "{screen}");
}

#[test]
fn of_a_long_context_both_ends_are_shown_and_the_namespace_is_not_cut() {
    let mut console = TestConsole::on(running(), 80, 24);
    console.model.context = "gke_factory-prod_europe-west3_line-7".into();
    let line = console.screen().lines().next().unwrap_or_default().to_owned();
    assert!(line.starts_with(" gke_fact") && line.contains("line-7/edge/ipc-agent "), "{line}");
    // Where nothing of it fits, what is rolled out is not cut for it.
    let who = DriverView::Unconfirmed { holder: "someone@bastion-2.munich/7f".into(), renewed_at: Some(ago(53)) };
    console.see(Snapshot { driver: who, strategy: StrategyKind::OnDelete, ..running() });
    let line = console.screen().lines().next().unwrap_or_default().to_owned();
    assert!(line.contains("edge/ipc-agent "), "{line}");
}

/// Whoever acts has to see on which cluster: beside a message of any length, and on every screen without a dialog.
#[test]
fn no_message_hides_the_cluster() {
    for length in 1..60 {
        let text = "abcdefg ".repeat(length);
        for (height, keys) in [(12, ""), (12, "T"), (12, "v"), (12, "f"), (16, ""), (10, "")] {
            let mut console = TestConsole::on(running(), 40, height).typed(keys);
            console.tell(Msg::Said(StatusSeverity::Refused, text.trim_end().to_owned()));
            let screen = console.screen();
            assert!(screen.contains("prod-eu"), "{length} {height} {keys}\n{screen}");
        }
    }
    // A name that leaves no room for a message is cut, and its namespace left out.
    let mut console = TestConsole::on(running(), 40, 12);
    console.model.context = "gke_factory-prod_europe-west3_line-7".into();
    console.tell(Msg::Said(StatusSeverity::Refused, "abcdefg ".repeat(20)));
    let screen = console.screen();
    assert!(screen.lines().any(|line| line.contains("gke_") && line.ends_with("line-7")), "{screen}");
}
