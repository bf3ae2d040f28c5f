//! Deletions whose answer was lost.

use std::time::Duration;

use super::prewarm::warming;
use super::story::{told, watch};
use super::*;
use crate::engine::model::effect::{Effect, EffectError, EffectErrorKind};
use crate::engine::model::pod_wait::PodWait;
use crate::engine::report::story::Story;

/// A deletion that was sent is an intention until the API server answers or a watch shows it: where it was never made, nothing has happened.
#[test]
fn a_deletion_that_was_never_made_is_no_part_of_the_story() {
    let mut fake = FakeCluster::rolling(6, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let mut story = Story::default();
    watch(&mut story, &mut console, &mut fake, 2);
    console.set_image(&mut fake, "agent:v2");
    console.engine.command(Command::Step(Step::Partition(IntOrPercent::Int(5))), fake.now).unwrap();
    let mut lost = 0;
    while lost == 0 {
        console.hear(&fake);
        for (id, effect) in console.engine.decide(fake.now) {
            let outcome = match effect {
                Effect::DeletePod { .. } => {
                    lost += 1;
                    let (kind, message) = (EffectErrorKind::Unknown, "no answer".into());
                    Err(EffectError { kind, message, dry_run: false })
                }
                effect => fake.apply(effect),
            };
            console.engine.outcome(id, outcome, fake.now);
        }
        fake.reconcile();
        fake.now = fake.now + Duration::from_millis(100);
    }
    story.observe(&console.snapshot(&fake));
    let waits = console.snapshot(&fake).nodes.iter().find(|node| node.state == NodeState::Terminating).unwrap().clone();
    assert!(matches!(waits.pod_wait.as_deref(), Some(PodWait::DeletionLost { .. })), "{waits:?}");
    assert_eq!(told(&story, &waits.name), [""; 0]);
    watch(&mut story, &mut console, &mut fake, 120);
    assert_eq!(fake.at("hash2"), 1);
    // Another node was next meanwhile, so that this one waits; its pod has served all the time.
    let state = console.snapshot(&fake).nodes.iter().find(|node| node.name == waits.name).map(|node| node.state);
    assert_eq!((state, told(&story, &waits.name)), (Some(NodeState::Outdated), Vec::new()));
}

/// Until it is known whether a pod for pre-warming was made, the next driver would count its node as one that does not pull: the lease stays held.
#[test]
fn the_lease_is_kept_until_creations_are_answered() {
    let (mut fake, mut console) = warming();
    console.run_for(&mut fake, 10);
    fake.warm_arrives("n2");
    console.hear(&fake);
    let mut created = Vec::new();
    for (id, effect) in console.engine.decide(fake.now) {
        match effect {
            Effect::CreateWarmPod { .. } => created.push((id, effect)),
            effect => {
                let outcome = fake.apply(effect);
                console.engine.outcome(id, outcome, fake.now);
            }
        }
    }
    let [(id, creation)] = <[_; 1]>::try_from(created).unwrap();
    console.engine.command(Command::StopDriving, fake.now).unwrap();
    let holder = |fake: &FakeCluster| fake.lease.as_ref().unwrap().holder.clone();
    console.run_for(&mut fake, 5);
    assert!(holder(&fake).is_some(), "the creation is not answered");
    let outcome = fake.apply(creation);
    console.engine.outcome(id, outcome, fake.now);
    console.run_for(&mut fake, 2);
    assert_eq!((holder(&fake), fake.warm_nodes().len()), (None, 3));
}

/// The API server that took a deletion stands still, and may carry it out as long as it keeps the request: no other node is taken meanwhile.
#[test]
fn a_lost_deletion_counts_for_as_long_as_a_server_may_carry_it_out() {
    let mut fake = FakeCluster::rolling(6, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.engine.command(Command::Step(Step::Partition(IntOrPercent::Int(0))), fake.now).unwrap();
    let mut taken = None;
    while taken.is_none() {
        console.hear(&fake);
        for (id, effect) in console.engine.decide(fake.now) {
            let outcome = if let Effect::DeletePod { .. } = effect {
                taken = Some(effect);
                Err(EffectError { kind: EffectErrorKind::Unknown, message: "no answer".into(), dry_run: false })
            } else {
                fake.apply(effect)
            };
            console.engine.outcome(id, outcome, fake.now);
        }
        fake.reconcile();
        fake.now = fake.now + Duration::from_millis(100);
    }
    console.run_for(&mut fake, 55);
    assert!(fake.deleted.is_empty(), "{:?}", fake.deleted);
    // It is carried out now, and counts until its node is back.
    let late = match taken {
        Some(Effect::DeletePod { name, uid, node, .. }) => {
            let not_after = fake.now;
            fake.apply(Effect::DeletePod { name, uid, node, not_after })
        }
        _ => unreachable!(),
    };
    late.unwrap();
    console.run_for(&mut fake, 200);
    assert_eq!((fake.at("hash2"), fake.worst_down), (6, 1));
}
