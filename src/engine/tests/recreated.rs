//! A DaemonSet that is being deleted, or was deleted and made anew under the same name.

use super::*;
use crate::engine::record::Record;

fn rolling() -> serde_json::Value {
    json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}})
}

/// The record on the Lease, whoever it is about.
fn saved(lab: &Lab) -> Option<Record> {
    lab.lease.as_ref().and_then(|lease| lease.record.clone().unwrap())
}

#[test]
fn nothing_is_taken_from_under_a_daemonset_that_is_being_deleted() {
    let mut lab = Lab::rolling(6, 2);
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    lab.slow = true;
    console.partition(&mut lab, 0);
    lab.kubelets();
    let taken = lab.deleted.clone();
    assert_eq!(taken.len(), 2);
    lab.begin_deletion();
    taken.iter().for_each(|node| lab.set_ready(node, true));
    console.run_for(&mut lab, 60);
    assert_eq!(lab.deleted, taken, "there is room in the budget, but a pod that is deleted now does not come back");
    let snapshot = console.snapshot(&lab);
    assert!(snapshot.alarms.contains(&Alarm::BeingDeleted), "{:?}", snapshot.alarms);
    assert_eq!(snapshot.phase, Phase::Held);
    let held = snapshot.nodes.iter().find(|node| node.state == NodeState::Outdated).unwrap();
    assert_eq!(held.hold, Some(Hold::BeingDeleted));
    let refused = console.ask(&mut lab, Command::Step(Step::Next)).unwrap_err();
    assert!(refused.contains("being deleted"), "{refused}");
    console.ask(&mut lab, Command::Pause { why: None }).unwrap();
}

/// `--cascade=orphan`, held by a finalizer: the pods run on without an owner, and their nodes have none of the DaemonSet's.
#[test]
fn nodes_without_a_pod_are_held_while_their_daemonset_is_being_deleted() {
    let mut lab = Lab::rolling(4, 2);
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    console.partition(&mut lab, 3);
    console.run_for(&mut lab, 10);
    lab.begin_deletion();
    let held = console.snapshot(&lab).nodes.iter().filter(|node| node.hold == Some(Hold::BeingDeleted)).count();
    assert_eq!(held, 3, "those that the partition would keep, too");
    for nth in 1..=4 {
        lab.change_pod(&format!("n{nth}"), |pod| pod.owner = None);
    }
    console.run_for(&mut lab, 120);
    let snapshot = console.snapshot(&lab);
    assert_eq!(snapshot.nodes.len(), 4);
    for node in snapshot.nodes.iter() {
        assert_eq!((&node.hold, &node.pod_wait), (&Some(Hold::BeingDeleted), &None), "{node:?}");
        assert_eq!(console.state(&lab, &node.name), (NodeState::Creating, "its DaemonSet is being deleted".into()));
    }
    assert!(
        !snapshot.alarms.iter().any(|alarm| matches!(alarm, Alarm::ControllerIdle { .. })),
        "{:?}",
        snapshot.alarms
    );
}

