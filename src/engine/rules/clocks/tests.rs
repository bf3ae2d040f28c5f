//! `minReadySeconds` is counted right whosever clock is wrong: by who watched, and by who comes later.

use super::*;
use crate::engine::Engine;
use crate::engine::fake_cluster::FakeCluster;
use crate::engine::model::clocks::NodeClocks;
use crate::engine::model::config::{Config, RateLimit, Role, Timing};
use crate::engine::model::event::{Event, WatchHealth, Watched};
use crate::engine::model::node::NodeState;
use crate::engine::report::snapshot::words::Why;

const MIN_READY: u64 = 60;
const MINUTES: [i64; 5] = [-300_000, -90_000, 0, 90_000, 300_000];

/// A cluster of one node, whose true time is the API server's, and how far the others' clocks are off.
struct Wrong {
    fake: FakeCluster,
    here: i64,
    /// What is known of the node's clock.
    measured: Option<i64>,
}

impl Wrong {
    /// The pod becomes ready now, as its kubelet's clock has it.
    fn new(here: i64, node: i64, measured: Option<i64>) -> Self {
        let mut fake = FakeCluster::rolling(1, 1);
        fake.daemonset.min_ready_secs = u32::try_from(MIN_READY).unwrap();
        fake.wait(400);
        let mut wrong = Self { fake, here, measured };
        wrong.become_ready(node);
        wrong
    }

    fn become_ready(&mut self, node: i64) {
        let dated = Timestamp::from_millis(self.fake.now.millis() + node);
        self.fake.change_pod("n1", |pod| (pod.ready, pod.ready_since) = (true, Some(dated)));
    }

    fn here(&self) -> Timestamp {
        Timestamp::from_millis(self.fake.now.millis() + self.here)
    }

    /// A console that is opened now.
    fn open(&self) -> Engine {
        let mut engine = Engine::new(Config {
            namespace: "edge".into(),
            name: "agent".into(),
            identity: "ops@bastion/1".into(),
            role: Role::Driver,
            timing: Timing::default(),
            rate: RateLimit::default(),
            defaults: Default::default(),
            restored_at: None,
        });
        let mut node = self.fake.nodes["n1"].clone();
        node.clock_skew_millis = self.measured;
        let pods = self.fake.pods.values().map(|pod| Event::Pod(Box::new(pod.clone())));
        let mut events = vec![Event::Skew(-self.here), Event::DaemonSet(Box::new(self.fake.daemonset.clone()))];
        events.extend(self.fake.revisions.iter().map(|revision| Event::Revision(Box::new(revision.clone()))));
        events.push(Event::Node(Box::new(node)));
        events.extend(pods);
        events.push(Event::LeaseGone(None));
        events.extend(Watched::ALL.map(|watched| Event::Watch(watched, WatchHealth::Live)));
        events.into_iter().for_each(|event| engine.observe(event, self.here()));
        engine
    }

    fn tell_pod(&self, engine: &mut Engine) {
        for pod in self.fake.pods.values() {
            engine.observe(Event::Pod(Box::new(pod.clone())), self.here());
        }
    }

    fn state(&self, engine: &mut Engine) -> NodeState {
        engine.snapshot(self.here()).nodes[0].state
    }
}

#[test]
fn who_comes_later_counts_as_who_was_there() {
    for here in MINUTES {
        for node in MINUTES {
            let mut wrong = Wrong::new(here, node, Some(node));
            for (wait, state) in
                [(0, NodeState::Soaking), (30, NodeState::Soaking), (59, NodeState::Soaking), (60, NodeState::Updated)]
            {
                wrong.fake.now =
                    wrong.fake.pods.values().next().map(|pod| by_server(pod.ready_since.unwrap(), Some(node))).unwrap();
                wrong.fake.wait(wait);
                let mut engine = wrong.open();
                assert_eq!(wrong.state(&mut engine), state, "{wait}s after; here {here}, node {node}");
                // And goes on counting from there.
                if state == NodeState::Soaking {
                    let until = wrong.here() + Duration::from_secs(MIN_READY - wait);
                    assert_eq!(engine.wake_at(), Some(until), "{wait}s after; here {here}, node {node}");
                    wrong.fake.wait(MIN_READY - wait);
                    assert_eq!(wrong.state(&mut engine), NodeState::Updated);
                }
            }
        }
    }
}

#[test]
fn what_is_seen_to_happen_is_counted_on_our_own_clock() {
    for here in MINUTES {
        for node in MINUTES {
            for measured in [None, Some(0), Some(node)] {
                let mut wrong = Wrong::new(here, node, measured);
                wrong.fake.change_pod("n1", |pod| (pod.ready, pod.ready_since) = (false, None));
                let mut engine = wrong.open();
                wrong.fake.wait(20);
                wrong.become_ready(node);
                wrong.tell_pod(&mut engine);
                wrong.fake.wait(59);
                let case = format!("here {here}, node {node}, measured {measured:?}");
                assert_eq!(wrong.state(&mut engine), NodeState::Soaking, "{case}");
                wrong.fake.wait(1);
                assert_eq!(wrong.state(&mut engine), NodeState::Updated, "{case}");
            }
        }
    }
}

