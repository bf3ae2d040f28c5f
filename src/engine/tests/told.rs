//! What the words of a snapshot say beside the numbers that they tell: whose doing it is, and what is not known.

use super::*;
use crate::engine::model::facts::{ClusterEvent, PodPhase};
use crate::engine::model::labels::Labels;
use crate::engine::model::node::{Blame, DownBy};
use crate::engine::model::settings::{Limit, Secs};
use crate::engine::report::diagnosis::Diagnosis;
use crate::engine::report::last_rollout::RolloutEnd;
use crate::engine::report::remedies::Remedy;
use crate::engine::report::snapshot::NodeView;
use crate::engine::report::trouble::starts_in_time;

fn budget(console: &mut FakeConsole, fake: &FakeCluster) -> String {
    console.snapshot(fake).budget.to_string()
}

/// Clocks of nodes that nobody has measured: each process counts from when it first saw a pod ready, the one that drives before it, too.
#[test]
fn what_is_ready_and_not_known_since_when_is_said_where_more_are_down_than_may_be() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::Tune(Tuning { soak_secs: Some(Secs(10)), ..Tuning::default() })).unwrap();
    console.partition(&mut fake, 2);
    console.run_for(&mut fake, 30);
    assert_eq!(budget(&mut console, &fake), "down 0 of 1");
    let mut late = FakeConsole::open(&fake, "late");
    assert_eq!(budget(&mut late, &fake), "down 2 of 1 (2 up, soaking): 2 ours (2 ready since an unknown time)");
    fake.wait(10);
    assert_eq!(budget(&mut late, &fake), "down 0 of 1", "as far as it has seen it itself");
}

/// Under a selector a pod that is lost comes back at the new revision: until it is available its node is not among those that are updated.
#[test]
fn nodes_that_were_not_selected_are_told_in_numbers_that_add_up() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    fake.change_node("n1", |node| node.labels = [("canary", "true")].into_iter().collect());
    console.ask(&mut fake, Command::Select(Some("canary=true".parse().unwrap()))).unwrap();
    console.partition(&mut fake, 5);
    console.run_for(&mut fake, 10);
    fake.slow = true;
    for node in ["n4", "n5"] {
        fake.remove_pod(node);
        fake.create_pod(node);
    }
    console.run_for(&mut fake, 2);
    let told = |console: &mut FakeConsole, fake: &FakeCluster| {
        let snapshot = console.snapshot(fake);
        (snapshot.progress(), snapshot.leaked_in_words().unwrap_or_default())
    };
    assert_eq!(
        told(&mut console, &fake),
        ("1 of 6 updated".into(), "2 not selected are on their way to it (n4 and 1 more)".into())
    );
    fake.set_ready("n4", true);
    console.run_for(&mut fake, 2);
    let (progress, leaked) = told(&mut console, &fake);
    assert_eq!(
        (&*progress, &*leaked),
        ("2 of 6 updated", "1 of those updated is not selected, 1 more on the way (n5)")
    );
    fake.set_ready("n5", true);
    console.run_for(&mut fake, 2);
    let (progress, leaked) = told(&mut console, &fake);
    assert_eq!((&*progress, &*leaked), ("3 of 6 updated", "2 of those updated are not selected"));
}

/// A node that the selector meant loses its label while its pod is replaced.
#[test]
fn a_node_that_is_not_selected_any_more_while_it_is_updated_is_named() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    fake.change_node("n3", |node| node.labels = [("canary", "true")].into_iter().collect());
    console.ask(&mut fake, Command::Select(Some("canary=true".parse().unwrap()))).unwrap();
    fake.slow = true;
    console.partition(&mut fake, 5);
    console.run_for(&mut fake, 2);
    assert_eq!((fake.deleted.as_slice(), console.snapshot(&fake).leaked_in_words()), (&["n3".into()][..], None));
    fake.change_node("n3", |node| node.labels = Labels::default());
    console.run_for(&mut fake, 2);
    let snapshot = console.snapshot(&fake);
    assert_eq!(snapshot.leaked_in_words().as_deref(), Some("1 not selected is on its way to it (n3)"));
    assert!(
        snapshot.plan_in_words().ends_with("; 1 not selected is on its way to it (n3)"),
        "{}",
        snapshot.plan_in_words()
    );
}

