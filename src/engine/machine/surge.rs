//! DaemonSets that surge (`maxSurge`): their controller makes a second, new pod on a node before it takes the old one away,
//! so that no node is ever down. `OnDelete` cannot surge (docs/kubernetes.md, *RollingUpdate*): under it each node is down
//! while its pod is replaced. So nothing of such a DaemonSet is taken down before an operator has said how many nodes may be.

use super::Engine;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::rules::surge::surge_of;

impl Engine {
    /// The DaemonSet's surge.
    pub(crate) fn surge(&self) -> Option<IntOrPercent> {
        surge_of(self.view.daemonset()?, self.view.original_strategy())
    }

    /// Whether a node of the fleet has several live pods under `OnDelete`, as an interrupted surge leaves them. The controller keeps the oldest and
    /// deletes the others, whatever their revision. Until then nothing is settled.
    pub(crate) fn is_crowded(&self) -> bool {
        self.strategy() == StrategyKind::OnDelete && self.assessment.rows().any(|row| row.in_fleet && row.crowded)
    }
}

#[cfg(test)]
mod tests;
