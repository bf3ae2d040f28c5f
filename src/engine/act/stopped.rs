//! A driver whose process cannot go on stops by itself and writes the reason into the record, where other consoles show it.

use crate::engine::machine::Engine;
use crate::engine::model::config::Role;
use crate::engine::model::record::DriverStopped;
use crate::engine::model::record::size::clipped;
use crate::engine::model::rollout_event::{RolloutEventKind, Visibility};
use crate::engine::model::time::Timestamp;

impl Engine {
    /// Starts nothing more from now on, and gives the lease back with the reason in the record as soon as that can be written. If
    /// somebody else holds the lease, no reason is recorded: they go on driving. Nor is one of a one-shot command, which holds the lease
    /// for its own write only.
    pub(crate) fn stop_driving(&mut self, why: &str, now: Timestamp) {
        self.lock.want_no_more();
        if self.lock.holds() && self.config().role == Role::Driver {
            self.progress.driver_stopped = Some(DriverStopped { by: self.actor(), at: now, why: clipped(why) });
        }
    }

    /// Stops driving if somebody deleted the Lease that we held, took the record off it or made that unreadable: what was asked for is gone with
    /// it, and this process starts nothing more until somebody asks for it. A record that others make meanwhile is theirs, with the limits of a
    /// new rollout.
    pub(super) fn stop_where_the_record_is_lost(&mut self) {
        if self.config().role == Role::Driver && self.pending.is_empty() && self.has_lost_its_record() {
            self.lock.want_no_more();
        }
    }

    /// Stops driving if another process has driven since this one could not renew the Lease in time, or if what this one drove is over. The other one
    /// may have stopped for a reason, and nobody expects then that nodes go down again, nor that this process drives what has begun since. Whoever
    /// wants it to drive asks for it. A one-shot command that held the Lease meanwhile has not driven: the record still names this process.
    pub(super) fn stop_where_another_drove(&mut self, now: Timestamp) {
        if self.config().role != Role::Driver || !self.lock.note_driving(now) || self.lock.holds() {
            return;
        }
        if let Some(record) = self.lock.record() {
            let by = record.progress.driver.clone();
            if by.as_ref() != Some(&self.config().identity) {
                self.lock.want_no_more();
                // What this process decided as the driver was about the record as it was before.
                self.edits.drop_the_drivers_own();
                self.happened(RolloutEventKind::DroveMeanwhile { by }, Visibility::Timeline);
            }
        } else if self.lock.shows_no_record() && self.lock.prewarm().is_none() {
            self.lock.want_no_more();
        }
    }

