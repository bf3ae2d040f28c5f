//! A surge that its own controller has forgotten.
//!
//! A controller that surges looks again at a new pod when its `minReadySeconds` are over: once, and not where an earlier
//! look was wanted at that moment (`AddAfter` keeps the earlier one), or where the node's clock is ahead. Its last resort,
//! `numberReady != numberAvailable`, counts the oldest pod of each node, which is the old one and available
//! (`updateDaemonSetStatus`, kubernetes 1.36). Then both pods stay, and the surge stands still until anything happens to
//! the DaemonSet or its pods, or the informer lists anew after 12 to 24 hours. No rolldeck has a part in that: what was
//! handed back is its controller's.

use std::time::Duration;

use crate::engine::model::facts::StrategyKind;
use crate::engine::model::quantity::Rounding;
use crate::engine::model::time::Timestamp;
use crate::sim::world::World;
use crate::sim::world::kind::Kind;
use crate::sim::world::object::Object;

/// A controller that still looks has looked by then.
const LOOKS: Duration = Duration::from_secs(60);

/// Whether some node has an old pod that is ready, and beside it a new one that has been available for long by now.
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

    /// One node whose clock is 200 s ahead; its DaemonSet surges, and gets this image.
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
