//! An image volume: rolldeck pre-warms an image that no container runs, waits for it and rolls it out as it does with containers' images.

use std::time::Instant;

use rolldeck::engine::model::command::Step;
use rolldeck::engine::model::pull::PullState;
use rolldeck::engine::model::template::VOLUME;
use rolldeck::engine::report::snapshot::Phase;
use rolldeck::sim::world::scenario::{FleetFault, PullError};

use super::*;

const MODELS: [&str; 2] = ["registry.test/models:v1", "registry.test/models:v2"];

/// The agent mounts `models`, and a node takes 1.2 s to pull its next image. Under OnDelete nothing is replaced before the DaemonSet is adopted.
fn with_models() -> Scenario {
    let mut scenario = scenario(StrategyKind::OnDelete).with_image(quick(MODELS[0]));
    scenario = scenario.with_image(RegistryImage { bytes: 500_000_000, ..quick(MODELS[1]) });
    scenario.daemon_sets[0].images.insert(format!("{VOLUME}models"), MODELS[0].to_owned());
    scenario
}

/// The image volume of a pod or a template: its reference and its pull policy.
fn volume(spec: &Value) -> Option<(&str, &str)> {
    let volume = spec["volumes"].as_array()?.iter().find(|volume| volume["image"].is_object())?;
    Some((volume["image"]["reference"].as_str()?, volume["image"]["pullPolicy"].as_str()?))
}

#[test]
fn an_image_volume_is_pre_warmed_and_its_pods_replaced_once_it_is_there() {
    let Some(fixture) = RolloutFixture::with("prewarm-volume", with_models()) else { return };
    let operator = fixture.operator();
    let warm = witness_of_warm_pods(&fixture);
    // At first the registry does not serve the image, so the gate holds every node.
    let unserved = FleetFault::Registry { image: MODELS[1].into(), error: Some(PullError::Network) };
    fixture.hollow.fault(unserved);
    let began = Instant::now();
    // Somebody else's tool gives the volume its next image, without a policy: the server writes one.
    let patch = json!({"spec": {"template": {"spec": {"volumes": [{"name": "models", "image": {"reference": MODELS[1], "pullPolicy": "IfNotPresent"}}]}}}});
    fixture.sandbox.admin().patch(&fixture.sandbox.path("daemonsets.apps", "agent"), &patch).ok();
    let daemon_set = fixture.daemon_set();
    assert_eq!(volume(&daemon_set["spec"]["template"]["spec"]), Some((MODELS[1], "IfNotPresent")), "{daemon_set}");

    operator.ok(&["adopt", DS, "--require-image", "--max-pulling", "3"]);
    let driver = DriverHere::of(&operator, &fixture);
    driver.drive_on();
    driver.does(Command::Step(Step::Updated(IntOrPercent::Percent(100))));
    warm.until("a pull has failed", SOON, |warm| !warm.pull_failed().is_empty());
    assert!(fixture.witness.deletes_since(began).is_empty(), "nothing is replaced without its images");
    fixture.hollow.fault(FleetFault::Registry { image: MODELS[1].into(), error: None });
    let of_models = |snapshot: &Snapshot| {
        let images = snapshot.nodes.iter().flat_map(|node| node.images.iter());
        let models = images.filter(|image| *image.container == *format!("{VOLUME}models"));
        models.filter(|image| matches!(image.state, PullState::Present { .. })).count()
    };
    let snapshot = driver.until("the image is known on two nodes", |snapshot| of_models(snapshot) >= 2);
    println!("{}; {:.1?}", snapshot.prewarm.as_ref().map(ToString::to_string).unwrap_or_default(), began.elapsed());
    let pods = fixture.sandbox.pods();
    let made = pods.iter().find(|pod| is_warm(pod)).expect("pods for pre-warming");
    assert_eq!(volume(&made["spec"]), Some((MODELS[1], "IfNotPresent")), "{made}");
    fixture.until("all are updated", |witness| {
        let pods = fixture.sandbox.pods();
        let own = pods.iter().filter(|pod| !is_warm(pod));
        let updated = own.filter(|pod| volume(&pod["spec"]).is_some_and(|(image, _)| image == MODELS[1]));
        updated.count() == NODES && witness.unavailable() == 0
    });
    driver.until("it is released", |snapshot| !snapshot.adopted && snapshot.phase == Phase::Idle);
    println!("rolled out in {:.1?}", began.elapsed());
    assert!(fixture.witness.worst_since(began) <= BUDGET);
    assert!(warm.most_pulling() <= 3, "{}", warm.most_pulling());
    driver.close();
    eventually("nothing of pre-warming is left", SOON, || (!fixture.sandbox.pods().iter().any(is_warm)).then_some(()));
}
