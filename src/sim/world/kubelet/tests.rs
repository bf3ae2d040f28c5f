//! Kubelets alone: these tests take the place of the API server.

mod image_volumes;
mod pulls;
mod sidecars;

use std::num::NonZeroU8;

use serde_json::json;

use super::super::object::conditions;
use super::super::scenario::{PullError, PullQuota};
use super::*;
use crate::engine::model::facts::{ContainerState, PodPhase};
use crate::engine::model::template::ContainerRole;

const START: Timestamp = Timestamp::from_millis(1_772_431_200_000);
const MB: u64 = 1_000_000;

/// A fleet, and all its actions with the time of each.
struct TestFleet {
    fleet: Kubelets,
    now: Timestamp,
    actions: Vec<(Duration, KubeletAction)>,
}

impl TestFleet {
    /// Nodes `n01`, `n02`, … behind one link, and these images in the registry.
    fn new(nodes: usize, bytes_per_sec: u64, images: Vec<RegistryImage>) -> Self {
        let mut scenario = Scenario::new("bench").with_site("hall", bytes_per_sec, "n", nodes);
        scenario.images = images;
        Self { fleet: Kubelets::of(&scenario, 3, START), now: START, actions: Vec::new() }
    }

    fn run(&mut self, secs: u64) {
        let end = self.now + Duration::from_secs(secs);
        while let Some(at) = self.fleet.next_at().filter(|at| *at <= end) {
            self.step(at);
        }
        self.step(end);
    }

    fn step(&mut self, to: Timestamp) {
        self.fleet.advance(to);
        self.now = to;
        let after = to.since(START);
        self.actions.extend(self.fleet.take_actions().into_iter().map(|action| (after, action)));
    }

    fn see(&mut self, seen: &AssignedPod) {
        self.fleet.pod_changed(seen.clone(), self.now);
    }

    fn inject(&mut self, fault: &FleetFault) {
        self.fleet.inject(fault, self.now);
    }

    /// The time and the message of each event with this reason.
    fn events(&self, reason: &str) -> Vec<(u64, String)> {
        let found = self.actions.iter().filter_map(|(at, action)| match action {
            KubeletAction::Event { body, .. } if *body.reason == *reason => {
                Some((at.as_secs(), body.message.to_string()))
            }
            _ => None,
        });
        found.collect()
    }

    fn statuses(&self, pod: &AssignedPod) -> Vec<(Duration, PodStatus)> {
        let found = self.actions.iter().filter_map(|(at, action)| match action {
            KubeletAction::PodStatus { uid, status, .. } if *uid == pod.uid => Some((*at, (**status).clone())),
            _ => None,
        });
        found.collect()
    }

    fn is_ready(&self, pod: &AssignedPod) -> bool {
        self.statuses(pod).last().is_some_and(|(_, status)| {
            Condition::status(&status.conditions, conditions::READY) == ConditionStatus::True
        })
    }

    fn removals(&self) -> Vec<u64> {
        let found = self.actions.iter().filter(|(_, action)| matches!(action, KubeletAction::RemovePod { .. }));
        found.map(|(at, _)| at.as_secs()).collect()
    }

    fn renewals(&self, node: &str) -> usize {
        let found = self
            .actions
            .iter()
            .filter(|(_, action)| matches!(action, KubeletAction::RenewLease { node: of, .. } if **of == *node));
        found.count()
    }
}

fn pod(name: &str, node: &str, images: &[&str]) -> AssignedPod {
    let containers: Vec<_> =
        images.iter().enumerate().map(|(nth, image)| json!({"name": format!("c{nth}"), "image": image})).collect();
    AssignedPod {
        namespace: "edge".into(),
        name: name.into(),
        uid: format!("uid-of-{name}").into(),
        node: node.into(),
        template: Template::from_json(json!({"spec": {"containers": containers}})),
        deletion: None,
        ready: false,
    }
}

fn deleted(pod: &AssignedPod, at: Timestamp, grace_secs: u32) -> AssignedPod {
    let deletion = DeletionMark { at: at + Duration::from_secs(grace_secs.into()), grace_secs };
    AssignedPod { deletion: Some(deletion), ..pod.clone() }
}

fn broken(error: PullError) -> RegistryImage {
    RegistryImage { error: Some(error), ..RegistryImage::new("r.example/agent:v2", MB) }
}

