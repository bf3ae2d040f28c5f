//! What was asked for and has not reached the cluster is no fact; a success does not stay under what went wrong after it.

use std::time::Duration;

use insta::assert_snapshot;

use super::console::TestConsole;
use super::fixtures::{self, ago, running, the_target};
use crate::engine::model::driver::DriverView;
use crate::engine::model::record::{DriverStopped, HaltingGate};
use crate::engine::model::unsent::{Unsent, UnsentKind};
use crate::engine::report::snapshot::Alarm;
use crate::engine::report::snapshot::Phase;
use crate::engine::report::snapshot::Snapshot;
use crate::tui::message::Msg;
use crate::tui::status::StatusSeverity;

fn unsent(kind: UnsentKind, secs: u64) -> Vec<Unsent> {
    vec![Unsent { kind, since: ago(secs), late: secs >= 2, why: Some("writing the lease: connection refused".into()) }]
}

fn with(kind: UnsentKind, secs: u64) -> Snapshot {
    let failing = Alarm::WriteFailing { why: "writing the lease: connection refused".into(), lease_refused: false };
    Snapshot { unsent: unsent(kind, secs), alarms: vec![failing], ..running() }
}

#[test]
fn a_pause_that_is_not_sent() {
    for (width, height) in [(40, 12), (80, 24), (120, 40)] {
        let console = TestConsole::on(with(UnsentKind::Pause, 48), width, height);
        assert_snapshot!(format!("pause_not_sent_{width}x{height}"), console.screen());
    }
    assert!(!TestConsole::on(with(UnsentKind::Pause, 48), 80, 24).screen().contains("PAUSED"));
    let on_its_way = TestConsole::on(with(UnsentKind::Pause, 1), 80, 24).screen();
    assert!(!on_its_way.contains("NOT SENT"), "it may arrive yet:\n{on_its_way}");
}

#[test]
fn whoever_goes_on_is_named() {
    let others = DriverView::Other { holder: "ada@bastion-2/1f".into(), renewal_observed_at: ago(1) };
    let observed = Snapshot { driver: others, ..with(UnsentKind::Pause, 48) };
    let screen = TestConsole::on(observed, 80, 24).screen();
    assert!(screen.contains("ada@bastion-2 does not know of it, and goes on until it is saved"), "{screen}");
    let native = Snapshot { unsent: unsent(UnsentKind::Pause, 48), ..fixtures::cascade() };
    let screen = TestConsole::on(native, 80, 24).screen();
    assert!(screen.contains("its controller goes on replacing pods until OnDelete is set"), "{screen}");
    let step = TestConsole::on(with(UnsentKind::Step, 12), 80, 24).screen();
    assert!(step.contains("STEP NOT SENT"), "{step}");
}

#[test]
fn its_age_is_told_as_it_grows() {
    let mut console = TestConsole::on(with(UnsentKind::Pause, 48), 80, 24);
    console.wait(60);
    assert!(console.screen().contains("PAUSE NOT SENT 1m"), "{}", console.screen());
}

#[test]
fn why_the_last_driver_stopped() {
    let why = "its terminal took no output".into();
    let stopped = DriverStopped { by: "ada@bastion-2".into(), at: ago(180), why };
    let left = Snapshot { driver: DriverView::Nobody, driver_stopped: Some(stopped), phase: Phase::Held, ..running() };
    assert_snapshot!("driver_stopped_80x24", TestConsole::on(left.clone(), 80, 24).screen());
    // Somebody is about to drive.
    let waits = Snapshot { driver: DriverView::Waiting { holder: None }, ..left };
    let screen = TestConsole::on(waits, 80, 24).screen();
    assert!(!screen.contains("stopped driving"), "{screen}");
}

#[test]
fn a_success_gives_way_to_a_newer_alarm() {
    let halted = || Snapshot {
        alarms: vec![Alarm::Halted { gate: HaltingGate::default(), why: "image not found on 1 node".into() }],
        ..running()
    };
    let mut console = TestConsole::on(running(), 80, 24);
    let done = || Msg::Done(the_target(), Ok("60 of 120 nodes may be updated".into()));
    console.tell(done());
    console.see(running());
    assert!(console.screen().contains("60 of 120 nodes may be updated"), "nothing went wrong since");
    console.see(halted());
    assert!(console.screen().contains("60 of 120 nodes may be updated"), "it has just been said");
    console.see(running());
    console.wait(5);
    console.see(halted());
    assert_snapshot!("success_gave_way_80x24", console.screen());
    assert!(!console.screen().contains("60 of 120 nodes may be updated"));
    console.tell(done());
    console.see(halted());
    assert!(console.screen().contains("60 of 120 nodes may be updated"), "it is newer than the alarm");
    // It goes wrong before the message could be read: the message stays until then, and no longer.
    console.see(running());
    console.tell(done());
    console.wait(2);
    console.see(halted());
    console.wait(2);
    console.see(halted());
    assert!(console.screen().contains("60 of 120 nodes may be updated"), "nobody could read it yet");
    console.wait(1);
    assert!(!console.screen().contains("60 of 120 nodes may be updated"), "{}", console.screen());
    console.tell(Msg::Said(StatusSeverity::Refused, "somebody else drives".into()));
    console.now += Duration::from_secs(1);
    let more =
        Snapshot { alarms: [halted().alarms, vec![Alarm::ViewStale { why: "pods".into() }]].concat(), ..running() };
    console.see(more);
    assert!(console.screen().contains("somebody else drives"), "a refusal is no success");
}
