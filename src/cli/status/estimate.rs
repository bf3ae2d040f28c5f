//! The estimated end of the rollout, and the basis of the estimate.
//!
//! ```text
//! step in ~12–18m, all in ~1h10–1h50, with at most 2 down and 2 pulling at a time, from 37 nodes; holds between steps are not counted
//! ```

use crate::engine::model::estimate::{MEASURED_OF_SITE, RolloutEstimate};
use crate::engine::model::settings::Limit;
use crate::engine::report::snapshot::Snapshot;

/// The line `estimate` of `status`; `None` if there is no estimate to print.
pub(super) fn estimate(snapshot: &Snapshot) -> Option<String> {
    match &snapshot.estimate {
        RolloutEstimate::None => None,
        RolloutEstimate::Blocked { by } => Some(format!("none while {by}")),
        known @ RolloutEstimate::Known { nodes, unmeasured_sites, .. } => {
            let more = match unmeasured_sites {
                0 => String::new(),
                1 => "; no node of 1 site is done yet, which may be slower".to_owned(),
                sites => format!("; no node of {sites} sites is done yet, which may be slower"),
            };
            let (limits, from) = (limits(snapshot), measured(*nodes, snapshot.counts.updated));
            Some(format!("{known}, with {limits}, {from}; holds between steps are not counted{more}"))
        }
    }
}

/// The limits that the estimate assumes. With other limits the estimate changes.
fn limits(snapshot: &Snapshot) -> String {
    let of_site = match snapshot.settings.budgets.max_pulling_per_site {
        Limit::Default => String::new(),
        Limit::At(limit) => format!(", of each site at most {limit}"),
    };
    let budget = &snapshot.budget;
    format!("at most {} down and {} pulling at a time{of_site}", budget.max_unavailable, budget.max_pulling)
}

/// The number of measured nodes, if not all updated nodes were measured.
fn measured(nodes: u32, updated: u32) -> String {
    match nodes < updated {
        false => format!("from {nodes} nodes"),
        true => format!(
            "from {nodes} of {updated} updated nodes (of each site the last {MEASURED_OF_SITE} that neither restarted nor lost readiness)"
        ),
    }
}
