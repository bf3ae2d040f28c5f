//! How long the message on the status line stays; and the title of a takeover.

use super::console::TestConsole;
use super::fixtures::{ago, fleet, held, preview, running};
use super::keys::status;
use crate::driver::Fleet;
use crate::engine::model::command::Preview;
use crate::engine::model::danger::Danger;
use crate::engine::model::driver::DriverView;
use crate::engine::model::event::WatchHealth;
use crate::engine::model::hold::Hold;
use crate::engine::report::snapshot::Snapshot;
use crate::tui::message::Msg;
use crate::tui::view;

/// A console on a list that is still loading, where a key was refused for that.
fn refused_while_loading() -> TestConsole {
    let mut console = TestConsole::on_fleet(120, 40);
    console.tell(Msg::Fleet(Fleet { health: WatchHealth::Loading, rows: Vec::new(), ..fleet() }.into()));
    console.now += std::time::Duration::from_secs(1);
    console.type_keys("m");
    assert!(status(&console).contains("the list is still loading"), "{}", status(&console));
    console
}

#[test]
fn a_refusal_goes_once_its_reason_is_over_and_it_was_read() {
    let mut console = refused_while_loading();
    console.wait(1);
    console.tell(Msg::Fleet(fleet().into()));
    assert!(status(&console).contains("still loading"), "it could not be read yet");
    let wake = view::draw(&console.model).1.wake.expect("it goes by itself");
    assert!(wake <= std::time::Duration::from_secs(6), "{wake:?}");
    console.wait(4);
    assert_eq!(status(&console), "");
    // While the reason holds, it stays for its time.
    let mut console = refused_while_loading();
    console.wait(30);
    assert!(status(&console).contains("still loading"));
}

#[test]
fn a_result_goes_with_its_time_once_the_screen_shows_other_things_or_with_a_key() {
    let done = || {
        let mut console = TestConsole::on(running(), 120, 40);
        console.tell(Msg::Done(super::fixtures::the_target(), Ok("what failed is tried again".into())));
        console
    };
    let mut unchanged = done();
    unchanged.wait(60);
    assert!(status(&unchanged).ends_with("what failed is tried again"), "nothing else has happened");
    unchanged.type_keys("j");
    assert_eq!(status(&unchanged), "", "the next key removes it");
    let mut changed = done();
    changed.wait(2);
    let nodes = running().nodes.iter().map(|node| held(&node.name, Hold::Partition { keep: 60 })).collect();
    changed.see(Snapshot { nodes, ..running() });
    changed.wait(7);
    assert!(status(&changed).ends_with("what failed is tried again"), "its time is not over");
    let wake = view::draw(&changed.model).1.wake;
    assert!(wake.is_some_and(|wake| wake <= std::time::Duration::from_secs(10)), "{wake:?}");
    changed.wait(1);
    assert_eq!(status(&changed), "", "nothing else happens");
}

#[test]
fn the_dialog_of_a_takeover_has_one_title() {
    let driver = DriverView::Other { holder: "ada@workstation-17/1f00c3a9".into(), renewal_observed_at: ago(2) };
    let answer = Preview { title: "Drive".into(), ..preview(Danger::Bounded) };
    let screen = TestConsole::on(Snapshot { driver, ..running() }, 120, 40).typed("AD").answered(answer).screen();
    assert!(screen.contains("Take over") && !screen.contains("Take over: Drive"), "{screen}");
}

/// Whatever was refused does not stay under what a later command shows.
#[test]
fn a_typed_command_removes_the_message_about_the_one_before() {
    let mut console = TestConsole::on(running(), 120, 40).typed(":filter rst>x<enter>");
    assert!(!status(&console).is_empty());
    console.type_keys(":filter ipc-0<enter>");
    assert_eq!(status(&console), "");
    let mut pending = TestConsole::on(running(), 120, 40);
    pending.tell(Msg::Said(crate::tui::status::StatusSeverity::Busy, "saving …".into()));
    pending.type_keys(":filter ipc-0<enter>");
    assert_eq!(status(&pending), "saving …", "its answer is still to come");
}
