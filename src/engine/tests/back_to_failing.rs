//! Roll backs to a revision that fails: partition, steps and gates do not count on the way back.

use std::time::Duration;

use super::*;
use crate::engine::model::Str;
use crate::engine::model::facts::PodFact;
use crate::engine::model::settings::Limit;
use crate::engine::report::remedies::Remedy;

/// Twelve nodes that are well at v2, and a console; v1 was there before.
fn at_the_second() -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(12, 2);
    fake.set_template(template("agent:v2"));
    fake.reconcile();
    for node in fake.nodes.keys().cloned().collect::<Vec<_>>() {
        fake.remove_pod(&node);
    }
    fake.reconcile();
    fake.wait(60);
    let mut console = FakeConsole::open(&fake, "ops");
    console.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash2"), 12);
    (fake, console)
}

/// A second goes by, in which pods at v1 that have been up for five seconds crash, and are ready again four seconds later.
fn a_second(fake: &mut FakeCluster, console: &mut FakeConsole) {
    console.run_for(fake, 1);
    let now = fake.now;
    let first = |pod: &&PodFact| pod.revision.as_deref() == Some("hash1");
    let nodes: Vec<(Str, u64)> = fake
        .pods
        .values()
        .filter(first)
        .map(|pod| (pod.node.clone().unwrap(), now.since(pod.created_at).as_secs()))
        .collect();
    for (node, age) in nodes {
        match age % 12 {
            5 => fake.change_pod(&node, |pod| {
                pod.ready = false;
                pod.containers[0].restarts += 1;
                pod.containers[0].last_exit = Some(1);
            }),
            9 => fake.set_ready(&node, true),
            _ => {}
        }
    }
}

/// On a fleet that is well no more pods that serve are replaced than may be down, until a node shows that the revision works.
#[test]
fn a_revision_that_crashes_once_ready_gets_no_more_nodes_than_may_be_down() {
    let (mut fake, mut console) = at_the_second();
    console.ask(&mut fake, Command::Undo { to: Some(1) }).unwrap();
    for _ in 0..300 {
        a_second(&mut fake, &mut console);
    }
    let snapshot = console.snapshot(&fake);
    let held = snapshot.nodes.iter().filter(|node| matches!(node.hold, Some(Hold::Unproven { .. }))).count();
    assert_eq!((fake.deleted.len(), held), (2, 10), "{:?}", snapshot.alarms);
    // An `undo` that names no revision would be refused, and is not offered.
    let guidance = snapshot.guidance().unwrap();
    assert_eq!(guidance.waits, "10 nodes wait while the new revision is in trouble");
    assert!(
        guidance.remedies.contains(&Remedy::SetImage) && !guidance.remedies.contains(&Remedy::Undo),
        "{guidance:?}"
    );
    // A larger budget lets one more try: the first ones may be broken by themselves.
    let three = Tuning { max_unavailable: Some(Limit::At(IntOrPercent::Int(3))), ..Tuning::default() };
    console.ask(&mut fake, Command::Tune(three)).unwrap();
    for _ in 0..60 {
        a_second(&mut fake, &mut console);
    }
    assert_eq!(fake.deleted.len(), 3);
    // Another revision takes the three along, and nobody else.
    console.ask(&mut fake, Command::Undo { to: Some(2) }).unwrap();
    console.run_for(&mut fake, 60);
    assert_eq!((fake.at("hash2"), fake.deleted.len()), (12, 6));
}

/// One that works is held up once, for as long as its first pods need to show it.
#[test]
fn a_revision_that_works_gets_all_nodes_after_the_first_have_stayed_up() {
    let (mut fake, mut console) = at_the_second();
    let preview = console.engine.preview(&Command::Undo { to: Some(1) }, fake.now).unwrap();
    let says = "No node shows now that this revision works: 2 pods that serve are replaced at first, the others once one of those has stayed up for 10s.";
    assert!(preview.effects.contains(&says.to_owned()), "{:?}", preview.effects);
    console.ask(&mut fake, Command::Undo { to: Some(1) }).unwrap();
    console.run_for(&mut fake, 8);
    assert_eq!(fake.deleted.len(), 2, "nothing shows yet that it works");
    console.run_for(&mut fake, 30);
    assert_eq!((fake.at("hash1"), fake.deleted.len()), (12, 12));
}

/// Where no pod serves, nothing is held back for pods that do, and the preview speaks of none.
#[test]
fn a_roll_back_on_a_fleet_on_which_no_pod_serves_speaks_of_none_that_does() {
    let (mut fake, mut console) = at_the_second();
    for node in fake.nodes.keys().cloned().collect::<Vec<_>>() {
        fake.set_ready(&node, false);
    }
    console.run_for(&mut fake, 5);
    let preview = console.engine.preview(&Command::Undo { to: Some(1) }, fake.now).unwrap();
    assert!(preview.nodes.len() > 2, "{:?}", preview.nodes);
    let speaks = preview.effects.iter().chain(&preview.warnings).find(|line| line.contains("pods that serve"));
    assert_eq!(speaks, None);
}

