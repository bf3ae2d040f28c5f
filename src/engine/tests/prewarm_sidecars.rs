//! Containers that admission adds to the pods of pre-warming.

use super::prewarm::{state, warming};
use crate::engine::model::cause::CauseKind;
use crate::engine::model::facts::{ContainerFact, ContainerState, PodPhase};
use crate::engine::model::prewarm::PrewarmState;
use crate::engine::model::template::ContainerRole;

/// A container that admission adds to a pod, as it is before it starts.
fn sidecar(role: ContainerRole, state: ContainerState) -> ContainerFact {
    ContainerFact { name: "proxy".into(), role, ..ContainerFact::in_state(state) }
}

#[test]
fn a_sidecar_that_admission_adds_does_not_decide_whether_the_images_are_there() {
    let (mut fake, mut console) = warming();
    let (reason, message) = ("ErrImagePull".into(), Some("manifest for proxy:v1 not found".into()));
    let absent = ContainerState::Waiting { reason, message };
    fake.change_warm_pod("n1", |pod| pod.containers.push(sidecar(ContainerRole::Main, absent)));
    console.run_for(&mut fake, 2);
    assert_eq!(state(&mut console, &fake, "n1"), PrewarmState::Queued, "its own image is still to come");
    fake.change_warm_pod("n1", |pod| pod.containers[0].image_present = true);
    console.run_for(&mut fake, 2);
    assert_eq!(state(&mut console, &fake, "n1"), PrewarmState::Present);
    assert!(fake.warm_nodes().contains(&"n3".to_owned()), "the slot is free: {:?}", fake.warm_nodes());
}

/// Kubelets pull for a container once the init containers before it have ended.
#[test]
fn an_init_container_that_admission_adds_and_that_fails_is_named_and_tried_again() {
    let (mut fake, mut console) = warming();
    let (reason, message) = ("Error".into(), Some("iptables: not permitted".into()));
    let ended = ContainerState::Terminated { reason, exit_code: 1, message };
    fake.change_warm_pod("n1", |pod| {
        pod.containers.insert(0, sidecar(ContainerRole::Init, ended));
        pod.phase = PodPhase::Failed;
    });
    console.run_for(&mut fake, 2);
    let PrewarmState::Failed { cause, again_at, .. } = state(&mut console, &fake, "n1") else {
        panic!("{:?}", state(&mut console, &fake, "n1"))
    };
    assert_eq!((cause.kind, again_at.is_some()), (CauseKind::InitFailure, true));
    let said = cause.message.unwrap();
    assert!(said.contains("proxy, which admission added") && said.contains("iptables: not permitted"), "{said}");
    assert!(fake.warm_nodes().contains(&"n3".to_owned()), "others go on: {:?}", fake.warm_nodes());
}

/// Kubelets pull for a container once the sidecars before it have started. What they do after that keeps no image away.
#[test]
fn a_native_sidecar_that_admission_adds_and_that_crashes_keeps_images_away_until_it_has_started() {
    for (main_runs, want) in [(false, true), (true, false)] {
        let (mut fake, mut console) = warming();
        fake.change_warm_pod("n1", |pod| {
            let state = ContainerState::Waiting { reason: "CrashLoopBackOff".into(), message: None };
            let crashed = ContainerFact { last_exit: Some(1), restarts: 2, ..sidecar(ContainerRole::Sidecar, state) };
            pod.containers.insert(0, crashed);
            if main_runs {
                let other = sidecar(ContainerRole::Main, ContainerState::Running { since: None });
                pod.containers.insert(1, ContainerFact { name: "other".into(), ..other });
            }
        });
        console.run_for(&mut fake, 2);
        let state = state(&mut console, &fake, "n1");
        let PrewarmState::Failed { cause, .. } = &state else {
            assert!(!want, "{state:?}");
            continue;
        };
        assert!(want && cause.kind == CauseKind::InitFailure, "{state:?}");
        let said = cause.message.as_deref().unwrap();
        assert!(
            said.starts_with("proxy, which admission added, does not let the images be pulled: sidecar proxy ended"),
            "{said}"
        );
    }
}

#[test]
fn a_native_sidecar_that_admission_adds_and_that_never_starts_holds_no_slot_for_ever() {
    let (mut fake, mut console) = warming();
    let runs = sidecar(ContainerRole::Sidecar, ContainerState::Running { since: None });
    fake.change_warm_pod("n1", |pod| pod.containers.insert(0, ContainerFact { image_present: true, ..runs }));
    console.run_for(&mut fake, 125);
    let PrewarmState::Failed { cause, .. } = state(&mut console, &fake, "n1") else {
        panic!("{:?}", state(&mut console, &fake, "n1"))
    };
    let said = cause.message.unwrap();
    assert!(said.contains("proxy, which admission added, has run for 120s and does not start"), "{said}");
}

#[test]
fn an_init_container_that_admission_adds_and_that_never_ends_holds_no_slot_for_ever() {
    let (mut fake, mut console) = warming();
    let runs = |role: ContainerRole, started: bool| ContainerFact {
        image_present: true,
        started,
        ..sidecar(role, ContainerState::Running { since: None })
    };
    // On n2 it is a sidecar that has started, and is not ready: what is pulled behind it may take long.
    fake.change_warm_pod("n1", |pod| pod.containers.insert(0, runs(ContainerRole::Init, false)));
    fake.change_warm_pod("n2", |pod| pod.containers.insert(0, runs(ContainerRole::Sidecar, true)));
    console.run_for(&mut fake, 110);
    assert_eq!(state(&mut console, &fake, "n1"), PrewarmState::Queued, "it may still end");
    assert_eq!(fake.warm_nodes(), ["n1", "n2"]);
    console.run_for(&mut fake, 15);
    let PrewarmState::Failed { cause, again_at, .. } = state(&mut console, &fake, "n1") else {
        panic!("{:?}", state(&mut console, &fake, "n1"))
    };
    assert_eq!((cause.kind, again_at.is_some()), (CauseKind::InitFailure, true));
    let said = cause.message.unwrap();
    assert!(said.contains("proxy, which admission added, has run for 120s and does not end"), "{said}");
    assert_eq!(fake.warm_nodes(), ["n2", "n3"], "the next one has its slot");
    assert_eq!(state(&mut console, &fake, "n2"), PrewarmState::Queued);
}
