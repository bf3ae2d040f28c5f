//! Sidecars: init containers that go on beside the main ones (docs/kubernetes.md, *Sidecars*).

use std::time::Duration;

use super::waits::{one_taken, replaced_and_not_begun};
use super::*;
use crate::engine::model::facts::{ContainerFact, PodFact, PodPhase};
use crate::engine::model::template::ContainerRole;
use crate::engine::rules::diagnose::{diagnose, why_it_restarts};
use crate::engine::rules::node_restarts::restarted_with_its_node;
use crate::engine::rules::sidecars::holds_up_others;
use crate::engine::view::ObservedAt;
use crate::engine::view::restarts::{Restarts, has_ended, kubelet_says_ready};

const RUNS: ContainerState = ContainerState::Running { since: None };

fn waits(reason: &str, message: Option<&str>) -> ContainerState {
    ContainerState::Waiting { reason: reason.into(), message: message.map(Into::into) }
}

fn sidecar(state: ContainerState) -> ContainerFact {
    ContainerFact { name: "proxy".into(), role: ContainerRole::Sidecar, ..ContainerFact::in_state(state) }
}

/// A sidecar that runs, has started, and is ready.
fn well() -> ContainerFact {
    ContainerFact { image_present: true, started: true, ready: true, ..sidecar(RUNS) }
}

/// A sidecar that ended with exit code 1 and waits to be started again.
fn crashed(restarts: u32) -> ContainerFact {
    ContainerFact {
        image_present: true,
        restarts,
        last_end: Some("Error".into()),
        last_exit: Some(1),
        ..sidecar(waits("CrashLoopBackOff", Some("back-off 40s")))
    }
}

fn agent(state: ContainerState, ready: bool) -> ContainerFact {
    ContainerFact { ready, started: ready, ..ContainerFact::in_state(state) }
}

fn pod(containers: Vec<ContainerFact>) -> PodFact {
    PodFact { phase: PodPhase::Running, node: Some("n1".into()), bound: true, containers, ..PodFact::default() }
}

/// Twenty nodes, of which one is updated, to a pod with a sidecar.
fn one_updated() -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 19);
    console.run_for(&mut fake, 20);
    fake.change_pod("n1", |pod| pod.containers.insert(0, well()));
    console.run_for(&mut fake, 2);
    assert_eq!(console.state(&fake, "n1").0, NodeState::Updated);
    (fake, console)
}

fn sidecar_crashes(fake: &mut FakeCluster) {
    let now = fake.now;
    fake.change_pod("n1", |pod| {
        pod.containers[0] = crashed(pod.containers[0].restarts);
        (pod.ready, pod.ready_since) = (false, Some(now));
    });
}

fn sidecar_restarts(fake: &mut FakeCluster) {
    let now = fake.now;
    fake.change_pod("n1", |pod| {
        let container = &mut pod.containers[0];
        (container.ready, container.started, container.restarts) = (true, true, container.restarts + 1);
        container.state = ContainerState::Running { since: Some(now) };
        (pod.ready, pod.ready_since) = (true, Some(now));
    });
}

/// Its restarts count as those of a main container do: it is watched after each, and the third is a failure.
#[test]
fn a_sidecar_that_crashes_is_in_a_crash_loop_and_not_an_init_container_that_fails() {
    let (mut fake, mut console) = one_updated();
    for times in 1..=2 {
        sidecar_crashes(&mut fake);
        console.run_for(&mut fake, 2);
        let snapshot = console.snapshot(&fake);
        let cause = snapshot.nodes.iter().find(|node| &*node.name == "n1").unwrap().cause.clone().unwrap();
        assert_eq!((cause.kind, cause.container.as_deref()), (CauseKind::CrashLoop, Some("proxy")));
        let said = cause.message.unwrap();
        let restarts = if times == 1 { "" } else { ", 1 restart" };
        assert_eq!(*said, format!("sidecar proxy ended with exit 1{restarts}: back-off 40s"), "the main one runs on");
        sidecar_restarts(&mut fake);
        console.run_for(&mut fake, 2);
        let plural = if times == 1 { "" } else { "s" };
        let (state, words) = console.state(&fake, "n1");
        assert!(
            state == NodeState::Soaking && words.starts_with(&format!("exit 1, {times} restart{plural}")),
            "{words}"
        );
    }
    assert_eq!(console.snapshot(&fake).halt, None);
    sidecar_crashes(&mut fake);
    sidecar_restarts(&mut fake);
    console.run_for(&mut fake, 2);
    let halt = console.snapshot(&fake).halt.expect("a failure halts");
    assert!(halt.why.starts_with("crash loop (proxy"), "{halt:?}");
}

