//! Deletions whose answer was lost.

use std::time::Duration;

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
