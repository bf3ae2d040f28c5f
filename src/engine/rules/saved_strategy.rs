//! The update strategy that was saved at the adoption of a DaemonSet and that a release restores; and the number of nodes that may be down where no
//! operator has set it: the value of the DaemonSet's owner.

use crate::engine::model::facts::{DaemonSetFact, StrategyKind, UpdateStrategy};
use crate::engine::model::quantity::{IntOrPercent, Rounding};
use crate::engine::model::record::ORIGINAL_STRATEGY;
use crate::engine::model::released_strategy::ChangedLimit;

/// The strategy that a release would restore, as it was saved.
pub(crate) fn saved_json(daemonset: &DaemonSetFact) -> Option<serde_json::Value> {
    serde_json::from_str(daemonset.annotations.get(ORIGINAL_STRATEGY)?).ok()
}

/// Whether an original strategy is saved, even if it was by a rollout whose record is gone.
pub(crate) fn has_saved_strategy(daemonset: &DaemonSetFact) -> bool {
    daemonset.annotations.get(ORIGINAL_STRATEGY).is_some()
}

/// Whether rolldeck has taken over: `OnDelete`, with the original strategy saved.
pub(crate) fn is_adopted(daemonset: &DaemonSetFact) -> bool {
    daemonset.strategy.kind == StrategyKind::OnDelete && has_saved_strategy(daemonset)
}

/// Whether the strategy that a release restores lets the controller replace pods.
pub(crate) fn releases_to_rolling(daemonset: &DaemonSetFact) -> bool {
    saved_json(daemonset).is_none_or(|saved| saved["type"].as_str() != Some("OnDelete"))
}

/// The DaemonSet's own `maxUnavailable`, if it lets at least one node of `desired` be down.
///
/// Where a strategy was saved (`original`), the result is at most that strategy's value. Somebody may set a strategy in the middle of a rollout, whose figures
/// remain when `OnDelete` is set again. They do not raise the rollout's budget: they were meant for a controller that replaces all pods, and are not
/// put back at the end. Nodes that this controller takes down meanwhile count against the rollout's own budget.
pub(crate) fn own_max_unavailable(
    daemonset: &DaemonSetFact,
    original: Option<&UpdateStrategy>,
    desired: u32,
) -> Option<IntOrPercent> {
    let figures = [Some(&daemonset.strategy), original].into_iter().flatten();
    let figures = figures.filter_map(|strategy| strategy.max_unavailable);
    figures.filter(|own| own.of(desired, Rounding::Up) > 0).min_by_key(|own| own.of(desired, Rounding::Up))
}

/// The `maxUnavailable` of the DaemonSet that somebody has changed since the strategy was saved, under `OnDelete` or with the strategy.
pub(crate) fn changed_limit(daemonset: &DaemonSetFact, original: Option<&UpdateStrategy>) -> Option<ChangedLimit> {
    let (set, saved) = (daemonset.strategy.max_unavailable?, original?.max_unavailable?);
    (set != saved).then_some(ChangedLimit { set, saved })
}

/// How many of `desired` pods the DaemonSet's own controller lets be unavailable while it rolls, as the strategy is now: 1 where a surge leaves none.
/// `None` under `OnDelete`.
pub(crate) fn controllers_max_unavailable(daemonset: &DaemonSetFact, desired: u32) -> Option<u32> {
    let UpdateStrategy { kind, max_unavailable, .. } = &daemonset.strategy;
    let own = max_unavailable.map_or(1, |own| own.of(desired, Rounding::Up));
    (*kind == StrategyKind::RollingUpdate).then_some(own.max(1))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn own(strategy: serde_json::Value, saved: Option<&serde_json::Value>) -> Option<IntOrPercent> {
        let daemonset = DaemonSetFact { strategy: UpdateStrategy::from_json(strategy), ..DaemonSetFact::default() };
        own_max_unavailable(&daemonset, saved.cloned().map(UpdateStrategy::from_json).as_ref(), 20)
    }

    #[test]
    fn what_is_said_while_it_is_adopted_is_no_more_than_what_was_saved() {
        let rolling =
            |limit: serde_json::Value| json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": limit}});
        let on_delete =
            |limit: serde_json::Value| json!({"type": "OnDelete", "rollingUpdate": {"maxUnavailable": limit}});
        let (one, all) = (IntOrPercent::Int(1), IntOrPercent::Percent(100));
        for (strategy, saved, want) in [
            (rolling(json!(1)), None, Some(one)),
            (on_delete(json!("100%")), None, Some(all)),
            (on_delete(json!("100%")), Some(rolling(json!(1))), Some(one)),
            (on_delete(json!(1)), Some(rolling(json!("100%"))), Some(one)),
            // Somebody set it back in the middle of the rollout, with another figure.
            (rolling(json!("100%")), Some(rolling(json!(1))), Some(one)),
            (json!({"type": "OnDelete"}), Some(rolling(json!(1))), Some(one)),
            // One that surges.
            (on_delete(json!(0)), Some(rolling(json!(0))), None),
        ] {
            assert_eq!(own(strategy.clone(), saved.as_ref()), want, "{strategy} {saved:?}");
        }
    }
}
