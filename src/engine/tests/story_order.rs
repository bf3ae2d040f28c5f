//! In which order a story tells what happened on one node, and from when it counts.

use std::time::Duration;

use super::story::told;
use super::*;
use crate::engine::model::facts::ContainerState;
use crate::engine::model::node::ImageState;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::Snapshot;
use crate::engine::report::story::Story;

/// Snapshots in which the first node is as the test says.
struct OneNode {
    base: Snapshot,
    story: Story,
}

impl OneNode {
    fn new() -> Self {
        let mut fake = FakeCluster::rolling(3, 1);
        let mut console = FakeConsole::open(&fake, "ops");
        console.run_for(&mut fake, 2);
        let mut base = console.snapshot(&fake);
        // On a whole second, as servers tell.
        base.at = Timestamp::from_millis(base.at.secs() * 1_000 + 10_000);
        let mut nodes = base.nodes.to_vec();
        nodes[0].pod = Some("old".into());
        base.nodes = nodes.into();
        let mut one = Self { base, story: Story::default() };
        one.story.observe(&one.base);
        one
    }

    fn after(&self, millis: u64) -> Timestamp {
        self.base.at + Duration::from_millis(millis)
    }

    /// At `millis` the node is in this state, since `since`, with this pod.
    fn see(&mut self, millis: u64, state: NodeState, since: u64, pod: Option<&str>) {
        let mut nodes = self.base.nodes.to_vec();
        nodes[0].pod = pod.map(Into::into);
        (nodes[0].state, nodes[0].since, nodes[0].image) = (state, Some(self.after(since)), ImageState::Present);
        nodes[0].serves = matches!(state, NodeState::Soaking | NodeState::Updated | NodeState::Outdated);
        self.story.observe(&Snapshot { at: self.after(millis), nodes: nodes.into(), ..self.base.clone() });
    }

    fn told(&self) -> Vec<String> {
        told(&self.story, &self.base.nodes[0].name)
    }
}

/// The target was given within the second in which the pod was deleted, and snapshots come late: the deletion keeps its own time.
#[test]
fn the_deletion_of_a_pod_stands_before_its_next_pod() {
    let mut node = OneNode::new();
    node.see(1_700, NodeState::Outdated, 1_600, Some("old"));
    node.see(3_200, NodeState::Terminating, 1_000, Some("old"));
    node.see(3_600, NodeState::Creating, 2_000, Some("new"));
    let moments = node.story.of_node(&node.base.nodes[0].name);
    let told: Vec<_> = moments.map(|moment| (moment.at, moment.change.to_string())).collect();
    assert_eq!(
        told,
        [
            (node.after(1_000), "its pod is going".to_owned()),
            (node.after(2_000), "its old pod is gone after 1s, a new one is made".to_owned())
        ]
    );
}

/// A moment that was dated by when it was seen is not overtaken by a later one that tells an earlier time.
#[test]
fn the_moments_of_a_node_stand_in_the_order_in_which_they_were_seen() {
    let mut node = OneNode::new();
    node.see(1_000, NodeState::NodeDown, 900, Some("old"));
    node.see(9_500, NodeState::Outdated, 500, Some("old"));
    node.see(9_900, NodeState::Terminating, 8_000, Some("old"));
    assert_eq!(node.told().last().map(String::as_str), Some("its pod is going"), "{:?}", node.told());
}