/// Pods that do not serve go first, and what becomes of them shows whether the revision works: the preview says in one line which nodes go, and what
/// the others wait for.
#[test]
fn pods_that_are_down_show_first_whether_the_revision_works() {
    let both = "12 nodes are not at that revision, and n4, n5 go at once, the others wait: 2 nodes are down already (n4, n5), and 2 may be. These \
                move once one of those is well again and has stayed up for 10s (no node shows now that this revision works), or with a larger budget.";
    let three = "2 may be. These move once 2 of those are well again, and one of them has stayed up for 10s (no node shows now that this revision works)";
    let one = "No node shows now that this revision works: 1 pod that serves is replaced at first, the others once one of the new pods has stayed up for 10s.";
    for (down, says, at_first) in [
        (&["n4"][..], one, &["n4", "n1"][..]),
        (&["n4", "n5"], both, &["n4", "n5"]),
        (&["n4", "n5", "n6"], three, &["n4", "n5", "n6"]),
    ] {
        let (mut fake, mut console) = at_the_second();
        for node in down {
            fake.set_ready(node, false);
        }
        console.run_for(&mut fake, 5);
        let effects = console.engine.preview(&Command::Undo { to: Some(1) }, fake.now).unwrap().effects;
        let told: Vec<&String> = effects.iter().filter(|line| line.contains("now that this revision works")).collect();
        assert!(told.len() == 1 && told[0].contains(says), "{effects:#?}");
        console.ask(&mut fake, Command::Undo { to: Some(1) }).unwrap();
        console.run_for(&mut fake, 8);
        assert_eq!(fake.deleted, at_first.iter().map(|node| (*node).into()).collect::<Vec<Str>>(), "{down:?}");
        console.run_for(&mut fake, 40);
        assert_eq!(fake.at("hash1"), 12, "{down:?}");
    }
}

/// Nodes that were down before the rollout take nothing of the budget, and count all the same among those that show whether the revision works.
#[test]
fn pods_that_were_down_before_show_first_whether_the_revision_works() {
    let (mut fake, mut console) = at_the_second();
    for node in ["n4", "n5"] {
        fake.set_ready(node, false);
    }
    console.run_for(&mut fake, 1200);
    console.set_image(&mut fake, "agent:v3");
    console.run_for(&mut fake, 5);
    let effects = console.engine.preview(&Command::Undo { to: Some(1) }, fake.now).unwrap().effects;
    let says = "No node shows now that this revision works: no pod that serves is replaced before one of the new pods has stayed up for 10s.";
    assert!(effects.iter().any(|line| line == says), "{effects:#?}");
    console.ask(&mut fake, Command::Undo { to: Some(1) }).unwrap();
    console.run_for(&mut fake, 8);
    assert_eq!(fake.deleted, ["n4".into(), "n5".into()] as [Str; 2]);
}

/// Where a node never left the revision, that shows that it works.
#[test]
fn a_revision_that_nodes_never_left_is_gone_back_to_without_delay() {
    let mut fake = FakeCluster::rolling(12, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 2);
    console.run_for(&mut fake, 120);
    assert_eq!(fake.at("hash2"), 10);
    let before = fake.deleted.len();
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 9);
    assert!(fake.deleted.len() - before > 2, "{:?}", fake.deleted);
}

/// When the rollout began is recorded by the API server's clock, which dates pods: the next driver, whose clock is another one, tells by it which pods the way back
/// has made.
#[test]
fn when_it_began_does_not_depend_on_the_clock_of_who_began_it() {
    let mut fake = FakeCluster::rolling(12, 1);
    let mut ada = FakeConsole::open(&fake, "ada");
    let ahead = Duration::from_secs(2 * 3_600);
    ada.engine.observe(Event::Skew(-i64::try_from(ahead.as_millis()).unwrap()), fake.now);
    ada.set_image(&mut fake, "agent:v2");
    ada.partition(&mut fake, 11);
    ada.run_for(&mut fake, 5);
    let record = fake.lease.as_ref().and_then(|lease| lease.record.clone().unwrap()).unwrap();
    let began = record.progress.started_at.unwrap() + ahead;
    assert!(fake.now.since(began) < Duration::from_secs(10) && began <= fake.now, "{began:?} {:?}", fake.now);
    let told = ada.snapshot(&fake).started_at.unwrap();
    assert_eq!(told, began, "shown by our own clock");
}

/// What failed does not come next on the way back: the preview says that a larger budget helps.
#[test]
fn a_roll_back_that_waits_for_the_budget_offers_a_larger_one() {
    let mut fake = FakeCluster::rolling(12, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 8);
    console.run_for(&mut fake, 120);
    assert_eq!(fake.at("hash2"), 4);
    fake.broken.push("agent:v2".into());
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 900);
    let preview = console.engine.preview(&Command::Undo { to: None }, fake.now).unwrap();
    let said = preview.effects.join("\n");
    assert!(said.contains("or with a larger budget"), "{said}");
    assert!(!said.contains("would only give the revision that failed to more nodes"), "{said}");
}
