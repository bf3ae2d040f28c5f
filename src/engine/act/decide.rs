//! Decides what to write next, in this order: bring the record up to what was observed, write the Lease, change the
//! DaemonSet, delete pods. A later step is taken only if the earlier ones allow it.

use std::borrow::Cow;

use crate::engine::lease::edit::Edit;
use crate::engine::lease::put_back::OLDER_COPY;
use crate::engine::machine::Engine;
use crate::engine::model::command::{Command, Refusal, Unsettled};
use crate::engine::model::config::Role;
use crate::engine::model::effect::{Effect, EffectId};
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::presence::Presence;
use crate::engine::model::record::{By, OURSELVES, Paused, Progress};
use crate::engine::model::rollout_event::{RolloutEventKind, Visibility};
use crate::engine::model::time::Timestamp;
use crate::engine::writes::pending::Needs;

impl Engine {
    pub(crate) fn decide_now(&mut self, now: Timestamp) -> Vec<(EffectId, Effect)> {
        let mut effects = Vec::new();
        self.stop_where_the_record_is_lost();
        self.stop_where_another_drove(now);
        self.watch_the_lease(now);
        self.brake_for_pauses();
        let unsaved = self.edits.iter().count();
        self.drop_stale_answers();
        self.give_up_for_an_unreadable_record(now);
        self.refuse_overtaken();
        if self.edits.iter().count() < unsaved {
            // The assessment was made as if the dropped edits held: with their partition, their selector and their limits.
            self.freshness.touch();
            self.refresh(now);
        }
        self.steer(now);
        self.steer_prewarming(now);
        self.note_original();
        self.fit_progress(now);
        effects.extend(self.write_lease(now));
        effects.extend(self.write_daemonset(now));
        self.note_waits(now);
        self.tell_taken_away();
        let (replaced, goes_on) = self.replace_pods(now);
        // The assessment does not show yet the pull slots that an update has just taken, or takes once the record names its node: pre-warming would take the
        // same slots.
        let warmed = if replaced.is_empty() && !goes_on { self.prewarm(now) } else { Vec::new() };
        effects.extend(replaced.into_iter().chain(warmed));
        self.settle(now);
        effects
    }

    /// If somebody sets the strategy back while a pause is not settled yet, that pause also has to set `OnDelete`.
    fn brake_for_pauses(&mut self) {
        if self.strategy() != StrategyKind::RollingUpdate {
            return;
        }
        for pending in self.pending.iter_mut() {
            if matches!(pending.command.inner(), Command::Pause { .. }) {
                pending.needs = Needs::Braked;
                self.daemonset.set_brake(true);
            }
        }
    }

    /// Drops the edits that we decided on as the driver, once somebody else drives or the record is gone.
    fn drop_stale_answers(&mut self) {
        let elsewhere = self.lock.holder().is_some() && !self.lock.holds();
        if elsewhere {
            self.edits.drop_the_drivers_own();
        } else if self.lock.record().is_none() {
            self.edits.drop_the_drivers_own_of_the_record();
        }
    }

    /// Gives up commands if somebody else has changed the record since they were asked for. While a write of ours is on its way, no command
    /// is given up, because that write may have made the change.
    fn refuse_overtaken(&mut self) {
        if self.edits.is_empty() || self.lock.in_flight().is_some() {
            return;
        }
        for (command, what) in self.edits.overtaken(self.lock.record().map(|record| &record.intent)) {
            let why = format!("{what} since this was asked for: look, and ask again if it is still wanted");
            self.edits.drop_those_of(command);
            for pending in self.pending.take_where(|pending| pending.id == command) {
                self.settled(pending, Err(Unsettled::Overtaken(why.clone())));
            }
        }
    }

    /// Gives up the commands that cannot be carried out because the record has become unreadable since they were asked for, or is another one than
    /// the unreadable one that their operators agreed to lose. While a write of ours is on its way, no command is given up.
    fn give_up_for_an_unreadable_record(&mut self, now: Timestamp) {
        if self.lock.in_flight().is_some() {
            return;
        }
        let error = self.lock.record_error().cloned();
        for mut pending in self.pending.take() {
            let replaced = self.edits.replaced_unreadable(pending.id);
            let why = match (&error, replaced) {
                (None, None) => None,
                (Some(error), Some(replaced)) if error == replaced => self.record_of_a_living_holder(now),
                (_, Some(_)) => {
                    Some("the record is another one since this was asked for: look, and ask again".to_owned())
                }
                // Both do without a record. The pause is not recorded then.
                (Some(error), None) if matches!(pending.needs, Needs::Braked | Needs::DriverStopped) => {
                    self.edits.drop_those_of(pending.id);
                    pending.without_pause(&format!("the record cannot be read: {error}"));
                    None
                }
                (Some(error), None) => {
                    let unreadable = Refusal::RecordUnreadable { why: error.clone() };
                    Some(format!("{unreadable}; it could be read when this was asked for"))
                }
            };
            match why {
                None => self.pending.add(pending),
                Some(why) => {
                    self.edits.drop_those_of(pending.id);
                    self.settled(pending, Err(Unsettled::Overtaken(why)));
                }
            }
        }
    }

    /// Brings the record up to date with what was observed. Only the holder of the Lease does so.
    fn steer(&mut self, now: Timestamp) {
        if self.config().role == Role::OneShot && self.pending.is_empty() {
            self.lock.want_no_more();
        }
        if self.lock.wants_a_handover() {
            self.ask_for_the_lease(now);
        }
        if !self.lock.may_act(now) || self.view.presence() != Presence::Present {
            return;
        }
        if self.handover().is_some_and(|handover| handover.by != self.config().identity) {
            self.lock.want_no_more();
        }
        if self.lock.take_put_back() && self.is_recorded() {
            self.happened(RolloutEventKind::RecordPutBack, Visibility::Cluster);
            self.edit(None, Edit::HoldPutBack(Paused::new(OURSELVES.into(), now, Some(OLDER_COPY.into()))));
        }
        let Some(intent) = self.recorded_intent().map(Cow::into_owned) else { return };
        if self.is_being_deleted() {
            return;
        }
        if intent.releasing.is_some() && self.release_is_done() {
            self.tell_released();
            self.cancel_with_the_release(now);
            self.edit(None, Edit::End);
            // A rollout that begins before this edit is written starts with empty progress.
            self.progress = Progress::default();
            // Pods for pre-warming are cleaned up before the Lease is given back.
            if self.recorded_prewarm().is_none() {
                self.lock.want_no_more();
            }
            return;
        }
        self.call_off_release(&intent);
        self.note_who_drives(now);
        self.notice_adoption(&intent, now);
        self.follow_template(&intent, now);
        if self.config().role == Role::Driver {
            self.note_idle(now);
            self.note_refused();
            self.note_refused_write();
        }
        if self.config().role == Role::Driver && intent.releasing.is_none() {
            self.keep_exceptions();
            self.halt_at_a_gate(&intent, now);
            self.finish(&intent, now);
        }
    }

    /// Asks the living holder for the lease through the record, once.
    fn ask_for_the_lease(&mut self, now: Timestamp) {
        let asked = self.handover().is_some_and(|handover| handover.by == self.config().identity);
        if self.lock.living_other(now).is_some() && !asked {
            let by = By { by: self.config().identity.clone(), at: now };
            self.edit(None, self.request_for_the_lease(by));
        }
    }

    pub(super) fn pause(&mut self, why: String, now: Timestamp) {
        self.edit(None, Edit::Hold(Paused::new(OURSELVES.into(), now, Some(why.into()))));
    }
}
