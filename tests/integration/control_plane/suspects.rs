//! Nodes that lose the network after their update, with Kubernetes' own controllers: a short outage halts nothing, and a long
//! one does.
//!
//! The kubelets' clock runs ten times as fast as the real one, so the control plane's grace for silent nodes is a tenth. Controllers and rolldeck run
//! in real time.

use std::time::{Duration, Instant};

use crate::support::hollow::{Hollow, HollowOptions, Workloads};
use rolldeck::engine::model::facts::{StrategyKind, Taint};
use rolldeck::engine::model::template::TaintEffect;
use rolldeck::sim::world::scenario::{ClusterFault, Scenario};

use super::fixture::{BUDGET, DS, GOOD, NODES, SOON, SPEED, operator, scenario};
use crate::support::control_plane::{ControlPlane, Options, Witness, eventually};
use crate::support::program::Operator;

/// How long a node may be silent, by the kubelets' clock.
const NODE_GRACE: Duration = Duration::from_secs(50);

/// Twenty nodes on a control plane that notices within seconds when one is silent.
pub(super) struct OutageFixture {
    pub(super) plane: ControlPlane,
    pub(super) hollow: Hollow,
    pub(super) witness: Witness,
    pub(super) operator: Operator,
    pub(super) nodes: Vec<String>,
}

/// Twenty nodes that run v1, on a control plane of their own.
pub(super) fn fixture(namespace: &str) -> Option<OutageFixture> {
    let node_monitor_grace = NODE_GRACE.div_f64(SPEED);
    let plane = ControlPlane::start_with(&Options { node_monitor_grace, ..Options::default() }).ok()?;
    let scenario: Scenario = {
        let mut scenario = scenario(StrategyKind::RollingUpdate);
        scenario.daemon_sets[0].namespace = namespace.into();
        scenario
    };
    let options = HollowOptions { speed: SPEED, workloads: Workloads::Create, ..HollowOptions::default() };
    let hollow = Hollow::start(&plane.target(), &scenario, options).expect("hollow nodes");
    plane.until_exists(&format!("/api/v1/namespaces/{namespace}"));
    let nodes: Vec<String> = scenario.nodes.iter().map(|node| node.name.to_string()).collect();
    let witness = Witness::watch(&plane, namespace, "agent", &nodes);
    witness.until("everything runs at the beginning", SOON, |witness| witness.unavailable() == 0);
    let operator = operator(&plane, namespace);
    Some(OutageFixture { plane, hollow, witness, operator, nodes })
}

impl OutageFixture {
    /// Takes a node off the network for `lasts` of real time.
    pub(super) fn cut(&self, node: &str, lasts: Duration) {
        self.hollow.cut(node, lasts.mul_f64(SPEED));
    }

    /// Waits until the node's Ready condition is `ready`: the controllers have noticed that the node is away, or back.
    fn until_ready(&self, node: &str, ready: bool) {
        eventually(&format!("{node} is Ready: {ready}"), SOON, || {
            let object = self.plane.admin().get(&format!("/api/v1/nodes/{node}")).ok();
            let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let status = conditions.iter().find(|condition| condition["type"] == "Ready")?["status"].clone();
            ((status == "True") == ready).then_some(())
        });
    }
}

