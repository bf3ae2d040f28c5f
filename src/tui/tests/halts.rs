//! A halt that names no node is shown without a place, and nothing is left open where places would stand.

use super::console::TestConsole;
use super::fixtures::{self, failed};
use crate::engine::fake_cluster::{HALTED, halted_without_nodes};
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::driver::DriverView;
use crate::engine::model::node::{Blame, CrashLoopView, NodeState};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::record::HaltingGate;
use crate::engine::model::settings::{Gates, OnFailure, Settings};
use crate::engine::report::snapshot::{Alarm, NodeView, Snapshot};

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

/// A pod that crashes again and again moves nothing until it fails: the header tells when that is, and what it does.
#[test]
fn the_header_tells_at_how_many_restarts_a_crash_loop_halts_the_rollout() {
    let kind = CauseKind::CrashLoop;
    let looping = |name: &str, restarts: u32, since: u64| NodeView {
        state: NodeState::Starting,
        hold: None,
        at_target: true,
        restarts,
        blame: Some(Blame::Rollout),
        cause: Some(Box::new(Cause { kind, container: None, message: None })),
        crash_loop: Some(CrashLoopView { cause: kind, since: fixtures::ago(since) }),
        cause_since: Some(fixtures::ago(since)),
        since: Some(fixtures::ago(7)),
        ..fixtures::node(name)
    };
    let with = |nodes: &[NodeView], gates: Gates| {
        let base = fixtures::running();
        let nodes: Vec<NodeView> = nodes.iter().cloned().chain([fixtures::node("ipc-020")]).collect();
        let settings = Settings { gates, ..base.settings.clone() };
        Snapshot { nodes: nodes.into(), settings, ..base }
    };
    let says = |snapshot: &Snapshot, size: (u16, u16)| {
        let screen = TestConsole::on(snapshot.clone(), size.0, size.1).screen();
        screen.lines().find(|line| line.contains("crash loop (")).unwrap_or_default().trim().to_owned()
    };
    let one = with(&[looping("ipc-018", 2, 95)], Gates::default());
    for size in [(80, 24), (120, 40), (200, 50)] {
        assert!(
            says(&one, size).contains("1 crash loop (ipc-018, 1m): halts at 3 restarts (2 now)"),
            "{}",
            says(&one, size)
        );
    }
    let back = with(&[looping("ipc-018", 1, 95)], Gates { on_failure: OnFailure::RollBack, ..Gates::default() });
    assert!(
        says(&back, (80, 24)).contains("(ipc-018, 1m): rolls back at 3 restarts (1 now)"),
        "{}",
        says(&back, (80, 24))
    );
    // The failure of one node is no halt, and nobody halts where nobody drives.
    let two = Gates { failure_threshold: IntOrPercent::Int(2), ..Gates::default() };
    let later = with(&[looping("ipc-018", 2, 95)], two);
    assert!(says(&later, (80, 24)).contains(": fails at 3 restarts (2 now)"), "{}", says(&later, (80, 24)));
    let left = Snapshot { driver: DriverView::Nobody, ..one };
    assert!(says(&left, (80, 24)).contains(": fails at 3 restarts (2 now)"), "{}", says(&left, (80, 24)));
    // The one that fails next is named, where it is not the example.
    let several = with(&[looping("ipc-018", 1, 95), looping("ipc-019", 2, 40)], Gates::default());
    let said = says(&several, (120, 40));
    assert!(said.contains("2 crash loop (ipc-018 …, 1m): ipc-019 halts at 3 restarts (2 now)"), "{said}");
    // What has not restarted, and what may restart for ever, is told nothing of.
    let fresh = with(&[looping("ipc-018", 0, 95)], Gates::default());
    assert!(says(&fresh, (80, 24)).ends_with("(ipc-018, 1m)"), "{}", says(&fresh, (80, 24)));
}
