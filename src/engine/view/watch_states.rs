//! Watch health: for each watch, what the adapter reports of it, when it was last heard, and which writes it still has to show.
//!
//! An open watch may show an old state. Its connection may be dead without an error, or the API server may serve it from a
//! cache that is not updated any more. Four observations reveal that, without sending a request:
//!
//! ```text
//!   silence         API servers send a bookmark to a quiet watch every minute; this watch has had none for too long
//!   missing write   a write that the server confirmed has not come back: a deletion on the watch of pods, a renewal (every
//!                   few seconds while we drive) on that of the Lease, a patch on that of the DaemonSet; or, on that of
//!                   revisions, a template that the controller says it has recorded
//!   new list        what it has shown is of an earlier state until all of it is listed
//!   stale version   its bookmarks name a version that other watches have passed long ago ([`versions`])
//! ```
//!
//! Each of them makes the watch *lag*. Nothing is started on a lagging watch, as if it were down, until it is heard again or
//! has shown the missing write. A watch that was reconnected lags until it has caught up.

mod versions;

use std::collections::VecDeque;
use std::time::Duration;

use self::versions::Versions;
use super::View;
use crate::engine::model::Str;
use crate::engine::model::event::{Event, SkippedObjects, WatchHealth, Watched};
use crate::engine::model::facts::DaemonSetFact;
use crate::engine::model::time::Timestamp;
use crate::engine::model::version::is_older;

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

pub(crate) const STANDS_STILL: &str = "it does not advance while others do";

pub(crate) const SILENCE: &str = "silent for longer than an API server ever is";

pub(crate) const LISTS_ANEW: &str = "it is listed anew, and all of it has not come yet";

pub(crate) const MISSES_WRITE: &str = "a write of ours that the API server confirmed does not come back";

/// Since when a watch should have shown a change that is known to have happened, and which change.
pub(crate) type Overdue = (Timestamp, &'static str);

/// The health of all watches.
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
    /// Its list has come to its end, even if an object could not be read: nothing else existed then.
    was_listed: bool,
    /// It has named the one object that it is about (DaemonSet, Lease) since its list began.
    seen_since_list: bool,
    /// The newest version that it has shown.
    shown: Option<Str>,
    /// A list of it has begun and has not come to its end: as of when it was right before that.
    lists_since: Option<Timestamp>,
    /// When its last list began.
    listing_at: Option<Timestamp>,
    /// Its last list came to its end within [`CATCHES_UP`], so that nothing of what was missed before it is outstanding.
    is_fresh: bool,
    /// Objects that could not be read and were skipped since its list began.
    skipped: Option<SkippedObjects>,
    /// Versions that writes of ours were answered with and that it has not shown, and when, oldest first.
    pending_writes: VecDeque<(Str, Timestamp)>,
}

impl WatchStates {
    fn state(&self, watched: Watched) -> &WatchState {
        &self.0[watched as usize]
    }

    /// The cluster adapter's report on a watch.
    pub(crate) fn reported(&self, watched: Watched) -> &WatchHealth {
        &self.state(watched).reported
    }

    /// Whether it may not be read, and was never listed.
    pub(crate) fn was_never_permitted(&self, watched: Watched) -> bool {
        let state = self.state(watched);
        matches!(state.reported, WatchHealth::Forbidden { .. }) && !state.was_listed
    }

    /// Whether nothing of it is known yet: its first list has not come to its end, for instance because the server does not answer.
    pub(crate) fn is_unlisted(&self, watched: Watched) -> bool {
        let state = self.state(watched);
        match state.reported {
            WatchHealth::Loading => true,
            WatchHealth::Down { .. } => !state.was_listed,
            // A forbidden watch will never show more.
            WatchHealth::Forbidden { .. } | WatchHealth::Live | WatchHealth::Lagging { .. } => false,
        }
    }

