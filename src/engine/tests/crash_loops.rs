//! A container that crashes again and again, and runs in between.

use std::time::Duration;

use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::Str;
use crate::engine::model::cause::CauseKind;
use crate::engine::model::command::Command;
use crate::engine::model::config::Role;
use crate::engine::model::facts::ContainerState;
use crate::engine::model::hold::Hold;
use crate::engine::model::node::NodeState;
use crate::engine::model::settings::{Secs, Tuning};
use crate::engine::model::time::Timestamp;
use crate::engine::report::diagnosis::{Diagnosis, FindingKind};
use crate::engine::report::snapshot::Snapshot;
use crate::engine::report::trouble::TroubleKind;

#[test]
fn the_age_of_a_failure_does_not_run_backwards_in_a_crash_loop() {
    let mut fake = FakeCluster::rolling(6, 1);
    fake.broken.push("agent:bad".into());
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:bad");
    console.partition(&mut fake, 5);
    console.run_for(&mut fake, 5);
    let node = fake.deleted[0].clone();
    let mut failed_since = None;
    for round in 0..4 {
        let waits = ContainerState::Waiting { reason: "CrashLoopBackOff".into(), message: None };
        let runs = ContainerState::Running { since: Some(fake.now) };
        for (state, secs) in [(runs, 6), (waits, 40)] {
            fake.change_pod(&node, |pod| {
                pod.ready = false;
                pod.containers[0].image_present = true;
                if matches!(state, ContainerState::Running { .. }) && round > 0 {
                    pod.containers[0].restarts += 1;
                }
                pod.containers[0].state = state.clone();
                pod.containers[0].last_exit = (round > 0).then_some(1);
            });
            for _ in 0..secs / 2 {
                console.run_for(&mut fake, 2);
                let snapshot = console.snapshot(&fake);
                let view = snapshot.nodes.iter().find(|view| view.name == node).unwrap();
                if view.state == NodeState::Failed {
                    let since = TroubleKind::of(view).unwrap().since(view);
                    if let Some(before) = failed_since {
                        assert!(since <= before, "younger: {since:?} after {before:?}");
                    }
                    failed_since = Some(since);
                }
            }
        }
    }
}

/// One pod of the third revision crashes, is started again and is ready for a moment, again and again. Returns, of every two seconds after it crashed first,
/// the kind of trouble of its node, since when that is, and why the next node waits.
fn told_in_a_crash_loop(crashes: u32, max_unavailable: u32) -> Vec<(Option<TroubleKind>, Option<Timestamp>, Hold)> {
    told_of_a_crash_loop(crashes, max_unavailable, |_, _| {})
}

/// The same; `look` is shown each of these snapshots, with the name of the node.
fn told_of_a_crash_loop(
    crashes: u32,
    max_unavailable: u32,
    mut look: impl FnMut(&Snapshot, &Str),
) -> Vec<(Option<TroubleKind>, Option<Timestamp>, Hold)> {
    let mut fake = FakeCluster::rolling(6, max_unavailable);
    let mut console = FakeConsole::open(&fake, "ops");
    let settings = Tuning { max_restarts: Some(99), soak_secs: Some(Secs(30)), ..Tuning::default() };
    console.ask(&mut fake, Command::Tune(settings)).unwrap();
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 4);
    console.run_for(&mut fake, 5);
    let node = fake.deleted[0].clone();
    let mut told = Vec::new();
    for round in 0..crashes {
        let ended = ContainerState::Terminated { reason: "Error".into(), exit_code: 1, message: None };
        let waits = ContainerState::Waiting { reason: "CrashLoopBackOff".into(), message: None };
        let runs = ContainerState::Running { since: Some(fake.now) };
        for (state, ready, secs) in [(runs.clone(), false, 4), (runs, true, 6), (ended, false, 2), (waits, false, 10)] {
            let now = fake.now;
            fake.change_pod(&node, |pod| {
                if pod.ready != ready {
                    pod.ready_since = Some(now);
                }
                pod.ready = ready;
                let container = &mut pod.containers[0];
                container.image_present = true;
                if matches!(container.state, ContainerState::Waiting { .. }) {
                    container.restarts = round;
                }
                container.state = state.clone();
                container.ready = ready;
                container.last_exit = (round > 0 || !ready).then_some(1);
            });
            for _ in 0..secs / 2 {
                console.run_for(&mut fake, 2);
                let snapshot = console.snapshot(&fake);
                let view = snapshot.nodes.iter().find(|view| view.name == node).unwrap();
                let waiting =
                    snapshot.nodes.iter().filter(|view| view.rank == Some(0)).find_map(|view| view.hold.clone());
                let has_ended = matches!(state, ContainerState::Terminated { .. });
                if has_ended || !told.is_empty() {
                    let kind = TroubleKind::of(view);
                    look(&snapshot, &node);
                    told.push((kind, kind.and_then(|kind| kind.since(view)), waiting.unwrap()));
                }
            }
        }
    }
    told
}

