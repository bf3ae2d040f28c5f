//! What a pause is where it is paused already, and where a dialog leads that was opened by mistake.

use super::console::TestConsole;
use super::events::rollout_event;
use super::fixtures::{self, ago, preview, running, the_target};
use crate::engine::model::command::{Command, Preview};
use crate::engine::model::danger::Danger;
use crate::engine::model::driver::DriverView;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::record::{Direction, Paused};
use crate::engine::model::rollout_event::{EventOutcome, RolloutEventKind};
use crate::engine::report::snapshot::{Phase, Snapshot};
use crate::tui::message::{ConsoleEffect, Msg};
use crate::tui::model::{Overlay, Page};

fn done(console: &TestConsole) -> Vec<Command> {
    let done = |effect: &ConsoleEffect| match effect {
        ConsoleEffect::Do { command, .. } => Some(command.clone()),
        _ => None,
    };
    console.effects.iter().filter_map(done).collect()
}

fn status(console: &TestConsole) -> &str {
    console.model.status.as_ref().map_or("", |status| &status.text)
}

/// It has halted, and somebody has paused it besides.
fn halted_and_paused() -> Snapshot {
    let paused = Some(Paused::new("ops@bastion-2".into(), ago(60), None));
    Snapshot { paused, strategy: StrategyKind::OnDelete, ..fixtures::halted() }
}

/// Events tell who lifted a pause. Where they may not be written or read, the record tells that it is gone.
#[test]
fn a_pause_that_somebody_lifted_is_on_the_timeline_also_without_an_event() {
    let paused = Paused::new("ops@bastion-2/3f9a1c".into(), ago(90), Some("uplink is down".into()));
    let paused = Snapshot { paused: Some(paused.clone()), phase: Phase::Paused(paused), ..fixtures::running() };
    let said = "the pause by ops@bastion-2 (uplink is down) is lifted; no Event tells by whom";
    let mut console = TestConsole::on(paused.clone(), 120, 40).typed("T");
    assert!(!console.screen().contains("is lifted"), "{}", console.screen());
    console.see(fixtures::running());
    assert!(console.screen().contains(said), "{}", console.screen());
    let reopened = console.typed("TT");
    assert!(reopened.screen().contains(said), "{}", reopened.screen());
    assert!(reopened.typed("<enter>").screen().contains(said));
    // The Event comes a moment later.
    let mut told = TestConsole::on(paused, 120, 40).typed("T");
    told.see(fixtures::running());
    let resumed = RolloutEventKind::Command(Command::Resume);
    let resumed = rollout_event(1, Some("ada@host"), resumed, EventOutcome::Done, "resumed");
    told.see(Snapshot { timeline: [resumed].into(), ..fixtures::running() });
    assert!(told.screen().contains("resumed") && !told.screen().contains("is lifted"), "{}", told.screen());
}

#[test]
fn what_is_paused_can_be_paused_again_for_another_reason() {
    for snapshot in [fixtures::paused(), halted_and_paused()] {
        let console = TestConsole::on(snapshot, 80, 24);
        assert!(console.screen().contains(" P new reason "), "{}", console.screen());
        let console = console.typed("Puplink is down");
        assert!(matches!(console.model.overlay, Overlay::Dialog(_)), "no letter of it is a key: {}", console.screen());
        let said = "It is paused already, by jane@bastion 2m ago. That is kept with the new reason.";
        let again = Preview { effects: vec![said.to_owned()], ..preview(Danger::None) };
        let console = console.answered(again);
        assert!(console.screen().contains("It is paused already, by jane@bastion 2m ago."), "{}", console.screen());
        let console = console.typed("<enter>");
        assert_eq!(done(&console), [Command::Pause { why: Some("uplink is down".into()) }]);
    }
    // The same on the list of DaemonSets.
    let mut console = TestConsole::on_fleet(80, 24).with_fleet().typed("jPuplink");
    let Page::Rollout(target) = console.model.page.clone() else { panic!("{}", console.screen()) };
    console.tell(Msg::Snapshot(target, fixtures::paused().into()));
    assert!(matches!(console.model.overlay, Overlay::Dialog(_)));
}

