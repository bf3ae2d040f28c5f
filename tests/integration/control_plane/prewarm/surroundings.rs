//! Others in the cluster change pre-warming pods and images: sidecars are injected, kubelets collect images.

use std::time::Instant;

use super::*;
use crate::control_plane::fixture::MISSING;
use crate::control_plane::mutating::MutatingPolicy;

/// The spec that the API server would give a pod for pre-warming.
fn containers_of_a_new_pod(fixture: &RolloutFixture) -> String {
    let path = format!("{}?dryRun=All", fixture.sandbox.path("pods", ""));
    let metadata = json!({"name": "probe", "labels": {PREWARM: "probe"}});
    let pod = json!({"metadata": metadata, "spec": {"containers": [{"name": "p", "image": "p:1"}]}});
    fixture.sandbox.admin().post(&path, &pod).body["spec"].to_string()
}

/// Many webhooks leave pods of the host's network alone. They inject sidecars into the pods of pre-warming, which have a network of their own.
#[test]
fn a_sidecar_whose_image_is_missing_keeps_nobody_from_pre_warming() {
    let Some(fixture) = RolloutFixture::with("prewarm-sidecar", with_images_to_wait_for()) else { return };
    let condition = format!("has(object.metadata.labels) && '{PREWARM}' in object.metadata.labels");
    let sidecar = format!("Object.spec.containers{{name: 'proxy', image: '{MISSING}'}}");
    let patch = format!("[JSONPatch{{op: 'add', path: '/spec/containers/-', value: {sidecar}}}]");
    let _policy = MutatingPolicy::set(&fixture, "sidecar", &condition, &patch);
    eventually("the policy is followed", SOON, || containers_of_a_new_pod(&fixture).contains("proxy").then_some(()));

    let operator = fixture.operator();
    let driver = DriverHere::of(&operator, &fixture);
    driver.drive(start(FULL));
    let snapshot = driver.until("all have it", |snapshot| present(snapshot) == NODES);
    println!("{}", snapshot.prewarm.as_ref().unwrap());
    let pods: Vec<Value> = fixture.sandbox.pods().into_iter().filter(is_warm).collect();
    assert_eq!(pods.len(), NODES);
    for pod in &pods {
        assert_eq!(pod["spec"]["containers"].as_array().map(Vec::len), Some(2), "{pod}");
        let by_name = |name: &str| {
            let statuses = pod["status"]["containerStatuses"].as_array().unwrap();
            statuses.iter().find(|status| status["name"] == name).unwrap().clone()
        };
        assert_ne!(by_name("image-0")["imageID"], "", "{pod}");
        assert_eq!(by_name("proxy")["imageID"], "", "{pod}");
        assert_eq!(pod["metadata"]["labels"]["sidecar.istio.io/inject"], "false", "injectors that ask are told");
    }
    driver.does(Command::Prewarm(PrewarmCommand::Cancel));
    driver.until("nothing is pre-warmed any more", |snapshot| snapshot.prewarm.is_none());
    driver.close();
    eventually("nothing of pre-warming is left", SOON, || (!fixture.sandbox.pods().iter().any(is_warm)).then_some(()));
}

