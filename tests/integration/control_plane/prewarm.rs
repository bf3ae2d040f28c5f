//! Pre-warming on real controllers: the objects that it makes, the objects that it leaves alone, and that none of its objects stays behind.
//!
//! A witness of its own observes pre-warming pods by their statuses; the tests do not rely on the engine's own report.

mod admission;
mod console;
mod driver;
mod image_volume;
mod leftovers;
mod plan;
mod statefulset;
mod surroundings;

use std::time::{Duration, Instant};

use rolldeck::engine::model::command::{Command, PrewarmCommand};
use rolldeck::engine::model::facts::{StrategyKind, Taint};
use rolldeck::engine::model::prewarm::{
    PREWARM, PrewarmLimits, PrewarmMethod, PrewarmNodes, PrewarmSource, PrewarmState,
};
use rolldeck::engine::model::quantity::IntOrPercent;
use rolldeck::engine::model::settings::Limit;
use rolldeck::engine::model::template::TaintEffect;
use rolldeck::engine::report::snapshot::Snapshot;
use rolldeck::sim::world::scenario::{ClusterFault, FleetFault, RegistryImage, Scenario};
use serde_json::{Value, json};

use self::driver::{DriverHere, DriverProcess};
use self::leftovers::{everything, versions};
use super::fixture::{BUDGET, DS, NODES, RolloutFixture, SOON, quick, scenario};
use crate::support::control_plane::{Witness, eventually};

/// An image whose pull takes a node 1.2 s and that has no `sleep`: its containers end with `StartError`.
const BARE: &str = "registry.test/agent:bare";
/// An image as large as [`BARE`], with `sleep`.
const FULL: &str = "registry.test/agent:full";
/// How many nodes may pull at once.
const LIMIT: usize = 3;

/// The usual scenario, with images whose pull takes a while.
fn with_images_to_wait_for() -> Scenario {
    let slow = |name: &str| RegistryImage { bytes: 500_000_000, ..quick(name) };
    let scenario = scenario(StrategyKind::RollingUpdate).with_image(slow(FULL));
    scenario.with_image(RegistryImage { distroless: true, ..slow(BARE) })
}

fn start(image: &str) -> Command {
    let limits = PrewarmLimits {
        max_pulling: Limit::At(IntOrPercent::Int(u32::try_from(LIMIT).unwrap())),
        ..PrewarmLimits::default()
    };
    let source = PrewarmSource::Images([("agent".to_owned(), image.parse().unwrap())].into());
    Command::Prewarm(PrewarmCommand::Start { source, nodes: PrewarmNodes::All, limits, method: PrewarmMethod::Pods })
}

/// A witness of the pods that were made for pre-warming.
fn witness_of_warm_pods(fixture: &RolloutFixture) -> Witness {
    let sandbox = &fixture.sandbox;
    Witness::of_labels(sandbox, sandbox.namespace(), "rolldeck.io/prewarm", &fixture.nodes)
}

/// A node's state of pre-warming, as the engine reports it.
fn state(snapshot: &Snapshot, node: &str) -> Option<PrewarmState> {
    snapshot.nodes.iter().find(|it| *it.name == *node).and_then(|it| it.prewarm.as_deref().cloned())
}

/// How many nodes have the images, as the engine reports it.
fn present(snapshot: &Snapshot) -> usize {
    snapshot.prewarm.as_ref().map_or(0, |it| it.counts.present as usize)
}

