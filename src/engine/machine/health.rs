//! Watch health as the whole engine judges it. The verdict combines the observations of each watch (`view/watch_states.rs`) with facts from other
//! parts, such as a deletion that the API server confirmed and the watch of pods has not shown.
//!
//! A watch that *lags* counts as down: nothing is started on it. `view/watch_states.rs` describes how lagging is recognised.

use super::Engine;
use crate::engine::model::Str;
use crate::engine::model::event::{Event, WatchHealth, Watched};
use crate::engine::model::time::Timestamp;
use crate::engine::model::version::is_behind;
use crate::engine::view::watch_states::Overdue;

const MISSES_DELETION: &str = "a deletion that the API server confirmed does not come back";
const MISSES_REVISION: &str =
    "the revision of the present template, which the controller says it recorded, does not come";

impl Engine {
    /// Takes in that `event` came by its watch.
    pub(crate) fn hear(&mut self, event: &Event, now: Timestamp) {
        let lagging = |watched: &Watched| matches!(self.health(*watched), WatchHealth::Lagging { .. });
        let lagged = event.watched().as_ref().is_some_and(lagging);
        self.view.watch_was_heard(event, lagged, now);
    }

    /// Whether a complete list of this version proves that the single object of this watch does not exist.
    pub(crate) fn is_gone_by(&self, watched: Watched, version: Option<u64>) -> bool {
        let known = match watched {
            Watched::DaemonSet => self.view.daemonset().map(|daemonset| daemonset.resource_version.clone()),
            Watched::Lease => self.lock.resource_version(),
            // These watches are about many objects.
            Watched::Revisions | Watched::Pods | Watched::Nodes | Watched::Events | Watched::WarmPods => return false,
        };
        !self.view.watches().seen_since_list(watched) && !is_behind(version, known.and_then(|known| known.parse().ok()))
    }

    /// The health of a watch: as reported by the watch itself, except that a live watch may lag.
    pub(crate) fn health(&self, watched: Watched) -> WatchHealth {
        let watches = self.view.watches();
        match watches.reported(watched) {
            WatchHealth::Live => watches.lag(watched, self.overdue(watched), self.now).unwrap_or(WatchHealth::Live),
            health => health.clone(),
        }
    }

    /// The change that a watch should have shown by now, besides our pending writes.
    fn overdue(&self, watched: Watched) -> Option<Overdue> {
        match watched {
            Watched::Pods => self.deletions.unseen_since().map(|since| (since, MISSES_DELETION)),
            Watched::Revisions => self.view.revision_due_since().map(|since| (since, MISSES_REVISION)),
            Watched::DaemonSet | Watched::Nodes | Watched::Events | Watched::Lease | Watched::WarmPods => None,
        }
    }

    /// The next time at which the health of a watch changes although nothing happens.
    pub(crate) fn watch_health_changes_at(&self) -> Option<Timestamp> {
        let live =
            Watched::ALL.into_iter().filter(|watched| *self.view.watches().reported(*watched) == WatchHealth::Live);
        let lags = live.flat_map(|watched| self.view.watches().lags_at(watched, self.overdue(watched)));
        let caught_up = Watched::NEEDED.into_iter().filter_map(|it| self.view.watches().catches_up_until(it, self.now));
        lags.filter(|at| *at > self.now).chain(caught_up).min()
    }

    /// Whether the DaemonSet that is shown is up to date, as far as can be told.
    pub(crate) fn sees_daemonset(&self) -> bool {
        let catches_up = self.view.watches().catches_up_until(Watched::DaemonSet, self.now);
        self.health(Watched::DaemonSet) == WatchHealth::Live && catches_up.is_none()
    }

    /// Whether a watch came back so recently that changes it missed may still arrive. Meanwhile nothing is replaced.
    pub(crate) fn catches_up(&self) -> bool {
        Watched::NEEDED.into_iter().any(|watched| self.view.watches().catches_up_until(watched, self.now).is_some())
    }

    /// The first watch that must be seen before anything is started and cannot be, and why; `None` when all can. If all of these watches are down for
    /// the same reason, the text names the whole cluster.
    pub(crate) fn blindness(&self) -> Option<Str> {
        let down = |watched| match self.health(watched) {
            WatchHealth::Down { why, .. } => Some(why),
            _ => None,
        };
        let (first, others) = Watched::NEEDED.split_first()?;
        if let Some(why) = down(*first).filter(|why| others.iter().all(|watched| down(*watched).as_ref() == Some(why)))
        {
            return Some(format!("the cluster cannot be watched: {why}").into());
        }
        Watched::NEEDED.into_iter().find_map(|watched| match self.health(watched) {
            WatchHealth::Live => None,
            WatchHealth::Loading => Some(format!("{watched} are still loading").into()),
            WatchHealth::Down { why, .. } => Some(format!("{watched} cannot be watched: {why}").into()),
            WatchHealth::Lagging { why, .. } => Some(format!("the watch of {watched} lags: {why}").into()),
            WatchHealth::Forbidden { why } => Some(format!("{watched} are forbidden: {why}").into()),
        })
    }
}

#[cfg(test)]
mod tests;
