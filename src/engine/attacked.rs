//! What the attack found, in a test tube: each once broke a promise.

use std::time::Duration;

use super::Engine;
use super::effect::{Effect, EffectId};
use super::lab::{Console, Lab};
use super::record::Record;

mod daemonset;
mod lease;
mod nodes;
mod view;

fn record(lab: &Lab) -> Record {
    lab.lease.as_ref().and_then(|lease| lease.record.clone().unwrap()).unwrap()
}

/// Lets a console go on until it decides something that `stops` it: that is not sent, and returned.
fn stand_still(
    lab: &mut Lab,
    console: &mut Console,
    stops: impl Fn(&Engine, &Effect) -> bool,
) -> Vec<(EffectId, Effect)> {
    let until = lab.now + Duration::from_secs(600);
    while lab.now < until {
        let effects = console.engine.decide(lab.now);
        let at_rest = effects.is_empty();
        let (held, sent): (Vec<_>, Vec<_>) =
            effects.into_iter().partition(|(_, effect)| stops(&console.engine, effect));
        for (id, effect) in sent {
            let outcome = lab.apply(effect);
            console.engine.outcome(id, outcome, lab.now);
        }
        if !held.is_empty() {
            return held;
        }
        lab.reconcile();
        if at_rest {
            lab.wait(1);
            lab.kubelets();
        }
        console.hear(lab);
    }
    panic!("it never came to that");
}
