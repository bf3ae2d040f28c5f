//! As whom requests are made and whether TLS is verified stays in sight on every page.

use std::time::Duration;

use super::console::TestConsole;
use super::fixtures::{self, ago, preview, running};
use crate::engine::model::command::Preview;
use crate::engine::model::danger::Danger;
use crate::engine::model::driver::DriverView;
use crate::engine::model::facts::StrategyKind;
use crate::engine::report::snapshot::Snapshot;
use crate::tui::view;

const IMPERSONATED: &str = "as jane, group sre";
const UNVERIFIED: &str = "TLS NOT VERIFIED";

fn first_line(console: &mut TestConsole) -> String {
    console.model.warnings = vec![IMPERSONATED.to_owned(), UNVERIFIED.to_owned()];
    console.screen().lines().next().unwrap_or_default().to_owned()
}

#[test]
fn impersonation_and_unverified_tls_are_on_every_header() {
    for (width, height) in [(120, 40), (200, 50)] {
        for mut console in [TestConsole::on(fixtures::running(), width, height), TestConsole::on_fleet(width, height)] {
            let line = first_line(&mut console);
            assert!(line.contains(IMPERSONATED) && line.contains(UNVERIFIED), "{width}: {line}");
        }
    }
}

#[test]
fn in_a_narrow_terminal_they_are_shortened_and_not_left_out() {
    for mut console in [TestConsole::on(fixtures::running(), 80, 24), TestConsole::on_fleet(80, 24)] {
        let line = first_line(&mut console);
        assert!(line.contains("as jan") && line.contains("TLS N"), "{line}");
        assert!(line.contains("READ-ONLY"), "{line}");
    }
}

const HOLDER: &str = "uid0@a-host-with-a-long-name/073baad4-5d1f";

fn driven_by(driver: DriverView) -> Snapshot {
    // Nothing else on the screen changes with every second.
    Snapshot { driver, strategy: StrategyKind::OnDelete, ..fixtures::idle() }
}

#[test]
fn since_when_nobody_drives_or_may_counts_with_time() {
    let renewed_at = Some(ago(53));
    let holder = || "uid0@vm/073baad4".into();
    let unconfirmed = DriverView::Unconfirmed { holder: holder(), renewed_at };
    let lost = DriverView::Lost { holder: holder(), renewal_observed_at: ago(20), renewed_at };
    let seen = DriverView::Lost { holder: holder(), renewal_observed_at: ago(53), renewed_at: None };
    for (driver, said) in [
        (
            unconfirmed,
            [
                "nobody is seen driving: uid0@vm renewed 53s ago by its clock",
                "nobody is seen driving: uid0@vm renewed 58s ago by its clock",
            ],
        ),
        (lost, ["drove last, 53s ago by its clock", "drove last, 58s ago by its clock"]),
        (seen, ["was last seen 53s ago", "was last seen 58s ago"]),
    ] {
        let mut console = TestConsole::on(driven_by(driver), 120, 40);
        assert!(console.screen().contains(said[0]), "{}", console.screen());
        let wake = view::draw(&console.model).1.wake;
        assert!(wake.is_some_and(|wake| wake <= Duration::from_secs(1)), "{said:?}: {wake:?}");
        console.wait(5);
        assert!(console.screen().contains(said[1]), "{}", console.screen());
    }
}