/// The objects that pre-warming must leave alone: the DaemonSet with its counters, its revisions, its pods.
fn application(fixture: &RolloutFixture) -> Value {
    // The DaemonSet controller writes its counters a moment after pods are ready; on a busy machine it takes some seconds.
    let mut daemon_set = eventually("its controller has counted all pods as available", SOON, || {
        let daemon_set = fixture.daemon_set();
        let status = &daemon_set["status"];
        let desired = &status["desiredNumberScheduled"];
        (desired.is_u64() && [&status["numberReady"], &status["numberAvailable"]].iter().all(|count| *count == desired))
            .then_some(daemon_set)
    });
    daemon_set["metadata"]["resourceVersion"].take();
    daemon_set["metadata"]["managedFields"].take();
    let mut revisions = versions(fixture, "/apis/apps/v1", "controllerrevisions");
    // A StatefulSet for pre-warming has a revision of its own, which is deleted with the StatefulSet.
    revisions.retain(|name, _| !name.starts_with("agent-prewarm-"));
    let pods: Vec<(String, String)> = fixture.witness.pods().into_values().map(|pod| (pod.node, pod.uid)).collect();
    json!({"daemonSet": daemon_set, "revisions": revisions, "pods": pods})
}

#[test]
fn eighteen_of_twenty_nodes_get_an_image_that_the_template_does_not_have() {
    let mut scenario = with_images_to_wait_for();
    scenario.nodes[19].taints =
        vec![Taint { key: "dedicated".into(), value: "press".into(), effect: TaintEffect::NoSchedule }];
    let Some(fixture) = RolloutFixture::with("prewarm", scenario) else { return };
    let [cordoned, full, tainted] = [4, 7, 19].map(|nth: usize| fixture.nodes[nth].clone());
    fixture.hollow.fault(ClusterFault::Cordon(cordoned.as_str().into()));
    fixture.hollow.fault(FleetFault::DiskFull(full.as_str().into()));
    eventually("its node is known to have no room", SOON, || {
        let node = fixture.sandbox.admin().get(&format!("/api/v1/nodes/{full}")).ok();
        let conditions = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter().any(|it| it["type"] == "DiskPressure" && it["status"] == "True").then_some(())
    });
    let (before, began) = (application(&fixture), Instant::now());
    let warm = witness_of_warm_pods(&fixture);
    let driver = DriverHere::of(&fixture.operator(), &fixture);
    driver.drive(start(BARE));
    let snapshot = driver.until("18 are present", |snapshot| present(snapshot) == NODES - 2);
    println!("{}; {:.1?}", snapshot.prewarm.as_ref().unwrap(), began.elapsed());

    // The pods' own statuses tell which nodes pulled the image.
    let pulled = warm.pulled();
    assert_eq!(pulled.len(), NODES - 2, "{}", warm.describe());
    assert!(pulled.contains(&cordoned), "it is to run the DaemonSet, cordoned or not");
    assert!(!pulled.contains(&full) && !pulled.contains(&tainted));
    assert_eq!(warm.most_pulling(), LIMIT, "never more, and as many as may");
    let PrewarmState::Failed { cause, .. } = state(&snapshot, &full).expect("it is meant") else {
        panic!("{:?}", state(&snapshot, &full));
    };
    assert!(cause.message.as_ref().is_some_and(|said| said.contains("DiskPressure")), "{cause:?}");
    assert_eq!(state(&snapshot, &tainted), None, "no pod of the DaemonSet is to run there");
    assert_eq!(snapshot.prewarm.as_ref().unwrap().counts.nodes as usize, NODES - 1);
    let ended = |pod: &Value| {
        let state = &pod["status"]["containerStatuses"][0]["state"]["terminated"];
        state["reason"] == "StartError" && pod["status"]["phase"] == "Failed"
    };
    let pods = eventually("all have tried to start", SOON, || {
        let pods: Vec<Value> = fixture.sandbox.pods().into_iter().filter(is_warm).collect();
        (pods.iter().filter(|pod| ended(pod)).count() == NODES - 2).then_some(pods)
    });

    // No controller adopted a pre-warming pod, and nothing of the application changed.
    assert!(pods.iter().all(|pod| pod["metadata"]["ownerReferences"][0]["controller"] != json!(true)), "{pods:#?}");
    assert_eq!(application(&fixture), before);
    assert!(fixture.witness.deletes_since(began).is_empty() && fixture.witness.worst_since(began) == 0);

    // Once the node's disk has room, the node gets the image without a command of an operator.
    fixture.hollow.fault(FleetFault::DiskFree(full.as_str().into()));
    driver.until("19 are present", |snapshot| present(snapshot) == NODES - 1);
    assert!(warm.most_pulling() <= LIMIT);
    assert_eq!(fixture.hollow.refusals(), Vec::<String>::new());
}

