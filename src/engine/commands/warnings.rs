//! Warnings of a preview that say which protection a command leaves without effect.

use crate::engine::machine::Engine;
use crate::engine::machine::release::Then;
use crate::engine::model::command::{Command, Early, PrewarmCommand};
use crate::engine::model::labels::Selector;
use crate::engine::model::quantity::Rounding;
use crate::engine::rules::site::site_of;

impl Engine {
    /// Which protection does not hold any more: a threshold that cannot be reached, budget and gates where the controller goes on.
    pub(super) fn left_unprotected(&self, command: &Command) -> Vec<String> {
        let early =
            matches!(command, Command::Release(Early::Accept)).then(|| self.released_early_in_brief()).flatten();
        self.never_halts(command).into_iter().chain(self.label_of_no_node(command)).chain(early).collect()
    }

    /// A label for sites that no node has, and which one is probably meant: the limits of each site then hold for all nodes together.
    fn label_of_no_node(&self, command: &Command) -> Option<String> {
        let label = match command.inner() {
            Command::Prewarm(PrewarmCommand::Start { limits, .. }) => limits.site_label.clone(),
            _ => command.tuning().site_label,
        }?;
        let known = self.labels_of_fleet().next().is_some();
        if !known || self.labels_of_fleet().any(|labels| !site_of(labels, &label).is_empty()) {
            return None;
        }
        let meant = label.to_string().parse::<Selector>().ok().and_then(|key| key.meant(&self.labels_of_fleet()));
        // The label itself is named already.
        let meant = meant.and_then(|meant| meant.rsplit_once(": ").map(|(_, meant)| format!(" ({meant})")));
        let meant = meant.unwrap_or_default();
        Some(format!(
            "No node has the label {label}{meant}: all of them are one site, to which limits per site then apply."
        ))
    }

    /// A failure threshold above the number of nodes: so many cannot fail.
    fn never_halts(&self, command: &Command) -> Option<String> {
        let threshold = command.tuning().failure_threshold?;
        let (desired, at) = (self.assessment.desired, threshold.of(self.assessment.desired, Rounding::Up));
        (at > desired && desired > 0).then(|| {
            format!("The failure threshold {threshold} is more than the {desired} nodes that there are: it never halts the rollout.")
        })
    }

    /// How many pods the controller then replaces and removes by itself.
    fn released_early_in_brief(&self) -> Option<String> {
        if !self.original_is_rolling() {
            return None;
        }
        let (removed, replaced): (Vec<_>, Vec<_>) =
            self.old_pods().partition(|pod| matches!(pod.then, Then::Removed(_)));
        let counted = |pods: usize, what: &str| match pods {
            0 => None,
            1 => Some(format!("{what} 1 pod")),
            pods => Some(format!("{what} {pods} pods")),
        };
        let does: Vec<String> =
            [counted(replaced.len(), "replaces"), counted(removed.len(), "removes")].into_iter().flatten().collect();
        (!does.is_empty()).then(|| {
            format!(
                "Its controller {} by itself: the budget and the gates of the rollout do not hold for that.",
                does.join(" and ")
            )
        })
    }
}
