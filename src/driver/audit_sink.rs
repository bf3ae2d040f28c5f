//! The audit sink of one rollout: writes its `RolloutEvent`s to the local audit log and as Events on the DaemonSet.
//!
//! Neither is waited for while the rollout runs; at its end both get a moment to finish.

use std::time::Duration;

use tokio::sync::watch;

use super::audit::{Log, Subject};
use crate::cluster::{Note, Recorder};
use crate::engine::model::rollout_event::{RolloutEvent, Visibility};
use crate::engine::model::{Str, person_of};

/// How long the last lines and Events may take once the rollout is let go of.
const FINISH_WITHIN: Duration = Duration::from_secs(2);

/// The audit sink of one rollout.
#[derive(Debug, Default)]
pub(super) struct Trail {
    subject: Option<Subject>,
    log: Option<Log>,
    events: Option<Recorder>,
    complaints: Vec<watch::Receiver<Option<Str>>>,
}

impl Trail {
    pub(super) fn new(subject: Subject, log: Option<Log>, events: Recorder) -> Self {
        let complaints = log.iter().map(Log::complaint).chain([events.complaint()]).collect();
        Self { subject: Some(subject), log, events: Some(events), complaints }
    }

    /// Tells it wherever it belongs. Returns at once.
    pub(super) fn tell(&self, rollout_event: &RolloutEvent) {
        let Some(subject) = &self.subject else { return };
        if let Some(log) = &self.log {
            log.write(subject.line(rollout_event));
        }
        if let Some(events) = self.events.as_ref().filter(|_| rollout_event.visibility == Visibility::Cluster) {
            events.record(subject.note(rollout_event));
        }
    }

    /// What cannot be told, and why.
    pub(super) fn complaints(&self) -> Vec<Str> {
        self.complaints.iter().filter_map(|complaint| complaint.borrow().clone()).collect()
    }

    /// Waits until there is another complaint, or one less.
    pub(super) async fn another_complaint(&mut self) {
        let changes = self.complaints.iter_mut().map(|complaint| Box::pin(complaint.changed()));
        match changes.collect::<Vec<_>>() {
            none if none.is_empty() => std::future::pending().await,
            some => {
                if futures::future::select_all(some).await.0.is_err() {
                    // Nobody is left to complain.
                    self.complaints.clear();
                }
            }
        }
    }

    /// Waits until everything is told, for as long as that is worth.
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

impl Subject {
    /// What happened, for an Event: who, what, and from where.
    pub(super) fn note(&self, rollout_event: &RolloutEvent) -> Note {
        let person = person_of(&self.identity);
        let words = self.secrets.scrub(&rollout_event.to_string()).into_owned();
        let origin = self.origin.words();
        let (says, from) = match &rollout_event.by {
            Some(by) if origin.is_empty() => (format!("{by}: {words}"), String::new()),
            Some(by) => (format!("{by}: {words}"), format!(" ({origin})")),
            None => (words, format!(" (driven by {person})")),
        };
        Note {
            at: rollout_event.at,
            tone: rollout_event.severity(),
            reason: rollout_event.reason().to_owned(),
            says,
            from: self.secrets.scrub(&from).into_owned(),
        }
    }
}
