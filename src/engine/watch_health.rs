//! How well the cluster is seen, watch by watch: what each says of itself, when it was last heard, and what it owes us.
//!
//! A watch that is open is not therefore true. A connection may be dead without a word, and an API server may serve
//! watches from a cache that stands still. Three things give such a watch away, without asking anybody anything:
//!
//! ```text
//!   silence   a server tells a quiet watch every minute how far it has come; one that does not is not there any more
//!   debt      what we wrote and the server confirmed must come back on its watch: a deletion on the pods', a renewal
//!             (one every few seconds while we drive) on the Lease's, a patch on the DaemonSet's; and a template that the
//!             controller says it has recorded, on the revisions'
//!   standstill  its bookmarks name a version that other watches have left behind long ago ([`versions`])
//! ```
//!
//! Any of them makes the watch *lag*: nothing is started on it, as if it were down, until it is heard again, or has shown
//! what it owes. A reconnected watch that has not caught up yet lags for the same reason.

use std::collections::VecDeque;
use std::time::Duration;

use super::Str;
use super::machine::{Deletion, Engine};
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
/// What was missed comes within so long after a watch that was down is open again, and after the first word of one that
/// lagged: it comes one by one, and each but the last shows how things were.
const CATCHES_UP: Duration = Duration::from_secs(2);
/// How many writes are waited for at once: renewals of a Lease that does not show any.
const MOST_PENDING: usize = 8;

const STANDS_STILL: &str = "it does not advance while others do";
const SILENCE: &str = "silent for longer than an API server ever is";
const MISSES_WRITE: &str = "a write of ours that the API server confirmed does not come back";
const MISSES_DELETION: &str = "a deletion that the API server confirmed does not come back";
const MISSES_REVISION: &str =
    "the revision of the present template, which the controller says it recorded, does not come";

/// Since when a watch owes something that is known to have happened, and what.
type Overdue = (Timestamp, &'static str);

/// How well everything that is watched is seen.
#[derive(Debug, Default)]
pub(crate) struct WatchStates([WatchState; Watched::ALL.len()], Versions);

/// One watch.
#[derive(Debug, Default)]
struct WatchState {
    /// What it says of itself.
    reported: WatchHealth,
    /// When it was open again after it had been down, or was last heard while it lagged.
    back_at: Option<Timestamp>,
    heard_at: Option<Timestamp>,
    /// It has given a sign of life although it had nothing to tell: so it will again, and its silence means something.
    sends_bookmarks: bool,
    /// It has shown the one object that it is about since its list began.
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

    /// What a watch says of itself.
    pub(crate) fn reported(&self, watched: Watched) -> &WatchHealth {
        &self.state(watched).reported
    }

    /// Takes in what a watch says of itself; says whether that is news.
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
            // It shows what was written before it, be it that it is gone since.
            Event::Listed(_, Some(version)) => watching.catch_up(&version.to_string().into()),
            // Whatever was written to it is past.
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

    /// Whether a watch has said anything that it cannot have said before `at`; as good as yes where it never gives signs
    /// of life.
    pub(crate) fn heard_since(&self, watched: Watched, at: Timestamp) -> bool {
        let watching = self.state(watched);
        !watching.sends_bookmarks || watching.heard_at.is_some_and(|heard_at| heard_at >= at)
    }

    /// Why an open watch is not to be believed, and as of when it was: `owes` is what it owes beside writes of ours.
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

    /// Whether a list of that version, now complete, shows that what it is about, of which there is one, is not there.
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

    /// What is known to have happened, and is not seen.
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

    /// Whether the DaemonSet is as it is shown, as far as can be told.
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

    /// What is too old, or not there, for a command to be judged: which watch, how old, and what to try. Nodes that may
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
