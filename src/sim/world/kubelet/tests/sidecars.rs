//! Sidecars: they start in the order of the init containers, go on beside the main containers, and end after them.

use super::*;

const PROXY: &str = "r.example/proxy:v1";
const AGENT: &str = "r.example/agent:v1";

/// A pod with the init container `setup`, the sidecar `proxy`, the init container `check` and the main container `agent`.
fn with_sidecar(name: &str, startup_probe: bool) -> AssignedPod {
    let mut proxy = json!({"name": "proxy", "image": PROXY, "restartPolicy": "Always"});
    if startup_probe {
        proxy["startupProbe"] = json!({"httpGet": {"path": "/", "port": 1}});
    }
    let once = |name: &str| json!({"name": name, "image": AGENT, "command": ["true"]});
    let spec = json!({
        "initContainers": [once("setup"), proxy, once("check")],
        "containers": [{"name": "agent", "image": AGENT}],
    });
    AssignedPod { template: Template::from_json(json!({"spec": spec})), ..pod(name, "n01", &[]) }
}

fn proxy(change: impl FnOnce(&mut RegistryImage)) -> Vec<RegistryImage> {
    let mut proxy = RegistryImage::new(PROXY, MB);
    change(&mut proxy);
    vec![proxy, RegistryImage::new(AGENT, MB)]
}

fn last(fleet: &TestFleet, pod: &AssignedPod) -> PodStatus {
    fleet.statuses(pod).pop().expect("a status").1
}

/// The containers that have been started, in this order, with the time of each.
fn started(fleet: &TestFleet) -> Vec<(u64, String)> {
    let found = fleet.actions.iter().filter_map(|(at, action)| match action {
        KubeletAction::Event { body, .. } if &*body.reason == "Started" => {
            Some((at.as_secs(), body.involved.field_path.as_ref().unwrap().to_string()))
        }
        _ => None,
    });
    found.collect()
}

fn names(started: &[(u64, String)]) -> Vec<&str> {
    started.iter().map(|(_, path)| path.split(['{', '}']).nth(1).unwrap()).collect()
}

fn is_true(status: &PodStatus, kind: &str) -> bool {
    Condition::status(&status.conditions, kind) == ConditionStatus::True
}

#[test]
fn the_next_container_begins_once_a_sidecar_has_started() {
    let slow = || proxy(|image| image.ready_in = Duration::from_secs(20));
    for (startup_probe, waits) in [(false, 0..5), (true, 20..25)] {
        let mut fleet = TestFleet::new(1, 100 * MB, slow());
        let agent = with_sidecar("a", startup_probe);
        fleet.see(&agent);
        fleet.run(12);
        let status = last(&fleet, &agent);
        assert_eq!(is_true(&status, conditions::INITIALIZED), !startup_probe, "{status:?}");
        assert_eq!(status.phase, if startup_probe { PodPhase::Pending } else { PodPhase::Running });
        assert_eq!(status.containers[1].fact.started, !startup_probe);
        assert_eq!(status.containers[1].fact.role, ContainerRole::Sidecar);
        assert!(!fleet.is_ready(&agent), "its readiness is a part of the pod's");
        fleet.run(48);
        assert!(fleet.is_ready(&agent));
        let order = started(&fleet);
        assert_eq!(names(&order), ["setup", "proxy", "check", "agent"]);
        assert!(order[1].1.starts_with("spec.initContainers{"), "{order:?}");
        let waited = order[2].0 - order[1].0;
        assert!(waits.contains(&waited), "{waited}");
    }
}

