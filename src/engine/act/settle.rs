//! Reports which commands are done.

use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::command::{Takeover, Unsettled};
use crate::engine::model::config::Role;
use crate::engine::model::driver::DriverView;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::time::Timestamp;
use crate::engine::writes::pending::{Needs, Pending};

/// Who carries out a command that is done as far as this process has to do with it.
enum DoneBy {
    /// This process has.
    Us,
    /// The holder of the lease, who has still to act.
    Other(Str),
}

impl Engine {
    /// Reports which commands are done, and which have failed.
    pub(super) fn settle(&mut self, now: Timestamp) {
        let pending = self.pending.take();
        let called_off = |engine: &Self| {
            engine.recorded_intent().is_some_and(|intent| intent.releasing.is_none()) && engine.is_adopted()
        };
        for pending in pending {
            let saved = !self.edits.has_any_of(pending.id);
            if pending.needs == Needs::Changed {
                match self.change_result(&pending).filter(|_| saved) {
                    Some(result) => self.settled(pending, result),
                    None => self.pending.add(pending),
                }
                continue;
            }
            if let Some(why) = self.release_refused(&pending, now).filter(|_| saved) {
                self.settled(pending, Err(Unsettled::Refused(why)));
                continue;
            }
            match self.done_by(pending.needs, saved, now) {
                Some(by) => {
                    if matches!(pending.needs, Needs::Adopted | Needs::Braked) {
                        self.daemonset.mark_reported_by_command();
                    }
                    let result = Ok(match by {
                        DoneBy::Us => pending.says.clone(),
                        DoneBy::Other(holder) => format!("recorded, and {holder} carries it out: {}", pending.says),
                    });
                    self.settled(pending, result);
                }
                None if saved && pending.needs == Needs::Released && called_off(self) => {
                    let why = self.called_off().to_owned();
                    self.settled(pending, Err(Unsettled::Failed(why)));
                }
                None => self.pending.add(pending),
            }
        }
    }

    /// Why a release does not come about that another process is to carry out: the API server refuses its write, as that process has recorded since.
    fn release_refused(&self, pending: &Pending, now: Timestamp) -> Option<String> {
        let refused =
            self.progress.refused_write.as_ref().filter(|refused| pending.refused_before.as_ref() != Some(refused));
        let holder = self.lock.living_other(now).filter(|_| pending.needs == Needs::Released)?;
        refused.map(|refused| {
            format!("the release is recorded, and refused when {holder} carries it out: {}", refused.why)
        })
    }

    /// Who carries the command out, if it is done; `None` if it is not.
    fn done_by(&self, needs: Needs, saved: bool, now: Timestamp) -> Option<DoneBy> {
        if !saved {
            return None;
        }
        // If we have not seen a driver renew its Lease, nobody knows whether it lives. A one-shot command waits then: either the driver
        // renews the Lease, or the Lease runs out and the command carries out its own request.
        let is_confirmed = !matches!(self.lock.view(now), DriverView::Unconfirmed { .. });
        let knows = is_confirmed || self.config().role == Role::Driver;
        // A script goes on once its command is done: the release, too, is waited for.
        let waits = needs == Needs::Released && self.config().role == Role::OneShot;
        let elsewhere = || self.lock.living_other(now).filter(|_| knows && !waits).cloned().map(DoneBy::Other);
        match needs {
            Needs::Saved => Some(DoneBy::Us),
            Needs::Braked if self.strategy() == StrategyKind::OnDelete && !self.daemonset.brakes() => Some(DoneBy::Us),
            // The DaemonSet may be on `OnDelete` of its own accord, and is adopted only once its strategy is saved.
            Needs::Adopted if self.is_adopted() && !self.daemonset.brakes() => Some(DoneBy::Us),
            Needs::Adopted | Needs::Braked if self.daemonset.brakes() => None,
            Needs::Released if !self.is_recorded() && !self.is_adopted() => Some(DoneBy::Us),
            Needs::Changed => None,
            Needs::Adopted | Needs::Braked | Needs::Released => elsewhere(),
            Needs::Driving(_) if self.lock.holds() => Some(DoneBy::Us),
            Needs::Driving(Takeover::IfFree | Takeover::Ask) => None,
            Needs::DriverStopped => (!self.lock.holds() && self.lock.in_flight().is_none()).then_some(DoneBy::Us),
        }
    }
}
