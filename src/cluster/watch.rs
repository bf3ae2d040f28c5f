//! One watch: list, then follow the changes, for as long as there is a listener.
//!
//! ```text
//!            ┌──────── streaming list ◀──────────────┐ 410
//!  Unlisted ─┤ (400, 405, 422: not known here)       │
//!            └──────── pages, then watch ──▶ Listed ─┴─▶ … ─▶ closed: watch on from where it was
//!                                              │
//!                   failed: wait, watch on from where it was ◀─┘
//! ```
//!
//! A streaming list is a watch that begins with all existing objects. It saves memory on the server and here, because only
//! one object is held at a time. Over a network pages are requested instead, because API servers compress pages and do not
//! compress streams.
//!
//! The listener receives events by the contract of [`crate::engine::model::event::Event`]: a listing is announced, is
//! complete and names every object; then changes follow. A broken watch continues from its last version, so that nothing is
//! listed again unless the server has forgotten the changes since.

mod lists;
mod parse;
mod replay;
mod restored;
mod telling;
#[cfg(test)]
mod tests;
mod unreadable;

use std::convert::Infallible;
use std::time::Duration;

use serde::Deserialize;
use tokio::sync::mpsc;

pub(super) use unreadable::OnUnreadable;

use parse::WatchLine;
use replay::Replay;
use telling::tell;
use unreadable::UnreadableObjects;

use super::backoff::{Backoff, LONGEST};
use super::failure::Failure;
use super::http::{Http, Lines, with_query};
use crate::engine::model::Str;
use crate::engine::model::event::WatchHealth;
use crate::engine::model::time::Timestamp;

/// How long a watch may take to be answered.
const OPEN_TIMEOUT: Duration = Duration::from_secs(30);
/// A watch that is opened again and not answered within this, plus the round trips that a new connection takes, is reported as
/// down until it is answered.
const REOPEN_PATIENCE: Duration = Duration::from_secs(2);
/// How long the server is asked to keep a watch open.
const WATCH_FOR: Duration = Duration::from_secs(300);
/// A watch that is silent for longer than this is opened again. A server sends a bookmark every minute, so a longer silence means that the connection
/// is dead, or that the server sends no bookmarks: then opening it again does no harm. The engine (`engine/view/watch_states.rs`) waits 15 s longer.
const SILENCE: Duration = Duration::from_secs(75);
/// Bookmarks, and changes that mean nothing to the listener, are reported as `heard` no more often than this.
const HEARD_EVERY: Duration = Duration::from_secs(10);
/// When the server answers after a silence, a watch that was silent for this long may be connected to another server that does not answer.
const IN_DOUBT: Duration = Duration::from_secs(3);
/// The wait before a forbidden request is sent again.
const FORBIDDEN: Duration = Duration::from_secs(60);
/// A watch that lasted this long counts as working: the back-off starts again.
const WORKED: Duration = Duration::from_secs(10);
/// The longest wait for a server that accepts watches and closes them soon.
const SHORT_LIVED: Duration = Duration::from_secs(2);

const WAS_SILENT: &str = "nothing was heard of it; it is opened anew";
const LISTS_ANEW: &str = "the API server does not keep the changes since then; all are listed anew";

