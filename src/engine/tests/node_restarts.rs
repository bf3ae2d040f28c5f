//! Machines that are switched off, or rebooted, in the middle of a rollout. Kubelets count that as a restart of each container of each pod.

use std::time::Duration;

use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::cause::CauseKind;
use crate::engine::model::facts::PodPhase;
use crate::engine::model::node::NodeState;
use crate::engine::model::settings::Tuning;
use crate::engine::report::snapshot::{NodeView, Phase, Snapshot};

/// Longer than a restart is watched.
const LONG: u64 = 700;

/// Twenty nodes, of which one is updated, to pods of an init container and two main ones.
fn one_updated() -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(20, 2);
    fake.defaults = Tuning::default();
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 19);
    console.run_for(&mut fake, 30);
    fake.give_three_containers("n1");
    console.run_for(&mut fake, 120);
    assert_eq!(console.state(&fake, "n1").0, NodeState::Updated);
    (fake, console)
}

fn n1(snapshot: &Snapshot) -> &NodeView {
    snapshot.nodes.iter().find(|node| &*node.name == "n1").unwrap()
}

/// The machine of the updated node is switched off and on again; its pod had run for so many seconds.
fn power_cycle(fake: &mut FakeCluster, console: &mut FakeConsole, ran_secs: u64) {
    fake.power_cycle("n1", Duration::from_secs(ran_secs), |fake| console.run_for(fake, 2));
}

#[test]
fn a_node_that_is_restarted_does_not_fail() {
    let (mut fake, mut console) = one_updated();
    power_cycle(&mut fake, &mut console, 600);
    let snapshot = console.snapshot(&fake);
    let node = n1(&snapshot);
    assert_eq!((node.restarts, node.counted_restarts()), (3, 1), "one restart, whatever its kubelet counts");
    assert_eq!((node.crash_loop, snapshot.halt.is_some()), (None, false));
    assert_eq!(snapshot.restarts_to_fail(node), None, "it is not on its way to a failure");
    assert_eq!(
        console.state(&fake, "n1"),
        (NodeState::Soaking, "its node restarted, 1 restart in 2m; ready for 2s of 10s".into())
    );
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 900);
    assert_eq!(fake.at("hash2"), 20, "one restart of a node holds nothing up");
}

#[test]
fn while_a_restarted_node_starts_its_pod_it_is_in_no_crash_loop() {
    let (mut fake, mut console) = one_updated();
    let mut states = Vec::new();
    fake.power_cycle("n1", Duration::from_secs(600), |fake| {
        console.run_for(fake, 2);
        let node = n1(&console.snapshot(fake)).clone();
        assert_eq!((node.crash_loop, node.counts_as_failed()), (None, false), "{:?}", node.state);
        states.push((node.state, node.cause.is_some_and(|cause| cause.kind.speaks_against_revision())));
    });
    let starts = (NodeState::Starting, false);
    assert_eq!(states, [starts, starts, starts, (NodeState::Soaking, false)]);
}

/// A factory switches its machines off every night, and the rollout takes a week.
#[test]
fn machines_that_are_switched_off_every_night_are_in_no_crash_loop() {
    let (mut fake, mut console) = one_updated();
    for night in 1..=5 {
        console.run_for(&mut fake, LONG);
        power_cycle(&mut fake, &mut console, LONG);
        let snapshot = console.snapshot(&fake);
        let node = n1(&snapshot);
        assert_eq!((node.restarts, node.counted_restarts(), &snapshot.halt), (3 * night, 1, &None), "night {night}");
    }
}

/// The same, and the console is opened in the morning.
#[test]
fn who_looks_only_after_many_nights_takes_them_for_one_restart() {
    let (mut fake, mut console) = one_updated();
    for _ in 0..5 {
        power_cycle(&mut fake, &mut console, 8 * LONG);
    }
    let mut fresh = FakeConsole::open(&fake, "eve");
    fresh.run_for(&mut fake, 5);
    let snapshot = fresh.snapshot(&fake);
    let node = n1(&snapshot);
    assert_eq!((node.restarts, node.counted_restarts(), node.counts_as_failed()), (15, 1, false));
}