#[test]
fn who_is_cut_before_the_words_about_them_are() {
    let line = |driver: DriverView, cells: u16| {
        let console = TestConsole::on(driven_by(driver), cells, 24);
        console.screen().lines().next().unwrap_or_default().to_owned()
    };
    let lost = || DriverView::Lost { holder: HOLDER.into(), renewal_observed_at: ago(70), renewed_at: Some(ago(70)) };
    assert!(line(lost(), 200).contains(&format!("nobody drives: {HOLDER} drove last, 1m ago by its clock")));
    assert!(line(lost(), 160).contains("nobody drives: uid0@a-host-with-a-long-name drove last, 1m ago by its clock"));
    assert!(line(lost(), 80).contains("nobody drives, uid0…name did 1m ago"), "{}", line(lost(), 80));
    assert!(
        line(lost(), 80).starts_with(" prod-eu/edge/ipc-agent "),
        "the cluster is no less important: {}",
        line(lost(), 80)
    );
    let other = || DriverView::Other { holder: HOLDER.into(), renewal_observed_at: ago(1) };
    assert!(line(other(), 80).contains("uid0@a-host-with-a-long-name drives"), "{}", line(other(), 80));
    let unconfirmed = || DriverView::Unconfirmed { holder: HOLDER.into(), renewed_at: Some(ago(20)) };
    assert!(line(unconfirmed(), 80).contains("nobody seen, uid0@a-…g-name 20s ago"), "{}", line(unconfirmed(), 80));
    let said = line(unconfirmed(), 120);
    assert!(said.contains("nobody is seen driving, uid0@a-host-with-a-long-name 20s ago"), "{said}");
}

/// What stands right of the driver, and a long name of the cluster, are shortened before the driver's name is.
#[test]
fn a_driver_is_named_at_80_columns() {
    let holder = || "ada@line3/pts-2-pid20184-1f00c3a9".into();
    let lost = DriverView::Lost { holder: holder(), renewal_observed_at: ago(70), renewed_at: None };
    let other = DriverView::Other { holder: holder(), renewal_observed_at: ago(10) };
    let may = DriverView::Unconfirmed { holder: holder(), renewed_at: Some(ago(6)) };
    let narrow = TestConsole::on(driven_by(may.clone()), 40, 12).screen();
    assert!(narrow.contains("ada@line3?"), "{narrow}");
    let long = DriverView::Unconfirmed { holder: HOLDER.into(), renewed_at: Some(ago(6)) };
    let long = TestConsole::on(driven_by(long), 80, 24).screen();
    assert!(long.contains(" uid0@a-host-with-a-long-name? "), "{long}");
    for (driver, said) in [(lost, "nobody, ada@line3 1m ago"), (other, "ada@line3, seen 10s ago"), (may, " ada@line3")]
    {
        for millis in [0, 340] {
            let mut snapshot = driven_by(driver.clone());
            snapshot.distance.round_trip = Some(Duration::from_millis(millis));
            let mut console = TestConsole::on(snapshot, 80, 24);
            console.model.context = "rolldeck-demo-cluster".into();
            let line = console.screen().lines().next().unwrap_or_default().to_owned();
            assert!(line.contains(said) && line.contains("/edge/ipc-agent ") && line.contains("READ-ONLY"), "{line}");
        }
    }
}

/// The words about who drives become shorter before the name of the cluster is cut, and name the person as well.
#[test]
fn the_cluster_is_named_in_full_beside_a_driver_that_was_killed() {
    let holder = || "ada@line3/pts-2-pid20184-1f00c3a9".into();
    let lost = DriverView::Lost { holder: holder(), renewal_observed_at: ago(70), renewed_at: Some(ago(70)) };
    let other = DriverView::Other { holder: holder(), renewal_observed_at: ago(10) };
    for (driver, said) in [(lost, "nobody, ada@line3 1m ago · "), (other, " ada@line3, seen 10s ago · ")] {
        for millis in [0, 340] {
            let mut snapshot = driven_by(driver.clone());
            snapshot.distance.round_trip = Some(Duration::from_millis(millis));
            let mut console = TestConsole::on(snapshot, 80, 24);
            console.model.context = "production-eu1".into();
            let line = console.screen().lines().next().unwrap_or_default().to_owned();
            let is_named = line.starts_with(" production-eu1/edge") && line.contains("ipc-agent ");
            assert!(is_named && line.contains(said), "{line}");
        }
    }
}