/// The kind of a watch's objects, and their conversion for the listener.
pub(super) trait Subject: Send + 'static {
    /// One object as it is on the wire.
    type Wire<'a>: Deserialize<'a> + Send;
    /// An event for the listener.
    type Out: Send + 'static;
    /// How the watch continues when one of its objects cannot be read.
    const ON_UNREADABLE: OnUnreadable = OnUnreadable::Down;

    /// The object's `resourceVersion`.
    fn version<'a>(wire: &'a Self::Wire<'_>) -> &'a str;
    /// An object exists with this content. `None`: the listener knows everything already.
    ///
    /// # Errors
    /// When the content of the object is not understood; then no part of it was taken in.
    fn applied(&mut self, wire: Self::Wire<'_>) -> Result<Option<Self::Out>, NotUnderstood>;
    /// Whether this object was seen at a newer version before. An up-to-date list in which it is older means that the state of the cluster went back, whatever
    /// the version of the list: a restore may raise that (`etcdutl snapshot restore --bump-revision`). Only for objects that change so often that this is told
    /// by them.
    fn went_back(&self, _wire: &Self::Wire<'_>) -> bool {
        false
    }
    /// The state of the cluster went back: versions that were seen before mean nothing any more.
    fn forget_versions(&mut self) {}
    /// The object is gone; `wire` is its last content.
    fn deleted(&mut self, wire: Self::Wire<'_>) -> Option<Self::Out>;
    /// A full listing begins.
    fn listing(&mut self) -> Option<Self::Out>;
    /// The listing is complete. `version` is its resource version, if that is a number.
    fn listed(&mut self, version: Option<u64>) -> Vec<Self::Out>;
    /// The health of the watch has changed.
    fn health(&mut self, health: WatchHealth) -> Option<Self::Out>;
    /// An object could not be read and was skipped; only under [`OnUnreadable::Skip`].
    fn skipped(&mut self, _why: Str) -> Option<Self::Out> {
        None
    }
    /// The server sent something without news for the listener. The watch has reached this resource version, if it is a number.
    fn heard(&mut self, _version: Option<u64>) -> Option<Self::Out> {
        None
    }
}

/// An object that can be parsed, but whose content is not understood as a whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct NotUnderstood {
    /// `namespace/name`, or the name alone.
    pub(super) key: String,
    /// The part that is not understood.
    pub(super) why: String,
}

/// A collection, and the selection of its objects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct WatchSource {
    /// `/api/v1/namespaces/edge/pods`.
    pub(super) path: String,
    /// `labelSelector`, if any.
    pub(super) labels: Option<String>,
    /// `fieldSelector`, if any.
    pub(super) fields: Option<String>,
}

/// The reason for the end of a watch.
#[derive(Debug)]
enum WatchEnd {
    /// Nobody listens any more.
    Unheard,
    /// The server closed the watch, as servers do regularly.
    Closed,
    /// Nothing came of it, although servers send something every minute, or another connection shows that this one may be dead.
    Silent,
    /// The server has forgotten the requested version.
    Expired,
    /// The server does not know streaming lists.
    NotStreamed,
    /// The state of the server went back to an earlier one.
    Restored,
    /// The watch failed.
    Failed(Failure),
}

impl WatchEnd {
    /// The end of a watch that was open. A broken connection counts as closed by the server, and a silent one is no failure either: the next attempt
    /// follows at once and shows whether the server can be reached.
    fn of_open(self) -> Self {
        match self {
            Self::Failed(Failure::Broken(_)) => Self::Closed,
            Self::Failed(Failure::Timeout(_)) => Self::Silent,
            end => end,
        }
    }
}

impl From<Failure> for WatchEnd {
    fn from(failure: Failure) -> Self {
        if failure.is_expired() { Self::Expired } else { Self::Failed(failure) }
    }
}

/// The source of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Listing {
    Streamed,
    Paged,
    /// In one piece, from the server's cache: used when pages expire before the last is read.
    Whole,
    /// Only the first page: reading the other existing objects is not worth its cost.
    FirstPage,
}

/// Watches `source` for as long as somebody listens.
pub(super) async fn watch<S: Subject>(http: Http, source: WatchSource, subject: S, out: mpsc::Sender<S::Out>) {
    watch_by(None, http, source, subject, out).await;
}

/// Watches the changes of `source` from now on, for as long as somebody listens. Of the existing objects only one page is reported.
pub(super) async fn watch_with_first_page<S: Subject>(
    http: Http,
    source: WatchSource,
    subject: S,
    out: mpsc::Sender<S::Out>,
) {
    watch_by(Some(Listing::FirstPage), http, source, subject, out).await;
}

