//! A roll back is called so while it stands, and what is refused in it is not offered.

use super::console::TestConsole;
use super::fixtures::{self, running};
use crate::engine::model::driver::DriverView;
use crate::engine::model::event::{Permission, Right};
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::record::Direction;
use crate::engine::model::roll_back::NoRollBack;
use crate::engine::model::step_ahead::SELECTOR_IGNORED;
use crate::engine::report::snapshot::{Phase, Snapshot};
use crate::tui::action::ActionId;

fn back(snapshot: Snapshot) -> Snapshot {
    let roll_back = Err(NoRollBack::GoesBackAlready { to: "15".into() });
    Snapshot { direction: Direction::Back, roll_back, ..snapshot }
}

fn screen(snapshot: Snapshot) -> String {
    TestConsole::on(snapshot, 120, 40).screen()
}

fn footer(snapshot: &Snapshot, keys: &str) -> String {
    let screen = TestConsole::on(snapshot.clone(), 200, 50).typed(keys).screen();
    screen.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn a_roll_back_that_stands_is_called_one() {
    let paused = screen(back(fixtures::paused()));
    assert!(paused.contains("roll back PAUSED"), "{paused}");
    let held = Snapshot { phase: Phase::Held, driver: DriverView::Nobody, ..running() };
    let way_back = screen(back(held.clone()));
    assert!(way_back.contains("roll back held"), "{way_back}");
    for forward in [fixtures::paused(), held] {
        let screen = screen(forward);
        let above_keys = screen.trim_end().rsplit_once('\n').map(|(above, _)| above).unwrap_or_default();
        assert!(!above_keys.contains("roll back "), "it leads forward: {screen}");
    }
}

#[test]
fn what_a_roll_back_refuses_is_not_offered() {
    let console = TestConsole::on(back(running()), 200, 50).typed("AN");
    assert_eq!(console.model.status.as_ref().map(|status| &*status.text), None, "a selector is set, and can be lifted");
    let mut snapshot = back(running());
    snapshot.plan.selector = None;
    let console = TestConsole::on(snapshot, 200, 50).typed("AN");
    assert_eq!(console.model.status.map(|status| status.text).as_deref(), Some(SELECTOR_IGNORED));
    // Which keys are possible is told by their colours: those that are not come last.
    let place = |footer: &str, key: &str| footer.find(key).unwrap_or(usize::MAX);
    let forward = footer(&running(), "A");
    assert!(place(&forward, "U roll back") < place(&forward, "? help"), "{forward}");
    let way_back = footer(&back(running()), "A");
    assert!(place(&way_back, "U roll back") > place(&way_back, "I image"), "{way_back}");
}

#[test]
fn what_is_not_permitted_is_not_in_the_last_line() {
    let mut denied = running();
    denied.rights = vec![(Right::UpdateLease, Permission::Denied)];
    let line = footer(&denied, "A");
    assert!(line.contains("I image") && !line.contains("S step") && !line.contains("N canary"), "{line}");
    let allowed = footer(&running(), "A");
    assert!(allowed.contains("S step") && allowed.contains("N canary"), "{allowed}");
}

#[test]
fn the_key_that_rolls_back_names_its_revision_wherever_it_is_offered() {
    let halted = screen(fixtures::halted());
    assert!(halted.contains("U rolls back to revision 14"), "{halted}");
    let refused = |snapshot: Snapshot| TestConsole::on(snapshot, 120, 40).typed("S").model.status.unwrap().text;
    let idle = fixtures::idle();
    assert!(
        idle.roll_back.is_err() || refused(idle.clone()).contains("U rolls back to revision "),
        "{}",
        refused(idle)
    );
    let none = Snapshot { roll_back: Err(NoRollBack::RolledBackFrom { number: 15 }), ..fixtures::idle() };
    assert!(!refused(none.clone()).contains("U "), "{}", refused(none));
}

/// Its record is begun without a rollout: who drives it is not refused by the engine.
#[test]
fn an_adoption_can_be_driven() {
    let adopted = Snapshot { adopted: true, strategy: StrategyKind::OnDelete, ..fixtures::idle() };
    let console = TestConsole::on(adopted, 120, 40).typed("A");
    assert_eq!(ActionId::Drive.action().available(&console.model), Ok(()));
}

/// Its controller gives a template that comes back a new number: the header tells which number it had, where the events of the rollout tell that.
#[test]
fn the_target_of_a_roll_back_is_told_by_its_former_number() {
    let renumbered = |mut snapshot: Snapshot, known: bool| {
        let mut target = snapshot.to.clone().unwrap();
        target.number = Some(18);
        target.seen_numbers = if known { vec![14] } else { Vec::new() };
        snapshot.revisions = [target.clone()].into();
        snapshot.to = Some(target);
        snapshot
    };
    let line = |snapshot: &Snapshot, cells: u16| {
        let screen = TestConsole::on(snapshot.clone(), cells, 40).screen();
        screen.lines().nth(1).unwrap_or_default().to_owned()
    };
    let (known, unknown) = (renumbered(back(running()), true), renumbered(back(running()), false));
    let forward = renumbered(running(), true);
    let told = (60..200).filter(|cells| {
        let line = line(&forward, *cells);
        let note = line.find(" (was 14)").or_else(|| line.find(" (the template of 14)"));
        note.is_some_and(|at| {
            assert!(line[..at].ends_with("→ 18"), "behind the number, and not behind the step: {line}");
            true
        })
    });
    assert!(told.count() > 20);
    assert!(line(&known, 200).contains("→ 18 (the template of 14)"), "{}", line(&known, 200));
    let paused = Snapshot { phase: fixtures::paused().phase, ..known.clone() };
    assert!(line(&paused, 80).contains("→ 18 (was 14)"), "{}", line(&paused, 80));
    for cells in 60..200 {
        let (told, bare) = (line(&known, cells), line(&unknown, cells));
        assert!(!bare.contains("was 14") && !bare.contains("template of"), "{bare}");
        // It takes no room from anything else.
        let rest = told.replace(" (the template of 14)", "").replace(" (was 14)", "");
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words(&rest), words(&bare), "{cells}");
    }
}