/// Pods that somebody deletes by hand come back at the new revision, and are down meanwhile: that is not what the rollout took down.
#[test]
fn pods_that_somebody_deletes_by_hand_are_not_called_ours() {
    let mut fake = FakeCluster::rolling(8, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    fake.slow = true;
    console.partition(&mut fake, 4);
    fake.kubelets();
    console.run_for(&mut fake, 2);
    assert_eq!(budget(&mut console, &fake), "down 2 of 2: 2 ours");
    for node in ["n5", "n6", "n7", "n8"] {
        fake.remove_pod(node);
        fake.create_pod(node);
    }
    console.run_for(&mut fake, 2);
    assert_eq!(budget(&mut console, &fake), "down 6 of 2: 2 ours, 4 by others");
    let snapshot = console.snapshot(&fake);
    assert_eq!((snapshot.budget.rollout, snapshot.budget.by_others), (6, 4));
    // Each of them says the same.
    let by = |node: &NodeView| (node.blame == Some(Blame::Rollout)).then_some(node.down_by);
    let told: Vec<_> = snapshot.nodes.iter().filter_map(by).collect();
    let of_others = told.iter().filter(|by| **by == Some(DownBy::Others)).count();
    assert_eq!((told.len(), of_others), (6, 4), "{told:?}");
    assert!(snapshot.nodes.iter().all(|node| node.down_by.is_none() || node.blame == Some(Blame::Rollout)));
    let diagnosis = Diagnosis::of(&snapshot);
    let evidence = diagnosis.findings.iter().flat_map(|finding| &finding.evidence);
    let told: Vec<_> = evidence.filter(|it| it.text.starts_with("somebody else took its pod away")).collect();
    assert_eq!(told.iter().map(|it| it.nodes).sum::<u32>(), 4, "{diagnosis:?}");
    // Another process reads in the record which ones the driver took down.
    let mut late = FakeConsole::open(&fake, "late");
    assert_eq!(budget(&mut late, &fake), "down 6 of 2: 2 ours, 4 by others");
    // It stays told of one that was ready, and is not any more: an Event of the driver names whose pod was taken away.
    fake.set_ready("n5", true);
    console.run_for(&mut fake, 2);
    fake.set_ready("n5", false);
    console.run_for(&mut fake, 2);
    assert_eq!(budget(&mut console, &fake), "down 6 of 2: 2 ours, 4 by others");
}

/// Found by a newcomer: without a soak time, the pod of an updated node crashes for the first time. It is not started again yet, which counts no restart.
#[test]
fn the_first_crash_of_a_pod_that_the_rollout_made_is_not_the_doing_of_others() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.ask(&mut fake, Command::Tune(Tuning { soak_secs: Some(Secs(0)), ..Tuning::default() })).unwrap();
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 5);
    console.run_for(&mut fake, 20);
    assert_eq!(fake.deleted.len(), 1);
    let node = fake.deleted[0].clone();
    fake.crash(&node);
    console.run(&mut fake);
    let mut late = FakeConsole::open(&fake, "late");
    assert_eq!([budget(&mut console, &fake), budget(&mut late, &fake)], ["down 1 of 2: 1 ours"; 2]);
}

