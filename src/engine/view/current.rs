//! Which ControllerRevision holds the DaemonSet's present template.
//!
//! It is the one whose template compares equal. If there is none although the controller says that it has recorded the
//! template, then either the revision has not been seen yet, or it is stored in a form that does not compare equal. In the second
//! case the newest revision is guessed ([`View::guess_current`]), but never one that was there before the template changed. A
//! revision whose number was raised since counts as new, because a roll back raises it.

use std::time::Duration;

use super::{IDLE_AFTER, Str, View};
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::facts::RevisionFact;
use crate::engine::model::time::Timestamp;

/// How long a revision may take to be seen after the controller said that it recorded it: they come by different watches.
pub(crate) const REVISION_PATIENCE: Duration = Duration::from_secs(10);
/// Annotation of a DaemonSet, and label of its pods: how often the template has changed.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

impl View {
    /// The template has changed, so its revision is no longer known. `observed`: we saw it change; otherwise the DaemonSet is seen for the first
    /// time.
    pub(super) fn leave_current(&mut self, observed: bool) {
        let left = self.current.take();
        // The new revision may have come by its own watch already: then it has a number above that of the one that was left.
        let number = |hash: &Str| self.revision(hash).map(|revision| revision.number);
        let newest = || self.own_revisions().map(|revision| revision.number).max();
        self.known_before = if observed { left.as_ref().and_then(number).or_else(newest) } else { None };
        self.current_is_guess = false;
        self.revision_due_since = None;
    }

    /// Finds the revision that holds the present template.
    pub(super) fn settle_current(&mut self, now: Timestamp) {
        let Some(daemonset) = &self.daemonset else { return };
        let recorded = daemonset.observed_generation >= daemonset.generation;
        let equal = self.own_revisions().filter(|revision| revision.template == daemonset.template);
        let equal = equal.max_by_key(|revision| revision.number).map(|revision| revision.hash.clone());
        let fallback = self.current.take().filter(|_| self.current_is_guess);
        self.current_is_guess = equal.is_none() && fallback.is_some();
        self.current = equal.or(fallback);
        let due = recorded && self.current.is_none();
        self.revision_due_since = due.then(|| self.revision_due_since.unwrap_or(now));
    }

    /// Since when the watch of revisions should have shown the revision of the present template.
    pub(crate) fn revision_due_since(&self) -> Option<Timestamp> {
        let known = *self.health(Watched::Revisions) == WatchHealth::Live;
        self.revision_due_since.filter(|_| known && self.candidate().is_none())
    }

    /// When, if nothing else happens, the newest revision is taken for that of the present template: the controller says that it has recorded it, but
    /// no stored form compares equal, and no other revision has arrived for a while.
    pub(crate) fn guesses_current_at(&self) -> Option<Timestamp> {
        let since = self.revision_due_since?;
        self.candidate().map(|_| since + REVISION_PATIENCE)
    }

    /// The instants at which the view changes without an event: the current revision is guessed, the controller counts as idle because it has left
    /// the spec unobserved, or a pod for pre-warming is given up. Missing pods are covered by their rows; when a watch begins to lag depends on our
    /// writes, too.
    pub(crate) fn changes_at(&self) -> impl Iterator<Item = Timestamp> {
        let idle = self.creation.unobserved_since().map(|since| since + IDLE_AFTER);
        [self.guesses_current_at(), idle, self.warm_pods_change_at()].into_iter().flatten()
    }

    /// Makes the guess of [`Self::guesses_current_at`] when its time has come, and drops a guess that proves wrong.
    pub(crate) fn guess_current(&mut self, now: Timestamp) {
        let refuted = || self.revision_of_new_pods().is_some_and(|hash| Some(hash) != self.current.as_ref());
        if self.current_is_guess && refuted() {
            (self.current, self.current_is_guess) = (None, false);
            self.revision_due_since = Some(now);
        }
        if self.guesses_current_at().is_some_and(|at| at <= now) {
            self.current = self.candidate().map(|revision| revision.hash.clone());
            self.current_is_guess = true;
            self.revision_due_since = None;
        }
    }

    /// The newest revision, if it may be that of the present template although it does not compare equal: it is new, and
    /// neither the controller's count of updated pods nor a pod that was made from this template speaks against it.
    fn candidate(&self) -> Option<&RevisionFact> {
        let newest = self.own_revisions().max_by_key(|revision| revision.number)?;
        let counters = &self.daemonset.as_ref()?.counters;
        let is_new = self.known_before.is_none_or(|before| newest.number > before);
        let has_any = self.own_pods().any(|pod| pod.revision.as_ref() == Some(&newest.hash));
        let counted = counters.updated > 0 || !has_any;
        let made_from_it = self.revision_of_new_pods().is_none_or(|hash| *hash == newest.hash);
        (is_new && counted && made_from_it).then_some(newest)
    }

    /// Whether it is certain which revision holds the present template: it compares equal, or a pod that the controller made from the template
    /// carries it.
    pub(crate) fn current_is_certain(&self) -> bool {
        let Some(current) = &self.current else { return false };
        !self.current_is_guess || self.revision_of_new_pods() == Some(current)
    }

    /// The revision of a pod that was made from the present template: the controller labels pods with how often the
    /// template had changed by then.
    fn revision_of_new_pods(&self) -> Option<&Str> {
        let annotations = &self.daemonset.as_ref()?.annotations;
        let generation: i64 = annotations.get(TEMPLATE_GENERATION)?.parse().ok()?;
        let mut new = self.own_pods().filter(|pod| pod.template_generation == Some(generation));
        new.find_map(|pod| pod.revision.as_ref())
    }
}