/// A driver for a device may bring the machine down that it runs on.
#[test]
fn a_revision_that_brings_its_node_down_again_and_again_halts_the_rollout() {
    let (mut fake, mut console) = one_updated();
    console.partition(&mut fake, 0);
    let before = fake.at("hash2");
    for times in 1..=3 {
        power_cycle(&mut fake, &mut console, 30);
        assert_eq!(console.snapshot(&fake).phase == Phase::Halted, times == 3, "after {times}");
        if times == 2 {
            let deleted = fake.deleted.len();
            console.run_for(&mut fake, 20);
            assert_eq!(fake.deleted.len(), deleted, "after two within ten minutes no serving pod is replaced");
        }
    }
    let snapshot = console.snapshot(&fake);
    let node = n1(&snapshot);
    let said = node.cause.as_ref().and_then(|cause| cause.message.clone()).unwrap_or_default();
    assert_eq!(&*said, "3 restarts (max 2); its node restarted last");
    assert!(fake.at("hash2") < before + 6, "{}", fake.at("hash2"));
}

/// Crashes count as before, also of a pod whose node was restarted.
#[test]
fn a_pod_that_crashes_after_its_node_was_restarted_is_in_a_crash_loop() {
    let (mut fake, mut console) = one_updated();
    power_cycle(&mut fake, &mut console, LONG);
    for _ in 0..2 {
        fake.crash("n1");
        console.run_for(&mut fake, 5);
        assert!(console.snapshot(&fake).nodes.iter().any(|node| node.crash_loop.is_some()));
        fake.restart("n1");
        console.run_for(&mut fake, 5);
    }
    let snapshot = console.snapshot(&fake);
    let node = n1(&snapshot);
    assert_eq!((node.restarts, node.counted_restarts(), snapshot.phase), (5, 3, Phase::Halted));
}

/// Restarts that a kubelet has forgotten take nothing from those that it counts anew.
#[test]
fn crashes_count_although_the_kubelet_counts_anew_after_a_restart_of_its_node() {
    let (mut fake, mut console) = one_updated();
    power_cycle(&mut fake, &mut console, LONG);
    fake.change_pod("n1", |pod| pod.containers.iter_mut().for_each(|container| container.restarts = 0));
    console.run_for(&mut fake, 5);
    for times in 1..=3 {
        fake.crash("n1");
        console.run_for(&mut fake, 5);
        fake.restart("n1");
        console.run_for(&mut fake, 5);
        let snapshot = console.snapshot(&fake);
        assert_eq!((n1(&snapshot).counted_restarts(), snapshot.phase == Phase::Halted), (times, times == 3));
    }
}

/// A kubelet that shuts down gracefully ends its pods, and admits none. The last of them stays, failed, until its controller's pause is over, which may
/// be minutes after the node is up.
#[test]
fn a_pod_that_the_shutdown_of_its_node_ended_says_nothing_of_the_revision() {
    for reason in ["Terminated", "NodeShutdown"] {
        let (mut fake, mut console) = one_updated();
        fake.change_pod("n1", |pod| {
            (pod.ready, pod.phase) = (false, PodPhase::Failed);
            pod.reason = Some(reason.into());
            pod.message = Some("Pod was rejected as the node is shutting down.".into());
        });
        console.run_for(&mut fake, 5);
        console.partition(&mut fake, 0);
        console.run_for(&mut fake, 120);
        let snapshot = console.snapshot(&fake);
        let node = n1(&snapshot);
        assert_eq!(node.cause.as_ref().map(|cause| cause.kind), Some(CauseKind::NodeShutdown), "{reason}");
        assert_eq!((node.counts_as_failed(), &snapshot.halt), (false, &None), "{reason}");
        assert!(
            fake.at("hash2") > 1 && fake.worst_down <= 2,
            "it takes up one place of the budget: {}",
            fake.at("hash2")
        );
    }
}

/// Its controller deletes each of these pods and makes another. While one is going, its trouble is that of the node still, and holds no other node.
#[test]
fn while_a_pod_is_going_that_the_shutdown_of_its_node_ended_other_nodes_are_updated() {
    for (reason, holds) in [("NodeShutdown", false), ("Evicted", true)] {
        let (mut fake, mut console) = one_updated();
        fake.change_pod("n1", |pod| {
            (pod.ready, pod.phase) = (false, PodPhase::Failed);
            pod.reason = Some(reason.into());
        });
        console.run_for(&mut fake, 5);
        let now = fake.now;
        fake.change_pod("n1", |pod| pod.deletion_at = Some(now));
        fake.hung = true;
        console.partition(&mut fake, 0);
        console.run_for(&mut fake, 10);
        let others = fake.deleted.len() > 1;
        assert_eq!(others, !holds, "{reason}: {:?}", console.snapshot(&fake).nodes[1].hold);
    }
}
