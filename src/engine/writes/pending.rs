//! Commands on their way, and the condition under which each is done.

use crate::engine::model::Str;
use crate::engine::model::command::{Command, CommandId, Takeover};
use crate::engine::model::record::{ChangeOutcome, RefusedWrite};
use crate::engine::model::time::Timestamp;
use crate::engine::model::unsent::LATE;

/// The commands that are not settled yet, oldest first.
#[derive(Debug, Default)]
pub(crate) struct PendingCommands {
    commands: Vec<Pending>,
    accepted: u64,
}

impl PendingCommands {
    /// The identifier that the next command will have.
    pub(crate) fn next_id(&mut self) -> CommandId {
        let id = CommandId(self.accepted);
        self.accepted += 1;
        id
    }

    /// How many identifiers were given so far.
    pub(crate) fn accepted(&self) -> u64 {
        self.accepted
    }

    pub(crate) fn add(&mut self, pending: Pending) {
        self.commands.push(pending);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Pending> {
        self.commands.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Pending> {
        self.commands.iter_mut()
    }

    /// When each command becomes late, if its request has not reached the cluster by then.
    pub(crate) fn changes_at(&self) -> impl Iterator<Item = Timestamp> {
        self.commands.iter().map(|pending| pending.requested_at + LATE)
    }

    /// Takes all commands, to settle them or to add them again.
    pub(crate) fn take(&mut self) -> Vec<Pending> {
        std::mem::take(&mut self.commands)
    }

    /// Takes the commands that `which` picks.
    pub(crate) fn take_where(&mut self, which: impl Fn(&Pending) -> bool) -> Vec<Pending> {
        let (taken, kept) = self.take().into_iter().partition(|pending| which(pending));
        self.commands = kept;
        taken
    }
}

/// A command on its way.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) id: CommandId,
    pub(crate) command: Command,
    /// Whether the command is recorded in the audit log.
    pub(crate) of_note: bool,
    pub(crate) needs: Needs,
    pub(crate) says: String,
    /// Whether everything is as the command asks already, so that nothing is written.
    pub(crate) is_so_already: bool,
    /// The id of the change of the template that the command asked for, and the outcome of that change.
    pub(crate) change: Option<Str>,
    pub(crate) outcome: Option<ChangeOutcome>,
    /// When the command was asked for.
    pub(crate) requested_at: Timestamp,
    /// The refused write that the record named then.
    pub(crate) refused_before: Option<RefusedWrite>,
}

impl Pending {
    /// Takes in that the pause of a brake is not recorded, for the reason `why`. The brake itself needs no record.
    pub(crate) fn without_pause(&mut self, why: &str) {
        if self.needs == Needs::Braked {
            self.says = format!(
                "OnDelete is set: its controller replaces no pod any more; no pause is recorded: {why}; `release` hands it back"
            );
        }
    }
}

/// The condition under which a command is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Needs {
    /// The command's edits are saved.
    Saved,
    /// The DaemonSet is adopted: the command's edits are saved, the DaemonSet is on `OnDelete`, and its original strategy is saved with it.
    Adopted,
    /// The DaemonSet is on `OnDelete`, even if the command's edits cannot be saved.
    Braked,
    /// The template is changed.
    Changed,
    /// The strategy is restored, and the record is gone.
    Released,
    /// We hold the lease.
    Driving(Takeover),
    /// We do not hold the Lease any more.
    DriverStopped,
}
