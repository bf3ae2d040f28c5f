//! A surge that the DaemonSet's own controller has forgotten.
//!
//! A controller that surges checks a new pod again when its `minReadySeconds` are over, but only once. It misses this check if an earlier
//! check was planned (`AddAfter` keeps the earlier one), or if the node's clock is ahead. Its fallback `numberReady != numberAvailable`
//! does not help, because it counts the oldest pod of each node, and the old pod is available (`updateDaemonSetStatus`, kubernetes 1.36).
//! Then both pods stay, and the surge stands still until anything happens to the DaemonSet or its pods, or the informer lists anew after
//! 12 to 24 hours. rolldeck has no part in this, because a released DaemonSet belongs to its controller.

use std::time::Duration;

use crate::engine::model::facts::StrategyKind;
use crate::engine::model::quantity::Rounding;
use crate::engine::model::time::Timestamp;
use crate::sim::world::World;
use crate::sim::world::kind::Kind;
use crate::sim::world::object::Object;

/// The time within which a controller that has not forgotten the surge checks the new pod.
const LOOKS: Duration = Duration::from_secs(60);

/// Whether some node has an old pod that is ready and a new one that has been available for long.
pub(super) fn surge_stands_still(world: &World, (namespace, name): (&str, &str)) -> bool {
    let Some(object) = world.store().get(Kind::DaemonSet, namespace, name) else { return false };
    let Some(set) = object.daemon_set() else { return false };
    let (strategy, min_ready) = (&set.spec.strategy, set.spec.min_ready_secs);
    let surges = strategy.max_surge.is_some_and(|surge| surge.of(1, Rounding::Up) > 0);
    if strategy.kind != StrategyKind::RollingUpdate || !surges || min_ready == 0 {
        return false;
    }
    let available_at =
        |pod: &Object| -> Option<Timestamp> { Some(pod.pod()?.ready()?.since + Duration::from_secs(min_ready.into())) };
    world.pods_of(namespace, name).values().any(|pods| {
        let live =
            || pods.iter().filter(|pod| !pod.meta.is_deleting() && pod.pod().is_some_and(|pod| pod.ready().is_some()));
        let (Some(oldest), Some(newest)) =
            (live().min_by_key(|pod| pod.meta.created_at), live().max_by_key(|pod| pod.meta.created_at))
        else {
            return false;
        };
        oldest.meta.revision_hash() != newest.meta.revision_hash()
            && available_at(newest).is_some_and(|at| at + LOOKS < world.now())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::quantity::IntOrPercent;
    use crate::sim::world::scenario::{ClusterFault, FleetFault, built_in};

    const AGENT: (&str, &str) = ("edge", "agent");

    /// A world of one node whose clock is 200 s ahead. Its DaemonSet surges to the image of this version.
    fn surging_to(version: &str) -> World {
        let mut scenario = built_in("small").unwrap();
        scenario.nodes.truncate(1);
        let plan = &mut scenario.daemon_sets[0];
        (plan.max_unavailable, plan.max_surge) = (IntOrPercent::Int(0), IntOrPercent::Int(1));
        plan.min_ready_secs = 4;
        let node = scenario.nodes[0].name.clone();
        let mut world = World::new(&scenario, 1);
        world.inject(&FleetFault::Clock { node, offset_millis: 200_000 }.into());
        let images = [("agent".to_owned(), format!("registry.example/agent:{version}"))].into();
        world.inject(&ClusterFault::SetImages { daemon_set: "edge/agent".into(), images }.into());
        world
    }

    #[test]
    fn it_stands_still_only_once_the_new_pod_has_been_available_for_long() {
        let mut world = surging_to("v2");
        world.advance_by(Duration::from_secs(180));
        assert!(!surge_stands_still(&world, AGENT), "by the node's clock it is not available yet");
        world.advance_by(Duration::from_secs(600));
        assert!(surge_stands_still(&world, AGENT), "nobody looks again");
    }

    #[test]
    fn a_new_pod_that_does_not_become_ready_is_waited_for() {
        let mut world = surging_to("missing");
        world.advance_by(Duration::from_secs(3600));
        assert!(!surge_stands_still(&world, AGENT));
    }
}
