//! The last two lines: what can be typed next, and the keys that work.

use std::collections::BTreeSet;

use super::console::TestConsole;
use super::fixtures::{self, running};
use crate::engine::model::driver::DriverView;
use crate::engine::report::snapshot::{Alarm, Phase, Snapshot};
use crate::tui::action::ActionId;
use crate::tui::model::Overlay;

fn last(screen: &str) -> &str {
    screen.lines().last().unwrap_or_default()
}

fn status(screen: &str) -> &str {
    screen.lines().rev().nth(1).unwrap_or_default()
}

#[test]
fn completions_that_do_not_fit_are_counted() {
    for width in [40, 80] {
        let mut console = TestConsole::on(running(), width, 24).typed("/name=");
        let all = match &console.model.overlay {
            Overlay::Filter(prompt) => prompt.completions().len(),
            _ => 0,
        };
        assert_eq!(all, 120, "each node");
        let offered = |screen: &str| {
            let line = status(screen);
            let (shown, more) = line.split_once("  +").unwrap_or((line, "0 more"));
            let more: usize = more.trim_end_matches(" more").parse().unwrap_or_default();
            let (before, shown) = match shown.split_once(" before") {
                Some((before, rest)) => (before.trim_start_matches(" tab:").trim().parse().unwrap_or(0), rest),
                None => (0, shown.trim_start_matches(" tab:")),
            };
            before + shown.split_whitespace().count() + more
        };
        assert_eq!(offered(&console.screen()), all, "{}", console.screen());
        console.type_keys("<tab><tab><tab><tab><tab>");
        assert_eq!(offered(&console.screen()), all, "{}", console.screen());
    }
}

#[test]
fn images_that_do_not_fit_are_counted() {
    let screen = TestConsole::on(running(), 40, 24).typed(&format!("AI{}", "<backspace>".repeat(80))).screen();
    let line = screen.lines().find(|line| line.contains("right: ")).unwrap_or_default();
    assert!(line.contains(" more") && !line.contains("… │"), "{screen}");
}

#[test]
fn a_word_that_is_no_command_is_said_to_be_none_before_enter() {
    let said = |typed: &str| status(&TestConsole::on(running(), 80, 24).typed(typed).screen()).trim_end().to_owned();
    assert_eq!(said(":xyzzy"), " there is no command `xyzzy`");
    assert_eq!(said(":tiemline"), " there is no command `tiemline`: did you mean :timeline?");
    // What cannot be done now says why.
    assert_eq!(said(":step next"), " read-only: A arms for 10 minutes, then S step");
    assert_eq!(said(":sort zzz"), " enter runs it");
    assert!(said(":restart").contains("there is no restart"), "{}", said(":restart"));
}

#[test]
fn how_many_pass_the_filter_is_said_once_and_is_not_cut() {
    for size in [(80, 24), (120, 40)] {
        let screen = TestConsole::on(running(), size.0, size.1).typed("/ipc-0<enter>").screen();
        let line = screen.lines().find(|line| line.contains("filter ipc-0")).unwrap_or_default();
        assert_eq!(line.matches("86").count(), 1, "{size:?}:\n{screen}");
        assert!(line.contains("86 of 120 pass, 1-") && line.contains("(esc clears)"), "{size:?}:\n{screen}");
    }
}

#[test]
fn the_help_is_the_last_key_and_what_is_selected_can_be_opened() {
    for size in [(40, 12), (80, 24), (120, 40), (200, 50)] {
        for keys in ["", "m", "T", "v", "l", "Am", "AT", "Av", "Al"] {
            let screen = TestConsole::on(running(), size.0, size.1).typed(keys).screen();
            assert!(last(&screen).ends_with(" ? help"), "{size:?} {keys}:\n{screen}");
            let opens = !keys.ends_with('l') && size.0 > 40;
            assert!(!opens || last(&screen).contains("enter "), "{size:?} {keys}:\n{screen}");
        }
    }
    let complete = Snapshot { phase: Phase::Complete, adopted: true, ..running() };
    let screen = TestConsole::on(complete, 80, 24).typed("A").screen();
    assert!(last(&screen).contains("R release"), "{screen}");
    // What is wrong can be asked for without arming.
    let screen = TestConsole::on(fixtures::halted(), 80, 24).screen();
    assert!(last(&screen).contains("C resume"), "{screen}");
    let screen = TestConsole::on(running(), 80, 24).screen();
    assert!(last(&screen).contains("i diagnose"), "{screen}");
}

/// What the header offers is at hand in the last line, also where that has no room for everything.
#[test]
fn what_the_header_names_is_in_the_last_line() {
    let undriven = |snapshot: Snapshot| Snapshot { driver: DriverView::Nobody, ..snapshot };
    let changed = |snapshot: Snapshot| {
        let alarms = vec![Alarm::RecordMissing];
        Snapshot { alarms, phase: Phase::Held, ..snapshot }
    };
    let cases = [
        fixtures::canary_done(),
        undriven(fixtures::canary_done()),
        undriven(running()),
        undriven(fixtures::waiting()),
        fixtures::paused(),
        fixtures::halted(),
        fixtures::cascade(),
        fixtures::absent(),
        changed(undriven(running())),
    ];
    let mut named = BTreeSet::new();
    for snapshot in cases {
        let remedies = snapshot.alarms.iter().flat_map(|alarm| snapshot.remedies_of(alarm));
        let guided = snapshot.guidance().map(|guidance| guidance.remedies).unwrap_or_default();
        let remedies: Vec<_> = remedies.chain(guided).collect();
        for keys in ["", "A"] {
            let console = TestConsole::on(snapshot.clone(), 80, 24).typed(keys);
            let screen = console.screen();
            for remedy in &remedies {
                let action = ActionId::of_remedy(*remedy).action();
                if action.in_scope(&console.model) {
                    named.insert(action.key());
                    assert!(last(&screen).contains(&format!(" {} ", action.key())), "{remedy:?}, `{keys}`:\n{screen}");
                }
            }
        }
    }
    for key in ["D", "C", "U", "N", "L"] {
        assert!(named.contains(key), "{key} is in no case: {named:?}");
    }
}

/// Whatever the rollout needs: whoever looks finds the way out in the last line.
#[test]
fn a_key_that_leaves_is_always_in_the_last_line() {
    for size in [(40, 12), (80, 24), (120, 40), (200, 50)] {
        for (state, snapshot) in [
            ("running", running()),
            ("halted", fixtures::halted()),
            ("paused", fixtures::paused()),
            ("observed", fixtures::observed()),
            ("idle", fixtures::idle()),
        ] {
            for keys in ["", "A", "m", "T", "v", "W"] {
                let screen = TestConsole::on(snapshot.clone(), size.0, size.1).typed(keys).screen();
                let leaves = last(&screen).split_whitespace().any(|word| word == "q" || word == "esc");
                assert!(leaves, "{state}, {keys:?}, {size:?}:\n{screen}");
            }
        }
    }
    let screen = TestConsole::on(fixtures::halted(), 80, 24).screen();
    for key in ["A arm", "C resume", "U roll back", "q quit"] {
        assert!(last(&screen).contains(key), "{key}: {screen}");
    }
}
