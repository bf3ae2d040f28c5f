//! Handing a DaemonSet back, and what its controller then does with the pods that are there (docs/kubernetes.md,
//! *RollingUpdate*).
//!
//! A controller that rolls deletes every pod that is not at the current revision: one after the other within its budget,
//! unavailable ones at once. On a node that should run the DaemonSet's pod it makes a new one. On a node that should not
//! (tainted `NoSchedule` after the pod had started) it makes none: under `OnDelete` such a pod goes on serving, and once
//! released it is gone for good. Pods at the current revision are left alone, wherever they run.
//!
//! A pod that lost its readiness only a moment ago still counts as serving for [`LATELY`].
//!
//! ```text
//! old pod on a node that … should run it           replaced
//!                          would, if it were Ready  removed now, made anew when the node is Ready
//!                          should not run it        removed for good: where it serves, a release that nobody asked for waits
//!                          must not run it          its controller removes it anyway, whatever the strategy
//! ```

use serde_json::Value;

use super::Engine;
use crate::engine::assess::rows::LATELY;
use crate::engine::model::Str;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::ineligible::Ineligible;
use crate::engine::model::node::NodeIx;
use crate::engine::model::record::{By, Intent};
use crate::engine::model::released_strategy::ReleasedStrategy;
use crate::engine::rules::eligibility::ineligible_because;
use crate::engine::rules::saved_strategy::{changed_limit, has_saved_strategy, releases_to_rolling, saved_json};

/// A pod that is not at the current revision, and what a rolling controller would do with it.
#[derive(Clone, Debug)]
pub(crate) struct OldPod {
    /// Its node's name.
    pub(crate) node: Str,
    pub(crate) then: Then,
    pub(crate) service: Service,
}

/// Whether a pod serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Service {
    /// Its node and itself are Ready.
    Serves,
    /// They were, less than [`LATELY`] ago.
    Served,
    /// They are not.
    Down,
}

/// What a rolling controller does with an old pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Then {
    /// Replace it at once.
    Replaced,
    /// Delete it now, and create a new one when the node is Ready again.
    ReplacedOnceReady,
    /// Delete it for good: its node should not run it.
    Removed(Option<Ineligible>),
}

impl Engine {
    /// The pods that a rolling controller would delete, in no particular order. Pods that are being deleted, or that every strategy removes, are not
    /// among them.
    pub(crate) fn old_pods(&self) -> impl Iterator<Item = OldPod> {
        // Where it is not certain which revision is current, every pod may be replaced.
        let current = self.view.current().filter(|_| self.view.current_is_certain());
        self.assessment.rows().filter_map(move |row| {
            let pod = self.view.pod(row.pod?)?;
            let entry = self.view.entry(row.node);
            let stays = row.in_fleet || entry.fact.is_none() || entry.eligibility.should_continue;
            if pod.fact.deletion_at.is_some() || pod.fact.revision.as_ref() == current || !stays {
                return None;
            }
            let then = match (row.in_fleet, row.should_run) {
                (true, true) => Then::Replaced,
                (true, false) => Then::ReplacedOnceReady,
                (false, _) => Then::Removed(self.ineligible_because(row.node)),
            };
            // By the API server's clock, a node's own measured error taken out.
            let unready = row.since.map(|since| self.view.server_time(self.now).since(since));
            let service = match (entry.fact.is_some(), row.ready) {
                (false, _) => Service::Down,
                (true, true) => Service::Serves,
                (true, false) if pod.fact.ready || unready.is_some_and(|unready| unready < LATELY) => Service::Served,
                (true, false) => Service::Down,
            };
            Some(OldPod { node: entry.name.clone(), then, service })
        })
    }

    /// Why a node should not run the DaemonSet's pod; `None` where it should, or where the node or the DaemonSet is not known.
    pub(crate) fn ineligible_because(&self, node: NodeIx) -> Option<Ineligible> {
        ineligible_because(self.view.entry(node).fact.as_ref()?, &self.view.daemonset()?.template)
    }

    /// The pods that a release would remove for good and that serve or served lately, by name of their node. Empty where the strategy that the
    /// release restores is `OnDelete`.
    pub(crate) fn removed_by_release(&self) -> Vec<OldPod> {
        if !self.original_is_rolling() {
            return Vec::new();
        }
        let mut removed: Vec<OldPod> = self
            .old_pods()
            .filter(|pod| pod.service != Service::Down && matches!(pod.then, Then::Removed(_)))
            .collect();
        removed.sort_by(|a, b| natord::compare(&a.node, &b.node));
        removed
    }

    /// The update strategy that a release has to restore: the saved one, else the one that the record noted before the adoption. `None` if the DaemonSet has it
    /// already.
    pub(crate) fn original_to_restore(&self) -> Option<Value> {
        let daemonset = self.view.daemonset()?;
        let noted = || {
            let noted = self.lock.record()?.progress.original_strategy.as_deref()?;
            let noted: Value = serde_json::from_str(noted).ok()?;
            let lost = self.strategy() == StrategyKind::OnDelete && noted["type"] != "OnDelete";
            (lost || has_saved_strategy(daemonset)).then_some(noted)
        };
        saved_json(daemonset).or_else(noted)
    }

    /// Whether the strategy that a release restores lets the controller replace pods; so it is, too, while the DaemonSet is not known.
    pub(crate) fn original_is_rolling(&self) -> bool {
        self.view.daemonset().is_none_or(releases_to_rolling)
    }

    /// The update strategy that the DaemonSet has after a release.
    pub(crate) fn released_strategy(&self) -> ReleasedStrategy {
        let Some(daemonset) = self.view.daemonset() else { return ReleasedStrategy::Original };
        let saved = saved_json(daemonset);
        if daemonset.strategy.kind == StrategyKind::RollingUpdate
            && saved.is_some_and(|saved| saved != daemonset.strategy.raw)
        {
            return ReleasedStrategy::OfOthers;
        }
        changed_limit(daemonset, self.view.original_strategy())
            .map_or(ReleasedStrategy::Original, ReleasedStrategy::OriginalOverLimit)
    }

    /// Whether a release that rolldeck decided on by itself must wait, because it would remove serving pods for good.
    pub(crate) fn release_must_wait(&self, by: &By) -> bool {
        by.is_rolldeck() && !self.removed_by_release().is_empty()
    }

    /// Whether the template has changed since the recorded release was decided: its controller would roll out on all nodes what nobody has let go. Where somebody
    /// else has set a rolling strategy meanwhile it does so already, and the release only tidies up.
    pub(crate) fn releases_another_template(&self, intent: &Intent) -> bool {
        let is_known = self.is_observed() && self.view.current_is_certain();
        let current = self.view.current().filter(|_| is_known && intent.releasing.is_some());
        let hands_over = self.strategy() == StrategyKind::OnDelete && self.original_is_rolling();
        hands_over && current.zip(intent.release_of.as_ref()).is_some_and(|(is, of)| is != of)
    }
}