async fn watch_by<S: Subject>(
    listing: Option<Listing>,
    http: Http,
    source: WatchSource,
    subject: S,
    out: mpsc::Sender<S::Out>,
) {
    let health = WatchHealth::Loading;
    let (backoff, never) = (Backoff::new(), None);
    let (heard_at, reported_at) = (never, never);
    let (unreadable, page) = (UnreadableObjects::default(), lists::PAGE);
    let (version, incomplete, reached) = (None, None, None);
    let (was_away, missed, sends_bookmarks) = (false, false, false);
    let watch = Watch {
        http,
        source,
        subject,
        out,
        listing,
        page,
        version,
        incomplete,
        reached,
        was_away,
        missed,
        sends_bookmarks,
        unreadable,
        health,
        heard_at,
        reported_at,
        backoff,
    };
    watch.run().await;
}

struct Watch<S: Subject> {
    http: Http,
    source: WatchSource,
    subject: S,
    out: mpsc::Sender<S::Out>,
    /// `None` until the transfer of lists is decided.
    listing: Option<Listing>,
    /// How many objects are asked for in a page.
    page: usize,
    /// The resource version up to which all changes are known; `None` before the first listing is complete.
    version: Option<String>,
    /// The version of a listing that has ended but is incomplete, because an object in it cannot be read. Later changes are
    /// known up to this version.
    incomplete: Option<String>,
    /// The newest version up to which all changes were ever known, kept while a new listing is outstanding.
    reached: Option<String>,
    /// Whether the server did not answer: its state may be another one than before.
    was_away: bool,
    /// Whether it was down, so that changes were missed.
    missed: bool,
    /// It has sent a bookmark, so that silence says that it does not work any more.
    sends_bookmarks: bool,
    unreadable: UnreadableObjects,
    health: WatchHealth,
    /// The time of the last sign of life from the server.
    heard_at: Option<Timestamp>,
    /// The time of the last report to the listener.
    reported_at: Option<Timestamp>,
    backoff: Backoff,
}

impl<S: Subject> Watch<S> {
    async fn run(mut self) {
        let (mut back, mut restored) = (self.http.news().back(), self.http.news().restored());
        loop {
            let began = self.http.clock().now();
            let end = tokio::select! {
                biased;
                Ok(()) = restored.changed() => {
                    self.begin_anew();
                    continue;
                }
                Err(end) = self.attempt() => end,
            };
            let lasted = self.http.clock().now().since(began);
            let wait = match end {
                WatchEnd::Unheard => return,
                WatchEnd::Closed if lasted >= WORKED => {
                    self.backoff.reset();
                    None
                }
                // Back off if the server closes watches at once, so that they are not reopened in a loop.
                WatchEnd::Closed => Some(self.backoff.next(None, SHORT_LIVED)),
                WatchEnd::Silent if !self.sends_bookmarks => {
                    (lasted < WORKED).then(|| self.backoff.next(None, SHORT_LIVED))
                }
                // What changed meanwhile was not told, and is told one by one once it is open again.
                WatchEnd::Silent => {
                    self.missed = true;
                    let health = self.down(Str::from(WAS_SILENT), began + lasted);
                    if self.tell_health(health).await.is_err() {
                        return;
                    }
                    (lasted < WORKED).then(|| self.backoff.next(None, SHORT_LIVED))
                }
                WatchEnd::Expired => {
                    // What is known is of an earlier state until everything is listed.
                    if self.health == WatchHealth::Live
                        && self.tell_health(self.down(Str::from(LISTS_ANEW), began + lasted)).await.is_err()
                    {
                        return;
                    }
                    if !self.forget_version() && self.listing == Some(Listing::Paged) {
                        self.listing = Some(Listing::Whole);
                    }
                    Some(self.backoff.next(None, SHORT_LIVED))
                }
                WatchEnd::NotStreamed => {
                    self.listing = Some(Listing::Paged);
                    None
                }
                WatchEnd::Restored => {
                    self.http.news().tell_restored();
                    continue;
                }
                WatchEnd::Failed(failure) => {
                    self.missed = true;
                    if lasted >= WORKED {
                        self.backoff.reset();
                    }
                    let (health, wait) = self.judge(&failure, began + lasted);
                    if self.tell_health(health).await.is_err() {
                        return;
                    }
                    Some(wait)
                }
            };
            back.mark_unchanged();
            tokio::select! {
                () = tokio::time::sleep(wait.unwrap_or_default()) => {}
                // Another request was answered, so the wait can end.
                Ok(()) = back.changed(), if matches!(self.health, WatchHealth::Down { .. }) => {}
                () = self.out.closed() => return,
            }
        }
    }

