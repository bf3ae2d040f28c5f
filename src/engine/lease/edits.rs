//! Edits of the record that are not saved yet. The next write of the Lease carries all of them.

use super::edit::Edit;
use crate::engine::model::Str;
use crate::engine::model::command::CommandId;
use crate::engine::model::record::Intent;
use crate::engine::model::time::Timestamp;
use crate::engine::model::unsent::LATE;

/// Edits that are not saved yet, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Edits {
    unsaved: Vec<Unsaved>,
    next_serial: u64,
}

/// An edit of the record that is not saved yet.
#[derive(Debug)]
pub(crate) struct Unsaved {
    /// Counts the edits of this engine.
    serial: u64,
    /// The command to which the edit belongs; `None` for the driver's own.
    pub(crate) command: Option<CommandId>,
    pub(crate) edit: Edit,
    /// When it was made.
    pub(crate) made_at: Timestamp,
    pub(super) requested_under: RequestedUnder,
}

/// The state of the record, with all earlier edits applied, when an edit was asked for.
#[derive(Debug)]
pub(super) enum RequestedUnder {
    /// Nobody asked for the edit: it is the driver's own.
    NotRequested,
    /// No rollout was recorded.
    NoRecord,
    /// No rollout was recorded; earlier edits of this process, which are not saved yet, begin one with this intent.
    OwnRecord(Box<Intent>),
    /// The operator saw this intent.
    Intent(Box<Intent>),
}

impl RequestedUnder {
    /// Takes in that the record which this process begins is saved.
    fn record_is_saved(&mut self) {
        if let Self::OwnRecord(intent) = self {
            *self = Self::Intent(std::mem::take(intent));
        }
    }
}

impl Edits {
    /// Adds an edit that was made under this intent, which includes the edits that are not saved yet; `None`: no rollout is recorded, nor begun by
    /// one of them. `recorded`: a rollout is recorded.
    pub(crate) fn add(
        &mut self,
        command: Option<CommandId>,
        edit: Edit,
        (intent, recorded): (Option<Intent>, bool),
        now: Timestamp,
    ) {
        let requested_under = match (command, intent) {
            (None, _) => RequestedUnder::NotRequested,
            (Some(_), None) => RequestedUnder::NoRecord,
            (Some(_), Some(intent)) if recorded => RequestedUnder::Intent(Box::new(intent)),
            (Some(_), Some(intent)) => RequestedUnder::OwnRecord(Box::new(intent)),
        };
        self.unsaved.push(Unsaved { serial: self.next_serial, command, edit, made_at: now, requested_under });
        self.next_serial += 1;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.unsaved.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Unsaved> {
        self.unsaved.iter()
    }

    /// Whether an edit of this command is not saved yet.
    pub(crate) fn has_any_of(&self, command: CommandId) -> bool {
        self.unsaved.iter().any(|unsaved| unsaved.command == Some(command))
    }

    /// Why the record that this command replaces cannot be read, as its operator knew it; `None` if the command replaces none, or is saved.
    pub(crate) fn replaced_unreadable(&self, command: CommandId) -> Option<&Str> {
        self.unsaved.iter().filter(|unsaved| unsaved.command == Some(command)).find_map(|unsaved| match &unsaved.edit {
            Edit::ReplaceUnreadable(why) => Some(why),
            _ => None,
        })
    }

    /// Whether an edit replaces a record that cannot be read for this reason.
    pub(crate) fn replace_unreadable(&self, why: &Str) -> bool {
        self.unsaved.iter().any(|unsaved| matches!(&unsaved.edit, Edit::ReplaceUnreadable(known) if known == why))
    }

    /// When each edit becomes late, if it is not saved by then.
    pub(crate) fn changes_at(&self) -> impl Iterator<Item = Timestamp> {
        self.unsaved.iter().map(|unsaved| unsaved.made_at + LATE)
    }

    /// The serial that the next edit will have: a write that is sent now carries every edit below it.
    pub(crate) fn next_serial(&self) -> u64 {
        self.next_serial
    }

    /// Takes in that a write took effect which carried every edit below `serial`.
    pub(crate) fn saved_below(&mut self, serial: u64) {
        self.unsaved.retain(|unsaved| unsaved.serial >= serial);
        let begins = |unsaved: &Unsaved| matches!(unsaved.requested_under, RequestedUnder::NoRecord);
        if !self.unsaved.iter().any(begins) {
            self.unsaved.iter_mut().for_each(|unsaved| unsaved.requested_under.record_is_saved());
        }
    }

    /// Drops the edits of a command that failed.
    pub(crate) fn drop_those_of(&mut self, command: CommandId) {
        self.unsaved.retain(|unsaved| unsaved.command != Some(command));
    }

    /// Drops the edits that were decided here without a command.
    pub(crate) fn drop_our_own(&mut self) {
        self.unsaved.retain(|unsaved| unsaved.command.is_some());
    }

    /// Drops the edits that were decided here without a command and that only the holder of the Lease may decide.
    pub(crate) fn drop_the_drivers_own(&mut self) {
        self.unsaved.retain(|unsaved| unsaved.command.is_some() || !unsaved.edit.is_the_drivers_own());
    }

    /// Drops the same edits, but only those that change the record: edits of pre-warming stay.
    pub(crate) fn drop_the_drivers_own_of_the_record(&mut self) {
        let kept = |edit: &Edit| matches!(edit, Edit::Prewarm(_)) || !edit.is_the_drivers_own();
        self.unsaved.retain(|unsaved| unsaved.command.is_some() || kept(&unsaved.edit));
    }

    /// Drops all edits.
    pub(crate) fn clear(&mut self) {
        self.unsaved.clear();
    }
}