/// Where a pause changes nothing any more, no dialog says that it is what to press.
#[test]
fn while_it_is_paused_no_dialog_offers_to_pause_it() {
    let last = |console: &TestConsole| console.screen().lines().last().unwrap_or_default().to_owned();
    let console = TestConsole::on(running(), 80, 24).typed("AS");
    assert_eq!(last(&console), " esc closes the dialog, then P pauses");
    for snapshot in [fixtures::paused(), halted_and_paused()] {
        let console = TestConsole::on(snapshot, 80, 24).typed("AC");
        assert_eq!(last(&console), " esc closes the dialog; it stays paused");
    }
    // Its own controller replaces pods: a pause stops that.
    let native = Snapshot { strategy: StrategyKind::RollingUpdate, ..fixtures::paused() };
    let console = TestConsole::on(native, 80, 24).typed("AC");
    assert_eq!(last(&console), " esc closes the dialog, then P pauses");
}

#[test]
fn to_cancel_a_pause_leads_back_to_where_it_was_asked_for() {
    let mut console = TestConsole::on_fleet(80, 24).with_fleet().typed("jP");
    let Page::Rollout(target) = console.model.page.clone() else { panic!("{}", console.screen()) };
    console.type_keys("<esc>");
    assert_eq!(console.model.page, Page::Fleet);
    assert!(console.effects.contains(&ConsoleEffect::Close(target.clone())), "it is not watched any longer");
    assert_eq!(console.model.fleet.as_ref().and_then(|page| page.current()), Some(target), "on the same row");
    assert_eq!(status(&console), "cancelled, nothing changed");
    // Whoever has paused it sees what becomes of that.
    let mut console = TestConsole::on_fleet(80, 24).with_fleet().typed("P");
    console.see(running());
    let console = console.answered(preview(Danger::None)).typed("<enter>");
    assert_eq!(console.model.page, Page::Rollout(the_target()));
    let console = TestConsole::on(running(), 80, 24).typed("P<esc>");
    assert_eq!(console.model.page, Page::Rollout(the_target()), "it was opened here");
}

#[test]
fn what_is_said_of_the_key_before_goes_with_the_next_one() {
    for key in ["j", "T", "<enter>", "m", "/", "?", "z"] {
        let mut console = TestConsole::on(running(), 80, 24).typed("P<esc>");
        assert_eq!(status(&console), "cancelled, nothing changed");
        console.type_keys(key);
        assert_ne!(status(&console), "cancelled, nothing changed", "after {key}");
    }
    // In a dialog: why enter did nothing is not said of another line of the form.
    let mut console = TestConsole::on(running(), 80, 24).typed("AS<down><down><enter>");
    assert_eq!(status(&console), "nothing is done: something is missing, as the dialog says");
    console.type_keys("<up>");
    assert_eq!(status(&console), "", "{}", console.screen());
}

/// What its controller began and a pause took over goes by a plan as well: the header says which step, and how many may be updated.
#[test]
fn after_the_brake_the_plan_is_in_the_header() {
    let braked = Snapshot { started_at: None, adopted: true, strategy: StrategyKind::OnDelete, ..fixtures::paused() };
    let screen = TestConsole::on(braked.clone(), 80, 24).screen();
    assert!(screen.contains("step 2 of 4") && screen.contains("38 allowed"), "{screen}");
    assert!(screen.contains("partition 82"), "{screen}");
    let screen = TestConsole::on(braked.clone(), 200, 50).screen();
    assert!(screen.contains("── · 50% ── · 100%"), "{screen}");
    // Where nothing is rolled out there is no plan to tell.
    let nothing = Snapshot { to: braked.from.clone(), ..braked };
    let screen = TestConsole::on(nothing, 80, 24).screen();
    assert!(!screen.contains("step 2 of 4") && !screen.contains("partition 82"), "{screen}");
}