/// A small image is there within the second: whoever reads the story misses the end of the old pod otherwise.
#[test]
fn the_end_of_the_old_pod_is_told_however_far_the_next_one_is() {
    for (state, want) in [
        (NodeState::Creating, "its old pod is gone after 2s, a new one is made"),
        (NodeState::Pulling, "its old pod is gone after 2s, the new one pulls the image"),
        (NodeState::PullFailed, "its old pod is gone after 2s, the pull of the new one failed"),
        (NodeState::Starting, "its old pod is gone after 2s, the new one starts"),
        (NodeState::Soaking, "its old pod is gone after 2s, the new one is ready, soaks"),
        (NodeState::Updated, "its old pod is gone after 2s, updated"),
    ] {
        let mut node = OneNode::new();
        node.see(1_200, NodeState::Terminating, 1_000, Some("old"));
        node.see(3_500, state, 3_000, Some("new"));
        assert_eq!(node.told(), ["its pod is going", want]);
    }
    let mut node = OneNode::new();
    node.see(1_200, NodeState::Terminating, 1_000, Some("old"));
    node.see(1_500, NodeState::Creating, 1_000, Some("new"));
    assert_eq!(node.told()[1], "its old pod is gone, a new one is made", "it took no second that anybody tells");
    // Its deletion never arrived: the same pod goes on.
    let mut node = OneNode::new();
    node.see(1_200, NodeState::Terminating, 1_000, Some("old"));
    node.see(3_500, NodeState::Starting, 3_000, Some("old"));
    assert_eq!(node.told(), ["its pod is going", "starts"]);
}

/// Of a new pod it counts from its start, of one that lost its readiness from the loss.
#[test]
fn a_pod_that_is_ready_again_is_told_to_be() {
    let mut node = OneNode::new();
    node.see(1_000, NodeState::Starting, 1_000, Some("new"));
    node.see(4_000, NodeState::Soaking, 4_000, Some("new"));
    node.see(9_000, NodeState::Starting, 9_000, Some("new"));
    node.see(20_000, NodeState::Soaking, 20_000, Some("new"));
    assert_eq!(
        node.told(),
        ["starts", "ready after 3s, soaks", "is not ready any more", "ready again after 11s, soaks"]
    );
    // Its next pod is ready for the first time.
    node.see(30_000, NodeState::Starting, 30_000, Some("new"));
    node.see(31_000, NodeState::Terminating, 31_000, Some("new"));
    node.see(32_000, NodeState::Starting, 32_000, Some("next"));
    node.see(37_000, NodeState::Soaking, 37_000, Some("next"));
    assert_eq!(node.told().last().map(String::as_str), Some("ready after 5s, soaks"));
}

/// A pod that crashes again and again tells since when. Its node failed when that had lasted for too long, as who watched it says.
#[test]
fn a_crash_loop_that_nobody_watched_failed_when_it_halted_the_rollout() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    fake.slow = true;
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 3);
    console.run_for(&mut fake, 2);
    let node = fake.deleted[0].clone();
    // It is never ready, as one whose container ends at once.
    let mut is = |fake: &mut FakeCluster, restarts: u32, state: &ContainerState, secs: u64| {
        fake.change_pod(&node, |pod| {
            let container = &mut pod.containers[0];
            (container.ready, container.restarts, container.state) = (false, restarts, state.clone());
            (container.last_end, container.last_exit) = (Some("Error".into()), Some(1));
            pod.ready = false;
        });
        console.run_for(fake, secs);
    };
    let waits = ContainerState::Waiting { reason: "CrashLoopBackOff".into(), message: None };
    for restarts in 0..3 {
        let runs = ContainerState::Running { since: Some(fake.now) };
        is(&mut fake, restarts, &runs, 1);
        is(&mut fake, restarts, &waits, 10);
    }
    is(&mut fake, 3, &waits, 5);
    let snapshot = FakeConsole::open_as(&fake, "eve", Role::OneShot).snapshot(&fake);
    let halted_at = snapshot.halt.as_ref().expect("three restarts are too many").at;
    let later = Story::reconstructed(&snapshot, |_| None);
    let failed = later.of_node(&node).find(|moment| moment.change.to_string() == "failed: crash loop").unwrap();
    assert_eq!(failed.at, halted_at);
    assert!(
        snapshot.nodes.iter().any(|view| *view.name == *node && view.since.unwrap() < halted_at),
        "it tells another time"
    );
}
