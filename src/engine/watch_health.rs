//! Watch health: for each watch, what the adapter reports of it, when it was last heard, and which writes it still has to show.
//!
//! An open watch may show an old state. Its connection may be dead without an error, or the API server may serve it from a
//! cache that is not updated any more. Three observations reveal that, without sending a request:
//!
//! ```text
//!   silence         API servers send a bookmark to a quiet watch every minute; this watch has had none for too long
//!   missing write   a write that the server confirmed has not come back: a deletion on the watch of pods, a renewal (every
//!                   few seconds while we drive) on that of the Lease, a patch on that of the DaemonSet; or, on that of
//!                   revisions, a template that the controller says it has recorded
//!   standstill      its bookmarks name a version that other watches have passed long ago ([`versions`])
//! ```
//!
//! Each of them makes the watch *lag*. Nothing is started on a lagging watch, as if it were down, until it is heard again or
//! has shown the missing write. A watch that was reconnected lags until it has caught up.

use std::collections::VecDeque;
use std::time::Duration;

use super::machine::{Deletion, Engine};
use super::model::Str;
use super::model::event::{Event, WatchHealth, Watched};
use super::model::time::{ShortDuration, Timestamp};
use super::snapshot::WatchView;
use super::view::{is_behind, is_older};

use self::versions::Versions;

/// A watch that was silent for so long lags. API servers send bookmarks once a minute (`bookmarkFrequency` in the watch
/// cache, by a timer of a second or so), and the cluster adapter asks anew after 75 s of silence: this leaves it a
/// quarter of a minute to be answered.
pub(crate) const SILENT: Duration = Duration::from_secs(90);
/// A watch that has not shown a confirmed write of ours for so long lags. They come within milliseconds; a server under
/// load may take seconds.
pub(crate) const SHOWN_WITHIN: Duration = Duration::from_secs(10);
/// After a watch that was down is open again, and after a lagging one is heard again, changes that were missed arrive one by
/// one, and all but the last show an outdated state. This long they are waited for.
const CATCHES_UP: Duration = Duration::from_secs(2);
/// How many confirmed writes are remembered until their watch shows them. Only the Lease has more than one: renewals.
const MOST_PENDING: usize = 8;

const STANDS_STILL: &str = "it does not advance while others do";
const SILENCE: &str = "silent for longer than an API server ever is";
const MISSES_WRITE: &str = "a write of ours that the API server confirmed does not come back";
const MISSES_DELETION: &str = "a deletion that the API server confirmed does not come back";
const MISSES_REVISION: &str =
    "the revision of the present template, which the controller says it recorded, does not come";

