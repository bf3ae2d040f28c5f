//! DaemonSets that surge (`maxSurge`): their controller makes a second, new pod on a node before it takes the old one away,
//! so that no node is ever down. `OnDelete` cannot surge (docs/kubernetes.md, *RollingUpdate*): under it each node is down
//! while its pod is replaced. So nothing of such a DaemonSet is taken down before an operator has said how many nodes may be.

use crate::engine::model::facts::{DaemonSetFact, StrategyKind, UpdateStrategy};
use crate::engine::model::quantity::{IntOrPercent, Rounding};
use crate::engine::model::record::Intent;

/// The surge of a DaemonSet as its owner wrote it: by its strategy, or while it is adopted by the one that was saved (`original`).
/// `None` where it does not surge.
pub(crate) fn surge_of(daemonset: &DaemonSetFact, original: Option<&UpdateStrategy>) -> Option<IntOrPercent> {
    match daemonset.strategy.kind {
        StrategyKind::RollingUpdate => surge_in(&daemonset.strategy),
        StrategyKind::OnDelete => surge_in(original?),
    }
}

fn surge_in(strategy: &UpdateStrategy) -> Option<IntOrPercent> {
    let surges = strategy.kind == StrategyKind::RollingUpdate;
    strategy.max_surge.filter(|surge| surges && surge.of(1, Rounding::Up) > 0)
}

/// Whether the DaemonSet surges, and no operator has said how many nodes may be down instead.
pub(crate) fn lacks_budget(daemonset: &DaemonSetFact, original: Option<&UpdateStrategy>, intent: &Intent) -> bool {
    intent.budgets.max_unavailable.is_default() && surge_of(daemonset, original).is_some()
}