#[test]
fn the_same_words_again_are_one_event_counted() {
    let mut fleet = TestFleet::new(1, MB, vec![broken(PullError::NotFound)]);
    fleet.see(&pod("a", "n01", &["r.example/agent:v2"]));
    fleet.run(60);
    let pulls: Vec<(Str, u32)> = fleet
        .actions
        .iter()
        .filter_map(|(_, action)| match action {
            KubeletAction::Event { name, body, .. } if &*body.reason == "Pulling" => Some((name.clone(), body.count)),
            _ => None,
        })
        .collect();
    assert_eq!(pulls.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(pulls.iter().all(|(name, _)| *name == pulls[0].0));
}

#[test]
fn a_pod_is_given_its_grace_and_no_more() {
    for (stops_in, grace, want) in [(1, 30, 1), (60, 10, 10), (60, 0, 0)] {
        let image =
            RegistryImage { stops_in: Duration::from_secs(stops_in), ..RegistryImage::new("r.example/agent:v1", 0) };
        let mut fleet = TestFleet::new(1, MB, vec![image]);
        let agent = pod("a", "n01", &["r.example/agent:v1"]);
        fleet.see(&agent);
        fleet.run(100);
        assert!(fleet.is_ready(&agent));
        fleet.see(&deleted(&agent, fleet.now, grace));
        fleet.run(100);
        assert!(!fleet.is_ready(&agent));
        let removed_after = fleet.removals()[0] - 100;
        assert!((want..=want + 1).contains(&removed_after), "{stops_in} {grace}: {removed_after}");
    }
}

#[test]
fn a_second_delete_shortens_the_grace() {
    let image = RegistryImage { stops_in: Duration::from_secs(300), ..RegistryImage::new("r.example/agent:v1", 0) };
    let mut fleet = TestFleet::new(1, MB, vec![image]);
    let agent = pod("a", "n01", &["r.example/agent:v1"]);
    fleet.see(&agent);
    fleet.run(100);
    fleet.see(&deleted(&agent, fleet.now, 60));
    fleet.run(5);
    fleet.see(&deleted(&agent, fleet.now - Duration::from_secs(5), 10));
    fleet.run(60);
    assert!((109..=111).contains(&fleet.removals()[0]), "{:?}", fleet.removals());
}

#[test]
fn what_is_not_confirmed_is_sent_again() {
    let mut fleet = TestFleet::new(1, MB, vec![RegistryImage::new("r.example/agent:v1", 0)]);
    let agent = pod("a", "n01", &["r.example/agent:v1"]);
    fleet.see(&agent);
    fleet.run(30);
    fleet.see(&deleted(&agent, fleet.now, 5));
    fleet.run(60);
    assert!(fleet.removals().len() >= 4, "nobody says that it is gone: {:?}", fleet.removals());
    let before = fleet.removals().len();
    fleet.fleet.pod_gone("n01", &agent.uid, fleet.now);
    fleet.run(60);
    assert_eq!(fleet.removals().len(), before);
}

#[test]
fn a_status_that_somebody_overwrote_is_set_right() {
    let mut fleet = TestFleet::new(1, MB, vec![RegistryImage::new("r.example/agent:v1", 0)]);
    let agent = pod("a", "n01", &["r.example/agent:v1"]);
    fleet.see(&agent);
    fleet.run(30);
    let ready = AssignedPod { ready: true, ..agent.clone() };
    fleet.see(&ready);
    let before = fleet.statuses(&agent).len();
    fleet.run(60);
    assert_eq!(fleet.statuses(&agent).len(), before, "as it should be");
    fleet.see(&agent);
    fleet.run(25);
    let statuses = fleet.statuses(&agent);
    assert!(statuses.len() > before);
    let (at, status) = statuses.last().unwrap();
    let since = Condition::find(&status.conditions, conditions::READY).unwrap().since;
    assert_eq!(since, START + *at, "it counts as ready from then on");
}

#[test]
fn a_node_without_network_says_nothing_and_catches_up() {
    let mut fleet = TestFleet::new(1, MB, vec![RegistryImage::new("r.example/agent:v1", 0)]);
    let agent = pod("a", "n01", &["r.example/agent:v1"]);
    fleet.see(&agent);
    fleet.run(30);
    fleet.inject(&FleetFault::Cut("n01".into()));
    let (renewed, actions) = (fleet.renewals("n01"), fleet.actions.len());
    fleet.see(&deleted(&agent, fleet.now, 5));
    fleet.run(120);
    assert_eq!((fleet.renewals("n01"), fleet.actions.len()), (renewed, actions));
    fleet.inject(&FleetFault::Restore("n01".into()));
    fleet.run(8);
    assert!(fleet.renewals("n01") > renewed);
    assert_eq!(fleet.removals().len(), 1, "it hears of the delete only now");
}

#[test]
fn init_containers_come_first_and_one_by_one() {
    let images = ["prepare:1", "check:1", "agent:v1"].map(|image| RegistryImage::new(image, 0));
    let mut fleet = TestFleet::new(1, MB, images.into());
    let template = json!({"spec": {
        "initContainers": [{"name": "prepare", "image": "prepare:1"}, {"name": "check", "image": "check:1"}],
        "containers": [{"name": "agent", "image": "agent:v1"}],
    }});
    let agent = AssignedPod { template: Template::from_json(template), ..pod("a", "n01", &[]) };
    fleet.see(&agent);
    fleet.run(60);
    let started: Vec<String> = fleet
        .actions
        .iter()
        .filter_map(|(_, action)| match action {
            KubeletAction::Event { body, .. } if &*body.reason == "Started" => {
                body.involved.field_path.as_ref().map(ToString::to_string)
            }
            _ => None,
        })
        .collect();
    assert_eq!(started, ["spec.initContainers{prepare}", "spec.initContainers{check}", "spec.containers{agent}"]);
    assert!(fleet.is_ready(&agent));
}

/// It is through once it has ended well, whatever the restart policy, and runs again only with its node: before the main containers, as a restart of each.
#[test]
fn an_init_container_that_is_through_runs_again_only_with_its_node() {
    let mut bench = TestFleet::new(1, 1_000 * MB, vec![RegistryImage::new("agent:v1", MB)]);
    let template = json!({"spec": {
        "initContainers": [{"name": "setup", "image": "agent:v1", "command": ["true"]}],
        "containers": [{"name": "agent", "image": "agent:v1"}, {"name": "sidecar", "image": "agent:v1"}],
    }});
    let pod = AssignedPod { template: Template::from_json(template), ..pod("p1", "n01", &[]) };
    bench.see(&pod);
    bench.run(60);
    let restarts = |bench: &TestFleet| -> Vec<(u32, Option<Str>)> {
        let (_, status) = bench.statuses(&pod).pop().unwrap();
        status.containers.iter().map(|it| (it.fact.restarts, it.fact.last_end.clone())).collect()
    };
    assert_eq!((bench.is_ready(&pod), restarts(&bench)), (true, vec![(0, None); 3]));
    bench.inject(&FleetFault::PowerOff("n01".into()));
    bench.inject(&FleetFault::PowerOn("n01".into()));
    bench.run(120);
    let ends = ["Completed", "Unknown", "Unknown"].map(|end| (1, Some(end.into())));
    assert_eq!((bench.is_ready(&pod), restarts(&bench)), (true, ends.into()));
}

#[test]
fn a_changed_image_restarts_its_container_in_place() {
    let images = ["r.example/agent:v1", "r.example/agent:v2"].map(|image| RegistryImage::new(image, MB));
    let mut fleet = TestFleet::new(1, MB, images.into());
    let agent = pod("a", "n01", &["r.example/agent:v1"]);
    fleet.see(&agent);
    fleet.run(60);
    let template = agent.template.with_images([("c0", "r.example/agent:v2")]).unwrap();
    fleet.see(&AssignedPod { template, ready: true, ..agent.clone() });
    fleet.run(60);
    let (_, status) = fleet.statuses(&agent).pop().unwrap();
    assert!(fleet.is_ready(&agent));
    assert_eq!((&*status.containers[0].image, status.containers[0].fact.restarts), ("r.example/agent:v2", 1));
}

#[test]
fn what_gets_lost_is_retried_without_end_but_not_in_ever_greater_numbers() {
    let mut fleet = TestFleet::new(
        2,
        1_000,
        vec![RegistryImage::new("r.example/big:1", 500 * MB), RegistryImage::new("r.example/agent:v1", 0)],
    );
    fleet.see(&pod("big-1", "n01", &["r.example/big:1"]));
    fleet.see(&pod("big-2", "n02", &["r.example/big:1"]));
    fleet.run(10);
    for nth in 0..10 {
        fleet.see(&pod(&format!("small-{nth}"), "n01", &["r.example/agent:v1"]));
    }
    let before = fleet.fleet.env.next_serial();
    fleet.run(600);
    let woken = fleet.fleet.env.next_serial() - before;
    assert!(woken < 2_000, "99 of 100 requests get lost, and the kubelets woke {woken} times in ten minutes");
}

#[test]
fn a_starved_link_loses_renewals() {
    let mut fleet = TestFleet::new(20, MB, vec![RegistryImage::new("r.example/agent:v2", 500 * MB)]);
    fleet.run(600);
    let calm: usize = (1..=20).map(|node| fleet.renewals(&format!("n{node:02}"))).sum();
    assert!(calm >= 20 * 60, "one in ten seconds each: {calm}");
    for node in 1..=20 {
        fleet.see(&pod(&format!("p{node}"), &format!("n{node:02}"), &["r.example/agent:v2"]));
    }
    fleet.run(600);
    let starved: usize = (1..=20).map(|node| fleet.renewals(&format!("n{node:02}"))).sum::<usize>() - calm;
    // 20 pulls want 62.5 kB/s each and get 50: one in five requests gets lost.
    assert!((calm * 7 / 10..calm * 9 / 10).contains(&starved), "{starved} of {calm}");
}

#[test]
fn a_kubelet_dates_by_its_own_clock_and_waits_by_the_true_one() {
    let mut fleet = TestFleet::new(
        2,
        100 * MB,
        vec![RegistryImage { ready_in: Duration::from_secs(5), ..RegistryImage::new("a:1", MB) }],
    );
    fleet.run(20);
    fleet.inject(&FleetFault::Clock { node: "n01".into(), offset_millis: -300_000 });
    let (wrong, right) = (pod("p1", "n01", &["a:1"]), pod("p2", "n02", &["a:1"]));
    fleet.see(&wrong);
    fleet.see(&right);
    let seen_at = fleet.now;
    fleet.run(30);
    let ready = |pod: &AssignedPod| {
        let condition = |status: PodStatus| Condition::find(&status.conditions, conditions::READY).cloned();
        let found = fleet.statuses(pod).into_iter().filter_map(|(at, status)| Some((at, condition(status)?)));
        found.into_iter().find(|(_, ready)| ready.status == ConditionStatus::True).expect("it gets ready")
    };
    let ((at, late), (_, exact)) = (ready(&wrong), ready(&right));
    assert!(at < Duration::from_secs(40), "it did not wait five minutes");
    assert!(exact.since.since(seen_at) >= Duration::from_secs(5));
    let said_early = exact.since.since(late.since);
    assert!((290..310).contains(&said_early.as_secs()), "{said_early:?}");
    let pulled = fleet.actions.iter().find_map(|(_, action)| match action {
        KubeletAction::Event { body, .. } if body.involved.name == wrong.name => Some(body.first_at),
        _ => None,
    });
    assert!(pulled.unwrap() < seen_at - Duration::from_secs(290), "its events too");
}

/// A pod that pulls an image with this command, and ends as this `restartPolicy` says.
fn pulling_pod(name: &str, image: &str, command: &[&str], policy: &str) -> AssignedPod {
    let spec = json!({"containers": [{"name": "c0", "image": image, "command": command}], "restartPolicy": policy});
    AssignedPod { template: Template::from_json(json!({"spec": spec})), ..pod(name, "n01", &[image]) }
}

#[test]
fn a_command_runs_in_the_place_of_the_images_own_process() {
    let crashes =
        RegistryImage { crashes_after: Some(Duration::from_secs(3)), ..RegistryImage::new("r.example/agent:v2", MB) };
    let mut fleet = TestFleet::new(1, MB, vec![crashes]);
    let [sleeps, ends, again] =
        [(vec!["sleep", "infinity"], "Never"), (vec!["sh", "-c", "true"], "Never"), (vec!["true"], "Always")]
            .map(|(command, policy)| pulling_pod(&command.join("-"), "r.example/agent:v2", &command, policy));
    for pod in [&sleeps, &ends, &again] {
        fleet.see(pod);
    }
    fleet.run(60);
    let last = |pod: &AssignedPod| fleet.statuses(pod).last().unwrap().1.clone();
    assert!(fleet.is_ready(&sleeps) && last(&sleeps).containers[0].fact.restarts == 0, "{:?}", last(&sleeps));
    let ended = last(&ends);
    assert_eq!((ended.phase, ended.containers[0].fact.restarts), (PodPhase::Succeeded, 0));
    assert!(ended.containers[0].image_id.is_some() && !fleet.is_ready(&ends));
    let crashed = last(&again);
    assert_eq!(crashed.phase, PodPhase::Running);
    assert!(crashed.containers[0].fact.restarts >= 2, "it is started again and again: {crashed:?}");
    assert_eq!(crashed.containers[0].fact.last_end.as_deref(), Some("Completed"));
}

#[test]
fn an_image_without_a_shell_is_pulled_all_the_same() {
    let image = RegistryImage { distroless: true, ..RegistryImage::new("r.example/agent:v2", MB) };
    let mut fleet = TestFleet::new(1, MB, vec![image]);
    let once = pulling_pod("once", "r.example/agent:v2", &["sleep", "infinity"], "Never");
    let again = pulling_pod("again", "r.example/agent:v2", &["sleep", "infinity"], "Always");
    let own = pod("own", "n01", &["r.example/agent:v2"]);
    for pod in [&once, &again, &own] {
        fleet.see(pod);
    }
    fleet.run(60);
    let last = |pod: &AssignedPod| fleet.statuses(pod).last().unwrap().1.clone();
    let (phase, container) = (last(&once).phase, last(&once).containers[0].clone());
    assert_eq!((phase, container.fact.restarts, container.fact.image_present), (PodPhase::Failed, 0, true));
    let not_started = ContainerState::Terminated { reason: "StartError".into(), exit_code: 128, message: None };
    assert_eq!(container.fact.state, not_started);
    assert!(
        fleet.events("Failed")[0].1.contains("exec: \"sleep\": executable file not found"),
        "{:?}",
        fleet.events("Failed")
    );
    let container = &last(&again).containers[0];
    assert!(matches!(&container.fact.state, ContainerState::Waiting { reason, .. } if **reason == *"CrashLoopBackOff"));
    assert_eq!((container.fact.last_end.as_deref(), container.last_exit.unwrap().code), (Some("StartError"), 128));
    assert!(fleet.is_ready(&own) && fleet.fleet.has_image("n01", "r.example/agent:v2"));
}

#[test]
fn a_full_disk_loses_the_images_that_no_container_uses() {
    let names = ["unused", "runs", "ended", "crashes", "young"].map(|name| format!("r.example/{name}:v1"));
    let [unused, runs, ended, crashes, young] = &names;
    let mut images: Vec<RegistryImage> = names.iter().map(|name| RegistryImage::new(name, MB)).collect();
    images[3].crashes_after = Some(Duration::from_secs(1));
    let mut fleet = TestFleet::new(1, MB, images);
    let gone = pod("unused", "n01", &[unused]);
    for seen in [&gone, &pod("runs", "n01", &[runs]), &pod("crashes", "n01", &[crashes])] {
        fleet.see(seen);
    }
    fleet.see(&pulling_pod("ended", ended, &["true"], "Never"));
    fleet.run(60);
    fleet.fleet.pod_gone("n01", &gone.uid, fleet.now);
    fleet.run(120);
    fleet.see(&pulling_pod("young", young, &["true"], "Never"));
    fleet.run(20);
    let left = |fleet: &TestFleet| names.iter().map(|name| fleet.fleet.has_image("n01", name)).collect::<Vec<_>>();
    assert_eq!(left(&fleet), [true; 5], "there is room");
    fleet.inject(&FleetFault::DiskFull("n01".into()));
    assert_eq!(left(&fleet), [false, true, false, true, true], "the young one is left for a while");
    fleet.run(120);
    assert_eq!(left(&fleet), [false, true, false, true, false]);
    let mut reported = fleet.actions.iter().rev().find_map(|(_, action)| match action {
        KubeletAction::NodeStatus { images, .. } => {
            Some(images.iter().map(|image| image.names[1].to_string()).collect::<Vec<_>>())
        }
        _ => None,
    });
    reported.as_mut().unwrap().sort();
    assert_eq!(reported.unwrap(), [crashes.as_str(), runs.as_str()]);
}

#[test]
fn an_agent_makes_its_node_not_ready_at_each_of_its_starts() {
    let name = "agent:v1";
    let mut image = RegistryImage::new(name, MB);
    image.node_not_ready_for = Some(Duration::from_secs(20));
    image.crashes_after = Some(Duration::from_secs(50));
    let mut fleet = TestFleet::new(1, MB, vec![image]);
    fleet.see(&pod("agent", "n01", &[name]));
    fleet.run(100);
    let ready = |conditions: &[Condition]| Condition::status(conditions, conditions::READY);
    let mut told: Vec<(u64, ConditionStatus)> = fleet
        .actions
        .iter()
        .filter_map(|(at, action)| match action {
            KubeletAction::NodeStatus { conditions, .. } => Some((at.as_secs(), ready(conditions))),
            _ => None,
        })
        .collect();
    told.dedup_by_key(|(_, ready)| *ready);
    let statuses: Vec<ConditionStatus> = told.iter().map(|(_, ready)| *ready).collect();
    let (not, is) = (ConditionStatus::False, ConditionStatus::True);
    assert!(statuses.ends_with(&[not, is, not, is]), "{told:?}");
    let [.., first, back, second, again] = &told[..] else { panic!("{told:?}") };
    assert_eq!((back.0 - first.0, again.0 - second.0), (20, 20), "{told:?}");
    assert!((50..55).contains(&(second.0 - first.0)), "{told:?}");
}