fn is_warm(pod: &Value) -> bool {
    pod["metadata"]["labels"][PREWARM].is_string()
}

#[test]
fn a_killed_driver_is_succeeded_without_a_second_pod_and_a_cancellation_leaves_nothing() {
    let Some(fixture) = RolloutFixture::with("prewarm-killed", with_images_to_wait_for()) else { return };
    let operator = fixture.operator();
    let (before, all) = (application(&fixture), everything(&fixture));
    let warm = witness_of_warm_pods(&fixture);
    let mut first = DriverProcess::start(&operator, &fixture, FULL, PrewarmMethod::Pods);
    warm.until("five have it", SOON, |warm| warm.pulled().len() >= 5);
    first.kill();
    let made = warm.made();
    assert!(made < NODES - 3, "it came too late to prove anything: {made}");
    println!("killed with {} of {NODES} present, {made} pods made", warm.pulled().len());

    let second = DriverHere::of(&operator, &fixture);
    second.drive_on();
    second.until("all have it", |snapshot| present(snapshot) == NODES);
    assert_eq!((warm.made(), warm.pulled().len()), (NODES, NODES), "no node got a second pod");
    assert!(warm.most_pulling() <= LIMIT, "{} at once", warm.most_pulling());
    assert_eq!(application(&fixture), before);

    second.does(Command::Prewarm(PrewarmCommand::Cancel));
    second.until("nothing is pre-warmed any more", |snapshot| snapshot.prewarm.is_none());
    assert_eq!(warm.pulled().len(), 0, "{}", warm.describe());
    second.close();
    assert_eq!(application(&fixture), before);
    let mut after = everything(&fixture);
    // As after a rollout, the Lease stays with the DaemonSet.
    let lease = after.remove("leases.coordination.k8s.io").unwrap_or_default();
    println!("kept: {lease:?}");
    let lease = fixture.sandbox.admin().get(&fixture.sandbox.path("leases.coordination.k8s.io", "rolldeck-agent")).ok();
    assert_eq!(lease["metadata"]["annotations"], Value::Null, "{lease}");
    assert!(lease["spec"]["holderIdentity"].as_str().unwrap_or_default().is_empty(), "{lease}");
    assert_eq!(after, all);
}

#[test]
fn warm_nodes_are_updated_first_and_nothing_of_pre_warming_survives_the_release() {
    let Some(fixture) = RolloutFixture::with("prewarm-rollout", with_images_to_wait_for()) else { return };
    let operator = fixture.operator();
    let warm = witness_of_warm_pods(&fixture);
    let driver = DriverHere::of(&operator, &fixture);
    driver.drive(start(FULL));
    driver.until("six are present", |snapshot| present(snapshot) >= 6);
    driver.does(Command::Prewarm(PrewarmCommand::Pause));
    driver.until("what was being pulled is there", |snapshot| {
        snapshot.prewarm.as_ref().is_some_and(|it| it.counts.pulling == 0)
    });
    let first = warm.pulled();
    println!("{} nodes are warm", first.len());
    driver.close();

    let image = format!("agent={FULL}");
    let began = Instant::now();
    operator.ok(&["set-image", DS, &image, "--yes"]);
    let to = first.len().to_string();
    operator.ok(&["drive", DS, "--to", &to, "--until", "held", "--yes", "--timeout", "120s"]);
    assert_eq!(fixture.witness.serving(":full"), first, "those that had it went first");
    println!("{} nodes updated in {:.1?}", first.len(), began.elapsed());
    // The first driver may have ended before it deleted the pre-warming pod of the last updated node; then the next driver deletes it.
    let driver = DriverHere::of(&operator, &fixture);
    driver.drive_on();
    eventually("what their own pods use needs no other", SOON, || warm.pulled().is_empty().then_some(()));

    // The rest is pre-warmed while the rollout goes on, under one limit.
    driver.does(Command::Prewarm(PrewarmCommand::Resume));
    driver.until("three more are present", |snapshot| present(snapshot) >= first.len() + 3);
    driver.close();
    let mut drive = operator.drive(DS, &["--to", "100%"]);
    let end = drive.end();
    assert_eq!(end.code(), Some(0), "{}", drive.seen());
    assert_eq!(fixture.witness.serving(":full").len(), NODES);
    assert!(fixture.witness.worst_since(began) <= BUDGET);
    let pods = fixture.sandbox.pods();
    assert!(!pods.iter().any(is_warm), "{}", warm.describe());
    let lease = fixture.sandbox.admin().get(&fixture.sandbox.path("leases.coordination.k8s.io", "rolldeck-agent")).ok();
    assert_eq!(lease["metadata"]["annotations"], Value::Null, "{lease}");
    assert!(warm.most_pulling() <= LIMIT);
}

