//! The list of DaemonSets while a part of the cluster is not seen, and rows of which little is known.

use super::console::TestConsole;
use super::fixtures::{ago, fleet, running};
use crate::driver::{Fleet, FleetPulls, FleetRow};
use crate::engine::model::event::WatchHealth;
use crate::engine::model::fleet_state::FleetState;
use crate::engine::model::record::Direction;
use crate::engine::report::snapshot::{Phase, Snapshot};
use crate::tui::columns::fleet::{rank, sign, standing};
use crate::tui::message::Msg;
use crate::tui::theme::{Glyph, ThemeRole};

fn listing(fleet: Fleet, width: u16) -> String {
    let mut console = TestConsole::on_fleet(width, 40);
    console.tell(Msg::Fleet(fleet.into()));
    console.screen()
}

#[test]
fn what_is_not_seen_now_is_said_above_the_list() {
    let broken = || WatchHealth::Down { since: ago(30), why: "connection refused".into() };
    let lagging = || WatchHealth::Lagging { since: ago(30), why: "silent".into() };
    let leases = "leases: not seen, trying again, so states and drivers are as last seen: connection refused";
    let revisions = "revisions: not seen, trying again, so REVISION is as last seen: silent";
    let screen = listing(Fleet { leases: broken(), ..fleet() }, 120);
    assert!(screen.contains(leases) && !screen.contains("revisions:"), "{screen}");
    let screen = listing(Fleet { leases: broken(), revisions: lagging(), ..fleet() }, 120);
    assert!(screen.contains(leases) && screen.contains(revisions), "{screen}");
    // One line says that the server does not answer.
    let all = Fleet { health: broken(), leases: broken(), revisions: broken(), ..fleet() };
    let screen = listing(all, 120);
    assert_eq!(screen.matches("connection refused").count(), 1, "{screen}");
    let screen = listing(fleet(), 120);
    assert!(!screen.contains("not seen"), "{screen}");
}

#[test]
fn what_is_being_deleted_or_not_known_is_listed_before_what_goes_on() {
    let of = |state: FleetState| FleetRow { state, pulls: None, failing: None, ..fleet().rows[3].clone() };
    let (deleted, unseen) = (of(FleetState::BeingDeleted), of(FleetState::Unseen));
    assert!(rank(&deleted) < rank(&of(FleetState::RecordMissing)));
    assert!(rank(&unseen) < rank(&of(FleetState::Paused("by ops".into()))));
    assert_eq!(
        (standing(&deleted), sign(&deleted)),
        ("held, being deleted, 1 unavailable".into(), (Glyph::Down, ThemeRole::Warn))
    );
    assert_eq!(
        (standing(&unseen), sign(&unseen)),
        ("not known: leases not seen, 1 unavailable".into(), (Glyph::Outdated, ThemeRole::Warn))
    );
    // Its pods go with it: that none is left is no failure.
    let mut gone = FleetRow { pulls: Some(FleetPulls { failed: 3, ..FleetPulls::default() }), ..deleted.clone() };
    gone.counters.available = 0;
    gone.template_of_others = true;
    assert_eq!((standing(&gone), rank(&gone)), ("held, being deleted, 120 unavailable".into(), rank(&deleted)));
}

/// The page of a rollout watches its Lease by itself, and may see it where the list does not.
#[test]
fn what_a_rollout_does_that_is_open_is_known_from_its_page() {
    let mut console = TestConsole::on(running(), 80, 24).with_fleet();
    let mut listed = fleet();
    listed.rows[2].state = FleetState::Unseen;
    let state = |console: &TestConsole| console.model.fleet.as_ref().unwrap().fleet.rows[2].state.clone();
    for (phase, direction, known) in [
        (Phase::Running, Direction::Forward, FleetState::Rolling),
        (Phase::Running, Direction::Back, FleetState::RollingBack),
        (Phase::Held, Direction::Forward, FleetState::Held),
        (Phase::Preparing, Direction::Forward, FleetState::Unseen),
    ] {
        console.see(Snapshot { phase: phase.clone(), direction, ..running() });
        console.tell(Msg::Fleet(listed.clone().into()));
        assert_eq!(state(&console), known, "{phase:?}");
    }
}
