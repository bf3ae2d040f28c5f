//! A halt that names no node is shown without a place, and nothing is left open where places would stand.

use super::console::TestConsole;
use super::fixtures::{self, failed};
use crate::engine::fake_cluster::{HALTED, halted_without_nodes};
use crate::engine::model::cause::CauseKind;
use crate::engine::model::record::HaltingGate;
use crate::engine::report::snapshot::{Alarm, Snapshot};

/// Words that introduce or enclose something that is not there.
const OPEN: [&str; 6] = ["Where", "()", "( )", ": (", " on \n", ", ,"];

#[test]
fn a_halt_without_nodes_is_shown_without_a_place() {
    let (snapshot, preview) = halted_without_nodes();
    assert!(snapshot.halt.as_ref().is_some_and(|halt| halt.named().is_empty()), "{:?}", snapshot.halt);
    for (width, height) in [(120, 40), (80, 24), (60, 20)] {
        let shown = || TestConsole::on(snapshot.clone(), width, height);
        for keys in ["", "T", "T<enter>"] {
            let screen = shown().typed(keys).screen();
            assert!(screen.contains(HALTED), "after {keys:?}:\n{screen}");
            assert!(OPEN.iter().all(|open| !screen.contains(open)), "after {keys:?}:\n{screen}");
        }
        let screen = shown().typed("AC").answered(preview.clone()).screen();
        assert!(screen.contains(&format!("past the halt: {HALTED}.")), "{screen}");
        assert!(OPEN.iter().all(|open| !screen.contains(open)), "{screen}");
    }
}

/// What a rollout that halted waits for is at hand wherever one looks for the reason.
#[test]
fn going_on_and_going_back_are_in_the_last_line_of_every_screen() {
    for size in [(80, 24), (120, 40)] {
        for keys in ["", "T", "m", "AT", "A"] {
            let console = TestConsole::on(fixtures::halted(), size.0, size.1).typed(keys);
            let screen = console.screen();
            let last = screen.lines().last().unwrap_or_default();
            assert!(last.contains("C resume") && last.contains("U roll back"), "`{keys}` at {size:?}: {last}");
        }
    }
}

/// Its alarm names the cause and the nodes: only what it does not say stands below it.
#[test]
fn the_alarm_of_a_halt_is_not_repeated_below_it() {
    let screen = TestConsole::on(fixtures::halted(), 80, 24).screen();
    assert_eq!(screen.matches("image not found (").count(), 0, "{screen}");
    assert!(screen.contains(" ! 1 went down since update (ipc-031, 1m)"), "{screen}");
    // The same while nobody drives who could halt it.
    let why = "image not found on 1 node (ipc-017)".into();
    let waits = Alarm::HaltWaits { gate: HaltingGate::default(), why };
    let screen = TestConsole::on(Snapshot { alarms: vec![waits], ..fixtures::running() }, 80, 24).screen();
    assert_eq!(screen.matches("image not found (").count(), 0, "{screen}");
    // One more has failed since.
    let mut halted = fixtures::halted();
    let another = failed("ipc-018", CauseKind::ImageNotFound, "no such tag", 60);
    halted.nodes = halted.nodes.iter().cloned().chain([another]).collect();
    let screen = TestConsole::on(halted, 80, 24).screen();
    assert!(screen.contains(" ✗ 2 image not found (ipc-017 …, 3m)"), "{screen}");
}