#[test]
fn a_short_outage_after_an_update_halts_nothing_and_a_long_one_does() {
    let Some(fixture) = fixture("suspects") else { return };
    let began = Instant::now();
    let mut driver = fixture.operator.drive(DS, &["--image", &format!("agent={}", GOOD[1]), "--to", "50%"]);
    let half = |witness: &Witness| witness.serving(":v2").len() == NODES / 2;
    fixture.witness.until("half of them serve v2", SOON, half);

    // An updated node alone.
    let updated = fixture.witness.serving(":v2").first().cloned().expect("one");
    fixture.cut(&updated, Duration::from_secs(20));
    fixture.until_ready(&updated, false);
    let status = fixture.operator.status(DS).0;
    assert_eq!((&status["phase"], &status["counts"]["failed"]), (&"running".into(), &0.into()), "{status}");
    assert_eq!(status["budget"]["suspect"], 1, "charged at once: {}", status["budget"]);
    // The window is as long as the rollout so far.
    let compared = status["comparisons"][0]["text"].as_str().expect("a text");
    let minutes = compared.strip_prefix("1 of 10 nodes went down after their update, 0 of 10 before it, in ");
    assert!(minutes.is_some_and(|rest| ["1m (hall)", "2m (hall)", "3m (hall)"].contains(&rest)), "{compared}");
    fixture.operator.ok(&["step", DS, "--to", "70%", "--yes"]);
    fixture.until_ready(&updated, true);
    fixture.witness.until("the rest of the step serves v2", SOON, |witness| witness.serving(":v2").len() == 14);

    assert!(fixture.witness.worst_since(began) <= BUDGET);
    // An updated node and two old ones are cut off together: an outage of their site. These three exceed the budget without rolldeck's doing.
    let updated = fixture.witness.serving(":v2").last().cloned().expect("another");
    let old: Vec<String> = fixture.witness.serving(":v1").into_iter().take(2).collect();
    let cut_at = Instant::now();
    [&updated, &old[0], &old[1]].into_iter().for_each(|node| fixture.cut(node, Duration::from_secs(25)));
    [&updated, &old[0], &old[1]].into_iter().for_each(|node| fixture.until_ready(node, false));
    let status = fixture.operator.status(DS).0;
    assert_eq!(status["alarms"][0]["type"], "siteOutage", "{status}");
    fixture.operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(fixture.witness.serving(":v2").len(), 13, "nothing is taken where the site is down");
    assert_eq!(fixture.witness.deletes_since(cut_at).len(), 0, "nothing is deleted where the site is down");
    assert!(cut_at.elapsed() < Duration::from_secs(25), "it came too late to prove anything");
    assert_eq!(driver.end().code(), Some(0), "it ends by itself: {}", driver.seen());
    assert_eq!(fixture.witness.serving(":v2").len(), NODES);
    assert!(!driver.seen().contains("halted"), "{}", driver.seen());
    assert_eq!(fixture.witness.worst_since(began), 3, "the three that were cut, and none beside them");
    println!("blinks: the rollout took {} s, halts: 0", began.elapsed().as_secs());

    // An updated node that is away for longer than the suspect grace.
    let began = Instant::now();
    let flags = ["--image", &format!("agent={}", GOOD[2]), "--to", "50%", "--suspect-grace", "10s"];
    let mut driver = fixture.operator.drive(DS, &flags);
    fixture.witness.until("half of them serve v3", SOON, |witness| witness.serving(":v3").len() == NODES / 2);
    let updated = fixture.witness.serving(":v3").first().cloned().expect("one");
    fixture.cut(&updated, Duration::from_secs(120));
    fixture.until_ready(&updated, false);
    let down_at = Instant::now();
    // A controller that repairs machines taints it: its place in the budget is not given to another node, and it goes on to count.
    let taint = Taint { key: "broken".into(), value: "".into(), effect: TaintEffect::NoSchedule };
    fixture.hollow.fault(ClusterFault::Taint { node: updated.as_str().into(), taint });
    eventually("it is tainted", SOON, || {
        let object = fixture.plane.admin().get(&format!("/api/v1/nodes/{updated}")).ok();
        let taints = object["spec"]["taints"].as_array().cloned().unwrap_or_default();
        taints.iter().any(|taint| taint["key"] == "broken").then_some(())
    });
    let status = fixture.operator.status(DS).0;
    assert_eq!((&status["budget"]["suspect"], &status["counts"]["nodes"]), (&1.into(), &NODES.into()), "{status}");
    assert_eq!(driver.end().code(), Some(4), "it halts: {}", driver.seen());
    println!("stays away: halted {} s after it was noticed", down_at.elapsed().as_secs());
    assert!(down_at.elapsed() > Duration::from_secs(8), "{:?}", down_at.elapsed());
    let why = "node stays down with the new pod on 1 node";
    assert!(driver.seen().contains(why), "{}", driver.seen());
    assert!(driver.seen().contains(&updated), "{}", driver.seen());
    assert!(fixture.witness.worst_since(began) <= BUDGET);
}
