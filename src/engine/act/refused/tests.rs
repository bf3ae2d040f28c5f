//! Pods that may not be deleted.

use std::time::Duration;

use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::command::{Command, Takeover};
use crate::engine::model::effect::EffectErrorKind;
use crate::engine::model::node::NodeState;
use crate::engine::report::snapshot::{Alarm, Phase};

/// A rollout to v2 over `count` nodes with a budget of 1, where the pods of `nodes` may not be deleted.
fn rollout(count: usize, nodes: &[&str], kind: EffectErrorKind) -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(count, 1);
    fake.undeletable = nodes.iter().map(|node| ((*node).into(), kind)).collect();
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 0);
    (fake, console)
}

fn tries(fake: &FakeCluster, node: &str) -> usize {
    fake.denied.iter().filter(|(denied, _)| &**denied == node).count()
}

#[test]
fn one_pod_that_may_not_be_deleted_holds_its_node_and_no_other() {
    for kind in [EffectErrorKind::Forbidden, EffectErrorKind::Invalid] {
        let (mut fake, mut console) = rollout(20, &["n1"], kind);
        console.run_for(&mut fake, 5);
        assert_eq!(console.state(&fake, "n1"), (NodeState::Outdated, "deletion refused: denied by policy".into()));
        let alarms = console.snapshot(&fake).alarms;
        assert!(matches!(&*alarms, [Alarm::DeletionRefused { count: 1, others: true, .. }]), "{alarms:?}");
        console.run_for(&mut fake, 40);
        assert_eq!((fake.at("hash2"), fake.worst_down), (19, 1));
        let snapshot = console.snapshot(&fake);
        assert_eq!((snapshot.phase, snapshot.counts.updated), (Phase::Running, 19), "it is not complete");
        assert_eq!(
            snapshot.alarms[0].to_string(),
            "deletion refused on n1, tried again by itself; nothing else is left to update: denied by policy"
        );
        // Who looks on knows it as well.
        let mut other = FakeConsole::open(&fake, "eve");
        assert_eq!(other.state(&fake, "n1").1, "deletion refused: denied by policy");
        assert!(matches!(&*other.snapshot(&fake).alarms, [Alarm::DeletionRefused { others: false, .. }]));

        fake.undeletable.clear();
        console.run_for(&mut fake, 400);
        assert_eq!(fake.at("hash2"), 20, "it is tried again by itself");
        assert_eq!(console.snapshot(&fake).phase, Phase::Idle, "complete, and handed back");
    }
}

#[test]
fn it_is_tried_ever_more_seldom() {
    let (mut fake, mut console) = rollout(5, &["n1"], EffectErrorKind::Forbidden);
    console.run_for(&mut fake, 3_600);
    let at: Vec<u64> = fake.denied.iter().map(|(_, at)| at.since(fake.denied[0].1).as_secs()).collect();
    assert!((8..20).contains(&at.len()), "{at:?}");
    let gaps: Vec<u64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!((10..15).contains(&gaps[0]) && gaps.iter().all(|gap| *gap <= 310), "{gaps:?}");
    assert!(gaps.is_sorted() || gaps.windows(2).all(|pair| pair[1] + 5 >= pair[0]), "{gaps:?}");
}

#[test]
fn it_is_tried_at_once_where_its_pod_changed_or_somebody_resumed() {
    let (mut fake, mut console) = rollout(5, &["n1"], EffectErrorKind::Invalid);
    console.run_for(&mut fake, 400);
    let before = tries(&fake, "n1");
    // A label was taken off it, say.
    fake.change_pod("n1", |_| {});
    console.run_for(&mut fake, 2);
    assert_eq!(tries(&fake, "n1"), before + 1);
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    console.ask(&mut fake, Command::Resume).unwrap();
    console.run_for(&mut fake, 2);
    assert_eq!(tries(&fake, "n1"), before + 2);
}

#[test]
fn several_in_a_row_are_no_matter_of_one_pod() {
    let all = ["n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9", "n10"];
    let (mut fake, mut console) = rollout(10, &all, EffectErrorKind::Forbidden);
    console.run_for(&mut fake, 10);
    assert_eq!(fake.denied.len(), 3, "three different ones: {:?}", fake.denied);
    let alarms = console.snapshot(&fake).alarms;
    let [Alarm::DeletionsRefused { why }] = &*alarms else { panic!("{alarms:?}") };
    assert!(why.contains("denied by policy"));
    console.run_for(&mut fake, 300);
    assert!(fake.denied.len() <= 14, "one at a time, twice a minute: {}", fake.denied.len());
    let before = fake.denied.len();
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    console.ask(&mut fake, Command::Resume).unwrap();
    console.run_for(&mut fake, 2);
    assert_eq!(fake.denied.len(), before + 1, "at once where somebody resumes");
    console.ask(&mut fake, Command::StopDriving).unwrap();
    let alarms = console.snapshot(&fake).alarms;
    assert!(matches!(&*alarms, [Alarm::WriteRefused { .. }]), "nobody tries again: {alarms:?}");
    console.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    fake.undeletable.clear();
    console.run_for(&mut fake, 400);
    assert_eq!(fake.at("hash2"), 10);
    assert!(fake.worst_down <= 1);
}

#[test]
fn whoever_answers_nothing_goes_last() {
    let (mut fake, mut console) = rollout(6, &["n1"], EffectErrorKind::Unknown);
    console.run_for(&mut fake, 90);
    assert_eq!(fake.at("hash2"), 5, "it counts against the budget until that is known, then the others go");
}

#[test]
fn a_refused_node_makes_room_for_another_under_the_partition() {
    let mut fake = FakeCluster::rolling(10, 1);
    fake.undeletable = [("n1".into(), EffectErrorKind::Forbidden)].into();
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 9);
    console.run_for(&mut fake, 20);
    assert_eq!(fake.deleted, ["n2".into()]);
    assert_eq!(console.snapshot(&fake).phase, Phase::Held);
    assert_eq!(fake.denied.len(), 1, "nothing is tried that could not go");
    console.run_for(&mut fake, Duration::from_secs(600).as_secs());
    assert_eq!(fake.denied.len(), 1);
}
