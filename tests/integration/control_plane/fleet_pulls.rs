//! The list of all DaemonSets shows image pulls, while a DaemonSet's own controller rolls out and no console has opened that DaemonSet.

use std::sync::Arc;

use rolldeck::driver::{ClusterSession, Fleet, FleetPulls, FleetRow, Session};
use rolldeck::engine::model::facts::StrategyKind;
use rolldeck::engine::model::fleet_state::FleetState;
use rolldeck::sim::world::scenario::RegistryImage;
use tokio::sync::watch;

use super::fixture::{BUDGET, DS, MISSING, NODES, RolloutFixture, SOON, quick, scenario};
use crate::support::control_plane::Grant;
use crate::support::program::{access, text};

/// An image whose pull takes a node 1.2 s.
const SLOW: &str = "registry.test/agent:slow";

/// Waits until `holds` is true of the list's only row, and returns the row.
async fn until(fleet: &mut watch::Receiver<Arc<Fleet>>, what: &str, holds: impl Fn(&FleetRow) -> bool) -> FleetRow {
    let waits = fleet.wait_for(|fleet| fleet.rows.first().is_some_and(&holds));
    let shown = tokio::time::timeout(SOON, waits).await.map(|fleet| fleet.unwrap().rows[0].clone());
    shown.unwrap_or_else(|_| panic!("not within {SOON:?}: {what}; {:?}", fleet.borrow().rows))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_of_its_controller_shows_what_is_pulled_and_what_fails() {
    let slow = RegistryImage { bytes: 500_000_000, ..quick(SLOW) };
    let fixture = tokio::task::spawn_blocking(|| {
        RolloutFixture::with("fleet-pulls", scenario(StrategyKind::RollingUpdate).with_image(slow))
    });
    let Some(fixture) = fixture.await.unwrap() else { return };
    let fixture = Arc::new(fixture);
    let deploy = |image: &'static str| {
        let fixture = fixture.clone();
        tokio::task::spawn_blocking(move || fixture.deploy(image))
    };
    let session = async |kubeconfig: &std::path::Path| ClusterSession::open(&access(kubeconfig)).await.unwrap();
    let namespace = fixture.sandbox.namespace().to_owned();
    let operator = tokio::task::block_in_place(|| fixture.operator());
    let session_of_operator = session(operator.kubeconfig()).await;
    let mut fleet = session_of_operator.fleet(Some(&namespace));
    let idle = Some(FleetPulls::default());
    until(&mut fleet, "nothing is pulled", |row| row.pulls == idle && row.state == FleetState::UpToDate).await;

    // Kubelets report their pulls in Events; the status of a pod is the same before a pull and during one.
    deploy(SLOW).await.unwrap();
    let pulls = |row: &FleetRow| row.pulls.unwrap().pulling;
    // A further pull may begin at the same time.
    let said = |row: &FleetRow| {
        row.standing().contains(" pulling") && row.standing().starts_with("rolled by its controller, ")
    };
    let row = until(&mut fleet, "nodes pull", |row| pulls(row) > 0 && said(row)).await;
    assert!(pulls(&row) as usize <= BUDGET, "{row:?}");
    until(&mut fleet, "all have it", |row| row.counters.updated as usize == NODES && row.pulls == idle).await;

    deploy(MISSING).await.unwrap();
    let row = until(&mut fleet, "pulls fail", |row| row.pulls.unwrap().failed as usize == BUDGET).await;
    assert_eq!(row.standing(), "2 pulls failed, rolled by its controller");

    // A short `status` learns from the kubelets' Events since when the pulls fail: so it reports the nodes as failed.
    tokio::task::block_in_place(|| {
        let until = std::time::Instant::now() + SOON;
        loop {
            let status = operator.run(&["status", DS]);
            if status.status.code() == Some(4) {
                break;
            }
            assert!(std::time::Instant::now() < until, "no node has failed: {}", text(&status));
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
    });

    // A user who may not see pods is shown no pulls, and all else.
    let user = tokio::task::block_in_place(|| {
        let reads = "daemonsets.apps,controllerrevisions.apps,leases.coordination.k8s.io";
        fixture.sandbox.user("restricted", &[Grant::within(&namespace, "get,list,watch", reads)])
    });
    let restricted = session(&user.kubeconfig()).await;
    let mut fleet = restricted.fleet(Some(&namespace));
    let row = until(&mut fleet, "the rest is seen", |row| row.state == FleetState::Rolling).await;
    assert_eq!((row.pulls, row.standing().as_str()), (None, "rolled by its controller"));
}