/// Somebody deletes the pre-warming pod, and the kubelet collects the image because the disk is full. The node is not updated before the image is
/// there again.
#[test]
fn an_image_that_was_collected_is_brought_again_before_the_update() {
    let Some(fixture) = RolloutFixture::with("prewarm-collected", with_images_to_wait_for()) else { return };
    let operator = fixture.operator();
    let warm = witness_of_warm_pods(&fixture);
    let driver = DriverHere::of(&operator, &fixture);
    driver.drive(start(FULL));
    driver.until("all have it", |snapshot| present(snapshot) == NODES);
    driver.close();
    let node = fixture.nodes[6].clone();
    let pods = fixture.sandbox.pods();
    let pod = pods.iter().find(|pod| is_warm(pod) && pod["spec"]["nodeName"] == *node).expect("its pod");
    fixture.sandbox.admin().delete(&fixture.sandbox.path("pods", pod["metadata"]["name"].as_str().unwrap())).ok();
    warm.until("its pod is gone", SOON, |warm| !warm.pods().contains_key(&node));
    fixture.hollow.fault(FleetFault::DiskFull(node.as_str().into()));
    // Kubelets report their images every ten seconds; rolldeck learns of the missing image from that report.
    let reported =
        || fixture.sandbox.admin().get(&format!("/api/v1/nodes/{node}")).ok()["status"]["images"].to_string();
    eventually("its kubelet reports that the image is gone", SOON, || (!reported().contains(FULL)).then_some(()));

    let began = Instant::now();
    let image = format!("agent={FULL}");
    operator.ok(&["set-image", DS, &image, "--require-image", "--yes"]);
    let driver = DriverHere::of(&operator, &fixture);
    driver.drive_on();
    operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    fixture.until("all others are updated", |witness| witness.serving(":full").len() == NODES - 1);
    assert!(!fixture.witness.serving(":full").contains(&node));
    let status = operator.ok_or_not(&["status", DS, "--images"]);
    println!("{}", status.lines().filter(|line| line.contains(&node)).collect::<Vec<_>>().join("\n"));
    assert_eq!(fixture.witness.deletes_since(began).len(), NODES - 1, "its pod serves on");

    fixture.hollow.fault(FleetFault::DiskFree(node.as_str().into()));
    fixture.until("it is updated too", |witness| witness.serving(":full").len() == NODES);
    driver.until("it is released", |snapshot| !snapshot.adopted && snapshot.prewarm.is_none());
    driver.close();
    assert!(fixture.witness.worst_since(began) <= BUDGET);
    assert!(warm.most_pulling() <= LIMIT, "{}", warm.most_pulling());
    println!("rolled out in {:.1?}", began.elapsed());
}

/// The admission plugin `AlwaysPullImages` makes kubelets ask the registry also for images that are on the node. An update of such a node takes a
/// pull slot, and does not wait for a proof that the image is there.
#[test]
fn where_admission_has_images_pulled_again_updates_of_warm_nodes_keep_to_the_pull_limit() {
    let Some(fixture) = RolloutFixture::with("prewarm-always", with_images_to_wait_for()) else { return };
    let patch = "[JSONPatch{op: 'add', path: '/spec/containers/0/imagePullPolicy', value: 'Always'}]";
    let _policy = MutatingPolicy::set(&fixture, "always", "true", patch);
    eventually("the policy is followed", SOON, || {
        containers_of_a_new_pod(&fixture).contains(r#""imagePullPolicy":"Always""#).then_some(())
    });
    let old = fixture.witness.pods()[&fixture.nodes[0]].clone();
    let pods = fixture.sandbox.pods();
    let pod = pods.iter().find(|pod| pod["metadata"]["uid"] == *old.uid).expect("its pod");
    fixture.sandbox.admin().delete(&fixture.sandbox.path("pods", pod["metadata"]["name"].as_str().unwrap())).ok();
    fixture.until("the first pod with that policy serves", |witness| {
        witness.unavailable() == 0 && witness.pods()[&fixture.nodes[0]].uid != old.uid
    });

    let operator = fixture.operator();
    let driver = DriverHere::of(&operator, &fixture);
    driver.drive(start(FULL));
    driver.until("all have it", |snapshot| present(snapshot) == NODES);
    driver.close();
    let (began, namespace) = (Instant::now(), fixture.sandbox.namespace());
    let updates = Witness::watch(&fixture.sandbox, namespace, "agent", &fixture.nodes);
    let image = format!("agent={FULL}");
    operator.ok(&["set-image", DS, &image, "--require-image", "--max-pulling", "1", "--yes"]);
    let driver = DriverHere::of(&operator, &fixture);
    driver.drive_on();
    operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    fixture.until("all are updated", |witness| witness.serving(":full").len() == NODES);
    driver.until("it is released", |snapshot| !snapshot.adopted && snapshot.prewarm.is_none());
    driver.close();
    assert_eq!(updates.most_pulling(), 1, "{}", updates.describe());
    assert!(fixture.witness.worst_since(began) <= BUDGET);
    let events = fixture.sandbox.admin().get(&fixture.sandbox.path("events", "")).items();
    let pulls =
        events.iter().filter(|event| event["reason"] == "Pulling" && event["message"].to_string().contains(FULL));
    assert!(pulls.count() >= 2 * NODES, "kubelets asked the registry for both pods of each node");
    println!("rolled out in {:.1?}", began.elapsed());
}
