//! Nodes that are tainted after they went down: by the controller of a cloud, by one that repairs machines, or by a person.

use super::*;
use crate::engine::model::settings::value::Secs;
use crate::engine::model::template::TaintEffect;

const UNREACHABLE: (&str, &str, TaintEffect) = ("node.kubernetes.io/unreachable", "", TaintEffect::NoSchedule);
const SHUT_DOWN: (&str, &str, TaintEffect) = ("node.cloudprovider.kubernetes.io/shutdown", "", TaintEffect::NoSchedule);
const BROKEN: (&str, &str, TaintEffect) = ("broken", "", TaintEffect::NoSchedule);

/// A revision that takes each node down half a minute after its update. Seconds later the node gets `taint` as well. How many nodes were updated in an hour.
fn updated_where_nodes_fall(taint: (&str, &str, TaintEffect)) -> (usize, FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(12, 1);
    fake.defaults = Tuning { soak_secs: Some(Secs(60)), ..Tuning::default() };
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 0);
    let mut fallen = 0;
    for _ in 0..120 {
        console.run_for(&mut fake, 30);
        for node in fake.deleted.clone().into_iter().skip(fallen) {
            fallen += 1;
            fake.set_node_ready(&node, false);
            fake.set_taints(&node, &[UNREACHABLE]);
            console.run_for(&mut fake, 5);
            fake.set_taints(&node, &[UNREACHABLE, taint]);
        }
    }
    (fake.deleted.len(), fake, console)
}

#[test]
fn a_revision_that_takes_nodes_down_halts_although_they_are_tainted_then() {
    for taint in [SHUT_DOWN, BROKEN] {
        let (updated, fake, mut console) = updated_where_nodes_fall(taint);
        let snapshot = console.snapshot(&fake);
        assert_eq!((updated, &snapshot.phase), (1, &Phase::Halted), "{taint:?}");
        let node = snapshot.nodes.iter().find(|node| node.name == fake.deleted[0]).unwrap();
        assert_eq!((node.state, node.blame), (NodeState::NodeDown, Some(Blame::Suspect)), "{taint:?}");
        assert!(node.counts_as_failed(), "{taint:?}");
    }
}

/// An operator who has seen that goes on without the node, which its taint then takes out of the fleet.
#[test]
fn a_tainted_node_leaves_the_fleet_once_an_operator_accepts_that_it_is_down() {
    let (_, mut fake, mut console) = updated_where_nodes_fall(BROKEN);
    console.ask(&mut fake, Command::Resume).unwrap();
    console.run_for(&mut fake, 1000);
    let snapshot = console.snapshot(&fake);
    assert_eq!((snapshot.started_at, fake.deleted.len()), (None, 12), "complete without it: {:?}", snapshot.phase);
}

/// A node that is tainted for maintenance, and rebooted then, says nothing of the revision, updated or not.
#[test]
fn a_node_that_goes_down_after_it_was_tainted_is_no_suspect() {
    let mut fake = FakeCluster::rolling(12, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 10);
    console.run_for(&mut fake, 30);
    let node = fake.deleted[0].clone();
    fake.set_taints(&node, &[("maintenance", "", TaintEffect::NoSchedule)]);
    console.run_for(&mut fake, 5);
    fake.set_node_ready(&node, false);
    console.run_for(&mut fake, 5);
    assert_eq!(console.state(&fake, &node).0, NodeState::Ineligible);
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 300);
    assert_eq!(fake.at("hash2"), 12);
}

/// A revision whose pods crash before they have been up for long enough, each on a node that is tainted two seconds later. How many were updated in half an hour.
fn updated_where_pods_crash() -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(12, 1);
    fake.defaults = Tuning { soak_secs: Some(Secs(60)), ..Tuning::default() };
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 0);
    for _ in 0..300 {
        fake.crash_and_restart_all("hash2");
        console.run_for(&mut fake, 2);
        for node in fake.deleted.clone() {
            fake.set_taints(&node, &[BROKEN]);
        }
        console.run_for(&mut fake, 4);
    }
    (fake, console)
}

/// What repairs machines taints nodes that are Ready as well. Such a node would take its failure out of the fleet with it, and the next would get the same pod.
#[test]
fn a_revision_whose_pods_crash_halts_although_their_nodes_are_tainted_then() {
    let (mut fake, mut console) = updated_where_pods_crash();
    assert_eq!(fake.deleted.len(), 1);
    let snapshot = console.snapshot(&fake);
    assert_eq!(snapshot.phase, Phase::Halted);
    assert_eq!((snapshot.nodes.iter().filter(|node| node.counts_as_failed()).count(), fake.worst_down), (1, 1));

    console.ask(&mut fake, Command::Resume).unwrap();
    console.run_for(&mut fake, 30);
    assert_eq!(fake.deleted.len(), 2, "accepted, its taint takes it out");
}

/// Its controller makes no pod on a node whose network is not set up, also where the node is Ready. The taint goes by itself: the node is still down for the
/// rollout, and another one is not taken down for it.
#[test]
fn a_node_without_a_network_keeps_its_place_in_the_budget() {
    const NO_NETWORK: (&str, &str, TaintEffect) =
        ("node.kubernetes.io/network-unavailable", "", TaintEffect::NoSchedule);
    let mut fake = FakeCluster::rolling(6, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    fake.hung = true;
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 2);
    let node = fake.deleted[0].clone();
    fake.set_taints(&node, &[NO_NETWORK]);
    fake.hung = false;
    console.run_for(&mut fake, 300);
    assert_eq!(fake.deleted.len(), 1);
    assert_eq!(
        console.state(&fake, &node),
        (NodeState::Creating, "taint node.kubernetes.io/network-unavailable:NoSchedule not tolerated".into())
    );
    assert_eq!(console.snapshot(&fake).alarms, [], "its controller is not idle");

    fake.set_taints(&node, &[]);
    console.run_for(&mut fake, 300);
    assert_eq!((fake.at("hash2"), fake.worst_down), (6, 1));
}
