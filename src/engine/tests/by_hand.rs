//! Objects of a rollout that somebody deletes or edits by hand in the middle of it.

use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::command::{Command, Step, Takeover};
use crate::engine::model::config::Role;
use crate::engine::model::disruption::PodDisruption;
use crate::engine::model::driver::DriverView;
use crate::engine::model::event::{Event, Watched};
use crate::engine::model::facts::PodPhase;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::record::ORIGINAL_STRATEGY;
use crate::engine::model::rollout_event::{RolloutEventKind, Visibility};
use crate::engine::model::settings::{Secs, Tuning};
use crate::engine::model::template::Template;

/// Four nodes, of which one is updated; somebody drives.
fn under_way() -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(4, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 3);
    console.run_for(&mut fake, 20);
    assert_eq!(fake.at("hash2"), 1);
    (fake, console)
}

fn remove_the_annotation(fake: &mut FakeCluster) {
    fake.set_original(None);
    fake.set_strategy(fake.daemonset.strategy.raw.clone());
}

/// Only the annotation goes, `OnDelete` stays: what is restored in the end is what was there before the adoption all the same.
#[test]
fn the_original_strategy_outlives_its_annotation() {
    let original = FakeCluster::rolling(4, 2).daemonset.strategy.raw;
    let (mut fake, mut console) = under_way();
    remove_the_annotation(&mut fake);
    console.run_for(&mut fake, 2);
    let again = fake.daemonset.annotations.get(ORIGINAL_STRATEGY).expect("it is written again");
    assert_eq!(serde_json::from_str::<serde_json::Value>(again).unwrap(), original);

    // Also where nobody saw it go.
    drop(console);
    fake.wait(30);
    remove_the_annotation(&mut fake);
    let mut next = FakeConsole::open(&fake, "next");
    next.run_for(&mut fake, 20);
    next.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    next.partition(&mut fake, 0);
    next.run_for(&mut fake, 60);
    assert_eq!((fake.at("hash2"), &fake.daemonset.strategy.raw), (4, &original));
    assert!(fake.daemonset.annotations.get(ORIGINAL_STRATEGY).is_none(), "released");
}

/// The Lease goes, and with it partition, budgets and gates: nothing is replaced by the defaults of a new record, also once somebody else makes
/// one.
#[test]
fn a_driver_whose_lease_is_deleted_says_so_and_starts_nothing_more() {
    let (mut fake, mut ops) = under_way();
    fake.lease = None;
    ops.engine.observe(Event::LeaseGone(None), fake.now);
    ops.run_for(&mut fake, 5);
    let snapshot = ops.snapshot(&fake);
    let last = snapshot.timeline.last().expect("an event");
    assert_eq!((&last.kind, last.visibility), (&RolloutEventKind::RecordDeleted, Visibility::Cluster));
    assert!(!snapshot.timeline.iter().any(|event| matches!(event.kind, RolloutEventKind::LeaseGivenBack { .. })));
    assert_eq!(snapshot.driver, DriverView::Nobody);
    let mut ada = FakeConsole::open_as(&fake, "ada", Role::OneShot);
    ada.partition(&mut fake, 0);
    drop(ada);
    ops.run_for(&mut fake, 60);
    assert_eq!((fake.at("hash2"), ops.snapshot(&fake).driver), (1, DriverView::Nobody), "asked of nobody here");
    ops.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    ops.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash2"), 4);
}

/// The ControllerRevision of the pods before goes: a step says that nothing leads back, and goes on.
#[test]
fn a_step_says_that_the_revision_before_is_gone() {
    let (mut fake, mut ops) = under_way();
    let step = Command::Step(Step::Updated(IntOrPercent::Int(2)));
    assert_eq!(ops.engine.preview(&step, fake.now).unwrap().warnings, Vec::<String>::new());
    let before = fake.revisions.iter().position(|revision| &*revision.hash == "hash1").unwrap();
    let name = fake.revisions.remove(before).name;
    ops.engine.observe(Event::RevisionGone(name), fake.now);
    let warnings = ops.engine.preview(&step, fake.now).unwrap().warnings;
    assert!(warnings[0].starts_with("ControllerRevision hash1 is gone, which the nodes had before"), "{warnings:?}");
    ops.partition(&mut fake, 0);
    ops.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash2"), 4);
}

