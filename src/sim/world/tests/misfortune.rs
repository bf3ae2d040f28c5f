//! Random faults of a node. The tests of this world use them. So does the test over HTTP that compares the facts that the adapter reads of the
//! world's objects with those that the attack gets; `tests/integration/sim_api/same_facts.rs` includes this file.

use std::collections::BTreeSet;

use super::*;

/// A random fault of a node of the scenario `small`, or of all its nodes by a new image.
pub(super) fn misfortune(node: Str, dice: &mut fastrand::Rng) -> Fault {
    let faults: [fn(Str) -> FleetFault; 9] = [
        FleetFault::PowerOff,
        FleetFault::PowerOn,
        FleetFault::Cut,
        FleetFault::Restore,
        FleetFault::ProbesFail,
        FleetFault::ProbesPass,
        FleetFault::DiskFull,
        FleetFault::DiskFree,
        FleetFault::EvictAll,
    ];
    let daemon_set: Str = "edge/agent".into();
    match dice.usize(..faults.len() + 5) {
        0 => ClusterFault::DeletePods { daemon_set, node }.into(),
        1 => {
            let version = ["v1", "v2", "v3", "missing", "crash"][dice.usize(..5)];
            let images = [("agent".to_owned(), format!("registry.example/agent:{version}"))].into();
            ClusterFault::SetImages { daemon_set, images }.into()
        }
        2 => {
            let kind = if dice.bool() { StrategyKind::OnDelete } else { StrategyKind::RollingUpdate };
            ClusterFault::SetStrategy { daemon_set, kind, max_unavailable: None }.into()
        }
        3 => ClusterFault::Compact.into(),
        4 => {
            let quota = PullQuota { pulls: dice.u32(1..9), per: Duration::from_secs(dice.u64(10..200)) };
            FleetFault::LimitPulls { registry: "registry.example".into(), quota: Some(quota) }.into()
        }
        nth => faults[nth - 5](node).into(),
    }
}

/// A fault that [`misfortune`] draws.
pub(super) struct DrawnFault {
    name: &'static str,
    /// The fault that ends it; `None` if it is over at once, or ends another one.
    pub(super) ended_by: Option<Fault>,
}

/// Names every fault of a world: the faults that [`misfortune`] draws, each with the fault that ends it, and those that it leaves out.
macro_rules! faults {
    (drawn { $($drawn:pat => $ended_by:expr,)+ } left_out { $($left_out:pat,)+ }) => {
        const DRAWN: [&str; [$(stringify!($drawn)),+].len()] = [$(stringify!($drawn)),+];

        /// `None` for a fault that is left out.
        pub(super) fn drawn_as(fault: &Fault) -> Option<DrawnFault> {
            Some(match fault {
                $($drawn => DrawnFault { name: stringify!($drawn), ended_by: $ended_by },)+
                $($left_out)|+ => return None,
            })
        }
    };
}

faults! {
    drawn {
        Fault::Fleet(FleetFault::PowerOff(node)) => Some(FleetFault::PowerOn(node.clone()).into()),
        Fault::Fleet(FleetFault::PowerOn(_)) => None,
        Fault::Fleet(FleetFault::Cut(node)) => Some(FleetFault::Restore(node.clone()).into()),
        Fault::Fleet(FleetFault::Restore(_)) => None,
        Fault::Fleet(FleetFault::ProbesFail(node)) => Some(FleetFault::ProbesPass(node.clone()).into()),
        Fault::Fleet(FleetFault::ProbesPass(_)) => None,
        Fault::Fleet(FleetFault::DiskFull(node)) => Some(FleetFault::DiskFree(node.clone()).into()),
        Fault::Fleet(FleetFault::DiskFree(_)) => None,
        Fault::Fleet(FleetFault::EvictAll(_)) => None,
        Fault::Fleet(FleetFault::LimitPulls { registry, .. }) => {
            Some(FleetFault::LimitPulls { registry: registry.clone(), quota: None }.into())
        },
        Fault::Cluster(ClusterFault::DeletePods { .. }) => None,
        Fault::Cluster(ClusterFault::SetImages { daemon_set, images }) => {
            let of_v2 = |container: &String| (container.clone(), "registry.example/agent:v2".to_owned());
            let images = images.keys().map(of_v2).collect();
            Some(ClusterFault::SetImages { daemon_set: daemon_set.clone(), images }.into())
        },
        Fault::Cluster(ClusterFault::SetStrategy { daemon_set, max_unavailable, .. }) => {
            let (daemon_set, kind) = (daemon_set.clone(), StrategyKind::RollingUpdate);
            Some(ClusterFault::SetStrategy { daemon_set, kind, max_unavailable: *max_unavailable }.into())
        },
        Fault::Cluster(ClusterFault::Compact) => None,
    }
    left_out {
        // The scenario's machines, sites and images do not change.
        Fault::Fleet(
            FleetFault::Clock { .. }
            | FleetFault::Join(_)
            | FleetFault::Leave(_)
            | FleetFault::Link { .. }
            | FleetFault::Registry { .. }
            | FleetFault::Publish(_)
        ),
        // The set of nodes that should run the pod does not change.
        Fault::Cluster(
            ClusterFault::Label { .. }
            | ClusterFault::Cordon(_)
            | ClusterFault::Uncordon(_)
            | ClusterFault::Taint { .. }
            | ClusterFault::Untaint { .. }
            | ClusterFault::DeleteNode(_)
        ),
        // The DaemonSet stays, with its pods and its controller, and the API server refuses and changes nothing.
        Fault::Cluster(
            ClusterFault::LabelPods { .. }
            | ClusterFault::HoldDaemonSet { .. }
            | ClusterFault::DeleteDaemonSet { .. }
            | ClusterFault::CreateDaemonSet(_)
            | ClusterFault::AddFinalizer { .. }
            | ClusterFault::RemoveFinalizer { .. }
            | ClusterFault::RefusePods { .. }
            | ClusterFault::AdmitPods { .. }
            | ClusterFault::RefuseTemplates { .. }
            | ClusterFault::AdmitTemplates { .. }
            | ClusterFault::PinImages { .. }
            | ClusterFault::UnpinImages { .. }
            | ClusterFault::SetRollingInWrites { .. }
            | ClusterFault::AdmitStrategies { .. }
            | ClusterFault::InjectContainer { .. }
            | ClusterFault::StopInjecting { .. }
            | ClusterFault::RefuseDeletion { .. }
            | ClusterFault::AdmitDeletion { .. }
            | ClusterFault::StopController
            | ClusterFault::StartController
        ),
    }
}

#[test]
fn every_fault_that_is_not_left_out_is_drawn() {
    let mut dice = fastrand::Rng::with_seed(1);
    let drawn: BTreeSet<&str> = (0..1_000)
        .map(|_| {
            let fault = misfortune("node-a-01".into(), &mut dice);
            let drawn = drawn_as(&fault).unwrap_or_else(|| panic!("it is named as left out: {fault:?}"));
            assert!(drawn.ended_by.iter().all(|end| drawn_as(end).is_some()), "what ends it is drawn, too: {fault:?}");
            drawn.name
        })
        .collect();
    let absent: Vec<&str> = DRAWN.into_iter().filter(|fault| !drawn.contains(fault)).collect();
    assert_eq!(absent, [""; 0], "`misfortune` draws none of these");
}
