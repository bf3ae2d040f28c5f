//! One watch: list, then follow, for as long as somebody listens.
//!
//! ```text
//!            ┌──────── streaming list ◀──────────────┐ 410
//!  Unlisted ─┤ (400, 405, 422: not known here)       │
//!            └──────── pages, then watch ──▶ Listed ─┴─▶ … ─▶ closed: watch on from where it was
//!                                              │
//!                   failed: wait, watch on from where it was ◀─┘
//! ```
//!
//! A streaming list (a watch that begins with all there is) spares the server the whole list in memory, and us too: one
//! object is held at a time. Over a network pages are asked for instead, because API servers compress pages and no streams.
//!
//! What is told to the listener is the contract of [`crate::engine::model::event::Event`]: a listing is announced, complete, and
//! names everything there is; then changes follow. A watch that breaks is taken up where it was, so that nothing is listed again
//! unless the server has forgotten what came since.

mod parse;
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

use parse::{UnreadableObject, WatchLine};
use telling::tell;
use unreadable::UnreadableObjects;

use super::backoff::{Backoff, LONGEST};
use super::failure::Failure;
use super::http::{Call, Http, Lines, with_query};
use crate::engine::model::Str;
use crate::engine::model::event::WatchHealth;
use crate::engine::model::time::Timestamp;

/// How many objects the first page has.
const PAGE: usize = 500;
/// Later pages have more objects, up to so many, where so they stay about this long, in bytes: every page costs a round trip,
/// and 20,000 Events in pages of 500 cost forty. A page is held in memory, and so are those of other watches at the same time: at
/// 5,000 nodes pages of 4 MiB took 9 MB more than these, and saved 0.3 s at 50 ms a round trip.
const LARGEST_PAGE: usize = 5_000;
const PAGE_BYTES: usize = 1024 * 1024;
/// A page that is too long is asked for again with so many times fewer objects, down to one.
const PAGE_SHRINKS_BY: usize = 5;
/// How many bytes a list in one piece may have: 5,000 nodes, the most that Kubernetes supports, of 50 KiB each.
const WHOLE_LIMIT: usize = 256 * 1024 * 1024;
/// How long a page may take.
const PAGE_TIMEOUT: Duration = Duration::from_secs(60);
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
/// A streaming list that is silent for this long will never begin: a proxy in between does not support it.
const LIST_SILENCE: Duration = Duration::from_secs(20);
/// A watch that was silent for so long when the server answers after a silence may be open to another server that does not answer.
const IN_DOUBT: Duration = Duration::from_secs(3);
/// How soon to ask again for what is forbidden.
const FORBIDDEN: Duration = Duration::from_secs(60);
/// A watch that lasted this long has worked: the back-off starts again.
const WORKED: Duration = Duration::from_secs(10);
/// The longest wait for a server that opens watches and does not keep them.
const SHORT_LIVED: Duration = Duration::from_secs(2);

/// What is watched, and what its objects mean to the listener.
pub(super) trait Subject: Send + 'static {
    /// One object of the wire.
    type Wire<'a>: Deserialize<'a> + Send;
    /// What the listener hears.
    type Out: Send + 'static;
    /// What becomes of the watch when one of the objects cannot be read.
    const ON_UNREADABLE: OnUnreadable = OnUnreadable::Down;

    /// The object's `resourceVersion`.
    fn version<'a>(wire: &'a Self::Wire<'_>) -> &'a str;
    /// The object is as it is now. `None`: nothing that the listener does not know already.
    ///
    /// # Errors
    /// What is in the object is not understood; then nothing of it was taken in.
    fn applied(&mut self, wire: Self::Wire<'_>) -> Result<Option<Self::Out>, NotUnderstood>;
    /// The object is gone; this is how it last was.
    fn deleted(&mut self, wire: Self::Wire<'_>) -> Option<Self::Out>;
    /// A full listing begins.
    fn listing(&mut self) -> Option<Self::Out>;
    /// The listing is complete, with its resource version, where that is a number.
    fn listed(&mut self, version: Option<u64>) -> Vec<Self::Out>;
    /// How the watch is doing.
    fn health(&mut self, health: WatchHealth) -> Option<Self::Out>;
    /// An object could not be read and was skipped; only under [`OnUnreadable::Skip`].
    fn skipped(&mut self, _why: Str) -> Option<Self::Out> {
        None
    }
    /// The watch was heard and there was nothing to report; it has reached this resource version, where that is a number.
    fn heard(&mut self, _version: Option<u64>) -> Option<Self::Out> {
        None
    }
}

/// An object whose parts can be read, but not what they mean together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct NotUnderstood {
    /// `namespace/name`, or the name alone.
    pub(super) key: String,
    /// What is not understood.
    pub(super) why: String,
}

/// Which collection, and which of its objects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct WatchSource {
    /// `/api/v1/namespaces/edge/pods`.
    pub(super) path: String,
    /// `labelSelector`, if any.
    pub(super) labels: Option<String>,
    /// `fieldSelector`, if any.
    pub(super) fields: Option<String>,
}

