//! The reports to the listener of a watch: beginning and end of a listing, health, unreadable objects.

use tokio::sync::mpsc;

use super::unreadable::OnUnreadable;
use super::{Subject, Watch, WatchEnd};
use crate::engine::model::Str;
use crate::engine::model::event::WatchHealth;
use crate::engine::model::time::Timestamp;

impl<S: Subject> Watch<S> {
    /// The health of a failed watch: its facts are as old as the last sign of life from the server.
    pub(super) fn down(&self, why: Str, now: Timestamp) -> WatchHealth {
        let since = match &self.health {
            WatchHealth::Down { since, .. } => *since,
            _ => self.heard_at.unwrap_or(now),
        };
        WatchHealth::Down { since, why }
    }

    /// Reports that the watch is alive.
    pub(super) async fn tell_heard(&mut self) -> Result<(), WatchEnd> {
        self.reported_at = self.heard_at;
        let version = self.version.as_deref().and_then(|version| version.parse().ok());
        match self.subject.heard(version) {
            Some(news) => tell(&self.out, news).await,
            None => Ok(()),
        }
    }

    /// Takes in an object that cannot be read. Returns the immediate report to the listener.
    pub(super) fn cannot_read(&mut self, key: String, why: String) -> Result<Option<S::Out>, WatchEnd> {
        match S::ON_UNREADABLE {
            OnUnreadable::Skip => {
                let what = if key.is_empty() { "an object without a name" } else { &key };
                Ok(self.subject.skipped(format!("{what} cannot be read: {why}").into()))
            }
            OnUnreadable::Down => self.unreadable.add(key, why).map(|()| None).map_err(WatchEnd::from),
        }
    }

    /// Reports when the first object becomes unreadable, and when no object is unreadable any more.
    pub(super) async fn tell_whether_readable(&mut self, replays: bool) -> Result<(), WatchEnd> {
        if self.unreadable.is_empty() {
            if let Some(version) = self.incomplete.take() {
                return self.complete(version).await;
            }
            // Before the listing is complete the watch counts as loading, and before all that was missed is told as down.
            return if self.version.is_some() && !replays { self.tell_health(WatchHealth::Live).await } else { Ok(()) };
        }
        match (&self.version, &self.incomplete, &self.health) {
            (None, None, _) | (_, _, WatchHealth::Down { .. }) => Ok(()),
            _ => self.tell_open().await,
        }
    }

    /// Reports that the watch is open: it is live, unless an object cannot be read.
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

    /// Takes in the end of the listing. The listing is not complete while one of its objects cannot be read, because objects
    /// that a complete listing does not name count as gone.
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

/// Sends a report to the listener. Waits while its channel is full.
pub(super) async fn tell<T>(out: &mpsc::Sender<T>, news: T) -> Result<(), WatchEnd> {
    out.send(news).await.map_err(|_unheard| WatchEnd::Unheard)
}
