//! Why a driver drives no more. The event that it gave the lease back tells the reason.

use super::Engine;
use crate::engine::model::command::Command;
use crate::engine::model::person_of;
use crate::engine::model::record::Paused;
use crate::engine::model::rollout_event::{RolloutEvent, RolloutEventKind};

/// Said where nothing else ended it, and the process that was asked to stop gave no reason.
const STOPPED: &str = "stopped by its operator or with its process";

impl Engine {
    /// The reason in a few words; `None` where it is not known.
    pub(super) fn why_it_drives_no_more(&self) -> Option<String> {
        let stopped = self.progress.driver_stopped.as_ref().filter(|stopped| stopped.by == self.actor());
        if let Some(stopped) = stopped {
            return Some(stopped.why.to_string());
        }
        let given = self.lock.leaves_because().map(ToString::to_string);
        if !self.is_recorded() {
            let warms = self.recorded_prewarm().is_some_and(|asked| asked.cancelled.is_none());
            return self.how_it_was_over().or(given).or_else(|| warms.then(|| STOPPED.to_owned()));
        }
        let intent = self.intent();
        // A command that only pre-warmed was not ended by the halt.
        let beside_the_halt = given.as_ref().filter(|given| !given.contains("halt"));
        if self.is_halted(&intent) {
            return Some(
                beside_the_halt.map_or("halted".to_owned(), |why| format!("{why}, while the rollout is halted")),
            );
        }
        let given = given.unwrap_or_else(|| STOPPED.to_owned());
        Some(match &intent.paused {
            Some(paused) if paused.is_by_rolldeck() => "rolldeck itself paused it".to_owned(),
            _ if self.progress.completed.is_some() => "every node is updated".to_owned(),
            Some(Paused { by, .. }) => format!("{given}, while it is paused by {by}"),
            None => given,
        })
    }

    /// How a rollout ended whose record is gone, as far as the events show that this process made or received. A rollout that was released
    /// before this process began to drive is not why it drives no more: it has only pre-warmed since.
    fn how_it_was_over(&self) -> Option<String> {
        let newest = || self.event_log.kept().collect::<Vec<_>>().into_iter().rev();
        let begins = |event: &&RolloutEvent| {
            matches!(event.kind, RolloutEventKind::LeaseAcquired | RolloutEventKind::LeaseTakenOver { .. })
        };
        let released = newest().take_while(|event| !begins(event)).find(|event| event.releases())?;
        // Events from before the present rollout began are not about it. Who began it may have been another process.
        let mut of_this = newest().take_while(|event| !event.adopts());
        let undone = of_this.find(|event| event.rolls_back() || event.sets_images()).filter(|event| event.rolls_back());
        let by = |event: &RolloutEvent| {
            let person = event.by.clone().or_else(|| event.reported_by().map(|by| person_of(by).into()));
            person.map(|person| format!(" by {person}")).unwrap_or_default()
        };
        let is_asked = matches!(released.kind, RolloutEventKind::Command(Command::Release(_)));
        let released_by = if is_asked || released.reported_by().is_some() { by(released) } else { String::new() };
        Some(match undone {
            Some(undone) => format!("rolled back{} and handed back{released_by}", by(undone)),
            None => format!("handed back{released_by}"),
        })
    }
}

#[cfg(test)]
mod tests;