/// Whoever set the limit is not told by anybody else that the DaemonSet's owner has lowered theirs since.
#[test]
fn a_limit_above_the_daemonsets_own_is_said_with_both() {
    let mut fake = FakeCluster::rolling(8, 4);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    let four = Tuning { max_unavailable: Some(Limit::At(IntOrPercent::Int(4))), ..Tuning::default() };
    console.ask(&mut fake, Command::Tune(four)).unwrap();
    let said = |console: &mut FakeConsole, fake: &FakeCluster| console.snapshot(fake).budget_and_slots();
    assert_eq!(said(&mut console, &fake), "down 0 of 4, pull slots 0 of 4");
    fake.set_strategy(json!({"type": "OnDelete", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}));
    console.run_for(&mut fake, 2);
    let above = "down 0 of 4, pull slots 0 of 4; 4 may be down as set for the rollout, 1 by the DaemonSet itself";
    assert_eq!(said(&mut console, &fake), above);
    // What nobody has set follows the DaemonSet.
    let own = Tuning { max_unavailable: Some(Limit::Default), ..Tuning::default() };
    console.ask(&mut fake, Command::Tune(own)).unwrap();
    assert_eq!(said(&mut console, &fake), "down 0 of 1, pull slots 0 of 1");
}

/// Kubelets do not break off a pull.
#[test]
fn an_outdated_node_says_which_image_it_still_pulls() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "registry.example/agent:v2");
    fake.slow = true;
    console.partition(&mut fake, 3);
    fake.kubelets();
    fake.change_pod("n1", |pod| {
        (pod.bound, pod.phase) = (true, PodPhase::Pending);
        pod.containers[0].image_present = false;
        pod.containers[0].state = ContainerState::Waiting { reason: "ContainerCreating".into(), message: None };
    });
    console.run_for(&mut fake, 1);
    console.set_image(&mut fake, "registry.example/agent:v3");
    console.run_for(&mut fake, 5);
    let (state, why) = console.state(&fake, "n1");
    assert_eq!(state, NodeState::Outdated);
    assert_eq!(why, "partition keeps 4; may still pull agent:v2, no longer the target");
    let uid = fake.pods.values().find(|pod| pod.node.as_deref() == Some("n1")).unwrap().uid.clone();
    let event = ClusterEvent {
        version: Some(1),
        object: uid,
        node: Some("n1".into()),
        container: Some("agent".into()),
        reason: "Pulling".into(),
        message: "Pulling image \"registry.example/agent:v2\"".into(),
        at: fake.now,
        first_at: None,
        count: 1,
        ..ClusterEvent::default()
    };
    console.engine.observe(Event::Cluster(Box::new(event)), fake.now);
    fake.wait(12);
    assert_eq!(console.state(&fake, "n1").1, "partition keeps 4; still pulls agent:v2, no longer the target, for 12s");
    fake.change_pod("n1", |pod| pod.containers[0].image_present = true);
    assert_eq!(console.state(&fake, "n1").1, "partition keeps 4");
}

/// What is adopted and nothing else has no rollout that could stop or go on: whoever pauses or resumes it is told what that means.
#[test]
fn a_pause_of_what_is_only_adopted_speaks_of_no_rollout() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut console = FakeConsole::open_as(&fake, "ops", Role::OneShot);
    console.ask(&mut fake, Command::Adopt).unwrap();
    let preview = |console: &mut FakeConsole, fake: &FakeCluster, command| {
        console.hear(fake);
        console.engine.preview(&command, fake.now).unwrap().effects
    };
    let pause = || Command::Pause { why: None };
    let first = preview(&mut console, &fake, pause());
    let says = "Nothing is rolled out now. The pause keeps the next rollout from beginning: `set-image` lifts it, and only if that is confirmed.";
    assert_eq!(first, [says]);
    let said = console.ask(&mut fake, pause()).unwrap();
    assert_eq!(said, "paused: no update starts; nothing is rolled out now");
    let snapshot = console.snapshot(&fake);
    assert_eq!(snapshot.remedies(), [Remedy::LiftPause]);
    assert_eq!(snapshot.effect_of(Remedy::LiftPause), "lifts the pause; nothing is rolled out now");
    // And so it is.
    let image = Command::SetImage([("agent".to_owned(), "agent:v2".parse().unwrap())].into());
    assert!(console.engine.preview(&image, fake.now).unwrap().lifts_pause.is_some());
    let resume = preview(&mut console, &fake, Command::Resume);
    let stays = "Nothing is rolled out: every node has the present template, and the DaemonSet stays adopted until it is released.";
    assert_eq!(resume.last().map(String::as_str), Some(stays), "{resume:#?}");
    assert_eq!(console.ask(&mut fake, Command::Resume).unwrap(), "resumed; nothing is rolled out now");
    // A rollout that has begun is spoken of as before.
    console.ask(&mut fake, image).unwrap();
    let stops = ["No update starts until resumed. Pods being replaced now finish."];
    assert_eq!(preview(&mut console, &fake, pause()), stops);
    assert_eq!(console.ask(&mut fake, pause()).unwrap(), "paused: no update starts");
    assert_eq!(console.ask(&mut fake, Command::Resume).unwrap(), "resumed");
}

