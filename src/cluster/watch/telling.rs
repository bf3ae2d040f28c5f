//! What the listener of a watch is told: that a listing begins and is complete, how the watch is doing, what cannot be read.

use tokio::sync::mpsc;

use super::unreadable::OnUnreadable;
use super::{Subject, Watch, WatchEnd};
use crate::engine::model::Str;
use crate::engine::model::event::WatchHealth;
use crate::engine::model::time::Timestamp;

impl<S: Subject> Watch<S> {
    /// The health of a watch that failed: what is known is as old as when the server was last heard.
    pub(super) fn down(&self, why: Str, now: Timestamp) -> WatchHealth {
        let since = match &self.health {
            WatchHealth::Down { since, .. } => *since,
            _ => self.heard_at.unwrap_or(now),
        };
        WatchHealth::Down { since, why }
    }

    /// Says that the watch is alive.
    pub(super) async fn tell_heard(&mut self) -> Result<(), WatchEnd> {
        self.reported_at = self.heard_at;
        let version = self.version.as_deref().and_then(|version| version.parse().ok());
        match self.subject.heard(version) {
            Some(news) => tell(&self.out, news).await,
            None => Ok(()),
        }
    }

    /// An object cannot be read: what the listener hears of that at once.
    pub(super) fn cannot_read(&mut self, key: String, why: String) -> Result<Option<S::Out>, WatchEnd> {
        match S::ON_UNREADABLE {
            OnUnreadable::Skip => {
                let what = if key.is_empty() { "an object without a name" } else { &key };
                Ok(self.subject.skipped(format!("{what} cannot be read: {why}").into()))
            }
            OnUnreadable::Down => self.unreadable.add(key, why).map(|()| None).map_err(WatchEnd::from),
        }
    }

    /// Tells of the first object that cannot be read, and of the last one that could not and now can.
    pub(super) async fn tell_whether_readable(&mut self) -> Result<(), WatchEnd> {
        if self.unreadable.is_empty() {
            if let Some(version) = self.incomplete.take() {
                return self.complete(version).await;
            }
            // Before the listing is complete the watch counts as loading.
            return if self.version.is_some() { self.tell_health(WatchHealth::Live).await } else { Ok(()) };
        }
        match (&self.version, &self.incomplete, &self.health) {
            (None, None, _) | (_, _, WatchHealth::Down { .. }) => Ok(()),
            _ => self.tell_open().await,
        }
    }

    /// The watch is open: it is live, unless an object cannot be read.
    pub(super) async fn tell_open(&mut self) -> Result<(), WatchEnd> {
        let health = match self.unreadable.words() {
            Some(why) => self.down(why, self.http.clock().now()),
            None => WatchHealth::Live,
        };
        self.tell_health(health).await
    }

    pub(super) async fn begin(&mut self) -> Result<(), WatchEnd> {
        self.incomplete = None;
        self.unreadable.clear();
        match self.subject.listing() {
            Some(news) => tell(&self.out, news).await,
            None => Ok(()),
        }
    }

    /// The listing has come to its end. It is not complete while an object of it cannot be read: what it does not name counts as
    /// gone.
    pub(super) async fn listed(&mut self, version: String) -> Result<(), WatchEnd> {
        if self.unreadable.is_empty() {
            return self.complete(version).await;
        }
        self.incomplete = Some(version);
        self.heard_at = Some(self.http.clock().now());
        self.tell_open().await?;
        self.tell_heard().await
    }

    pub(super) async fn complete(&mut self, version: String) -> Result<(), WatchEnd> {
        self.check_listed(&version)?;
        for news in self.subject.listed(version.parse().ok()) {
            tell(&self.out, news).await?;
        }
        self.version = Some(version);
        self.heard_at = Some(self.http.clock().now());
        self.tell_health(WatchHealth::Live).await?;
        self.tell_heard().await
    }

    pub(super) async fn tell_health(&mut self, health: WatchHealth) -> Result<(), WatchEnd> {
        if self.health == health {
            return Ok(());
        }
        self.health = health.clone();
        match self.subject.health(health) {
            Some(news) => tell(&self.out, news).await,
            None => Ok(()),
        }
    }
}

/// Sends to the listener; waits while its channel is full.
pub(super) async fn tell<T>(out: &mpsc::Sender<T>, news: T) -> Result<(), WatchEnd> {
    out.send(news).await.map_err(|_unheard| WatchEnd::Unheard)
}
