//! Pre-warming by StatefulSet: the StatefulSet controller and the scheduler bring the images, also while nobody drives.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rolldeck::engine::model::command::{Command, PrewarmCommand};
use rolldeck::engine::model::facts::Taint;
use rolldeck::engine::model::prewarm::{
    PrewarmLimits, PrewarmMethod, PrewarmNodes, PrewarmSource, PrewarmState, PrewarmWait, StuckWhy,
};
use rolldeck::engine::model::quantity::IntOrPercent;
use rolldeck::engine::model::settings::Limit;
use rolldeck::engine::model::template::TaintEffect;
use rolldeck::engine::report::snapshot::Snapshot;
use rolldeck::sim::world::scenario::{ClusterFault, FleetFault, PullError};
use serde_json::{Value, json};

use super::driver::{DriverHere, DriverProcess};
use super::leftovers::everything;
use super::{
    BARE, FULL, application, is_warm, present, start as start_by_pods, state, with_images_to_wait_for,
    witness_of_warm_pods,
};
use crate::control_plane::fixture::{NODES, RolloutFixture, SOON};
use crate::support::control_plane::eventually;

pub(super) fn start(image: &str, most: Option<u32>) -> Command {
    let max_pulling = most.map_or(Limit::Default, |most| Limit::At(IntOrPercent::Int(most)));
    let limits = PrewarmLimits { max_pulling, ..PrewarmLimits::default() };
    let source = PrewarmSource::Images([("agent".to_owned(), image.parse().unwrap())].into());
    Command::Prewarm(PrewarmCommand::Start {
        source,
        nodes: PrewarmNodes::All,
        limits,
        method: PrewarmMethod::StatefulSet,
    })
}

/// The StatefulSets of the namespace.
fn sets(fixture: &RolloutFixture) -> Vec<Value> {
    fixture.sandbox.admin().get(&fixture.sandbox.path("statefulsets.apps", "")).items()
}

/// The reasons why StatefulSets do not go on, in the words of status, console and command line.
fn stuck(snapshot: &Snapshot) -> Vec<String> {
    snapshot.prewarm.iter().flat_map(|prewarm| prewarm.stuck_in_words()).map(|advice| advice.to_string()).collect()
}

/// The namespace holds the objects that it held before. The Lease is the only addition, and says nothing of pre-warming any more.
#[track_caller]
fn assert_nothing_is_left(
    fixture: &RolloutFixture,
    before: &std::collections::BTreeMap<String, BTreeSet<(String, String)>>,
) {
    let mut after = everything(fixture);
    after.remove("leases.coordination.k8s.io");
    assert_eq!(&after, before);
    let lease = fixture.sandbox.admin().get(&fixture.sandbox.path("leases.coordination.k8s.io", "rolldeck-agent")).ok();
    assert_eq!(lease["metadata"]["annotations"], Value::Null, "{lease}");
}

