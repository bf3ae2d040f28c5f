//! Misfortunes of a node, drawn by dice. The tests of this world use them, and the test over HTTP that compares what the adapter reads
//! of the world's objects with what the attack is told (`tests/integration/sim_api/same_facts.rs`), which includes this file.

use std::collections::BTreeSet;

use super::*;

/// What goes wrong for a node of the scenario `small`, or for all of them by a new image.
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

/// Names every fault of a world: those that [`misfortune`] draws, and those that it leaves out.
macro_rules! faults {
    (drawn { $($drawn:pat,)+ } left_out { $($left_out:pat,)+ }) => {
        const DRAWN: [&str; [$(stringify!($drawn)),+].len()] = [$(stringify!($drawn)),+];

        /// What it is called among those that are drawn.
        fn drawn_as(fault: &Fault) -> Option<&'static str> {
            match fault {
                $($drawn => Some(stringify!($drawn)),)+
                $($left_out)|+ => None,
            }
        }
    };
}

faults! {
    drawn {
        Fault::Fleet(FleetFault::PowerOff(_)),
        Fault::Fleet(FleetFault::PowerOn(_)),
        Fault::Fleet(FleetFault::Cut(_)),
        Fault::Fleet(FleetFault::Restore(_)),
        Fault::Fleet(FleetFault::ProbesFail(_)),
        Fault::Fleet(FleetFault::ProbesPass(_)),
        Fault::Fleet(FleetFault::DiskFull(_)),
        Fault::Fleet(FleetFault::DiskFree(_)),
        Fault::Fleet(FleetFault::EvictAll(_)),
        Fault::Fleet(FleetFault::LimitPulls { .. }),
        Fault::Cluster(ClusterFault::DeletePods { .. }),
        Fault::Cluster(ClusterFault::SetImages { .. }),
        Fault::Cluster(ClusterFault::SetStrategy { .. }),
        Fault::Cluster(ClusterFault::Compact),
    }
    left_out {
        // Machines, sites and images of the scenario stay what they are.
        Fault::Fleet(
            FleetFault::Clock { .. }
            | FleetFault::Join(_)
            | FleetFault::Leave(_)
            | FleetFault::Link { .. }
            | FleetFault::Registry { .. }
            | FleetFault::Publish(_)
        ),
        // Which nodes should run the pod stays as it is.
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
            drawn_as(&fault).unwrap_or_else(|| panic!("it is named as left out: {fault:?}"))
        })
        .collect();
    let absent: Vec<&str> = DRAWN.into_iter().filter(|fault| !drawn.contains(fault)).collect();
    assert_eq!(absent, [""; 0], "`misfortune` draws none of these");
}
