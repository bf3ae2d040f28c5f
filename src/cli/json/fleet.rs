//! `status` without a name: all DaemonSets.

use serde::Serialize;

use super::TypeMetaJson;
use super::driver::FleetDriverJson;
use super::watch::FleetWatchJson;
use crate::driver::{Fleet, FleetPrewarm, FleetPulls, FleetRow};
use crate::engine::model::facts::DaemonSetCounters;
use crate::engine::model::failing_nodes::{FailingCause, FailingNodes};
use crate::engine::model::time::Timestamp;

/// All DaemonSets that the user may see.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FleetJson<'a> {
    #[serde(flatten)]
    meta: TypeMetaJson,
    context: &'a str,
    /// How well the kinds can be seen from which the items come.
    watches: [FleetWatchJson<'a>; 4],
    items: Vec<FleetRowJson<'a>>,
}

impl<'a> FleetJson<'a> {
    pub(crate) fn new(context: &'a str, fleet: &'a Fleet) -> Self {
        let Fleet { health, leases, revisions, starting_pods, at: _, rows } = fleet;
        let kinds = [("daemonsets", health), ("leases", leases), ("revisions", revisions), ("pods", starting_pods)];
        Self {
            meta: TypeMetaJson::new("Fleet"),
            context,
            watches: kinds.map(|(watched, health)| FleetWatchJson::new(watched, health)),
            items: rows.iter().map(FleetRowJson::new).collect(),
        }
    }
}

/// One DaemonSet.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FleetRowJson<'a> {
    namespace: &'a str,
    name: &'a str,
    desired: u32,
    current: u32,
    ready: u32,
    updated: u32,
    available: u32,
    misscheduled: u32,
    strategy: &'a str,
    state: String,
    /// The images that pods wait for; absent if they are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pulls: Option<FleetPulls>,
    /// The failing nodes, as the driver reports them: `nodes`, the number `accepted` by an operator, and the most frequent
    /// `causes`; absent if they are not known or nobody drives.
    #[serde(skip_serializing_if = "Option::is_none")]
    failing: Option<FailingJson<'a>>,
    /// The nodes that failed as last reported, and when that was (`at`), while pods are unavailable and no driver is known to see them; absent
    /// otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_failing: Option<FailingJson<'a>>,
    /// `requested`, `nobodyDrives`, `driverUnknown`, `done`, `paused` or `cancelled`; absent if nothing is pre-warmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    prewarm: Option<FleetPrewarm>,
    /// Who holds the lease and only pre-warms, while `driver` is the DaemonSet's own controller; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    prewarmed_by: Option<FleetDriverJson<'a>>,
    driver: FleetDriverJson<'a>,
    /// The time of the driver's last renewal, by its own clock, if it has missed renewals since; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    driver_silent_since: Option<Timestamp>,
}

/// The failing nodes. The driver reports them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FailingJson<'a> {
    nodes: u32,
    accepted: u32,
    causes: &'a [FailingCause],
    /// The time of the report, if it is not of the present.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Timestamp>,
}

impl<'a> FailingJson<'a> {
    fn new(failing: &'a FailingNodes) -> Self {
        let FailingNodes {
            by: _,
            at,
            revision: _,
            runs_since: _,
            other_revisions: _,
            lacks_images: _,
            nodes,
            accepted,
            causes,
        } = failing;
        Self { nodes: *nodes, accepted: *accepted, causes, at: *at }
    }
}

impl<'a> FleetRowJson<'a> {
    fn new(row: &'a FleetRow) -> Self {
        let DaemonSetCounters { desired, current, ready, updated, available, misscheduled } = row.counters;
        Self {
            namespace: &row.namespace,
            name: &row.name,
            desired,
            current,
            ready,
            updated,
            available,
            misscheduled,
            strategy: &row.strategy,
            state: row.doing(),
            pulls: row.pulls,
            failing: row.failing.as_ref().map(FailingJson::new),
            last_failing: row.last_failing.as_ref().map(|last| FailingJson::new(&last.report)),
            prewarm: row.prewarm,
            prewarmed_by: row.prewarmed_by.as_ref().map(FleetDriverJson::new),
            driver: FleetDriverJson::new(&row.driven_by),
            driver_silent_since: row.silent_since,
        }
    }
}
