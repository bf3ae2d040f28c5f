//! What previews say where a rollout is rolled back: whoever drives it is told where it leads, and no gate is promised that it does not have.

use super::*;
use crate::engine::model::settings::{Setting, Tuning};

/// Twenty nodes: `updated` of them have agent:v2, and are rolled back to agent:v1, which is revision 3 then. If `slow`, no new pod becomes ready.
fn rolled_back(updated: u32, slow: bool) -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 20 - updated);
    console.run_for(&mut fake, 120);
    fake.slow = slow;
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 2);
    (fake, console)
}

fn effects(console: &mut FakeConsole, fake: &FakeCluster, command: &Command) -> Vec<String> {
    console.hear(fake);
    console.engine.preview(command, fake.now).unwrap().effects
}

#[test]
fn who_begins_to_drive_a_roll_back_is_told_so_with_the_pods_that_it_replaces() {
    let (mut fake, mut console) = rolled_back(6, true);
    console.ask(&mut fake, Command::StopDriving).unwrap();
    console.run_for(&mut fake, 5);
    let mut eve = FakeConsole::open(&fake, "eve");
    let drive = Command::Drive(Takeover::IfFree);
    let preview = eve.engine.preview(&drive, fake.now).unwrap();
    assert_eq!(preview.nodes.len(), 4, "two are on their way back");
    let said = &preview.effects;
    assert_eq!(said[0], "It is a roll back to revision 3 (v1).", "{said:#?}");
    assert!(said[1].starts_with("4 nodes are not at that revision"), "{said:#?}");
    assert_eq!(said[2], "These 4 pods run revision 2 (v2); all of them serve.", "{said:#?}");
    // While it is paused none goes, and it is a roll back all the same.
    FakeConsole::open_as(&fake, "bea", Role::OneShot).ask(&mut fake, Command::Pause { why: None }).unwrap();
    let said = effects(&mut eve, &fake, &drive);
    assert_eq!(said[0], "It is a roll back to revision 3 (v1): 4 nodes are not at it.", "{said:#?}");
}

/// Whoever asks twice wants it to go on: the refusal says how far it is, and what it needs.
#[test]
fn who_rolls_back_once_more_is_told_what_the_roll_back_waits_for() {
    let (mut fake, mut console) = rolled_back(6, true);
    let again = |fake: &FakeCluster, to| {
        let mut eve = FakeConsole::open_as(fake, "eve", Role::OneShot);
        eve.hear(fake);
        eve.engine.preview(&Command::Undo { to }, fake.now).unwrap_err().to_string()
    };
    let left = "it goes back to revision 3 already, and 4 nodes are not at it yet";
    console.ask(&mut fake, Command::StopDriving).unwrap();
    console.run_for(&mut fake, 5);
    assert_eq!(again(&fake, Some(3)), format!("{left}: `drive` replaces their pods"));
    let another = "; to go to another one, name its revision";
    assert_eq!(again(&fake, None), format!("{left}: `drive` replaces their pods{another}"));
    FakeConsole::open_as(&fake, "bea", Role::OneShot).ask(&mut fake, Command::Pause { why: None }).unwrap();
    assert_eq!(again(&fake, None), format!("{left}; it is paused: `resume` lets it go on{another}"));
    let said = console.ask(&mut fake, Command::Undo { to: None }).unwrap_err();
    assert!(said.starts_with("it goes back to revision 3 (the template of 1) already, and 4 nodes"), "{said}");
}

#[test]
fn who_stops_driving_a_roll_back_is_told_the_template_that_new_pods_get() {
    let (fake, mut console) = rolled_back(6, true);
    let said = effects(&mut console, &fake, &Command::StopDriving);
    let moving = said.iter().any(|line| line.ends_with("are being rolled back now. They go on without a driver."));
    assert!(moving, "{said:#?}");
    let stays = "It stays adopted (OnDelete): its controller only makes pods that are missing, with the template of revision 3 (v1).";
    assert_eq!(said.last().map(String::as_str), Some(stays), "{said:#?}");
}

/// Its dialog may stand open while somebody else takes over, or while the roll back ends.
#[test]
fn who_stops_what_is_not_driven_from_here_any_more_is_told_so() {
    let (mut fake, mut console) = rolled_back(2, false);
    console.run_for(&mut fake, 300);
    assert_eq!(console.snapshot(&fake).phase, Phase::Idle);
    let said = effects(&mut console, &fake, &Command::StopDriving);
    assert_eq!(
        said,
        ["This process does not drive any more: no rollout is recorded any more. To confirm this changes nothing."]
    );
    let says = console.ask(&mut fake, Command::StopDriving).unwrap();
    assert_eq!(says, "there was nothing to stop, it was not driven from here: no rollout is recorded any more");
    let (mut fake, mut console) = rolled_back(6, true);
    let mut eve = FakeConsole::open(&fake, "eve");
    eve.engine.command(Command::Drive(Takeover::Ask), fake.now).unwrap();
    for _ in 0..5 {
        eve.run_for(&mut fake, 1);
        console.run_for(&mut fake, 1);
    }
    let says = console.ask(&mut fake, Command::StopDriving).unwrap();
    let who = says.strip_prefix("there was nothing to stop, it was not driven from here: eve@bastion");
    assert!(who.is_some_and(|rest| rest.ends_with(" drives it")), "{says}");
}

#[test]
fn a_roll_back_does_not_promise_the_gates_of_the_operators_defaults() {
    let tuning = |settings: &[(Setting, &str)]| {
        settings.iter().map(|(setting, text)| setting.read(text).unwrap()).fold(Tuning::default(), Tuning::and)
    };
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::Step(Step::Partition(IntOrPercent::Int(0)))).unwrap();
    console.run_for(&mut fake, 300);
    assert_eq!(console.snapshot(&fake).phase, Phase::Idle, "released");
    fake.defaults = tuning(&[(Setting::MaxUnavailable, "3"), (Setting::Soak, "2m"), (Setting::Steps, "50%,100%")]);
    let mut console = FakeConsole::open(&fake, "ops");
    let said = effects(&mut console, &fake, &Command::Undo { to: Some(1) });
    let about: Vec<&String> = said.iter().filter(|line| line.contains("max-un") || line.contains("soak=")).collect();
    assert_eq!(
        about,
        [
            "The roll back begins with these defaults in place of rolldeck's own: max-unavailable=3.",
            "A roll back has no steps, and no gate halts it: soak=2m steps=50%,100% are recorded for a rollout that follows.",
        ]
    );
    let stays_up = said.iter().any(|line| line.ends_with("the others once one of those has stayed up for 2m."));
    assert!(stays_up, "{said:#?}");
}