#[test]
fn the_kind_and_the_age_of_a_crash_loop_last_across_its_crashes() {
    let told = told_in_a_crash_loop(4, 1);
    let mut known = told[0].1;
    assert!(known.is_some());
    for (at, (kind, since, _)) in told.iter().enumerate() {
        assert_eq!(*kind, Some(TroubleKind::Struggling(CauseKind::CrashLoop)), "{at}");
        assert!(since.is_some() && *since <= known, "{at}: {since:?} after {known:?}");
        known = *since;
    }
}

/// Nothing halts before the pod has restarted more often than it may: what that takes is said meanwhile.
#[test]
fn a_crash_loop_says_with_how_many_restarts_it_counts_as_failed() {
    let mut said = 0;
    told_of_a_crash_loop(4, 1, |snapshot, _| {
        let findings = Diagnosis::of(snapshot).findings;
        let words = findings.iter().flat_map(|finding| &finding.evidence);
        said += words.filter(|words| words.text.ends_with("; with 100 restarts it counts as failed")).count();
    });
    assert!(said > 0, "while its container is up");
}

/// Of every two seconds of a crash loop: the state of its node and since when, the age of its trouble, and the finding about it.
#[test]
fn a_state_that_changes_starts_anew_and_the_diagnosis_has_the_age_and_the_name_of_the_trouble() {
    let mut before: Option<(NodeState, Timestamp)> = None;
    let mut changes = 0;
    told_of_a_crash_loop(4, 1, |snapshot, node| {
        let view = snapshot.nodes.iter().find(|view| view.name == *node).unwrap();
        let Some(kind) = TroubleKind::of(view) else { return };
        let since = view.since.unwrap();
        if let Some((state, known)) = before {
            match state == view.state {
                true => assert_eq!(since, known, "{state} since another instant"),
                false => {
                    changes += 1;
                    assert!(
                        since > known && snapshot.at.since(since) <= Duration::from_secs(3),
                        "{}: {since:?} after {known:?}",
                        view.state
                    );
                }
            }
        }
        before = Some((view.state, since));
        let diagnosis = Diagnosis::of(snapshot);
        let finding = diagnosis.findings.iter().find(|finding| finding.nodes.contains(node)).unwrap();
        assert_eq!((finding.title.as_str(), finding.since), ("crash loop", kind.since(view)), "{}", view.state);
        let advice: Vec<String> = finding.remedies.iter().map(|one| format!("{one:?}")).collect();
        let usual = diagnosis.findings.iter().find(|one| one.kind == FindingKind::Cause(CauseKind::CrashLoop)).unwrap();
        assert_eq!(advice, usual.remedies.iter().map(|one| format!("{one:?}")).collect::<Vec<_>>());
        assert!(!advice.is_empty());
    });
    assert!(changes >= 4, "{changes}");
}

#[test]
fn why_the_others_wait_does_not_change_with_each_crash() {
    let told = told_in_a_crash_loop(4, 1);
    for (at, (_, _, hold)) in told.iter().enumerate() {
        let Hold::Unproven { cause, .. } = hold else { panic!("{at}: {told:#?}") };
        assert_eq!(*cause, Some(CauseKind::CrashLoop), "{at}");
    }
}

