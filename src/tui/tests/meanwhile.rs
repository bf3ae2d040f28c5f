//! What is confirmed in a dialog is what was read: what others change while it is open is said, and acknowledged before anything is written.

use super::console::TestConsole;
use super::fixtures::{self, preview, running};
use crate::engine::model::command::{Command, Preview, Step};
use crate::engine::model::danger::Danger;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::report::snapshot::{Phase, PlanView, RevisionView, Snapshot};
use crate::tui::message::ConsoleEffect;

fn done(console: &TestConsole) -> Vec<&Command> {
    let commands = console.effects.iter().filter_map(|effect| match effect {
        ConsoleEffect::Do { command, .. } => Some(command),
        _ => None,
    });
    commands.collect()
}

fn step_to(nodes: u32) -> Preview {
    Preview {
        title: format!("Step: {nodes} nodes updated in total, {} stay", 120 - nodes),
        nodes: (0..nodes).map(|nth| format!("ipc-{nth:03}").into()).collect(),
        pinned: Some(Box::new(Command::Step(Step::Partition(IntOrPercent::Int(120 - nodes))))),
        ..preview(Danger::Bounded)
    }
}

/// The rollout as it is when this many nodes may be updated.
fn allowing(nodes: u32) -> Snapshot {
    let running = running();
    let plan = PlanView { allowed: nodes, keep: 120 - nodes, ..running.plan.clone() };
    Snapshot { plan, ..running }
}

fn step_dialog(nodes: u32, size: (u16, u16)) -> TestConsole {
    TestConsole::on(allowing(1), size.0, size.1).typed("AS").answered(step_to(nodes))
}

#[test]
fn a_step_that_became_a_bigger_one_is_told_and_enter_only_acknowledges_it() {
    for size in [(40, 12), (80, 24), (120, 40)] {
        let mut console = step_dialog(12, size);
        console.see(allowing(12));
        console.type_keys("<enter>");
        assert!(done(&console).is_empty(), "what it would do now is not known: {}", console.screen());
        let mut console = console.answered(step_to(60));
        let screen = console.screen();
        assert!(size.0 < 80 || screen.contains("changed meanwhile: Step: 60 nodes updated in total"), "{screen}");
        console.type_keys("<enter>");
        assert!(done(&console).is_empty(), "{}", console.screen());
        let screen = console.screen();
        assert!(size.0 < 80 || screen.contains("look at what it would do, then press enter again"), "{screen}");
        console.type_keys("<enter>");
        assert_eq!(done(&console), [&Command::Step(Step::Partition(IntOrPercent::Int(60)))]);
    }
    // Each change is acknowledged by itself, also on the button.
    let mut console = step_dialog(12, (80, 24)).typed("<tab>");
    for (allowed, next) in [(12, 60), (60, 120)] {
        console.see(allowing(allowed));
        console = console.answered(step_to(next)).typed("<enter>");
        assert!(done(&console).is_empty(), "{}", console.screen());
    }
    // Who changes the form reads anew.
    console.type_keys("<shift-tab><down>");
    console = console.answered(step_to(30)).typed("<enter>");
    assert_eq!(done(&console).len(), 1, "{}", console.screen());
}

/// The brake does not wait until all nodes are listed: that there are more of them then is no change by others.
#[test]
fn a_pause_that_was_asked_for_while_nodes_are_listed_is_made_with_one_enter() {
    let mut loading = Snapshot { phase: Phase::Loading, ..running() };
    (loading.budget.max_unavailable, loading.budget.max_pulling) = (1, 1);
    let pause = || Preview { title: "Pause".into(), ..preview(Danger::None) };
    let mut console = TestConsole::on(loading, 80, 24).typed("P").answered(pause());
    console.see(running());
    let console = console.answered(pause());
    assert!(!console.screen().contains("changed meanwhile"), "{}", console.screen());
    let console = console.typed("<enter>");
    assert_eq!(done(&console).len(), 1, "{}", console.screen());
}

/// Who has just changed the image sees a step while its controller still makes the revision: that it is known then is no change by others.
#[test]
fn a_revision_that_becomes_known_is_no_change_of_what_was_read() {
    let unknown = Snapshot { to: None, ..allowing(1) };
    let mut console = TestConsole::on(unknown, 80, 24).typed("AS").answered(step_to(12));
    console.see(allowing(1));
    let console = console.answered(step_to(12));
    assert!(!console.screen().contains("changed meanwhile"), "{}", console.screen());
    assert_eq!(done(&console.typed("<enter>")).len(), 1);
}

/// A rollout goes on while somebody reads, and its preview is asked for again with each node: enter confirms also before the answer.
#[test]
fn what_a_rollout_does_by_itself_does_not_hold_up_who_confirms() {
    let mut console = step_dialog(12, (80, 24));
    let counts = crate::engine::report::snapshot::Counts { updated: 39, ..running().counts };
    console.see(Snapshot { counts, ..allowing(1) });
    assert_eq!(done(&console.typed("<enter>")).len(), 1);
}

