//! Keys while something is read over a page: the help, the watches, the diagnosis, an event in full.

use super::console::TestConsole;
use super::fixtures::{self, preview, running};
use crate::engine::model::command::Preview;
use crate::engine::model::danger::Danger;
use crate::tui::model::{Overlay, Page};

fn over_a_rollout() -> [(&'static str, TestConsole); 4] {
    ["?", "w", "i", "T<enter>"].map(|keys| (keys, TestConsole::on(running(), 80, 24).typed(keys)))
}

fn is_open(console: &TestConsole) -> bool {
    !matches!(console.model.overlay, Overlay::None)
}

#[test]
fn keys_that_close_it_do_nothing_else() {
    for closes in ["<esc>", "<enter>", "q", "<left>", "<right>", "<f5>z"] {
        for (keys, console) in over_a_rollout() {
            let page = console.model.page.clone();
            let console = console.typed(closes);
            assert!(!is_open(&console), "{keys} {closes}");
            assert_eq!(console.model.page, page, "{keys} {closes}");
        }
    }
    for keys in ["?", "w", "i"] {
        assert!(!is_open(&TestConsole::on(running(), 80, 24).typed(keys).typed(keys)), "{keys} twice");
    }
}

/// Whoever reads which key helps presses it there.
#[test]
fn keys_of_the_page_work_from_there() {
    for (keys, console) in over_a_rollout() {
        let console = console.typed("v");
        assert!(!is_open(&console) && console.model.rollout().unwrap().revisions().is_some(), "{keys} v");
        let screen = console.screen();
        assert!(screen.contains("rev"), "{screen}");
    }
    for (keys, console) in over_a_rollout() {
        let console = console.typed("S");
        let said = console.model.status.as_ref().map_or("", |status| &status.text);
        assert_eq!(said, "read-only: A arms for 10 minutes, then S step", "{keys}");
    }
    for (keys, console) in over_a_rollout() {
        assert!(matches!(console.typed("P").model.overlay, Overlay::Dialog(_)), "{keys}");
    }
    let console = TestConsole::on_fleet(80, 24).with_fleet().typed("?w");
    assert!(console.model.page == Page::Fleet && !is_open(&console), "{}", console.screen());
    let screen = TestConsole::on(running(), 120, 40).typed("w").screen();
    assert!(screen.contains("Watches  (esc closes, other keys work)"), "{screen}");
}

#[test]
fn what_was_scrolled_beyond_the_end_comes_back_with_the_next_key() {
    for keys in ["?", "w", "i"] {
        let mut console = TestConsole::on(fixtures::stale(), 40, 10).typed(keys).typed("G");
        let end = console.screen();
        console.type_keys(&"j".repeat(20));
        console.type_keys("<pgdn><pgdn>");
        assert_eq!(console.screen(), end, "{keys}: there is no more");
        console.type_keys("k");
        assert_ne!(console.screen(), end, "{keys}: k after many j");
    }
    // The same in a dialog.
    let effects = (1..=30).map(|nth| format!("line {nth}")).collect();
    let long = Preview { effects, ..preview(Danger::Serious) };
    let mut console = TestConsole::on(running(), 80, 24).typed("AC").answered(long);
    console.type_keys(&"<pgdn>".repeat(20));
    let end = console.screen();
    console.type_keys("<pgup>");
    assert_ne!(console.screen(), end, "{end}");
}

/// What a second enter would do is said before it is pressed, where it does nothing why.
#[test]
fn the_buttons_say_what_enter_does_while_the_name_is_asked_for() {
    let console = TestConsole::on(running(), 120, 40).typed("AU").answered(preview(Danger::ExceedsBudget));
    let mut console = console.typed("<enter>");
    assert!(console.screen().contains("its name first"), "{}", console.screen());
    console.type_keys("agen<enter>");
    let said = console.model.status.as_ref().map_or("", |status| &status.text);
    assert_eq!(said, "nothing is done: the name that the dialog asks for has to be typed first");
    console.type_keys("<tab><enter>");
    assert!(is_open(&console), "{}", console.screen());
    let said = console.model.status.as_ref().map_or("", |status| &status.text);
    assert_eq!(said, "nothing is done: the name that the dialog asks for has to be typed first");
    let name = console.model.rollout().unwrap().target.name.to_string();
    let console = TestConsole::on(running(), 120, 40).typed("AU").answered(preview(Danger::ExceedsBudget));
    let console = console.typed("<enter>").typed(&name);
    assert!(console.screen().contains("enter: do it"), "{}", console.screen());
}

/// The time for which the console is armed runs out while a dialog is open: it does not offer any more what would be refused.
#[test]
fn a_dialog_says_when_the_console_is_read_only_again() {
    let mut console = TestConsole::on(running(), 120, 40).typed("AU").answered(preview(Danger::Serious));
    assert!(console.screen().contains("tab, enter: do it"), "{}", console.screen());
    console.wait(11 * 60);
    let screen = console.screen();
    assert!(screen.contains("read-only again") && !screen.contains("do it"), "{screen}");
}

/// Also where the footer has room for few keys: without it nobody finds out of a page.
#[test]
fn whatever_covers_the_list_names_the_key_that_closes_it_at_every_size() {
    for size in [(40, 12), (80, 24), (120, 40), (200, 50)] {
        for keys in ["?", "w", "i", "T", "T<enter>", "v", "m", "<enter>", "AS", "AI", "P", "AR"] {
            for snapshot in [running(), fixtures::halted(), fixtures::paused()] {
                let screen = TestConsole::on(snapshot, size.0, size.1).typed(keys).screen();
                let last = screen.lines().last().unwrap_or_default();
                assert!(last.contains(" esc ") || screen.contains("esc: cancel"), "{keys} {size:?}\n{screen}");
            }
        }
        let screen = TestConsole::on_fleet(size.0, size.1).with_fleet().typed("?").screen();
        assert!(screen.lines().last().unwrap_or_default().contains("esc back"), "{size:?}\n{screen}");
    }
}