/// The pods of two nodes crash again and again. One of them has crashed more often and halts the rollout; the other is up when an operator resumes.
#[test]
fn a_resume_accepts_a_crash_loop_whose_pod_is_up_at_that_moment() {
    for up in [true, false] {
        let mut fake = FakeCluster::rolling(6, 2);
        let mut console = FakeConsole::open(&fake, "ops");
        console.set_image(&mut fake, "agent:v2");
        console.partition(&mut fake, 4);
        console.run_for(&mut fake, 5);
        let [worse, other] = [fake.deleted[0].clone(), fake.deleted[1].clone()];
        let crash_once = |fake: &mut FakeCluster, console: &mut FakeConsole, nodes: &[&str]| {
            nodes.iter().for_each(|node| fake.crash(node));
            console.run_for(fake, 5);
            nodes.iter().for_each(|node| fake.restart(node));
            console.run_for(fake, 5);
        };
        crash_once(&mut fake, &mut console, &[&worse]);
        crash_once(&mut fake, &mut console, &[&worse, &other]);
        crash_once(&mut fake, &mut console, &[&worse, &other]);
        if !up {
            fake.crash(&other);
            console.run_for(&mut fake, 2);
        }
        let halt = console.snapshot(&fake).halt.expect("three restarts are too many");
        assert_eq!(halt.failed(), std::slice::from_ref(&worse));
        // Who asks has just begun to look.
        let mut ben = FakeConsole::open_as(&fake, "ben", Role::OneShot);
        let lines = ben.engine.preview(&Command::Resume, fake.now).unwrap().effects;
        let named = |node: &str| lines.iter().find(|line| line.starts_with(&format!("{node}: "))).cloned();
        assert!(named(&worse).unwrap_or_default().contains("crash loop"), "{lines:?}");
        let at_the_moment =
            if up { "crash loop, up for the moment, after the halt" } else { "crash loop, after the halt" };
        assert_eq!(named(&other), Some(format!("{other}: {at_the_moment}")), "{lines:?}");
        ben.ask(&mut fake, Command::Resume).unwrap();
        if !up {
            fake.restart(&other);
        }
        for _ in 0..3 {
            crash_once(&mut fake, &mut console, &[&other]);
            assert_eq!(console.snapshot(&fake).halt, None, "up: {up}");
        }
        // Once it was well for good, it halts as any other.
        console.run_for(&mut fake, 3_600);
        crash_once(&mut fake, &mut console, &[&other]);
        assert_eq!(console.snapshot(&fake).halt.map(|halt| halt.failed().to_vec()), Some(vec![other]), "up: {up}");
    }
}

#[test]
fn a_failure_that_an_operator_accepted_is_told_from_a_new_one() {
    let (mut fake, mut console) = super::ends::halted();
    let accepted = |console: &mut FakeConsole, fake: &FakeCluster| {
        console.snapshot(fake).nodes.iter().filter(|view| view.accepted).count()
    };
    assert_eq!(accepted(&mut console, &fake), 0);
    console.ask(&mut fake, Command::Resume).unwrap();
    console.run_for(&mut fake, 2);
    assert_eq!(accepted(&mut console, &fake), 1);
}

/// One console saw how the pod got into trouble, another one looks later: both date the trouble by what the cluster says.
#[test]
fn whoever_looks_tells_the_same_age_of_a_trouble() {
    let mut fake = FakeCluster::rolling(6, 1);
    (fake.slow, fake.holds_images) = (true, false);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 5);
    console.run_for(&mut fake, 5);
    let node = fake.deleted[0].clone();
    let unready_since = fake.now;
    fake.change_pod(&node, |pod| {
        (pod.ready, pod.ready_since) = (false, Some(unready_since));
        pod.containers[0].image_present = true;
        pod.containers[0].state = ContainerState::Waiting { reason: "ContainerCreating".into(), message: None };
    });
    console.run_for(&mut fake, 90);
    fake.change_pod(&node, |pod| {
        let message = Some("secret \"agent\" not found".into());
        pod.containers[0].state = ContainerState::Waiting { reason: "CreateContainerConfigError".into(), message };
    });
    console.run_for(&mut fake, 400);
    let since = |console: &mut FakeConsole| {
        let snapshot = console.snapshot(&fake);
        let view = snapshot.nodes.iter().find(|view| view.name == node).unwrap();
        assert_eq!(view.state, NodeState::Failed);
        view.cause_since
    };
    let mut later = FakeConsole::open(&fake, "ben");
    assert_eq!(since(&mut console), Some(unready_since));
    assert_eq!(since(&mut later), Some(unready_since));
}
