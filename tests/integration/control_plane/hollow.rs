//! Hollow nodes with Kubernetes' own controllers, without rolldeck.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::support::hollow::{Hollow, HollowOptions, Workloads};
use rolldeck::engine::model::facts::StrategyKind;
use rolldeck::sim::world::scenario::{DaemonSetPlan, FleetFault, RegistryImage, Scenario};

use super::fixture::{GOOD, MISSING, NODES, RolloutFixture, SOON, SPEED, scenario};
use crate::support::control_plane::{ControlPlane, Options, PodState, Step, Witness, eventually};

#[test]
fn a_rolling_update_takes_every_node_through_the_same_steps() {
    let Some(fixture) = RolloutFixture::new("rolling") else { return };
    let began = Instant::now();
    fixture.witness.forget_steps();
    fixture.deploy(GOOD[1]);
    fixture.until("all nodes serve v2", |witness| witness.serving(":v2").len() == NODES);
    let want =
        [Step::Deleting, Step::Unready, Step::Gone, Step::Created(GOOD[1].to_owned()), Step::Pulled, Step::Ready];
    fixture.witness.ledger(|ledger| {
        for (node, steps) in ledger.steps() {
            assert_eq!(*steps, want, "on {node}");
        }
    });
    // Two at once; now and then one more, since the controller takes the end of one pod for the deletion of the next.
    assert!((2..=4).contains(&fixture.witness.worst_since(began)), "{} at once", fixture.witness.worst_since(began));
    assert_eq!(fixture.hollow.refusals(), Vec::<String>::new());
}

/// With a budget of 2, an image that cannot be pulled and nodes that flap, 20 of 20 nodes go down.
#[test]
fn flapping_readiness_takes_every_node_down() {
    let Some(fixture) = RolloutFixture::new("cascade") else { return };
    fixture.deploy(MISSING);
    fixture.until("two nodes wait for an image", |witness| {
        witness.pods().values().filter(|pod| pod.pull_failed).count() == 2
    });
    assert_eq!(fixture.witness.unavailable(), 2);
    let mut down = 2;
    while down < NODES {
        let serving: Vec<_> = fixture.witness.serving(":v1").into_iter().take(6).collect();
        for node in &serving {
            fixture.hollow.fault(FleetFault::ProbesFail(node.as_str().into()));
        }
        down += serving.len();
        // The flapping nodes stay unready until the controller has replaced their pods.
        fixture.until("those that flap are replaced", |witness| {
            witness.pods().values().filter(|pod| pod.image == MISSING).count() == down
        });
        for node in &serving {
            fixture.hollow.fault(FleetFault::ProbesPass(node.as_str().into()));
        }
    }
    fixture.until("nobody serves", |witness| witness.unavailable() == NODES);
}

/// This test has a control plane of its own, which notices silent nodes within seconds.
#[test]
fn a_node_that_loses_the_network_turns_unknown_and_comes_back() {
    // 4 s here are 40 s of the kubelets' clock.
    let options = Options { node_monitor_grace: Duration::from_secs(4), ..Options::default() };
    let Ok(plane) = ControlPlane::start_with(&options) else { return };
    let scenario = scenario(StrategyKind::RollingUpdate);
    let hollow_options = HollowOptions { speed: SPEED, workloads: Workloads::Create, ..HollowOptions::default() };
    let hollow = Hollow::start(&plane.target(), &scenario, hollow_options).unwrap();
    let nodes: Vec<String> = scenario.nodes.iter().map(|node| node.name.to_string()).collect();
    plane.until_exists("/api/v1/namespaces/edge");
    let witness = Witness::watch(&plane, "edge", "agent", &nodes);
    witness.until("the agent serves everywhere", SOON, |witness| witness.unavailable() == 0);
    let before = witness.pods();

    hollow.fault(FleetFault::Cut("n07".into()));
    witness.until("n07's pod counts as not ready", SOON, |witness| !witness.pods()["n07"].ready);
    assert_eq!(ready(&plane, "n07"), "Unknown");
    assert_eq!(witness.unavailable(), 1);

    hollow.fault(FleetFault::Restore("n07".into()));
    witness.until("it is ready again", SOON, |witness| witness.pods()["n07"].ready);
    eventually("the node is Ready", SOON, || (ready(&plane, "n07") == "True").then_some(()));
    let uids = |pods: &BTreeMap<String, PodState>| {
        pods.iter().map(|(node, pod)| (node.clone(), pod.uid.clone())).collect::<Vec<_>>()
    };
    assert_eq!(uids(&witness.pods()), uids(&before), "nobody was replaced");

    hollow.fault(FleetFault::PowerOff("n03".into()));
    witness.until("n03's pod counts as not ready", SOON, |witness| !witness.pods()["n03"].ready);
    hollow.fault(FleetFault::PowerOn("n03".into()));
    witness.until("it serves again", SOON, |witness| witness.pods()["n03"].ready);
    let pod = plane.admin().get(&format!("/api/v1/namespaces/edge/pods/{}", witness.pods()["n03"].name)).ok();
    assert_eq!(pod["status"]["containerStatuses"][0]["restartCount"], 1);
    assert_eq!(hollow.refusals(), Vec::<String>::new());
}

fn ready(plane: &ControlPlane, node: &str) -> String {
    let node = plane.admin().get(&format!("/api/v1/nodes/{node}")).ok();
    let conditions = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let ready = conditions.iter().find(|condition| condition["type"] == "Ready").expect("a Ready condition");
    ready["status"].as_str().unwrap_or_default().to_owned()
}

/// One process of hollow nodes keeps up with 3,000 of them: they register, run their pods and renew their Leases in time.
/// That is the bound for scenarios on a real control plane: `cargo test --test integration -- --ignored --nocapture three_thousand`.
#[test]
#[ignore = "takes minutes and a gigabyte; prints how long"]
fn three_thousand_hollow_nodes_run_a_daemon_set_and_renew_their_leases() {
    let Ok(plane) = ControlPlane::start() else { return };
    let many = Scenario::new("many").with_site("hall", 1_250_000_000, "n", 3000);
    let many = many
        .with_image(RegistryImage::new(GOOD[0], 1_000_000))
        .with_daemon_set(DaemonSetPlan::new("edge", "agent", GOOD[0]));
    let options = HollowOptions { workloads: Workloads::Create, ..HollowOptions::default() };
    let began = Instant::now();
    let hollow = Hollow::start(&plane.target(), &many, options).unwrap();
    let path = "/apis/apps/v1/namespaces/edge/daemonsets/agent";
    eventually("all pods are ready", Duration::from_secs(600), || {
        let status = &plane.admin().get(path).body["status"];
        (status["numberReady"] == many.nodes.len()).then_some(())
    });
    println!("{} nodes registered and running after {:.1?}", many.nodes.len(), began.elapsed());
    let stale = |lease: &serde_json::Value| {
        let renewed: jiff::Timestamp = lease["spec"]["renewTime"].as_str().unwrap_or_default().parse().unwrap();
        jiff::Timestamp::now().duration_since(renewed).as_secs() > 20
    };
    std::thread::sleep(Duration::from_secs(30));
    let leases = plane.admin().get("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases").items();
    assert_eq!((leases.len(), leases.iter().filter(|lease| stale(lease)).count()), (many.nodes.len(), 0));
    assert_eq!(hollow.refusals(), Vec::<String>::new());
}
