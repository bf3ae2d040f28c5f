//! Which commands lift a pause: what their events say is what they do.

use super::*;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::rollout_event::{EventOutcome, RolloutEvent, RolloutEventKind, Visibility};
use crate::engine::model::settings::Secs;

#[test]
fn the_event_of_a_command_says_whether_it_lifts_a_pause() {
    let commands = || {
        [
            Command::Adopt,
            Command::SetImage([("agent".to_owned(), "agent:v3".parse().unwrap())].into()),
            Command::Step(Step::Updated(IntOrPercent::Int(2))),
            Command::Select(None),
            Command::Pause { why: Some("again".into()) },
            Command::Resume,
            Command::Undo { to: None },
            Command::Release(Early::Accept),
            Command::Tune(Tuning::default()),
            Command::Drive(Takeover::IfFree),
            Command::StopDriving,
        ]
    };
    for command in commands() {
        let mut fake = FakeCluster::rolling(4, 1);
        let mut console = FakeConsole::open(&fake, "ops");
        console.set_image(&mut fake, "agent:v2");
        console.partition(&mut fake, 3);
        console.run_for(&mut fake, 30);
        console.ask(&mut fake, Command::Pause { why: None }).unwrap();
        let paused = console.snapshot(&fake).paused;
        assert!(paused.is_some());
        let said = console.ask(&mut fake, command.clone());
        console.run(&mut fake);
        let lifted = console.snapshot(&fake).paused.is_none();
        let event = RolloutEvent {
            at: fake.now,
            by: None,
            kind: RolloutEventKind::Command(command.clone()),
            outcome: EventOutcome::Done,
            command: None,
            said: None,
            visibility: Visibility::Cluster,
            revision: None,
        };
        assert_eq!(event.ends_a_pause(), lifted, "{command:?}: {said:?}");
    }
}

/// A pod may be new without its node counting as updated: whoever resumes is told which of both it is, and what is left.
#[test]
fn a_resume_says_what_is_left_where_every_node_has_the_new_pod() {
    let mut fake = FakeCluster::rolling(3, 3);
    fake.defaults = Tuning { soak_secs: Some(Secs(60)), ..Tuning::default() };
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 10);
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    console.run_for(&mut fake, 1);
    let says = |console: &mut FakeConsole, fake: &FakeCluster| {
        console.engine.preview(&Command::Resume, fake.now).unwrap().effects.last().cloned().unwrap()
    };
    assert_eq!(
        says(&mut console, &fake),
        "Every node has the new pod, so none is replaced; 3 of 3 do not count as updated yet (3 soaking), and the rollout is not complete \
         before they do."
    );
    console.run_for(&mut fake, 90);
    assert_eq!(
        says(&mut console, &fake),
        "Every node is updated: nothing is left to update, and whoever drives hands the DaemonSet back."
    );
    console.keep(&mut fake);
    assert_eq!(
        says(&mut console, &fake),
        "Every node is updated: nothing is left to do, and the DaemonSet stays adopted until it is released."
    );
}
