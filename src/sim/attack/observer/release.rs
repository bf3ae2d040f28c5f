//! P9: a release that no operator requested costs no serving pod.

use super::{ObservedPod, Observer};
use crate::engine::model::Str;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::record::ORIGINAL_STRATEGY;
use crate::engine::model::time::Timestamp;
use crate::sim::world::object::Object;
use crate::sim::world::store::StoreChange;

/// The name in a release that no operator requested.
const BY_ITSELF: &str = "rolldeck";

impl Observer {
    /// P9: checks a release that no operator requested. Under `RollingUpdate` the controller removes old pods from nodes that should not run
    /// them and makes no new ones there. Such a pod counts as lost if the taint and the serving pod were known for longer than the slack.
    /// From a node with a taint `NoExecute` the controller removes pods under any strategy (kubernetes-facts §1.4), so these do not count.
    pub(super) fn check_release(&mut self, change: &StoreChange) {
        let saved = |object: &Object| object.meta.annotations.get(ORIGINAL_STRATEGY).is_some();
        let handed_back = change.before.as_deref().is_some_and(saved) && !saved(&change.object);
        let rolling =
            change.object.daemon_set_fact().is_some_and(|fact| fact.strategy.kind == StrategyKind::RollingUpdate);
        if !handed_back || !rolling || !self.is_unasked() || self.tolerates() {
            return;
        }
        let lost: Vec<Str> = self
            .pods
            .values()
            .filter(|pod| self.would_be_lost(pod, change.at))
            .filter_map(|pod| pod.fact.node.clone())
            .collect();
        if !lost.is_empty() {
            let what = format!("handed back by itself, which costs the serving pods on {}", lost.join(" "));
            self.report_violation("P9", change.at, what);
        }
    }

    /// Whether a release is under way and every recent record of it names rolldeck itself as its requester.
    fn is_unasked(&self) -> bool {
        let mut by = self.records.values().flatten().filter_map(|record| record.intent.releasing.as_ref()).peekable();
        by.peek().is_some() && by.all(|by| *by.by == *BY_ITSELF)
    }

    fn would_be_lost(&self, pod: &ObservedPod, at: Timestamp) -> bool {
        let target = self.records.now().and_then(|record| record.as_ref()?.intent.target.as_ref());
        let known = |since: Timestamp| since + self.slack < at;
        let node = pod.fact.node.as_ref().and_then(|node| self.nodes.get(node));
        let tainted =
            node.is_some_and(|node| node.tainted && known(node.tainted_since) && node.ready && known(node.ready_since));
        let goes_anyway = node.is_some_and(|node| node.evicts);
        tainted
            && !goes_anyway
            && target.is_some()
            && pod.fact.deletion_at.is_none()
            && pod.fact.revision.as_ref() != target
            && pod.ready_since.is_some_and(known)
    }
}