    /// The health that follows from a failure, and the wait before the next attempt.
    fn judge(&mut self, failure: &Failure, now: Timestamp) -> (WatchHealth, Duration) {
        let why = Str::from(failure.to_string());
        if failure.is_forbidden() {
            // The objects have to be listed anew once that is permitted again. A starting API server refuses requests that
            // it permits a moment later.
            self.forget_version();
            if self.reached.is_none() {
                return (WatchHealth::Forbidden { why }, self.backoff.about(FORBIDDEN));
            }
            if !matches!(self.health, WatchHealth::Forbidden { .. }) {
                self.backoff.reset();
            }
            return (WatchHealth::Forbidden { why }, self.backoff.next(None, FORBIDDEN));
        }
        self.was_away |= restored::is_away(failure);
        (self.down(why, now), self.backoff.next(failure.retry_after(), LONGEST))
    }

    async fn attempt(&mut self) -> Result<Infallible, WatchEnd> {
        if let Some(version) = self.version.clone() {
            let replay = self.check_version(&version).await?;
            return self.follow(&version, replay).await;
        }
        if self.listing.is_none() {
            let streamed = self.http.streams_lists().await;
            self.listing = streamed.map(|streamed| if streamed { Listing::Streamed } else { Listing::Paged });
        }
        match self.listing {
            Some(Listing::Streamed) => self.stream().await,
            // If the server does not answer, this request reports the reason.
            Some(Listing::Paged | Listing::FirstPage) | None => self.pages().await,
            Some(Listing::Whole) => self.whole().await,
        }
    }

    /// A watch that continues from `version`, and begins with `replay`.
    async fn follow(&mut self, version: &str, mut replay: Replay) -> Result<Infallible, WatchEnd> {
        let timeout = self.timeout();
        let path = self.path(&[
            ("watch", "true"),
            ("resourceVersion", version),
            ("allowWatchBookmarks", "true"),
            ("timeoutSeconds", &timeout),
        ]);
        let http = self.http.clone();
        let opening = http.lines(&path, OPEN_TIMEOUT);
        tokio::pin!(opening);
        let connects = 3 * self.http.round_trip().borrow().unwrap_or_default();
        let lines = match tokio::time::timeout(REOPEN_PATIENCE + connects, &mut opening).await {
            Ok(lines) => lines?,
            Err(_) => {
                // It is not known whether anything is wrong, but nothing is seen meanwhile: report the watch as down.
                let why = Str::from("asked again, no answer yet");
                self.tell_health(self.down(why, self.http.clock().now())).await?;
                let lines = opening.await?;
                self.missed = true;
                replay = self.check_version(version).await?;
                lines
            }
        };
        self.read(lines, SILENCE, replay).await.map_err(WatchEnd::of_open)
    }

