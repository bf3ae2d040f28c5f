//! The ledger of a DaemonSet in a simulated cluster: every change of every pod is entered, as by a watch.

use rolldeck::engine::model::facts::ContainerState;
use rolldeck::engine::model::template::ContainerRole;
use rolldeck::sim::world::World;
use rolldeck::sim::world::kind::Kind;
use rolldeck::sim::world::object::Object;
use rolldeck::sim::world::scenario::Scenario;
use rolldeck::sim::world::store::ChangeKind;

use super::ledger::{Ledger, PodState};

/// The ledger of a scenario's only DaemonSet, with the pods that exist now.
pub(crate) fn ledger_of(world: &World, scenario: &Scenario) -> Ledger {
    let mut ledger = Ledger::new(scenario.nodes.iter().map(|node| node.name.to_string()));
    for pod in world.store().list(Kind::Pod) {
        ledger.is(seen(pod));
    }
    ledger.start_over();
    ledger
}

/// Enters all changes since `version`, and calls `look` after each. Returns the version reached.
pub(crate) fn follow(world: &World, version: u64, ledger: &mut Ledger, mut look: impl FnMut(&Ledger)) -> u64 {
    for change in world.store().changes_since(Kind::Pod, version).expect("no change is dropped so soon") {
        match change.kind {
            ChangeKind::Deleted => ledger.gone(&change.object.meta.uid),
            _ => ledger.is(seen(&change.object)),
        }
        look(ledger);
    }
    world.store().revision()
}

fn seen(object: &Object) -> PodState {
    let pod = object.pod().expect("a pod");
    let container = pod.status.containers.iter().find(|container| container.fact.role == ContainerRole::Main);
    let waits_for = |reasons: &[&str]| {
        container.is_some_and(|container| match &container.fact.state {
            ContainerState::Waiting { reason, .. } => reasons.contains(&&**reason),
            _ => false,
        })
    };
    PodState {
        uid: object.meta.uid.to_string(),
        name: object.meta.name.to_string(),
        node: pod.target().map(ToString::to_string).unwrap_or_default(),
        image: pod.template.containers()[0].image.to_string(),
        revision: object.meta.revision_hash().map(ToString::to_string).unwrap_or_default(),
        ready: pod.ready().is_some(),
        pulled: container.is_some_and(|container| container.image_id.is_some()),
        pull_failed: waits_for(&["ErrImagePull", "ImagePullBackOff"]),
        deleting: object.meta.is_deleting(),
    }
}