/// How a watch came to its end.
#[derive(Debug)]
enum WatchEnd {
    /// Nobody listens any more.
    Unheard,
    /// The server closed it, as servers do.
    Closed,
    /// The server has forgotten the version from which we asked.
    Expired,
    /// The server does not know streaming lists.
    NotStreamed,
    /// The state of the server went back to an earlier one.
    Restored,
    /// It failed.
    Failed(Failure),
}

impl WatchEnd {
    /// The end of a watch that was open. A broken or silent connection counts as closed by the server: the next attempt follows
    /// at once and shows whether the server can be reached.
    fn or_closed(self) -> Self {
        match self {
            Self::Failed(Failure::Broken(_) | Failure::Timeout(_)) => Self::Closed,
            end => end,
        }
    }
}

impl From<Failure> for WatchEnd {
    fn from(failure: Failure) -> Self {
        if failure.is_expired() { Self::Expired } else { Self::Failed(failure) }
    }
}

/// Where a list comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Listing {
    Streamed,
    Paged,
    /// In one piece, from the server's cache: when pages expire before the last is read.
    Whole,
    /// Only the first page of it: the rest of what is there already is not worth its cost.
    FirstPage,
}

/// Watches `source` for as long as somebody listens.
pub(super) async fn watch<S: Subject>(http: Http, source: WatchSource, subject: S, out: mpsc::Sender<S::Out>) {
    watch_by(None, http, source, subject, out).await;
}

