//! A template that somebody else changed while a rollout stood there and nobody drove: nothing is prepared then, and nothing moves.

use crate::engine::model::driver::DriverView;
use crate::engine::report::guidance::{Guidance, Remedy};
use crate::engine::report::snapshot::{Alarm, Phase, Snapshot};

/// `template changed by kubectl-set`, where that is why the rollout stands.
pub(in crate::tui::view) fn template_of_others(snapshot: &Snapshot) -> Option<String> {
    let is_undriven = matches!(snapshot.driver, DriverView::Nobody | DriverView::Lost { .. });
    if snapshot.phase != Phase::Preparing || !is_undriven {
        return None;
    }
    snapshot.alarms.iter().find_map(|alarm| match alarm {
        Alarm::TemplateChanged { by: Some(by), .. } => Some(format!("template changed by {by}")),
        Alarm::TemplateChanged { by: None, .. } => Some("template changed by others".to_owned()),
        _ => None,
    })
}

/// What the rollout waits for, and what would move it.
pub(in crate::tui::view) fn guidance(snapshot: &Snapshot) -> Option<Guidance> {
    match template_of_others(snapshot) {
        Some(changed) => Some(Guidance { waits: format!("{changed}; nobody drives"), remedies: vec![Remedy::Drive] }),
        None => snapshot.guidance(),
    }
}