#[test]
fn a_killed_driver_is_not_missed_and_the_next_one_cleans_up() {
    let mut scenario = with_images_to_wait_for();
    scenario.nodes[19].taints =
        vec![Taint { key: "dedicated".into(), value: "press".into(), effect: TaintEffect::NoSchedule }];
    let Some(fixture) = RolloutFixture::with("prewarm-set", scenario) else { return };
    let [cordoned, full, tainted] = [4, 7, 19].map(|nth: usize| fixture.nodes[nth].clone());
    fixture.hollow.fault(ClusterFault::Cordon(cordoned.as_str().into()));
    fixture.hollow.fault(FleetFault::DiskFull(full.as_str().into()));
    eventually("its node is known to have no room", SOON, || {
        let node = fixture.sandbox.admin().get(&format!("/api/v1/nodes/{full}")).ok();
        let taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
        taints.iter().any(|it| it["key"] == "node.kubernetes.io/disk-pressure").then_some(())
    });
    let operator = fixture.operator();
    let (before, all) = (application(&fixture), everything(&fixture));
    let warm = witness_of_warm_pods(&fixture);
    let mut first = DriverProcess::start(&operator, &fixture, FULL, PrewarmMethod::StatefulSet);
    warm.until("three have it", SOON, |warm| warm.pulled().len() >= 3);
    first.kill();
    let (killed, made) = (Instant::now(), warm.made());
    assert!(made < NODES - 5, "it came too late to prove anything: {made}");
    println!("killed with {} present, {made} pods made", warm.pulled().len());

    // Nobody drives, and the controller goes on, one node at a time.
    warm.until("all that can have it", SOON, |warm| warm.pulled().len() == NODES - 2);
    println!("18 of 20 have it {:.1?} later", killed.elapsed());
    assert_eq!(warm.most_pulling(), 1, "one at a time");
    assert!(warm.pulled().contains(&cordoned), "it is to run the DaemonSet, cordoned or not");
    assert!(!warm.pulled().contains(&full) && !warm.pulled().contains(&tainted), "{}", warm.describe());
    let sets_there = sets(&fixture);
    assert_eq!((sets_there.len(), &sets_there[0]["spec"]["replicas"]), (1, &json!(NODES - 2)));
    let owner = &sets_there[0]["metadata"]["ownerReferences"][0];
    assert_eq!((&owner["kind"], &owner["controller"]), (&json!("DaemonSet"), &Value::Null), "{owner}");
    assert_eq!(application(&fixture), before);

    // The next driver finds the StatefulSet, creates no second one, and shows which node is missing.
    let second = DriverHere::of(&operator, &fixture);
    let snapshot = second.until("it sees them", |snapshot| present(snapshot) == NODES - 2);
    assert_eq!(
        state(&snapshot, &full),
        Some(PrewarmState::Waiting(PrewarmWait::Pressure("DiskPressure".into()))),
        "{:?}",
        state(&snapshot, &full)
    );
    assert_eq!(state(&snapshot, &tainted), None);
    second.drive_on();
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!((sets(&fixture).len(), warm.made()), (1, NODES - 2));
    // Once the disk has room, the node gets a StatefulSet of its own. After this last node all objects of pre-warming are deleted.
    fixture.hollow.fault(FleetFault::DiskFree(full.as_str().into()));
    second.until("nothing is pre-warmed any more", |snapshot| snapshot.prewarm.is_none());
    assert_eq!(warm.made(), NODES - 1, "{}", warm.describe());
    second.close();
    assert_eq!(application(&fixture), before);
    assert_nothing_is_left(&fixture, &all);
    assert_eq!(fixture.hollow.refusals(), Vec::<String>::new());
}

#[test]
fn statefulsets_pass_restricted_pod_security_and_as_many_pull_as_there_are() {
    let Some(fixture) = RolloutFixture::with("prewarm-set-restricted", with_images_to_wait_for()) else { return };
    let (admin, namespace) = (fixture.sandbox.admin(), fixture.sandbox.namespace());
    let labels = json!({"pod-security.kubernetes.io/enforce": "restricted"});
    admin.patch(&format!("/api/v1/namespaces/{namespace}"), &json!({"metadata": {"labels": labels}})).ok();
    let operator = fixture.operator();
    let all = everything(&fixture);
    let warm = witness_of_warm_pods(&fixture);
    let driver = DriverHere::of(&operator, &fixture);
    driver.drive(start(FULL, Some(3)));
    warm.until("twelve have it", SOON, |warm| warm.pulled().len() >= 12);
    assert_eq!(sets(&fixture).len(), 3);
    driver.until("nothing is pre-warmed any more", |snapshot| snapshot.prewarm.is_none());
    assert_eq!((warm.made(), warm.most_pulling()), (NODES, 3), "every node once, three at a time");
    driver.close();
    assert_nothing_is_left(&fixture, &all);
}

#[test]
fn an_image_without_sleep_holds_it_up_and_the_other_method_carries_on() {
    let Some(fixture) = RolloutFixture::with("prewarm-set-bare", with_images_to_wait_for()) else { return };
    let operator = fixture.operator();
    let all = everything(&fixture);
    let warm = witness_of_warm_pods(&fixture);
    let driver = DriverHere::of(&operator, &fixture);
    driver.drive(start(BARE, None));
    let snapshot = driver.until("it says what holds it up", |snapshot| !stuck(snapshot).is_empty());
    println!("{:?}", stuck(&snapshot));
    let prewarm = snapshot.prewarm.as_ref().unwrap();
    assert!(matches!(prewarm.stuck[0].why, StuckWhy::NotRunning(_)), "{:?}", prewarm.stuck);
    assert!(stuck(&snapshot)[0].contains("--method pods"));
    assert_eq!(present(&snapshot), 1, "its image is there all the same");
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(warm.made(), 1, "the controller waits for ever: {}", warm.describe());

    driver.does(start_by_pods(BARE));
    driver.until("all have it", |snapshot| present(snapshot) == NODES);
    assert!(sets(&fixture).is_empty());
    driver.does(Command::Prewarm(PrewarmCommand::Cancel));
    driver.until("nothing is pre-warmed any more", |snapshot| snapshot.prewarm.is_none());
    driver.close();
    assert_nothing_is_left(&fixture, &all);
}