    /// Reads a watch, which begins with `replay`, to its end.
    async fn read(
        &mut self,
        mut lines: Lines,
        mut silence: Duration,
        mut replay: Replay,
    ) -> Result<Infallible, WatchEnd> {
        let mut doubted = self.http.news().doubted();
        let opened_at = self.http.clock().now();
        loop {
            let line = tokio::select! {
                biased;
                line = lines.next(silence) => line.inspect_err(|failure| {
                    // The other end or its kernel has closed the connection.
                    if failure.is_broken_from_afar() {
                        self.heard_at = Some(self.http.clock().now());
                    }
                })?,
                Ok(()) = doubted.changed() => {
                    let heard_at = self.heard_at.unwrap_or_default().max(opened_at);
                    if self.version.is_some() && self.http.clock().now().since(heard_at) >= IN_DOUBT {
                        return Err(WatchEnd::Silent);
                    }
                    continue;
                }
                () = replay.pauses() => {
                    replay = Replay::Over;
                    self.end_replay().await?;
                    continue;
                }
                () = self.out.closed() => return Err(WatchEnd::Unheard),
            };
            let Some(line) = line else {
                // The server has announced the end of the watch.
                self.heard_at = Some(self.http.clock().now());
                return Err(WatchEnd::Closed);
            };
            let now = self.http.clock().now();
            let heard_before = self.heard_at.replace(now);
            let (version, news) = match parse::line::<S::Wire<'_>>(line)? {
                WatchLine::Bookmark { version, ends_listing: true } if self.version.is_none() => {
                    silence = SILENCE;
                    self.listed(version).await?;
                    continue;
                }
                WatchLine::Bookmark { version, ends_listing } => {
                    self.sends_bookmarks |= !ends_listing;
                    (version, None)
                }
                // It says nothing of what is watched.
                WatchLine::Refused(failure) => {
                    self.heard_at = heard_before;
                    return Err(failure.into());
                }
                WatchLine::Unknown => continue,
                WatchLine::Applied(wire) => {
                    self.check_object(&wire)?;
                    let version = S::version(&wire).to_owned();
                    let news = match self.subject.applied(wire) {
                        Ok(news) => {
                            self.unreadable.read_at_last(line);
                            news
                        }
                        Err(NotUnderstood { key, why }) => self.cannot_read(key, why)?,
                    };
                    (version, news)
                }
                WatchLine::Deleted(wire) => {
                    self.unreadable.read_at_last(line);
                    (S::version(&wire).to_owned(), self.subject.deleted(wire))
                }
                WatchLine::Unreadable(object) => (object.version, self.cannot_read(object.key, object.why)?),
                // The identity of a deleted object is enough to report it.
                WatchLine::UnreadableDeleted(object) => match serde_json::from_str::<S::Wire<'_>>(&object.identity) {
                    Ok(wire) if !object.key.is_empty() => {
                        self.unreadable.remove(&object.key);
                        (S::version(&wire).to_owned(), self.subject.deleted(wire))
                    }
                    _ => (object.version, self.cannot_read(object.key, object.why)?),
                },
            };
            for known in [&mut self.version, &mut self.incomplete].into_iter().flatten() {
                if !version.is_empty() {
                    known.clone_from(&version);
                }
            }
            let is_news = news.is_some();
            if let Some(news) = news {
                self.reported_at = Some(now);
                tell(&self.out, news).await?;
            }
            self.tell_whether_readable(replay != Replay::Over).await?;
            if replay.ends_with(&version) {
                replay = Replay::Over;
                self.end_replay().await?;
            } else if !is_news
                && self.version.is_some()
                && self.reported_at.is_none_or(|reported_at| now.since(reported_at) >= HEARD_EVERY)
            {
                self.tell_heard().await?;
            }
        }
    }

    /// The timeout has jitter, so that the watches of one console do not all end at the same instant.
    fn timeout(&mut self) -> String {
        self.backoff.about(WATCH_FOR).as_secs().to_string()
    }

    fn path(&self, query: &[(&str, &str)]) -> String {
        let mut all = Vec::with_capacity(query.len() + 2);
        all.extend(self.source.labels.as_deref().map(|labels| ("labelSelector", labels)));
        all.extend(self.source.fields.as_deref().map(|fields| ("fieldSelector", fields)));
        all.extend_from_slice(query);
        with_query(&self.source.path, &all)
    }
}