fn flat(console: &TestConsole) -> String {
    console.screen().replace(['│', '\n'], " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Who takes a rollout over is told in what state it is, and what has gone wrong.
#[test]
fn what_is_taken_over_is_told() {
    let gone =
        || DriverView::Lost { holder: "ops@bastion-2/3f9a1c".into(), renewal_observed_at: ago(40), renewed_at: None };
    let trouble = ["1 image not found (ipc-017, 3m)", "1 went down since update (ipc-031, 1m)"];
    for (snapshot, said) in [
        (fixtures::paused(), "paused by ops@bastion-2 3m ago: \"link to munich is down\"."),
        (fixtures::halted(), "halted 2m ago: 1 of 120 nodes failed (threshold 1): image not found on ipc-017."),
        (running(), "running, nobody drives."),
    ] {
        let snapshot = Snapshot { driver: gone(), ..snapshot };
        for size in [(80, 24), (100, 30)] {
            let console =
                TestConsole::on(snapshot.clone(), size.0, size.1).typed("AD").answered(preview(Danger::Bounded));
            let words = flat(&console);
            let step = "Step 2 of 4, 31 of 120 updated; ";
            for words_of in [format!("{step}{said}").as_str(), "Silent: ops@bastion-2/3f9a1c was last seen 40s ago."] {
                assert!(words.contains(words_of), "{words_of}: {}", console.screen());
            }
            for one in trouble {
                assert!(words.contains(one), "{one}: {}", console.screen());
            }
        }
        // It is what is seen first where there are few lines, and it goes on counting.
        let mut console = TestConsole::on(snapshot, 40, 12).typed("AD").answered(preview(Danger::Bounded));
        assert!(flat(&console).contains("Step 2 of 4, 31 of 120 updated"), "{}", console.screen());
        console.wait(60);
        console.type_keys("<pgdn>");
        assert!(flat(&console).contains("1m ago") || flat(&console).contains("4m ago"), "{}", console.screen());
    }
    let well = Snapshot { driver: gone(), nodes: [fixtures::node("n1")].into_iter().collect(), ..running() };
    let console = TestConsole::on(well, 80, 24).typed("AD").answered(preview(Danger::Bounded));
    assert!(flat(&console).contains("No node is in trouble, as far as is seen."), "{}", console.screen());
}

/// No dialog leaves the last line empty, and none offers what does not hold.
#[test]
fn the_last_line_says_what_holds_once_the_dialog_is_closed() {
    let last = |console: &TestConsole| console.screen().lines().last().unwrap_or_default().trim().to_owned();
    let back = Snapshot { direction: Direction::Back, ..running() };
    for (what, snapshot, end) in [
        ("idle", fixtures::idle(), "esc closes the dialog, then P pauses"),
        ("running", running(), "esc closes the dialog, then P pauses"),
        ("paused", fixtures::paused(), "esc closes the dialog; it stays paused"),
        ("halted", fixtures::halted(), "esc closes the dialog; it stays halted"),
        ("back", back, "esc closes the dialog, then P pauses"),
        ("watched", fixtures::observed(), "esc closes the dialog, then P pauses"),
    ] {
        for keys in ["P", "AS", "AI", "AN", "AU", "AL", "AW", "AR", "AO", "AD", "AC", "q"] {
            let console = TestConsole::on(snapshot.clone(), 80, 24).typed(keys);
            if !matches!(console.model.overlay, Overlay::Dialog(_)) {
                continue;
            }
            let said = match (keys, what) {
                ("P", "paused" | "halted") | (_, "paused" | "halted") => end,
                ("P", _) => "esc closes the dialog; nothing is changed",
                _ => end,
            };
            assert_eq!(last(&console), said, "{keys} while {what}:\n{}", console.screen());
        }
    }
    let mut protected = TestConsole::on_fleet(80, 24).with_fleet();
    protected.model.protected = true;
    assert_eq!(last(&protected.typed("A")), "esc closes the dialog; nothing is changed");
}

/// Who takes over a paused rollout is not told to pause it.
#[test]
fn who_begins_to_drive_a_paused_rollout_reads_what_resumes_it() {
    let free = Snapshot { driver: DriverView::Nobody, ..fixtures::paused() };
    let screen = TestConsole::on(free, 120, 40).typed("AD").answered(preview(Danger::Serious)).screen();
    assert!(screen.contains("It is paused, and stays so: C resumes it; D stops driving"), "{screen}");
    assert!(!screen.contains("P pauses it"), "{screen}");
}
