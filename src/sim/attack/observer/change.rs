//! Changes of the template that operators request: a change that was given up leaves the rollout paused, a roll back leads to the
//! requested revision, and after a release nothing of rolldeck is left on the DaemonSet.

use super::Observer;
use super::record::COMMAND_TAKES;
use crate::engine::model::Str;
use crate::engine::model::command::Command;
use crate::engine::model::record::{CHANGE, Change, Intent, Record};
use crate::engine::model::template::Template;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{Phase, Snapshot};

/// Whether the target is the revision that the rollout goes back to; only then partition, selector and threshold do not apply.
pub(super) fn is_rolling_back(intent: &Intent) -> bool {
    intent.back_to.is_some() && intent.back_to == intent.target
}

/// A roll back that the record requests.
#[derive(Debug)]
pub(super) struct RequestedRollBack {
    to: Str,
    /// The template when it was first requested.
    template: Option<Template>,
}

impl Observer {
    /// P2, P3: a change that was given up leaves the rollout paused; a roll back leads to the requested revision.
    pub(super) fn change_is(&mut self, record: Option<&Record>, at: Timestamp) {
        // A record of another DaemonSet is replaced, not changed.
        let of = |of: &Record| of.daemonset_uid.clone();
        let same = |was: &&Record| of(was).is_none() || record.is_none_or(|record| of(record) == of(was));
        let was = self.records.now().and_then(Option::as_ref).filter(same).map(|record| record.intent.clone());
        let template = self.daemon_set.as_ref().map(|fact| fact.template.clone());
        let intent = record.map(|record| &record.intent);
        if let (Some(was), Some(intent)) = (&was, intent) {
            let refused = intent.outcome.as_ref().is_some_and(|outcome| outcome.refused.is_some());
            // After a release a new rollout that is not adopted yet knows nothing of the released one's change.
            let begins = was.releasing.is_some() && record.is_some_and(|record| !record.progress.adopted);
            let given_up = was.change.is_some() && intent.change.is_none() && (refused || intent.target.is_none());
            // An operator who resumes after the change was given up may end the pause before it is written.
            let resumed = self.resumptions.iter().any(|(_, given_at)| *given_at + COMMAND_TAKES >= at);
            if given_up && !begins && !resumed && intent.paused.is_none() && intent.releasing.is_none() {
                self.report_violation("P3", at, "a change was given up, and the rollout goes on".to_owned());
            }
        }
        let goes_back_now = intent.filter(|intent| is_rolling_back(intent)).and_then(|intent| intent.target.clone());
        let went_back = was.as_ref().filter(|was| is_rolling_back(was)).and_then(|was| was.target.clone());
        if let Some(target) = goes_back_now.filter(|target| Some(target) != went_back.as_ref()) {
            // Admission may have rewritten the requested template, which makes it another revision.
            let pinned = template.iter().flat_map(Template::images).any(|image| image.contains('@'));
            // If the DaemonSet has the template already, the roll back is requested and made in one write of the record. A
            // roll back with a revision also replaces a requested one that is not yet made.
            let at_once = self.undo_requested.as_ref().is_some_and(|(asked_at, revision)| {
                *asked_at + COMMAND_TAKES >= at && (revision.is_some() || self.requested_roll_back.is_none())
            });
            let recorded = self.requested_roll_back.as_ref();
            let made_before = self.rolled_back_to.as_ref().is_some_and(|went_back| *went_back == target || pinned);
            let fits = at_once
                || made_before
                || recorded.is_some_and(|requested| requested.to == target || requested.template != template || pinned);
            if !fits {
                self.report_violation("P2", at, format!("goes back to {target}, and nobody asked for that"));
            }
        }
        let change = intent.and_then(|intent| intent.change.as_ref());
        if let (Some(was), Some(Change::Revision(_))) = (was.as_ref().filter(|was| was.change.is_none()), change) {
            self.check_went_back(was.target.as_ref(), at);
        }
        let requested = change.filter(|change| was.as_ref().is_some_and(|was| was.change.as_ref() != Some(change)));
        if let Some(Change::Revision(to)) = requested {
            self.check_came_from(to, at);
        }
        if was.and_then(|was| was.change).as_ref() != change {
            let made = self
                .requested_roll_back
                .take()
                .filter(|requested| requested.template != template)
                .map(|requested| requested.to);
            // A new request does not undo a roll back that was written before it: the driver may record that one only now.
            self.rolled_back_to = made.or_else(|| self.rolled_back_to.take()).filter(|_| change.is_some());
            self.requested_roll_back = match change {
                Some(Change::Revision(to)) => Some(RequestedRollBack { to: to.clone(), template }),
                _ => None,
            };
        }
    }

    /// P2: a roll back without a revision leads to the revision that the rollout came from, even if others changed the template meanwhile.
    fn check_came_from(&mut self, to: &Str, at: Timestamp) {
        let unnamed = self
            .undo_requested
            .is_some_and(|(asked_at, revision)| asked_at + COMMAND_TAKES >= at && revision.is_none());
        let was = self.records.now().and_then(Option::as_ref).filter(|_| unnamed);
        let Some(was) = was else { return };
        let Some(origin) = was.progress.origin.clone().filter(|origin| Some(origin) != was.intent.target.as_ref())
        else {
            return;
        };
        if origin != *to {
            self.report_violation("P2", at, format!("a roll back leads to {to}, and the rollout came from {origin}"));
        }
    }

    /// P10: the revision that a console shows as the target has the images of the template.
    pub(super) fn wrong_target(&self, snapshot: &Snapshot, now: Timestamp) -> Option<String> {
        let claims = matches!(snapshot.phase, Phase::Complete | Phase::Running | Phase::Held | Phase::Idle);
        let template = &self.daemon_set.as_ref()?.template;
        if !claims || self.template_since + self.slack >= now {
            return None;
        }
        let shown: Vec<&Str> = snapshot.to.as_ref()?.images.iter().map(|(_, image)| image).collect();
        let is: Vec<&Str> = template.containers().iter().map(|container| &container.image).collect();
        (shown != is).then(|| format!("{} with {shown:?}, and the template has {is:?}", snapshot.phase))
    }

    /// Notes a command for a roll back.
    pub(super) fn note_undo(&mut self, command: &Command, now: Timestamp) {
        let Command::Undo { to } = command.inner() else { return };
        // A roll back to a named revision may still be written after one without a name was asked for, and overtakes that.
        let is_recent =
            |(asked_at, revision): (Timestamp, Option<i64>)| revision.is_some() && asked_at + COMMAND_TAKES >= now;
        if to.is_some() || !self.undo_requested.is_some_and(is_recent) {
            self.undo_requested = Some((now, *to));
        }
    }

    /// P9: when a release removes the record, no annotation of a change is left on the DaemonSet.
    pub(super) fn check_tidy(&mut self, at: Timestamp) {
        let annotations = self.daemon_set.as_ref().map(|fact| &fact.annotations);
        if let Some(change) = annotations.and_then(|annotations| annotations.get(CHANGE)).cloned() {
            self.report_violation("P9", at, format!("released, and annotation {CHANGE} is left behind: {change}"));
        }
    }
}