#[test]
fn a_node_that_cannot_pull_is_named_and_a_retry_goes_on() {
    let Some(fixture) = RolloutFixture::with("prewarm-set-failed", with_images_to_wait_for()) else { return };
    let operator = fixture.operator();
    let all = everything(&fixture);
    let warm = witness_of_warm_pods(&fixture);
    let driver = DriverHere::of(&operator, &fixture);
    driver.drive(start(FULL, None));
    warm.until("four have it", SOON, |warm| warm.pulled().len() >= 4);
    let registry = |error| FleetFault::Registry { image: FULL.into(), error };
    fixture.hollow.fault(registry(Some(PullError::NotFound)));
    let snapshot = driver.until("it says what holds it up", |snapshot| !stuck(snapshot).is_empty());
    let blocked = snapshot.prewarm.as_ref().unwrap().stuck[0].clone();
    println!("{:?}", stuck(&snapshot));
    assert!(matches!(blocked.why, StuckWhy::Failed(_)), "{blocked:?}");
    let node = blocked.node.clone().expect("the scheduler placed it");
    assert!(stuck(&snapshot)[0].starts_with(&format!("{} on {node} holds up", blocked.pod.unwrap())));
    let made = warm.made();
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(warm.made(), made, "no node after it is tried");

    fixture.hollow.fault(registry(None));
    driver.does(Command::Prewarm(PrewarmCommand::Retry));
    driver.until("nothing is pre-warmed any more", |snapshot| snapshot.prewarm.is_none());
    assert!(warm.made() > NODES, "the pod that failed was made anew");
    assert_eq!(warm.most_pulling(), 1);
    driver.close();
    assert_nothing_is_left(&fixture, &all);
}

#[test]
fn a_quota_is_told_in_the_words_of_the_statefulsets_event() {
    let Some(fixture) = RolloutFixture::with("prewarm-set-quota", with_images_to_wait_for()) else { return };
    let admin = fixture.sandbox.admin();
    let path = fixture.sandbox.path("resourcequotas", "");
    // The quota controller does not run in this control plane, so the test writes the counts. Admission adds to them.
    let hard = json!({"pods": (NODES + 2).to_string()});
    admin.post(&path, &json!({"metadata": {"name": "few"}, "spec": {"hard": hard}})).ok();
    let used = json!({"pods": NODES.to_string()});
    admin.patch(&format!("{path}/few/status"), &json!({"status": {"hard": hard, "used": used}})).ok();
    let driver = DriverHere::of(&fixture.operator(), &fixture);
    driver.drive(start(FULL, None));
    let snapshot = driver.until("two have it, and the third is refused", |snapshot| {
        present(snapshot) == 2 && !stuck(snapshot).is_empty()
    });
    println!("{:?}", stuck(&snapshot));
    assert!(stuck(&snapshot)[0].contains("exceeded quota: few") && stuck(&snapshot)[0].contains("raise the quota"));
    driver.does(Command::Prewarm(PrewarmCommand::Cancel));
    driver.until("nothing is pre-warmed any more", |snapshot| snapshot.prewarm.is_none());
    driver.close();
    assert!(sets(&fixture).is_empty() && !fixture.sandbox.pods().iter().any(is_warm));
}

#[test]
fn they_go_with_their_daemon_set() {
    let Some(fixture) = RolloutFixture::with("prewarm-set-owned", with_images_to_wait_for()) else { return };
    let warm = witness_of_warm_pods(&fixture);
    let driver = DriverHere::of(&fixture.operator(), &fixture);
    driver.drive(start(FULL, Some(2)));
    warm.until("five have it", SOON, |warm| warm.pulled().len() >= 5);
    driver.close();
    let path = fixture.sandbox.path("daemonsets.apps", "agent");
    let foreground = json!({"propagationPolicy": "Foreground"});
    fixture.sandbox.admin().request(reqwest::Method::DELETE, &path, Some(&foreground)).unwrap().ok();
    eventually("all is gone", SOON, || (fixture.sandbox.pods().is_empty() && sets(&fixture).is_empty()).then_some(()));
}