/// Watches what changes in `source` from now on, for as long as somebody listens. Of what is there already a page is told.
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
    let (unreadable, page) = (UnreadableObjects::default(), PAGE);
    let (version, incomplete, reached, was_away) = (None, None, None, false);
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
    /// `None` until it is known how lists are to come.
    listing: Option<Listing>,
    /// How many objects are asked for in a page.
    page: usize,
    /// The resource version up to which everything is known; `None` before the first listing is complete.
    version: Option<String>,
    /// The listing has come to its end but is not complete, because an object in it cannot be read; what was told since is known
    /// up to this version.
    incomplete: Option<String>,
    /// The newest version up to which everything was known, also before a listing that has still to come.
    reached: Option<String>,
    /// The server did not answer: what it knows may be another state than before.
    was_away: bool,
    unreadable: UnreadableObjects,
    health: WatchHealth,
    /// When the server last said anything.
    heard_at: Option<Timestamp>,
    /// When the listener was last told anything.
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
                // Back off where the server closes watches at once, so that they are not reopened in a loop.
                WatchEnd::Closed => Some(self.backoff.next(None, SHORT_LIVED)),
                WatchEnd::Expired => {
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
                // Another request was answered: there is nothing more to wait for.
                Ok(()) = back.changed(), if matches!(self.health, WatchHealth::Down { .. }) => {}
                () = self.out.closed() => return,
            }
        }
    }

    /// What a failure means for what is known, and when to try again.
    fn judge(&mut self, failure: &Failure, now: Timestamp) -> (WatchHealth, Duration) {
        let why = Str::from(failure.to_string());
        if failure.is_forbidden() {
            // It has to be listed anew once it is permitted again. An API server that starts refuses what it permits a moment later.
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
            self.check_version(&version).await?;
            return self.follow(&version).await;
        }
        if self.listing.is_none() {
            let streamed = self.http.streams_lists().await;
            self.listing = streamed.map(|streamed| if streamed { Listing::Streamed } else { Listing::Paged });
        }
        match self.listing {
            Some(Listing::Streamed) => self.stream().await,
            // Where the server does not answer, this tells why.
            Some(Listing::Paged | Listing::FirstPage) | None => self.pages().await,
            Some(Listing::Whole) => self.whole().await,
        }
    }

    /// A watch that begins with everything there is.
    async fn stream(&mut self) -> Result<Infallible, WatchEnd> {
        let timeout = self.timeout();
        let path = self.path(&[
            ("watch", "true"),
            ("sendInitialEvents", "true"),
            ("resourceVersionMatch", "NotOlderThan"),
            ("allowWatchBookmarks", "true"),
            ("timeoutSeconds", &timeout),
        ]);
        let lines = match self.http.lines(&path, OPEN_TIMEOUT).await {
            Ok(lines) => lines,
            Err(failure) => match failure.code() {
                Some(400 | 405 | 422) => {
                    self.http.gave_up_streaming_lists();
                    return Err(WatchEnd::NotStreamed);
                }
                // Watching may be forbidden where listing is permitted: try a paged list.
                Some(403) => return Err(WatchEnd::NotStreamed),
                _ => return Err(failure.into()),
            },
        };
        self.begin().await?;
        let Err(end) = self.read(lines, LIST_SILENCE).await;
        let listed = self.version.is_some() || self.incomplete.is_some();
        Err(match end {
            WatchEnd::Failed(Failure::Timeout(_)) if !listed => WatchEnd::NotStreamed,
            end if listed => end.or_closed(),
            end => end,
        })
    }

    /// A watch from `version` on.
    async fn follow(&mut self, version: &str) -> Result<Infallible, WatchEnd> {
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
                // Whether anything is wrong is not known yet, but meanwhile nothing is seen: report it as down.
                let why = Str::from("asked again, no answer yet");
                self.tell_health(self.down(why, self.http.clock().now())).await?;
                opening.await?
            }
        };
        self.heard_at = Some(self.http.clock().now());
        self.tell_open().await?;
        self.tell_heard().await?;
        self.read(lines, SILENCE).await.map_err(WatchEnd::or_closed)
    }

    /// A list, page by page, or its first page alone; then a watch.
    async fn pages(&mut self) -> Result<Infallible, WatchEnd> {
        let mut more = String::new();
        loop {
            let first = more.is_empty();
            let limit = self.page.to_string();
            let limit = ("limit", &*limit);
            let path = if first { self.path(&[limit]) } else { self.path(&[limit, ("continue", &more)]) };
            let body = match self.http.call(Call::get(&path, PAGE_TIMEOUT)).await {
                Err(Failure::TooLong { .. }) if self.page > 1 => {
                    self.page = (self.page / PAGE_SHRINKS_BY).max(1);
                    continue;
                }
                body => body?,
            };
            if first {
                self.begin().await?;
            }
            let (page, objects) = self.page(&body).await?;
            self.page = self.page.max((objects * PAGE_BYTES / body.len().max(1)).min(LARGEST_PAGE));
            if page.next.is_empty() || self.listing == Some(Listing::FirstPage) {
                self.listed(page.version.clone()).await?;
                return self.follow(&page.version).await;
            }
            more = page.next;
        }
    }

    /// A list in one piece, then a watch.
    async fn whole(&mut self) -> Result<Infallible, WatchEnd> {
        let path = self.path(&[("resourceVersion", "0")]);
        let body = match self.http.call(Call { limit: WHOLE_LIMIT, ..Call::get(&path, PAGE_TIMEOUT) }).await {
            Err(failure @ Failure::TooLong { .. }) => {
                self.listing = Some(Listing::Paged);
                return Err(failure.into());
            }
            body => body?,
        };
        self.begin().await?;
        let (page, _) = self.page(&body).await?;
        self.listed(page.version.clone()).await?;
        self.follow(&page.version).await
    }

    /// Takes in a page; gives what follows it, and how many objects it had.
    async fn page(&mut self, body: &[u8]) -> Result<(parse::PageEnd, usize), WatchEnd> {
        let page = parse::page(body)?;
        let objects = page.objects.len();
        for object in page.objects {
            let applied = parse::object::<S::Wire<'_>>(object).map(|wire| self.subject.applied(wire));
            let news = match applied {
                Ok(Ok(news)) => news,
                Ok(Err(NotUnderstood { key, why })) | Err(UnreadableObject { key, why, .. }) => {
                    self.cannot_read(key, why)?
                }
            };
            if let Some(news) = news {
                tell(&self.out, news).await?;
            }
        }
        Ok((page.end, objects))
    }

    /// Reads a watch to its end.
    async fn read(&mut self, mut lines: Lines, mut silence: Duration) -> Result<Infallible, WatchEnd> {
        let mut doubted = self.http.news().doubted();
        loop {
            let line = tokio::select! {
                biased;
                line = lines.next(silence) => line.inspect_err(|failure| {
                    // Somebody at the other end has closed it, or its kernel has.
                    if failure.is_broken_from_afar() {
                        self.heard_at = Some(self.http.clock().now());
                    }
                })?,
                Ok(()) = doubted.changed() => {
                    let heard_at = self.heard_at.unwrap_or_default();
                    if self.version.is_some() && self.http.clock().now().since(heard_at) >= IN_DOUBT {
                        return Err(WatchEnd::Closed);
                    }
                    continue;
                }
                () = self.out.closed() => return Err(WatchEnd::Unheard),
            };
            let Some(line) = line else {
                // The server said that this is the end.
                self.heard_at = Some(self.http.clock().now());
                return Err(WatchEnd::Closed);
            };
            let now = self.http.clock().now();
            self.heard_at = Some(now);
            let (version, news) = match parse::line::<S::Wire<'_>>(line)? {
                WatchLine::Bookmark { version, ends_listing: true } if self.version.is_none() => {
                    silence = SILENCE;
                    self.listed(version).await?;
                    continue;
                }
                WatchLine::Bookmark { version, .. } => (version, None),
                WatchLine::Refused(failure) => return Err(failure.into()),
                WatchLine::Unknown => continue,
                WatchLine::Applied(wire) => {
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
                // To know which object is gone its identity is enough.
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
            self.tell_whether_readable().await?;
            if !is_news
                && self.version.is_some()
                && self.reported_at.is_none_or(|reported_at| now.since(reported_at) >= HEARD_EVERY)
            {
                self.tell_heard().await?;
            }
        }
    }

    /// With jitter, so that the watches of one console do not all end at the same instant.
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