#[test]
fn of_a_sidecar_that_has_not_started_the_words_say_that_the_others_wait() {
    let found = |containers: Vec<ContainerFact>| {
        let cause = diagnose(&pod(containers), Timestamp::default()).unwrap();
        (cause.kind, cause.container.unwrap().to_string(), cause.message.unwrap().to_string())
    };
    let so = "sidecar proxy ended with exit 1, 3 restarts";
    let others_wait = format!("{so}, the containers after it wait for its start: back-off 40s");
    let alone = format!("{so}: back-off 40s");
    let main_waits = agent(waits("PodInitializing", None), false);
    let main_lost = ContainerFact {
        last_end: Some("Unknown".into()),
        last_exit: Some(255),
        ..agent(waits("PodInitializing", None), false)
    };
    let main_crashed = ContainerFact { last_end: Some("Error".into()), last_exit: Some(1), ..main_waits.clone() };
    let ended = |exit_code| ContainerState::Terminated { reason: "Completed".into(), exit_code, message: None };
    let check = |state| ContainerFact { name: "check".into(), role: ContainerRole::Init, ..sidecar(state) };
    let lost = ContainerFact { last_end: Some("Unknown".into()), ..crashed(3) };
    for (what, main, words) in [
        ("it was never started", main_waits, &others_wait),
        ("the node was restarted: the pod starts anew", main_lost, &others_wait),
        ("it runs", agent(RUNS, true), &alone),
        ("it ran, and ended, too: it is started again behind the sidecar", main_crashed, &others_wait),
    ] {
        let want = (CauseKind::CrashLoop, "proxy".to_owned(), words.clone());
        assert_eq!(found(vec![crashed(3), main]), want, "{what}");
    }
    for (what, sidecar, other, waits) in [
        ("an init container after it runs", crashed(3), check(RUNS), false),
        ("one after it is through", crashed(3), check(ended(0)), false),
        ("one after it is restarted", crashed(3), ContainerFact { name: "next".into(), ..crashed(1) }, false),
        ("one after it waits", crashed(3), check(waits("PodInitializing", None)), true),
        ("one after it was through before the node was restarted", lost, check(ended(0)), true),
    ] {
        assert_eq!(holds_up_others(&sidecar, &[sidecar.clone(), other.clone()]), waits, "{what}");
        assert!(!holds_up_others(&other, &[sidecar, other.clone()]) || other.role == ContainerRole::Sidecar, "{what}");
    }
    assert!(holds_up_others(&crashed(3), &[check(ended(0)), crashed(3)]), "one before it is through");
    let killed = ContainerFact { last_end: Some("OOMKilled".into()), last_exit: Some(137), ..crashed(1) };
    let (kind, _, words) = found(vec![killed, agent(RUNS, true)]);
    assert_eq!(
        (kind, &*words),
        (CauseKind::OutOfMemory, "sidecar proxy ended with OOMKilled, exit 137 (SIGKILL), 1 restart: back-off 40s")
    );
}

#[test]
fn a_starting_pod_waits_for_a_sidecar_only_until_that_has_started() {
    let (mut fake, mut console) = one_taken();
    replaced_and_not_begun(&mut fake, &mut console);
    let now = fake.now;
    let runs = |started: bool| {
        let state = ContainerState::Running { since: Some(now) };
        ContainerFact { image_present: true, started, ..sidecar(state) }
    };
    fake.wait(12);
    let mut words = |sidecar: ContainerFact, main: ContainerFact| {
        fake.change_pod("n1", |pod| {
            pod.phase = PodPhase::Pending;
            pod.containers = vec![sidecar.clone(), main.clone()];
        });
        console.state(&fake, "n1").1
    };
    let main_waits = agent(waits("ContainerCreating", None), false);
    assert_eq!(
        words(runs(false), main_waits.clone()),
        "sidecar proxy runs for 12s, not started: the containers after it wait"
    );
    assert_eq!(words(runs(true), main_waits), "ContainerCreating (agent)", "it is not ready, and holds up nothing");
    assert_eq!(words(runs(true), agent(RUNS, true)), "proxy runs for 12s, not ready");
}

/// On a node that the cluster lost, the containers' statuses tell whether the pod was ready.
#[test]
fn a_pod_was_ready_only_with_its_sidecars() {
    let setup = |state| ContainerFact { role: ContainerRole::Init, ..sidecar(state) };
    let unready = ContainerFact { ready: false, ..well() };
    assert!(kubelet_says_ready(&pod(vec![setup(RUNS), well(), agent(RUNS, true)])), "init containers do not count");
    assert!(!kubelet_says_ready(&pod(vec![unready.clone(), agent(RUNS, true)])));
    assert!(kubelet_says_ready(&PodFact { ready: true, ..pod(vec![unready, agent(RUNS, true)]) }), "the pod decides");
}

/// An init container that is through ended well, and is run again only with its node. A sidecar is never through.
#[test]
fn a_sidecar_that_ended_well_and_was_started_again_has_restarted_by_itself() {
    let of_role =
        |role| ContainerFact { role, restarts: 1, last_end: Some("Completed".into()), last_exit: Some(0), ..well() };
    let with = |role| pod(vec![of_role(role), agent(waits("PodInitializing", None), false)]);
    assert!(
        restarted_with_its_node(&with(ContainerRole::Init)) && !restarted_with_its_node(&with(ContainerRole::Sidecar))
    );
    assert_eq!(why_it_restarts(&with(ContainerRole::Sidecar)), Some(CauseKind::CrashLoop));
    let ended = ContainerState::Terminated { reason: "Completed".into(), exit_code: 0, message: None };
    let is_over = |role| pod(vec![ContainerFact { role, ..sidecar(ended.clone()) }, agent(RUNS, true)]);
    assert!(has_ended(&is_over(ContainerRole::Sidecar)) && !has_ended(&is_over(ContainerRole::Init)));
    let first_end = |role| {
        let seen = ObservedAt::Happen(Timestamp::default());
        Restarts::next(None, &is_over(role), seen).first_end().is_some()
    };
    assert!(first_end(ContainerRole::Sidecar) && !first_end(ContainerRole::Init), "before it is counted as a restart");
}

#[test]
fn with_its_node_a_sidecar_restarts_as_the_others_do() {
    let (mut fake, mut console) = one_updated();
    fake.power_cycle("n1", Duration::from_secs(900), |fake| console.run_for(fake, 2));
    let snapshot = console.snapshot(&fake);
    let node = snapshot.nodes.iter().find(|node| &*node.name == "n1").unwrap();
    assert_eq!((node.restarts, node.counted_restarts()), (2, 1), "one restart of the node");
    let words = console.state(&fake, "n1").1;
    assert!(words.starts_with("its node restarted, 1 restart"), "{words}");
}
