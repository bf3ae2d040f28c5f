//! What the console tells the shell when it ends.

use super::console::TestConsole;
use super::fixtures::{fleet, halted, idle, observed, running};
use crate::tui::model::Page;
use crate::tui::run::farewell::farewell;

#[test]
fn what_is_said_to_the_shell_at_the_end_of_the_list_is_who_goes_on() {
    let end = |console: &TestConsole| farewell(&console.model);
    assert_eq!(
        end(&TestConsole::on_fleet(80, 24)),
        ["prod-eu: nothing was driven from here, and what others drive goes on"]
    );
    let mut console = TestConsole::on(running(), 80, 24);
    let of_rollout = end(&console);
    assert!(
        of_rollout[0].ends_with("31 of 120 nodes updated, 1 image not found (ipc-017); nobody drives it now"),
        "{of_rollout:?}"
    );
    console.type_keys("<esc>");
    assert_eq!(console.model.page, Page::Fleet);
    assert_eq!(end(&console), of_rollout);
    let others = end(&TestConsole::on(observed(), 80, 24));
    assert!(others[0].contains(" goes on driving it"), "{others:?}");
}

#[test]
fn what_was_driven_from_here_and_is_not_any_more_is_said_at_the_end() {
    let end = |console: &TestConsole| farewell(&console.model);
    let mut console = TestConsole::on(running(), 80, 24);
    console.see(idle());
    console.type_keys("<esc>");
    let gone = "edge/ipc-agent; it was driven from here, and is not any more";
    assert_eq!(end(&console), [gone], "its state is not known without the list");
    let listed = console.with_fleet();
    let row = fleet().rows.into_iter().find(|row| &*row.name == "ipc-agent").unwrap();
    assert_eq!(end(&listed), [gone.replace("agent;", &format!("agent: {};", row.standing()))]);
}

/// Nobody can drive anything on it any more.
#[test]
fn at_the_end_of_a_practice_cluster_it_is_said_that_it_ended() {
    let end = |mut console: TestConsole| {
        console.model.practice = true;
        farewell(&console.model)
    };
    let ended = "prod-eu: the practice cluster ended with this console and nothing on it goes on";
    let driven = end(TestConsole::on(running(), 80, 24));
    assert!(
        driven[0].ends_with("31 of 120 nodes updated, 1 image not found (ipc-017)") && driven[1..] == [ended],
        "{driven:?}"
    );
    let none = end(TestConsole::on_fleet(80, 24));
    assert_eq!(none, [ended.replace("console and", "console, from where nothing was driven, and")]);
}

/// Nothing halts where nobody drives: whoever quits in the middle of a crash loop is told of it. A halt says it itself.
#[test]
fn who_quits_is_told_what_is_wrong_with_the_new_pods() {
    let end = |snapshot| farewell(&TestConsole::on(snapshot, 80, 24).model).remove(0);
    let left = end(running());
    assert!(left.contains("31 of 120 nodes updated, 1 image not found (ipc-017)"), "{left}");
    let left = end(halted());
    assert!(left.contains("halted") && !left.contains("updated,"), "{left}");
}

/// It may be copied into a message to whoever carries on.
#[test]
fn what_is_said_at_the_end_tells_the_ages_of_that_moment() {
    let mut console = TestConsole::on(halted(), 80, 24);
    assert!(farewell(&console.model)[0].contains("halted 2m ago"), "{:?}", farewell(&console.model));
    console.wait(600);
    assert!(farewell(&console.model)[0].contains("halted 12m ago"), "{:?}", farewell(&console.model));
}
