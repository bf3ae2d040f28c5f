//! That a list is frozen, filtered or sorted is seen on every screen, and a list that is frozen stands still.

use super::console::TestConsole;
use super::fixtures::{self, running, target};
use crate::engine::model::node::NodeState;
use crate::engine::report::snapshot::Snapshot;

const SIZES: [(u16, u16); 4] = [(40, 12), (80, 24), (120, 40), (200, 50)];

/// The text of the last message.
fn said(console: &TestConsole) -> String {
    console.model.status.as_ref().map(|status| status.text.clone()).unwrap_or_default()
}

#[test]
fn that_a_list_is_frozen_is_seen_at_every_size() {
    for (width, height) in SIZES {
        let mut console = TestConsole::on(running(), width, height).typed("f");
        assert_eq!(said(&console), "the list is frozen; f: live again");
        console.wait(20);
        // Beside the message, and after it.
        for keys in ["", "j"] {
            console.type_keys(keys);
            let screen = console.screen();
            let rules: Vec<&str> = screen.lines().filter(|line| line.starts_with("──") && line.contains(' ')).collect();
            let marks = if height < 16 { vec![&*screen] } else { rules };
            assert!(marks.iter().all(|mark| mark.contains("FROZEN 20s (f: live)")), "{width}x{height}: {screen}");
        }
        console.type_keys("f");
        assert_eq!(said(&console), "the list is live");
        assert!(!console.screen().contains("FROZEN"), "{}", console.screen());
        console.type_keys("f<esc>");
        assert_eq!(said(&console), "the list is live", "esc ends it, too");
    }
}

#[test]
fn what_is_frozen_tells_ages_as_of_then() {
    let rows = |console: &TestConsole| -> Vec<String> {
        let screen = console.screen();
        let lines = screen.lines().skip_while(|line| !line.contains("NODE"));
        lines.filter(|line| line.contains("ipc-0")).map(|line| line.to_owned()).collect()
    };
    for (width, height) in SIZES {
        // The snapshot was 7 seconds old when the list was frozen.
        let mut console = TestConsole::on(fixtures::pulling(), width, height);
        console.wait(7);
        let live = rows(&console);
        console.type_keys("f");
        let frozen = rows(&console);
        // The mark takes a line where there are few.
        assert!(frozen.len() > 3 && frozen.iter().zip(&live).all(|(frozen, live)| frozen == live), "{live:#?}");
        console.wait(45);
        assert_eq!(rows(&console), frozen, "{width}x{height}");
        console.type_keys("f");
        assert_ne!(rows(&console), frozen, "{width}x{height}");
    }
}

#[test]
fn a_node_that_was_just_updated_stays_where_it_is_in_a_frozen_list() {
    let with = |state| {
        let mut nodes = running().nodes.to_vec();
        nodes.insert(0, target("ipc-018", state, 20));
        Snapshot { nodes: nodes.into(), ..running() }
    };
    let mut console = TestConsole::on(with(NodeState::Soaking), 80, 24);
    console.see(with(NodeState::Updated));
    console.type_keys("f");
    console.wait(60);
    assert!(console.screen().contains("just updated 1"), "{}", console.screen());
}

#[test]
fn the_page_of_a_node_goes_on_while_the_list_is_frozen() {
    let mut console = TestConsole::on(fixtures::pulling(), 120, 40).typed("f<enter>");
    let before = console.screen();
    console.wait(45);
    assert_ne!(console.screen(), before);
}

#[test]
fn sorting_is_answered_and_what_a_list_hides_is_said_beside_every_message() {
    let mut console = TestConsole::on(running(), 40, 12).typed("/updated<enter>s");
    assert_eq!(said(&console), "sorted by name");
    assert!(console.screen().contains("hidden: 2 in trouble, 1 down · filter"), "{}", console.screen());
    console.type_keys("f");
    assert!(console.screen().contains(" FROZEN 0s · hidden: 2 in trouble, 1 do"), "{}", console.screen());
    console.type_keys(":sort trouble<enter>");
    assert_eq!(said(&console), "sorted by trouble, the worst first");
    let fleet = TestConsole::on_fleet(40, 12).with_fleet().typed("/edge<enter>s");
    assert_eq!(said(&fleet), "sorted by namespace");
    assert!(fleet.screen().contains("filter edge"), "{}", fleet.screen());
}

#[test]
fn a_mark_where_there_is_no_node_says_why() {
    let on = |keys: &str| said(&TestConsole::on(running(), 80, 24).typed(keys));
    assert_eq!(on("/nothing-is-called-so<enter> "), "there is no node to mark: none passes the filter, esc clears it");
    assert_eq!(on("jjjjjjjjj "), "only nodes are marked: enter opens and folds a group");
    let none = Snapshot { nodes: Vec::new().into(), ..running() };
    assert_eq!(said(&TestConsole::on(none, 80, 24).typed(" ")), "there is no node to mark");
}

#[test]
fn the_help_knows_what_the_list_calls_itself() {
    let screen = TestConsole::on(running(), 120, 40).typed("?/frozen<enter>").screen();
    assert!(screen.contains(":freeze") && screen.contains("a frozen list says so"), "{screen}");
}
