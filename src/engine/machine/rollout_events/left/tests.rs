//! Why a driver drives no more, as the event that it gave the lease back tells it.

use super::super::tests::{event_because, said};
use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::command::{Command, Early, PrewarmCommand, Takeover};
use crate::engine::model::config::Role;
use crate::engine::model::prewarm::{PrewarmLimits, PrewarmMethod, PrewarmNodes, PrewarmSource};

/// Who drives no more says why, as far as that is known.
#[test]
fn who_drives_no_more_says_why() {
    let last = |console: &FakeConsole| said(console).pop().unwrap();
    let begin = |fake: &mut FakeCluster, image: &str| {
        let mut console = FakeConsole::open(fake, "ops");
        console.set_image(fake, image);
        console.partition(fake, 8);
        console.run_for(fake, 30);
        console
    };
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = begin(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::StopDriving).unwrap();
    console.run_for(&mut fake, 5);
    assert_eq!(last(&console), "ops: drives no more, gave the lease back: stopped by its operator or with its process");
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = begin(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::GiveUpDriving { why: "its --timeout of 60s had passed".into() }).unwrap();
    console.run_for(&mut fake, 5);
    let told = said(&console);
    let [.., left, given_up] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(left, "ops: drives no more, gave the lease back: its --timeout of 60s had passed");
    assert_eq!(given_up, "ops: stopped driving: its --timeout of 60s had passed; whoever drives next carries on");
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = begin(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::EndDriving { why: "ended by SIGTERM".into() }).unwrap();
    console.run_for(&mut fake, 5);
    assert_eq!(last(&console), "ops: drives no more, gave the lease back: ended by SIGTERM");
    assert!(console.snapshot(&fake).driver_stopped.is_none(), "it ended as its operator wanted");
    console.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    console.ask(&mut fake, Command::StopDriving).unwrap();
    console.run_for(&mut fake, 5);
    assert_eq!(last(&console), "ops: drives no more, gave the lease back: stopped by its operator or with its process");
    let mut fake = FakeCluster::rolling(10, 2);
    fake.broken.push("agent:bad".into());
    let mut console = begin(&mut fake, "agent:bad");
    console.ask(&mut fake, Command::StopDriving).unwrap();
    console.run_for(&mut fake, 5);
    assert_eq!(last(&console), "ops: drives no more, gave the lease back: halted");
    console.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    console.ask(&mut fake, Command::EndDriving { why: "its pre-warming was over".into() }).unwrap();
    console.run_for(&mut fake, 5);
    let why = "its pre-warming was over, while the rollout is halted";
    assert_eq!(last(&console), format!("ops: drives no more, gave the lease back: {why}"));
    // Others end it, and who drove says who.
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = begin(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 60);
    assert_eq!(last(&console), "ops: drives no more, gave the lease back: rolled back by ops@bastion and handed back");
}

/// An earlier rollout was rolled back and released: that is not why a process that only pre-warms gives the lease back.
#[test]
fn how_an_earlier_rollout_ended_is_not_why_a_later_driver_drives_no_more() {
    let mut fake = FakeCluster::rolling(5, 2);
    fake.holds_images = false;
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.run_for(&mut fake, 5);
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 60);
    let last = |console: &FakeConsole| said(console).last().cloned().unwrap();
    assert_eq!(last(&console), "ops: drives no more, gave the lease back: rolled back by ops@bastion and handed back");
    let image = [("agent".to_owned(), "agent:v3".parse().unwrap())].into();
    let start = PrewarmCommand::Start {
        source: PrewarmSource::Images(image),
        nodes: PrewarmNodes::All,
        limits: PrewarmLimits::default(),
        method: PrewarmMethod::Pods,
    };
    console.ask(&mut fake, Command::Prewarm(start)).unwrap();
    console.run_for(&mut fake, 5);
    console.ask(&mut fake, Command::StopDriving).unwrap();
    console.run_for(&mut fake, 5);
    assert_eq!(last(&console), "ops: drives no more, gave the lease back: stopped by its operator or with its process");
    console.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    console.ask(&mut fake, Command::Prewarm(PrewarmCommand::Cancel)).unwrap();
    console.run_for(&mut fake, 30);
    let told = last(&console);
    assert!(told.starts_with("ops: drives no more, gave the lease back") && !told.contains("rolled back"), "{told}");
}

/// The earlier rollout was rolled back. Another process began the present one; this process knows that only from Events.
#[test]
fn a_rollout_that_others_began_is_not_said_to_end_as_the_one_before() {
    for (present, why) in [
        (["RolloutAdopted", "RolloutStepped"], "handed back by ops@bastion"),
        (["RolloutImageSet", "RolloutStepped"], "handed back by ops@bastion"),
        (["RolloutStepped", "RolloutUndone"], "rolled back by ben@bastion and handed back by ops@bastion"),
    ] {
        let mut fake = FakeCluster::rolling(10, 2);
        FakeConsole::open_as(&fake, "ben", Role::OneShot).set_image(&mut fake, "agent:v2");
        let mut console = FakeConsole::open(&fake, "ops");
        console.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
        console.run_for(&mut fake, 5);
        for (nth, reason) in ["RolloutUndone", "RolloutReleased"].iter().chain(&present).enumerate() {
            let by_ben = event_because(&fake, &format!("e{nth}"), reason, "ben@bastion/1", "ben@bastion: done");
            console.engine.observe(by_ben, fake.now);
            console.run_for(&mut fake, 1);
        }
        console.ask(&mut fake, Command::Release(Early::Accept)).unwrap();
        console.run_for(&mut fake, 10);
        let told = said(&console).last().cloned().unwrap();
        assert_eq!(told, format!("ops: drives no more, gave the lease back: {why}"), "{present:?}");
    }
}
