//! What a screen of few cells tells of the selected row and of the chosen line: its meaning is not cut.

use super::console::TestConsole;
use super::fixtures::{self, running};
use crate::driver::{Fleet, FleetRow};
use crate::engine::model::fleet_state::FleetState;
use crate::tui::message::Msg;

/// The column has no room for it: of the selected row it is told above the keys.
#[test]
fn the_state_of_the_selected_daemonset_is_told_in_full() {
    let why = "1 of 120 nodes failed (threshold 1): image not found";
    let halted = FleetRow { state: FleetState::Halted(why.into()), ..fixtures::fleet().rows[2].clone() };
    for (width, height, said) in
        [(80, 24, "halted: 1 of 120 nodes failed (threshold 1): image not found"), (40, 12, "halted: 1 of 1")]
    {
        let mut console = TestConsole::on_fleet(width, height);
        console.tell(Msg::Fleet(Fleet { rows: vec![halted.clone()], ..fixtures::fleet() }.into()));
        let screen = console.screen();
        let above_keys = screen.lines().rev().nth(1).unwrap_or_default();
        assert!(above_keys.contains(said), "{screen}");
    }
}

/// The column is narrow there, so the key that shows an event in full is never left out.
#[test]
fn the_timeline_names_the_key_that_shows_an_event_in_full() {
    for armed in ["", "A"] {
        let screen = TestConsole::on(running(), 40, 12).typed(armed).typed("T").screen();
        let footer = screen.lines().last().unwrap_or_default();
        assert!(footer.contains("P pause") && footer.contains("enter read"), "{screen}");
    }
}

/// What each line of the form means is in one column, and that of the chosen one is not cut.
#[test]
fn the_form_of_a_pre_warming_is_told_in_full_line_by_line() {
    let mut console = TestConsole::on(running(), 40, 12).typed("AW");
    let screen = console.screen();
    for (name, value) in [("images", "those"), ("nodes", "all"), ("max pulling", "as"), ("in each site", "no limit")] {
        let line = screen.lines().find(|line| line.contains(name)).unwrap_or_default();
        assert!(line.chars().skip(18).collect::<String>().starts_with(value), "{name}:\n{screen}");
    }
    console.type_keys("<down><down>");
    let screen = console.screen().replace('│', " ").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(screen.contains("as many as the rollout may have pulling: 2"), "{screen}");
}
