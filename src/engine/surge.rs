//! DaemonSets that surge (`maxSurge`): their controller makes a second, new pod on a node before it takes the old one away,
//! so that no node is ever down. `OnDelete` cannot surge (docs/kubernetes.md, *RollingUpdate*): under it each node is down
//! while its pod is replaced. So nothing of such a DaemonSet is taken down before an operator has said how many nodes may be.

use super::machine::Engine;
use super::model::command::{Command, Refusal};
use super::model::facts::{DaemonSetFact, StrategyKind, UpdateStrategy};
use super::model::quantity::{IntOrPercent, Rounding};
use super::model::record::{Intent, ORIGINAL_STRATEGY};

/// The surge of a DaemonSet as its owner wrote it: by its strategy, or while it is adopted by the one that was saved.
/// `None` where it does not surge.
pub(crate) fn surge_of(daemonset: &DaemonSetFact) -> Option<IntOrPercent> {
    match daemonset.strategy.kind {
        StrategyKind::RollingUpdate => surge_in(&daemonset.strategy),
        StrategyKind::OnDelete => {
            let saved = serde_json::from_str(daemonset.annotations.get(ORIGINAL_STRATEGY)?).ok()?;
            surge_in(&UpdateStrategy::from_json(saved))
        }
    }
}

fn surge_in(strategy: &UpdateStrategy) -> Option<IntOrPercent> {
    let surges = strategy.kind == StrategyKind::RollingUpdate;
    strategy.max_surge.filter(|surge| surges && surge.of(1, Rounding::Up) > 0)
}

/// Whether the DaemonSet surges, and no operator has said how many nodes may be down instead.
pub(crate) fn lacks_budget(daemonset: &DaemonSetFact, intent: &Intent) -> bool {
    intent.budgets.max_unavailable.is_default() && surge_of(daemonset).is_some()
}

impl Engine {
    /// The DaemonSet's surge.
    pub(crate) fn surge(&self) -> Option<IntOrPercent> {
        self.view.daemonset.as_ref().and_then(surge_of)
    }

    /// Refuses what would begin to take down nodes of a DaemonSet that surges, as long as nobody has said how many may be.
    /// Setting `OnDelete` again, and the brake, are not refused, nor is driving what is only to be released: that takes nothing
    /// down.
    pub(crate) fn check_surge(&self, command: &Command) -> Result<(), Refusal> {
        let Some(surge) = self.surge() else { return Ok(()) };
        let begins = match command.inner() {
            Command::Adopt => !self.takes_back(command.inner()),
            Command::SetImage(_) | Command::Step(_) | Command::Resume | Command::Undo { .. } => true,
            Command::Drive(_) => self.intent().releasing.is_none(),
            _ => false,
        };
        let mut intent = self.intent();
        intent.tune(&command.tuning());
        if !begins || !intent.budgets.max_unavailable.is_default() {
            return Ok(());
        }
        let remedy = if self.is_recorded() {
            "`tune` with max-unavailable"
        } else {
            "max-unavailable, which `adopt`, `set-image` and `drive` take too"
        };
        Err(Refusal::NotNow(format!(
            "this DaemonSet surges (maxSurge {surge}): its controller never takes a node down. Under OnDelete each node is \
             down while its pod is replaced: say first how many may be at once, with {remedy}"
        )))
    }

    /// Whether a node of the fleet has several live pods under `OnDelete`, as a surge that was stopped leaves them. Its
    /// controller keeps the oldest and deletes the others, be they at the target or not: nothing is settled until it has.
    pub(crate) fn is_crowded(&self) -> bool {
        self.strategy() == StrategyKind::OnDelete && self.assessment.rows().any(|row| row.in_fleet && row.crowded)
    }

    /// What is lost, for whoever is about to take over or to let nodes go; `None` where it does not surge.
    pub(crate) fn surge_in_words(&self, command: &Command, max_unavailable: u32) -> Option<String> {
        let surge = self.surge()?;
        match command {
            Command::Adopt | Command::SetImage(_) | Command::Undo { .. } | Command::Step(_) | Command::Resume => {
                Some(format!(
                    "It surges (maxSurge {surge}), which OnDelete cannot: each node is down while its pod is replaced, at \
                     most {max_unavailable} at a time."
                ))
            }
            Command::Pause { .. } if self.strategy() == StrategyKind::RollingUpdate => Some(
                "It surges: where a node has an old and a new pod, its controller then keeps the older one and deletes the \
                 other."
                    .into(),
            ),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