/// The brake: a DaemonSet is stopped of which no rollout is recorded. To resume it moves nothing.
#[test]
fn lifting_the_pause_of_what_was_only_stopped_is_not_called_going_on() {
    let mut fake = FakeCluster::rolling(6, 2);
    fake.set_template(template("agent:v2"));
    fake.reconcile();
    fake.remove_pod("n1");
    fake.create_pod("n1");
    let mut console = FakeConsole::open(&fake, "ops");
    console.run(&mut fake);
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    let snapshot = console.snapshot(&fake);
    assert!(matches!(snapshot.phase, Phase::Paused(_)), "{:?}", snapshot.phase);
    assert_eq!(snapshot.remedies(), [Remedy::LiftPause]);
    let does = "lifts the pause, and moves nothing before a step or a release";
    assert_eq!((snapshot.effect_of(Remedy::LiftPause).as_str(), Remedy::LiftPause.to_string().as_str()), (does, does));
    console.ask(&mut fake, Command::Resume).unwrap();
    console.run_for(&mut fake, 120);
    assert_eq!((fake.deleted.len(), fake.at("hash2")), (0, 1));
    console.ask(&mut fake, Command::Step(Step::Updated(IntOrPercent::Int(2)))).unwrap();
    console.run_for(&mut fake, 120);
    assert_eq!(fake.at("hash2"), 2, "a step does");
}

#[test]
fn a_pod_that_starts_is_in_no_trouble_until_it_was_ready() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    fake.slow = true;
    console.partition(&mut fake, 3);
    fake.kubelets();
    let of = |console: &mut FakeConsole, fake: &FakeCluster| {
        let snapshot = console.snapshot(fake);
        let node = snapshot.nodes.iter().find(|node| &*node.name == "n1").unwrap();
        (node.cause.as_ref().map(|cause| cause.kind), starts_in_time(node))
    };
    console.run_for(&mut fake, 2);
    assert_eq!(of(&mut console, &fake), (Some(CauseKind::NotReady), true));
    fake.set_ready("n1", true);
    console.run_for(&mut fake, 2);
    fake.set_ready("n1", false);
    console.run_for(&mut fake, 2);
    assert_eq!(of(&mut console, &fake), (Some(CauseKind::NotReady), false));
}

/// Without the record nobody can tell whether every node was where it was to be when it was handed back.
#[test]
fn what_is_released_without_its_record_is_not_called_released_early() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 3);
    console.run_for(&mut fake, 30);
    fake.lease = None;
    console.engine.observe(Event::LeaseGone(None), fake.now);
    console.run_for(&mut fake, 5);
    console.ask(&mut fake, Command::Release(Early::Accept)).unwrap();
    for node in ["n1", "n2", "n3", "n4"] {
        fake.remove_pod(node);
        fake.create_pod(node);
    }
    console.run_for(&mut fake, 30);
    let last = console.snapshot(&fake).last_rollout().unwrap();
    assert_eq!(last.ended, RolloutEnd::NotKnown);
    assert_eq!(last.to_string(), "last rollout released without its record, how far it was is not known");
}
