//! A pod whose label is taken away and put back: on the watch it is deleted, and added again.

use super::*;
use crate::engine::model::effect::{Done, Effect};
use crate::engine::model::facts::PodFact;

/// The pod on a node as it is, at this version.
fn pod_at(fake: &FakeCluster, node: &str, version: u64) -> PodFact {
    let pod = fake.pods.values().find(|pod| pod.node.as_deref() == Some(node)).unwrap();
    PodFact { resource_version: version.to_string().into(), ..pod.clone() }
}

fn is_listed(console: &mut FakeConsole, fake: &FakeCluster, node: &str) -> bool {
    console.snapshot(fake).nodes.iter().any(|view| &*view.name == node && view.pod.is_some())
}

#[test]
fn a_pod_that_comes_back_newer_than_it_went_is_seen_again() {
    let mut fake = FakeCluster::rolling(2, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let uid = pod_at(&fake, "n1", 0).uid;
    let tell = |console: &mut FakeConsole, event| console.engine.observe(event, fake.now);
    tell(&mut console, Event::PodGone(uid.clone(), Some(100)));
    assert!(!is_listed(&mut console, &fake, "n1"));
    for late in [90, 100] {
        tell(&mut console, Event::Pod(Box::new(pod_at(&fake, "n1", late))));
        assert!(!is_listed(&mut console, &fake, "n1"), "what was told before it went brings nothing back");
    }
    tell(&mut console, Event::Pod(Box::new(pod_at(&fake, "n1", 104))));
    assert!(is_listed(&mut console, &fake, "n1"), "its label was put back");
    // A watch that is taken up from an older version tells again how it went.
    tell(&mut console, Event::PodGone(uid.clone(), Some(100)));
    assert!(is_listed(&mut console, &fake, "n1"), "that was before it came back");
    tell(&mut console, Event::PodGone(uid, Some(110)));
    assert!(!is_listed(&mut console, &fake, "n1"), "and now it is gone");
    tell(&mut console, Event::Pod(Box::new(pod_at(&fake, "n1", 104))));
    assert!(!is_listed(&mut console, &fake, "n1"));
    fake.wait(1);
}

#[test]
fn what_says_nothing_of_its_version_stays_gone() {
    let fake = FakeCluster::rolling(2, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let pod = pod_at(&fake, "n1", 104);
    console.engine.observe(Event::PodGone(pod.uid.clone(), None), fake.now);
    console.engine.observe(Event::Pod(Box::new(pod)), fake.now);
    assert!(!is_listed(&mut console, &fake, "n1"));
}

/// While a deletion of ours is on its way, a watch that tells an old disappearance again does not settle it.
#[test]
fn a_deletion_on_its_way_counts_until_its_own_pod_is_gone() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    let uid = pod_at(&fake, "n1", 0).uid;
    console.engine.observe(Event::PodGone(uid.clone(), Some(100)), fake.now);
    console.engine.observe(Event::Pod(Box::new(pod_at(&fake, "n1", 104))), fake.now);
    console.mute(Watched::Pods);
    console.partition(&mut fake, 2);
    console.run(&mut fake);
    assert_eq!(fake.deleted, [crate::engine::model::Str::from("n1")]);
    assert_eq!(console.snapshot(&fake).budget.charged, 1);
    console.engine.observe(Event::PodGone(uid, Some(100)), fake.now);
    assert_eq!(console.snapshot(&fake).budget.charged, 1, "it went at 100, and came back since");
}

/// A pod loses its label, and has it again, while the deletion of it is on its way: it is still about to go.
#[test]
fn a_deletion_on_its_way_counts_although_its_pod_was_out_of_sight() {
    for answered_before_it_is_back in [false, true] {
        let mut fake = FakeCluster::rolling(3, 1);
        let mut console = FakeConsole::open(&fake, "ops");
        console.set_image(&mut fake, "agent:v2");
        console.hear(&fake);
        console.engine.command(Command::Step(Step::Partition(IntOrPercent::Int(0))), fake.now).unwrap();
        let sent = loop {
            let effects = console.engine.decide(fake.now);
            assert!(!effects.is_empty(), "nothing goes");
            for (id, effect) in effects.iter().filter(|(_, effect)| !matches!(effect, Effect::DeletePod { .. })) {
                let outcome = fake.apply(effect.clone());
                console.engine.outcome(*id, outcome, fake.now);
            }
            fake.reconcile();
            console.hear(&fake);
            if let Some((id, _)) = effects.iter().find(|(_, effect)| matches!(effect, Effect::DeletePod { .. })) {
                break *id;
            }
        };
        let in_progress = console.engine.deletions.pods().next().unwrap().clone();
        let pod = fake.pods[&in_progress].clone();
        let back = PodFact { resource_version: "9104".into(), ..pod };
        console.engine.observe(Event::PodGone(in_progress, Some(9100)), fake.now);
        if answered_before_it_is_back {
            console.engine.outcome(sent, Ok(Done::PodDeleted), fake.now);
        }
        console.engine.observe(Event::Pod(Box::new(back)), fake.now);
        assert_eq!(console.snapshot(&fake).budget.charged, 1);
        let more = console.engine.decide(fake.now);
        assert!(!more.iter().any(|(_, effect)| matches!(effect, Effect::DeletePod { .. })), "{more:?}");
    }
}
