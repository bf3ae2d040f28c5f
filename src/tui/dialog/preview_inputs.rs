//! What the answer to a dialog's question depends on and others change: while a dialog is open, it is asked again when that changes.

use std::mem::{Discriminant, discriminant};

use crate::engine::model::Str;
use crate::engine::model::driver::DriverView;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::record::Direction;
use crate::engine::report::snapshot::{Counts, Phase, Snapshot};

/// What an answer depends on, as it was when the question was asked.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PreviewInputs {
    driver: (Discriminant<DriverView>, Option<Str>),
    phase: Discriminant<Phase>,
    direction: Direction,
    strategy: StrategyKind,
    allowed: u32,
    max_unavailable: u32,
    counts: Counts,
}

impl PreviewInputs {
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        let holder = match &snapshot.driver {
            DriverView::Other { holder, .. }
            | DriverView::Unconfirmed { holder, .. }
            | DriverView::Lost { holder, .. } => Some(holder.clone()),
            DriverView::Waiting { holder } => holder.clone(),
            DriverView::Unknown | DriverView::Nobody | DriverView::You { .. } => None,
        };
        Self {
            driver: (discriminant(&snapshot.driver), holder),
            phase: discriminant(&snapshot.phase),
            direction: snapshot.direction,
            strategy: snapshot.strategy,
            allowed: snapshot.plan.allowed,
            max_unavailable: snapshot.budget.max_unavailable,
            counts: snapshot.counts,
        }
    }
}