/// An autoscaler evicts a pod that the partition keeps: its controller makes the next one from the new template. Whoever drives tells that it
/// was not the rollout, everybody of the first ones and the timeline of the others.
#[test]
fn pods_that_others_take_away_are_told_as_such() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut ops = FakeConsole::open(&fake, "ops");
    ops.set_image(&mut fake, "agent:v2");
    ops.partition(&mut fake, 5);
    ops.run_for(&mut fake, 20);
    let told = |console: &mut FakeConsole, fake: &FakeCluster| -> Vec<(String, Visibility)> {
        let timeline = console.snapshot(fake).timeline;
        let taken = timeline.iter().filter(|event| matches!(event.kind, RolloutEventKind::PodTakenAway { .. }));
        taken.map(|event| (event.to_string(), event.visibility)).collect()
    };
    let words = |node: &str| {
        format!(
            "the pod of {node} was deleted, evicted or relabelled by somebody else: its next pod is at the target, whatever the rollout keeps"
        )
    };
    assert_eq!(told(&mut ops, &fake), [], "what the rollout deletes is its own");
    // It goes at once, or is seen going first, and is told once.
    fake.remove_pod("n3");
    fake.reconcile();
    ops.run_for(&mut fake, 5);
    fake.change_pod("n4", |pod| pod.deletion_at = Some(pod.created_at));
    ops.run_for(&mut fake, 22);
    assert_eq!(fake.at("hash2"), 3, "its kubelet has ended it, and the next one is there");
    assert_eq!(told(&mut ops, &fake), [(words("n3"), Visibility::Cluster), (words("n4"), Visibility::Cluster)]);
    // Who announced it is named.
    fake.change_pod("n5", |pod| pod.disruption = Some(PodDisruption::Preemption));
    ops.run_for(&mut fake, 1);
    fake.remove_pod("n5");
    fake.reconcile();
    ops.run_for(&mut fake, 20);
    let preempted = "the pod of n5 was preempted by the scheduler, for a pod of higher priority: its next pod is at the target, whatever the rollout keeps";
    assert_eq!(told(&mut ops, &fake)[2].0, preempted);
    let snapshot = ops.snapshot(&fake);
    assert_eq!(snapshot.guidance().unwrap().waits, "held: no further node may be updated: 4 are, and 1 may be");
    // Its kubelet fails a pod, as on a node that is shut down, and its controller replaces it.
    fake.set_node_ready("n2", false);
    fake.change_pod("n2", |pod| (pod.phase, pod.reason) = (PodPhase::Failed, Some("Evicted".into())));
    ops.run_for(&mut fake, 2);
    fake.remove_pod("n2");
    fake.reconcile();
    ops.run_for(&mut fake, 2);
    let failed = "the pod of n2 failed (Evicted) and its controller replaces it: its next pod is at the target, whatever the rollout keeps";
    assert_eq!(told(&mut ops, &fake)[3].0, failed);
    fake.set_node_ready("n2", true);
    ops.run_for(&mut fake, 20);
    // A pod that is at the target already uses the budget until its next one is available.
    let soak = Tuning { soak_secs: Some(Secs(5)), ..Tuning::default() };
    ops.ask(&mut fake, Command::Tune(soak)).unwrap();
    ops.run_for(&mut fake, 5);
    fake.remove_pod("n3");
    fake.reconcile();
    let mut down_by = Vec::new();
    for _ in 0..8 {
        ops.run_for(&mut fake, 1);
        let budget = ops.snapshot(&fake).budget;
        down_by.push((budget.charged, budget.by_others));
    }
    assert!(down_by.contains(&(1, 1)) && down_by.iter().all(|(down, by_others)| down == by_others), "{down_by:?}");
    let updated = "the pod of n3 was deleted, evicted or relabelled by somebody else, after its update: its next pod is at the target as well";
    assert_eq!(told(&mut ops, &fake)[4].0, updated);
    // What becomes of that one later is not the doing of others.
    ops.run_for(&mut fake, 20);
    fake.crash("n3");
    ops.run_for(&mut fake, 1);
    let budget = ops.snapshot(&fake).budget;
    assert_eq!((budget.charged, budget.by_others), (1, 0));
    fake.restart("n3");
    ops.run_for(&mut fake, 10);
    // One that the rollout replaces is its own.
    ops.partition(&mut fake, 0);
    ops.run_for(&mut fake, 30);
    assert_eq!(fake.at("hash2"), 6);
    assert_eq!(told(&mut ops, &fake).len(), 5);
}

/// What the events say of pods that somebody else took away.
fn told_of_others(console: &mut FakeConsole, fake: &FakeCluster) -> Vec<String> {
    let timeline = console.snapshot(fake).timeline;
    let taken = timeline.iter().filter(|event| matches!(event.kind, RolloutEventKind::PodTakenAway { .. }));
    taken.map(ToString::to_string).collect()
}

/// The controller deletes pods from nodes that the DaemonSet no longer means, and the watch of pods is ahead: such a node gets no next pod, and
/// nothing is told of one.
#[test]
fn a_pod_that_goes_because_its_node_is_no_longer_meant_is_not_told_as_taken_away() {
    let (mut fake, mut ops) = under_way();
    ops.mute(Watched::DaemonSet);
    let mut raw = fake.daemonset.template.json().clone();
    raw["spec"]["nodeSelector"] = serde_json::json!({ "agent": "here" });
    for node in ["n1", "n2", "n3", "n4"] {
        fake.change_pod(node, |pod| pod.deletion_at = Some(pod.created_at));
    }
    fake.set_template(Template::from_json(raw));
    ops.run_for(&mut fake, 10);
    ops.unmute(&fake, Watched::DaemonSet);
    fake.reconcile();
    ops.run_for(&mut fake, 30);
    assert_eq!(told_of_others(&mut ops, &fake), [""; 0]);
    // Nor is anything told of it once the node is meant again.
    for node in ["n1", "n2", "n3", "n4"] {
        fake.change_node(node, |fact| fact.labels = [("agent", "here")].into_iter().collect());
    }
    ops.run_for(&mut fake, 30);
    assert_eq!((fake.pods.len(), told_of_others(&mut ops, &fake)), (4, Vec::new()));
}

/// A namespace that is deleted takes pods away before their DaemonSet is seen to go: none comes after them.
#[test]
fn pods_that_go_with_their_daemonset_are_not_told_as_taken_away() {
    for absent in [false, true] {
        let (mut fake, mut ops) = under_way();
        ops.mute(Watched::DaemonSet);
        for node in ["n1", "n2", "n3", "n4"] {
            fake.remove_pod(node);
        }
        fake.begin_deletion();
        ops.run_for(&mut fake, 10);
        ops.unmute(&fake, Watched::DaemonSet);
        if absent {
            ops.engine.observe(Event::DaemonSetGone(None), fake.now);
        }
        ops.run_for(&mut fake, 30);
        assert_eq!(told_of_others(&mut ops, &fake), [""; 0], "{absent}");
    }
}
