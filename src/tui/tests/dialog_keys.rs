//! Keys that a dialog has no use for, the help over a dialog, and the words of the dialog in which another revision is chosen.

use super::console::TestConsole;
use super::fixtures::{ago, preview, running};
use super::keys::status;
use crate::driver::Fleet;
use crate::engine::model::command::Preview;
use crate::engine::model::danger::Danger;
use crate::engine::model::event::WatchHealth;
use crate::engine::report::snapshot::{RevisionView, Snapshot};
use crate::tui::message::Msg;
use crate::tui::model::Overlay;

#[test]
fn a_key_without_use_in_a_dialog_is_answered() {
    for keys in ["W", "S", "R"] {
        for key in [":", "W"] {
            let mut console = TestConsole::on(running(), 80, 24).typed(&format!("A{keys}"));
            console.type_keys(key);
            let said = format!("{key} does nothing in this dialog, esc closes it; ? lists its keys");
            assert_eq!(status(&console), said, "{keys}");
            assert!(console.screen().contains(&said), "{}", console.screen());
        }
    }
    // Where text is typed, every character is text.
    let console = TestConsole::on(running(), 80, 24).typed("AI:?W");
    assert_eq!(status(&console), "");
    assert!(console.screen().contains(":?W"), "{}", console.screen());
}

#[test]
fn the_help_of_a_dialog_leads_back_to_it() {
    for leave in ["<esc>", "?", "q", "S"] {
        let mut console = TestConsole::on(running(), 80, 24).typed("AW<down><down>7");
        let asked = console.effects.len();
        console.type_keys("<up><up>?");
        assert!(matches!(console.model.overlay, Overlay::Help { .. }), "{leave}");
        assert!(console.screen().contains("Help"), "{}", console.screen());
        console.type_keys("j");
        console.type_keys(leave);
        let screen = console.screen();
        assert!(matches!(console.model.overlay, Overlay::Dialog(_)), "{leave}\n{screen}");
        assert!(screen.contains("max pulling   7"), "what was typed is kept: {screen}");
        assert!(console.effects.len() > asked, "what it would do is asked anew");
    }
}

/// A revision that was made after the present one, with which a rollout was given up.
fn with_a_later_one() -> Snapshot {
    let mut snapshot = running();
    let present = snapshot.to.clone().unwrap();
    let later = RevisionView { number: Some(12), hash: "later".into(), created_at: Some(ago(30)), ..present.clone() };
    let mut revisions: Vec<RevisionView> = snapshot.revisions.to_vec();
    revisions.retain(|revision| revision.hash != present.hash);
    revisions.push(RevisionView { created_at: Some(ago(500)), ..present });
    revisions.push(later);
    snapshot.revisions = revisions.into();
    snapshot
}

#[test]
fn going_to_a_later_revision_is_not_called_a_roll_back() {
    let console = || TestConsole::on(with_a_later_one(), 80, 24).typed("AU<end>");
    let screen = console().screen();
    assert!(screen.contains("┌ Roll out ─") && screen.contains(" Roll out ]"), "{screen}");
    let title = "Roll out revision 12, by steps";
    let answered = console().answered(Preview { title: title.into(), leads_later: true, ..preview(Danger::Serious) });
    let screen = answered.screen();
    assert!(screen.contains(&format!("┌ {title} ─")) && screen.contains(" Roll out ]"), "{screen}");
    assert!(!screen.contains("Roll back"), "{screen}");
    // The preview knows best.
    let title = "Roll back to revision 12";
    let screen = console().answered(Preview { title: title.into(), ..preview(Danger::Serious) }).screen();
    assert!(screen.contains(&format!("┌ {title} ─")) && screen.contains(" Roll back ]"), "{screen}");
}

#[test]
fn the_daemonset_that_one_comes_back_from_is_known_while_the_list_loads() {
    let mut console = TestConsole::on(running(), 120, 40).typed("<esc>");
    let loading = Fleet { health: WatchHealth::Loading, rows: Vec::new(), ..Fleet::default() };
    console.tell(Msg::Fleet(loading.into()));
    console.type_keys("T");
    assert_eq!(status(&console), "T timeline works on an open DaemonSet: enter opens edge/ipc-agent first");
    console.type_keys("<enter>");
    assert!(console.model.rollout().is_some(), "{}", console.screen());
}
