//! A container that crashes again and again, and runs in between.

use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::facts::ContainerState;
use crate::engine::model::node::NodeState;

#[test]
fn the_age_of_a_failure_does_not_run_backwards_in_a_crash_loop() {
    let mut fake = FakeCluster::rolling(6, 1);
    fake.broken.push("agent:bad".into());
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:bad");
    console.partition(&mut fake, 5);
    console.run_for(&mut fake, 5);
    let node = fake.deleted[0].clone();
    let mut failed_since = None;
    for round in 0..4 {
        let waits = ContainerState::Waiting { reason: "CrashLoopBackOff".into(), message: None };
        let runs = ContainerState::Running { since: Some(fake.now) };
        for (state, secs) in [(runs, 6), (waits, 40)] {
            fake.change_pod(&node, |pod| {
                pod.ready = false;
                pod.containers[0].image_present = true;
                if matches!(state, ContainerState::Running { .. }) && round > 0 {
                    pod.containers[0].restarts += 1;
                }
                pod.containers[0].state = state.clone();
                pod.containers[0].last_exit = (round > 0).then_some(1);
            });
            for _ in 0..secs / 2 {
                console.run_for(&mut fake, 2);
                let snapshot = console.snapshot(&fake);
                let view = snapshot.nodes.iter().find(|view| view.name == node).unwrap();
                if view.state == NodeState::Failed {
                    if let Some(before) = failed_since {
                        assert!(view.since <= before, "younger: {:?} after {before:?}", view.since);
                    }
                    failed_since = Some(view.since);
                }
            }
        }
    }
}
