//! What is waited for, said in words: by each node that moves, and by the rollout before any can.

use super::*;
use crate::engine::model::facts::PodPhase;
use crate::engine::model::settings::Secs;

/// Four nodes, the first of which was just taken; its replacement gets ready only when it is told to.
fn one_taken() -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(4, 1);
    fake.slow = true;
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 3);
    console.run(&mut fake);
    assert_eq!(fake.deleted.len(), 1);
    (fake, console)
}

#[test]
fn a_pod_that_ends_says_how_long_it_has_and_what_keeps_it() {
    let (mut fake, mut console) = one_taken();
    let now = fake.now;
    fake.change_pod("n1", |pod| {
        pod.deletion_at = Some(now + std::time::Duration::from_secs(30));
        pod.deletion_grace_secs = Some(30);
    });
    assert_eq!(console.state(&fake, "n1"), (NodeState::Terminating, "grace 30s, 30s left".into()));
    fake.wait(18);
    assert_eq!(console.state(&fake, "n1").1, "grace 30s, 12s left");
    fake.wait(20);
    assert_eq!(console.state(&fake, "n1").1, "grace over for 8s, its kubelet has not ended it");
    fake.wait(60);
    assert_eq!(
        console.state(&fake, "n1").1,
        "stuck terminating; grace over for 1m, its kubelet has not ended it",
        "past its grace and the time to clean up"
    );
    fake.change_pod("n1", |pod| {
        pod.finalizers = ["example.com/hold".into()].into();
        pod.deletion_grace_secs = Some(0);
    });
    assert_eq!(console.state(&fake, "n1").1, "stuck terminating; kept by finalizer example.com/hold");
}

#[test]
fn a_new_pod_says_what_it_waits_for_until_it_is_available() {
    let (mut fake, mut console) = one_taken();
    fake.daemonset.min_ready_secs = 0;
    let gone: Vec<_> = fake.pods.values().filter(|pod| pod.deletion_at.is_some()).cloned().collect();
    fake.take_pod(&gone[0].uid);
    console.run(&mut fake);
    fake.wait(14);
    assert_eq!(
        console.state(&fake, "n1"),
        (NodeState::Creating, "no pod for 14s: its controller has created none".into())
    );
    fake.create_pod("n1");
    let begun = fake.pods.values().find(|pod| pod.node.as_deref() == Some("n1")).unwrap().containers.clone();
    let mut as_reported =
        |fake: &mut FakeCluster, bound: bool, containers: &[crate::engine::model::facts::ContainerFact], want: &str| {
            fake.change_pod("n1", |pod| {
                (pod.bound, pod.phase) = (bound, PodPhase::Pending);
                pod.containers = containers.to_vec();
            });
            fake.wait(12);
            assert_eq!(console.state(fake, "n1").1, want);
        };
    as_reported(&mut fake, false, &[], "not scheduled for 12s");
    as_reported(&mut fake, true, &[], "its kubelet has not begun it for 24s");
    let mut waiting = begun.clone();
    waiting[0].image_present = false;
    waiting[0].state = ContainerState::Waiting { reason: "ContainerCreating".into(), message: None };
    as_reported(&mut fake, true, &waiting, "ContainerCreating (agent)");
    waiting[0].state = ContainerState::Waiting { reason: "PodInitializing".into(), message: None };
    as_reported(&mut fake, true, &waiting, "PodInitializing (agent)");
    let mut running = begun;
    running[0].state = ContainerState::Running { since: Some(fake.now) };
    fake.change_pod("n1", |pod| pod.phase = PodPhase::Running);
    as_reported(&mut fake, true, &running, "agent runs for 12s, not ready");
}

#[test]
fn a_pod_that_soaks_says_how_far_it_is() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    let soak = Tuning { soak_secs: Some(Secs(30)), ..Default::default() };
    console.ask(&mut fake, Command::Tune(soak)).unwrap();
    console.partition(&mut fake, 3);
    console.run_for(&mut fake, 1);
    assert_eq!(console.state(&fake, "n1"), (NodeState::Soaking, "ready for 0s of 30s".into()));
    fake.wait(12);
    assert_eq!(console.state(&fake, "n1").1, "ready for 12s of 30s");
    fake.wait(18);
    assert_eq!(console.state(&fake, "n1"), (NodeState::Updated, String::new()));
}

#[test]
fn what_is_being_prepared_says_what_it_waits_for() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let waits = |console: &mut FakeConsole, fake: &FakeCluster| {
        let guidance = console.snapshot(fake).guidance();
        guidance.map(|guidance| guidance.waits).unwrap_or_default()
    };
    // The controller does not follow.
    fake.lazy = true;
    let images = [("agent".to_owned(), "agent:v2".parse().unwrap())].into();
    let _unsettled = console.ask(&mut fake, Command::SetImage(images));
    fake.wait(14);
    console.run(&mut fake);
    let adopted =
        format!("preparing for 14s: waits for its controller to observe generation {}", fake.daemonset.generation);
    assert_eq!(
        waits(&mut console, &fake),
        format!("{adopted} (at {})", fake.daemonset.observed_generation),
        "who waits for the controller says so"
    );
    fake.lazy = false;
    fake.reconcile();
    console.run_for(&mut fake, 3);
    assert_eq!(waits(&mut console, &fake), "held: no node may be updated yet");
}
