//! What the console tells the shell when it ends.

use super::console::TestConsole;
use super::fixtures::{fleet, halted, idle, noon, observed, paused, running};
use crate::engine::model::record::{Direction, Paused};
use crate::engine::report::snapshot::{Phase, Snapshot};
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
    let ended = "prod-eu: the practice cluster ended with this console";
    let driven = end(TestConsole::on(running(), 80, 24));
    assert!(
        driven[0].ends_with("31 of 120 nodes updated, 1 image not found (ipc-017)") && driven[1..] == [ended],
        "{driven:?}"
    );
    let none = end(TestConsole::on_fleet(80, 24));
    assert_eq!(none, [ended]);
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

/// The words of the dialog that asks whether to quit, without its frame.
fn asked(mut console: TestConsole, flags: Option<&str>) -> String {
    console.model.cluster_flags = flags.map(str::to_owned);
    let screen = console.typed("q").screen();
    screen.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
}

#[test]
fn the_command_that_goes_on_without_a_console_leads_to_the_same_cluster() {
    let of = |flags| asked(TestConsole::on(running(), 80, 24), flags);
    let said = of(Some("--kubeconfig /etc/edge --context prod-eu"));
    let drive =
        "`rolldeck drive --kubeconfig /etc/edge --context prod-eu -n edge ds/ipc-agent` goes on without a console.";
    assert!(said.contains(drive), "{said}");
    let said = of(None);
    assert!(said.contains("`rolldeck drive` goes on without a console."), "{said}");
}

/// `drive` is refused then, and no console moves anything before either.
#[test]
fn who_quits_a_halted_rollout_reads_what_comes_first() {
    let said = asked(TestConsole::on(halted(), 80, 24), Some("--context prod-eu"));
    let place = "--context prod-eu -n edge ds/ipc-agent";
    let first = format!("before `rolldeck resume {place}` or `rolldeck undo {place}`.");
    assert!(said.contains("It is halted: what is in flight finishes") && said.contains(&first), "{said}");
    assert!(!said.contains("rolldeck drive") && !said.contains("until somebody drives"), "{said}");
    let back = Snapshot { direction: Direction::Back, ..halted() };
    let said = asked(TestConsole::on(back, 80, 24), Some("--context prod-eu"));
    assert!(said.contains("rolldeck resume") && !said.contains("rolldeck undo"), "{said}");
}

/// No driver moves anything under a pause. After one of rolldeck's own a resume is not the only way.
#[test]
fn who_quits_a_paused_rollout_reads_who_paused_it_and_what_comes_first() {
    let said = asked(TestConsole::on(paused(), 80, 24), Some("--context prod-eu"));
    let place = "--context prod-eu -n edge ds/ipc-agent";
    assert!(
        said.contains("It is paused by ops@bastion-2: \"link to munich is down\". What is in flight finishes"),
        "{said}"
    );
    assert!(said.contains(&format!("whoever drives, before `rolldeck resume {place}`.")), "{said}");
    assert!(
        said.contains(&format!("Once it is resumed, `rolldeck drive {place}` goes on without a console.")),
        "{said}"
    );
    assert!(!said.contains("until somebody drives"), "{said}");
    let why = "somebody else changed the template";
    let by_itself = Phase::Paused(Paused::new("rolldeck".into(), noon(), Some(why.into())));
    let said = asked(TestConsole::on(Snapshot { phase: by_itself, ..running() }, 80, 24), Some("--context prod-eu"));
    assert!(said.contains(&format!("It is paused by rolldeck itself: {why}. What is in flight finishes")), "{said}");
    assert!(said.contains(&format!("decides how it goes on: `rolldeck status {place}` has the ways.")), "{said}");
    assert!(!said.contains("rolldeck resume"), "{said}");
}

#[test]
fn who_quits_where_nothing_is_to_be_rolled_out_reads_that_it_stays_adopted() {
    let driver = running().driver;
    let idle = Snapshot { adopted: true, phase: Phase::Idle, driver, ..idle() };
    let console = TestConsole::on(idle.clone(), 80, 24);
    let stays = "its controller replaces no pod until `rolldeck release --context prod-eu -n edge ds/ipc-agent`";
    let left = farewell(&console.model).remove(0);
    assert!(left.ends_with(&format!("; it stays adopted: {stays}")), "{left}");
    let said = asked(console, Some("--context prod-eu"));
    assert!(said.contains(&format!("It stays adopted, and nothing is to be rolled out: {stays}.")), "{said}");
    assert!(!said.contains("rolldeck drive") && !said.contains("until somebody drives"), "{said}");
    let never = Snapshot { adopted: false, ..idle };
    let left = farewell(&TestConsole::on(never, 80, 24).model).remove(0);
    assert!(!left.contains("stays adopted"), "{left}");
}
