//! A node whose pod is not created: why, whether that speaks against going on, and whether it has failed.
//!
//! | known of it | trouble: nothing that serves is replaced elsewhere | failed: counts toward the threshold |
//! |---|---|---|
//! | the API server refuses its pod | at once | after the kind's grace ([`CauseKind::grace`]) |
//! | its controller has not acted for 40 s | then | at the progress deadline |
//! | nothing | after 60 s | at the progress deadline |
//! | it was missing already when the template changed, and nothing since | at once: the refusal may have been about the earlier template, or not | at the progress deadline |

use std::time::Duration;

use super::Assessor;
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::view::{IDLE_AFTER, NodeEntry};

/// A pod that is missing for this long without a known reason gets the cause `NotCreated`.
const NOTABLE: Duration = Duration::from_secs(10);
/// A pod that is missing for this long without a known reason is trouble: nothing that serves is replaced elsewhere.
const TROUBLE: Duration = Duration::from_secs(60);

/// A node whose pod is missing, judged.
#[derive(Debug)]
pub(super) struct Absence {
    pub(super) cause: Option<Cause>,
    /// Nothing that serves is to be replaced elsewhere.
    pub(super) trouble: bool,
    /// It counts as failed.
    pub(super) failed: bool,
}

impl Assessor<'_> {
    /// Judges a node whose pod its controller has to create; `None` when there is one.
    pub(super) fn absence(&mut self, entry: &NodeEntry) -> Option<Absence> {
        let now = self.question.now;
        if self.view.is_forbidden(Watched::Pods) {
            return None;
        }
        // After a change of the template the controller gets the same time again.
        let missing_since = entry.missing_since?;
        let since = missing_since.max(self.view.template_seen_at());
        let (missing_for, absent_for) = (now.since(missing_since), now.since(since));
        // While the watch of pods is not live, the pod may exist without being seen.
        let known = matches!(self.view.health(Watched::Pods), WatchHealth::Live);
        // An earlier driver saw it fail: it was missing for longer than we have been watching.
        let seen_failed = known && self.question.inputs.failed_at_halt.contains(&entry.name);
        if let Some(refusal) = self.view.creation().refusal() {
            let grace = refusal.kind.grace().unwrap_or_default();
            let refused_for = now.since(refusal.since.max(since));
            self.wake_after(grace, refused_for);
            let cause = Cause { kind: refusal.kind, container: None, message: Some(refusal.message.clone()) };
            return Some(Absence {
                cause: Some(cause),
                trouble: true,
                failed: seen_failed || (known && refused_for >= grace),
            });
        }
        let deadline = Duration::from(self.question.inputs.gates.progress_deadline_secs);
        let idle_for = now.since(self.view.creation().waiting_since(since));
        let idle = idle_for >= IDLE_AFTER;
        self.wake_after(IDLE_AFTER, idle_for);
        self.wake_after(NOTABLE, missing_for);
        for limit in [TROUBLE, deadline] {
            self.wake_after(limit, absent_for);
        }
        let kind = if idle { CauseKind::ControllerIdle } else { CauseKind::NotCreated };
        let failed = seen_failed || (known && absent_for >= deadline);
        let cause = if failed {
            Some(Cause { kind: CauseKind::Deadline, container: None, message: Some(kind.to_string().into()) })
        } else {
            (idle || missing_for >= NOTABLE).then_some(Cause { kind, container: None, message: None })
        };
        // Its controller tries again because the template changed: it makes the pod within moments, or says why not.
        let is_tried_again = missing_since < self.view.template_seen_at();
        Some(Absence { cause, trouble: idle || is_tried_again || absent_for >= TROUBLE, failed })
    }
}

#[cfg(test)]
mod tests;