#[test]
fn a_sidecar_that_crashes_is_restarted_and_the_main_container_runs_on() {
    let mut fleet = TestFleet::new(1, 100 * MB, proxy(|image| image.crashes_after = Some(Duration::from_secs(30))));
    let agent = with_sidecar("a", false);
    fleet.see(&agent);
    fleet.run(300);
    let status = last(&fleet, &agent);
    let restarts: Vec<u32> = status.containers.iter().map(|container| container.fact.restarts).collect();
    assert!(restarts[1] >= 3 && [restarts[0], restarts[2], restarts[3]] == [0; 3], "{restarts:?}");
    let statuses = fleet.statuses(&agent);
    let in_back_off = statuses.iter().find(|(_, status)| {
        matches!(&status.containers[1].fact.state, ContainerState::Waiting { reason, .. } if &**reason == "CrashLoopBackOff")
    });
    let (_, down) = in_back_off.expect("it waits longer each time");
    assert!(
        !is_true(down, conditions::READY) && is_true(down, conditions::INITIALIZED) && down.phase == PodPhase::Running
    );
    assert!(
        matches!(down.containers[3].fact.state, ContainerState::Running { .. }) && !down.containers[1].fact.started
    );
    let unready = Condition::find(&down.conditions, conditions::READY).unwrap().message.clone().unwrap();
    assert_eq!(&*unready, "containers with unready status: [proxy]");
}

#[test]
fn a_main_container_that_crashes_leaves_the_sidecar_alone() {
    let mut images = proxy(|_| {});
    images.push(RegistryImage {
        crashes_after: Some(Duration::from_secs(5)),
        ..RegistryImage::new("r.example/bad:v1", MB)
    });
    let mut fleet = TestFleet::new(1, 100 * MB, images);
    let agent = with_sidecar("a", false);
    let agent = AssignedPod { template: agent.template.with_images([("agent", "r.example/bad:v1")]).unwrap(), ..agent };
    fleet.see(&agent);
    fleet.run(120);
    let restarts: Vec<u32> = last(&fleet, &agent).containers.iter().map(|container| container.fact.restarts).collect();
    assert!(restarts[3] >= 3 && restarts[..3] == [0; 3], "{restarts:?}");
}

/// It ends before its startup probe succeeds, each time.
#[test]
fn a_sidecar_that_never_starts_holds_up_all_containers_after_it() {
    let images = proxy(|image| {
        image.ready_in = Duration::from_secs(20);
        image.crashes_after = Some(Duration::from_secs(10));
    });
    let mut fleet = TestFleet::new(1, 100 * MB, images);
    let agent = with_sidecar("a", true);
    // In the second pod it is the last of the init containers.
    let mut template = agent.template.json().clone();
    template["spec"]["initContainers"].as_array_mut().unwrap().pop();
    let other = AssignedPod { template: Template::from_json(template), ..with_sidecar("b", true) };
    for agent in [agent, other] {
        fleet.see(&agent);
        fleet.run(200);
        let status = last(&fleet, &agent);
        assert!(status.containers[1].fact.restarts >= 2, "{status:?}");
        assert_eq!((status.phase, is_true(&status, conditions::INITIALIZED)), (PodPhase::Pending, false));
    }
    assert!(names(&started(&fleet)).iter().all(|name| ["setup", "proxy"].contains(name)));
}

/// The main container ends while the sidecar is down for minutes. Behind an init container that is through it is restarted at once; where the sidecar is the
/// last of them, after the sidecar.
#[test]
fn a_main_container_waits_for_a_sidecar_that_is_down_only_where_nothing_is_between_them() {
    for (is_last, waits) in [(false, 0..10), (true, 30..100)] {
        let mut images = proxy(|image| image.crashes_after = Some(Duration::from_secs(1)));
        images.push(RegistryImage {
            crashes_after: Some(Duration::from_secs(100)),
            ..RegistryImage::new("r.example/bad:v1", MB)
        });
        let mut fleet = TestFleet::new(1, 100 * MB, images);
        let agent = with_sidecar("a", false);
        let mut template = agent.template.with_images([("agent", "r.example/bad:v1")]).unwrap().json().clone();
        if is_last {
            template["spec"]["initContainers"].as_array_mut().unwrap().pop();
        }
        let agent = AssignedPod { template: Template::from_json(template), ..agent };
        fleet.see(&agent);
        fleet.run(190);
        let of_main: Vec<(Duration, ContainerState)> = fleet
            .statuses(&agent)
            .into_iter()
            .map(|(at, status)| (at, status.containers.last().unwrap().fact.state.clone()))
            .collect();
        let is_up = |state: &ContainerState| matches!(state, ContainerState::Running { .. });
        let ended = of_main.iter().find(|(_, state)| matches!(state, ContainerState::Terminated { .. })).unwrap().0;
        assert!((95..115).contains(&ended.as_secs()), "told although the sidecar is down: {ended:?}");
        let again = of_main.iter().find(|(at, state)| *at > ended && is_up(state)).unwrap().0;
        let waited = (again - ended).as_secs();
        assert!(waits.contains(&waited), "{waited} {of_main:?}");
    }
}

