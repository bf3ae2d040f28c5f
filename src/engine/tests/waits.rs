//! What is waited for, said in words: by each node that moves, and by the rollout before any can.

use super::*;
use crate::engine::facts::PodPhase;

/// Four nodes, the first of which was just taken; its replacement gets ready only when it is told to.
fn one_taken() -> (Lab, Console) {
    let mut lab = Lab::rolling(4, 1);
    lab.slow = true;
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    console.partition(&mut lab, 3);
    console.run(&mut lab);
    assert_eq!(lab.deleted.len(), 1);
    (lab, console)
}

#[test]
fn a_pod_that_ends_says_how_long_it_has_and_what_keeps_it() {
    let (mut lab, mut console) = one_taken();
    let now = lab.now;
    lab.change_pod("n1", |pod| {
        pod.deletion_at = Some(now + std::time::Duration::from_secs(30));
        pod.deletion_grace_secs = Some(30);
    });
    assert_eq!(console.state(&lab, "n1"), (NodeState::Terminating, "grace 30s, 30s left".into()));
    lab.wait(18);
    assert_eq!(console.state(&lab, "n1").1, "grace 30s, 12s left");
    lab.wait(20);
    assert_eq!(console.state(&lab, "n1").1, "grace over for 8s, its kubelet has not ended it");
    lab.wait(60);
    assert_eq!(
        console.state(&lab, "n1").1,
        "stuck terminating; grace over for 1m, its kubelet has not ended it",
        "past its grace and the time to clean up"
    );
    lab.change_pod("n1", |pod| {
        pod.finalizers = ["example.com/hold".into()].into();
        pod.deletion_grace_secs = Some(0);
    });
    assert_eq!(console.state(&lab, "n1").1, "stuck terminating; kept by finalizer example.com/hold");
}

#[test]
fn a_new_pod_says_what_it_waits_for_until_it_is_available() {
    let (mut lab, mut console) = one_taken();
    lab.daemonset.min_ready_secs = 0;
    let gone: Vec<_> = lab.pods.values().filter(|pod| pod.deletion_at.is_some()).cloned().collect();
    lab.take_pod(&gone[0].uid);
    console.run(&mut lab);
    lab.wait(14);
    assert_eq!(
        console.state(&lab, "n1"),
        (NodeState::Creating, "no pod for 14s: its controller has created none".into())
    );
    lab.create_pod("n1");
    let begun = lab.pods.values().find(|pod| pod.node.as_deref() == Some("n1")).unwrap().containers.clone();
    let mut as_reported =
        |lab: &mut Lab, bound: bool, containers: &[crate::engine::facts::ContainerFact], want: &str| {
            lab.change_pod("n1", |pod| {
                (pod.bound, pod.phase) = (bound, PodPhase::Pending);
                pod.containers = containers.to_vec();
            });
            lab.wait(12);
            assert_eq!(console.state(lab, "n1").1, want);
        };
    as_reported(&mut lab, false, &[], "not scheduled for 12s");
    as_reported(&mut lab, true, &[], "its kubelet has not begun it for 24s");
    let mut waiting = begun.clone();
    waiting[0].image_present = false;
    waiting[0].state = ContainerState::Waiting { reason: "ContainerCreating".into(), message: None };
    as_reported(&mut lab, true, &waiting, "ContainerCreating (agent)");
    waiting[0].state = ContainerState::Waiting { reason: "PodInitializing".into(), message: None };
    as_reported(&mut lab, true, &waiting, "PodInitializing (agent)");
    let mut running = begun;
    running[0].state = ContainerState::Running { since: Some(lab.now) };
    lab.change_pod("n1", |pod| pod.phase = PodPhase::Running);
    as_reported(&mut lab, true, &running, "agent runs for 12s, not ready");
}

#[test]
fn a_pod_that_soaks_says_how_far_it_is() {
    let mut lab = Lab::rolling(4, 1);
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    let soak = crate::engine::tuning::Tuning { soak_secs: Some(30), ..Default::default() };
    console.ask(&mut lab, Command::Tune(soak)).unwrap();
    console.partition(&mut lab, 3);
    console.run_for(&mut lab, 1);
    assert_eq!(console.state(&lab, "n1"), (NodeState::Soaking, "ready for 0s of 30s".into()));
    lab.wait(12);
    assert_eq!(console.state(&lab, "n1").1, "ready for 12s of 30s");
    lab.wait(18);
    assert_eq!(console.state(&lab, "n1"), (NodeState::Updated, String::new()));
}

#[test]
fn what_is_being_prepared_says_what_it_waits_for() {
    let mut lab = Lab::rolling(4, 1);
    let mut console = Console::open(&lab, "ops");
    let waits = |console: &mut Console, lab: &Lab| {
        let guidance = console.snapshot(lab).guidance();
        guidance.map(|guidance| guidance.waits).unwrap_or_default()
    };
    // The controller does not follow.
    lab.lazy = true;
    let images = [("agent".to_owned(), "agent:v2".parse().unwrap())].into();
    let _unsettled = console.ask(&mut lab, Command::SetImage(images));
    lab.wait(14);
    console.run(&mut lab);
    let adopted =
        format!("preparing for 14s: waits for its controller to observe generation {}", lab.daemonset.generation);
    assert_eq!(
        waits(&mut console, &lab),
        format!("{adopted} (at {})", lab.daemonset.observed_generation),
        "who waits for the controller says so"
    );
    lab.lazy = false;
    lab.reconcile();
    console.run_for(&mut lab, 3);
    assert_eq!(waits(&mut console, &lab), "held: no node may be updated yet");
}
