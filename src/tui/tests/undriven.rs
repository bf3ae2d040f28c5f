//! A rollout that nobody drives does not look as if it went on, and since when it goes back is known to who saw it begin.

use std::time::Duration;

use super::console::TestConsole;
use super::fixtures::{self, ago, fleet, running};
use crate::engine::model::driver::DriverView;
use crate::engine::model::fleet_state::FleetState;
use crate::engine::model::record::Direction;
use crate::engine::report::snapshot::{Phase, Snapshot};
use crate::tui::message::Msg;

fn lost() -> DriverView {
    DriverView::Lost { holder: "ops@bastion-2/3f9a1c".into(), renewal_observed_at: ago(40), renewed_at: None }
}

#[test]
fn what_nobody_drives_has_no_sign_of_running() {
    for (direction, word) in [(Direction::Forward, "running"), (Direction::Back, "rolling back")] {
        let driven = Snapshot { direction, ..running() };
        let undriven = Snapshot { driver: lost(), ..driven.clone() };
        for (cells, rows) in [(60, 12), (80, 24), (120, 40)] {
            let screen = TestConsole::on(driven.clone(), cells, rows).screen();
            assert!(screen.contains(&format!("▶ {word}")), "{screen}");
            let screen = TestConsole::on(undriven.clone(), cells, rows).screen();
            assert!(!screen.contains('▶') && screen.contains(&format!("· {word}")), "{screen}");
        }
        let screen = TestConsole::on(undriven, 120, 40).screen();
        assert!(screen.contains(&format!("· {word}, nobody drives")), "{screen}");
    }
}

/// The age beside the phase is that of the rollout: a step may have begun a moment ago.
#[test]
fn the_age_in_the_header_names_the_rollout() {
    let screen = TestConsole::on(running(), 80, 24).screen();
    assert!(screen.contains("▶ running, rollout 4m\n"), "{screen}");
    let screen = TestConsole::on(running(), 120, 40).screen();
    assert!(screen.contains("▶ running, rollout began 4m ago"), "{screen}");
}

#[test]
fn the_list_knows_since_when_a_rollout_goes_back_that_was_seen_to_turn() {
    let at = |secs| fixtures::noon() + Duration::from_secs(secs);
    let mut console = TestConsole::on(running(), 160, 40).with_fleet();
    console.see(Snapshot { direction: Direction::Back, at: at(60), ..running() });
    console.see(Snapshot { direction: Direction::Back, at: at(90), ..running() });
    console.type_keys("<esc>");
    let mut listed = fleet();
    (listed.rows[2].state, listed.rows[2].since) = (FleetState::RollingBack, None);
    console.tell(Msg::Fleet(listed.into()));
    let row = &console.model.fleet.as_ref().unwrap().fleet.rows[2];
    assert_eq!((row.state.clone(), row.since), (FleetState::RollingBack, Some(at(60))));
    let page = console.model.rollouts.first().and_then(|page| page.snapshot());
    assert!(page.is_some_and(|snapshot| snapshot.phase == Phase::Running));
}
