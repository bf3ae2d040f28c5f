//! Image volumes are pulled before any container is started, and a pod's status does not show them.

use super::*;

const MODELS: &str = "r.example/models:v2";
const AGENT: &str = "r.example/agent:v2";

/// A pod whose container `agent` mounts the volume `models`, beside one that mounts nothing.
fn with_volume(name: &str) -> AssignedPod {
    let spec = json!({
        "containers": [
            {"name": "agent", "image": AGENT, "volumeMounts": [{"name": "models", "mountPath": "/models"}]},
            {"name": "beside", "image": AGENT},
        ],
        "volumes": [{"name": "models", "image": {"reference": MODELS, "pullPolicy": "IfNotPresent"}}],
    });
    AssignedPod { template: Template::from_json(json!({"spec": spec})), ..pod(name, "n01", &[]) }
}

fn states(fleet: &TestFleet, pod: &AssignedPod) -> Vec<(Str, ContainerState)> {
    let (_, status) = fleet.statuses(pod).pop().expect("a status");
    status.containers.iter().map(|container| (container.fact.name.clone(), container.fact.state.clone())).collect()
}

/// The messages of the events with this reason that name no container.
fn of_the_pod(fleet: &TestFleet, reason: &str) -> Vec<String> {
    let found = fleet.actions.iter().filter_map(|(_, action)| match action {
        KubeletAction::Event { body, .. } if *body.reason == *reason && body.involved.field_path.is_none() => {
            Some(body.message.to_string())
        }
        _ => None,
    });
    found.collect()
}

#[test]
fn an_image_volume_is_pulled_before_any_container_is_started() {
    let mut fleet = TestFleet::new(1, MB, vec![RegistryImage::new(MODELS, 20 * MB), RegistryImage::new(AGENT, MB)]);
    let agent = with_volume("a");
    fleet.see(&agent);
    fleet.run(15);
    let waiting = ContainerState::Waiting { reason: "ContainerCreating".into(), message: None };
    assert_eq!(states(&fleet, &agent), [("agent".into(), waiting.clone()), ("beside".into(), waiting)]);
    fleet.run(45);
    assert!(fleet.is_ready(&agent));
    assert_eq!(of_the_pod(&fleet, "Pulling"), [format!("Pulling image \"{MODELS}\"")]);
    let pulled = of_the_pod(&fleet, "Pulled");
    assert!(
        pulled.len() == 1 && pulled[0].starts_with(&format!("Successfully pulled image \"{MODELS}\"")),
        "{pulled:?}"
    );
    let pulls: Vec<u64> = fleet.events("Pulling").iter().map(|(at, _)| *at).collect();
    assert!(pulls.len() == 2 && pulls[1] >= 20, "the agent's after the volume's: {pulls:?}");

    // The next pod on the node finds both images there.
    let next = with_volume("b");
    fleet.see(&next);
    fleet.run(20);
    assert!(fleet.is_ready(&next));
    assert_eq!(of_the_pod(&fleet, "Pulled").len(), 2, "present is an Event of the pod, too");
    assert_eq!(fleet.events("Pulling").len(), 2);
}

#[test]
fn a_container_that_mounts_what_could_not_be_pulled_waits_and_the_other_runs() {
    let missing = RegistryImage { error: Some(PullError::NotFound), ..RegistryImage::new(MODELS, MB) };
    let mut fleet = TestFleet::new(1, MB, vec![missing, RegistryImage::new(AGENT, MB)]);
    let agent = with_volume("a");
    fleet.see(&agent);
    fleet.run(40);
    let [(_, held), (_, beside)] = &states(&fleet, &agent)[..] else { panic!("two containers") };
    let ContainerState::Waiting { reason, message: Some(message) } = held else { panic!("{held:?}") };
    assert!(["ErrImagePull", "ImagePullBackOff"].contains(&&**reason) && message.contains(MODELS), "{held:?}");
    assert!(matches!(beside, ContainerState::Running { .. }), "{beside:?}");
    assert!(!fleet.is_ready(&agent));
    assert!(
        of_the_pod(&fleet, "Failed").iter().any(|said| said.contains("not found")),
        "{:?}",
        of_the_pod(&fleet, "Failed")
    );
    fleet.inject(&FleetFault::Registry { image: MODELS.into(), error: None });
    fleet.run(120);
    assert!(fleet.is_ready(&agent), "{:?}", states(&fleet, &agent));
}
