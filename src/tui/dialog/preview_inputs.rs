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
    max_pulling: u32,
    target: Option<Str>,
    /// The change that is rolled out, in words.
    change: String,
    is_paused: bool,
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
            max_pulling: snapshot.budget.max_pulling,
            target: snapshot.to.as_ref().map(|revision| revision.hash.clone()),
            change: snapshot.change().to_string(),
            is_paused: matches!(snapshot.phase, Phase::Paused(_)),
            counts: snapshot.counts,
        }
    }

    /// What lets more or something else happen in the state `now`, whatever the command. `counts_allowed`: so does the number of nodes that
    /// may be updated.
    pub(crate) fn changed_to(&self, now: &Self, counts_allowed: bool) -> Vec<String> {
        let mut changed = Vec::new();
        // While nodes are still being listed, all numbers grow with them.
        if self.phase == discriminant(&Phase::Loading) {
            return changed;
        }
        // After a change of the template its revision is known once its controller has made it: that is no change by others.
        if self.target.is_some() && now.target.is_some() && self.target != now.target {
            changed.push(match self.change == now.change {
                true => "another revision is rolled out".to_owned(),
                false => format!("what is rolled out is {} (it was {})", now.change, self.change),
            });
        } else if self.direction != now.direction {
            changed.push(match now.direction {
                Direction::Back => "it is rolled back by now".to_owned(),
                Direction::Forward => "no roll back is under way any more".to_owned(),
            });
        }
        if self.is_paused && !now.is_paused {
            changed.push("it is not paused any more".to_owned());
        }
        if counts_allowed && now.allowed > self.allowed {
            changed.push(format!("{} nodes may be updated (it was {})", now.allowed, self.allowed));
        }
        for (is, was, words) in [
            (now.max_unavailable, self.max_unavailable, "may be down at once"),
            (now.max_pulling, self.max_pulling, "may pull at once"),
        ] {
            if is > was {
                changed.push(format!("{is} {words} (it was {was})"));
            }
        }
        changed
    }
}
