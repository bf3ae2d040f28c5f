//! What somebody else made of the template while nobody drove: the list and the page of the rollout say the same of it.

use super::console::TestConsole;
use super::fixtures::{fleet, preview, running};
use crate::driver::DrivenBy;
use crate::engine::model::danger::Danger;
use crate::engine::model::driver::DriverView;
use crate::engine::model::fleet_state::FleetState;
use crate::engine::model::record::Direction;
use crate::engine::report::snapshot::{Alarm, Phase, Snapshot};
use crate::tui::message::Msg;

fn set_back() -> Snapshot {
    let alarm = Alarm::TemplateChanged {
        by: Some("kubectl-set".into()),
        change: ": agent v1.9.0 → v1.8.2".into(),
        suspend_hint: None,
        elsewhere: Vec::new(),
    };
    Snapshot { phase: Phase::Preparing, driver: DriverView::Nobody, alarms: vec![alarm], ..running() }
}

#[test]
fn a_rollout_whose_template_others_changed_is_not_preparing() {
    for (width, height) in [(40, 12), (80, 24), (120, 40), (200, 50)] {
        let screen = TestConsole::on(set_back(), width, height).screen();
        assert!(screen.contains("‖ template changed"), "{screen}");
        assert!(!screen.contains("preparing"), "{screen}");
        if width >= 80 {
            let waits = "template changed by kubectl-set; nobody drives   A arms: C resumes";
            assert!(screen.contains(waits), "{screen}");
        }
    }
    // Who was going back does not want what somebody else set meanwhile.
    let going_back = Snapshot { direction: Direction::Back, ..set_back() };
    let guidance = going_back.guidance().unwrap();
    assert!(guidance.remedies.iter().all(|remedy| remedy.is_undo()), "{guidance:?}");
    let screen = TestConsole::on(set_back(), 120, 40).typed("AD").answered(preview(Danger::None)).screen();
    assert!(screen.contains("31 of 120 updated; template changed by kubectl-set, it pauses first."), "{screen}");
    // Where somebody drives, it is on its way: they pause it.
    let screen = TestConsole::on(Snapshot { driver: running().driver, ..set_back() }, 80, 24).screen();
    assert!(screen.contains("preparing"), "{screen}");
}

#[test]
fn the_list_tells_it_and_counts_no_other_revision() {
    let mut fleet = fleet();
    let row = &mut fleet.rows[2];
    row.counters.updated = 82;
    (row.state, row.template_of_others, row.driven_by) = (FleetState::Undriven, true, DrivenBy::Nobody);
    for (width, height) in [(80, 24), (120, 40)] {
        let mut console = TestConsole::on_fleet(width, height);
        console.tell(Msg::Fleet(fleet.clone().into()));
        let screen = console.screen();
        let line = screen.lines().find(|line| line.contains("ipc-agent")).unwrap_or_default();
        assert!(line.contains("‖ edge") && line.contains(" ?/120 ") && line.contains("template change"), "{screen}");
        assert!(!line.contains('■'), "{screen}");
    }
}

/// One of those that are up to date may be the one that is not available: as on its page, the full part of the bar leaves it out.
#[test]
fn the_bar_of_the_list_is_full_of_what_is_well() {
    let mut fleet = fleet();
    fleet.rows[2].counters.updated = 1;
    let bar = |fleet: &crate::driver::Fleet| {
        let mut console = TestConsole::on_fleet(120, 40);
        console.tell(Msg::Fleet(fleet.clone().into()));
        let screen = console.screen();
        let line = screen.lines().find(|line| line.contains("ipc-agent")).unwrap_or_default();
        line.split(['[', ']']).nth(1).unwrap_or_default().to_owned()
    };
    assert_eq!(bar(&fleet), "▒░░░░░░░░░");
    fleet.rows[2].counters.available = 120;
    assert_eq!(bar(&fleet), "■░░░░░░░░░");
}
