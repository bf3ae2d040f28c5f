//! Warnings of a preview that say which protection a command leaves without effect.

use crate::engine::machine::Engine;
use crate::engine::machine::release::Then;
use crate::engine::model::command::{Command, Early};
use crate::engine::model::quantity::Rounding;

impl Engine {
    /// Which protection does not hold any more: a threshold that cannot be reached, budget and gates where the controller goes on.
    pub(super) fn left_unprotected(&self, command: &Command) -> Vec<String> {
        let early =
            matches!(command, Command::Release(Early::Accept)).then(|| self.released_early_in_brief()).flatten();
        self.never_halts(command).into_iter().chain(early).collect()
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
