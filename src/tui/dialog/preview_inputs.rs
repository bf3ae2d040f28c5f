//! The state on which a preview depends and that others change: the open dialog asks again when this state changes.

use std::mem::{Discriminant, discriminant};

use crate::engine::model::Str;
use crate::engine::model::driver::DriverView;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::record::Direction;
use crate::engine::report::snapshot::{Counts, Phase, Snapshot};

/// The state on which an answer depends, as of the question.
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
