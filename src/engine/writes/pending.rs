//! Commands on their way, and when each is done.

use crate::engine::model::Str;
use crate::engine::model::command::{Command, CommandId, Takeover};
use crate::engine::model::record::ChangeOutcome;
use crate::engine::model::time::Timestamp;

/// A command on its way.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) id: CommandId,
    pub(crate) command: Command,
    /// Whether it is recorded in the audit log.
    pub(crate) of_note: bool,
    pub(crate) needs: Needs,
    pub(crate) says: String,
    /// The change of the template that it asked for, and what became of that.
    pub(crate) change: Option<Str>,
    pub(crate) outcome: Option<ChangeOutcome>,
    /// When it was asked for.
    pub(crate) asked_at: Timestamp,
}

/// When a command is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Needs {
    /// Its edits are saved.
    Saved,
    /// The DaemonSet is on `OnDelete`.
    Adopted,
    /// The template is changed.
    Changed,
    /// The strategy is restored and the record gone.
    Released,
    /// We hold the lease.
    Driving(Takeover),
    /// We do not hold it any more.
    DriverStopped,
}
