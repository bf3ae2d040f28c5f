//! What an event is about and whose it is, for whoever looks for one of a kind. An event of another process is known by its reason.

use super::command_reason::CommandReason;
use super::driver_reason::DriverReason;
use super::{
    COMPLETE, DRIVES_NOW, EventOutcome, RECORD_DELETED, RECORD_UNREADABLE, ROLLING_BACK, RolloutEvent,
    RolloutEventKind, TEMPLATE_CHANGED, WENT_TO,
};
use crate::engine::model::{Str, person_of};

impl RolloutEvent {
    /// Whether another process reports by an Event that it carried out a command which changes where the rollout goes or stands.
    pub fn reports_a_command(&self) -> bool {
        let moves = |reason: &CommandReason| reason.moves_the_rollout() && reason.word() == self.reason();
        self.reported_by().is_some() && CommandReason::ALL.iter().any(moves)
    }

    /// Whether nodes may be updated because of the event that were not before it.
    pub fn may_let_nodes_go(&self) -> bool {
        let reason = self.reason();
        let lets_go = |command: &CommandReason| command.may_let_nodes_go() && command.word() == reason;
        let is_other = [ROLLING_BACK, TEMPLATE_CHANGED, DriverReason::TakenOver.word()].contains(&reason);
        self.outcome == EventOutcome::Done && (is_other || CommandReason::ALL.iter().any(lets_go))
    }

    /// Whether the event ends a pause: a command that lifts it, a roll back by itself, or the end of the rollout or of its record.
    pub fn ends_a_pause(&self) -> bool {
        let reason = self.reason();
        let lifts = |command: &CommandReason| command.lifts_a_pause() && command.word() == reason;
        self.outcome == EventOutcome::Done
            && (CommandReason::ALL.iter().any(lifts) || [ROLLING_BACK, COMPLETE, RECORD_DELETED].contains(&reason))
    }

    /// Whether the event says that the rollout goes back, at somebody's request or by itself.
    pub fn rolls_back(&self) -> bool {
        let leads_later = self.said.as_deref().is_some_and(|said| said.starts_with(WENT_TO));
        let tells = [CommandReason::Undone.word(), ROLLING_BACK].contains(&self.reason());
        self.outcome == EventOutcome::Done && tells && !leads_later
    }

    /// Whether the event says that the rollout goes back by itself, as its gates say.
    pub fn rolls_back_by_itself(&self) -> bool {
        self.rolls_back() && self.reason() == ROLLING_BACK
    }

    /// Whether the event says that this process drives no more because the record is gone, or cannot be read.
    pub fn loses_the_record(&self) -> bool {
        use RolloutEventKind::{RecordDeleted, RecordRemoved, RecordUnreadable};
        matches!(self.kind, RecordDeleted | RecordRemoved | RecordUnreadable { .. })
    }

    /// Whether the event says that a record is gone, or cannot be read any more, whichever process drove by it.
    pub(crate) fn tells_of_a_lost_record(&self) -> bool {
        self.outcome == EventOutcome::Done && [RECORD_DELETED, RECORD_UNREADABLE].contains(&self.reason())
    }

    /// Whether the event says that a process began to drive, whichever it was.
    pub(crate) fn begins_to_drive(&self) -> bool {
        let reasons = [DriverReason::Driven.word(), DriverReason::TakenOver.word()];
        let says = self.said.as_deref().is_some_and(|said| said.contains(DRIVES_NOW));
        self.outcome == EventOutcome::Done && reasons.contains(&self.reason()) && says
    }

    /// Whether the event may have words of a person in it: the reason of a pause.
    pub(crate) fn quotes_a_person(&self) -> bool {
        [CommandReason::Paused.word(), CommandReason::Resumed.word()].contains(&self.reason())
    }

    /// Whether the event shows that there was a record then: a command wrote it.
    pub(crate) fn shows_a_record(&self) -> bool {
        let writes = |reason: &CommandReason| reason.writes_the_record() && reason.word() == self.reason();
        self.outcome == EventOutcome::Done && CommandReason::ALL.iter().any(writes)
    }

    /// Whether the event says that rolldeck took pod replacement over from the DaemonSet's controller.
    pub(crate) fn adopts(&self) -> bool {
        self.outcome == EventOutcome::Done && self.reason() == CommandReason::Adopted.word()
    }

    /// Whether the event says that new images were set at somebody's request.
    pub(crate) fn sets_images(&self) -> bool {
        self.outcome == EventOutcome::Done && self.reason() == CommandReason::ImageSet.word()
    }

    /// Whether the event says that the DaemonSet was handed back.
    pub(crate) fn releases(&self) -> bool {
        self.outcome == EventOutcome::Done && self.reason() == CommandReason::Released.word()
    }

    /// Which person did it, as far as known: according to an Event, if it is known from an Event only. `None` if the rollout did it by
    /// itself.
    pub fn person(&self) -> Option<String> {
        let reported = || self.reporter_in_words().filter(|by| !by.starts_with('('));
        self.by.as_deref().map(str::to_owned).or_else(reported)
    }

    /// Whether the event is about who drives, or about the lack of a driver.
    pub fn is_about_the_driver(&self) -> bool {
        DriverReason::ALL.iter().any(|reason| reason.word() == self.reason())
    }

    /// Who did it according to an Event, if it is known from an Event only. The name of the process is in brackets, as in `rolldeck
    /// log`, if the rollout did it by itself there.
    pub fn reporter_in_words(&self) -> Option<String> {
        let person = person_of(self.reported_by()?);
        Some(if self.is_by_a_driver_itself() { format!("({person})") } else { person.to_owned() })
    }

    /// Whether an Event says that a driver did it by itself, so that nobody asked for it.
    pub fn is_by_a_driver_itself(&self) -> bool {
        let by = self.reported_by().map(|identity| format!("by {})", person_of(identity)));
        by.is_some_and(|by| self.said.as_deref().is_some_and(|said| said.ends_with(&by)))
    }

    /// The process that an Event claims to be from, if the event is known from an Event only.
    pub fn reported_by(&self) -> Option<&Str> {
        match &self.kind {
            RolloutEventKind::Reported { identity, .. } => Some(identity),
            _ => None,
        }
    }
}
