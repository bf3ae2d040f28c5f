//! Handing a DaemonSet back because an operator asks for it: the refusals and the preview.

use super::resolved::Resolved;
use crate::engine::lease::edit::Edit;
use crate::engine::machine::Engine;
use crate::engine::machine::old_pods::{counted, pods_are, where_and_why};
use crate::engine::machine::release::{OldPod, Service, Then};
use crate::engine::model::command::{Command, Early, Refusal};
use crate::engine::model::config::Role;
use crate::engine::model::danger::Danger;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::quantity;
use crate::engine::model::record::By;
use crate::engine::model::released_strategy::{ChangedLimit, ReleasedStrategy};
use crate::engine::model::time::{Timestamp, UtcTime};
use crate::engine::rules::saved_strategy::has_saved_strategy;
use crate::engine::writes::pending::Needs;

impl Engine {
    pub(super) fn resolve_release(&self, early: Early, by: By) -> Result<Resolved, Refusal> {
        let saved = self.view.daemonset().is_some_and(has_saved_strategy);
        if self.release_only_drops_a_record() {
            let says = match self.lock.has_unreadable_record() {
                true => "the record that could not be read is dropped".to_owned(),
                false => "the record of the earlier DaemonSet is dropped".to_owned(),
            };
            return Ok(Resolved::new(vec![Edit::Release { by, of: None }], Needs::Released, says, Danger::None));
        }
        if !saved && !self.is_recorded() {
            return Err(Refusal::NotNow("it is not adopted: there is nothing to release".into()));
        }
        let (left, removed) = (self.left_to_the_controller(), self.removed_by_release());
        if early == Early::Refuse && !removed.is_empty() {
            return Err(Refusal::NotNow(format!(
                "nodes that should not run them any more have {}: {}. Once released its controller deletes them and \
                 makes none there. Let the nodes run them again, or release early if that is meant",
                counted(&removed),
                where_and_why(&removed)
            )));
        }
        if early == Early::Refuse && left > 0 && self.original_is_rolling() {
            return Err(Refusal::NotNow(format!(
                "{} not at the current revision; once released its controller replaces {} by itself: \
                 release early (`release --early`) only if that is meant",
                pods_are(left),
                if left == 1 { "it" } else { "them" }
            )));
        }
        let paused = self.intent().paused.filter(|paused| !paused.is_by_rolldeck());
        let lifted = paused.map(|paused| format!("; the {}", self.lifted_in_words(&paused))).unwrap_or_default();
        // Who reads of it later is told what it left to the controller, which a release at the end does not.
        let left_early = match early == Early::Accept && self.release_costs_pods() {
            true => format!("; early, with {} left to its controller", quantity::counted(left + removed.len(), "pod")),
            false => String::new(),
        };
        let says = format!("{}{left_early}{lifted}", self.released_strategy());
        let danger = if self.release_costs_pods() {
            Danger::ExceedsBudget
        } else if self.lifts_pause(&Command::Release(early), &self.intent()).is_some() {
            Danger::Serious
        } else {
            Danger::Bounded
        };
        let of = self.view.current().cloned().filter(|_| self.is_observed() && self.view.current_is_certain());
        Ok(Resolved::new(vec![Edit::Release { by, of }], Needs::Released, says, danger))
    }

    /// Whether all that a release does is to drop a record that cannot be read, or that of an earlier DaemonSet of the same name: this one is not
    /// adopted, so that it has no other update strategy to restore.
    pub(super) fn release_only_drops_a_record(&self) -> bool {
        let saved = self.view.daemonset().is_some_and(has_saved_strategy);
        let drops = self.lock.foreign_record().is_some() || self.lock.has_unreadable_record();
        !saved && !self.is_recorded() && drops
    }