    /// Names this process in the record, and removes the reason why the last driver stopped, once this process drives. A one-shot command that holds
    /// the lease for its own write does not drive.
    pub(super) fn note_who_drives(&mut self, now: Timestamp) {
        if self.config().role == Role::Driver && self.lock.wants_to_drive() {
            if self.progress.driver.as_ref() != Some(&self.config().identity) {
                self.tell_gates_of_the_driver(now);
            }
            self.progress.driver_stopped = None;
            self.lock.stays();
            self.progress.driver = Some(self.config().identity.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
    use crate::engine::model::command::{Command, Step, Takeover};
    use crate::engine::model::config::Role;
    use crate::engine::model::driver::DriverView;
    use crate::engine::model::quantity::IntOrPercent;

    #[test]
    fn the_record_says_why_a_driver_stopped_until_somebody_drives_again() {
        let mut fake = FakeCluster::rolling(20, 2);
        let mut joe = FakeConsole::open(&fake, "joe");
        joe.set_image(&mut fake, "agent:v2");
        joe.partition(&mut fake, 0);
        joe.run_for(&mut fake, 3);
        let why = "nobody took its output".to_owned();
        joe.ask(&mut fake, Command::GiveUpDriving { why }).unwrap();
        let deleted = fake.deleted.len();
        joe.run_for(&mut fake, 60);
        assert_eq!(fake.deleted.len(), deleted, "nothing more is started");
        let mut ada = FakeConsole::open(&fake, "ada");
        let snapshot = ada.snapshot(&fake);
        assert_eq!(snapshot.driver, DriverView::Nobody);
        let words = snapshot.driving().to_string();
        assert_eq!(words, "nobody drives: joe@bastion stopped 1m ago: nobody took its output");
        ada.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
        let snapshot = FakeConsole::open(&fake, "eve").snapshot(&fake);
        assert!(snapshot.driver_stopped.is_none(), "{:?}", snapshot.driver_stopped);
    }

    /// It may hold the lease for its own write when its time is over.
    #[test]
    fn a_one_shot_command_is_not_said_to_have_driven() {
        let mut fake = FakeCluster::rolling(20, 2);
        let mut joe = FakeConsole::open(&fake, "joe");
        joe.set_image(&mut fake, "agent:v2");
        joe.ask(&mut fake, Command::StopDriving).unwrap();
        joe.run_for(&mut fake, 5);
        let mut bob = FakeConsole::open_as(&fake, "bob", Role::OneShot);
        bob.ask(&mut fake, Command::Drive(Takeover::Ask)).unwrap();
        assert!(bob.engine.lock.holds());
        bob.ask(&mut fake, Command::GiveUpDriving { why: "its --timeout of 60s had passed".to_owned() }).unwrap();
        bob.run_for(&mut fake, 5);
        let snapshot = FakeConsole::open(&fake, "eve").snapshot(&fake);
        assert_eq!((snapshot.driver, snapshot.driver_stopped), (DriverView::Nobody, None));
    }

    /// Joe's process stands still for longer than its Lease lasts.
    fn suspended(drives: impl FnOnce(&mut FakeCluster)) -> (FakeCluster, FakeConsole) {
        let mut fake = FakeCluster::rolling(20, 2);
        let mut joe = FakeConsole::open(&fake, "joe");
        joe.set_image(&mut fake, "agent:v2");
        joe.partition(&mut fake, 18);
        joe.run_for(&mut fake, 30);
        fake.now = fake.now + Duration::from_secs(40);
        drives(&mut fake);
        (fake, joe)
    }

    /// Ada brings the rollout to its end.
    fn complete(fake: &mut FakeCluster) {
        let mut ada = FakeConsole::open(fake, "ada");
        ada.run_for(fake, 20);
        ada.ask(fake, Command::Drive(Takeover::Ask)).unwrap();
        ada.partition(fake, 0);
        ada.run_for(fake, 200);
        assert!(ada.snapshot(fake).started_at.is_none(), "it is over");
    }

    /// Eve begins another rollout by one-shot commands, so that nobody drives it.
    fn begin_the_next(fake: &mut FakeCluster) {
        let mut eve = FakeConsole::open_as(fake, "eve", Role::OneShot);
        eve.set_image(fake, "agent:v3");
        eve.run_for(fake, 20);
        eve.partition(fake, 10);
    }

    /// Ada drove while Joe's process stood still, and stopped on purpose.
    #[test]
    fn a_driver_that_stood_still_does_not_drive_again_where_another_has_driven_and_stopped() {
        let (mut fake, mut joe) = suspended(|fake| {
            let mut ada = FakeConsole::open(fake, "ada");
            ada.run_for(fake, 20);
            ada.ask(fake, Command::Drive(Takeover::Ask)).unwrap();
            ada.partition(fake, 10);
            ada.run_for(fake, 3);
            ada.ask(fake, Command::StopDriving).unwrap();
            ada.run_for(fake, 60);
            assert_eq!(ada.snapshot(fake).driver, DriverView::Nobody);
        });
        let deleted = fake.deleted.len();
        joe.happened.clear();
        joe.run_for(&mut fake, 60);
        assert_eq!(fake.deleted.len(), deleted, "nothing more is started");
        assert_eq!(joe.snapshot(&fake).driver, DriverView::Nobody);
        let told: Vec<String> = joe.happened.iter().map(|event| event.kind.to_string()).collect();
        let why = "drives no more: could not renew the lease in time, and ada@bastion has driven since";
        assert!(told.iter().any(|told| told == why), "{told:?}");
        let laid_on_others = |told: &&String| told.contains("by somebody else");
        assert_eq!(told.iter().find(laid_on_others), None, "those were ada's");
        // Whoever asks it to drive is obeyed.
        joe.ask(&mut fake, Command::Drive(Takeover::Ask)).unwrap();
        joe.partition(&mut fake, 0);
        joe.run_for(&mut fake, 60);
        assert!(fake.deleted.len() > deleted);
    }

    /// Ada brought the rollout to its end while Joe's process stood still. What begins later is nothing that anybody has asked Joe's process to drive.
    #[test]
    fn a_driver_that_stood_still_until_the_rollout_was_over_does_not_drive_the_next_one() {
        let (mut fake, mut joe) = suspended(complete);
        joe.run_for(&mut fake, 20);
        begin_the_next(&mut fake);
        let deleted = fake.deleted.len();
        joe.run_for(&mut fake, 60);
        assert_eq!(fake.deleted.len(), deleted, "nobody drives");
        assert_eq!(joe.snapshot(&fake).driver, DriverView::Nobody);
    }

    /// As before, but Joe's process sees nothing before somebody has begun the next rollout, which nobody drives yet.
    #[test]
    fn a_driver_that_stood_still_does_not_drive_a_rollout_that_began_meanwhile() {
        let (mut fake, mut joe) = suspended(|fake| {
            complete(fake);
            begin_the_next(fake);
        });
        let deleted = fake.deleted.len();
        joe.run_for(&mut fake, 60);
        assert_eq!(fake.deleted.len(), deleted, "nobody drives");
        assert_eq!(joe.snapshot(&fake).driver, DriverView::Nobody);
    }

    /// A command that somebody gave meanwhile held the Lease for its own write only.
    #[test]
    fn a_driver_that_stood_still_goes_on_where_somebody_only_gave_a_command() {
        let (mut fake, mut joe) = suspended(|fake| {
            let mut eve = FakeConsole::open_as(fake, "eve", Role::OneShot);
            eve.ask(fake, Command::Step(Step::Partition(IntOrPercent::Int(10)))).unwrap();
            eve.run_for(fake, 5);
        });
        let deleted = fake.deleted.len();
        joe.run_for(&mut fake, 120);
        assert!(fake.deleted.len() > deleted && matches!(joe.snapshot(&fake).driver, DriverView::You { .. }));
    }
}
