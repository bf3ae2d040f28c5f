//! What is said to the shell when the console ends: a line for each rollout that was open, or that this console drove.

use crate::engine::model::driver::DriverView;
use crate::engine::model::person_of;
use crate::engine::report::snapshot::Snapshot;
use crate::tui::model::{Model, Page, RolloutPage};

/// The state of the rollout on screen; on the list of DaemonSets of all that were driven from here, or that there were none.
pub(in crate::tui) fn farewell(model: &Model) -> Vec<String> {
    match &model.page {
        Page::Rollout(_) => model.rollout().and_then(of_rollout).into_iter().collect(),
        Page::Fleet => {
            let driven: Vec<String> = model.driven().filter_map(of_rollout).collect();
            match driven.is_empty() {
                true => vec![format!("{}: nothing was driven from here, and what others drive goes on", model.context)],
                false => driven,
            }
        }
    }
}

fn of_rollout(page: &RolloutPage) -> Option<String> {
    let snapshot = page.snapshot()?;
    let counts = &snapshot.counts;
    let target = &page.target;
    // What could not be sent is not tried again by anybody.
    let lost = snapshot.not_sent().map(|unsent| format!("; {} WAS NOT SENT and is lost", unsent.kind));
    let lost = lost.unwrap_or_default();
    let sent = Snapshot { unsent: Vec::new(), ..Snapshot::clone(snapshot) };
    let doing = sent.doing();
    let (updated, nodes) = (counts.updated, counts.nodes);
    let who = match &snapshot.driver {
        _ if page.driven_by_us() => "; nobody drives it now".to_owned(),
        DriverView::Other { holder, .. } => format!("; {} goes on driving it", person_of(holder)),
        _ => String::new(),
    };
    Some(format!("{}/{}: {doing}, {updated} of {nodes} nodes updated{lost}{who}", target.namespace, target.name))
}