    /// Takes in what the adapter reports of a watch; returns whether it has changed.
    pub(super) fn report(&mut self, watched: Watched, health: WatchHealth, now: Timestamp) -> bool {
        let state = &mut self.0[watched as usize];
        let news = state.reported != health;
        if matches!((&state.reported, &health), (WatchHealth::Down { .. }, WatchHealth::Live)) && !state.is_fresh {
            state.back_at = Some(now);
        }
        state.is_fresh = false;
        state.was_listed |= health == WatchHealth::Live;
        state.reported = health;
        news
    }

    /// Until when a watch may still deliver changes missed while it was down.
    pub(crate) fn catches_up_until(&self, watched: Watched, now: Timestamp) -> Option<Timestamp> {
        self.state(watched).back_at.map(|back_at| back_at + CATCHES_UP).filter(|until| now < *until)
    }

    /// Takes in that `event` came by its watch.
    fn hear(&mut self, event: &Event, now: Timestamp) {
        let Some(watched) = event.watched() else { return };
        self.1.hear(watched, event, now);
        let state = &mut self.0[watched as usize];
        let heard_before = state.heard_at;
        // The report that follows a list is about that list; whatever else comes is not.
        state.is_fresh &= matches!(event, Event::Watch(..));
        state.heard_at = Some(state.heard_at.map_or(now, |known| known.max(now)));
        match event {
            Event::Heard(..) => (state.sends_bookmarks, state.was_listed) = (true, true),
            Event::Lease(fact) => state.show(&fact.resource_version),
            Event::DaemonSet(fact) => state.show(&fact.resource_version),
            Event::Listing(_) => {
                state.seen_since_list = false;
                state.skipped = None;
                state.lists_since = state.lists_since.or(heard_before).or(Some(now));
                (state.listing_at, state.is_fresh) = (Some(now), false);
            }
            Event::Skipped(_, why) => {
                let none = SkippedObjects { count: 0, first: why.clone() };
                let skipped = state.skipped.get_or_insert(none);
                skipped.count = skipped.count.saturating_add(1);
            }
            // A list shows everything that was written before it.
            Event::Listed(_, version) => {
                (state.was_listed, state.lists_since) = (true, None);
                state.is_fresh = state.listing_at.take().is_some_and(|began| now.since(began) < CATCHES_UP);
                version.iter().for_each(|version| state.catch_up(&version.to_string().into()));
            }
            // The object is gone: no write to it can be shown any more.
            Event::LeaseGone(_) | Event::DaemonSetGone(_) => state.pending_writes.clear(),
            // We write none of these, or do not wait for what they show.
            Event::Revision(_)
            | Event::RevisionGone(_)
            | Event::Node(_)
            | Event::NodeGone(_)
            | Event::Pod(_)
            | Event::PodGone(..)
            | Event::WarmPod(_)
            | Event::WarmPodGone(..)
            | Event::Cluster(_)
            | Event::Watch(..)
            | Event::Rights(_)
            | Event::Skew(_)
            | Event::RoundTrip(_) => {}
        }
    }

    /// Whether everything of it was listed just now, so that nothing of what it missed is outstanding.
    fn is_fresh(&self, watched: Watched) -> bool {
        self.state(watched).is_fresh
    }

    /// Whether a watch has named the one object that it is about since its list began.
    pub(crate) fn seen_since_list(&self, watched: Watched) -> bool {
        self.state(watched).seen_since_list
    }

    /// A lagging watch was heard again at `now`.
    fn is_back(&mut self, watched: Watched, now: Timestamp) {
        self.0[watched as usize].back_at = Some(now);
    }

    /// A write of ours was answered with this version: its watch is to show it, unless it has.
    fn expect(&mut self, watched: Watched, version: &Str, now: Timestamp) {
        let state = &mut self.0[watched as usize];
        let behind = state.shown.as_ref().is_none_or(|shown| is_older(shown, version));
        if behind && version.parse::<u64>().is_ok() && state.pending_writes.len() < MOST_PENDING {
            state.pending_writes.push_back((version.clone(), now));
        }
    }

