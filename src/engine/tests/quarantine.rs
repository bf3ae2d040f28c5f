//! A pod whose label is taken away and put back: on the watch it is deleted, and added again.

use super::*;
use crate::engine::effect::{Done, Effect};
use crate::engine::facts::PodFact;

/// The pod on a node as it is, at this version.
fn pod_at(lab: &Lab, node: &str, version: u64) -> PodFact {
    let pod = lab.pods.values().find(|pod| pod.node.as_deref() == Some(node)).unwrap();
    PodFact { resource_version: version.to_string().into(), ..pod.clone() }
}

fn is_seen(console: &mut Console, lab: &Lab, node: &str) -> bool {
    console.snapshot(lab).nodes.iter().any(|view| &*view.name == node && view.pod.is_some())
}

#[test]
fn a_pod_that_comes_back_newer_than_it_went_is_seen_again() {
    let mut lab = Lab::rolling(2, 1);
    let mut console = Console::open(&lab, "ops");
    let uid = pod_at(&lab, "n1", 0).uid;
    let tell = |console: &mut Console, event| console.engine.observe(event, lab.now);
    tell(&mut console, Event::PodGone(uid.clone(), Some(100)));
    assert!(!is_seen(&mut console, &lab, "n1"));
    for late in [90, 100] {
        tell(&mut console, Event::Pod(Box::new(pod_at(&lab, "n1", late))));
        assert!(!is_seen(&mut console, &lab, "n1"), "what was told before it went brings nothing back");
    }
    tell(&mut console, Event::Pod(Box::new(pod_at(&lab, "n1", 104))));
    assert!(is_seen(&mut console, &lab, "n1"), "its label was put back");
    // A watch that is taken up from an older version tells again how it went.
    tell(&mut console, Event::PodGone(uid.clone(), Some(100)));
    assert!(is_seen(&mut console, &lab, "n1"), "that was before it came back");
    tell(&mut console, Event::PodGone(uid, Some(110)));
    assert!(!is_seen(&mut console, &lab, "n1"), "and now it is gone");
    tell(&mut console, Event::Pod(Box::new(pod_at(&lab, "n1", 104))));
    assert!(!is_seen(&mut console, &lab, "n1"));
    lab.wait(1);
}

#[test]
fn what_says_nothing_of_its_version_stays_gone() {
    let lab = Lab::rolling(2, 1);
    let mut console = Console::open(&lab, "ops");
    let pod = pod_at(&lab, "n1", 104);
    console.engine.observe(Event::PodGone(pod.uid.clone(), None), lab.now);
    console.engine.observe(Event::Pod(Box::new(pod)), lab.now);
    assert!(!is_seen(&mut console, &lab, "n1"));
}

/// While a deletion of ours is on its way, a watch that tells an old disappearance again does not settle it.
#[test]
fn a_deletion_on_its_way_counts_until_its_own_pod_is_gone() {
    let mut lab = Lab::rolling(3, 1);
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    let uid = pod_at(&lab, "n1", 0).uid;
    console.engine.observe(Event::PodGone(uid.clone(), Some(100)), lab.now);
    console.engine.observe(Event::Pod(Box::new(pod_at(&lab, "n1", 104))), lab.now);
    console.mute(Watched::Pods);
    console.partition(&mut lab, 2);
    console.run(&mut lab);
    assert_eq!(lab.deleted, [crate::engine::Str::from("n1")]);
    assert_eq!(console.snapshot(&lab).budget.charged, 1);
    console.engine.observe(Event::PodGone(uid, Some(100)), lab.now);
    assert_eq!(console.snapshot(&lab).budget.charged, 1, "it went at 100, and came back since");
}

/// A pod loses its label, and has it again, while the deletion of it is on its way: it is still about to go.
#[test]
fn a_deletion_on_its_way_counts_although_its_pod_was_out_of_sight() {
    for answered_before_it_is_back in [false, true] {
        let mut lab = Lab::rolling(3, 1);
        let mut console = Console::open(&lab, "ops");
        console.set_image(&mut lab, "agent:v2");
        console.hear(&lab);
        console.engine.command(Command::Step(Step::Partition(IntOrPercent::Int(0))), lab.now).unwrap();
        let sent = loop {
            let effects = console.engine.decide(lab.now);
            assert!(!effects.is_empty(), "nothing goes");
            for (id, effect) in effects.iter().filter(|(_, effect)| !matches!(effect, Effect::DeletePod { .. })) {
                let outcome = lab.apply(effect.clone());
                console.engine.outcome(*id, outcome, lab.now);
            }
            lab.reconcile();
            console.hear(&lab);
            if let Some((id, _)) = effects.iter().find(|(_, effect)| matches!(effect, Effect::DeletePod { .. })) {
                break *id;
            }
        };
        let taken = console.engine.deletions.keys().next().unwrap().clone();
        let pod = lab.pods[&taken].clone();
        let back = PodFact { resource_version: "9104".into(), ..pod };
        console.engine.observe(Event::PodGone(taken, Some(9100)), lab.now);
        if answered_before_it_is_back {
            console.engine.outcome(sent, Ok(Done::PodDeleted), lab.now);
        }
        console.engine.observe(Event::Pod(Box::new(back)), lab.now);
        assert_eq!(console.snapshot(&lab).budget.charged, 1);
        let more = console.engine.decide(lab.now);
        assert!(!more.iter().any(|(_, effect)| matches!(effect, Effect::DeletePod { .. })), "{more:?}");
    }
}
