//! The audit sink of one rollout: it writes the `RolloutEvent`s of the rollout to the local audit log and as Events on the DaemonSet.
//!
//! A running rollout waits for neither. When the rollout ends, both get [`FINISH_WITHIN`] to finish.

use std::time::Duration;

use tokio::sync::watch;

use crate::audit::{EntrySubject, EventText, Log};
use crate::cluster::{EventNote, Recorder};
use crate::engine::model::Str;
use crate::engine::model::rollout_event::{RolloutEvent, Visibility};
use crate::engine::model::time::Timestamp;

/// How long the last lines and Events may take after the rollout has ended.
const FINISH_WITHIN: Duration = Duration::from_secs(2);

/// The audit sink of one rollout.
#[derive(Debug, Default)]
pub(super) struct AuditSink {
    subject: Option<EntrySubject>,
    log: Option<Log>,
    events: Option<Recorder>,
    complaints: Vec<watch::Receiver<Option<Str>>>,
}

impl AuditSink {
    pub(super) fn new(subject: EntrySubject, log: Option<Log>, events: Recorder) -> Self {
        let complaints = log.iter().map(Log::complaint).chain([events.complaint()]).collect();
        Self { subject: Some(subject), log, events: Some(events), complaints }
    }

    /// A sink that writes to a log and creates no Events.
    #[cfg(test)]
    pub(super) fn to_log(subject: EntrySubject, log: Log) -> Self {
        let complaints = vec![log.complaint()];
        Self { subject: Some(subject), log: Some(log), events: None, complaints }
    }

    /// Writes the event to the destinations that its visibility names. `uid` is the DaemonSet's. Timelines list it by `listed_at`. Returns at once.
    pub(super) fn tell(&self, rollout_event: &RolloutEvent, listed_at: Timestamp, uid: Option<&Str>) {
        let Some(subject) = &self.subject else { return };
        if let Some(log) = &self.log {
            log.write(subject.line(rollout_event, uid));
        }
        if let Some(events) = self.events.as_ref().filter(|_| rollout_event.visibility == Visibility::Cluster) {
            events.record(note(subject, rollout_event, listed_at));
        }
    }

    /// The destinations that cannot be written, each with the reason.
    pub(super) fn complaints(&self) -> Vec<Str> {
        self.complaints.iter().filter_map(|complaint| complaint.borrow().clone()).collect()
    }

    /// Waits until the complaints have changed.
    pub(super) async fn another_complaint(&mut self) {
        let changes = self.complaints.iter_mut().map(|complaint| Box::pin(complaint.changed()));
        match changes.collect::<Vec<_>>() {
            none if none.is_empty() => std::future::pending().await,
            some => {
                if futures::future::select_all(some).await.0.is_err() {
                    // A writer has ended: its complaints cannot change any more.
                    self.complaints.clear();
                }
            }
        }
    }

    /// Waits until everything is written, but not longer than [`FINISH_WITHIN`].
    pub(super) async fn finish(&self) {
        let log = async {
            if let Some(log) = &self.log {
                log.flushed(FINISH_WITHIN).await;
            }
        };
        let events = async {
            if let Some(events) = &self.events {
                let _ = tokio::time::timeout(FINISH_WITHIN, events.recorded()).await;
            }
        };
        tokio::join!(log, events);
    }
}

fn note(subject: &EntrySubject, rollout_event: &RolloutEvent, listed_at: Timestamp) -> EventNote {
    let EventText { message, from } = subject.event_text(rollout_event);
    EventNote {
        at: listed_at,
        severity: rollout_event.severity(),
        reason: rollout_event.reason().to_owned(),
        message,
        from,
        revision: rollout_event.revision.clone(),
    }
}