#[test]
fn a_server_whose_clock_is_set_while_we_look_changes_nothing_that_we_saw() {
    let mut wrong = Wrong::new(0, 0, Some(0));
    wrong.fake.change_pod("n1", |pod| (pod.ready, pod.ready_since) = (false, None));
    let mut engine = wrong.open();
    wrong.become_ready(0);
    wrong.tell_pod(&mut engine);
    for jump in MINUTES {
        engine.observe(Event::Skew(jump), wrong.here());
        assert_eq!(wrong.state(&mut engine), NodeState::Soaking, "{jump}");
    }
    wrong.fake.wait(60);
    assert_eq!(wrong.state(&mut engine), NodeState::Updated);
}

#[test]
fn a_clock_that_nobody_measured_makes_no_node_updated() {
    // Behind by five minutes: its kubelet says that the pod has been ready for longer than it has.
    let mut wrong = Wrong::new(0, -300_000, None);
    wrong.fake.wait(10);
    let mut engine = wrong.open();
    assert_eq!(wrong.state(&mut engine), NodeState::Soaking);
    wrong.fake.wait(60);
    assert_eq!(wrong.state(&mut engine), NodeState::Updated, "as far as we have seen it ourselves");
    wrong.fake.wait(1_200);
    assert_eq!(wrong.state(&mut wrong.open()), NodeState::Updated, "no clock is off by that much");
}

#[test]
fn a_pod_was_not_ready_before_it_was_there() {
    // Behind by an hour, and measured as right: created 30 s ago, so not ready for longer.
    let mut wrong = Wrong::new(0, -3_600_000, Some(0));
    let created_at = wrong.fake.now;
    wrong.fake.change_pod("n1", |pod| pod.created_at = created_at);
    wrong.fake.wait(30);
    assert_eq!(wrong.state(&mut wrong.open()), NodeState::Soaking);
}

#[test]
fn a_clock_that_is_ahead_holds_up_the_controller_and_the_node_says_so() {
    let mut wrong = Wrong::new(0, 300_000, Some(300_000));
    wrong.fake.wait(120);
    let mut engine = wrong.open();
    let why = |engine: &mut Engine, wrong: &Wrong| {
        let snapshot = engine.snapshot(wrong.here());
        (Why { node: &snapshot.nodes[0], at: snapshot.at }.to_string(), snapshot.clocks().to_string())
    };
    assert_eq!(wrong.state(&mut engine), NodeState::Updated, "it has been ready for two minutes");
    let (node, all) = why(&mut engine, &wrong);
    assert_eq!(node, "clock 5m ahead: its controller counts it unavailable for 4m more");
    assert_eq!(all, "clock of n1 5m ahead; its controller counts 1 available pod as unavailable");
    let until = wrong.here() + Duration::from_secs(240);
    assert_eq!(engine.wake_at(), Some(until), "time alone changes it");
    wrong.fake.wait(240);
    assert_eq!(why(&mut engine, &wrong), ("clock 5m ahead".into(), "clock of n1 5m ahead".into()));

    // Without minReadySeconds the controller does not look at the time.
    wrong.fake.daemonset.min_ready_secs = 0;
    wrong.become_ready(300_000);
    assert_eq!(why(&mut wrong.open(), &wrong).0, "clock 5m ahead");
    // Behind, it is counted too early: by the controller, not by us.
    let wrong = Wrong::new(0, -300_000, Some(-300_000));
    assert_eq!(why(&mut wrong.open(), &wrong).0, "ready for 0s of 1m; clock 5m behind");
}

#[test]
fn what_is_said_of_clocks() {
    let wrong = Wrong::new(0, 0, Some(0));
    let mut snapshot = wrong.open().snapshot(wrong.here());
    assert!(snapshot.clocks().is_empty() && snapshot.clocks().to_string().is_empty());
    snapshot.skew_millis = Some(1_900);
    assert!(snapshot.clocks().is_empty(), "that is not worth saying");
    snapshot.skew_millis = Some(185_000);
    assert_eq!(snapshot.clocks().to_string(), "clock here 3m behind the API server's");
    snapshot.node_clocks = NodeClocks { off: 12, worst: Some(("ipc-7".into(), -40_000)), counted_unavailable: 0 };
    snapshot.skew_millis = Some(-2_000);
    assert_eq!(
        snapshot.clocks().to_string(),
        "clock here 2s ahead of the API server's; clocks of 12 nodes off, ipc-7 40s behind"
    );
}

#[test]
fn a_skew_is_steady() {
    let at = Timestamp::from_millis;
    for (heartbeat, written, said, want) in [
        (0, 0, None, 0),
        (2_999, 0, None, 0),
        (-2_999, 0, None, 0),
        (3_000, 0, None, 3_000),
        (300_000, 0, None, 300_000),
        (301_000, 0, Some(300_000), 300_000),
        (303_000, 0, Some(300_000), 303_000),
        (0, 0, Some(300_000), 0),
        (2_000, 0, Some(0), 0),
        (0, 60_000, Some(0), -60_000),
    ] {
        assert_eq!(clock_skew(at(heartbeat), at(written), said), want, "{heartbeat} {written} {said:?}");
    }
}
