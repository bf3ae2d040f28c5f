//! A record, or a request for pre-warming, that cannot be read: a newer rolldeck may have written it, or somebody may have edited it by hand.
//!
//! Nothing is started while it is there, and nobody drops it unasked. An operator who agrees to lose it begins a record anew in its place, or
//! releases. Whoever may be able to read it comes first: a process that renews the Lease beside it.

use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::command::{Command, Refusal};
use crate::engine::model::config::Role;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::commands::ReplacesRecord;

impl Engine {
    /// Why the record that this command replaces cannot be read; `None` if it replaces none.
    pub(super) fn replaces_unreadable(&self, command: &Command) -> Option<&Str> {
        let replaces = match command.replaces_record() {
            ReplacesRecord::No => false,
            ReplacesRecord::Yes => true,
            ReplacesRecord::InConsole => self.config().role == Role::Driver,
        };
        self.lock.record_error().filter(|_| replaces)
    }

    /// Refuses what cannot be done while the record cannot be read: everything but what replaces it, and the brake.
    pub(super) fn check_readable(&self, command: &Command, now: Timestamp) -> Result<(), Refusal> {
        let Some(why) = self.lock.record_error() else { return Ok(()) };
        let brakes = matches!(command.inner(), Command::Pause { .. }) && self.pause_brakes();
        if brakes || command.stops_driving() {
            return Ok(());
        }
        if self.replaces_unreadable(command).is_none() {
            return Err(Refusal::RecordUnreadable { why: why.clone() });
        }
        self.record_of_a_living_holder(now).map_or(Ok(()), |why| Err(Refusal::NotNow(why)))
    }

    /// What is lost with the record that this command replaces.
    pub(super) fn lost_with_the_unreadable(&self, command: &Command) -> Option<String> {
        self.replaces_unreadable(command)?;
        if !self.lock.has_unreadable_record() {
            return Some("The request for pre-warming that cannot be read is dropped.".to_owned());
        }
        let release = matches!(command.inner(), Command::Release(_));
        let known = self.lost_record().filter(|_| release).map(|known| format!(" It is not known any more; {known}."));
        Some(format!(
            "The record that cannot be read is dropped, for good: its limits, steps and selector, a pause or a halt, and which nodes another driver has \
             in progress.{} A newer rolldeck may be able to read it. Pods that are down count against the budget.",
            known.unwrap_or_default()
        ))
    }
}