#[test]
fn a_record_says_nothing_about_another_daemonset_of_the_same_name() {
    let mut lab = Lab::rolling(6, 2);
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    console.partition(&mut lab, 5);
    console.run_for(&mut lab, 10);
    assert_eq!(lab.at("hash2"), 1);
    lab.slow = true;
    console.partition(&mut lab, 0);
    lab.kubelets();
    lab.slow = false;
    assert_eq!(lab.deleted.len(), 3, "three more are to go");
    let first = saved(&lab).unwrap();
    assert_eq!(first.daemonset_uid.as_deref(), Some("ds"));

    lab.recreate(rolling());
    let taken = lab.deleted.len();
    // Both the console that drove it and one that is opened now.
    let mut other = Console::open(&lab, "eve");
    for _ in 0..30 {
        console.run_for(&mut lab, 1);
        other.run_for(&mut lab, 1);
    }
    assert_eq!(lab.deleted.len(), taken, "it was another DaemonSet that this was asked for");
    assert_eq!(lab.daemonset.strategy.kind, crate::engine::facts::StrategyKind::RollingUpdate);
    for console in [&mut console, &mut other] {
        let snapshot = console.snapshot(&lab);
        assert!(snapshot.alarms.contains(&Alarm::ForeignRecord), "{:?}", snapshot.alarms);
        assert_eq!(snapshot.started_at, None);
    }
    assert_eq!(saved(&lab).unwrap().daemonset_uid, first.daemonset_uid, "nobody drops it by himself");

    // A new rollout replaces it.
    other.set_image(&mut lab, "agent:v3");
    let second = saved(&lab).unwrap();
    assert_eq!(second.daemonset_uid, Some(lab.daemonset.uid.clone()));
    assert_eq!(second.intent.partition, IntOrPercent::Percent(100), "nothing moves before its first step");
    other.partition(&mut lab, 0);
    other.run_for(&mut lab, 60);
    assert_eq!(lab.at("hash3"), 6);
    assert!(!other.snapshot(&lab).alarms.contains(&Alarm::ForeignRecord));
}

#[test]
fn a_release_drops_the_record_of_an_earlier_daemonset() {
    let mut lab = Lab::rolling(4, 1);
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    lab.recreate(rolling());
    console.run_for(&mut lab, 5);
    assert!(saved(&lab).is_some());
    console.ask(&mut lab, Command::Release(Early::Refuse)).unwrap();
    assert_eq!(saved(&lab), None);
    assert_eq!(lab.daemonset.strategy.raw, rolling(), "and changes nothing else");
}

#[test]
fn a_record_without_a_uid_is_believed_and_gets_it() {
    let mut lab = Lab::rolling(4, 1);
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    drop(console);
    let mut lease = lab.lease.clone().unwrap();
    lease.record = Ok(Some(Record { daemonset_uid: None, ..saved(&lab).unwrap() }));
    lab.lease = Some(lease);
    let mut console = Console::open(&lab, "eve");
    lab.wait(20);
    console.partition(&mut lab, 0);
    assert_eq!(saved(&lab).unwrap().daemonset_uid.as_deref(), Some("ds"));
    console.run_for(&mut lab, 60);
    assert_eq!(lab.at("hash2"), 4);
}

/// What was asked of the one that is gone is not done to the other; a pause is, as it can do no harm.
#[test]
fn a_command_that_is_under_way_is_not_carried_over() {
    let mut lab = Lab::rolling(4, 1);
    let mut console = Console::open(&lab, "ops");
    let images = [("agent".to_owned(), "agent:v2".parse().unwrap())].into();
    let id = console.engine.command(Command::SetImage(images), lab.now).unwrap();
    lab.recreate(rolling());
    console.run_for(&mut lab, 10);
    let answer = console.settled.iter().find(|(settled, _)| *settled == id).map(|(_, answer)| answer.clone());
    let why = answer.unwrap().unwrap_err();
    assert!(why.contains("made anew"), "{why}");
    assert_eq!((lab.lease.is_none(), lab.daemonset.strategy.raw.clone()), (true, rolling()));
}

/// A watch that is late tells of the old one after the new one was seen.
#[test]
fn a_daemonset_that_is_gone_is_not_brought_back_by_what_is_late() {
    let mut lab = Lab::rolling(4, 1);
    let mut console = Console::open(&lab, "ops");
    let old = lab.daemonset.clone();
    lab.recreate(rolling());
    console.run(&mut lab);
    let uid = |console: &Console| console.engine.view.daemonset.as_ref().map(|daemonset| daemonset.uid.clone());
    assert_eq!(uid(&console), Some(lab.daemonset.uid.clone()));
    console.engine.observe(Event::DaemonSet(Box::new(old.clone())), lab.now);
    assert_eq!(uid(&console), Some(lab.daemonset.uid.clone()));
    console.engine.observe(Event::DaemonSetGone, lab.now);
    console.engine.observe(Event::DaemonSet(Box::new(old)), lab.now);
    assert_eq!(uid(&console), None);
}
