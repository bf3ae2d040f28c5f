//! What is seen: lists that are behind, and watches that come back.

use std::time::Duration;

use serde_json::json;

use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::command::Command;
use crate::engine::model::event::{Event, WatchHealth, Watched};
use crate::engine::model::facts::{ConditionStatus, NodeFact};
use crate::engine::model::node::NodeState;

/// A listing from a cache that is behind, after a watch was lost.
#[test]
fn a_listing_that_is_behind_does_not_take_away_what_is_newer() {
    let fake = FakeCluster::rolling(2, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let newer = fake.pods.values().max_by_key(|pod| pod.resource_version.parse::<u64>().unwrap()).unwrap();
    let version: u64 = newer.resource_version.parse().unwrap();
    let list = |console: &mut FakeConsole, version| {
        console.engine.observe(Event::Listing(Watched::Pods), fake.now);
        console.engine.observe(Event::Listed(Watched::Pods, version), fake.now);
    };
    let shown = |console: &mut FakeConsole| {
        let snapshot = console.snapshot(&fake);
        snapshot.nodes.iter().find(|node| Some(&node.name) == newer.node.as_ref()).and_then(|node| node.pod.clone())
    };
    list(&mut console, Some(version - 1));
    assert_eq!(shown(&mut console), Some(newer.name.clone()), "its watch would have told that it is gone");
    // One that is not behind is believed, and so is one that says nothing of its age; but not for ever.
    for version in [Some(version), None] {
        list(&mut console, version);
        assert_eq!(shown(&mut console), None);
        console.engine.observe(Event::Pod(Box::new(newer.clone())), fake.now);
        assert_eq!(shown(&mut console), Some(newer.name.clone()), "it was there all the time");
    }
}

/// The same of nodes: one that is NotReady must not look Ready again because a list is old.
#[test]
fn a_node_does_not_go_back_to_what_it_was() {
    let fake = FakeCluster::rolling(2, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let node = |version: u64, ready| NodeFact { version: Some(version), ready, ..fake.nodes["n1"].clone() };
    let shown = |console: &mut FakeConsole| {
        let snapshot = console.snapshot(&fake);
        snapshot.nodes.iter().find(|node| &*node.name == "n1").map(|node| node.state)
    };
    let tell = |console: &mut FakeConsole, event| console.engine.observe(event, fake.now);
    let list = |console: &mut FakeConsole, nodes: &[NodeFact], version| {
        tell(console, Event::Listing(Watched::Nodes));
        nodes.iter().for_each(|node| tell(console, Event::Node(Box::new(node.clone()))));
        tell(console, Event::Listed(Watched::Nodes, Some(version)));
    };
    tell(&mut console, Event::Node(Box::new(node(80, ConditionStatus::False))));
    list(&mut console, &[node(70, ConditionStatus::True)], 75);
    assert_eq!(shown(&mut console), Some(NodeState::NodeDown), "it is not what it was at 70");
    list(&mut console, &[], 69);
    assert_eq!(shown(&mut console), Some(NodeState::NodeDown), "at 69 it may not have been there yet");
    tell(&mut console, Event::NodeGone("n1".into()));
    list(&mut console, &[node(80, ConditionStatus::False)], 81);
    assert_eq!(shown(&mut console), Some(NodeState::Ineligible), "it is gone since");
    list(&mut console, &[node(90, ConditionStatus::True)], 91);
    assert_ne!(shown(&mut console), Some(NodeState::Ineligible), "one of that name is back");
}

/// A watch that was down is open again, and what it missed is still on its way.
#[test]
fn a_watch_that_has_just_come_back_may_have_more_to_tell() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.run_for(&mut fake, 2);
    console.mute(Watched::DaemonSet);
    let tell =
        |console: &mut FakeConsole, health, now| console.engine.observe(Event::Watch(Watched::DaemonSet, health), now);
    tell(&mut console, WatchHealth::Down { since: fake.now, why: "the connection was reset".into() }, fake.now);
    fake.set_strategy(json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}));
    fake.wait(5);
    tell(&mut console, WatchHealth::Live, fake.now);
    let id = console.engine.command(Command::Pause { why: None }, fake.now).unwrap();
    console.run(&mut fake);
    assert!(console.settled.iter().all(|(settled, _)| *settled != id), "it cannot know yet");
    console.unmute(&fake, Watched::DaemonSet);
    console.run(&mut fake);
    assert_eq!(fake.daemonset.strategy.raw["type"], "OnDelete");
    assert!(console.settled.iter().any(|(settled, result)| *settled == id && result.is_ok()));
}

/// The same with a node that fell NotReady meanwhile.
#[test]
fn nothing_is_replaced_on_what_a_watch_shows_that_has_just_come_back() {
    let mut fake = FakeCluster::rolling(1, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.mute(Watched::Nodes);
    let tell =
        |console: &mut FakeConsole, health, now| console.engine.observe(Event::Watch(Watched::Nodes, health), now);
    tell(&mut console, WatchHealth::Down { since: fake.now, why: "the connection was reset".into() }, fake.now);
    let mut other = FakeConsole::open(&fake, "eve");
    other.partition(&mut fake, 0);
    fake.set_node_ready("n1", false);
    console.run_for(&mut fake, 5);
    tell(&mut console, WatchHealth::Live, fake.now);
    console.run(&mut fake);
    assert!(fake.deleted.is_empty(), "the node is NotReady, and it cannot know yet");
    let wake = console.engine.wake_at().unwrap();
    assert!(wake <= fake.now + Duration::from_secs(2), "by then it has heard: {wake:?} at {:?}", fake.now);
    console.unmute(&fake, Watched::Nodes);
    console.run_for(&mut fake, 5);
    assert!(fake.deleted.is_empty());
    fake.set_node_ready("n1", true);
    console.run_for(&mut fake, 5);
    assert_eq!(fake.deleted, ["n1".into()]);
}

/// What its watch misses while it is down, the list that it begins with anew tells by not naming it.
#[test]
fn a_lease_that_a_list_does_not_name_is_gone_and_owes_nothing() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut ops = FakeConsole::open(&fake, "ops");
    ops.set_image(&mut fake, "agent:v2");
    ops.mute(Watched::Lease);
    ops.run_for(&mut fake, 4);
    let version: u64 = fake.lease.take().unwrap().resource_version.parse().unwrap();
    for (version, there) in [(version - 1, true), (version + 1, false)] {
        ops.engine.observe(Event::Listing(Watched::Lease), fake.now);
        ops.engine.observe(Event::Listed(Watched::Lease, Some(version)), fake.now);
        assert_eq!(ops.engine.lock.resource_version().is_some(), there, "by a list of version {version}");
    }
    fake.wait(60);
    assert_eq!(ops.engine.health(Watched::Lease), WatchHealth::Live);
}
