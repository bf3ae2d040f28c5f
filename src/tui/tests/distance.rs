//! What a screen shows of the distance to the API server, and of waits that are neither limits nor people.

use std::time::Duration;

use insta::assert_snapshot;

use super::console::TestConsole;
use super::fixtures::{self, ago, noon};
use crate::engine::model::hold::Hold;
use crate::engine::model::node::NodeState;
use crate::engine::model::wait::{DistanceView, Wait};
use crate::engine::report::snapshot::{Alarm, NodeView, Snapshot};

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A rollout that is driven from so far away.
fn far(round_trip: u64, pause_within: u64) -> Snapshot {
    let distance = DistanceView {
        round_trip: Some(millis(round_trip)),
        measured_at: None,
        silent: false,
        pause_within: Some(millis(pause_within)),
    };
    Snapshot { distance, ..fixtures::running() }
}

/// The same, with what is outdated and not held by the partition held by this.
fn held(snapshot: Snapshot, hold: &Hold) -> Snapshot {
    let hold = |node: &NodeView| match (node.state, &node.hold) {
        (NodeState::Outdated, Some(Hold::Budget { .. } | Hold::PullLimit { .. })) => {
            NodeView { hold: Some(hold.clone()), ..node.clone() }
        }
        _ => node.clone(),
    };
    Snapshot { nodes: snapshot.nodes.iter().map(hold).collect(), ..snapshot }
}

fn waiting(snapshot: Snapshot, wait: Wait) -> Snapshot {
    let snapshot = held(snapshot, &Hold::Waits(wait.clone()));
    Snapshot { waits: Some(wait), ..snapshot }
}

#[test]
fn a_rollout_from_far_away_says_how_far_and_what_it_waits_for() {
    let snapshot = || waiting(far(620, 2_300), Wait::Proof { since: ago(12) });
    assert_snapshot!("far_80x24", TestConsole::on(snapshot(), 80, 24).screen());
    assert_snapshot!("far_120x40", TestConsole::on(snapshot(), 120, 40).screen());
    assert_snapshot!("far_watches", TestConsole::on(snapshot(), 80, 24).typed("w").screen());
}

#[test]
fn what_waits_for_the_rate_says_until_when() {
    let rate = Wait::Rate { per_sec: 20, waiting: 110, until: noon() + millis(5_500) };
    assert_snapshot!("rate_80x24", TestConsole::on(waiting(far(20, 1_020), rate), 80, 24).screen());
}

#[test]
fn too_far_away_is_an_alarm() {
    let round_trip = millis(2_600);
    let mut snapshot = held(far(2_600, 6_100), &Hold::ApiLatencyTooHigh { round_trip });
    snapshot.alarms = vec![Alarm::ApiLatencyTooHigh { round_trip }];
    assert_snapshot!("too_far_80x24", TestConsole::on(snapshot.clone(), 80, 24).screen());
    assert_snapshot!("too_far_40x12", TestConsole::on(snapshot, 40, 12).screen());
}

#[test]
fn who_drives_is_said_in_brief_before_it_is_cut() {
    let of = |namespace: &str| {
        let distance = DistanceView {
            round_trip: Some(millis(300)),
            measured_at: None,
            silent: false,
            pause_within: Some(millis(500)),
        };
        let snapshot = Snapshot { distance, namespace: namespace.into(), ..fixtures::idle() };
        TestConsole::on(snapshot, 80, 24).screen().lines().next().unwrap_or_default().to_owned()
    };
    for cells in 4..34 {
        let line = of(&"n".repeat(cells));
        assert!(line.contains("its controller drives ") || line.contains(" controller "), "{cells}: {line}");
        assert!(!line.contains("its controller…"), "{cells}: {line}");
    }
}

/// A console that only looks measures with the few requests that it makes: one slow answer of a while ago tells nothing of the present.
#[test]
fn a_measurement_of_a_while_ago_is_not_shown_as_the_present_distance() {
    let measured = |secs: u64| {
        let distance = DistanceView {
            round_trip: Some(millis(280)),
            measured_at: Some(ago(secs)),
            silent: false,
            pause_within: None,
        };
        TestConsole::on(Snapshot { distance, ..fixtures::observed() }, 120, 40)
    };
    let mut console = measured(20);
    assert!(console.screen().contains("API 280 ms"), "{}", console.screen());
    console.wait(39);
    assert!(console.screen().contains("API 280 ms"), "{}", console.screen());
    console.wait(2);
    assert!(!console.screen().contains("API 280 ms"), "{}", console.screen());
    console.type_keys("w");
    assert!(console.screen().contains("as measured at 11:59:40 UTC"), "{}", console.screen());
    let driven = TestConsole::on(far(280, 900), 120, 40).typed("w").screen();
    assert!(driven.contains("answers in 280 ms;") && !driven.contains("as measured"), "{driven}");
    let help = crate::tui::view::help_lines(&console.model).join("\n");
    assert!(help.contains("API 280 ms"), "{help}");
}
