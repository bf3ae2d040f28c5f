//! The line of a form that chooses the reaction to a drift of the update strategy.

use super::field::{Handled, turns};
use crate::engine::model::settings::{OnDrift, Tuning};
use crate::engine::report::snapshot::Snapshot;
use crate::tui::key::Key;

/// The reaction to somebody who sets the update strategy back: as recorded, and as chosen here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DriftChoice {
    was: OnDrift,
    pub(crate) now: OnDrift,
}

impl DriftChoice {
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        let now = snapshot.settings.policies.on_drift;
        Self { was: now, now }
    }

    pub(super) fn tuning(self) -> Tuning {
        Tuning { on_drift: (self.now != self.was).then_some(self.now), ..Tuning::default() }
    }

    pub(super) fn key(&mut self, key: Key) -> Handled {
        if !turns(key) {
            return Handled::No;
        }
        self.now = match self.now {
            OnDrift::Report => OnDrift::EnforceOnDelete,
            OnDrift::EnforceOnDelete => OnDrift::Report,
        };
        Handled::Changed
    }
}
