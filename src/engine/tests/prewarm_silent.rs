//! Pods for pre-warming that never come to their pull.

use super::prewarm::{image, start, state, warming};
use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::cause::CauseKind;
use crate::engine::model::config::Role;
use crate::engine::model::event::Watched;
use crate::engine::model::prewarm::{PrewarmNodes, PrewarmState, PrewarmWait};
use crate::engine::report::prewarm_words::PrewarmWords;

const NO_NETWORK: &str =
    "Failed to create pod sandbox: rpc error: plugin type=\"calico\" failed (add): connection refused";

#[test]
fn a_sandbox_that_is_not_set_up_again_and_again_is_a_failed_attempt_and_gives_its_slot_up() {
    let (mut fake, mut console) = warming();
    fake.warm_pulls("n2");
    for _ in 0..5 {
        fake.tell_of_warm_pod("n1", "FailedCreatePodSandBox", NO_NETWORK);
        console.run_for(&mut fake, 20);
    }
    assert_eq!(state(&mut console, &fake, "n1"), PrewarmState::Queued, "a network may start with its node");
    fake.tell_of_warm_pod("n1", "FailedCreatePodSandBox", NO_NETWORK);
    console.run_for(&mut fake, 25);
    let PrewarmState::Failed { cause, times: 1, again_at: Some(_) } = state(&mut console, &fake, "n1") else {
        panic!("{:?}", state(&mut console, &fake, "n1"))
    };
    assert_eq!((cause.kind, cause.message.as_deref()), (CauseKind::PodSandbox, Some(NO_NETWORK)));
    assert_eq!(fake.warm_nodes(), ["n2", "n3"], "the next has its slot");
}

#[test]
fn a_sandbox_that_is_set_up_in_the_end_is_pulled_for() {
    let (mut fake, mut console) = warming();
    fake.warm_pulls("n2");
    fake.tell_of_warm_pod("n1", "FailedCreatePodSandBox", NO_NETWORK);
    console.run_for(&mut fake, 60);
    fake.warm_pulls("n1");
    console.run_for(&mut fake, 4_000);
    assert!(matches!(state(&mut console, &fake, "n1"), PrewarmState::Pulling { .. }));
    assert!(matches!(state(&mut console, &fake, "n2"), PrewarmState::Pulling { .. }), "a thin link takes an hour");
    assert_eq!((fake.warm_nodes(), fake.warm_made), (vec!["n1".into(), "n2".into()], 2));
}

#[test]
fn a_kubelet_that_shows_no_sign_of_a_pull_does_not_keep_its_pull_slot() {
    let (mut fake, mut console) = warming();
    fake.warm_pulls("n2");
    console.run_for(&mut fake, 295);
    assert_eq!(state(&mut console, &fake, "n1"), PrewarmState::Queued);
    console.run_for(&mut fake, 10);
    let PrewarmState::Failed { cause, again_at: Some(_), .. } = state(&mut console, &fake, "n1") else { panic!() };
    assert!(cause.message.unwrap().contains("no sign of a pull for 5m"));
    assert_eq!(fake.warm_nodes(), ["n2", "n3"]);
}

/// What its kubelet told may not be seen, so that it may be pulling.
#[test]
fn where_no_events_can_be_read_a_silent_kubelet_keeps_its_slot_and_the_silence_is_told() {
    let mut fake = FakeCluster::rolling(20, 1);
    fake.holds_images = false;
    let mut console = FakeConsole::open_all_but(&fake, "ops", Watched::Events);
    console.engine.command(start(image("v2"), PrewarmNodes::All, 2), fake.now).unwrap();
    console.run_for(&mut fake, 720);
    assert_eq!((fake.warm_nodes(), fake.warm_made), (vec!["n1".into(), "n2".into()], 2));
    let silent = state(&mut console, &fake, "n1");
    assert!(matches!(silent, PrewarmState::Silent { .. }), "{silent:?}");
    let said = PrewarmWords { state: &silent, at: fake.now }.to_string();
    assert_eq!(said, "queued in its kubelet, which has shown no sign of a pull for 12m");
    assert_eq!(console.snapshot(&fake).prewarm.unwrap().counts.pulling, 2);
    assert_eq!(
        state(&mut console, &fake, "n3"),
        PrewarmState::Waiting(PrewarmWait::Limit { used: 2, limit: 2 }),
        "the slot stays taken"
    );
}

/// The Event of the pull has expired.
#[test]
fn a_pull_that_began_long_before_somebody_looks_is_not_called_failed() {
    let (mut fake, console) = warming();
    drop(console);
    fake.wait(2 * 3600);
    let mut next = FakeConsole::open_as(&fake, "eve", Role::Driver);
    next.engine.observe(crate::engine::model::event::Event::Skew(0), fake.now);
    next.run_for(&mut fake, 20);
    let drive = crate::engine::model::command::Command::Drive(crate::engine::model::command::Takeover::IfFree);
    next.engine.command(drive, fake.now).unwrap();
    next.run_for(&mut fake, 600);
    assert!(matches!(state(&mut next, &fake, "n1"), PrewarmState::Silent { .. }));
    assert_eq!((fake.warm_nodes(), fake.warm_made), (vec!["n1".into(), "n2".into()], 2));
}

/// While it had no connection, its kubelet could not tell that it pulls.
#[test]
fn a_node_that_was_down_meanwhile_is_not_called_silent_with_certainty() {
    let (mut fake, mut console) = warming();
    fake.warm_pulls("n2");
    console.run_for(&mut fake, 10);
    fake.set_node_ready("n1", false);
    console.run_for(&mut fake, 300);
    fake.set_node_ready("n1", true);
    console.run_for(&mut fake, 310);
    assert!(matches!(state(&mut console, &fake, "n1"), PrewarmState::Silent { .. }));
    assert_eq!(fake.warm_made, 2);
}
