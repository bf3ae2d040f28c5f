//! The lists with which a watch begins: as the beginning of the watch itself, page by page, or in one piece.

use std::convert::Infallible;
use std::time::Duration;

use super::parse::{self, UnreadableObject};
use super::replay::Replay;
use super::telling::tell;
use super::{Listing, NotUnderstood, OPEN_TIMEOUT, Subject, Watch, WatchEnd};
use crate::cluster::failure::Failure;
use crate::cluster::http::Call;

/// The number of objects on the first page.
pub(super) const PAGE: usize = 500;
/// Later pages have more objects, up to this number, if they stay about [`PAGE_BYTES`] long. Every page costs a round trip:
/// 20,000 Events in pages of 500 cost forty. Pages of several watches are held in memory at once: at 5,000 nodes pages of 4 MiB
/// took 9 MB more than these, and saved 0.3 s at 50 ms a round trip.
const LARGEST_PAGE: usize = 5_000;
const PAGE_BYTES: usize = 1024 * 1024;
/// A page that is too long is requested again with this many times fewer objects, down to one.
const PAGE_SHRINKS_BY: usize = 5;
/// The most bytes of a list in one piece: 5,000 nodes, the most that Kubernetes supports, of 50 KiB each.
const WHOLE_LIMIT: usize = 256 * 1024 * 1024;
/// How long a page may take.
const PAGE_TIMEOUT: Duration = Duration::from_secs(60);
/// A streaming list that is silent for this long will never begin: a proxy in between does not support it.
const LIST_SILENCE: Duration = Duration::from_secs(20);

impl<S: Subject> Watch<S> {
    /// A watch that begins with all existing objects.
    pub(super) async fn stream(&mut self) -> Result<Infallible, WatchEnd> {
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
        let Err(end) = self.read(lines, LIST_SILENCE, Replay::Over).await;
        let listed = self.version.is_some() || self.incomplete.is_some();
        Err(match end {
            WatchEnd::Failed(Failure::Timeout(_)) if !listed => WatchEnd::NotStreamed,
            end if listed => end.of_open(),
            end => end,
        })
    }

    /// Reads a list page by page, or only its first page, then watches.
    pub(super) async fn pages(&mut self) -> Result<Infallible, WatchEnd> {
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
                return self.follow(&page.version, Replay::Over).await;
            }
            more = page.next;
        }
    }

    /// Reads a list in one piece, then watches.
    pub(super) async fn whole(&mut self) -> Result<Infallible, WatchEnd> {
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
        self.follow(&page.version, Replay::Over).await
    }

    /// Takes in a page. Returns how the list continues after it, and the number of its objects.
    async fn page(&mut self, body: &[u8]) -> Result<(parse::PageEnd, usize), WatchEnd> {
        let page = parse::page(body)?;
        let objects = page.objects.len();
        for object in page.objects {
            let applied = match parse::object::<S::Wire<'_>>(object) {
                Ok(wire) => {
                    self.check_object(&wire)?;
                    Ok(self.subject.applied(wire))
                }
                Err(unreadable) => Err(unreadable),
            };
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
}