#[test]
fn the_pods_go_with_their_daemon_set() {
    let Some(fixture) = RolloutFixture::with("prewarm-owned", with_images_to_wait_for()) else { return };
    let driver = DriverHere::of(&fixture.operator(), &fixture);
    driver.drive(start(BARE));
    driver.until("five are present", |snapshot| present(snapshot) >= 5);
    driver.close();
    let path = fixture.sandbox.path("daemonsets.apps", "agent");
    let foreground = json!({"propagationPolicy": "Foreground"});
    fixture.sandbox.admin().request(reqwest::Method::DELETE, &path, Some(&foreground)).unwrap().ok();
    let began = Instant::now();
    eventually("all pods are gone", SOON, || fixture.sandbox.pods().is_empty().then_some(()));
    println!("gone after {:.1?}", began.elapsed());
    let leases = fixture.sandbox.admin().get(&fixture.sandbox.path("leases.coordination.k8s.io", "")).items();
    assert!(leases.is_empty(), "{leases:?}");
}

#[test]
fn a_node_that_the_daemon_set_may_not_use_any_more_loses_its_pod() {
    let Some(fixture) = RolloutFixture::with("prewarm-taint", with_images_to_wait_for()) else { return };
    let warm = witness_of_warm_pods(&fixture);
    let driver = DriverHere::of(&fixture.operator(), &fixture);
    driver.drive(start(FULL));
    let third = fixture.nodes[2].clone();
    warm.until("the third node has it", SOON, |warm| warm.pulled().contains(&third));
    let taint = Taint { key: "dedicated".into(), value: "press".into(), effect: TaintEffect::NoExecute };
    fixture.hollow.fault(ClusterFault::Taint { node: third.as_str().into(), taint });
    warm.until("its pod is gone", SOON, |warm| !warm.pods().contains_key(&third));
    let snapshot = driver.until("all others have it", |snapshot| present(snapshot) == NODES - 1);
    assert_eq!(snapshot.prewarm.as_ref().unwrap().counts.nodes as usize, NODES - 1);
    assert_eq!(state(&snapshot, &third), None);
    std::thread::sleep(Duration::from_secs(2));
    assert!(!warm.pods().contains_key(&third), "and is not made again");
    fixture.hollow.fault(ClusterFault::Untaint { node: third.as_str().into(), key: "dedicated".into() });
    driver.until("it is meant again, and has it still", |snapshot| present(snapshot) == NODES);
}

/// The process that [`a_killed_driver_is_succeeded_without_a_second_pod_and_a_cancellation_leaves_nothing`] kills.
#[test]
#[ignore = "a process of another test"]
fn a_driver_in_a_process_of_its_own() {
    driver::be_a_process();
}