/// A rollout goes on while somebody reads: this is no reason to read again.
#[test]
fn what_a_rollout_does_by_itself_is_no_change_of_what_was_read() {
    let fewer = Preview { nodes: step_to(11).nodes, ..step_to(12) };
    let mut console = step_dialog(12, (80, 24));
    let counts = crate::engine::report::snapshot::Counts { updated: 39, ..running().counts };
    console.see(Snapshot { counts, ..allowing(1) });
    console = console.answered(fewer);
    assert!(!console.screen().contains("changed meanwhile"), "{}", console.screen());
    assert_eq!(done(&console.typed("<enter>")).len(), 1);
    // More nodes are to be taken back with each that is updated.
    let undo = |nodes: u32| Preview { title: "Roll back to revision 14".into(), pinned: None, ..step_to(nodes) };
    let undo = |nodes| Preview { danger: Danger::Serious, ..undo(nodes) };
    let mut console = TestConsole::on(allowing(12), 80, 24).typed("AU").answered(undo(3)).typed("<tab>");
    console.see(Snapshot { counts, ..allowing(12) });
    assert_eq!(done(&console.answered(undo(4)).typed("<enter>")).len(), 1);
}

/// Each of these is shown nowhere else in the dialog, or changes what the same words mean.
#[test]
fn every_change_of_what_is_let_happen_is_told() {
    let other = |revision: &RevisionView| RevisionView { hash: "other".into(), ..revision.clone() };
    let to = running().to.as_ref().map(other);
    let budget = crate::engine::model::budget::BudgetView { max_unavailable: 20, ..running().budget };
    let faults = || Preview { accepts: ["ipc-017".into()].into(), ..preview(Danger::Serious) };
    let more = || Preview { accepts: ["ipc-017".into(), "ipc-031".into()].into(), ..faults() };
    let as_before = || preview(Danger::Bounded);
    let warned = Preview { warnings: vec!["Argo CD sets it back.".into()], ..as_before() };
    let wider = Preview { nodes: step_to(60).nodes, ..as_before() };
    let serious = || preview(Danger::Serious);
    let cases: [(&str, Snapshot, Preview, Snapshot, Preview, &str); 7] = [
        ("S", running(), as_before(), Snapshot { to: to.clone(), ..running() }, as_before(), "another revision"),
        ("W", running(), as_before(), Snapshot { to, ..running() }, as_before(), "another revision"),
        (
            "S",
            running(),
            as_before(),
            Snapshot { budget, ..running() },
            as_before(),
            "20 may be down at once (it was 2)",
        ),
        ("S", fixtures::paused(), as_before(), running(), as_before(), "it is not paused any more"),
        ("L5", running(), as_before(), allowing(90), wider, "60 nodes would go (it was 22)"),
        (
            "C",
            fixtures::halted(),
            faults(),
            Snapshot { plan: allowing(1).plan, ..fixtures::halted() },
            more(),
            "accepts the failure of ipc-031",
        ),
        (
            "R",
            running(),
            serious(),
            allowing(1),
            Preview { danger: Danger::Serious, ..warned },
            "a warning that was not there",
        ),
    ];
    for (keys, before, read, after, asked, words) in cases {
        let mut console = TestConsole::on(before, 120, 40).typed(&format!("A{keys}")).answered(read);
        // To where it is confirmed.
        for _ in 0..4 {
            if console.screen().contains("[>") && !console.screen().contains("[>Cancel<]") {
                break;
            }
            console.type_keys("<tab>");
        }
        console.see(after);
        console = console.answered(asked);
        let screen = console.screen();
        assert!(screen.contains("changed meanwhile: ") && screen.contains(words), "{keys} {words}:\n{screen}");
        console.type_keys("<enter>");
        assert!(done(&console).is_empty(), "{keys} {words}:\n{}", console.screen());
        console.type_keys("<enter>");
        assert_eq!(done(&console).len(), 1, "{keys} {words}:\n{}", console.screen());
    }
}

/// Numbers of nodes that are not listed yet would be others than they are.
#[test]
fn a_console_that_loads_tells_no_numbers_of_the_nodes_so_far() {
    let running = running();
    let by_hand =
        PlanView { allowed: 7, steps: vec!["1".parse().unwrap(), "100%".parse().unwrap()], ..running.plan.clone() };
    for (width, height) in [(40, 8), (80, 24), (120, 40), (200, 50)] {
        let loading = Snapshot { phase: Phase::Loading, plan: by_hand.clone(), ..running.clone() };
        let loaded = Snapshot { phase: Phase::Running, ..loading.clone() };
        let numbers = ["by hand", "pull slots", " down 2", "unavailable", "updated:", "1 misscheduled", "ETA"];
        let console = TestConsole::on(loaded, width, height);
        assert!(numbers.iter().any(|number| console.screen().contains(number)), "{}", console.screen());
        let header = |console: &TestConsole| console.screen().lines().take(6).collect::<Vec<_>>().join("\n");
        for keys in ["", "m"] {
            let console = TestConsole::on(loading.clone(), width, height).typed(keys);
            let header = header(&console);
            assert!(numbers.iter().all(|number| !header.contains(number)), "{}", console.screen());
        }
    }
}