#[test]
fn with_its_node_a_sidecar_is_started_again_in_its_turn() {
    let mut fleet = TestFleet::new(1, 1_000 * MB, proxy(|_| {}));
    let agent = with_sidecar("a", false);
    fleet.see(&agent);
    fleet.run(60);
    let before = started(&fleet).len();
    fleet.inject(&FleetFault::PowerOff("n01".into()));
    fleet.inject(&FleetFault::PowerOn("n01".into()));
    fleet.run(120);
    assert_eq!(names(&started(&fleet)[before..]), ["setup", "proxy", "check", "agent"]);
    let status = last(&fleet, &agent);
    let ends: Vec<_> = status.containers.iter().map(|it| (it.fact.restarts, it.fact.last_end.as_deref())).collect();
    assert_eq!(ends, ["Completed", "Unknown", "Completed", "Unknown"].map(|end| (1, Some(end))));
    assert!(fleet.is_ready(&agent));
}

#[test]
fn a_sidecar_ends_after_the_main_containers() {
    let mut images = proxy(|image| image.stops_in = Duration::from_secs(4));
    images[1].stops_in = Duration::from_secs(10);
    for (grace, takes) in [(60, 14), (12, 12)] {
        let mut fleet = TestFleet::new(1, 100 * MB, images.clone());
        let agent = with_sidecar("a", false);
        fleet.see(&agent);
        fleet.run(60);
        fleet.see(&deleted(&agent, fleet.now, grace));
        fleet.run(60);
        let took = fleet.removals()[0] - 60;
        assert!((takes - 2..=takes + 2).contains(&took), "grace {grace}: {took}");
        let status = last(&fleet, &agent);
        let states: Vec<_> = status.containers.iter().map(|container| &container.fact.state).collect();
        assert!(states.iter().all(|state| matches!(state, ContainerState::Terminated { .. })), "{states:?}");
        assert_eq!(status.phase, PodPhase::Running, "it is gone before its phase would change");
    }
}

/// Its restart policy is not that of its pod, and it keeps no pod from being over.
#[test]
fn a_pod_is_over_with_its_main_containers() {
    let mut fleet = TestFleet::new(1, 100 * MB, proxy(|image| image.crashes_after = Some(Duration::from_secs(5))));
    let spec = json!({
        "restartPolicy": "Never",
        "initContainers": [{"name": "proxy", "image": PROXY, "restartPolicy": "Always"}],
        "containers": [{"name": "agent", "image": AGENT, "command": ["sleep"]}, {"name": "once", "image": AGENT, "command": ["true"]}],
    });
    let stays = AssignedPod { template: Template::from_json(json!({"spec": spec})), ..pod("stays", "n01", &[]) };
    let mut spec = spec;
    spec["containers"].as_array_mut().unwrap().remove(0);
    let ends = AssignedPod { template: Template::from_json(json!({"spec": spec})), ..pod("ends", "n01", &[]) };
    fleet.see(&stays);
    fleet.see(&ends);
    fleet.run(120);
    assert!(last(&fleet, &stays).containers[0].fact.restarts >= 2, "{:?}", last(&fleet, &stays));
    let over = last(&fleet, &ends);
    assert_eq!((over.phase, over.containers[0].fact.restarts), (PodPhase::Succeeded, 0));
    assert!(matches!(over.containers[0].fact.state, ContainerState::Terminated { exit_code: 0, .. }), "{over:?}");
}