/// A driver that was killed holds its lease for a few seconds more: how long ago it was seen is told as soon as a living one would not act any more.
#[test]
fn a_driver_that_does_not_renew_is_told_with_when_it_was_seen() {
    let other = driven_by(DriverView::Other { holder: "ada@bastion/1f".into(), renewal_observed_at: ago(2) });
    let mut console = TestConsole::on(other, 120, 40);
    let first = |console: &TestConsole| console.screen().lines().next().unwrap_or_default().to_owned();
    assert!(first(&console).contains("ada@bastion/1f drives · live"), "{}", first(&console));
    console.wait(5);
    assert!(first(&console).contains("ada@bastion/1f drives · live"), "{}", first(&console));
    console.wait(1);
    assert!(first(&console).contains("drives, last seen 8s ago"), "{}", first(&console));
    console.wait(3);
    assert!(first(&console).contains("drives, last seen 11s ago"), "{}", first(&console));
}

/// Two consoles of one user on one machine differ in what stands behind the slash.
#[test]
fn what_tells_the_processes_of_one_user_apart_is_explained() {
    let holder = "uid0@vm/073baad4.1".into();
    let other = driven_by(DriverView::Other { holder, renewal_observed_at: ago(2) });
    let words = |keys: &str| {
        let screen = TestConsole::on(other.clone(), 80, 40).typed(keys).screen();
        screen
            .split_whitespace()
            .map(|word| word.trim_matches('│'))
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    };
    let told = words("w");
    let said = "uid0@vm/073baad4.1 drives: behind the slash stands which process of that user on that machine, behind the dot \
                which of the rollouts that it has opened.";
    assert!(told.contains(said), "{told}");
    let named = |holder: &str, cells: u16| {
        let other = driven_by(DriverView::Other { holder: holder.into(), renewal_observed_at: ago(2) });
        TestConsole::on(other, cells, 40)
            .typed("w")
            .screen()
            .replace(['│', '\n'], " ")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    let holder = "uid0@vm/pts-4-pid4711-073baad4";
    let told = named(holder, 80);
    let said = format!("{holder} drives: process 4711 of that user on that machine, on the terminal pts/4.");
    assert!(told.contains(&said), "{told}");
    assert!(named("uid0@a-machine/pts-4-pid4711-073baad4", 80).contains("uid0@a-machine/pts-4-pid4711 drives"));
    assert!(named(holder, 80).contains("uid0@vm/pts-4-pid4711 drives · live"), "{}", named(holder, 80));
    let help = TestConsole::on(other, 200, 300).typed("?").screen();
    assert!(help.contains("so that two consoles of one user are told apart"), "{help}");
}

/// Where the line is short, the driver's name is shortened; the DaemonSet that is written to stays.
#[test]
fn the_daemonset_is_named_beside_a_protected_context_and_a_driver_with_a_long_name() {
    let other =
        DriverView::Other { holder: "ben(uid0)@vm/pts-2-pid20184-1f00c3a9".into(), renewal_observed_at: ago(1) };
    let mut console = TestConsole::on(driven_by(other), 80, 24).typed("A");
    console.model.protected = true;
    console.model.context = "rolldeck-demo".into();
    let line = console.screen().lines().next().unwrap_or_default().to_owned();
    for words in [" PROTECTED rolldeck-demo ", " edge/ipc-agent ", " drives ", "ARMED"] {
        assert!(line.contains(words), "{words}: {line}");
    }
}

/// Where the lines are needed for what a dialog would do, its frame names the target.
#[test]
fn a_dialog_names_its_target_however_much_it_says() {
    for size in [(80, 18), (80, 24), (120, 40)] {
        for warnings in [0, 1, 4, 12] {
            let warnings = (0..warnings).map(|nth| format!("something to think of, number {nth}")).collect();
            let answer = Preview { warnings, ..preview(Danger::Serious) };
            for keys in ["S", "I", "U", "L", "R", "W"] {
                let console = TestConsole::on(running(), size.0, size.1).typed(&format!("A{keys}"));
                let screen = console.answered(answer.clone()).screen();
                let dialog: String = screen.lines().skip_while(|line| !line.contains('┌')).collect();
                let named =
                    dialog.contains("prod-eu · edge · ds/ipc-agent") || dialog.contains("prod-eu · edge/ipc-agent");
                assert!(named, "{keys} at {size:?}:\n{screen}");
            }
        }
    }
}