/// Since when a watch should have shown something that is known to have happened, and what.
type Overdue = (Timestamp, &'static str);

/// How well everything that is watched is seen.
#[derive(Debug, Default)]
pub(crate) struct WatchStates([WatchState; Watched::ALL.len()], Versions);

/// One watch.
#[derive(Debug, Default)]
struct WatchState {
    /// What the cluster adapter reports of it.
    reported: WatchHealth,
    /// When it was open again after it had been down, or was last heard while it lagged.
    back_at: Option<Timestamp>,
    heard_at: Option<Timestamp>,
    /// It was heard although nothing had changed: so it sends bookmarks, and silence means that it does not work any more.
    sends_bookmarks: bool,
    /// It has named the one object that it is about (DaemonSet, Lease) since its list began.
    seen_since_list: bool,
    /// The newest version that it has shown.
    shown: Option<Str>,
    /// Versions that writes of ours were answered with and that it has not shown, and when, oldest first.
    pending_writes: VecDeque<(Str, Timestamp)>,
}

impl WatchStates {
    fn state(&self, watched: Watched) -> &WatchState {
        &self.0[watched as usize]
    }

    /// What the cluster adapter reports of a watch.
    pub(crate) fn reported(&self, watched: Watched) -> &WatchHealth {
        &self.state(watched).reported
    }

    /// Takes in what the adapter reports of a watch; returns whether it has changed.
    pub(crate) fn report(&mut self, watched: Watched, health: WatchHealth, now: Timestamp) -> bool {
        let watching = &mut self.0[watched as usize];
        let news = watching.reported != health;
        if matches!((&watching.reported, &health), (WatchHealth::Down { .. }, WatchHealth::Live)) {
            watching.back_at = Some(now);
        }
        watching.reported = health;
        news
    }

    /// Until when a watch may still have to tell what was missed while it was down.
    fn catches_up_until(&self, watched: Watched, now: Timestamp) -> Option<Timestamp> {
        self.state(watched).back_at.map(|back_at| back_at + CATCHES_UP).filter(|until| now < *until)
    }

    /// Takes in that `event` came by its watch.
    fn hear(&mut self, event: &Event, now: Timestamp) {
        let Some(watched) = event.watched() else { return };
        self.1.hear(watched, event, now);
        let watching = &mut self.0[watched as usize];
        watching.heard_at = Some(watching.heard_at.map_or(now, |known| known.max(now)));
        match event {
            Event::Heard(..) => watching.sends_bookmarks = true,
            Event::Lease(fact) => watching.show(&fact.resource_version),
            Event::DaemonSet(fact) => watching.show(&fact.resource_version),
            Event::Listing(_) => watching.seen_since_list = false,
            // A list shows everything that was written before it.
            Event::Listed(_, Some(version)) => watching.catch_up(&version.to_string().into()),
            // The object is gone: no write to it can be shown any more.
            Event::LeaseGone | Event::DaemonSetGone => watching.pending_writes.clear(),
            _ => {}
        }
    }

    /// A write of ours was answered with this version: its watch is to show it, unless it has.
    pub(crate) fn expect(&mut self, watched: Watched, version: &Str, now: Timestamp) {
        let watching = &mut self.0[watched as usize];
        let behind = watching.shown.as_ref().is_none_or(|shown| is_older(shown, version));
        if behind && version.parse::<u64>().is_ok() && watching.pending_writes.len() < MOST_PENDING {
            watching.pending_writes.push_back((version.clone(), now));
        }
    }

    /// When a watch was last heard.
    pub(crate) fn heard_at(&self, watched: Watched) -> Option<Timestamp> {
        self.state(watched).heard_at
    }

    /// Whether a watch was heard after `at`. Also true for a watch that sends no bookmarks: its silence means nothing.
    pub(crate) fn heard_since(&self, watched: Watched, at: Timestamp) -> bool {
        let watching = self.state(watched);
        !watching.sends_bookmarks || watching.heard_at.is_some_and(|heard_at| heard_at >= at)
    }

    /// Why an open watch lags, and as of when it was still right; `owes`: what it should have shown, beside our pending writes.
    fn lag(&self, watched: Watched, owes: Option<Overdue>, now: Timestamp) -> Option<WatchHealth> {
        let watching = self.state(watched);
        let late = |at: &Timestamp| now >= *at + SHOWN_WITHIN;
        let lagging = |since: Timestamp, why: &str| Some(WatchHealth::Lagging { since, why: why.into() });
        if let Some((since, why)) = owes.filter(|(since, _)| late(since)) {
            return lagging(since, why);
        }
        if let Some(since) = watching.pending_writes.front().map(|(_, at)| *at).filter(late) {
            return lagging(since, MISSES_WRITE);
        }
        let heard_at = watching.heard_at.filter(|_| watching.sends_bookmarks)?;
        if let Some(since) = self.1.stands_still(watched, heard_at) {
            return lagging(since, STANDS_STILL);
        }
        if now >= heard_at + SILENT { lagging(heard_at, SILENCE) } else { None }
    }

    /// When a watch that is open begins to lag, if nothing is heard of it.
    fn lags_at(&self, watched: Watched, owes: Option<Overdue>) -> impl Iterator<Item = Timestamp> {
        let watching = self.state(watched);
        let owed = watching.pending_writes.front().map(|(_, at)| *at);
        let silent = watching.heard_at.filter(|_| watching.sends_bookmarks).map(|heard_at| heard_at + SILENT);
        [owes.map(|(at, _)| at + SHOWN_WITHIN), owed.map(|at| at + SHOWN_WITHIN), silent].into_iter().flatten()
    }
}

impl WatchState {
    /// It shows the one object that it is about, at this version.
    fn show(&mut self, version: &Str) {
        self.seen_since_list = true;
        self.catch_up(version);
    }

    /// It has shown everything up to this version.
    fn catch_up(&mut self, version: &Str) {
        if self.shown.as_ref().is_none_or(|shown| !is_older(version, shown)) {
            self.shown = Some(version.clone());
        }
        self.pending_writes.retain(|(owed, _)| is_older(version, owed));
    }
}

impl Engine {
    /// Takes in that `event` came by its watch. A watch that lagged has to catch up from there on.
    pub(crate) fn hear(&mut self, event: &Event, now: Timestamp) {
        let lagging = |watched: &Watched| matches!(self.health(*watched), WatchHealth::Lagging { .. });
        let lagged = event.watched().filter(lagging);
        self.view.watches.hear(event, now);
        if let Some(watched) = lagged {
            self.view.watches.0[watched as usize].back_at = Some(now);
        }
    }

    /// Whether a complete list of this version shows that the one object that the watch is about does not exist.
    pub(crate) fn is_gone_by(&self, watched: Watched, version: Option<u64>) -> bool {
        let known = match watched {
            Watched::DaemonSet => self.view.daemonset.as_ref().map(|daemonset| daemonset.resource_version.clone()),
            _ => self.lock.resource_version(),
        };
        !self.view.watches.state(watched).seen_since_list
            && !is_behind(version, known.and_then(|known| known.parse().ok()))
    }

    /// How well a kind can be seen: as its watch says, unless it lags.
    pub(crate) fn health(&self, watched: Watched) -> WatchHealth {
        let watches = &self.view.watches;
        match watches.reported(watched) {
            WatchHealth::Live => watches.lag(watched, self.overdue(watched), self.now).unwrap_or(WatchHealth::Live),
            health => health.clone(),
        }
    }

    /// What a watch should have shown, beside our pending writes.
    fn overdue(&self, watched: Watched) -> Option<Overdue> {
        match watched {
            Watched::Pods => self.overdue_deletion().map(|since| (since, MISSES_DELETION)),
            Watched::Revisions => self.view.revision_due_since().map(|since| (since, MISSES_REVISION)),
            _ => None,
        }
    }

    /// Since when a deletion that was confirmed is not seen.
    fn overdue_deletion(&self) -> Option<Timestamp> {
        let confirmed = |deletion: &Deletion| match deletion {
            Deletion::Confirmed(at) => Some(*at),
            Deletion::Sent | Deletion::Unknown(_) => None,
        };
        self.deletions.values().filter_map(confirmed).min()
    }

    /// When time alone makes a watch lag.
    pub(crate) fn watch_health_changes_at(&self) -> Option<Timestamp> {
        let live =
            Watched::ALL.into_iter().filter(|watched| *self.view.watches.reported(*watched) == WatchHealth::Live);
        let lags = live.flat_map(|watched| self.view.watches.lags_at(watched, self.overdue(watched)));
        let caught_up = Watched::NEEDED.into_iter().filter_map(|it| self.view.watches.catches_up_until(it, self.now));
        lags.filter(|at| *at > self.now).chain(caught_up).min()
    }

    /// Whether the DaemonSet that is shown is the present one, as far as can be told.
    pub(crate) fn sees_daemonset(&self) -> bool {
        let catches_up = self.view.watches.catches_up_until(Watched::DaemonSet, self.now);
        self.health(Watched::DaemonSet) == WatchHealth::Live && catches_up.is_none()
    }

    /// Whether a watch has come back so lately that what it missed may still be on its way: for so long, nothing is
    /// replaced on what it shows.
    pub(crate) fn catches_up(&self) -> bool {
        Watched::NEEDED.into_iter().any(|watched| self.view.watches.catches_up_until(watched, self.now).is_some())
    }

    /// What cannot be seen that must be seen before anything is started; `None` when all is well.
    pub(crate) fn blindness(&self) -> Option<Str> {
        Watched::NEEDED.into_iter().find_map(|watched| match self.health(watched) {
            WatchHealth::Live => None,
            WatchHealth::Loading => Some(format!("{watched} are still loading").into()),
            WatchHealth::Down { why, .. } => Some(format!("{watched} cannot be watched: {why}").into()),
            WatchHealth::Lagging { why, .. } => Some(format!("the watch of {watched} lags: {why}").into()),
            WatchHealth::Forbidden { why } => Some(format!("{watched} are forbidden: {why}").into()),
        })
    }

    /// Why a command cannot be judged: which watch is too old or missing, how old, and what to try. Nodes that may
    /// not be seen are no reason: then nothing is replaced, but what is asked for can be written down.
    pub(crate) fn too_stale_to_judge(&self, now: Timestamp) -> Option<Str> {
        Watched::NEEDED.into_iter().find_map(|watched| {
            let ago = |since: Timestamp| ShortDuration(now.since(since));
            let words = match self.health(watched) {
                WatchHealth::Live => return None,
                WatchHealth::Forbidden { .. } if watched == Watched::Nodes => return None,
                WatchHealth::Loading => format!("{watched} still loading; try again in a moment"),
                WatchHealth::Down { since, why } => format!(
                    "{watched} not seen for {} ({why}); it is tried again by itself: check the way to the API server",
                    ago(since)
                ),
                WatchHealth::Lagging { since, why } => format!(
                    "{watched} as of {} ago ({why}); wait until it has caught up, or check the way to the API server",
                    ago(since)
                ),
                WatchHealth::Forbidden { why } => format!("{watched} forbidden: {why}; ask for `list` and `watch`"),
            };
            Some(format!("{words}. Pausing works all the same").into())
        })
    }

    /// How well each kind is seen and when it was last heard of, in the order in which they are shown.
    pub(crate) fn watch_views(&self) -> Vec<WatchView> {
        let view = |watched| WatchView {
            watched,
            health: self.health(watched),
            heard_at: self.view.watches.heard_at(watched),
        };
        Watched::ALL.map(view).into()
    }
}

mod versions;

#[cfg(test)]
mod tests;
