//! A new pod that does not come up: what counts as a failure, what is said of it, and what it leads to.

use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::cause::CauseKind;
use crate::engine::model::command::Command;
use crate::engine::model::facts::ContainerState;
use crate::engine::model::node::NodeState;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::Tuning;
use crate::engine::report::snapshot::{Alarm, Phase};

#[test]
fn a_bad_image_halts_at_the_first_node_and_undo_heals_it() {
    let mut fake = FakeCluster::rolling(20, 2);
    fake.broken.push("agent:bad".into());
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:bad");
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 60);
    assert!(fake.deleted.len() <= 2, "{:?}", fake.deleted);
    let snapshot = console.snapshot(&fake);
    assert_eq!(snapshot.phase, Phase::Halted);
    assert!(snapshot.halt.unwrap().why.contains("image not found"), "says what");
    assert!(matches!(snapshot.alarms.as_slice(), [Alarm::Halted { .. }]));
    assert_eq!(snapshot.nodes[0].state, NodeState::Failed);
    assert_eq!(console.state(&fake, "n9").1, "halted");
    // Old pods that lose readiness are not replaced: this is what takes fleets down.
    for node in ["n5", "n6", "n7", "n8", "n9", "n10"] {
        fake.set_ready(node, false);
    }
    console.run_for(&mut fake, 10);
    assert!(fake.deleted.len() <= 2);
    for node in ["n5", "n6", "n7", "n8", "n9", "n10"] {
        fake.set_ready(node, true);
    }
    let bad = fake.at("hash2");
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 30);
    assert_eq!((fake.at("hash1"), fake.down()), (20, 0));
    assert_eq!(fake.deleted.len(), 2 * bad, "only the broken ones were replaced");
    let told: Vec<String> = console.snapshot(&fake).timeline.iter().map(ToString::to_string).collect();
    assert!(told.contains(&"rolled back: all 20 nodes are at revision 3".to_owned()), "{told:?}");
}

#[test]
fn a_halt_says_what_is_so_while_any_of_its_nodes_has_failed() {
    let mut fake = FakeCluster::rolling(10, 2);
    fake.broken.push("agent:bad".into());
    let mut console = FakeConsole::open(&fake, "ops");
    let two = Tuning { failure_threshold: Some(IntOrPercent::Int(2)), ..Tuning::default() };
    console.ask(&mut fake, Command::Tune(two)).unwrap();
    console.set_image(&mut fake, "agent:bad");
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 60);
    let said = |console: &mut FakeConsole, fake: &FakeCluster| {
        let halt = console.snapshot(fake).halt.unwrap();
        (halt.why.to_string(), halt.named().len())
    };
    assert_eq!(said(&mut console, &fake), ("image not found on 2 nodes".into(), 2));
    fake.change_pod("n1", |pod| {
        pod.containers[0].state = ContainerState::Running { since: None };
        pod.containers[0].image_present = true;
    });
    fake.set_ready("n1", true);
    console.run_for(&mut fake, 5);
    assert_eq!(said(&mut console, &fake), ("image not found on 1 node".into(), 1));
    assert_eq!(console.snapshot(&fake).counts.failed, 1);
}

#[test]
fn a_new_pod_that_keeps_restarting_fails() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 9);
    console.run_for(&mut fake, 5);
    fake.change_pod("n1", |pod| {
        pod.ready = false;
        pod.containers[0].restarts = 3;
        pod.containers[0].state = ContainerState::Waiting { reason: "CrashLoopBackOff".into(), message: None };
    });
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 5);
    assert_eq!((fake.at("hash2"), console.state(&fake, "n1").0), (1, NodeState::Failed));
}

#[test]
fn a_pull_that_is_tried_again_is_still_a_failure() {
    let mut fake = FakeCluster::rolling(10, 2);
    fake.broken.push("agent:bad".into());
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:bad");
    console.partition(&mut fake, 9);
    console.run_for(&mut fake, 20);
    assert_eq!(console.state(&fake, "n1").0, NodeState::Failed);
    fake.change_pod("n1", |pod| {
        pod.containers[0].state = ContainerState::Waiting { reason: "ContainerCreating".into(), message: None };
    });
    let (state, why) = console.state(&fake, "n1");
    assert_eq!((state, why.as_str()), (NodeState::Failed, "image not found"));
}

/// A node that flaps tries a pull while it is cut off. That the image is not there was known, and stays known.
#[test]
fn what_the_registry_has_said_stands_though_a_later_pull_does_not_reach_it() {
    let mut fake = FakeCluster::rolling(10, 2);
    fake.broken.push("agent:bad".into());
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:bad");
    console.partition(&mut fake, 9);
    console.run_for(&mut fake, 20);
    let pulls = |fake: &mut FakeCluster, message: &str| {
        fake.change_pod("n1", |pod| {
            let (reason, message) = ("ImagePullBackOff".into(), Some(message.into()));
            pod.containers[0].state = ContainerState::Waiting { reason, message };
        });
    };
    pulls(&mut fake, "ErrImagePull: dial tcp: i/o timeout");
    let (state, why) = console.state(&fake, "n1");
    assert_eq!((state, why.as_str()), (NodeState::Failed, "image not found"));
    pulls(&mut fake, "ErrImagePull: unauthorized");
    let (state, why) = console.state(&fake, "n1");
    assert_eq!((state, why.as_str()), (NodeState::Failed, "image access denied"), "another answer is news");
}

/// Before 1.32 a kubelet that waits before it pulls again does not repeat why the pull failed.
#[test]
fn why_a_pull_failed_stands_while_its_kubelet_only_waits() {
    let mut fake = FakeCluster::rolling(10, 2);
    fake.slow = true;
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 9);
    console.run_for(&mut fake, 5);
    let pulls = |fake: &mut FakeCluster, reason: &str, message: &str| {
        fake.change_pod("n1", |pod| {
            let (reason, message) = (reason.into(), Some(message.into()));
            pod.containers[0].image_present = false;
            pod.containers[0].state = ContainerState::Waiting { reason, message };
        });
    };
    for (message, kind) in [
        ("dial tcp: i/o timeout", CauseKind::ImageNetwork),
        ("write /x: no space left on device", CauseKind::ImageDisk),
        ("429 Too Many Requests", CauseKind::ImageRateLimited),
    ] {
        for (reason, message) in
            [("ErrImagePull", message), ("ImagePullBackOff", "Back-off pulling image \"agent:v2\"")]
        {
            pulls(&mut fake, reason, message);
            let cause = console.snapshot(&fake).nodes.iter().find(|view| *view.name == *"n1").unwrap().cause.clone();
            assert_eq!(cause.map(|cause| cause.kind), Some(kind), "{message}");
        }
    }
}
