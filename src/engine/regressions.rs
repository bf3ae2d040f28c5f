//! Regression tests on the fake cluster. Each reproduces a defect that the attack found and that broke a promise.

use std::time::Duration;

use super::Engine;
use super::fake_cluster::{FakeCluster, FakeConsole};
use super::model::effect::{Effect, EffectId};
use super::model::record::Record;

mod braked;
mod daemonset;
mod lease;
mod nodes;
mod view;

fn record(fake: &FakeCluster) -> Record {
    fake.lease.as_ref().and_then(|lease| lease.record.clone().unwrap()).unwrap()
}

/// Lets a console go on until it decides on an effect that `stops` it. That effect is not sent, but returned.
fn stand_still(
    fake: &mut FakeCluster,
    console: &mut FakeConsole,
    stops: impl Fn(&Engine, &Effect) -> bool,
) -> Vec<(EffectId, Effect)> {
    let until = fake.now + Duration::from_secs(600);
    while fake.now < until {
        let effects = console.engine.decide(fake.now);
        let at_rest = effects.is_empty();
        let (held, sent): (Vec<_>, Vec<_>) =
            effects.into_iter().partition(|(_, effect)| stops(&console.engine, effect));
        for (id, effect) in sent {
            let outcome = fake.apply(effect);
            console.engine.outcome(id, outcome, fake.now);
        }
        if !held.is_empty() {
            return held;
        }
        fake.reconcile();
        if at_rest {
            fake.wait(1);
            fake.kubelets();
        }
        console.hear(fake);
    }
    panic!("it never came to that");
}