    /// When a watch was last heard.
    pub(crate) fn heard_at(&self, watched: Watched) -> Option<Timestamp> {
        self.state(watched).heard_at
    }

    /// Objects that a watch brought and that could not be read, so that they were skipped.
    pub(crate) fn skipped(&self, watched: Watched) -> Option<&SkippedObjects> {
        self.state(watched).skipped.as_ref()
    }

    /// Whether a watch was heard after `at`. Also true for a watch that sends no bookmarks: its silence means nothing.
    pub(crate) fn heard_since(&self, watched: Watched, at: Timestamp) -> bool {
        let state = self.state(watched);
        !state.sends_bookmarks || state.heard_at.is_some_and(|heard_at| heard_at >= at)
    }

    /// Until when a watch has told everything, as far as is known. One that sends no bookmarks may have nothing to tell.
    pub(crate) fn heard_until(&self, watched: Watched, now: Timestamp) -> Timestamp {
        let state = self.state(watched);
        if state.sends_bookmarks { state.heard_at.unwrap_or_default() } else { now }
    }

    /// Why an open watch lags, and as of when it was still right; `overdue` is a change that it should have shown, besides our pending writes.
    pub(crate) fn lag(&self, watched: Watched, overdue: Option<Overdue>, now: Timestamp) -> Option<WatchHealth> {
        let state = self.state(watched);
        let late = |at: &Timestamp| now >= *at + SHOWN_WITHIN;
        let lagging = |since: Timestamp, why: &str| Some(WatchHealth::Lagging { since, why: why.into() });
        if let Some(since) = state.lists_since {
            return lagging(since, LISTS_ANEW);
        }
        if let Some((since, why)) = overdue.filter(|(since, _)| late(since)) {
            return lagging(since, why);
        }
        if let Some(since) = state.pending_writes.front().map(|(_, at)| *at).filter(late) {
            return lagging(since, MISSES_WRITE);
        }
        let heard_at = state.heard_at.filter(|_| state.sends_bookmarks)?;
        if let Some(since) = self.1.stands_still(watched, heard_at) {
            return lagging(since, STANDS_STILL);
        }
        if now >= heard_at + SILENT { lagging(heard_at, SILENCE) } else { None }
    }

    /// When a watch that is open begins to lag, if nothing is heard of it.
    pub(crate) fn lags_at(&self, watched: Watched, overdue: Option<Overdue>) -> impl Iterator<Item = Timestamp> {
        let state = self.state(watched);
        let pending = state.pending_writes.front().map(|(_, at)| *at);
        let silent = state.heard_at.filter(|_| state.sends_bookmarks).map(|heard_at| heard_at + SILENT);
        [overdue.map(|(at, _)| at + SHOWN_WITHIN), pending.map(|at| at + SHOWN_WITHIN), silent].into_iter().flatten()
    }
}

impl View {
    /// An event came by its watch. A watch that lagged until then (`lagged`) has to catch up from now on, unless all of it was listed just now.
    pub(crate) fn watch_was_heard(&mut self, event: &Event, lagged: bool, now: Timestamp) {
        self.watches.hear(event, now);
        if let Some(watched) = event.watched().filter(|watched| lagged && !self.watches.is_fresh(*watched)) {
            self.watches.is_back(watched, now);
        }
    }

    /// The API server answered a write of ours to the DaemonSet with this state. Its watch is to show it, too.
    pub(crate) fn daemonset_was_written(&mut self, fact: Box<DaemonSetFact>, now: Timestamp) {
        self.watches.expect(Watched::DaemonSet, &fact.resource_version, now);
        self.observe(Event::DaemonSet(fact), now);
    }

    /// The API server answered a write of ours to the Lease with this version. Its watch is to show it, too.
    pub(crate) fn lease_was_written(&mut self, version: &Str, now: Timestamp) {
        self.watches.expect(Watched::Lease, version, now);
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
        self.pending_writes.retain(|(pending, _)| is_older(version, pending));
    }
}