    /// For how long a process drives that carries out a release.
    pub(super) fn drives_until_released(&self) -> &'static str {
        match self.release_only_drops_a_record() {
            true => "This process holds the lease until the record is dropped.",
            false => "This process becomes the driver until the DaemonSet is handed back.",
        }
    }

    /// Whether the DaemonSet's controller replaces or removes pods once the DaemonSet is handed back.
    pub(super) fn release_costs_pods(&self) -> bool {
        self.original_is_rolling() && (self.left_to_the_controller() > 0 || !self.removed_by_release().is_empty())
    }

    /// The further effects of driving while a release is recorded that nobody has carried out yet, one sentence per line.
    pub(super) fn pending_release_in_words(&self, by: &By, now: Timestamp) -> Vec<String> {
        let asked = match by.is_rolldeck() {
            true => "Hands the DaemonSet back, as every node was updated.".to_owned(),
            false => format!(
                "Carries out the release that {} asked for at {}; a pause calls it off.",
                by.by,
                UtcTime { at: by.at, now }
            ),
        };
        std::iter::once(asked).chain(self.release_in_words()).collect()
    }

    /// How many pods of the fleet the controller would replace by itself.
    fn left_to_the_controller(&self) -> usize {
        self.old_pods().filter(|pod| !matches!(pod.then, Then::Removed(_))).count()
    }

    /// The effects of a release, one sentence per line, for the preview.
    pub(super) fn release_in_words(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.release_only_drops_a_record() {
            let strategy = match self.strategy() {
                StrategyKind::RollingUpdate => "RollingUpdate",
                StrategyKind::OnDelete => "OnDelete",
            };
            lines.push(match self.lock.has_unreadable_record() {
                true => "Drops the record that cannot be read.".to_owned(),
                false => "Drops the record of the earlier DaemonSet of this name.".to_owned(),
            });
            lines.push(format!(
                "This DaemonSet is not changed: its update strategy stays {strategy}, and no pod is replaced for it."
            ));
        } else {
            // The costs come before the other effects.
            lines.extend(self.release_costs_in_words());
            let strategy = match self.released_strategy() {
                ReleasedStrategy::Original => "Restores the original update strategy and",
                ReleasedStrategy::OriginalOverLimit(ChangedLimit { set, saved }) => {
                    lines.push(format!(
                        "The DaemonSet's maxUnavailable becomes {saved} again: {set}, as somebody has set it since, is not kept."
                    ));
                    "Restores the original update strategy and"
                }
                ReleasedStrategy::NotAdopted => "Leaves the update strategy as it is, and",
                ReleasedStrategy::OfOthers => "Keeps the update strategy that somebody has set since, and",
            };
            lines.push(format!("{strategy} drops the rollout's record."));
        }
        let warms = self.recorded_prewarm().is_some_and(|prewarm| prewarm.cancelled.is_none());
        let undriven = self.config().role == Role::OneShot && self.lock.living_other(self.now).is_none();
        lines.extend(warms.then(|| match undriven {
            true => "Pre-warming ends with it: its pods stay until somebody drives.".to_owned(),
            false => "Pre-warming ends with it: its pods are deleted.".to_owned(),
        }));
        lines
    }

    /// The pods that the DaemonSet's controller deletes or replaces once the DaemonSet is handed back.
    fn release_costs_in_words(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.original_is_rolling() {
            return lines;
        }
        let of = |which: fn(&OldPod) -> bool| {
            let mut pods: Vec<OldPod> = self.old_pods().filter(which).collect();
            pods.sort_by(|a, b| natord::compare(&a.node, &b.node));
            pods
        };
        let removed = of(|pod| pod.service != Service::Down && matches!(pod.then, Then::Removed(_)));
        if !removed.is_empty() {
            lines.push(format!(
                "The controller deletes {} on nodes that should not run them any more, and makes none there: {}.",
                counted(&removed),
                where_and_why(&removed)
            ));
        }
        let gone = of(|pod| pod.service == Service::Down && matches!(pod.then, Then::Removed(_)));
        if !gone.is_empty() {
            lines.push(format!(
                "It deletes {} there too: {}.",
                if gone.len() == 1 {
                    "1 pod that does not serve".into()
                } else {
                    format!("{} pods that do not serve", gone.len())
                },
                where_and_why(&gone)
            ));
        }
        let left = self.left_to_the_controller();
        let down = of(|pod| pod.then == Then::ReplacedOnceReady);
        match (left, down.len()) {
            (0, _) => {}
            (1, 1) => lines.push(format!(
                "1 pod is not at the current revision, on a node that is down: the controller deletes it, and makes it anew once the node \
                 is Ready: {}.",
                where_and_why(&down)
            )),
            (1, _) => lines.push("1 pod is not at the current revision: once released, its controller replaces it by itself.".into()),
            _ => lines.push(format!(
                "{} not at the current revision: once released, its controller replaces them by itself.",
                pods_are(left)
            )),
        }
        if left > 0 && self.is_halted(&self.intent()) {
            lines.push(format!(
                "The rollout is halted ({}): the controller goes on all the same, and no gate stops it.",
                self.halt_why()
            ));
        }
        if left > 1 && !down.is_empty() {
            lines.push(format!(
                "Of these {} on nodes that are down: deleted, and made anew once the node is Ready: {}.",
                pods_are(down.len()),
                where_and_why(&down)
            ));
        }
        lines
    }
}
